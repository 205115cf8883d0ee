//! What is the scratch memory of a search?
//!
//! One byte per node, and a list of the bytes to clear afterwards, so a search does no work
//! proportional to the size of the graph.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;

use super::costs::Costs;
use super::programs::Memo;
use crate::deadline::Timer;
use crate::event::Event;
use crate::matcher::{Scratch, Slot};
use crate::rank::ScoreScratch;

/// A path of valid nodes leads to the node from the source; it may itself be invalid.
pub(super) const REACHABLE: u8 = 1;
/// The event satisfies the node's expression.
pub(super) const VALID: u8 = 2;
/// The node is both, and was found to be.
pub(super) const RESULT: u8 = 4;
/// Set on the first node of a component that has a reachable node.
pub(super) const COMPONENT: u8 = 8;

/// How much a search did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Nodes that the index gave.
    pub retrieved: usize,
    /// Nodes whose expression was evaluated by itself.
    pub evaluated: usize,
    /// Edges that were followed.
    pub edges: usize,
}

/// Working memory of a search; any graph can use any.
#[derive(Debug, Default)]
pub struct GraphScratch {
    marks: Vec<u8>,
    touched: Vec<u32>,
    /// Nodes that are valid and reachable, in the order in which that was found.
    pub(super) results: Vec<u32>,
    /// Nodes, or first nodes of components, that may be skipped to.
    pub(super) ahead: BinaryHeap<Reverse<u32>>,
    /// Valid nodes, ascending.
    pub(super) valid: Vec<u32>,
    /// The children of a node whose edges changed.
    pub(super) children: Vec<u32>,
    pub(super) memo: Memo,
    /// For expressions newer than the compiled ones.
    pub(super) newer: Memo,
    pub(super) scratch: Scratch,
    pub(super) slots: Vec<Slot>,
    pub(super) counts: Counts,
    /// Edges of results that were not yet followed.
    pub(super) waiting: usize,
    pub(super) costs: Costs,
    pub(super) scores: ScoreScratch,
    pub(super) newer_scores: ScoreScratch,
    /// Decides when a search gives up.
    pub(super) timer: Timer,
}

impl GraphScratch {
    /// Makes room for this many nodes and clears the last search; the next one is about this event.
    pub(super) fn begin(&mut self, nodes: usize, event: &Event) {
        self.timer = Timer::new(event.deadline());
        for node in self.touched.drain(..) {
            self.marks[node as usize] = 0;
        }
        if self.marks.len() < nodes {
            self.marks.resize(nodes, 0);
        }
        self.results.clear();
        self.ahead.clear();
        self.valid.clear();
        self.children.clear();
        self.counts = Counts::default();
        self.waiting = 0;
    }

    #[inline]
    pub(super) fn has(&self, node: u32, mark: u8) -> bool {
        self.marks[node as usize] & mark != 0
    }

    /// Sets a mark; false if it was there.
    #[inline]
    pub(super) fn mark(&mut self, node: u32, mark: u8) -> bool {
        let marks = &mut self.marks[node as usize];
        if *marks & mark == mark {
            return false;
        }
        if *marks == 0 {
            self.touched.push(node);
        }
        *marks |= mark;
        true
    }

    /// The nodes with a mark, ascending.
    #[cfg(test)]
    pub(super) fn marked(&self, mark: u8) -> Vec<u32> {
        (0..self.marks.len() as u32).filter(|&node| self.has(node, mark)).collect()
    }
}

/// Working memory waiting to be used again.
#[derive(Debug, Default)]
pub(super) struct Pool(Mutex<Vec<GraphScratch>>);

/// More than this is not kept.
const KEPT: usize = 8;

impl Pool {
    pub fn take(&self) -> GraphScratch {
        // This never waits: in a forked process, the holder of the lock may not exist.
        self.0.try_lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_default()
    }

    pub fn give(&self, working: GraphScratch) {
        let Ok(mut kept) = self.0.try_lock() else { return };
        if kept.len() < KEPT {
            kept.push(working);
        }
    }
}
