//! Which nodes does a path select?

use super::axis::{self, Resolved};
use super::{Context, Evaluation, MEMORY};
use crate::document::NodeIndex;
use crate::meter::Metered;
use crate::xpath::{NodeId, Path, Start, Step, Type, XPathKind};

/// Units of work for a lookup in a large cache, which misses the processor's caches.
const LOOKUP: usize = 30;

impl Evaluation<'_> {
    pub(super) fn path(&mut self, path: &Path, context: Context) -> Metered<Vec<NodeIndex>> {
        self.path_counting(path, context, |_| {})
    }

    /// The nodes of a path. `count` receives the number of nodes that each step selects.
    pub(super) fn path_counting(
        &mut self,
        path: &Path,
        context: Context,
        mut count: impl FnMut(usize),
    ) -> Metered<Vec<NodeIndex>> {
        let mut nodes = match &path.start {
            Start::Root => vec![0],
            Start::Context => vec![context.node],
            Start::Nodes(inner, predicates) => {
                let mut nodes = self.nodes(*inner, context)?;
                for predicate in predicates {
                    self.filter(*predicate, &mut nodes)?;
                }
                nodes
            }
        };
        for step in &path.steps {
            if nodes.is_empty() {
                break;
            }
            self.meter.spend(1)?;
            nodes = self.step(step, nodes)?;
            count(nodes.len());
        }
        Ok(nodes)
    }

    fn step(&mut self, step: &Step, contexts: Vec<NodeIndex>) -> Metered<Vec<NodeIndex>> {
        let test = Resolved::new(&step.test, step.axis, self.document);
        if matches!(test, Resolved::Nothing) {
            return Ok(Vec::new());
        }
        let counts = step.predicates.iter().any(|predicate| self.counts(*predicate));
        if !counts || contexts.len() == 1 && !step.axis.is_reverse() {
            let marks = &mut self.scratch.marks;
            let mut nodes = axis::from_set(self.document, step.axis, &test, &contexts, marks, self.meter)?;
            drop(contexts);
            for predicate in &step.predicates {
                self.filter(*predicate, &mut nodes)?;
            }
            return Ok(nodes);
        }
        // Positions count along the axis from each context node.
        let first = match step.predicates.first().map(|first| &self.xpath.node(*first).kind) {
            Some(XPathKind::Number(number)) => *number as usize,
            _ => usize::MAX,
        };
        let mut found = Vec::new();
        let mut nodes = Vec::new();
        let mut distinct = 0;
        for &context in &contexts {
            nodes.clear();
            axis::from_node(self.document, step.axis, &test, context, first, &mut nodes, self.meter)?;
            let held = size_of_val(&*contexts) + size_of_val(&*found);
            self.meter.hold(held)?;
            for predicate in &step.predicates {
                self.filter(*predicate, &mut nodes)?;
            }
            self.meter.release(held);
            found.append(&mut nodes);
            // Many contexts may reach the same nodes, so remove duplicates as they accumulate.
            if found.len() > 2 * distinct + 1024 {
                self.meter.spend(found.len())?;
                found.sort_unstable();
                found.dedup();
                distinct = found.len();
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Whether a predicate depends on positions.
    pub(super) fn counts(&self, predicate: NodeId) -> bool {
        let node = self.xpath.node(predicate);
        node.positional || node.result == Type::Number
    }

    /// Keeps the nodes that satisfy a predicate, with their positions.
    pub(super) fn filter(&mut self, predicate: NodeId, nodes: &mut Vec<NodeIndex>) -> Metered<()> {
        if let XPathKind::Number(number) = self.xpath.node(predicate).kind {
            let at = if number >= 1.0 && number.fract() == 0.0 { number as usize } else { 0 };
            match at.checked_sub(1).and_then(|at| nodes.get(at)) {
                Some(&node) => {
                    nodes.clear();
                    nodes.push(node);
                }
                None => nodes.clear(),
            }
            return Ok(());
        }
        let held = size_of_val(&**nodes);
        self.meter.hold(held)?;
        let size = nodes.len() as u32;
        let mut position = 0;
        let mut exhausted = Ok(());
        nodes.retain(|&node| {
            position += 1;
            if exhausted.is_err() {
                return false;
            }
            let holds = self.holds(predicate, Context { node, position, size });
            holds.unwrap_or_else(|found| {
                exhausted = Err(found);
                false
            })
        });
        self.meter.release(held);
        exhausted
    }

    fn holds(&mut self, predicate: NodeId, context: Context) -> Metered<bool> {
        self.meter.spend(1)?;
        let counts = self.counts(predicate);
        if !counts && let Some(answer) = self.satisfies(predicate, context.node)? {
            return Ok(answer);
        }
        let key = match counts {
            true => (predicate, context.node, context.position, context.size),
            false => (predicate, context.node, 0, 0),
        };
        let nested = self.nesting > 0;
        if nested {
            self.meter.spend(LOOKUP)?;
        }
        if nested && let Some(&answer) = self.scratch.answers.get(&key) {
            return Ok(answer);
        }
        self.nesting += 1;
        let answer = match self.xpath.node(predicate).result {
            Type::Number => self.number(predicate, context)? == f64::from(context.position),
            _ => self.boolean(predicate, context)?,
        };
        self.nesting -= 1;
        // Results at a position are many and rarely reused, so leave room for the others.
        let most = if counts { MEMORY / 2 } else { MEMORY };
        if nested && self.scratch.answers.len() < most {
            self.scratch.answers.insert(key, answer);
        }
        Ok(answer)
    }
}
