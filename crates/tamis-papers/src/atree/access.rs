//! Which child does an `and` wait for?
//!
//! The paper picks one at random (Ji & Jacobsen 2021, section 5.2.2). Here it is the child least
//! likely to be true on the events seen so far. Before any events, the kind of predicate decides,
//! then the number of nodes that already wait for the child. Estimates drift: every change of the
//! tree re-examines a few nodes, and [`ATree::adapt`] re-examines all.

use std::sync::atomic::Ordering;

use super::ATree;
use super::frequency::Frequency;
use super::graph::{NodeId, NodeKind, Wake};
use crate::predicates::PredicateId;
use tamis::event::AttributeId;
use tamis::expression::Test;

/// The number of nodes re-examined at every change.
const EXAMINED: usize = 4;

/// A child replaces the access child of an `and` only if its probability is at most this fraction
/// of the present one, so that children with similar estimates do not alternate.
const BETTER: f32 = 0.8;

impl ATree {
    /// Chooses all access children again, by the events seen. Takes time linear in the size of the
    /// tree.
    pub fn adapt(&mut self) {
        for id in 0..self.graph.nodes.len() {
            self.examine(id as NodeId);
        }
    }

    /// Chooses again for a few nodes, different ones at every call.
    pub(super) fn adapt_some(&mut self) {
        for _ in 0..EXAMINED.min(self.graph.nodes.len()) {
            self.cursor = (self.cursor + 1) % self.graph.nodes.len();
            self.examine(self.cursor as NodeId);
        }
    }

    fn examine(&mut self, id: NodeId) {
        let events = self.counted();
        let node = self.graph.node_mut(id);
        match node.kind {
            NodeKind::Leaf { predicate, .. } => {
                self.holding[predicate as usize].fold(events);
                self.presence[node.attribute as usize].fold(events);
            }
            _ => node.frequency.fold(events),
        }
        self.choose_access(id);
    }

    /// Whether only its access child notifies a node.
    pub(super) fn waits(&self, id: NodeId) -> bool {
        self.options.propagation_on_demand && self.graph.node(id).kind == NodeKind::And
    }

    /// Chooses the access child of a node that has one. The child next most likely to be false
    /// becomes the second, because it is tested next.
    pub(super) fn choose_access(&mut self, id: NodeId) {
        if !self.waits(id) {
            return;
        }
        let cost = |child: NodeId| (self.likelihood(child), self.graph.node(child).triggers);
        let children = &self.graph.node(id).children;
        let costs: Vec<_> = children.iter().map(|link| cost(link.node)).collect();
        let least = |places: std::ops::Range<usize>| {
            places.min_by(|&a, &b| costs[a].0.total_cmp(&costs[b].0).then(costs[a].1.cmp(&costs[b].1)))
        };
        let Some(mut best) = least(0..costs.len()) else { return };
        if self.graph.tells(id, 0) && costs[best].0 > costs[0].0 * BETTER {
            best = 0;
        }
        self.graph.pick(id, best);
        let second = (1..costs.len()).min_by(|&a, &b| {
            // The access child was swapped with the first.
            let cost = |place: usize| costs[if place == best { 0 } else { place }].0;
            cost(a).total_cmp(&cost(b))
        });
        if let Some(second) = second {
            self.graph.swap_children(id, 1, second);
        }
        self.graph.guard(id);
    }

    /// The probability that a node is true.
    fn likelihood(&self, id: NodeId) -> f32 {
        let node = self.graph.node(id);
        let events = self.counted();
        match node.kind {
            NodeKind::Leaf { wake: Wake::Satisfied, predicate, .. } => {
                self.holding[predicate as usize].estimate(events)
            }
            // Unreported predicates are not counted. Assume that a negated predicate is usually
            // true if its attribute has a value.
            NodeKind::Leaf { wake: Wake::Value, .. } => {
                0.9 * self.presence[node.attribute as usize].estimate(events)
            }
            NodeKind::Leaf { wake: Wake::Absence, predicate, .. } => match self.predicates.test(predicate) {
                Test::IsNull | Test::Exists => {
                    1.0 - 0.9 * self.presence[node.attribute as usize].estimate(events)
                }
                _ => 0.95,
            },
            _ => node.frequency.estimate(events),
        }
    }

    /// Starts counting a new predicate, and its attribute if that is new.
    pub(super) fn expect_predicate(&mut self, predicate: PredicateId, attribute: AttributeId, test: &Test) {
        let events = self.counted();
        if self.presence.len() <= attribute as usize {
            self.presence.resize_with(attribute as usize + 1, || Frequency::new(0.5, events));
        }
        let estimate = match test {
            Test::Equal(_) => 0.02,
            Test::In(values) => (0.02 * values.len() as f32).min(0.5),
            Test::Less(_) | Test::AtMost(_) | Test::Greater(_) | Test::AtLeast(_) => 0.3,
            Test::Between(..) => 0.15,
            Test::StartsWith(_) | Test::EndsWith(_) | Test::Contains(_) => 0.05,
            Test::Like(_) | Test::Matches(_) => 0.1,
            Test::Exists | Test::IsNull => 0.5,
        };
        if self.holding.len() <= predicate as usize {
            self.holding.resize_with(predicate as usize + 1, Frequency::default);
        }
        self.holding[predicate as usize] = Frequency::new(estimate, events);
    }

    /// The estimated frequency of a new node, assuming independent children.
    pub(super) fn expect_operator(&self, kind: NodeKind, children: &[NodeId]) -> Frequency {
        let likelihoods = children.iter().map(|&child| self.likelihood(child));
        let estimate = if kind == NodeKind::And {
            likelihoods.fold(1.0, |product, likelihood| product * likelihood)
        } else {
            1.0 - likelihoods.fold(1.0, |product, likelihood| product * (1.0 - likelihood))
        };
        Frequency::new(estimate, self.counted())
    }

    pub(super) fn counted(&self) -> u32 {
        self.events.load(Ordering::Relaxed)
    }
}
