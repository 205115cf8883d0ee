//! Which is the next expression, from a slot on, that an event satisfies?
//!
//! `getNextEntity` of Broder et al. 2011 over a K-index: a graph search requests the next valid
//! node with at least a given number, and so skips ranges of nodes that cannot be reached.

use super::KIndex;
use tamis::event::Event;
use tamis::matcher::extend::Cursor;
use tamis::matcher::{Matcher, Scratch, Slot};

use crate::scratch::Working;

/// The expressions that one event satisfies, in slot order, found on request.
///
/// Created by [`KIndex::cursor`]. It can only skip if the index does not share conjunctions.
#[derive(Debug)]
pub struct KIndexCursor<'a> {
    index: &'a KIndex,
    scratch: &'a mut Working,
    /// By size: its next satisfied conjunction, once known.
    pending: Vec<Pending>,
    /// Remaining known matches, descending, if all were found at once without skipping.
    known: Vec<Slot>,
}

#[derive(Debug, Clone, Copy)]
enum Pending {
    Unknown,
    Slot(Slot),
    End,
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
            pending.resize(postings.sizes(), Pending::Unknown);
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
            let found = match self.pending[rank] {
                Pending::End => None,
                Pending::Slot(slot) if slot >= least => Some(slot),
                _ => {
                    let found = self.advance(rank, least);
                    self.pending[rank] = found.map_or(Pending::End, Pending::Slot);
                    found
                }
            };
            best = best.into_iter().chain(found).min();
        }
        best
    }
}

impl KIndexCursor<'_> {
    fn advance(&mut self, rank: usize, least: Slot) -> Option<Slot> {
        let least = self.index.first_from(rank, least);
        let found = self.index.conjunctions.next(rank, least, 0.0, &mut self.scratch.conjunction)?;
        self.index.slots_of(found).first().copied()
    }
}
