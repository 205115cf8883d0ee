//! What does a comparator write while it matches, and how much did it do?

use tamis::matcher::Scratch;

/// How much was done since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Entries of lists read.
    pub entries: u64,
    /// Conjunctions or expressions looked at one by one.
    pub candidates: u64,
    /// Nodes and predicates evaluated there.
    pub nodes: u64,
}

/// Working memory of a match; any comparator can use any.
#[derive(Debug, Default)]
pub struct Work {
    /// Predicates that hold.
    pub(super) held: Marks,
    /// Expressions or conjunctions met.
    pub(super) seen: Marks,
    /// Numbers that are 0 between events, but for those of `seen`.
    pub(super) counts: Vec<u32>,
    /// What is known of numbered things, 0 between events.
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

/// A set of small numbers that is emptied at the cost of what was in it.
#[derive(Debug, Default)]
pub(super) struct Marks {
    bits: Vec<u64>,
    members: Vec<u32>,
}

impl Marks {
    /// Empties the set and makes room for numbers below `count`.
    pub fn begin(&mut self, count: usize) {
        for member in self.members.drain(..) {
            self.bits[member as usize / 64] = 0;
        }
        if self.bits.len() * 64 < count {
            self.bits.resize(count.div_ceil(64), 0);
        }
    }

    /// Whether a number was not there; it now is.
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.bits[number as usize / 64], 1 << (number % 64));
        let new = *word & bit == 0;
        if new {
            *word |= bit;
            self.members.push(number);
        }
        new
    }

    pub fn contains(&self, number: u32) -> bool {
        self.bits[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// The numbers in the order they were inserted.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
}
