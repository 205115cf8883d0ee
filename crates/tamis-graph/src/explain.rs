//! On which path does an event reach a node, or which nodes and edges block it?

use std::collections::VecDeque;
use std::fmt;

use super::draft::NONE;
use super::scratch::{GraphScratch, REACHABLE, RESULT};
use super::snapshot::{GraphSnapshot, NodeNumber, damaged};
use crate::csr;
use crate::error::Result;
use crate::event::Event;
use crate::id::Id;
use tamis::explain::{Explanation, explain};

/// Units of work that following the edges of a node takes, more or less.
const EDGES: usize = 16;

/// Why an event reaches a node, or does not.
#[derive(Debug, Clone)]
pub enum Route {
    /// Over these nodes, from the source to the target: a valid path with the fewest edges.
    Reached(Vec<Id>),
    /// Not, because each of these refuses the event, and every path leads over one of them.
    Refused(Vec<Refusal>),
    /// Not reached, because no path leads there whatever the event.
    Unconnected,
}

/// A node or edge that refuses the event, with the explanation of its expression.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// The node, or the edge.
    pub place: GraphElement,
    /// Why it refuses.
    pub explanation: Explanation,
}

/// Something that can refuse an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraphElement {
    /// A node.
    Node(Id),
    /// An edge, from the first node to the second.
    Edge(Id, Id),
}

impl fmt::Display for GraphElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphElement::Node(id) => write!(f, "node {id}"),
            GraphElement::Edge(source, target) => write!(f, "edge {source} -> {target}"),
        }
    }
}

impl GraphSnapshot {
    /// Why the event reaches `target` from `source`, or does not. Fails at the event's deadline, if it has one.
    pub fn explain(&self, event: &Event, source: NodeNumber, target: NodeNumber) -> Result<Route> {
        let mut working = GraphScratch::default();
        self.guard(&mut working, |working| self.route(event, source.0, target.0, working))?
    }

    fn route(&self, event: &Event, source: u32, target: u32, working: &mut GraphScratch) -> Result<Route> {
        working.begin(self.numbers(), event);
        working.memo.begin(&self.segment.programs, event);
        let mut parents = vec![NONE; self.numbers()];
        let mut open = VecDeque::from([source]);
        while let Some(node) = open.pop_front() {
            let mut children = Vec::new();
            self.each_child(node, |child| children.push(child));
            for child in children {
                if working.timer.spend(1) {
                    working.timer.check()?;
                }
                if !working.mark(child, REACHABLE) {
                    continue;
                }
                parents[child as usize] = node;
                if self.is_valid(child, event, working) {
                    working.mark(child, RESULT);
                    if child == target {
                        return self.path(|node| parents[node as usize], source, target).map(Route::Reached);
                    }
                    if child != source {
                        open.push_back(child);
                    }
                }
            }
        }
        working.timer.check()?;
        let cut = self.cut(source, target, working);
        working.timer.check()?;
        if cut.is_empty() {
            return Ok(Route::Unconnected);
        }
        let refusal = |node: u32| {
            let expression = self.expression(node)?.ok_or_else(damaged)?;
            let explanation = explain(&expression, event, &self.attributes, self.missing)?;
            Ok(Refusal { place: self.place(node, parents[node as usize])?, explanation })
        };
        cut.into_iter().map(refusal).collect::<Result<_>>().map(Route::Refused)
    }

    /// The nodes from the source to the target; `parent` is the node before another one.
    pub(super) fn path(&self, parent: impl Fn(u32) -> u32, source: u32, target: u32) -> Result<Vec<Id>> {
        let mut path = vec![target];
        let mut node = parent(target);
        while node != source {
            path.push(node);
            node = parent(node);
        }
        path.push(source);
        let named = path.into_iter().rev().filter(|&node| self.is_named(node));
        named.map(|node| Ok(self.id(node).ok_or_else(damaged)?.to_id())).collect()
    }

    fn place(&self, node: u32, parent: u32) -> Result<GraphElement> {
        let id = |node: u32| self.id(node).map(|id| id.to_id()).ok_or_else(damaged);
        if self.is_named(node) {
            return id(node).map(GraphElement::Node);
        }
        let mut target = NONE;
        self.each_child(node, |child| target = child);
        Ok(GraphElement::Edge(id(parent)?, id(target)?))
    }

    /// The nodes that were reached and refuse, and from which a path leads to the target that passes
    /// neither another of them nor a node that was reached and takes the event. Every path from the
    /// source leads over one: the last of its nodes that was reached. Incomplete once the time is up.
    fn cut(&self, source: u32, target: u32, working: &mut GraphScratch) -> Vec<u32> {
        let count = self.numbers();
        let (mut sources, mut targets) = (Vec::new(), Vec::new());
        for node in (0..count as u32).filter(|&node| !self.is_removed(node)) {
            if working.timer.spend(EDGES) {
                break;
            }
            self.each_child(node, |child| {
                sources.push(node);
                targets.push(child);
            });
        }
        let (starts, edges) = csr::group(count, &targets);
        let mut cut = Vec::new();
        let mut seen = vec![false; count];
        let mut open = VecDeque::from([target]);
        seen[target as usize] = true;
        while let Some(node) = open.pop_front() {
            if working.has(node, REACHABLE) {
                if !self.is_removed(node) && !working.has(node, RESULT) {
                    cut.push(node);
                }
                continue;
            }
            for &edge in &edges[csr::range(&starts, node)] {
                let parent = sources[edge as usize];
                let passable = parent != source && !self.is_removed(parent);
                if passable && !std::mem::replace(&mut seen[parent as usize], true) {
                    open.push_back(parent);
                }
            }
        }
        cut.sort_unstable();
        cut
    }
}
