//! Which predicates does an event make true?
//!
//! [`Predicates`] interns the predicates of a matcher and evaluates each once per
//! event. A predicate here has no sign: negation belongs to the expressions that use it.

mod glob;
mod required;

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::{AttributeId, Event, Presence};
use crate::expression::{RegularExpression, Test};
use crate::truth::{Missing, Truth};
use crate::value::{Value, ValueRef};
use glob::Glob;

pub use required::{Required, required};

/// The number of a predicate in its [`Predicates`].
pub type PredicateId = u32;

/// A test, prepared for being evaluated on values.
#[derive(Debug, Clone)]
pub struct Check(Ready);

#[derive(Debug, Clone)]
enum Ready {
    Equal(Value),
    Less(Value),
    AtMost(Value),
    Greater(Value),
    AtLeast(Value),
    In(Arc<[Value]>),
    Between(Value, Value),
    Like(Glob),
    StartsWith(Arc<str>),
    EndsWith(Arc<str>),
    Contains(Arc<str>),
    Matches(RegularExpression),
    Exists,
    IsNull,
}

impl Check {
    /// Prepares a test.
    pub fn new(test: &Test) -> Check {
        Check(match test.clone() {
            Test::Equal(value) => Ready::Equal(value),
            Test::Less(value) => Ready::Less(value),
            Test::AtMost(value) => Ready::AtMost(value),
            Test::Greater(value) => Ready::Greater(value),
            Test::AtLeast(value) => Ready::AtLeast(value),
            Test::In(values) => Ready::In(values),
            Test::Between(low, high) => Ready::Between(low, high),
            Test::Like(pattern) => Ready::Like(Glob::new(&pattern)),
            Test::StartsWith(text) => Ready::StartsWith(text),
            Test::EndsWith(text) => Ready::EndsWith(text),
            Test::Contains(text) => Ready::Contains(text),
            Test::Matches(pattern) => Ready::Matches(pattern),
            Test::Exists => Ready::Exists,
            Test::IsNull => Ready::IsNull,
        })
    }

    /// The truth of the test on an event's values of the attribute.
    pub fn truth(&self, presence: Presence<'_>, missing: Missing) -> Truth {
        match (&self.0, presence) {
            (Ready::Exists, presence) => (!matches!(presence, Presence::Missing)).into(),
            (Ready::IsNull, presence) => (!matches!(presence, Presence::Values(_))).into(),
            (_, Presence::Missing | Presence::Null) => missing.truth(),
            (_, Presence::Values(mut values)) => values.any(|value| self.holds(value)).into(),
        }
    }

    /// Whether one value satisfies the test; a value of a type other than the operand's does not.
    pub fn holds(&self, value: ValueRef<'_>) -> bool {
        let order = |operand: &Value| value.order(operand.as_ref());
        match (&self.0, value) {
            (Ready::Equal(operand), _) => value == operand.as_ref(),
            (Ready::Less(operand), _) => order(operand).is_some_and(|order| order.is_lt()),
            (Ready::AtMost(operand), _) => order(operand).is_some_and(|order| order.is_le()),
            (Ready::Greater(operand), _) => order(operand).is_some_and(|order| order.is_gt()),
            (Ready::AtLeast(operand), _) => order(operand).is_some_and(|order| order.is_ge()),
            (Ready::Between(low, high), _) => {
                order(low).is_some_and(|order| order.is_ge())
                    && order(high).is_some_and(|order| order.is_le())
            }
            (Ready::In(operands), _) => {
                operands.binary_search_by(|operand| operand.as_ref().canonical_order(value)).is_ok()
            }
            (Ready::Like(glob), ValueRef::String(text)) => glob.is_match(text),
            (Ready::StartsWith(operand), ValueRef::String(text)) => text.starts_with(&**operand),
            (Ready::EndsWith(operand), ValueRef::String(text)) => text.ends_with(&**operand),
            (Ready::Contains(operand), ValueRef::String(text)) => text.contains(&**operand),
            (Ready::Matches(pattern), ValueRef::String(text)) => pattern.is_match(text),
            _ => false,
        }
    }
}

/// The distinct predicates of a matcher.
#[derive(Debug, Default)]
pub(crate) struct Predicates {
    ids: HashMap<(AttributeId, Test), PredicateId, ahash::RandomState>,
    checks: Vec<(AttributeId, Check)>,
}

impl Predicates {
    /// The number of a predicate, assigned now if it has none.
    pub fn intern(&mut self, attribute: AttributeId, test: &Test) -> PredicateId {
        let next = self.checks.len() as PredicateId;
        *self.ids.entry((attribute, test.clone())).or_insert_with(|| {
            self.checks.push((attribute, Check::new(test)));
            next
        })
    }

    /// The truth of a predicate on an event.
    pub fn truth(&self, predicate: PredicateId, event: &Event, missing: Missing) -> Truth {
        let (attribute, check) = &self.checks[predicate as usize];
        check.truth(event.get(*attribute), missing)
    }

    /// The attributes for which a null is distinguished from a missing attribute.
    pub fn asked_nulls(&self) -> impl Iterator<Item = AttributeId> {
        let asking = self.checks.iter().filter(|(_, check)| matches!(check.0, Ready::Exists));
        asking.map(|(attribute, _)| *attribute)
    }

    /// Bytes of memory, operands not counted.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(AttributeId, Test)>() + size_of::<PredicateId>();
        entry * self.ids.capacity() + size_of::<(AttributeId, Check)>() * self.checks.len()
    }

    /// The number of predicates.
    pub fn len(&self) -> usize {
        self.checks.len()
    }
}
