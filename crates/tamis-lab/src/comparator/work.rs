//! What is a comparator's working memory, and how much work did it do?

use tamis::matcher::Scratch;
use tamis::matcher::extend::ListedSet;

/// How much was done since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Entries of lists read.
    pub entries: u64,
    /// Conjunctions or expressions examined one by one.
    pub candidates: u64,
    /// Nodes and predicates evaluated there.
    pub nodes: u64,
}

/// Working memory of a match; any comparator can use any.
#[derive(Debug, Default)]
pub struct Work {
    /// Predicates that hold.
    pub(super) held: ListedSet,
    /// Expressions or conjunctions met.
    pub(super) seen: ListedSet,
    /// Numbers that are 0 between events, but for those of `seen`.
    pub(super) counts: Vec<u32>,
    /// What is known about numbered items; 0 between events.
    pub(super) known: Vec<u8>,
    pub(super) path: Vec<u32>,
    pub(super) slots: Vec<u32>,
    pub(super) scratch: Scratch,
    pub(super) counters: Counters,
}

impl Work {
    /// How much was done since this was last asked.
    pub fn take_counters(&mut self) -> Counters {
        std::mem::take(&mut self.counters)
    }
}
