//! Values, and conversions between their types.

use std::borrow::Cow;

use crate::characters::is_space;
use crate::document::{Document, NodeIndex};

#[derive(Debug, Clone)]
pub enum Value<'e> {
    /// In document order, without duplicates.
    Nodes(Vec<NodeIndex>),
    Boolean(bool),
    Number(f64),
    String(Cow<'e, str>),
}

impl<'e> Value<'e> {
    pub fn boolean(&self) -> bool {
        match self {
            Value::Nodes(nodes) => !nodes.is_empty(),
            Value::Boolean(boolean) => *boolean,
            Value::Number(number) => *number != 0.0 && !number.is_nan(),
            Value::String(text) => !text.is_empty(),
        }
    }

    /// The value as a number, and the units of work that this takes.
    pub fn number(&self, document: &Document) -> (f64, usize) {
        match self {
            Value::Nodes(nodes) => {
                nodes.first().map_or((f64::NAN, 1), |node| number_and_cost(document.string(*node)))
            }
            Value::Boolean(boolean) => (f64::from(u8::from(*boolean)), 1),
            Value::Number(number) => (*number, 1),
            Value::String(text) => number_and_cost(text),
        }
    }

    /// Bytes of memory that the value holds.
    pub fn bytes(&self) -> usize {
        match self {
            Value::Nodes(nodes) => size_of_val(&**nodes),
            Value::String(Cow::Owned(text)) => text.len(),
            _ => 0,
        }
    }

    /// The string value of a node-set: that of its first node.
    pub fn first_string(nodes: &[NodeIndex], document: &'e Document) -> &'e str {
        nodes.first().map_or("", |node| document.string(*node))
    }

    pub fn string(self, document: &'e Document) -> Cow<'e, str> {
        match self {
            Value::Nodes(nodes) => Value::first_string(&nodes, document).into(),
            Value::Boolean(true) => "true".into(),
            Value::Boolean(false) => "false".into(),
            Value::Number(number) => to_string(number).into(),
            Value::String(text) => text,
        }
    }
}

/// XPath 1.0, 4.4: white space, a minus sign, digits with at most one point; anything else is not a
/// number.
pub fn to_number(text: &str) -> f64 {
    number_and_cost(text).0
}

/// The number that a text represents, and how many of its bytes were read.
pub fn number_and_cost(text: &str) -> (f64, usize) {
    let bytes = text.as_bytes();
    let start = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let digits = start + usize::from(bytes.get(start) == Some(&b'-'));
    let length = bytes[digits..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let end = digits + length;
    let rest = bytes[end..].iter().take_while(|byte| is_space(**byte)).count();
    let cost = 1 + end + rest;
    if end + rest < bytes.len() || !bytes[digits..end].iter().any(u8::is_ascii_digit) {
        return (f64::NAN, cost);
    }
    (text[start..end].parse().unwrap_or(f64::NAN), cost)
}

/// XPath 1.0, 4.2: no exponents, no negative zero.
pub fn to_string(number: f64) -> String {
    if number.is_nan() {
        "NaN".into()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity".into() } else { "-Infinity".into() }
    } else if number == 0.0 {
        "0".into()
    } else {
        number.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_and_written() {
        for (text, number) in [(" 12\n", 12.0), ("-.5", -0.5), ("5.", 5.0), ("-0", 0.0)] {
            assert_eq!(to_number(text), number, "{text}");
        }
        for text in
            ["", " ", "+1", "1e3", "1.2.3", "- 1", "--1", "0x1", "1 2", ".", "-", "NaN", "inf", "\u{a0}1"]
        {
            assert!(to_number(text).is_nan(), "{text}");
        }
        for (number, text) in
            [(1.0, "1"), (-0.0, "0"), (1.5, "1.5"), (1e21, "1000000000000000000000"), (f64::NAN, "NaN")]
        {
            assert_eq!(to_string(number), text);
        }
    }
}
