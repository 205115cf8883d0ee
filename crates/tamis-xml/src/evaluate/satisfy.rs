//! Which nodes satisfy a predicate?
//!
//! A predicate that is needed for many nodes is evaluated for all nodes at once: a path is followed
//! backwards over inverse axes, from the nodes where it may end to those where it may start. This
//! is linear in the document, whereas evaluating node by node is quadratic (Gottlob, Koch and
//! Pichler 2005, "Core XPath"). Other predicates are evaluated node by node.

use super::axis::{self, Resolved};
use super::value::number_and_cost;
use super::{DOCUMENT, Evaluation, compare_string};
use crate::document::{NodeIndex, NodeKind};
use crate::meter::Metered;
use crate::xpath::{Axis, Function, NodeId, Path, Start, Step, XPathKind};

/// The number of nodes after which a predicate is evaluated for all nodes.
const TRIES: u32 = 8;

/// The known results of a predicate.
#[derive(Debug, Clone)]
pub enum KnownResults {
    /// The number of nodes it was evaluated on.
    Tried(u32),
    /// It cannot be evaluated for all nodes at once.
    Never,
    /// For every node, whether it satisfies the predicate.
    Nodes(Vec<bool>),
}

impl Evaluation<'_> {
    /// Whether a node satisfies a predicate that does not depend on positions. `None` unless the
    /// result is known for all nodes, or the predicate was used often enough to compute it for all.
    pub(super) fn satisfies(&mut self, predicate: NodeId, node: NodeIndex) -> Metered<Option<bool>> {
        match &mut self.scratch.known[predicate as usize] {
            KnownResults::Nodes(nodes) => return Ok(Some(nodes[node as usize])),
            KnownResults::Never => return Ok(None),
            KnownResults::Tried(count) if *count < TRIES => {
                *count += 1;
                return Ok(None);
            }
            KnownResults::Tried(_) => {}
        }
        let found = self.satisfying(predicate)?;
        let answer = found.as_ref().map(|nodes| nodes[node as usize]);
        self.scratch.known[predicate as usize] = found.map_or(KnownResults::Never, KnownResults::Nodes);
        Ok(answer)
    }

    /// For every node, whether it satisfies an expression. The memory is held until it is released.
    fn satisfying(&mut self, id: NodeId) -> Metered<Option<Vec<bool>>> {
        let xpath = self.xpath;
        let node = xpath.node(id);
        if node.positional {
            return Ok(None);
        }
        let size = self.document.nodes().len();
        self.meter.spend(1 + size / 8)?;
        if let KnownResults::Nodes(nodes) = &self.scratch.known[id as usize] {
            self.meter.hold(size)?;
            return Ok(Some(nodes.clone()));
        }
        match &node.kind {
            XPathKind::And(operands) => self.combined(operands, true),
            XPathKind::Or(operands) | XPathKind::Union(operands) => self.combined(operands, false),
            XPathKind::Call(Function::Not, arguments) => {
                let mut found = self.satisfying(arguments[0])?;
                found.iter_mut().flatten().for_each(|holds| *holds = !*holds);
                Ok(found)
            }
            XPathKind::Call(Function::Boolean, arguments) => self.satisfying(arguments[0]),
            XPathKind::Path(path) => self.beginnings(path, &|_| (true, 0)),
            XPathKind::Compare(comparison, left, right) => {
                let (path, comparison, other) = match (&xpath.node(*left).kind, &xpath.node(*right).kind) {
                    (XPathKind::Path(path), other) => (path, *comparison, other),
                    (other, XPathKind::Path(path)) => (path, comparison.mirrored(), other),
                    _ => return Ok(None),
                };
                let numbers = |number: f64| {
                    move |string: &str| {
                        let (found, cost) = number_and_cost(string);
                        (comparison.numbers(found, number), cost)
                    }
                };
                match other {
                    XPathKind::String(text) => self.beginnings(path, &|string| {
                        (compare_string(comparison, string, text), string.len().min(text.len()) / 16)
                    }),
                    XPathKind::Number(number) => self.beginnings(path, &numbers(*number)),
                    _ => Ok(None),
                }
            }
            _ => Ok(None),
        }
    }

    /// For every node, whether it satisfies all operands, or any of them.
    fn combined(&mut self, operands: &[NodeId], all: bool) -> Metered<Option<Vec<bool>>> {
        let size = self.document.nodes().len();
        self.meter.hold(size)?;
        let mut result = vec![all; size];
        for operand in operands {
            let Some(nodes) = self.satisfying(*operand)? else {
                self.meter.release(size);
                return Ok(None);
            };
            for (result, holds) in result.iter_mut().zip(nodes) {
                *result = if all { *result && holds } else { *result || holds };
            }
            self.meter.release(size);
        }
        Ok(Some(result))
    }

    /// For every node, whether a path leads from it to a node whose string passes a test. The test
    /// also returns the units of work it took.
    fn beginnings(
        &mut self,
        path: &Path,
        test: &dyn Fn(&str) -> (bool, usize),
    ) -> Metered<Option<Vec<bool>>> {
        let document = self.document;
        let size = document.nodes().len();
        match path.start {
            Start::Context => {}
            // A path from the document node has the same result everywhere.
            Start::Root => {
                let mut nodes = self.path(path, DOCUMENT)?;
                self.keep_passing(&mut nodes, test)?;
                self.meter.hold(size)?;
                return Ok(Some(vec![!nodes.is_empty(); size]));
            }
            Start::Nodes(..) => return Ok(None),
        }
        let counts = |predicate: &NodeId| self.counts(*predicate);
        if path.steps.iter().any(|step| step.predicates.iter().any(counts)) {
            return Ok(None);
        }
        let held = size * size_of::<NodeIndex>();
        self.meter.hold(held)?;
        let mut nodes: Vec<NodeIndex> = (0..size as NodeIndex).collect();
        for (at, step) in path.steps.iter().enumerate().rev() {
            self.keep_ends(step, &mut nodes)?;
            if at + 1 == path.steps.len() {
                self.keep_passing(&mut nodes, test)?;
            }
            nodes = self.inverse(step.axis, nodes)?;
        }
        self.meter.release(held);
        self.meter.hold(size)?;
        let mut result = vec![false; size];
        nodes.iter().for_each(|node| result[*node as usize] = true);
        Ok(Some(result))
    }

    fn keep_passing(
        &mut self,
        nodes: &mut Vec<NodeIndex>,
        test: &dyn Fn(&str) -> (bool, usize),
    ) -> Metered<()> {
        let mut exhausted = Ok(());
        nodes.retain(|node| {
            if exhausted.is_err() {
                return false;
            }
            let (passes, cost) = test(self.document.string(*node));
            exhausted = self.meter.spend(1 + cost);
            passes
        });
        exhausted
    }

    /// Keeps the nodes at which a step may end.
    fn keep_ends(&mut self, step: &Step, nodes: &mut Vec<NodeIndex>) -> Metered<()> {
        let document = self.document;
        let test = Resolved::new(&step.test, step.axis, document);
        self.meter.spend(nodes.len())?;
        nodes.retain(|node| test.accepts(document.node(*node), document.names()));
        for predicate in &step.predicates {
            match self.satisfying(*predicate)? {
                Some(holds) => {
                    nodes.retain(|node| holds[*node as usize]);
                    self.meter.release(holds.len());
                }
                None => self.filter(*predicate, nodes)?,
            }
        }
        Ok(())
    }

    /// The nodes from which a step along an axis reaches one of `nodes`.
    fn inverse(&mut self, axis: Axis, nodes: Vec<NodeIndex>) -> Metered<Vec<NodeIndex>> {
        let document = self.document;
        let size = document.nodes().len() as NodeIndex;
        self.meter.spend(nodes.len())?;
        let is_attribute = |node: &NodeIndex| document.node(*node).kind == NodeKind::Attribute;
        let content: Vec<NodeIndex> = nodes.iter().copied().filter(|node| !is_attribute(node)).collect();
        let mut from = |axis: Axis, nodes: &[NodeIndex]| {
            axis::from_set(document, axis, &Resolved::Node, nodes, &mut self.scratch.marks, self.meter)
        };
        let mut found = match axis {
            Axis::Child => from(Axis::Parent, &content)?,
            Axis::Descendant => from(Axis::Ancestor, &content)?,
            Axis::DescendantOrSelf => {
                let mut found = from(Axis::Ancestor, &content)?;
                found.extend(nodes);
                found
            }
            Axis::Itself => nodes,
            Axis::Attribute => {
                let attributes: Vec<NodeIndex> = nodes.into_iter().filter(is_attribute).collect();
                from(Axis::Parent, &attributes)?
            }
            Axis::Parent => {
                let mut found = from(Axis::Child, &nodes)?;
                found.extend(from(Axis::Attribute, &nodes)?);
                found
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                let mut found = Vec::new();
                let mut covered = 0;
                for &node in &content {
                    found.extend(covered.max(node + 1)..document.node(node).end);
                    covered = covered.max(document.node(node).end);
                }
                if axis == Axis::AncestorOrSelf {
                    found.extend(nodes);
                }
                found
            }
            Axis::FollowingSibling => from(Axis::PrecedingSibling, &content)?,
            Axis::PrecedingSibling => from(Axis::FollowingSibling, &content)?,
            Axis::Following => match content.last() {
                Some(&last) => (0..last).filter(|&node| document.node(node).end <= last).collect(),
                None => Vec::new(),
            },
            Axis::Preceding => match content.iter().map(|&node| document.node(node).end).min() {
                Some(first) => (first..size).collect(),
                None => Vec::new(),
            },
        };
        self.meter.spend(found.len())?;
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }
}
