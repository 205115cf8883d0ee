//! What does a predicate ask of the elements of a list?
//!
//! `any(items, price > 3)` is an ordinary equality on a hidden attribute whose values are the
//! expressions that some element satisfies; for `all`, they are the expressions that every element satisfies. An
//! empty list satisfies all of the latter, which is a separate value. So matchers know nothing of lists.
//!
//! A predicate holds the inner expression as text. Matchers also look for its number, a hash of the text, because passing
//! numbers from elements to the event is much cheaper. If two expressions of an index have the same number, both are
//! passed as text, so a collision never changes an answer.

use xxhash_rust::xxh3::xxh3_64;

use super::keywords::QUANTIFIERS;
use super::names::{ELEMENTS, MARK, list_of};
use super::predicate::{Predicate, Test};
use super::term::Term;
use crate::value::Value;

/// The maximum nesting of conditions on elements, whatever the limits.
pub(super) const DEEPEST: usize = 16;
/// What an empty list satisfies besides everything.
pub const EMPTY: &str = "";

/// How many elements must satisfy an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Quantifier {
    Any,
    All,
    None,
}

impl Quantifier {
    /// The quantifier with this name, in any case.
    pub fn from_name(name: &str) -> Option<Quantifier> {
        [Quantifier::Any, Quantifier::All, Quantifier::None]
            .into_iter()
            .find(|quantifier| name.eq_ignore_ascii_case(quantifier.name()))
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        QUANTIFIERS[self as usize]
    }
}

/// A predicate about the elements of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Elements<'a> {
    /// How many elements must satisfy it.
    pub quantifier: Quantifier,
    /// The name of the list.
    pub list: &'a str,
    /// The expression, as text.
    pub text: &'a str,
}

impl Predicate {
    /// The condition on the elements of a list, if the predicate is one.
    pub fn as_elements(&self) -> Option<Elements<'_>> {
        let (all, list) = list_of(self.attribute())?;
        // Behind the number, if there is one, and what an empty list satisfies.
        let text = match self.test() {
            Test::Equal(Value::String(text)) => text,
            Test::In(values) => match &**values {
                [_, .., Value::String(text)] => text,
                _ => return None,
            },
            _ => return None,
        };
        let quantifier = match (all, self.negated()) {
            (true, _) => Quantifier::All,
            (false, true) => Quantifier::None,
            (false, false) => Quantifier::Any,
        };
        Some(Elements { quantifier, list, text })
    }

    /// Whether it refers to an expression about elements by its text alone.
    pub(super) fn needs_number(&self) -> bool {
        let numbered = |values: &[Value]| matches!(values, [Value::Integer(_), ..]);
        list_of(self.attribute()).is_some()
            && match self.test() {
                Test::Equal(Value::String(_)) => true,
                Test::In(values) => !numbered(values),
                _ => false,
            }
    }

    /// The predicate that matchers compile instead: it has the number as well as the text.
    pub(super) fn with_number(&self) -> Option<Predicate> {
        let Elements { text, .. } = self.as_elements()?;
        let mut values = vec![Value::Integer(number_of(text).into())];
        match self.test() {
            Test::In(texts) => values.extend(texts.iter().cloned()),
            _ => values.push(Value::from(text)),
        }
        let weights = self.weights().map(|weights| vec![weights[0]; values.len()].into());
        Some(self.with_test(Test::In(values.into()), self.negated(), weights))
    }
}

/// The number of an expression about elements. Files contain it: it must never change.
pub fn number_of(text: &str) -> u32 {
    xxh3_64(text.as_bytes()) as u32
}

impl Elements<'_> {
    /// The list as a term.
    pub(super) fn term(self) -> Term {
        Term::Attribute(self.list.into())
    }
}

/// The attribute whose values are what some element of a list satisfies, or all of them.
pub(super) fn attribute_of(list: &str, all: bool) -> String {
    let letter = if all { 'A' } else { 'E' };
    format!("{MARK}{ELEMENTS}{letter}{list}")
}
