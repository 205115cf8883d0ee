//! Which expressions does an event satisfy?
//!
//! Matching goes level by level, starting at the true predicates (Ji & Jacobsen 2021, Alg. 6). A true node
//! notifies its triggers. A notified `or` is true; a notified `and` checks its other children,
//! which are all on lower levels and already evaluated. Truths carry the number of the event
//! (the paper's event signature, 5.2.2), so nothing is cleared between events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;

use super::ATree;
use super::graph::{ATreeNode, Ask, Link, NOWHERE, NodeId, NodeKind};
use crate::predicates::{PredicateScratch, Seen};
use tamis::event::Event;
use tamis::matcher::extend::Stamped;
use tamis::matcher::{Counters, Slot};

/// The number of events that are all counted; afterwards only every 64th is.
const COUNTED_FIRST: u32 = 512;
const COUNTED_THEN: u32 = 64;

/// Working memory of a match.
#[derive(Debug, Default)]
pub(crate) struct ATreeScratch {
    /// The number of events matched.
    events: u32,
    /// The operator nodes that are true.
    truths: Stamped,
    /// By node: how many children have notified it. Only used without propagation on demand.
    told: Stamped<u32>,
    /// Reused memory: the leaves to visit, and the nodes that they notify.
    leaves: Vec<NodeId>,
    parents: Vec<NodeId>,
    /// By level: the nodes to be visited.
    pub(super) queues: Vec<Vec<NodeId>>,
    /// The levels whose queues are not empty.
    pub(super) levels: BinaryHeap<Reverse<u32>>,
    pub(super) predicates: PredicateScratch,
    /// The numbers of predicates that held and of nodes examined.
    pub counters: Counters,
}

impl ATreeScratch {
    /// Prepares for the next event.
    pub(super) fn begin(&mut self, atree: &ATree) {
        self.events = self.events.wrapping_add(1);
        let nodes = atree.graph.nodes.len();
        self.truths.begin(nodes);
        self.told.begin(if atree.options.propagation_on_demand { 0 } else { nodes });
    }

    pub(super) fn is_true(&self, node: NodeId) -> bool {
        self.truths.contains(node as usize)
    }

    /// Marks a node as true. Returns whether it was not.
    pub(super) fn make_true(&mut self, node: NodeId) -> bool {
        self.truths.insert(node as usize)
    }

    /// Counts a notification by a child. Returns how many there were.
    pub(super) fn count_told(&mut self, node: NodeId) -> u32 {
        let count = self.told.get(node as usize).unwrap_or(0) + 1;
        self.told.set(node as usize, count);
        count
    }

    pub(super) fn enqueue(&mut self, node: NodeId, level: u32) {
        if self.queues.len() <= level as usize {
            self.queues.resize_with(level as usize + 1, Vec::new);
        }
        let queue = &mut self.queues[level as usize];
        if queue.is_empty() {
            self.levels.push(Reverse(level));
        }
        queue.push(node);
    }
}

/// One match.
struct Run<'a> {
    atree: &'a ATree,
    scratch: &'a mut ATreeScratch,
    found: &'a mut Vec<Slot>,
    counts: bool,
}

impl ATree {
    pub(super) fn find(&self, event: &Event, scratch: &mut ATreeScratch, found: &mut Vec<Slot>) {
        let first = found.len();
        found.extend_from_slice(&self.always);
        scratch.begin(self);
        self.predicates.satisfied_by_pairs(event, &mut scratch.predicates);
        scratch.counters.predicates += scratch.predicates.found().len() as u64;
        let counts = self.counted() < COUNTED_FIRST || scratch.events.is_multiple_of(COUNTED_THEN);
        let mut run = Run { atree: self, scratch, found, counts };
        run.leaves(event);
        run.levels();
        if counts {
            self.events.fetch_add(1, Ordering::Relaxed);
        }
        found[first..].sort_unstable();
    }
}

impl Run<'_> {
    /// Visits the leaves that are true and awaited.
    fn leaves(&mut self, event: &Event) {
        let atree = self.atree;
        if self.counts {
            // Count those that nothing awaits too, because something may await them later.
            for &predicate in self.scratch.predicates.found() {
                atree.holding[predicate as usize].count();
            }
        }
        self.reported_leaves();
        for (attribute, _) in event.iter() {
            if (attribute as usize) < atree.presence.len()
                && self.scratch.predicates.seen(attribute) == Seen::Values
            {
                if self.counts {
                    atree.presence[attribute as usize].count();
                }
                let listed = atree.graph.by_value.get(attribute as usize);
                listed.into_iter().flatten().for_each(|&leaf| self.visit_lazy(leaf));
            }
        }
        atree.graph.by_absence.iter().for_each(|&leaf| self.visit_lazy(leaf));
    }

    /// Visits the leaves whose predicates hold. Each step runs for all leaves before the next, so
    /// that memory accesses overlap: with 100,000 conjunctions a match took 0.20 ms instead of 0.37
    /// (medians of three alternating runs on two busy cores).
    fn reported_leaves(&mut self) {
        let (atree, graph) = (self.atree, &self.atree.graph);
        let mut leaves = std::mem::take(&mut self.scratch.leaves);
        let mut parents = std::mem::take(&mut self.scratch.parents);
        let awaited = self.scratch.predicates.found().iter().filter(|&&id| graph.is_awaited(id));
        leaves.extend(awaited.filter_map(|&predicate| atree.leaves[predicate as usize][0]));
        for leaf in leaves.drain(..) {
            let node = graph.node(leaf);
            self.found.extend_from_slice(&node.slots);
            let triggers = &node.parents[..node.triggers as usize];
            parents.extend(triggers.iter().filter(|link| self.passes(link)).map(|link| link.node));
        }
        for parent in parents.drain(..) {
            self.tell(parent);
        }
        (self.scratch.leaves, self.scratch.parents) = (leaves, parents);
    }

    fn visit_lazy(&mut self, leaf: NodeId) {
        if self.lazy_truth(leaf) {
            self.visit(leaf);
        }
    }

    /// The truth of a leaf that is not reported.
    fn lazy_truth(&self, leaf: NodeId) -> bool {
        match self.atree.graph.node(leaf).kind {
            NodeKind::Leaf { predicate, negated, .. } => self.atree.predicates.is_true(
                predicate,
                negated,
                self.atree.missing,
                &self.scratch.predicates,
            ),
            _ => false,
        }
    }

    /// Visits the queued nodes, lower levels first.
    fn levels(&mut self) {
        while let Some(Reverse(level)) = self.scratch.levels.pop() {
            // A node only enqueues nodes of higher levels, so this queue does not grow.
            let mut queue = std::mem::take(&mut self.scratch.queues[level as usize]);
            for &id in &queue {
                if self.scratch.is_true(id) || self.evaluate(id) {
                    if self.counts {
                        self.atree.graph.node(id).frequency.count();
                    }
                    self.visit(id);
                }
            }
            queue.clear();
            self.scratch.queues[level as usize] = queue;
        }
    }

    /// Evaluates a notified `and`.
    fn evaluate(&mut self, id: NodeId) -> bool {
        let node = self.atree.graph.node(id);
        let truth = if self.atree.options.propagation_on_demand {
            self.others_are_true(node)
        } else {
            self.scratch.told.get(id as usize) == Some(node.children.len() as u32)
        };
        truth && self.scratch.make_true(id)
    }

    /// Whether all children except the first are true.
    fn others_are_true(&self, node: &ATreeNode) -> bool {
        node.children[1..].iter().all(|child| match child.ask {
            Ask::Operator => self.scratch.is_true(child.node),
            Ask::Holds(predicate) => self.scratch.predicates.holds(predicate),
            Ask::Lazy => self.lazy_truth(child.node),
        })
    }

    /// Reports the expressions of a true node and notifies its triggers.
    fn visit(&mut self, id: NodeId) {
        let node = self.atree.graph.node(id);
        self.found.extend_from_slice(&node.slots);
        for link in &node.parents[..node.triggers as usize] {
            if self.passes(link) {
                self.tell(link.node);
            }
        }
    }

    /// Whether the parent's guard holds.
    fn passes(&self, link: &Link) -> bool {
        link.guard == NOWHERE || self.scratch.predicates.holds(link.guard)
    }

    /// Notifies a node that one of its children is true.
    fn tell(&mut self, id: NodeId) {
        self.scratch.counters.nodes += 1;
        let node = self.atree.graph.node(id);
        let level = node.level;
        match node.kind {
            NodeKind::Or => {
                if self.scratch.make_true(id) {
                    self.scratch.enqueue(id, level);
                }
            }
            _ if !self.atree.options.propagation_on_demand => {
                if self.scratch.count_told(id) == 1 {
                    self.scratch.enqueue(id, level);
                }
            }
            // Leaves have their truth already, so decide nodes directly above them here. Most end
            // here.
            _ if level == 2 => {
                if self.others_are_true(node) {
                    self.scratch.make_true(id);
                    self.scratch.enqueue(id, level);
                }
            }
            _ => self.scratch.enqueue(id, level),
        }
    }
}
