//! What has changed since a graph was compiled?
//!
//! The tail has the added nodes and, for every changed node, a patch: whether it is removed, its new expression,
//! its new edges, and the compiled edges it no longer has. The collections are persistent: copies
//! share everything that is not changed later, so every change is published at once and no reader
//! waits. A removed node is never valid; its edges are dropped when the graph is
//! compiled again.

use std::sync::{Arc, OnceLock};

use rpds::{HashTrieMapSync, HashTrieSetSync, VectorSync};

use super::change::Change;
use super::draft::NONE;
use super::programs::Programs;
use super::segment::Segment;
use crate::event::Attributes;
use crate::expression::Expression;
use crate::id::{Id, IdRef};
use crate::rank::Scores;
use crate::truth::Missing;

pub(super) type Patches = HashTrieMapSync<u32, Patch, ahash::RandomState>;

/// One expression, prepared for being evaluated on an event.
#[derive(Debug)]
pub(super) struct PreparedExpression {
    pub expression: Expression,
    pub program: Programs,
    scores: OnceLock<Scores>,
}

impl PreparedExpression {
    pub fn scores(&self, attributes: &Attributes, missing: Missing) -> &Scores {
        self.scores.get_or_init(|| Scores::new([&self.expression], attributes, missing))
    }
}

/// A node added since.
#[derive(Debug, Clone)]
pub(super) struct Added {
    /// None for an edge's node.
    pub id: Option<Id>,
}

/// What has changed about a node.
#[derive(Debug, Clone, Default)]
pub(super) struct Patch {
    pub removed: bool,
    /// The new expression, if it changed: none, or this one.
    pub condition: Option<Option<Arc<PreparedExpression>>>,
    /// New edges: their targets and costs.
    pub added: VectorSync<(u32, f64)>,
    /// The targets of compiled edges that are gone.
    pub dropped: HashTrieSetSync<u32, ahash::RandomState>,
}

/// The changes since a segment was compiled.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail {
    /// Numbered after the segment's nodes.
    pub added: VectorSync<Added>,
    /// The nodes added since, by their id.
    numbers: HashTrieMapSync<Id, u32, ahash::RandomState>,
    pub patches: Patches,
    /// How many changes there are.
    pub size: usize,
    /// Whether a new edge leads backwards, so that the numbers are in no topological order any more.
    pub unordered: bool,
    /// Nodes with an id that were added, or removed, since.
    pub nodes_added: usize,
    pub nodes_removed: usize,
}

/// What a change needs to know about the graph besides the tail.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub segment: &'a Segment,
    pub attributes: &'a Attributes,
    pub missing: Missing,
}

impl Tail {
    pub fn is_empty(&self) -> bool {
        self.size == 0
    }

    /// The live node of an id.
    pub fn find(&self, segment: &Segment, id: IdRef<'_>) -> Option<u32> {
        if self.is_empty() {
            return segment.ids.find(id).map(|position| segment.nodes[position as usize]);
        }
        let live = |node: &u32| !self.patches.get(node).is_some_and(|patch| patch.removed);
        let added = self.numbers.get(&id.to_id()).copied();
        added.or_else(|| segment.ids.find(id).map(|position| segment.nodes[position as usize])).filter(live)
    }

    /// Makes a change; false if it changes nothing.
    pub fn apply(&mut self, ground: Ground<'_>, change: &Change) -> bool {
        let done = match change {
            Change::AddNode { id, expression } => {
                let node = self.ensure(ground.segment, id);
                self.constrain(ground, node, expression.as_ref());
                true
            }
            Change::AddEdge { source, target, expression, cost } => {
                let [source, target] = [source, target].map(|id| self.ensure(ground.segment, id));
                match expression {
                    None => self.connect(ground.segment, source, target, *cost),
                    Some(expression) => {
                        let between = self.add(ground.segment, None);
                        self.constrain(ground, between, Some(expression));
                        self.connect(ground.segment, source, between, *cost);
                        self.connect(ground.segment, between, target, 0.0);
                    }
                }
                true
            }
            Change::RemoveNode { id } => match self.find(ground.segment, id.as_ref()) {
                None => false,
                Some(node) => {
                    self.patch(node, |patch| patch.removed = true);
                    // A node added later under this id is another one.
                    self.numbers.remove_mut(id);
                    self.nodes_removed += 1;
                    true
                }
            },
            Change::RemoveEdge { source, target } => {
                let ends = [source, target].map(|id| self.find(ground.segment, id.as_ref()));
                matches!(ends, [Some(source), Some(target)] if self.disconnect(ground.segment, source, target))
            }
        };
        self.size += usize::from(done);
        done
    }

    fn ensure(&mut self, segment: &Segment, id: &Id) -> u32 {
        match self.find(segment, id.as_ref()) {
            Some(node) => node,
            None => {
                let node = self.add(segment, Some(id.clone()));
                self.numbers.insert_mut(id.clone(), node);
                self.nodes_added += 1;
                // A node that is found by the tail's numbers must count as a change at once.
                self.size += 1;
                node
            }
        }
    }

    fn add(&mut self, segment: &Segment, id: Option<Id>) -> u32 {
        self.added.push_back_mut(Added { id });
        (segment.len() + self.added.len() - 1) as u32
    }

    fn patch(&mut self, node: u32, change: impl FnOnce(&mut Patch)) {
        if !self.patches.contains_key(&node) {
            self.patches.insert_mut(node, Patch::default());
        }
        if let Some(patch) = self.patches.get_mut(&node) {
            change(patch);
        }
    }

    fn constrain(&mut self, ground: Ground<'_>, node: u32, expression: Option<&Expression>) {
        let condition = expression.map(|expression| {
            let program = Programs::new([expression], ground.attributes, ground.missing);
            Arc::new(PreparedExpression { expression: expression.clone(), program, scores: OnceLock::new() })
        });
        self.patch(node, |patch| patch.condition = Some(condition));
    }

    fn connect(&mut self, segment: &Segment, source: u32, target: u32, cost: f64) {
        let first = |node: u32| segment.firsts.get(node as usize).copied().unwrap_or(node);
        self.unordered |= first(source) > first(target) || source == target;
        self.patch(source, |patch| patch.added.push_back_mut((target, cost)));
        // The index does not contain nodes without a compiled incoming edge, so nodes with a patch are evaluated.
        self.patch(target, |_| ());
    }

    /// Removes every edge from `source` to `target`; false if there is none.
    fn disconnect(&mut self, segment: &Segment, source: u32, target: u32) -> bool {
        let leads = |child: u32| child == target || self.passes(segment, child, target);
        let old = self.patches.get(&source).cloned().unwrap_or_default();
        let compiled = if (source as usize) < segment.len() { segment.children(source) } else { &[] };
        let dropped: Vec<u32> =
            compiled.iter().copied().filter(|&child| !old.dropped.contains(&child) && leads(child)).collect();
        let kept: VectorSync<(u32, f64)> =
            old.added.iter().filter(|(child, _)| !leads(*child)).copied().collect();
        let found = !dropped.is_empty() || kept.len() < old.added.len();
        self.patch(source, |patch| {
            patch.added = kept;
            dropped.into_iter().for_each(|child| patch.dropped.insert_mut(child));
        });
        found
    }

    /// Whether a node is that of an edge to `target`.
    fn passes(&self, segment: &Segment, node: u32, target: u32) -> bool {
        match segment.owners.get(node as usize) {
            Some(&owner) => owner == NONE && segment.children(node).first() == Some(&target),
            None => {
                self.added[node as usize - segment.len()].id.is_none()
                    && self
                        .patches
                        .get(&node)
                        .is_some_and(|patch| patch.added.first().is_some_and(|&(child, _)| child == target))
            }
        }
    }
}
