//! Which predicates on one attribute, other than equality and sets, does a value satisfy?

use std::sync::Arc;

use super::PredicateId;
use super::ranges::{Number, Range, Ranges};
use super::scratch::PredicateScratch;
use super::substrings::Substrings;
use super::trie::{End, Trie};
use tamis::expression::Test;
use tamis::matcher::Check;
use tamis::matcher::extend::required;
use tamis::value::{Family, Value, ValueRef};

/// The predicates of one attribute.
#[derive(Debug, Default)]
pub(super) struct AttributeIndex {
    pub exists: Option<PredicateId>,
    pub is_null: Option<PredicateId>,
    /// The position of the attribute among those with an `is null`.
    pub listed: u32,
    /// The number of equality tests; they are in the table of all predicates.
    pub equalities: u32,
    /// The number of sets; they are in the table of all sets.
    pub sets: u32,
    numbers: Option<Box<Ranges<Number>>>,
    strings: Option<Box<Ranges<Arc<str>>>>,
    /// Ranges over times, addresses and versions, by family.
    others: Vec<(Family, Ranges<Value>)>,
    texts: Option<Box<Texts>>,
}

#[derive(Debug)]
struct Texts {
    prefixes: Trie,
    suffixes: Trie,
    substrings: Substrings,
}

impl Default for Texts {
    fn default() -> Self {
        Texts {
            prefixes: Trie::new(End::Front),
            suffixes: Trie::new(End::Back),
            substrings: Substrings::default(),
        }
    }
}

/// An ordering or range over one family.
enum Typed {
    Numbers(Range<Number>),
    Strings(Range<Arc<str>>),
    Others(Family, Range<Value>),
}

/// The range of a test; `None` for other tests.
fn range(test: &Test) -> Option<Typed> {
    fn one(
        value: &Value,
        number: fn(Number) -> Range<Number>,
        text: fn(Arc<str>) -> Range<Arc<str>>,
        other: fn(Value) -> Range<Value>,
    ) -> Option<Typed> {
        match value {
            Value::Boolean(_) | Value::Network(_) | Value::Local(_) => None,
            Value::Decimal(decimal) => Some(Typed::Numbers(number(Number::Decimal(*decimal)))),
            Value::Integer(integer) => Some(Typed::Numbers(number(Number::Integer(*integer)))),
            Value::Float(float) => Some(Typed::Numbers(number(Number::Float(*float)))),
            Value::String(string) => Some(Typed::Strings(text(string.clone()))),
            value => Some(Typed::Others(value.family(), other(value.clone()))),
        }
    }
    match test {
        Test::Less(value) => one(value, Range::Less, Range::Less, Range::Less),
        Test::AtMost(value) => one(value, Range::AtMost, Range::AtMost, Range::AtMost),
        Test::Greater(value) => one(value, Range::Greater, Range::Greater, Range::Greater),
        Test::AtLeast(value) => one(value, Range::AtLeast, Range::AtLeast, Range::AtLeast),
        Test::Between(low, high) => {
            // Convert both to one-sided ranges, to get their types. Bounds of two types are
            // rejected earlier.
            let low = one(low, Range::AtLeast, Range::AtLeast, Range::AtLeast)?;
            match (low, one(high, Range::AtMost, Range::AtMost, Range::AtMost)?) {
                (Typed::Numbers(Range::AtLeast(low)), Typed::Numbers(Range::AtMost(high))) => {
                    Some(Typed::Numbers(Range::Between(low, high)))
                }
                (Typed::Strings(Range::AtLeast(low)), Typed::Strings(Range::AtMost(high))) => {
                    Some(Typed::Strings(Range::Between(low, high)))
                }
                (Typed::Others(family, Range::AtLeast(low)), Typed::Others(same, Range::AtMost(high)))
                    if family == same =>
                {
                    Some(Typed::Others(family, Range::Between(low, high)))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

impl AttributeIndex {
    /// Adds an ordering, range, prefix, suffix or substring.
    pub fn insert(&mut self, test: &Test, id: PredicateId) {
        match range(test) {
            Some(Typed::Numbers(range)) => self.numbers.get_or_insert_default().insert(range, id),
            Some(Typed::Strings(range)) => self.strings.get_or_insert_default().insert(range, id),
            Some(Typed::Others(family, range)) => {
                let position = self.others.iter().position(|(known, _)| *known == family);
                let position = position.unwrap_or_else(|| {
                    self.others.push((family, Ranges::default()));
                    self.others.len() - 1
                });
                self.others[position].1.insert(range, id);
            }
            None => {
                let texts = self.texts.get_or_insert_default();
                match test {
                    Test::StartsWith(text) => texts.prefixes.insert(text, id),
                    Test::EndsWith(text) => texts.suffixes.insert(text, id),
                    Test::Contains(text) => texts.substrings.insert_contains(text, id),
                    // Orderings of booleans hold for no value; other tests are stored elsewhere.
                    _ => {}
                }
            }
        }
    }

    pub fn remove(&mut self, test: &Test, id: PredicateId) {
        match range(test) {
            Some(Typed::Numbers(range)) => {
                self.numbers.as_mut().into_iter().for_each(|numbers| numbers.remove(&range, id));
                self.numbers.take_if(|numbers| numbers.is_empty());
                return;
            }
            Some(Typed::Strings(range)) => {
                self.strings.as_mut().into_iter().for_each(|strings| strings.remove(&range, id));
                self.strings.take_if(|strings| strings.is_empty());
                return;
            }
            Some(Typed::Others(family, range)) => {
                self.others.iter_mut().filter(|(known, _)| *known == family).for_each(|(_, ranges)| {
                    ranges.remove(&range, id);
                });
                self.others.retain(|(_, ranges)| !ranges.is_empty());
                return;
            }
            None => {}
        }
        if let Some(texts) = &mut self.texts {
            match test {
                Test::StartsWith(text) => texts.prefixes.remove(text),
                Test::EndsWith(text) => texts.suffixes.remove(text),
                Test::Contains(text) => texts.substrings.remove_contains(text, id),
                _ => {}
            }
        }
        self.drop_empty_texts();
    }

    /// Adds a `like` or `matches`. Returns the check that tries it, and the literals it requires in
    /// a string.
    pub fn insert_pattern(&mut self, test: &Test, id: PredicateId) -> (Check, Option<Vec<Vec<u8>>>) {
        let required = required(test).map(|required| required.literals);
        let required: Option<Vec<Vec<u8>>> =
            required.map(|literals| literals.into_iter().map(|(_, literal)| literal).collect());
        let texts = self.texts.get_or_insert_default();
        texts.substrings.insert_candidate(required.as_deref(), id);
        (Check::new(test), required)
    }

    pub fn remove_pattern(&mut self, required: Option<&[Vec<u8>]>, id: PredicateId) {
        if let Some(texts) = &mut self.texts {
            texts.substrings.remove_candidate(required, id);
        }
        self.drop_empty_texts();
    }

    fn drop_empty_texts(&mut self) {
        self.texts.take_if(|texts| {
            texts.prefixes.is_empty() && texts.suffixes.is_empty() && texts.substrings.is_empty()
        });
    }

    /// Reports the predicates that hold for the value; `tried` decides whether a pattern does. In a
    /// long list, `before` is the previous value, and predicates that hold for it need not be
    /// reported again.
    pub fn find(
        &self,
        before: Option<ValueRef<'_>>,
        value: ValueRef<'_>,
        scratch: &mut PredicateScratch,
        tried: impl Fn(PredicateId, &str) -> bool,
    ) {
        let number = match value {
            ValueRef::Boolean(_) => return,
            ValueRef::Decimal(decimal) => Number::Decimal(decimal),
            ValueRef::Integer(integer) => Number::Integer(integer),
            ValueRef::Float(float) => Number::Float(float),
            ValueRef::String(text) => {
                if let Some(strings) = &self.strings {
                    let before = match before {
                        Some(ValueRef::String(before)) => Some(before),
                        _ => None,
                    };
                    strings.find(before, text, |id| scratch.report(id));
                }
                if let Some(texts) = &self.texts {
                    texts.prefixes.find(text, |id| scratch.report(id));
                    texts.suffixes.find(text, |id| scratch.report(id));
                    let mut states = std::mem::take(&mut scratch.states);
                    texts.substrings.find(text, &mut states, |id, proven| {
                        if proven || (!scratch.holds(id) && tried(id, text)) {
                            scratch.report(id);
                        }
                    });
                    scratch.states = states;
                }
                return;
            }
            other => {
                let family = other.family();
                if let Some((_, ranges)) = self.others.iter().find(|(known, _)| *known == family) {
                    let before = before.filter(|before| before.family() == family).map(ValueRef::to_value);
                    ranges.find(before.as_ref(), &other.to_value(), |id| scratch.report(id));
                }
                return;
            }
        };
        if let Some(numbers) = &self.numbers {
            let before = match before {
                Some(ValueRef::Integer(integer)) => Some(Number::Integer(integer)),
                Some(ValueRef::Float(float)) => Some(Number::Float(float)),
                Some(ValueRef::Decimal(decimal)) => Some(Number::Decimal(decimal)),
                _ => None,
            };
            numbers.find(before.as_ref(), &number, |id| scratch.report(id));
        }
    }
}
