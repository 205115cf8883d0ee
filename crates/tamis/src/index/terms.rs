//! Which terms do the live subscriptions of an index ask about?
//!
//! Events are given the terms that some segment asks about. A segment counts how many of its live
//! subscriptions ask about each once the first of them is removed, and no longer asks about a term when
//! the last is.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::segment::Segment;
use super::snapshot::Snapshot;
use super::{Shared, make_elements};
use crate::error::Result;
use crate::event::{AttributeId, Attributes};
use crate::expression::{Expression, is_hidden, list_of};
use crate::limits;
use crate::matcher::Slot;

/// The terms of a segment's expressions.
#[derive(Debug, Default)]
pub(super) struct SegmentTerms {
    names: BTreeSet<Arc<str>>,
    /// How many live subscriptions ask about each, counted at the first removal.
    counts: Mutex<Option<HashMap<Arc<str>, usize, ahash::RandomState>>>,
}

impl SegmentTerms {
    pub fn learn(&mut self, expression: &Expression) {
        for name in terms_of(expression) {
            if !self.names.contains(&name) {
                self.names.insert(name);
            }
        }
    }

    pub fn learn_name(&mut self, name: &str) {
        if is_hidden(name) {
            self.names.insert(name.into());
        }
    }

    /// Whether elements of lists are asked about.
    pub fn ask_elements(&self) -> bool {
        self.names.iter().any(|name| list_of(name).is_some())
    }

    /// The terms that live subscriptions ask about.
    pub fn live(&self, attributes: &Attributes) -> Vec<AttributeId> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let counts = self.counts();
        let asked = |name: &&Arc<str>| counts.as_ref().is_none_or(|counts| counts.contains_key(*name));
        self.names.iter().filter(asked).filter_map(|name| attributes.find(name)).collect()
    }

    /// Takes note that a slot, one of the live ones, is removed.
    pub fn release(
        &self,
        slot: Slot,
        live: impl Iterator<Item = Slot>,
        expression: impl Fn(Slot) -> Option<Expression>,
    ) {
        if self.names.is_empty() {
            return;
        }
        let mut counts = self.counts();
        let counts = counts.get_or_insert_with(|| {
            let mut counts: HashMap<Arc<str>, usize, _> = HashMap::default();
            for expression in live.filter_map(&expression) {
                terms_of(&expression).for_each(|name| *counts.entry(name).or_default() += 1);
            }
            counts
        });
        for name in expression(slot).iter().flat_map(terms_of) {
            match counts.get_mut(&name) {
                Some(count) if *count > 1 => *count -= 1,
                _ => drop(counts.remove(&name)),
            }
        }
    }

    fn counts(&self) -> MutexGuard<'_, Option<HashMap<Arc<str>, usize, ahash::RandomState>>> {
        // Counts are changed one by one; a count that is too high keeps a term, no more.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn terms_of(expression: &Expression) -> impl Iterator<Item = Arc<str>> {
    let asked = expression.predicates().map(|predicate| predicate.attribute());
    asked.filter(|name| is_hidden(name)).cloned().chain(expression.names_of_unknowns())
}

/// The attributes that events are decoded by once these are the segments.
pub(super) fn attributes_for<'a>(
    current: &Arc<Attributes>,
    segments: impl Iterator<Item = &'a Arc<Segment>>,
) -> Arc<Attributes> {
    let mut terms: Vec<AttributeId> = segments.flat_map(|segment| segment.terms()).collect();
    terms.sort_unstable();
    terms.dedup();
    if terms == current.roots() {
        return Arc::clone(current);
    }
    Arc::new(current.with_terms(terms))
}

/// Counts what the live subscriptions of opened segments ask of elements of lists.
pub(super) fn retain_elements(
    segments: &[Arc<Segment>],
    attributes: &Attributes,
    version: u64,
) -> Result<()> {
    for segment in segments.iter().filter(|segment| segment.asks_elements()) {
        for slot in segment.live(version) {
            let expression = segment.subscription(slot)?.expression;
            attributes.retain_elements(std::iter::once(&expression), make_elements)?;
        }
    }
    Ok(())
}

impl Shared {
    /// Fails where there would be too many terms.
    pub(super) fn check_terms(&self, current: &Snapshot, added: &[Arc<Segment>]) -> Result<()> {
        if added.iter().all(|segment| segment.terms().is_empty()) {
            return Ok(());
        }
        let attributes = attributes_for(&current.attributes, current.segments.iter().chain(added));
        limits::check("distinct terms of an index", "terms", attributes.terms(), self.limits.terms)
    }
}
