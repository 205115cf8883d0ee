//! What is known of the event being searched for?
//!
//! Predicates that hold are bits, so that those of a large index stay in the nearest caches; only the
//! bits that were set are cleared for the next event. Memory is reused by every index that is
//! searched with it.

use super::substrings::States;
use crate::predicates::PredicateId;
use tamis::event::AttributeId;

/// What an event has for an attribute, without the values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Missing,
    Null,
    Values,
}

/// Working memory of a search, one per thread.
#[derive(Debug, Default)]
pub(crate) struct PredicateScratch {
    /// The predicates that hold.
    found: Vec<PredicateId>,
    /// The same as bits.
    held: Vec<u64>,
    stamp: u32,
    /// By attribute: the last event that had it, and what it had.
    seen: Vec<(u32, Option<Seen>)>,
    pub(super) states: States,
}

impl PredicateScratch {
    /// Forgets the last event.
    pub(super) fn begin(&mut self, predicates: usize, attributes: usize) {
        for id in self.found.drain(..) {
            self.held[id as usize / 64] = 0;
        }
        if self.held.len() * 64 < predicates {
            self.held.resize(predicates.div_ceil(64), 0);
        }
        if self.stamp == u32::MAX {
            self.seen.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        if self.seen.len() < attributes {
            self.seen.resize(attributes, (0, None));
        }
    }

    pub(super) fn see(&mut self, attribute: AttributeId, seen: Seen) {
        self.seen[attribute as usize] = (self.stamp, Some(seen));
    }

    /// What the event has for an attribute that the index knows.
    pub fn seen(&self, attribute: AttributeId) -> Seen {
        match self.seen[attribute as usize] {
            (stamp, Some(seen)) if stamp == self.stamp => seen,
            _ => Seen::Missing,
        }
    }

    /// The predicates found to hold, each once.
    pub fn found(&self) -> &[PredicateId] {
        &self.found
    }

    /// Whether the predicate was found to hold.
    pub fn holds(&self, predicate: PredicateId) -> bool {
        self.held[predicate as usize / 64] & 1 << (predicate % 64) != 0
    }

    /// Notes that a predicate holds; several values of one attribute may say so.
    pub(super) fn report(&mut self, predicate: PredicateId) {
        let held = &mut self.held[predicate as usize / 64];
        let bit = 1 << (predicate % 64);
        if *held & bit == 0 {
            *held |= bit;
            self.found.push(predicate);
        }
    }
}
