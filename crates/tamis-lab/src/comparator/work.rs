//! Scratch memory and counters of comparators.

use tamis::matcher::Scratch;
use tamis::matcher::extend::ListedSet;

/// Work done since the counters were last taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// List entries read.
    pub entries: u64,
    /// Conjunctions or expressions examined.
    pub candidates: u64,
    /// Nodes and predicates evaluated.
    pub nodes: u64,
}

/// Working memory of a match; works with any comparator.
#[derive(Debug, Default)]
pub struct Work {
    /// Predicates that hold.
    pub(super) held: ListedSet,
    /// Expressions or conjunctions encountered.
    pub(super) seen: ListedSet,
    /// Counts per expression or conjunction; each match clears them first.
    pub(super) counts: Vec<u32>,
    /// State of numbered items; 0 between events.
    pub(super) known: Vec<u8>,
    pub(super) path: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) scratch: Scratch,
    pub(super) counters: Counters,
}

impl Work {
    /// Returns the counters and resets them.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }
}
