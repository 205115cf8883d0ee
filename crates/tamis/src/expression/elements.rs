//! What does a predicate ask of the elements of a list?
//!
//! `any(items, price > 3)` is an equality like any other, on an attribute of its own whose values are the
//! expressions that some element satisfies; `all` asks for the expressions that every element satisfies. An
//! empty list satisfies all of the latter, which is a value of its own. So no matcher knows of lists.
//!
//! Predicates hold an expression as text. Matchers look for its number as well, a hash of the text: numbers are handed
//! from elements to the event at a fraction of the cost. An expression that shares its number with another of the same
//! index is handed on as text, so the hash decides nothing.

use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use super::names::MARK;
use super::predicate::{Predicate, Test};
use super::term::Term;
use super::words::QUANTIFIERS;
use crate::value::Value;

/// What the name of such an attribute has behind its mark, before the letter of `any` or `all`.
const ELEMENTS: char = '\u{3}';
/// Expressions about elements of lists in lists nest no deeper, whatever the limits say.
pub(super) const DEEPEST: usize = 16;
/// What an empty list satisfies besides everything.
pub(crate) const EMPTY: &str = "";

/// How many elements must satisfy an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Quantifier {
    Any,
    All,
    None,
}

impl Quantifier {
    /// The quantifier with this name, whatever its case.
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

/// A question about the elements of a list.
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
    /// What the predicate asks of the elements of a list, if it does.
    pub fn as_elements(&self) -> Option<Elements<'_>> {
        let (all, list) = list_of(self.attribute())?;
        match self.test() {
            Test::Equal(Value::String(text)) if !all => {
                let quantifier = if self.negated() { Quantifier::None } else { Quantifier::Any };
                Some(Elements { quantifier, list, text })
            }
            Test::In(values) if all => match &**values {
                [_, Value::String(text)] => Some(Elements { quantifier: Quantifier::All, list, text }),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The number of an expression about elements. Files contain it: it must never change.
pub(crate) fn number_of(text: &str) -> u32 {
    xxh3_64(text.as_bytes()) as u32
}

/// The test that matchers make in the place of one that asks about elements: for the number as well as for the text.
pub(super) fn with_number(predicate: &Predicate) -> Option<(Test, Option<Box<[f64]>>)> {
    let Elements { text, .. } = predicate.as_elements()?;
    let mut values = vec![Value::Integer(number_of(text).into())];
    match predicate.test() {
        Test::In(texts) => values.extend(texts.iter().cloned()),
        _ => values.push(Value::from(text)),
    }
    let weights = predicate.weights().map(|weights| vec![weights[0]; values.len()].into());
    Some((Test::In(values.into()), weights))
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

/// Of an attribute whose values are what elements satisfy: whether it is all of them, and the list's name.
pub(crate) fn list_of(name: &Arc<str>) -> Option<(bool, &str)> {
    let rest = name.strip_prefix(MARK)?.strip_prefix(ELEMENTS)?;
    rest.strip_prefix('A')
        .map(|list| (true, list))
        .or_else(|| rest.strip_prefix('E').map(|list| (false, list)))
}
