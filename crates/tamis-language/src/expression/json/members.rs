//! Which predicate do the members of an object describe?

use std::sync::Arc;

use crate::error::{Error, Result, shorten};
use crate::expression::elements::Quantifier;
use crate::expression::names::check_name;
use crate::expression::predicate::{Operand, Operator, Predicate, Takes};
use crate::expression::term::{Comparison, Term};
use crate::expression::tree::Expression;
use crate::limits::Limits;
use crate::value::Value;

/// The members of a predicate's object as they are read.
#[derive(Default)]
pub(super) struct Members {
    pub attribute: Option<String>,
    pub elements: Option<(Quantifier, Arc<str>)>,
    pub inner: Option<Expression>,
    pub term: Option<Term>,
    pub right: Option<Term>,
    pub operator: Option<String>,
    pub value: Option<Value>,
    pub values: Option<Vec<Value>>,
    pub weight: Option<f64>,
    pub weights: Option<Vec<f64>>,
    pub xpath: Option<String>,
    pub namespaces: Option<Vec<(String, String)>>,
}

impl Members {
    pub fn into_predicate(self, limits: &Limits) -> Result<Predicate> {
        if self.xpath.is_some() || self.namespaces.is_some() {
            return self.into_xpath(limits);
        }
        if self.elements.is_some() || self.inner.is_some() {
            return self.into_elements(limits);
        }
        let term = match (self.attribute, self.term) {
            (Some(attribute), None) => {
                check_name(&attribute, limits)?;
                Term::Attribute(attribute.into())
            }
            (None, Some(term)) => term,
            (None, None) => return Err(Error::expression("a predicate lacks `attribute` or `term`")),
            (Some(_), Some(_)) => {
                return Err(Error::expression(
                    "a predicate has `attribute` and `term`; it takes one of them",
                ));
            }
        };
        let operator = self.operator.ok_or_else(|| Error::expression("a predicate lacks `operator`"))?;
        if let Some(negated) = ["is unknown", "is not unknown"].iter().position(|known| operator == *known) {
            return Predicate::unknown(term, negated == 1, limits);
        }
        let Some((operator, negated)) = Operator::from_spelling(&operator) else {
            let known: Vec<_> = Operator::spellings().collect();
            let operator = shorten(&operator);
            return Err(Error::expression(format!(
                "`{operator}` is not an operator; known are {}",
                known.join(", ")
            )));
        };
        if let Some(right) = self.right {
            let comparison = Comparison::from_spelling(operator.spelling(false));
            let alone = self.value.is_none() && self.values.is_none();
            let weighted = self.weight.is_some() || self.weights.is_some();
            return match (comparison, alone, weighted) {
                (_, false, _) => {
                    Err(Error::expression("a predicate has `right` and a value; it takes one of them"))
                }
                (_, _, true) => Err(Error::expression("a weight follows a constant or a set, never a term")),
                (None, ..) => {
                    let spelling = operator.spelling(negated);
                    Err(Error::expression(format!("`{spelling}` takes a constant, not a term")))
                }
                (Some(comparison), ..) => Predicate::comparison(term, comparison, negated, right, limits),
            };
        }
        let operand = match (self.value, self.values, operator) {
            (None, None, _) => Operand::Nothing,
            (Some(value), None, _) => Operand::One(value),
            (None, Some(values), Operator::Between) => {
                let count = values.len();
                let [low, high] = <[Value; 2]>::try_from(values)
                    .map_err(|_| Error::expression(format!("`between` takes two values, not {count}")))?;
                Operand::Range(low, high)
            }
            (None, Some(values), _) => Operand::Set(values),
            (Some(_), Some(_), _) => {
                return Err(Error::expression("a predicate has `value` and `values`; it takes one of them"));
            }
        };
        let weights = match (self.weight, self.weights) {
            (None, None) => Vec::new(),
            (Some(weight), None) if operator.takes() != Takes::Set => vec![weight],
            (None, Some(weights)) if operator.takes() == Takes::Set => weights,
            _ => {
                return Err(Error::expression(
                    "`in` takes `weights`, one per value; every other operator takes `weight`",
                ));
            }
        };
        Predicate::on(&term, operator, negated, operand, &weights, limits)
    }

    fn into_elements(self, limits: &Limits) -> Result<Predicate> {
        let others = self.attribute.is_some() || self.term.is_some() || self.right.is_some();
        let others = others || self.operator.is_some() || self.value.is_some() || self.values.is_some();
        match (self.elements, self.inner) {
            (Some((quantifier, list)), Some(inner)) if !others && self.weights.is_none() => {
                Predicate::elements(quantifier, &list, &inner, self.weight.as_slice(), limits)
            }
            _ => Err(Error::expression(
                "a predicate about elements has `any`, `all` or `none`, `where`, and beside them `weight` only",
            )),
        }
    }

    fn into_xpath(self, limits: &Limits) -> Result<Predicate> {
        let Members {
            attribute,
            elements: _,
            inner: _,
            term,
            right,
            operator,
            value,
            values,
            weight,
            weights,
            xpath,
            namespaces,
        } = self;
        let others =
            attribute.is_some() || term.is_some() || right.is_some() || operator.is_some() || value.is_some();
        let (Some(xpath), false) = (xpath, others || values.is_some() || weights.is_some()) else {
            let message =
                "a predicate about a document has `xpath`, and beside it `namespaces` and `weight` only";
            return Err(Error::expression(message));
        };
        let namespaces = namespaces.unwrap_or_default();
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, namespace)| (&**prefix, &**namespace)).collect();
        Predicate::xpath(&xpath, &namespaces, weight.as_slice(), limits).map_err(|error| match error {
            Error::Syntax(error) => Error::expression(format!("in `xpath`, {error}")),
            other => other,
        })
    }
}
