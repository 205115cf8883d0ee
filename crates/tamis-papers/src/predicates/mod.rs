//! Which of many predicates does an event satisfy, without examining the others?
//!
//! Equal predicates are stored once, with a use count. For each value of an event, the index
//! finds the predicates that hold on it:
//!
//! | test | found by |
//! |---|---|
//! | `=` | one probe of the table that interns predicates |
//! | `in` | one probe of a table of (attribute, value) |
//! | `<` `<=` `>` `>=` `between` | a search in logarithmic time plus the number of results (`ranges`, `stabbing`) |
//! | `starts with`, `ends with` | one walk of a trie along the text (`trie`) |
//! | `contains` | one pass of an automaton (`substrings`) |
//! | `like`, `matches` | tried if that pass finds a literal that the pattern requires ([`required`](tamis::matcher::extend::required)); tried on every string if it requires none |
//! | `exists`, `is null` | the presence of the attribute |
//!
//! Predicates here have no sign. Negated ones are not searched for but evaluated on request
//! ([`PredicateIndex::is_true`]), because most of them hold for most events.

mod attribute;
mod ranges;
mod scratch;
mod sets;
mod stabbing;
mod substrings;
mod trie;

pub(crate) use scratch::{PredicateScratch, Seen};

use hashbrown::HashTable;

use attribute::AttributeIndex;
use sets::Sets;
use tamis::Missing;
use tamis::event::{AttributeId, Event, Presence};
use tamis::expression::Test;
use tamis::matcher::Check;
use tamis::value::ValueRef;

/// The number of a predicate in its [`PredicateIndex`].
pub(crate) type PredicateId = u32;

/// A changing set of predicates.
#[derive(Debug, Default)]
pub(crate) struct PredicateIndex {
    hasher: ahash::RandomState,
    /// By number; a number whose `references` are 0 is free.
    entries: Vec<Entry>,
    free: Vec<PredicateId>,
    /// The predicates by attribute and test.
    ids: HashTable<PredicateId>,
    sets: Sets,
    attributes: Vec<AttributeIndex>,
    /// The attributes with an `is null`, which can hold without any pair, and the position of each
    /// in its list.
    nullable: Vec<AttributeId>,
}

#[derive(Debug)]
struct Entry {
    attribute: AttributeId,
    references: u32,
    test: Test,
    detail: Detail,
}

/// Additional data of some tests.
#[derive(Debug)]
enum Detail {
    None,
    /// For a set: the position of the predicate in the list of each of its values.
    Listed(Box<[u32]>),
    /// For a pattern: the check that tries it, and the literals of which a string must contain one.
    Pattern(Box<(Check, Option<Vec<Vec<u8>>>)>),
}

impl PredicateIndex {
    /// The number of a predicate; assigned on first use. Every insertion counts as a use.
    pub fn insert(&mut self, attribute: AttributeId, test: &Test) -> PredicateId {
        let hash = hash_test(&self.hasher, attribute, test);
        if let Some(id) = self.find_test(hash, attribute, test) {
            self.entries[id as usize].references += 1;
            return id;
        }
        let id = self.free.pop().unwrap_or(self.entries.len() as PredicateId);
        if attribute as usize >= self.attributes.len() {
            self.attributes.resize_with(attribute as usize + 1, AttributeIndex::default);
        }
        let detail = self.attach(id, attribute, test);
        let entry = Entry { attribute, references: 1, test: test.clone(), detail };
        match self.entries.get_mut(id as usize) {
            Some(free) => *free = entry,
            None => self.entries.push(entry),
        }
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.ids.insert_unique(hash, id, |&id| entries[id as usize].hash(hasher));
        id
    }

    /// Removes one use of a predicate. After the last use its number is free.
    pub fn remove(&mut self, id: PredicateId) {
        let entry = &mut self.entries[id as usize];
        entry.references -= 1;
        if entry.references > 0 {
            return;
        }
        let hash = self.entries[id as usize].hash(&self.hasher);
        if let Ok(found) = self.ids.find_entry(hash, |&other| other == id) {
            found.remove();
        }
        let entry = &mut self.entries[id as usize];
        let test = std::mem::replace(&mut entry.test, Test::Exists);
        let detail = std::mem::replace(&mut entry.detail, Detail::None);
        let attribute = entry.attribute;
        self.detach(id, attribute, &test, detail);
        self.free.push(id);
    }

    /// The number of distinct predicates.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The attribute of a predicate.
    pub fn attribute(&self, id: PredicateId) -> AttributeId {
        self.entries[id as usize].attribute
    }

    /// The test of a predicate.
    pub fn test(&self, id: PredicateId) -> &Test {
        &self.entries[id as usize].test
    }

    /// Finds the predicates that the event satisfies.
    pub fn satisfied(&self, event: &Event, scratch: &mut PredicateScratch) {
        self.satisfied_by_pairs(event, scratch);
        for &attribute in &self.nullable {
            if scratch.seen(attribute) == Seen::Missing {
                let is_null = self.attributes[attribute as usize].is_null;
                is_null.into_iter().for_each(|id| scratch.report(id));
            }
        }
    }

    /// The same, except for `is null` on missing attributes, so that attributes that the event
    /// lacks cost nothing.
    pub fn satisfied_by_pairs(&self, event: &Event, scratch: &mut PredicateScratch) {
        scratch.begin(self.entries.len(), self.attributes.len());
        for (attribute, presence) in event.iter() {
            let Some(index) = self.attributes.get(attribute as usize) else { continue };
            match presence {
                Presence::Missing => {}
                Presence::Null => {
                    scratch.see(attribute, Seen::Null);
                    let both = index.exists.into_iter().chain(index.is_null);
                    both.for_each(|id| scratch.report(id));
                }
                Presence::Values(values) => {
                    scratch.see(attribute, Seen::Values);
                    index.exists.into_iter().for_each(|id| scratch.report(id));
                    let (ascending, mut before) = (values.are_ascending(), None);
                    for value in values {
                        self.satisfied_by_value(attribute, index, before, value, scratch);
                        before = ascending.then_some(value);
                    }
                }
            }
        }
    }

    fn satisfied_by_value(
        &self,
        attribute: AttributeId,
        index: &AttributeIndex,
        before: Option<ValueRef<'_>>,
        value: ValueRef<'_>,
        scratch: &mut PredicateScratch,
    ) {
        if index.equalities > 0 || index.sets > 0 {
            let hash = hash_value(&self.hasher, attribute, value);
            if index.equalities > 0 {
                let equal = self.ids.find(hash, |&id| {
                    let entry = &self.entries[id as usize];
                    entry.attribute == attribute
                        && matches!(&entry.test, Test::Equal(operand) if operand.as_ref() == value)
                });
                equal.into_iter().for_each(|&id| scratch.report(id));
            }
            if index.sets > 0 {
                self.sets.find(hash, attribute, value, |id| scratch.report(id));
            }
        }
        index.find(before, value, scratch, |id, text| match &self.entries[id as usize].detail {
            Detail::Pattern(pattern) => pattern.0.holds(ValueRef::String(text)),
            // Without a pattern, only the search for an empty string is tried, and it always holds.
            _ => true,
        });
    }

    /// Whether a signed predicate is true for the event searched last.
    pub fn is_true(
        &self,
        id: PredicateId,
        negated: bool,
        missing: Missing,
        scratch: &PredicateScratch,
    ) -> bool {
        let entry = &self.entries[id as usize];
        let seen = scratch.seen(entry.attribute);
        match entry.test {
            Test::Exists => (seen != Seen::Missing) != negated,
            Test::IsNull => (seen != Seen::Values) != negated,
            _ if !negated => scratch.holds(id),
            _ => !scratch.holds(id) && (seen == Seen::Values || missing == Missing::False),
        }
    }

    /// Adds a new predicate to the search structures.
    fn attach(&mut self, id: PredicateId, attribute: AttributeId, test: &Test) -> Detail {
        let index = &mut self.attributes[attribute as usize];
        match test {
            Test::Equal(_) => index.equalities += 1,
            Test::In(values) => {
                index.sets += 1;
                return Detail::Listed(self.sets.insert(&self.hasher, attribute, values, id));
            }
            Test::Exists => index.exists = Some(id),
            Test::IsNull => {
                index.is_null = Some(id);
                index.listed = self.nullable.len() as u32;
                self.nullable.push(attribute);
            }
            Test::Like(_) | Test::Matches(_) => {
                let (check, required) = index.insert_pattern(test, id);
                return Detail::Pattern(Box::new((check, required)));
            }
            _ => index.insert(test, id),
        }
        Detail::None
    }

    fn detach(&mut self, id: PredicateId, attribute: AttributeId, test: &Test, detail: Detail) {
        let index = &mut self.attributes[attribute as usize];
        match (test, detail) {
            (Test::Equal(_), _) => index.equalities -= 1,
            (Test::In(values), Detail::Listed(positions)) => {
                index.sets -= 1;
                let moved = self.sets.remove(&self.hasher, attribute, values, &positions);
                for (predicate, value, position) in moved {
                    if let Detail::Listed(positions) = &mut self.entries[predicate as usize].detail {
                        positions[value as usize] = position;
                    }
                }
            }
            (Test::Exists, _) => index.exists = None,
            (Test::IsNull, _) => {
                index.is_null = None;
                let position = index.listed;
                self.nullable.swap_remove(position as usize);
                if let Some(&moved) = self.nullable.get(position as usize) {
                    self.attributes[moved as usize].listed = position;
                }
            }
            (_, Detail::Pattern(pattern)) => index.remove_pattern(pattern.1.as_deref(), id),
            _ => index.remove(test, id),
        }
    }

    fn find_test(&self, hash: u64, attribute: AttributeId, test: &Test) -> Option<PredicateId> {
        let found = self.ids.find(hash, |&id| {
            let entry = &self.entries[id as usize];
            entry.attribute == attribute && entry.test == *test
        });
        found.copied()
    }
}

impl Entry {
    fn hash(&self, hasher: &ahash::RandomState) -> u64 {
        hash_test(hasher, self.attribute, &self.test)
    }
}

/// The hash of a predicate. An equality has the hash of its attribute and value, so that a value
/// finds it.
fn hash_test(hasher: &ahash::RandomState, attribute: AttributeId, test: &Test) -> u64 {
    match test {
        Test::Equal(value) => hash_value(hasher, attribute, value.as_ref()),
        _ => hasher.hash_one((attribute, test)),
    }
}

fn hash_value(hasher: &ahash::RandomState, attribute: AttributeId, value: ValueRef<'_>) -> u64 {
    hasher.hash_one((attribute, value))
}

#[cfg(test)]
mod tests;
