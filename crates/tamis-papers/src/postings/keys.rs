//! The keys of an event.
//!
//! Keys are numbered: first the predicates of the predicate index, then "this attribute has a
//! value", then dyadic ranges, and last a key that every event has, which leads to the zero list.

use std::collections::HashMap;

use super::dyadic_ranges::DyadicRanges;
use crate::predicates::{PredicateIndex, PredicateScratch};
use tamis::event::{AttributeId, Event, Presence};
use tamis::expression::Test;
use tamis::rank::EventWeights;

/// A key, before the numbers of keys are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A predicate without sign.
    Predicate(u32),
    /// An attribute has a value.
    Value(u32),
    /// A value is in a dyadic range of an attribute.
    Span(u32),
    /// Every event has it.
    Always,
}

/// The distinct keys.
#[derive(Debug, Default)]
pub(super) struct Keys {
    predicates: PredicateIndex,
    /// The attributes with a has-a-value key, by the number of that key.
    valued: Vec<AttributeId>,
    values: HashMap<AttributeId, u32, ahash::RandomState>,
    /// One per family, for attributes with many ranges.
    dyadic_ranges: HashMap<AttributeId, Vec<DyadicRanges>, ahash::RandomState>,
    /// The attributes of spans, by the number of their key.
    spans: Vec<AttributeId>,
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

    /// The keys of each of these ranges on one attribute, which are all over one family.
    pub fn dyadic_ranges(&mut self, attribute: AttributeId, ranges: &[&Test]) -> Vec<Box<[Key]>> {
        let mut dyadic = DyadicRanges::new(ranges.iter().copied());
        let spans = &mut self.spans;
        let mut make = || {
            spans.push(attribute);
            spans.len() as u32 - 1
        };
        let covers = ranges.iter().map(|test| {
            let mut keys = Vec::new();
            dyadic.cover(test, &mut make, |number| keys.push(Key::Span(number)));
            keys.into()
        });
        let covers = covers.collect();
        self.dyadic_ranges.entry(attribute).or_default().push(dyadic);
        covers
    }

    /// The number of a key; it changes when keys are added.
    pub fn number(&self, key: Key) -> u32 {
        let predicates = self.predicates.len() as u32;
        match key {
            Key::Predicate(id) => id,
            Key::Value(number) => predicates + number,
            Key::Span(number) => predicates + self.valued.len() as u32 + number,
            Key::Always => predicates + (self.valued.len() + self.spans.len()) as u32,
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.number(Key::Always) as usize + 1
    }

    /// Calls `found` once with each key that the event has.
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
        if !self.dyadic_ranges.is_empty() {
            // Several values of a list may be in the same dyadic range.
            let mut spans: Vec<u32> = Vec::new();
            for (attribute, presence) in event.iter() {
                let (Presence::Values(values), Some(dyadic_ranges)) =
                    (presence, self.dyadic_ranges.get(&attribute))
                else {
                    continue;
                };
                spans.clear();
                for (value, dyadic) in
                    values.flat_map(|value| dyadic_ranges.iter().map(move |dyadic| (value, dyadic)))
                {
                    dyadic.find(value, |number| spans.push(number));
                }
                spans.sort_unstable();
                spans.dedup();
                spans.iter().for_each(|&number| found(self.number(Key::Span(number))));
            }
        }
        found(self.number(Key::Always));
    }

    /// An upper bound of the event's weight for the values that make a key true.
    pub fn weight(&self, key: u32, weights: &EventWeights) -> f64 {
        if weights.is_empty() {
            return 1.0;
        }
        if key as usize >= self.predicates.len() {
            let span = (key as usize - self.predicates.len()).checked_sub(self.valued.len());
            let attribute = span.and_then(|span| self.spans.get(span));
            return attribute.map_or(1.0, |attribute| weights.most_of(*attribute));
        }
        let attribute = self.predicates.attribute(key);
        match self.predicates.test(key) {
            Test::Equal(value) => weights.of_pair(attribute, value.as_ref()),
            _ => weights.most_of(attribute),
        }
    }

    #[cfg(test)]
    pub fn describe(&self, key: u32) -> String {
        match key as usize {
            key if key + 1 == self.len() => "Z".to_owned(),
            key if key >= self.predicates.len() => format!("value {}", key - self.predicates.len()),
            _ => match self.predicates.test(key) {
                Test::Equal(value) => format!("{} {value}", self.predicates.attribute(key)),
                test => format!("{} {test:?}", self.predicates.attribute(key)),
            },
        }
    }

    /// The approximate size in bytes, without operands of predicates.
    pub fn bytes(&self) -> usize {
        let dyadic_ranges: usize = self.dyadic_ranges.values().flatten().map(DyadicRanges::bytes).sum();
        120 * self.predicates.len() + 16 * self.valued.len() + 4 * self.spans.len() + dyadic_ranges
    }
}
