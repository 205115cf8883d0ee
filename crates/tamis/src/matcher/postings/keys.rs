//! Which keys does an event have?
//!
//! Keys are numbered: first the predicates of the predicate index, then "this attribute has a value",
//! last the one that every event has, under which the zero list stands.

use std::collections::HashMap;

use crate::event::{AttributeId, Event, Presence};
use crate::expression::Test;
use crate::predicate::{PredicateIndex, PredicateScratch};

/// A key while their number is not known yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matcher) enum Key {
    /// A predicate without sign.
    Predicate(u32),
    /// That an attribute has a value.
    Value(u32),
    /// What every event has.
    Always,
}

/// The distinct keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    predicates: PredicateIndex,
    /// The attributes with a key for having a value, by the number of that key.
    valued: Vec<AttributeId>,
    values: HashMap<AttributeId, u32, ahash::RandomState>,
}

impl Keys {
    pub fn predicate(&mut self, attribute: AttributeId, test: &Test) -> Key {
        Key::Predicate(self.predicates.insert(attribute, test))
    }

    pub fn value(&mut self, attribute: AttributeId) -> Key {
        let next = self.valued.len() as u32;
        Key::Value(*self.values.entry(attribute).or_insert_with(|| {
            self.valued.push(attribute);
            next
        }))
    }

    /// The number of a key; new keys change it.
    pub fn number(&self, key: Key) -> u32 {
        let predicates = self.predicates.len() as u32;
        match key {
            Key::Predicate(id) => id,
            Key::Value(number) => predicates + number,
            Key::Always => predicates + self.valued.len() as u32,
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.number(Key::Always) as usize + 1
    }

    /// Calls `found` with the keys that the event has, each once.
    pub fn find(&self, event: &Event, scratch: &mut PredicateScratch, mut found: impl FnMut(u32)) {
        self.predicates.satisfied(event, scratch);
        scratch.found().iter().for_each(|&id| found(id));
        if !self.valued.is_empty() {
            for (attribute, presence) in event.iter() {
                if let (Presence::Values(_), Some(&number)) = (presence, self.values.get(&attribute)) {
                    found(self.number(Key::Value(number)));
                }
            }
        }
        found(self.number(Key::Always));
    }

    /// About how many bytes it takes; operands of predicates not counted.
    pub fn bytes(&self) -> usize {
        120 * self.predicates.len() + 16 * self.valued.len()
    }
}
