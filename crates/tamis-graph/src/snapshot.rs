//! What is a graph at one moment?

use std::sync::Arc;

use super::draft::{DraftEdge, GraphDraft, NONE};
use super::scratch::{GraphScratch, Pool};
use super::segment::Segment;
use super::tail::{Ground, Patch, PreparedExpression, Tail};
use super::{TAIL, TAIL_PART};
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::Expression;
use crate::id::{Id, IdRef};
use crate::matcher::Matcher;
use crate::matcher::extend::MatcherKind;
use crate::truth::Missing;

/// Units of work that evaluating an expression takes.
const EVALUATING: usize = 32;

/// A graph at one moment.
#[derive(Debug, Clone)]
pub struct GraphSnapshot {
    pub(super) segment: Arc<Segment>,
    pub(super) tail: Tail,
    pub(super) attributes: Arc<Attributes>,
    pub(super) missing: Missing,
    pub(super) pool: Arc<Pool>,
    /// Makes the matcher that the strategies of the papers skip through.
    pub(super) skipping: Option<&'static dyn MatcherKind>,
}

/// A node of a snapshot, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeNumber(pub(super) u32);

/// The current state of a node.
pub(super) enum Constraint<'a> {
    /// It was removed.
    Removed,
    /// It takes every event.
    None,
    /// It has a compiled expression.
    Compiled(u32),
    /// It has an expression newer than the compiled ones.
    Newer(&'a PreparedExpression),
}

impl GraphSnapshot {
    /// The attributes to decode events with. An event must be decoded after the snapshot was taken, or it may lack
    /// attributes that a node of the snapshot tests.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// The node of an id.
    pub fn find(&self, id: &Id) -> Option<NodeNumber> {
        self.tail.find(&self.segment, id.as_ref()).map(NodeNumber)
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.segment.nodes.len() + self.tail.nodes_added - self.tail.nodes_removed
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the tail is long for a graph of this size.
    pub(super) fn has_long_tail(&self) -> bool {
        self.tail.size > TAIL + self.segment.len() / TAIL_PART
    }

    /// How many numbers are in use, those of edges and of the removed included.
    pub(super) fn numbers(&self) -> usize {
        self.segment.len() + self.tail.added.len()
    }

    /// The id of a node; an edge's node has none.
    pub(super) fn id(&self, node: u32) -> Option<IdRef<'_>> {
        match self.segment.owners.get(node as usize) {
            Some(&NONE) => None,
            Some(&position) => self.segment.ids.get(position),
            None => self.tail.added[node as usize - self.segment.len()].id.as_ref().map(Id::as_ref),
        }
    }

    /// Whether a node is one that users know, not that of an edge.
    #[inline]
    pub(super) fn is_named(&self, node: u32) -> bool {
        match self.segment.owners.get(node as usize) {
            Some(&position) => position != NONE,
            None => self.tail.added[node as usize - self.segment.len()].id.is_some(),
        }
    }

    /// The nodes in the order in which they were added.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        let added = self.segment.len() as u32..self.numbers() as u32;
        let all = self.segment.nodes.iter().copied().chain(added.filter(|&node| self.is_named(node)));
        all.filter(|&node| !self.is_removed(node))
    }

    /// The ids of the nodes in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = Result<IdRef<'_>>> {
        self.nodes().map(|node| self.id(node).ok_or_else(damaged))
    }

    #[inline]
    fn patch(&self, node: u32) -> Option<&Patch> {
        if self.tail.is_empty() { None } else { self.tail.patches.get(&node) }
    }

    pub(super) fn is_removed(&self, node: u32) -> bool {
        self.patch(node).is_some_and(|patch| patch.removed)
    }

    #[inline]
    pub(super) fn constraint(&self, node: u32) -> Constraint<'_> {
        if let Some(patch) = self.patch(node) {
            match patch {
                Patch { removed: true, .. } => return Constraint::Removed,
                Patch { condition: Some(None), .. } => return Constraint::None,
                Patch { condition: Some(Some(condition)), .. } => return Constraint::Newer(condition),
                _ => {}
            }
        }
        match self.segment.expressions.get(node as usize) {
            None | Some(&NONE) => Constraint::None,
            Some(&expression) => Constraint::Compiled(expression),
        }
    }

    /// The expression of a node.
    pub(super) fn expression(&self, node: u32) -> Result<Option<Expression>> {
        match self.constraint(node) {
            Constraint::Removed | Constraint::None => Ok(None),
            Constraint::Newer(condition) => Ok(Some(condition.expression.clone())),
            Constraint::Compiled(number) => self.segment.expression(number).map(Some).ok_or_else(damaged),
        }
    }

    /// The expression of the node of an id, if it has one.
    pub fn expression_of(&self, node: NodeNumber) -> Result<Option<Expression>> {
        self.expression(node.0)
    }

    /// Whether the event makes a node valid. The caller asks once per node.
    #[inline]
    pub(super) fn is_valid(&self, node: u32, event: &Event, working: &mut GraphScratch) -> bool {
        match self.constraint(node) {
            Constraint::Removed => false,
            Constraint::None => true,
            Constraint::Compiled(expression) => {
                working.counts.evaluated += 1;
                if working.timer.spend(EVALUATING) {
                    return false;
                }
                self.segment.programs.holds(expression, event, &self.attributes, &mut working.memo)
            }
            Constraint::Newer(condition) => {
                working.counts.evaluated += 1;
                if working.timer.spend(EVALUATING) {
                    return false;
                }
                working.newer.begin(&condition.program, event);
                condition.program.holds(0, event, &self.attributes, &mut working.newer)
            }
        }
    }

    /// Writes the nodes that the event makes valid and that can be reached into `working.valid`,
    /// ascending.
    pub(super) fn find_valid(&self, event: &Event, working: &mut GraphScratch) {
        working.slots.clear();
        self.segment.matcher.matches(event, &mut working.scratch, &mut working.slots);
        working.timer.look();
        let segment = &self.segment;
        let slots = std::mem::take(&mut working.slots);
        let mut constrained = slots.iter().map(|&slot| segment.constrained[slot as usize]).peekable();
        let mut valid = std::mem::take(&mut working.valid);
        valid.clear();
        for &node in segment.free.iter() {
            while let Some(before) = constrained.next_if(|&found| found < node) {
                valid.push(before);
            }
            valid.push(node);
        }
        valid.extend(constrained);
        working.slots = slots;
        if !self.tail.is_empty() {
            valid.retain(|node| !self.tail.patches.contains_key(node));
            self.find_changed(event, working);
            valid.append(&mut working.valid);
            valid.sort_unstable();
        }
        working.valid = valid;
    }

    /// Writes the nodes that changed since the graph was compiled, and that the event makes valid, into
    /// `working.valid`, ascending. They are evaluated one by one.
    pub(super) fn find_changed(&self, event: &Event, working: &mut GraphScratch) {
        let mut changed: Vec<u32> = self.tail.patches.keys().copied().collect();
        changed.sort_unstable();
        changed.retain(|&node| self.is_valid(node, event, working));
        working.valid = changed;
    }

    /// Calls `follow` with the nodes that a node's edges lead to.
    #[inline]
    pub(super) fn each_child(&self, node: u32, mut follow: impl FnMut(u32)) {
        match self.patch(node) {
            None if (node as usize) < self.segment.len() => {
                self.segment.children(node).iter().for_each(|&child| follow(child));
            }
            _ => self.each_edge(node, |child, _| follow(child)),
        }
    }

    /// Calls `follow` with the target and cost of every edge of a node.
    pub(super) fn each_edge(&self, node: u32, mut follow: impl FnMut(u32, f64)) {
        let patch = self.patch(node);
        if patch.is_some_and(|patch| patch.removed) {
            return;
        }
        if (node as usize) < self.segment.len() {
            for edge in self.segment.row(node) {
                let target = self.segment.target(edge);
                if patch.is_none_or(|patch| !patch.dropped.contains(&target)) {
                    follow(target, self.segment.cost(node, edge));
                }
            }
        }
        patch.iter().flat_map(|patch| &patch.added).for_each(|&(target, cost)| follow(target, cost));
    }

    /// Whether no edge leads on from a node.
    pub(super) fn is_sink(&self, node: u32) -> bool {
        if self.tail.is_empty() {
            return self.segment.row(node).is_empty();
        }
        let mut sink = true;
        self.each_edge(node, |child, _| sink &= self.leads_nowhere(child));
        sink
    }

    /// Whether an edge to this node is as good as none: the node, or what its edge leads to, is gone.
    fn leads_nowhere(&self, child: u32) -> bool {
        if self.is_named(child) || self.is_removed(child) {
            return self.is_removed(child);
        }
        let mut gone = true;
        self.each_edge(child, |target, _| gone &= self.is_removed(target));
        gone
    }

    /// Whether numbers are in topological order of the components.
    pub(super) fn is_ordered(&self) -> bool {
        !self.tail.unordered
    }

    /// Whether numbers are in topological order of the nodes, and no path leads from a node to itself.
    pub(super) fn is_acyclic(&self) -> bool {
        self.is_ordered() && self.segment.is_acyclic()
    }

    /// The first node of a node's component.
    #[inline]
    pub(super) fn first(&self, node: u32) -> u32 {
        self.segment.firsts.get(node as usize).copied().unwrap_or(node)
    }

    pub(super) fn ground(&self) -> Ground<'_> {
        Ground { segment: &self.segment, attributes: &self.attributes, missing: self.missing }
    }

    /// The graph as it is now, to be compiled again.
    pub(super) fn draft(&self) -> Result<GraphDraft> {
        let mut draft = GraphDraft::default();
        let expressions = (0..self.segment.expression_count() as u32)
            .map(|number| self.segment.expression(number).ok_or_else(damaged))
            .collect::<Result<Vec<_>>>()?;
        // Expressions are renumbered: some may no longer be used.
        let mut numbers = vec![NONE; expressions.len()];
        let mut number = |draft: &mut GraphDraft, node: u32| match self.constraint(node) {
            Constraint::Removed | Constraint::None => NONE,
            Constraint::Newer(condition) => draft.expression(Some(&condition.expression)),
            Constraint::Compiled(old) => {
                if numbers[old as usize] == NONE {
                    numbers[old as usize] = draft.expression(expressions.get(old as usize));
                }
                numbers[old as usize]
            }
        };
        let mut places = vec![NONE; self.numbers()];
        for node in self.nodes() {
            let expression = number(&mut draft, node);
            let id = self.id(node).ok_or_else(damaged)?.to_id();
            places[node as usize] = draft.add_node(id, expression);
        }
        for source in self.nodes() {
            let mut edges = Vec::new();
            self.each_edge(source, |child, cost| edges.push((child, cost)));
            for (child, cost) in edges {
                let source = places[source as usize];
                if self.is_named(child) {
                    let target = places[child as usize];
                    draft.edges.push(DraftEdge { source, target, expression: NONE, cost });
                } else {
                    let expression = number(&mut draft, child);
                    self.each_edge(child, |target, _| {
                        let target = places[target as usize];
                        draft.edges.push(DraftEdge { source, target, expression, cost });
                    });
                }
            }
        }
        draft.edges.retain(|edge| edge.target != NONE);
        Ok(draft)
    }
}

/// Figures about a graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphStats {
    /// Nodes.
    pub nodes: usize,
    /// Edges between different pairs of nodes, or with different expressions, at the last compilation.
    pub edges: usize,
    /// Distinct expressions at the last compilation.
    pub expressions: usize,
    /// Strongly connected components at the last compilation; an edge's node is one by itself.
    pub components: usize,
    /// Nodes of the largest.
    pub largest_component: usize,
    /// Changes since the last compilation.
    pub changes: usize,
    /// Bytes of the compiled graph.
    pub bytes: usize,
}

impl GraphSnapshot {
    /// Figures about the snapshot.
    pub fn stats(&self) -> GraphStats {
        let firsts = &self.segment.firsts;
        let runs = firsts.chunk_by(|a, b| a == b).map(<[u32]>::len);
        let (components, largest) = runs.fold((0, 0), |(count, most), run| (count + 1, run.max(most)));
        let split = self.segment.len() - self.segment.nodes.len();
        GraphStats {
            nodes: self.len(),
            edges: self.segment.edges() - split,
            expressions: self.segment.expression_count(),
            components,
            largest_component: largest,
            changes: self.tail.size,
            bytes: self.segment.bytes(),
        }
    }
}

pub(super) fn damaged() -> Error {
    Error::Graph("the graph's file is damaged; open it with verification to learn more".to_owned())
}

/// An edge as users know it.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphEdge {
    /// The node it leads to.
    pub target: Id,
    /// The events that it accepts.
    pub expression: Option<Expression>,
    /// What passing it costs.
    pub cost: f64,
}

impl GraphSnapshot {
    /// The edges of a node. Parallel edges without an expression are represented by the cheapest one.
    pub fn edges(&self, node: NodeNumber) -> Result<Vec<GraphEdge>> {
        let mut edges = Vec::new();
        self.each_edge(node.0, |child, cost| edges.push((child, cost)));
        let mut found = Vec::new();
        for (child, cost) in edges {
            let expression = if self.is_named(child) { None } else { self.expression(child)? };
            let mut ends = Vec::new();
            match self.is_named(child) {
                true => ends.push(child),
                false => self.each_child(child, |target| ends.push(target)),
            }
            for end in ends.into_iter().filter(|&end| !self.is_removed(end)) {
                let target = self.id(end).ok_or_else(damaged)?.to_id();
                found.push(GraphEdge { target, expression: expression.clone(), cost });
            }
        }
        Ok(found)
    }
}
