//! How is an expression stored in few bytes, without being printed and parsed?
//!
//! The nodes are written in postfix order, as an [`Expression`] holds them. A node begins with one byte, which says
//! what it is. Behind that of a predicate follow the number of its attribute in a [`NameTable`], its operand
//! and, if it has any, its weights; behind that of an `and` or `or` of many children follows their number:
//!
//! ```text
//! state = 'CA' and age > 17      00 00 12 'C' 'A'    = attribute 0, a text of two bytes
//!                                0c 01 61            > attribute 1, 17
//!                                45                  and of two children
//! ```
//!
//! Every expression has exactly one encoding with a given table. [`decode`] is a loop over the bytes: it
//! refuses everything that [`encode`] does not write, and needs no more time and memory than a multiple of their number.

mod bytes;
mod names;

use std::sync::Arc;

pub use names::{NameTable, NameTableBuilder};

use super::parse::{FlatExpression, FlatNode, FlatPredicate, FlatValue, read_inner};
use super::predicate::{Operand, OperandRef, Operator, Predicate, Takes, Test};
use super::tree::{Expression, Node, TruthTest};
use super::xpath::XPathKey;
use crate::limits::Limits;
use crate::value::{Value, ValueRef};
use bytes::{Bytes, write_number, write_short_text, write_text, write_value, write_weight};
use names::NameKind;

// The first byte of a node: that of a predicate is four times the number of its operator, plus these.
const WEIGHTED: u8 = 1;
const NEGATED: u8 = 2;
const OPERATORS: u8 = 4 * Operator::COUNT as u8;
const FALSE: u8 = OPERATORS;
const TRUE: u8 = FALSE + 1;
const NOT: u8 = TRUE + 1;
const XOR: u8 = NOT + 1;
const XNOR: u8 = XOR + 1;
/// The first of the truth tests, in the order of [`TruthTest::ALL`].
const IS: u8 = XNOR + 1;
/// More than [`MOST_INLINE`] children, whose number follows.
const MANY_AND: u8 = IS + TruthTest::ALL.len() as u8;
const MANY_OR: u8 = MANY_AND + 1;
/// Two children; the bytes that follow stand for up to [`MOST_INLINE`].
const AND: u8 = MANY_OR + 1;
const OR: u8 = AND + (MOST_INLINE - 1) as u8;
const UNUSED: u8 = OR + (MOST_INLINE - 1) as u8;
const MOST_INLINE: u32 = 33;

/// Appends the encoding of an expression, and adds the names of its attributes to the table.
pub fn encode(expression: &Expression, names: &mut NameTableBuilder, bytes: &mut Vec<u8>) {
    for node in expression.nodes() {
        match node {
            Node::Constant(value) => bytes.push(if *value { TRUE } else { FALSE }),
            Node::Predicate(predicate) => encode_predicate(predicate, names, bytes),
            Node::Not => bytes.push(NOT),
            Node::Xor => bytes.push(XOR),
            Node::Xnor => bytes.push(XNOR),
            Node::Is(test) => {
                let number = TruthTest::ALL.iter().position(|(known, _)| known == test).unwrap_or(0);
                bytes.push(IS + number as u8);
            }
            Node::And(count) => encode_connective(*count, AND, MANY_AND, bytes),
            Node::Or(count) => encode_connective(*count, OR, MANY_OR, bytes),
        }
    }
}

/// As [`encode`], for an expression that has no tree.
pub fn encode_flat(expression: &FlatExpression, names: &mut NameTableBuilder, bytes: &mut Vec<u8>) {
    for node in expression.nodes() {
        match node {
            FlatNode::Predicate(predicate) => {
                encode_flat_predicate(predicate, expression.values(predicate), names, bytes);
            }
            FlatNode::And(count) => encode_connective(*count, AND, MANY_AND, bytes),
            FlatNode::Or(count) => encode_connective(*count, OR, MANY_OR, bytes),
        }
    }
}

fn encode_flat_predicate(
    predicate: &FlatPredicate,
    values: &[FlatValue],
    names: &mut NameTableBuilder,
    bytes: &mut Vec<u8>,
) {
    bytes.push(4 * predicate.operator as u8 + if predicate.negated { NEGATED } else { 0 });
    write_number(names.number(&predicate.name).into(), bytes);
    if predicate.operator == Operator::In {
        write_number(values.len() as u64, bytes);
    }
    for value in values {
        match *value {
            FlatValue::Integer(number) => write_value(ValueRef::Integer(number), bytes),
            FlatValue::Text(text) => text.with_bytes(|text| write_short_text(text, bytes)),
        }
    }
}

fn encode_connective(count: u32, inline: u8, many: u8, bytes: &mut Vec<u8>) {
    match count {
        2..=MOST_INLINE => bytes.push(inline + (count - 2) as u8),
        _ => {
            bytes.push(many);
            write_number(count.into(), bytes);
        }
    }
}

fn encode_predicate(predicate: &Predicate, names: &mut NameTableBuilder, bytes: &mut Vec<u8>) {
    let (operator, operand) = predicate.test().parts();
    let weighted = if predicate.weights().is_some() { WEIGHTED } else { 0 };
    let negated = if predicate.negated() { NEGATED } else { 0 };
    bytes.push(4 * operator as u8 + weighted + negated);
    write_number(names.number(predicate.attribute()).into(), bytes);
    encode_operand(operand, bytes);
    predicate.weights().unwrap_or_default().iter().for_each(|&weight| write_weight(weight, bytes));
}

fn encode_operand(operand: OperandRef<'_>, bytes: &mut Vec<u8>) {
    match operand {
        OperandRef::Nothing => {}
        OperandRef::One(value) => write_value(value.as_ref(), bytes),
        OperandRef::Text(text) => write_text(text, bytes),
        OperandRef::Range(low, high) => {
            write_value(low.as_ref(), bytes);
            write_value(high.as_ref(), bytes);
        }
        OperandRef::Set(values) => {
            write_number(values.len() as u64, bytes);
            values.iter().for_each(|value| write_value(value.as_ref(), bytes));
        }
    }
}

/// The encoding of a test by itself.
pub fn encode_test(test: &Test) -> Vec<u8> {
    let (operator, operand) = test.parts();
    let mut bytes = vec![4 * operator as u8];
    encode_operand(operand, &mut bytes);
    bytes
}

/// The test with this encoding; `None` if [`encode_test`] does not write these bytes.
pub fn decode_test(bytes: &[u8]) -> Option<Test> {
    let mut bytes = Bytes(bytes);
    let first = bytes.byte().filter(|first| first % 4 == 0)?;
    let operator = Operator::from_number(first / 4)?;
    let operand = decode_operand(operator, &mut bytes)?;
    // Which attribute is tested makes no difference.
    let predicate =
        Predicate::with_unchecked_name("", operator, false, operand, &[], &Limits::none()).ok()?;
    bytes.is_empty().then(|| predicate.test().clone())
}

/// What the decoder remembers of a child that no connective has taken yet.
#[derive(Clone, Copy, PartialEq)]
enum Root {
    And,
    Or,
    Other,
}

/// The expression with this encoding; `None` if [`encode`] does not write these bytes with this table.
pub fn decode(bytes: &[u8], names: &NameTable) -> Option<Expression> {
    let limits = Limits::none();
    let mut bytes = Bytes(bytes);
    // A predicate of the most frequent kinds takes three bytes or more.
    let mut nodes = Vec::with_capacity(bytes.len() / 3 + 1);
    let mut open: Vec<(Root, bool)> = Vec::with_capacity(8);
    while let Some(first) = bytes.byte() {
        let mut asks_xpath = false;
        let node = match first {
            FALSE => Node::Constant(false),
            TRUE => Node::Constant(true),
            NOT => Node::Not,
            XOR => Node::Xor,
            XNOR => Node::Xnor,
            IS..MANY_AND => Node::Is(TruthTest::ALL[usize::from(first - IS)].0),
            MANY_AND => Node::And(many(&mut bytes)?),
            MANY_OR => Node::Or(many(&mut bytes)?),
            AND..OR => Node::And(u32::from(first - AND) + 2),
            OR..UNUSED => Node::Or(u32::from(first - OR) + 2),
            UNUSED.. => return None,
            _ => {
                let (predicate, kind) = decode_predicate(first, &mut bytes, names, &limits)?;
                asks_xpath = kind == NameKind::XPath;
                Node::Predicate(Arc::new(predicate))
            }
        };
        let root = match node {
            Node::And(_) => Root::And,
            Node::Or(_) => Root::Or,
            _ => Root::Other,
        };
        let children = open.len().checked_sub(node.children())?;
        for (child, asked) in open.drain(children..) {
            // An `and` below an `and` is one `and`.
            if child == root && root != Root::Other {
                return None;
            }
            asks_xpath |= asked;
        }
        if asks_xpath && matches!(node, Node::Is(_)) {
            return None;
        }
        open.push((root, asks_xpath));
        nodes.push(node);
    }
    nodes.shrink_to_fit();
    (open.len() == 1).then(|| Expression::from_nodes(nodes))
}

/// The number of children, where there are many.
fn many(bytes: &mut Bytes<'_>) -> Option<u32> {
    bytes.number()?.try_into().ok().filter(|count| *count > MOST_INLINE)
}

fn decode_predicate(
    first: u8,
    bytes: &mut Bytes<'_>,
    names: &NameTable,
    limits: &Limits,
) -> Option<(Predicate, NameKind)> {
    let operator = Operator::from_number(first / 4)?;
    let (name, kind) = names.get(bytes.number()?)?;
    let operand = decode_operand(operator, bytes)?;
    let weights = match (first & WEIGHTED != 0, &operand) {
        (false, _) => Vec::new(),
        (true, Operand::Nothing) => return None,
        (true, Operand::Set(values)) => values.iter().map(|_| bytes.weight()).collect::<Option<_>>()?,
        (true, _) => vec![bytes.weight()?],
    };
    if first & WEIGHTED != 0 && weights.iter().all(|&weight| weight == 1.0) {
        return None;
    }
    let negated = first & NEGATED != 0;
    let predicate =
        Predicate::with_unchecked_name(name.clone(), operator, negated, operand, &weights, limits).ok()?;
    let made = match kind {
        NameKind::Attribute => None,
        NameKind::XPath => Some(xpath(&predicate, limits)?),
        NameKind::Elements => Some(elements(&predicate, limits)?),
    };
    made.is_none_or(|made| made == predicate).then_some((predicate, kind))
}

fn decode_operand(operator: Operator, bytes: &mut Bytes<'_>) -> Option<Operand> {
    Some(match operator.takes() {
        Takes::Nothing => Operand::Nothing,
        Takes::Value | Takes::Ordered => Operand::One(bytes.value()?),
        Takes::Text => Operand::One(Value::String(bytes.shared_text()?)),
        Takes::Range => Operand::Range(bytes.value()?, bytes.value()?),
        Takes::Set => {
            // Every value takes a byte.
            let count = usize::try_from(bytes.number()?).ok().filter(|count| *count <= bytes.len())?;
            let values = (0..count).map(|_| bytes.value()).collect::<Option<Vec<Value>>>()?;
            values.is_sorted_by(|a, b| a < b).then_some(Operand::Set(values))?
        }
    })
}

/// A predicate about documents, built again from its text.
fn xpath(predicate: &Predicate, limits: &Limits) -> Option<Predicate> {
    let key: XPathKey<'_> = predicate.as_xpath()?;
    Predicate::xpath(key.text(), &key.namespaces(), predicate.weights().unwrap_or_default(), limits).ok()
}

/// A predicate about elements, built again from its text.
fn elements(predicate: &Predicate, limits: &Limits) -> Option<Predicate> {
    let elements = predicate.as_elements()?;
    let inner = read_inner(elements.text).ok()?;
    let weight = predicate.weights().and_then(|weights| weights.first());
    let weights = weight.map_or(&[][..], std::slice::from_ref);
    Predicate::elements(elements.quantifier, elements.list, &inner, weights, limits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn encoded(text: &str) -> (Expression, Vec<u8>, NameTableBuilder) {
        let expression = parse(text, &Limits::default()).unwrap();
        let (mut names, mut bytes) = (NameTableBuilder::default(), Vec::new());
        encode(&expression, &mut names, &mut bytes);
        (expression, bytes, names)
    }

    #[test]
    fn the_example_is_encoded_as_it_says() {
        let (expression, bytes, names) = encoded("state = 'CA' and age > 17");
        assert_eq!(bytes, [0x00, 0x00, 0x12, b'C', b'A', 0x0c, 0x01, 0x61, 0x45]);
        assert_eq!(decode(&bytes, names.table()), Some(expression));
    }

    #[test]
    fn every_kind_of_expression_is_decoded_again() {
        let many: Vec<String> = (0..100).map(|number| format!("a{number} = {number}")).collect();
        for text in [
            "true",
            "not false xor a xnor b is not unknown",
            "a is unknown and (b = 1 or c = 2) is not false",
            "exists(a) or missing(a) and b is null and b is not null",
            "a in (1, 2.5^3, 'x') and a not in (1) and b = 1^0.5",
            "a between 1 and 2 and b not between 'a' and 'b'",
            "a like 'x%' or a starts with 'x' or a ends with '' or a contains 'x' or a matches '^x+'",
            "a < timestamp '2026-01-02 00:00' and b in (cidr '10.0.0.0/8', ip '::1', version '1.2')",
            "lower(a) = 'x' and a + b * 2 > 3 and a < b and coalesce(a, b) and cast(a as integer) in (1, 2)",
            "any(items, price > 3 and it.x = 'a') and all(items, none(it, it = 3))^2",
            #[cfg(feature = "xml")]
            "xpath('//price[. < 300]') and a = 1",
            &many.join(" and "),
            &many.join(" or "),
        ] {
            let (expression, bytes, names) = encoded(text);
            let read = decode(&bytes, names.table());
            assert_eq!(read.as_ref(), Some(&expression), "{text}");
            // Every byte counts: what is cut off, appended or changed is another expression or none.
            let mut again = Vec::new();
            for end in 0..bytes.len() {
                again.clear();
                if let Some(shorter) = decode(&bytes[..end], names.table()) {
                    encode(&shorter, &mut names.clone(), &mut again);
                    assert_eq!(again, bytes[..end]);
                }
            }
            for position in 0..bytes.len() {
                for flip in [1, 2, 0x10, 0x80, 0xff] {
                    let mut other = bytes.clone();
                    other[position] ^= flip;
                    if let Some(read) = decode(&other, names.table()) {
                        assert_ne!(read, expression);
                        again.clear();
                        encode(&read, &mut names.clone(), &mut again);
                        assert_eq!(again, other);
                    }
                }
            }
        }
    }

    #[test]
    fn what_no_constructor_makes_is_refused() {
        let mut names = NameTableBuilder::default();
        let hidden = ["a", "", "\u{1}", "\u{1}lower( a)", "\u{1}3", "\u{1}\u{3}Ea", "xpath()"];
        hidden.iter().for_each(|name| _ = names.number(&Arc::from(*name)));
        let one = 81;
        for bytes in [
            &[][..],
            // Two roots, a child too few, an `and` in an `and`, a connective of one child.
            &[TRUE, TRUE],
            &[NOT],
            &[TRUE, AND],
            &[TRUE, TRUE, AND, TRUE, AND],
            &[TRUE, MANY_AND, 1],
            &[TRUE, TRUE, MANY_OR, 2],
            &[UNUSED],
            // An attribute that is not there, and names that are none.
            &[0, 7, one],
            &[0, 1, one],
            &[0, 2, one],
            &[0, 3, one],
            &[0, 4, one],
            &[0, 5, one],
            &[0, 6, one],
            // Negated orderings, negated weights, weights of 1.
            &[4 * Operator::Less as u8 + NEGATED, 0, one],
            &[NEGATED + WEIGHTED, 0, one, one + 1],
            &[WEIGHTED, 0, one, one],
            &[4 * Operator::Exists as u8 + WEIGHTED, 0],
            // Sets that are not sorted, or longer than what there is.
            &[4 * Operator::In as u8, 0, 2, one, one],
            &[4 * Operator::In as u8, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, one],
            // Operands that the operator does not take.
            &[4 * Operator::Less as u8, 0, 1],
            &[4 * Operator::Between as u8, 0, one, 16],
            &[4 * Operator::Like as u8, 0, 1, b'\\'],
            &[4 * Operator::Matches as u8, 0, 1, b'('],
        ] {
            assert_eq!(decode(bytes, names.table()), None, "{bytes:?}");
        }
        assert!(decode(&[TRUE], names.table()).is_some());
        assert!(decode(&[0, 0, one], names.table()).is_some());
    }
}
