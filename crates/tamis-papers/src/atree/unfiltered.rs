//! How much work does the zero suppression filter save?
//!
//! For comparison (Ji & Jacobsen 2021, 5.2.1 and Figure 10), a match that propagates `false` too.
//! Every leaf whose attribute the event has, and every leaf that can be true without it, notifies
//! all its parents. A notified node is evaluated from all its children and notifies its own
//! parents, whether true or false.

use std::cmp::Reverse;

use super::ATree;
use super::graph::{NodeId, NodeKind};
use super::matching::ATreeScratch;
use tamis::event::Event;
use tamis::matcher::Slot;

impl ATree {
    pub(super) fn find_unfiltered(&self, event: &Event, scratch: &mut ATreeScratch, found: &mut Vec<Slot>) {
        let first = found.len();
        found.extend_from_slice(&self.always);
        scratch.begin(self);
        self.predicates.satisfied_by_pairs(event, &mut scratch.predicates);
        scratch.counters.predicates += scratch.predicates.found().len() as u64;
        for (attribute, _) in event.iter() {
            let leaves = self.graph.by_attribute.get(attribute as usize);
            leaves.into_iter().flatten().for_each(|&leaf| self.send(leaf, scratch, found));
        }
        self.graph.by_absence.iter().for_each(|&leaf| self.send(leaf, scratch, found));
        while let Some(Reverse(level)) = scratch.levels.pop() {
            // A node only enqueues nodes of higher levels, so this queue does not grow.
            let mut queue = std::mem::take(&mut scratch.queues[level as usize]);
            queue.iter().for_each(|&id| self.send(id, scratch, found));
            queue.clear();
            scratch.queues[level as usize] = queue;
        }
        found[first..].sort_unstable();
    }

    /// Evaluates a node and notifies its parents.
    fn send(&self, id: NodeId, scratch: &mut ATreeScratch, found: &mut Vec<Slot>) {
        let node = self.graph.node(id);
        scratch.counters.nodes += 1;
        let mut children = node.children.iter();
        let truth = match node.kind {
            NodeKind::Leaf { predicate, negated, .. } => {
                self.predicates.is_true(predicate, negated, self.missing, &scratch.predicates)
            }
            NodeKind::And => children.all(|child| scratch.is_true(child.node)),
            _ => children.any(|child| scratch.is_true(child.node)),
        };
        if truth && scratch.make_true(id) {
            found.extend_from_slice(&node.slots);
        }
        for link in &node.parents {
            if scratch.count_told(link.node) == 1 {
                scratch.enqueue(link.node, self.graph.node(link.node).level);
            }
        }
    }
}
