//! Which nodes satisfy a predicate?
//!
//! A predicate that is tried on many nodes is answered for all nodes at once: a path is walked
//! backwards, from the nodes where it may end to those where it may begin, over inverse axes. That is
//! linear in the document where trying node by node is quadratic (Gottlob, Koch and Pichler 2005,
//! "Core XPath"). What cannot be answered so is tried node by node.

use super::axis::{self, Resolved};
use super::value::to_number;
use super::{Context, Evaluation, compare_string};
use crate::xml::document::{NodeIndex, NodeKind};
use crate::xml::xpath::{Axis, Function, Kind, NodeId, Path, Start, Step};

/// After how many nodes a predicate is answered for all.
const TRIES: u32 = 8;

/// What is known about a predicate.
#[derive(Debug, Clone)]
pub enum Known {
    /// How many nodes it has been tried on.
    Tried(u32),
    /// It cannot be answered for all nodes at once.
    Never,
    /// Of every node, whether it satisfies the predicate.
    Nodes(Vec<bool>),
}

impl Evaluation<'_> {
    /// Whether a node satisfies a predicate that does not count, where that is known for all nodes, or
    /// has been asked often enough to be found out.
    pub(super) fn satisfies(&mut self, predicate: NodeId, node: NodeIndex) -> Option<bool> {
        match &mut self.scratch.known[predicate as usize] {
            Known::Nodes(nodes) => return Some(nodes[node as usize]),
            Known::Never => return None,
            Known::Tried(count) if *count < TRIES => {
                *count += 1;
                return None;
            }
            Known::Tried(_) => {}
        }
        let found = self.satisfying(predicate);
        let answer = found.as_ref().map(|nodes| nodes[node as usize]);
        self.scratch.known[predicate as usize] = found.map_or(Known::Never, Known::Nodes);
        answer
    }

    /// Of every node, whether an expression is true of it.
    fn satisfying(&mut self, id: NodeId) -> Option<Vec<bool>> {
        let xpath = self.xpath;
        let node = xpath.node(id);
        if node.positional {
            return None;
        }
        if let Known::Nodes(nodes) = &self.scratch.known[id as usize] {
            return Some(nodes.clone());
        }
        let combine = |this: &mut Self, operands: &[NodeId], all: bool| {
            let mut result = vec![all; this.document.nodes().len()];
            for operand in operands {
                let nodes = this.satisfying(*operand)?;
                for (result, holds) in result.iter_mut().zip(nodes) {
                    *result = if all { *result && holds } else { *result || holds };
                }
            }
            Some(result)
        };
        match &node.kind {
            Kind::And(operands) => combine(self, operands, true),
            Kind::Or(operands) | Kind::Union(operands) => combine(self, operands, false),
            Kind::Call(Function::Not, arguments) => {
                let mut nodes = self.satisfying(arguments[0])?;
                nodes.iter_mut().for_each(|holds| *holds = !*holds);
                Some(nodes)
            }
            Kind::Call(Function::Boolean, arguments) => self.satisfying(arguments[0]),
            Kind::Path(path) => self.beginnings(path, &|_| true),
            Kind::Compare(comparison, left, right) => {
                let (path, comparison, other) = match (&xpath.node(*left).kind, &xpath.node(*right).kind) {
                    (Kind::Path(path), other) => (path, *comparison, other),
                    (other, Kind::Path(path)) => (path, comparison.mirrored(), other),
                    _ => return None,
                };
                let numbers = |number: f64| move |string: &str| comparison.numbers(to_number(string), number);
                match other {
                    Kind::Literal(text) => {
                        self.beginnings(path, &|string| compare_string(comparison, string, text))
                    }
                    Kind::Number(number) => self.beginnings(path, &numbers(*number)),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Of every node, whether a path leads from it to a node whose string passes a test.
    fn beginnings(&mut self, path: &Path, test: &dyn Fn(&str) -> bool) -> Option<Vec<bool>> {
        let size = self.document.nodes().len();
        match path.start {
            Start::Context => {}
            // A path from the document node is the same from everywhere.
            Start::Root => {
                let context = Context { node: 0, position: 1, size: 1 };
                let nodes = self.path(path, context);
                let found = nodes.iter().any(|node| test(self.document.string(*node)));
                return Some(vec![found; size]);
            }
            Start::Nodes(..) => return None,
        }
        let counts = |predicate: &NodeId| self.counts(*predicate);
        if path.steps.iter().any(|step| step.predicates.iter().any(counts)) {
            return None;
        }
        let mut nodes: Vec<NodeIndex> = (0..size as NodeIndex).collect();
        for (at, step) in path.steps.iter().enumerate().rev() {
            self.keep_ends(step, &mut nodes);
            if at + 1 == path.steps.len() {
                nodes.retain(|node| test(self.document.string(*node)));
            }
            nodes = self.inverse(step.axis, nodes);
        }
        let mut result = vec![false; size];
        nodes.iter().for_each(|node| result[*node as usize] = true);
        Some(result)
    }

    /// Keeps the nodes at which a step may end.
    fn keep_ends(&mut self, step: &Step, nodes: &mut Vec<NodeIndex>) {
        let document = self.document;
        let test = Resolved::new(&step.test, step.axis, document);
        nodes.retain(|node| test.accepts(document.node(*node), document.names()));
        for predicate in &step.predicates {
            match self.satisfying(*predicate) {
                Some(holds) => nodes.retain(|node| holds[*node as usize]),
                None => self.filter(*predicate, nodes),
            }
        }
    }

    /// The nodes from which a step along an axis reaches one of `nodes`.
    fn inverse(&mut self, axis: Axis, nodes: Vec<NodeIndex>) -> Vec<NodeIndex> {
        let document = self.document;
        let is_attribute = |node: &NodeIndex| document.node(*node).kind == NodeKind::Attribute;
        let content: Vec<NodeIndex> = nodes.iter().copied().filter(|node| !is_attribute(node)).collect();
        let mut from = |axis: Axis, nodes: &[NodeIndex]| {
            axis::from_set(document, axis, &Resolved::Node, nodes, &mut self.scratch.marks)
        };
        let mut found = match axis {
            Axis::Child => from(Axis::Parent, &content),
            Axis::Descendant => from(Axis::Ancestor, &content),
            Axis::DescendantOrSelf => {
                let mut found = from(Axis::Ancestor, &content);
                found.extend(nodes);
                found
            }
            Axis::Itself => nodes,
            Axis::Attribute => {
                let attributes: Vec<NodeIndex> = nodes.into_iter().filter(is_attribute).collect();
                from(Axis::Parent, &attributes)
            }
            Axis::Parent => {
                let mut found = from(Axis::Child, &nodes);
                found.extend(from(Axis::Attribute, &nodes));
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
            Axis::FollowingSibling => from(Axis::PrecedingSibling, &content),
            Axis::PrecedingSibling => from(Axis::FollowingSibling, &content),
        };
        found.sort_unstable();
        found.dedup();
        found
    }
}
