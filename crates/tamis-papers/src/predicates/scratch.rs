//! The state of a search for one event.
//!
//! The memory is reused by every index that is searched with it.

use super::substrings::States;
use crate::predicates::PredicateId;
use tamis::event::AttributeId;
use tamis::matcher::extend::{ListedSet, Stamped};

/// The kind of an event's values for an attribute.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Seen {
    #[default]
    Missing,
    Null,
    Values,
}

/// Scratch memory of a search, one per thread.
#[derive(Debug, Default)]
pub(crate) struct PredicateScratch {
    /// The predicates that hold.
    held: ListedSet,
    /// By attribute: the kind of the event's values.
    seen: Stamped<Seen>,
    pub(super) states: States,
}

impl PredicateScratch {
    /// Prepares for the next event.
    pub(super) fn begin(&mut self, predicates: usize, attributes: usize) {
        self.held.begin(predicates);
        self.seen.begin(attributes);
    }

    pub(super) fn see(&mut self, attribute: AttributeId, seen: Seen) {
        self.seen.set(attribute as usize, seen);
    }

    /// The kind of the event's values for an attribute that the index knows.
    pub fn seen(&self, attribute: AttributeId) -> Seen {
        self.seen.get(attribute as usize).unwrap_or_default()
    }

    /// The predicates found to hold, without duplicates.
    pub fn found(&self) -> &[PredicateId] {
        self.held.members()
    }

    /// Whether the predicate was found to hold.
    pub fn holds(&self, predicate: PredicateId) -> bool {
        self.held.contains(predicate)
    }

    /// Records that a predicate holds. Several values of one attribute may report it.
    pub(super) fn report(&mut self, predicate: PredicateId) {
        self.held.insert(predicate);
    }
}
