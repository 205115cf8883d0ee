//! Comparisons.
//!
//! XPath 1.0, 3.4. A comparison with a node-set is true if it is true for some node. Two node-sets
//! are compared in linear time: equality by a set of strings, order by the lowest and highest
//! numbers.

use super::Evaluation;
use super::constant::Operand;
use super::value::{Value, number_and_cost, to_number};
use crate::document::NodeIndex;
use crate::meter::Metered;
use crate::xpath::Comparison;

/// Compares a string with a constant, in the same way as a node's string value.
pub fn compare_string(comparison: Comparison, string: &str, constant: &str) -> bool {
    match comparison {
        Comparison::Equal => string == constant,
        Comparison::NotEqual => string != constant,
        _ => comparison.numbers(to_number(string), to_number(constant)),
    }
}

impl<'e> Evaluation<'e> {
    pub(super) fn compare(
        &mut self,
        comparison: Comparison,
        left: &Operand<'e>,
        right: &Operand<'e>,
    ) -> Metered<bool> {
        match (left.value(), right.value()) {
            (Value::Nodes(ones), Value::Nodes(others)) => {
                self.compare_nodes(comparison, (left, ones), (right, others))
            }
            (Value::Nodes(nodes), other) => self.node_and_value(comparison, nodes, other),
            (other, Value::Nodes(nodes)) => self.node_and_value(comparison.mirrored(), nodes, other),
            (left, right) => self.compare_values(comparison, left, right),
        }
    }

    /// Whether a test passes on the string of some node. The test also returns the units of work it
    /// took.
    fn some(&mut self, nodes: &[NodeIndex], test: impl Fn(&'e str) -> (bool, usize)) -> Metered<bool> {
        for node in nodes {
            let (passes, cost) = test(self.document.string(*node));
            self.meter.spend(1 + cost)?;
            if passes {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn node_and_value(
        &mut self,
        comparison: Comparison,
        nodes: &[NodeIndex],
        other: &Value<'_>,
    ) -> Metered<bool> {
        let numbers = |right: f64| {
            move |string: &str| {
                let (left, cost) = number_and_cost(string);
                (comparison.numbers(left, right), cost)
            }
        };
        match (comparison, other) {
            (_, Value::Number(number)) => self.some(nodes, numbers(*number)),
            (Comparison::Equal | Comparison::NotEqual, Value::String(constant)) => self
                .some(nodes, |string| {
                    (compare_string(comparison, string, constant), equality_cost(string, constant))
                }),
            (_, Value::String(constant)) => {
                let (number, cost) = number_and_cost(constant);
                self.meter.spend(cost)?;
                self.some(nodes, numbers(number))
            }
            // For a boolean, a node-set counts as true if it is not empty.
            (_, other) => self.compare_values(comparison, &Value::Boolean(!nodes.is_empty()), other),
        }
    }

    fn compare_nodes(
        &mut self,
        comparison: Comparison,
        (left, ones): (&Operand<'e>, &[NodeIndex]),
        (right, others): (&Operand<'e>, &[NodeIndex]),
    ) -> Metered<bool> {
        if ones.is_empty() || others.is_empty() {
            return Ok(false);
        }
        let document = self.document;
        match comparison {
            Comparison::Equal => {
                // A cached set can be reused; otherwise build the smaller one.
                let keeps = |operand: &Operand<'_>| matches!(operand, Operand::Constant(_));
                let swap = match (keeps(left), keeps(right)) {
                    (true, false) => true,
                    (false, true) => false,
                    _ => ones.len() < others.len(),
                };
                let (many, few, kept) = if swap { (others, ones, left) } else { (ones, others, right) };
                if let [one] = few {
                    let constant = document.string(*one);
                    return self.some(many, |string| (string == constant, equality_cost(string, constant)));
                }
                self.with_strings(kept, few, |this, strings| {
                    this.some(many, |string| (strings.contains(string), string.len() / 8))
                })
            }
            Comparison::NotEqual => {
                // No pair differs only if all strings are equal.
                let first = document.string(ones[0]);
                let differs = |string: &str| (string != first, equality_cost(string, first));
                Ok(self.some(ones, differs)? || self.some(others, differs)?)
            }
            _ => {
                let (left, right) = (self.numbers(left, ones)?, self.numbers(right, others)?);
                let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
                Ok(match comparison {
                    Comparison::Less | Comparison::LessOrEqual => comparison.numbers(left.0, right.1),
                    _ => comparison.numbers(left.1, right.0),
                })
            }
        }
    }

    fn compare_values(
        &mut self,
        comparison: Comparison,
        left: &Value<'_>,
        right: &Value<'_>,
    ) -> Metered<bool> {
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        match (left, right) {
            (Value::Boolean(_), _) | (_, Value::Boolean(_)) if equality => {
                Ok((left.boolean() == right.boolean()) == (comparison == Comparison::Equal))
            }
            (Value::String(left), Value::String(right)) if equality => {
                self.meter.spend(equality_cost(left, right))?;
                Ok(compare_string(comparison, left, right))
            }
            _ => {
                let (left, right) = (left.number(self.document), right.number(self.document));
                self.meter.spend(left.1 + right.1)?;
                Ok(comparison.numbers(left.0, right.0))
            }
        }
    }
}

/// The units of work to compare two strings. Strings of different lengths differ at once.
fn equality_cost(left: &str, right: &str) -> usize {
    if left.len() == right.len() { left.len() / 16 } else { 0 }
}
