//! How much work did matching take?

use std::ops::AddAssign;

/// How much work was done.
///
/// The *lists* of a compiled matcher are its runs: what waits for one source. Of events that are looked
/// at in a block, what is done once for all of them counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Posting lists that were found for the keys of events, or for all that they make true.
    pub lists: u64,
    /// Entries of posting lists that were looked at, those tried while skipping included, and those
    /// skipped in groups not.
    pub entries: u64,
    /// Ids that stood in enough lists, or entries that passed their bit tests, to be looked at more closely.
    pub candidates: u64,
    /// Expressions whose score was computed.
    pub scored: u64,
    /// Sizes that were skipped as a whole because nothing in them could reach the best so far.
    pub sizes_skipped: u64,
    /// Leaves of expressions that were true, of matchers that label them.
    pub leaves: u64,
    /// Cells, or parts of labels, that were looked at for them.
    pub probes: u64,
    /// Predicates that were found to hold, of the A-Tree.
    pub predicates: u64,
    /// Nodes that were told of a true child and looked at, of the A-Tree; shared nodes that were
    /// reached or evaluated, of its compiled form.
    pub nodes: u64,
    /// Patterns that the compiled matcher tried on an event, because a text holds one of their literals or
    /// because they have none.
    pub tried: u64,
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Counters) {
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
        } = other;
        self.lists += lists;
        self.entries += entries;
        self.candidates += candidates;
        self.scored += scored;
        self.sizes_skipped += sizes_skipped;
        self.leaves += leaves;
        self.probes += probes;
        self.predicates += predicates;
        self.nodes += nodes;
        self.tried += tried;
    }
}
