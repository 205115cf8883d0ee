//! Which terms do the live subscriptions of a segment use?
//!
//! For each event, the terms that some segment uses are computed. From its first removal on, a segment counts how
//! many live subscriptions use each term, and drops a term together with the last of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::event::{AttributeId, Attributes};
use crate::expression::{Expression, is_hidden, list_of};
use crate::matcher::Slot;

/// The terms of a segment's expressions.
#[derive(Debug, Default)]
pub(super) struct SegmentTerms {
    names: BTreeSet<Arc<str>>,
    /// How many live subscriptions use each, counted from the first removal on.
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

    /// Whether expressions test elements of lists.
    pub fn ask_elements(&self) -> bool {
        self.names.iter().any(|name| list_of(name).is_some())
    }

    /// The terms that live subscriptions use.
    pub fn live(&self, attributes: &Attributes) -> Vec<AttributeId> {
        if self.names.is_empty() {
            return Vec::new();
        }
        let counts = self.counts();
        let asked = |name: &&Arc<str>| counts.as_ref().is_none_or(|counts| counts.contains_key(*name));
        self.names.iter().filter(asked).filter_map(|name| attributes.find(name)).collect()
    }

    /// Records that a live slot is removed.
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
        // Counts are changed one by one; a count that is too high merely keeps a term.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn terms_of(expression: &Expression) -> impl Iterator<Item = Arc<str>> {
    let asked = expression.predicates().map(|predicate| predicate.attribute());
    asked.filter(|name| is_hidden(name)).cloned().chain(expression.names_of_unknowns())
}

/// The removed subscriptions of a segment that test elements. Their tests are evaluated until the segment is dropped,
/// because an older snapshot may still match them.
#[derive(Debug)]
pub(super) struct Departed {
    attributes: Arc<Attributes>,
    expressions: Mutex<Vec<Expression>>,
}

impl Departed {
    pub fn new(attributes: &Arc<Attributes>) -> Departed {
        Departed { attributes: Arc::clone(attributes), expressions: Mutex::default() }
    }

    pub fn push(&self, expression: Expression) {
        self.expressions.lock().unwrap_or_else(PoisonError::into_inner).push(expression);
    }
}

impl Drop for Departed {
    fn drop(&mut self) {
        let expressions = self.expressions.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.attributes.release_elements(expressions.iter());
    }
}
