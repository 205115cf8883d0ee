//! When is a comparison true?
//!
//! XPath 1.0, 3.4. A node-set compares by whether some node of it does. Two node-sets are compared
//! in linear time: equality through a set of strings, order through the least and greatest numbers.

use std::collections::HashSet;

use super::value::{Value, to_number};
use crate::xml::document::{Document, NodeIndex};
use crate::xml::xpath::Comparison;

pub fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>, document: &Document) -> bool {
    match (left, right) {
        (Value::Nodes(left), Value::Nodes(right)) => nodes(comparison, left, right, document),
        (Value::Nodes(nodes), other) => node_and_value(comparison, nodes, other, document),
        (other, Value::Nodes(nodes)) => node_and_value(comparison.mirrored(), nodes, other, document),
        _ => values(comparison, left, right, document),
    }
}

/// Compares a string with a literal, as a node's string value is compared.
pub fn compare_string(comparison: Comparison, string: &str, literal: &str) -> bool {
    match comparison {
        Comparison::Equal => string == literal,
        Comparison::NotEqual => string != literal,
        _ => comparison.numbers(to_number(string), to_number(literal)),
    }
}

fn node_and_value(
    comparison: Comparison,
    nodes: &[NodeIndex],
    other: &Value<'_>,
    document: &Document,
) -> bool {
    let some = |test: &dyn Fn(&str) -> bool| nodes.iter().any(|node| test(document.string(*node)));
    match other {
        Value::Number(number) => some(&|string| comparison.numbers(to_number(string), *number)),
        Value::String(literal) => some(&|string| compare_string(comparison, string, literal)),
        // A boolean compares with whether there is a node at all.
        other => values(comparison, &Value::Boolean(!nodes.is_empty()), other, document),
    }
}

fn nodes(comparison: Comparison, left: &[NodeIndex], right: &[NodeIndex], document: &Document) -> bool {
    if left.is_empty() || right.is_empty() {
        return false;
    }
    let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
    match comparison {
        Comparison::Equal if few.len() == 1 => {
            let string = document.string(few[0]);
            many.iter().any(|node| document.string(*node) == string)
        }
        Comparison::Equal => {
            let strings: HashSet<&str, ahash::RandomState> =
                few.iter().map(|node| document.string(*node)).collect();
            many.iter().any(|node| strings.contains(document.string(*node)))
        }
        Comparison::NotEqual => {
            // Only if all strings are one and the same is there no pair that differs.
            let first = document.string(left[0]);
            left.iter().chain(right).any(|node| document.string(*node) != first)
        }
        _ => {
            let numbers = |nodes: &[NodeIndex]| {
                let numbers = nodes.iter().map(|node| to_number(document.string(*node)));
                let proper = numbers.filter(|number| !number.is_nan());
                proper.fold(None, |range: Option<(f64, f64)>, number| match range {
                    None => Some((number, number)),
                    Some((least, greatest)) => Some((least.min(number), greatest.max(number))),
                })
            };
            let (Some(left), Some(right)) = (numbers(left), numbers(right)) else { return false };
            match comparison {
                Comparison::Less | Comparison::LessOrEqual => comparison.numbers(left.0, right.1),
                _ => comparison.numbers(left.1, right.0),
            }
        }
    }
}

fn values(comparison: Comparison, left: &Value<'_>, right: &Value<'_>, document: &Document) -> bool {
    let ordered = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
    match (left, right) {
        _ if ordered => comparison.numbers(left.number(document), right.number(document)),
        (Value::Boolean(_), _) | (_, Value::Boolean(_)) => {
            (left.boolean() == right.boolean()) == (comparison == Comparison::Equal)
        }
        (Value::String(left), Value::String(right)) => compare_string(comparison, left, right),
        _ => comparison.numbers(left.number(document), right.number(document)),
    }
}
