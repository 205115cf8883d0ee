//! Finding the predicates that an event satisfies, for comparators that count or test them.
//!
//! Equalities and sets are looked up by value, as in the papers; other tests are evaluated one by
//! one on the values of their attribute. If a negation requires its attribute to have a value, that
//! requirement is a separate predicate, so a [`Basic`] is either true or false.

use std::collections::HashMap;

use tamis::event::{AttributeId, Attributes, Presence};
use tamis::expression::{SignedPredicate, Test};
use tamis::matcher::Check;
use tamis::value::{Value, ValueRef};
use tamis::{Event, Missing};

use tamis::matcher::extend::ListedSet;

/// A predicate with its sign: true if the predicate holds, or if it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Basic(u32);

impl Basic {
    fn new(predicate: u32, negated: bool) -> Basic {
        Basic(predicate << 1 | u32::from(negated))
    }

    pub fn predicate(self) -> u32 {
        self.0 >> 1
    }

    pub fn negated(self) -> bool {
        self.0 & 1 == 1
    }

    pub fn opposite(self) -> Basic {
        Basic(self.0 ^ 1)
    }

    pub fn holds(self, held: &ListedSet) -> bool {
        held.contains(self.predicate()) != self.negated()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum BasicTest {
    Test(Test),
    HasValue,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Plain {
    Boolean(bool),
    Integer(i64),
    Float(u64),
    Other(Value),
}

/// The predicates of one attribute.
#[derive(Debug, Default)]
struct Asked {
    strings: HashMap<Box<str>, Vec<u32>>,
    others: HashMap<Plain, Vec<u32>>,
    tried: Vec<(u32, Check)>,
    has_value: Option<u32>,
    exists: Option<u32>,
    is_null: Option<u32>,
}

/// The distinct predicates of some expressions.
#[derive(Debug, Default)]
pub(super) struct Predicates {
    ids: HashMap<(AttributeId, BasicTest), u32>,
    attributes: Vec<Asked>,
    /// Attributes with `is null` tests, which hold if the event lacks the attribute.
    nullable: Vec<AttributeId>,
    values: usize,
}

impl Predicates {
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Appends the basics that must all hold for a signed predicate to be true.
    pub fn intern(
        &mut self,
        signed: &SignedPredicate,
        attributes: &Attributes,
        missing: Missing,
        basics: &mut Vec<Basic>,
    ) {
        let attribute = attributes.intern(&signed.attribute);
        let predicate = self.number(attribute, BasicTest::Test(signed.test.clone()));
        basics.push(Basic::new(predicate, signed.negated));
        let two_valued = matches!(signed.test, Test::Exists | Test::IsNull);
        if signed.negated && missing == Missing::Unknown && !two_valued {
            basics.push(Basic::new(self.number(attribute, BasicTest::HasValue), false));
        }
    }

    fn number(&mut self, attribute: AttributeId, test: BasicTest) -> u32 {
        let next = self.ids.len() as u32;
        let number = *self.ids.entry((attribute, test.clone())).or_insert(next);
        if number < next {
            return number;
        }
        if self.attributes.len() <= attribute as usize {
            self.attributes.resize_with(attribute as usize + 1, Asked::default);
        }
        let asked = &mut self.attributes[attribute as usize];
        match test {
            BasicTest::HasValue => asked.has_value = Some(number),
            BasicTest::Test(Test::Exists) => asked.exists = Some(number),
            BasicTest::Test(Test::IsNull) => {
                asked.is_null = Some(number);
                self.nullable.push(attribute);
            }
            BasicTest::Test(Test::Equal(value)) => self.values += asked.enter(&[value], number),
            BasicTest::Test(Test::In(values)) => self.values += asked.enter(&values, number),
            BasicTest::Test(test) => asked.tried.push((number, Check::new(&test))),
        }
        number
    }

    /// Finds the predicates that hold.
    pub fn find(&self, event: &Event, held: &mut ListedSet) {
        held.begin(self.len());
        let mark = |held: &mut ListedSet, predicate: Option<u32>| {
            if let Some(predicate) = predicate {
                held.insert(predicate);
            }
        };
        for (attribute, presence) in event.iter() {
            let Some(asked) = self.attributes.get(attribute as usize) else { continue };
            match presence {
                Presence::Missing => {}
                Presence::Null => mark(held, asked.exists),
                Presence::Values(values) => {
                    mark(held, asked.exists);
                    mark(held, asked.has_value);
                    values.for_each(|value| asked.find(value, held));
                    for (number, check) in &asked.tried {
                        if check.truth(event.get(attribute), Missing::Unknown) == tamis::Truth::True {
                            held.insert(*number);
                        }
                    }
                }
            }
        }
        for &attribute in &self.nullable {
            if !matches!(event.get(attribute), Presence::Values(_)) {
                mark(held, self.attributes[attribute as usize].is_null);
            }
        }
    }

    /// How often each predicate holds in a sample. Without a sample, proportional to its number of
    /// values.
    pub fn frequencies(&self, sample: &[Event]) -> Vec<f64> {
        let mut frequencies = vec![0.0; self.len()];
        let mut held = ListedSet::default();
        for event in sample {
            self.find(event, &mut held);
            held.members().iter().for_each(|&member| frequencies[member as usize] += 1.0);
        }
        for ((_, test), &number) in &self.ids {
            frequencies[number as usize] += match test {
                BasicTest::Test(Test::Equal(_)) => 0.01,
                BasicTest::Test(Test::In(values)) => 0.01 * values.len() as f64,
                _ => 0.5,
            };
        }
        frequencies
    }

    /// Bytes of values and tests, without names and strings.
    pub fn bytes(&self) -> usize {
        8 * self.len() + 32 * self.values
    }
}

impl Asked {
    fn enter(&mut self, values: &[Value], number: u32) -> usize {
        for value in values {
            match value {
                Value::String(text) => self.strings.entry((**text).into()).or_default().push(number),
                Value::Boolean(value) => self.others.entry(Plain::Boolean(*value)).or_default().push(number),
                Value::Integer(value) => self.others.entry(Plain::Integer(*value)).or_default().push(number),
                Value::Float(value) => {
                    self.others.entry(Plain::Float(value.get().to_bits())).or_default().push(number);
                }
                other => self.others.entry(Plain::Other(other.clone())).or_default().push(number),
            }
        }
        values.len()
    }

    fn find(&self, value: ValueRef<'_>, held: &mut ListedSet) {
        let found = match value {
            ValueRef::String(text) => self.strings.get(text),
            ValueRef::Boolean(value) => self.others.get(&Plain::Boolean(value)),
            ValueRef::Integer(value) => self.others.get(&Plain::Integer(value)),
            ValueRef::Float(value) => self.others.get(&Plain::Float(value.get().to_bits())),
            other => self.others.get(&Plain::Other(other.to_value())),
        };
        found.into_iter().flatten().for_each(|&number| {
            held.insert(number);
        });
    }
}
