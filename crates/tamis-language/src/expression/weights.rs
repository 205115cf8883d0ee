//! How are weights that are passed with an expression added to it?
//!
//! A weight applies to an attribute, and so to every value that a positive predicate tests it
//! for, or to one pair. It replaces the weight in the text. A weight that applies to nothing is an
//! error, because it was meant for something that is not there.

use std::sync::Arc;

use jiter::JsonValue;

use super::predicate::{Predicate, Test};
use super::tree::{Expression, Node};
use crate::error::shorten;
use crate::error::{Error, Result};
use crate::value::Value;

/// A weight of an attribute, or of one pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Weight {
    /// The attribute's name.
    pub attribute: Arc<str>,
    /// The value; all of them if there is none.
    pub value: Option<Value>,
    /// A finite number of at least 0.
    pub weight: f64,
}

impl Weight {
    /// The weights in a JSON object of attributes, each with a number, or with an object of values that
    /// are strings, each with a number.
    pub fn read_json(text: &str) -> Result<Vec<Weight>> {
        let wrong =
            |reason: String| Error::expression(format!("the weights are not a JSON object: {reason}"));
        let parsed = JsonValue::parse(text.as_bytes(), false).map_err(|error| wrong(error.to_string()))?;
        let members = match &parsed {
            JsonValue::Null => return Ok(Vec::new()),
            JsonValue::Object(members) => members,
            _ => return Err(wrong(format!("`{}`", shorten(text)))),
        };
        let mut weights = Vec::new();
        for (attribute, given) in members.iter() {
            let mut push = |value: Option<Value>, weight: &JsonValue<'_>| match number(weight) {
                Some(weight) => {
                    weights.push(Weight { attribute: attribute.as_ref().into(), value, weight });
                    Ok(())
                }
                None => Err(Error::expression(format!(
                    "the weight of `{}` must be a number, or an object with a number for each value",
                    shorten(attribute)
                ))),
            };
            match given {
                JsonValue::Object(values) => {
                    values
                        .iter()
                        .try_for_each(|(value, weight)| push(Some(value.as_ref().into()), weight))?;
                }
                weight => push(None, weight)?,
            }
        }
        Ok(weights)
    }
}

fn number(value: &JsonValue<'_>) -> Option<f64> {
    match value {
        JsonValue::Int(number) => Some(*number as f64),
        JsonValue::Float(number) => Some(*number),
        _ => None,
    }
}

impl Expression {
    /// The expression with these weights in place of its own.
    pub fn weighted(&self, weights: &[Weight]) -> Result<Expression> {
        for Weight { attribute, weight, .. } in weights {
            if !weight.is_finite() || *weight < 0.0 {
                return Err(Error::expression(format!(
                    "the weight of `{}` is {weight}; it must be a finite number of at least 0",
                    shorten(attribute)
                )));
            }
        }
        let mut used = vec![false; weights.len()];
        let expression = self.map_predicates(|predicate| weigh(predicate, weights, &mut used));
        match weights.iter().zip(used).find(|(_, used)| !used) {
            None => Ok(expression),
            Some((Weight { attribute, value, .. }, _)) => {
                let name = shorten(attribute);
                let message = match value {
                    None => format!(
                        "there is a weight for `{name}`, but no predicate on `{name}` that can take one"
                    ),
                    Some(value) => format!(
                        "there is a weight for `{name}` = {value}, but no predicate that asks for this value",
                        value = shorten(&value.to_string())
                    ),
                };
                Err(Error::expression(message))
            }
        }
    }
}

/// The predicate with the weights that concern it; negated predicates and those without an operand
/// have none.
fn weigh(predicate: &Arc<Predicate>, weights: &[Weight], used: &mut [bool]) -> Node {
    if predicate.negated() || matches!(predicate.test(), Test::Exists | Test::IsNull) {
        return Node::Predicate(Arc::clone(predicate));
    }
    let values: Vec<Option<&Value>> = match predicate.test() {
        Test::In(values) => values.iter().map(Some).collect(),
        Test::Equal(value) => vec![Some(value)],
        _ => vec![None],
    };
    let mut own: Vec<f64> = match predicate.weights() {
        Some(weights) => weights.to_vec(),
        None => vec![1.0; values.len()],
    };
    for (position, given) in weights.iter().enumerate() {
        if given.attribute != *predicate.attribute() {
            continue;
        }
        for (weight, value) in own.iter_mut().zip(&values) {
            let pair = given.value.is_some() && given.value.as_ref() == *value;
            // A pair's own weight counts more than that of its attribute, whichever comes first.
            let general = given.value.is_none()
                && !weights.iter().any(|other| {
                    other.value.is_some()
                        && other.value.as_ref() == *value
                        && other.attribute == given.attribute
                });
            if pair || general {
                *weight = given.weight;
            }
            used[position] |= pair || given.value.is_none();
        }
    }
    Node::Predicate(Arc::new(predicate.with_weights(own)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn weighted(text: &str, weights: &[(&str, Option<Value>, f64)]) -> Result<String> {
        let weights: Vec<Weight> = weights
            .iter()
            .map(|(attribute, value, weight)| Weight {
                attribute: (*attribute).into(),
                value: value.clone(),
                weight: *weight,
            })
            .collect();
        parse(text, &Limits::default()).unwrap().weighted(&weights).map(|expression| expression.to_string())
    }

    #[test]
    fn weights_join_the_text() {
        let text = "a in (1, 2^5) and (b > 3 or not (a = 2)) and a != 7";
        assert_eq!(
            weighted(text, &[("a", Some(2.into()), 3.0), ("b", None, 0.5)]).unwrap(),
            "a in (1, 2^3) and (b > 3^0.5 or not a = 2^3) and a != 7"
        );
        assert_eq!(
            weighted(text, &[("a", Some(1.into()), 4.0), ("a", None, 2.0)]).unwrap(),
            "a in (1^4, 2^2) and (b > 3 or not a = 2^2) and a != 7"
        );
        assert_eq!(weighted("a = 1^5", &[("a", None, 1.0)]).unwrap(), "a = 1");
    }

    #[test]
    fn weights_are_read_from_json() {
        let read = Weight::read_json(r#"{"a": 2, "b": {"x": 0.5, "y": 3}}"#).unwrap();
        let expected = [("a", None, 2.0), ("b", Some("x".into()), 0.5), ("b", Some("y".into()), 3.0)];
        let expected =
            expected.map(|(attribute, value, weight)| Weight { attribute: attribute.into(), value, weight });
        assert_eq!(read, expected);
        assert_eq!(Weight::read_json("null").unwrap(), []);
        for (text, message) in [
            ("[1]", "not a JSON object"),
            ("{", "not a JSON object"),
            (r#"{"a": "x"}"#, "the weight of `a` must be a number"),
            (r#"{"a": {"x": true}}"#, "the weight of `a` must be a number"),
        ] {
            let refused = Weight::read_json(text).unwrap_err().to_string();
            assert!(refused.contains(message), "{refused}");
        }
    }

    #[test]
    fn a_weight_for_nothing_is_an_error() {
        for (text, weight) in [
            ("a = 1", ("b", None, 1.0)),
            ("a = 1", ("a", Some(2.into()), 1.0)),
            ("a != 1", ("a", None, 1.0)),
            ("exists(a)", ("a", None, 1.0)),
            ("a > 1", ("a", Some(1.into()), 1.0)),
        ] {
            let refused = weighted(text, &[weight]).unwrap_err().to_string();
            assert!(refused.contains("there is a weight for"), "{refused}");
        }
        assert!(weighted("a = 1", &[("a", None, -1.0)]).unwrap_err().to_string().contains("-1"));
    }
}
