//! What is known of the event being searched for?
//!
//! Everything is valid where its stamp is that of the event, so that nothing is cleared between
//! events, and memory is reused by every index that is searched with it.

use super::substrings::States;
use crate::event::AttributeId;
use crate::predicate::PredicateId;

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
    stamp: u32,
    /// By predicate: the last event it held on.
    held: Vec<u32>,
    /// By attribute: the last event that had it, and what it had.
    seen: Vec<(u32, Option<Seen>)>,
    pub(super) states: States,
}

impl PredicateScratch {
    /// Forgets the last event.
    pub(super) fn begin(&mut self, predicates: usize, attributes: usize) {
        if self.stamp == u32::MAX {
            self.held.clear();
            self.seen.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        if self.held.len() < predicates {
            self.held.resize(predicates, 0);
        }
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

    /// Whether the predicate was found to hold.
    pub fn holds(&self, predicate: PredicateId) -> bool {
        self.held[predicate as usize] == self.stamp
    }

    /// Notes that a predicate holds; several values of one attribute may say so.
    pub(super) fn report(&mut self, predicate: PredicateId, found: &mut Vec<PredicateId>) {
        let held = &mut self.held[predicate as usize];
        if *held != self.stamp {
            *held = self.stamp;
            found.push(predicate);
        }
    }
}
