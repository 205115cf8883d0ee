//! What does a ranked search keep about the nodes it has seen?

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A node that can be reached at a cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Offer {
    pub cost: f64,
    pub node: u32,
}

impl Eq for Offer {}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cost.total_cmp(&other.cost).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What a ranked search keeps about a node that it has seen, and the open offers.
#[derive(Debug, Default)]
pub(super) struct Costs {
    /// By node: the least cost so far, and the node before it; of nodes that are marked reachable.
    pub best: Vec<(f64, u32)>,
    pub offers: BinaryHeap<Reverse<Offer>>,
}
