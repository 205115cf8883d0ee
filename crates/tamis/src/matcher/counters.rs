//! How much work did matching take?

use std::ops::AddAssign;

/// How much work was done.
///
/// The *lists* of the compiled matcher are its entry lists. If a block of events is matched together,
/// work that is done once for all of them counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Posting lists of the keys of events, or entry lists of their true triggers.
    pub lists: u64,
    /// Entries that were read: of posting lists, including those tried while skipping; of entry lists, without those of
    /// skipped groups.
    pub entries: u64,
    /// Ids that were in enough lists, or entries that passed their bit tests, and were evaluated further.
    pub candidates: u64,
    /// Expressions whose score was computed.
    pub scored: u64,
    /// Size partitions that were skipped as a whole because nothing in them could reach the best so far.
    pub sizes_skipped: u64,
    /// True leaves of expressions, in matchers that label leaves.
    pub leaves: u64,
    /// Cells, or parts of labels, that were read for them.
    pub probes: u64,
    /// True predicates, in the A-Tree.
    pub predicates: u64,
    /// Nodes that were evaluated because a child is true, in the A-Tree; shared nodes that are true, in the compiled
    /// matcher.
    pub nodes: u64,
    /// Patterns that the compiled matcher tried on an event, because a text holds one of their literals or
    /// because they have none.
    pub tried: u64,
}

impl Counters {
    /// All counts, by their names in tables.
    pub fn by_name(mut self) -> [(&'static str, u64); 10] {
        let names = [
            "lists",
            "entries",
            "candidates",
            "scored",
            "sizes skipped",
            "leaves",
            "probes",
            "predicates",
            "nodes",
            "tried",
        ];
        let counts = self.all_mut();
        std::array::from_fn(|number| (names[number], *counts[number]))
    }

    /// All counts, in the order of the fields.
    fn all_mut(&mut self) -> [&mut u64; 10] {
        let Counters {
            lists,
            entries,
            candidates,
            scored,
            sizes_skipped,
            leaves,
            probes,
            predicates,
            nodes,
            tried,
        } = self;
        [lists, entries, candidates, scored, sizes_skipped, leaves, probes, predicates, nodes, tried]
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, mut other: Counters) {
        for (count, added) in self.all_mut().into_iter().zip(other.all_mut()) {
            *count += *added;
        }
    }
}
