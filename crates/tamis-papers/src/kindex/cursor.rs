//! Which is the next expression, from a slot on, that an event satisfies?
//!
//! `getNextEntity` of Broder et al. 2011 over a K-index: a graph search requests the next valid
//! node with at least a given number, and so skips ranges of nodes that cannot be reached.

use std::ops::Range;

use super::KIndex;
use tamis::event::Event;
use tamis::matcher::extend::Cursor;
use tamis::matcher::extend::csr::gallop;
use tamis::matcher::{Matcher, Scratch, Slot};

use crate::scratch::Working;

/// The expressions that one event satisfies, in slot order, found on request.
///
/// Created by [`KIndex::cursor`]. It can only skip if the index does not share conjunctions.
#[derive(Debug)]
pub struct KIndexCursor<'a> {
    index: &'a KIndex,
    scratch: &'a mut Working,
    /// By the rank of a size: how far its conjunctions have been searched.
    pending: Vec<Pending>,
    /// Remaining known matches, descending, if all were found at once without skipping.
    known: Vec<Slot>,
}

#[derive(Debug)]
struct Pending {
    /// The conjunctions after those that have been passed.
    rest: Range<u32>,
    /// The slot of the conjunction found last.
    slot: Option<Slot>,
}

impl KIndex {
    /// A cursor over the expressions that the event satisfies.
    pub fn cursor<'a>(&'a self, event: &Event, scratch: &'a mut Scratch) -> KIndexCursor<'a> {
        let mut known = Vec::new();
        let mut pending = Vec::new();
        if self.share {
            Matcher::matches(self, event, scratch, &mut known);
        } else {
            self.fallback.matches(event, scratch, &mut known);
            let postings = self.conjunctions.postings();
            postings.begin(event, &mut Working::of(scratch).conjunction.postings);
            let ranges = (0..postings.sizes()).map(|rank| self.conjunctions.of_size(rank));
            pending.extend(ranges.map(|rest| Pending { rest, slot: None }));
        }
        known.reverse();
        KIndexCursor { index: self, scratch: Working::of(scratch), pending, known }
    }
}

impl Cursor for KIndexCursor<'_> {
    fn next(&mut self, least: Slot) -> Option<Slot> {
        while self.known.last().is_some_and(|&slot| slot < least) {
            self.known.pop();
        }
        let mut best = self.known.last().copied();
        for rank in 0..self.pending.len() {
            let found = self.pending[rank].slot.filter(|&slot| slot >= least);
            let found = found.or_else(|| self.advance(rank, least));
            best = best.into_iter().chain(found).min();
        }
        best
    }
}

impl KIndexCursor<'_> {
    /// The next slot of a size, at least `least`.
    fn advance(&mut self, rank: usize, least: Slot) -> Option<Slot> {
        let KIndex { conjunctions, slots, .. } = self.index;
        let Pending { rest, slot } = &mut self.pending[rank];
        // Conjunctions that are not shared have one slot each, so the slot of a conjunction is at its number. Slots
        // ascend within a size, and the next one is usually near the last.
        let left = &slots[rest.start as usize..rest.end as usize];
        let skipped = gallop(left, least).0;
        rest.start += skipped as u32;
        let found = match skipped < left.len() {
            true => conjunctions.next(rank, rest.start, 0.0, &mut self.scratch.conjunction),
            false => None,
        };
        rest.start = found.map_or(rest.end, |found| found + 1);
        *slot = found.map(|found| slots[found as usize]);
        *slot
    }
}
