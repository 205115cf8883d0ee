//! What does a predicate ask of the elements of a list?
//!
//! `any(items, price > 3)` is an equality like any other, on an attribute of its own whose values are the
//! expressions that some element satisfies; `all` asks for the expressions that every element satisfies. An
//! empty list satisfies all of the latter, which is a value of its own. So no matcher knows of lists.

use std::sync::Arc;

use super::parse::parse_inside;
use super::predicate::{Operand, Operator, Predicate, Test};
use super::term::{IT, MARK, Term, check_name};
use super::tree::Expression;
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
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
        match self {
            Quantifier::Any => "any",
            Quantifier::All => "all",
            Quantifier::None => "none",
        }
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
    /// Whether elements of a list satisfy an expression; `weights` is empty, or holds the weight of a match.
    pub fn elements(
        quantifier: Quantifier,
        list: &str,
        inner: &Expression,
        weights: &[f64],
        limits: &Limits,
    ) -> Result<Predicate> {
        if list != IT {
            check_name(list, limits)?;
        }
        limits::check(
            "nesting of `any`, `all` and `none`",
            "element_depth",
            1 + depth(inner),
            limits.element_depth.min(DEEPEST),
        )?;
        for predicate in inner.predicates() {
            if predicate.as_xpath().is_some() {
                return Err(Error::expression("`xpath` asks about documents, not about elements of a list"));
            }
            if predicate.weights().is_some() {
                return Err(Error::expression("what is asked of an element has no weight"));
            }
        }
        let letter = if quantifier == Quantifier::All { 'A' } else { 'E' };
        let name = format!("{MARK}{ELEMENTS}{letter}{list}");
        let key = Value::String(inner.to_string().into());
        if quantifier != Quantifier::All {
            let negated = quantifier == Quantifier::None;
            return Predicate::unchecked(name, Operator::Equal, negated, Operand::One(key), weights, limits);
        }
        let weights: Vec<f64> = weights.iter().flat_map(|weight| [*weight, *weight]).collect();
        let operand = Operand::Set(vec![Value::from(EMPTY), key]);
        Predicate::unchecked(name, Operator::In, false, operand, &weights, limits)
    }

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

    /// The expression that the elements of a list are asked about.
    pub(crate) fn inner(&self) -> Option<Result<Expression>> {
        self.as_elements().map(|elements| read_inner(elements.text))
    }
}

impl Elements<'_> {
    /// The list as a term.
    pub(super) fn term(self) -> Term {
        Term::Attribute(self.list.into())
    }
}

/// Reads an expression about elements that was written by one.
pub(crate) fn read_inner(text: &str) -> Result<Expression> {
    parse_inside(text, &Limits::none())
}

/// Of an attribute whose values are what elements satisfy: whether it is all of them, and the list's name.
pub(crate) fn list_of(name: &Arc<str>) -> Option<(bool, &str)> {
    let rest = name.strip_prefix(MARK)?.strip_prefix(ELEMENTS)?;
    rest.strip_prefix('A')
        .map(|list| (true, list))
        .or_else(|| rest.strip_prefix('E').map(|list| (false, list)))
}

/// How many lists in lists an expression asks about. What was made before is within [`DEEPEST`].
fn depth(expression: &Expression) -> usize {
    let inner = expression.predicates().filter_map(|predicate| predicate.inner());
    inner.map(|inner| inner.map_or(DEEPEST, |inner| 1 + depth(&inner))).max().unwrap_or(0)
}
