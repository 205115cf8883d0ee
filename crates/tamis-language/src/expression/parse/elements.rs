//! How is a condition on the elements of a list built, and parsed again?
//!
//! The predicate holds the inner expression as text, which is parsed when the expression is needed.

use super::{Parser, Reader};
use crate::error::{Error, Result};
use crate::expression::elements::{DEEPEST, EMPTY, Quantifier, attribute_of};
use crate::expression::names::{IT, check_name};
use crate::expression::predicate::{Operand, Operator, Predicate};
use crate::expression::tree::Expression;
use crate::limits::{self, Limits};
use crate::value::Value;

impl Predicate {
    /// Whether elements of a list satisfy an expression; `weights` is empty or has the weight of a match.
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
                return Err(Error::expression("`xpath` queries documents, not elements of a list"));
            }
            if predicate.weights().is_some() {
                return Err(Error::expression("a condition on an element has no weight"));
            }
        }
        let name = attribute_of(list, quantifier == Quantifier::All);
        let key = Value::String(inner.to_string().into());
        if quantifier != Quantifier::All {
            let negated = quantifier == Quantifier::None;
            return Predicate::with_unchecked_name(
                name,
                Operator::Equal,
                negated,
                Operand::One(key),
                weights,
                limits,
            );
        }
        let weights: Vec<f64> = weights.iter().flat_map(|weight| [*weight, *weight]).collect();
        let operand = Operand::Set(vec![Value::from(EMPTY), key]);
        Predicate::with_unchecked_name(name, Operator::In, false, operand, &weights, limits)
    }

    /// The condition on the elements of a list.
    pub fn inner(&self) -> Option<Result<Expression>> {
        self.as_elements().map(|elements| read_inner(elements.text))
    }
}

/// Parses the text of an expression about elements, as a predicate holds it.
pub fn read_inner(text: &str) -> Result<Expression> {
    let limits = Limits::none();
    let mut parser = Parser::new(Reader::begin(text, &limits)?.inside_list());
    parser.expression()?;
    Ok(parser.assembler.finish())
}

/// How deep conditions on elements are nested. Existing expressions are within [`DEEPEST`].
fn depth(expression: &Expression) -> usize {
    let inner = expression.predicates().filter_map(|predicate| predicate.inner());
    inner.map(|inner| inner.map_or(DEEPEST, |inner| 1 + depth(&inner))).max().unwrap_or(0)
}
