//! Can an expression be stored and compiled as it is read, without a tree?
//!
//! Most expressions are conjunctions and disjunctions of predicates that compare an attribute with integers or short
//! strings. Reading them as [`Expression`](crate::Expression)s takes several allocations per predicate. Here they are read into
//! buffers that are used again. Whatever is unusual, large or wrong is left to [`parse`](super::parse), so only
//! that reports errors.

use std::sync::Arc;

use super::plain::{Cursor, PlainConstant};
use crate::expression::keywords::means;
use crate::expression::lex::name_length;
use crate::expression::predicate::Operator;
use crate::expression::recent::shared;
use crate::limits::Limits;
use crate::value::Value;

/// More nodes, open parentheses and connectives, or values of one set are left to the parser.
const MOST: usize = 64;
/// Longer names may have more parts than the limits allow.
const LONGEST_NAME: usize = 64;

/// A text of up to 15 bytes in one number: the bytes, then zeros, and the length last. Such numbers sort as
/// their texts do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShortText(u128);

impl ShortText {
    const LONGEST: usize = 15;

    /// The text as a number; `None` if it is longer.
    #[inline]
    pub fn new(text: &str) -> Option<ShortText> {
        (text.len() <= ShortText::LONGEST).then(|| {
            let number = text.bytes().fold(0, |number, byte| number << 8 | u128::from(byte));
            ShortText::of(number, text.len())
        })
    }

    /// Of the bytes of a text, read as one number.
    #[inline]
    fn of(bytes: u128, length: usize) -> ShortText {
        ShortText((bytes << (8 * (ShortText::LONGEST - length))) << 8 | length as u128)
    }

    /// The two halves of the number.
    #[inline]
    pub fn halves(self) -> [u64; 2] {
        [(self.0 >> 64) as u64, self.0 as u64]
    }

    /// Calls `read` with the bytes of the text.
    #[inline]
    pub fn with_bytes<R>(self, read: impl FnOnce(&[u8]) -> R) -> R {
        let bytes = self.0.to_be_bytes();
        read(&bytes[..usize::from(bytes[ShortText::LONGEST])])
    }

    /// The text.
    pub fn to_text(self) -> Arc<str> {
        self.with_bytes(|bytes| String::from_utf8_lossy(bytes).into())
    }
}

/// A value of a [`FlatPredicate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FlatValue {
    /// An integer.
    Integer(i64),
    /// A short text.
    Text(ShortText),
}

impl FlatValue {
    /// The same value as other expressions have it.
    pub fn to_value(self) -> Value {
        match self {
            FlatValue::Integer(number) => Value::Integer(number),
            FlatValue::Text(text) => Value::String(text.to_text()),
        }
    }
}

/// A predicate of a [`FlatExpression`].
#[derive(Debug)]
pub struct FlatPredicate {
    /// The attribute's name.
    pub name: Arc<str>,
    /// `=`, an ordering, `between` or `in`.
    pub operator: Operator,
    /// Whether it is `!=`, `not between` or `not in`.
    pub negated: bool,
    start: u32,
    end: u32,
}

/// A node of a [`FlatExpression`].
#[derive(Debug)]
pub enum FlatNode {
    /// A predicate without weights.
    Predicate(FlatPredicate),
    /// All of so many children before it.
    And(u32),
    /// Any of so many children before it.
    Or(u32),
}

/// An expression of which nothing is allocated but the names, in postfix order; reused for its memory.
#[derive(Debug, Default)]
pub struct FlatExpression {
    nodes: Vec<FlatNode>,
    values: Vec<FlatValue>,
    frames: Vec<Frame>,
}

/// What waits for a child.
#[derive(Debug, Clone, Copy)]
enum Frame {
    /// An open parenthesis.
    Group,
    /// A connective with the number of children it has so far.
    And(u32),
    Or(u32),
}

impl FlatExpression {
    /// The nodes, children before the nodes that use them.
    pub fn nodes(&self) -> &[FlatNode] {
        &self.nodes
    }

    /// The values of a predicate: those of a set ascending and distinct, and one or two for other operators.
    #[inline]
    pub fn values(&self, predicate: &FlatPredicate) -> &[FlatValue] {
        &self.values[predicate.start as usize..predicate.end as usize]
    }

    /// Reads a text, if it is such an expression; it then means what [`parse`](super::parse) reads.
    pub fn read(&mut self, text: &str, limits: &Limits) -> bool {
        // Nothing that is read here exceeds these.
        let is_limited = limits.nodes < 3 * MOST
            || limits.depth < 2 * MOST
            || limits.set < MOST
            || limits.name < LONGEST_NAME
            || limits.name_depth <= LONGEST_NAME;
        if is_limited || text.len() > limits.text {
            return false;
        }
        self.nodes.clear();
        self.values.clear();
        self.frames.clear();
        self.read_nodes(Cursor::at(text, 0)).is_some()
    }

    /// `None` if it is no such expression.
    fn read_nodes(&mut self, mut cursor: Cursor<'_>) -> Option<()> {
        loop {
            cursor.skip_blanks();
            while cursor.next() == Some(b'(') {
                cursor.skip_byte();
                cursor.skip_blanks();
                self.frames.push(Frame::Group);
                if self.frames.len() >= MOST {
                    return None;
                }
            }
            self.read_predicate(&mut cursor)?;
            if self.nodes.len() >= MOST {
                return None;
            }
            loop {
                cursor.skip_blanks();
                match cursor.next() {
                    None => {
                        self.close_disjunction();
                        return self.frames.is_empty().then_some(());
                    }
                    Some(b')') => {
                        cursor.skip_byte();
                        self.close_disjunction();
                        let Some(Frame::Group) = self.frames.pop() else { return None };
                    }
                    Some(b'a' | b'A') if cursor.take_connective(b"and") => {
                        let more = self.absorb_and();
                        match self.frames.last_mut() {
                            Some(Frame::And(count)) => *count += more,
                            _ => self.frames.push(Frame::And(more)),
                        }
                        break;
                    }
                    Some(b'o' | b'O') if cursor.take_connective(b"or") => {
                        self.close_conjunction();
                        let more = self.absorb_or();
                        match self.frames.last_mut() {
                            Some(Frame::Or(count)) => *count += more,
                            _ => self.frames.push(Frame::Or(more)),
                        }
                        break;
                    }
                    _ => return None,
                }
            }
        }
    }

    /// How many children the child completed last gives to an `and` above it.
    fn absorb_and(&mut self) -> u32 {
        match self.nodes.last() {
            Some(&FlatNode::And(count)) => {
                self.nodes.pop();
                count
            }
            _ => 1,
        }
    }

    fn absorb_or(&mut self) -> u32 {
        match self.nodes.last() {
            Some(&FlatNode::Or(count)) => {
                self.nodes.pop();
                count
            }
            _ => 1,
        }
    }

    fn close_conjunction(&mut self) {
        if let Some(&Frame::And(count)) = self.frames.last() {
            self.frames.pop();
            let count = count + self.absorb_and();
            self.nodes.push(FlatNode::And(count));
        }
    }

    /// Completes what is open since the last parenthesis.
    fn close_disjunction(&mut self) {
        self.close_conjunction();
        if let Some(&Frame::Or(count)) = self.frames.last() {
            self.frames.pop();
            let count = count + self.absorb_or();
            self.nodes.push(FlatNode::Or(count));
        }
    }

    fn read_predicate(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let length = name_length(cursor.rest());
        let name = &cursor.rest()[..length];
        if length == 0 || length >= LONGEST_NAME || means(name) {
            return None;
        }
        let name = shared(name);
        *cursor = cursor.behind(length);
        cursor.skip_blanks();
        let (operator, negated) = cursor.operator()?;
        let start = self.values.len();
        match operator {
            Operator::In => loop {
                cursor.skip_blanks();
                self.read_value(cursor)?;
                cursor.skip_blanks();
                let next = cursor.next()?;
                cursor.skip_byte();
                match next {
                    b',' if self.values.len() - start < MOST => {}
                    b')' => break,
                    _ => return None,
                }
            },
            Operator::Between => {
                self.read_value(cursor)?;
                cursor.skip_blanks();
                if !cursor.take_keyword(b"and") {
                    return None;
                }
                self.read_value(cursor)?;
            }
            _ => self.read_value(cursor)?,
        }
        let values = &mut self.values[start..];
        // Values of both kinds have an order only in sets, where others may stand between them.
        let integers = values.iter().filter(|value| matches!(value, FlatValue::Integer(_))).count();
        if integers > 0 && integers < values.len() {
            return None;
        }
        if operator == Operator::In && !values.is_sorted_by(|a, b| a < b) {
            values.sort_unstable();
            let mut last = start;
            for next in start + 1..self.values.len() {
                if self.values[next] != self.values[last] {
                    last += 1;
                    self.values[last] = self.values[next];
                }
            }
            self.values.truncate(last + 1);
        }
        let (start, end) = (start as u32, self.values.len() as u32);
        self.nodes.push(FlatNode::Predicate(FlatPredicate { name, operator, negated, start, end }));
        Some(())
    }

    /// Reads a value. What follows it belongs to something else, which the callers check.
    fn read_value(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        let value = match cursor.constant()? {
            PlainConstant::Text(text) => FlatValue::Text(ShortText::new(text)?),
            PlainConstant::Number(digits) => FlatValue::Integer(digits.parse().ok()?),
        };
        self.values.push(value);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::binary::{NameTableBuilder, encode, encode_flat};
    use crate::parse;

    /// Whether a text is read here; if so, it has the encoding of what the parser reads.
    fn is_flat(text: &str) -> bool {
        let limits = Limits::default();
        let mut flat = FlatExpression::default();
        if !flat.read(text, &limits) {
            return false;
        }
        let [mut names, mut other_names] = [NameTableBuilder::default(), NameTableBuilder::default()];
        let (mut bytes, mut other) = (Vec::new(), Vec::new());
        encode_flat(&flat, &mut names, &mut bytes);
        encode(&parse(text, &limits).expect(text), &mut other_names, &mut other);
        assert_eq!(bytes, other, "{text}");
        assert!(names.table().iter().eq(other_names.table().iter()), "{text}");
        true
    }

    #[test]
    fn flat_expressions_are_those_that_are_parsed() {
        let predicates = [
            "a = 'x'",
            "a='x'",
            "a.b_c != -12",
            "A1<>0",
            "a < 3",
            "a <= -0",
            "a>007",
            "a >= 'abc'",
            "a = ''",
            "a between 1 and 5",
            "a not between 'a' and 'b'",
            "a BETWEEN 5 and 5",
            "age = 3",
            "é = 'é'",
            "a in ('x')",
            "a in (3, 1, 2, 3)",
            "a IN('b','a' , 'ab', 'a', '')",
            "a not in (1)",
            "a NOT in ('x',\n'y')",
            "a in ('0123456789abcde', '0123456789abcd')",
            "a = 999999999999999999",
        ];
        for one in predicates {
            assert!(is_flat(one), "{one}");
            for shape in [
                "(1)",
                " ( (1) ) ",
                "1 and 1",
                "(1) AND\t(1)",
                "1 or 1 and b = 1 or b = 2",
                "(1 or b = 1) and 1",
                "1 and (b = 1 and (1 and c = 3)) or ((1 or d = 1) or 1)",
                "(1)and(1)or(1)",
                "((1 and 1) or (1 and b = 2)) and ((1 or c = 2 and 1))",
            ] {
                let text = shape.replace("b = 1", "b = 1 ").replace('1', "\u{0}");
                // Only a `1` that stands alone is a place for the predicate.
                let text = text.replace("= \u{0}", "= 1").replace('\u{0}', one);
                assert!(is_flat(&text), "{text}");
            }
        }
    }

    #[test]
    fn what_is_unusual_or_wrong_is_left_to_the_parser() {
        let many = vec!["a = 1"; MOST + 1].join(" and ");
        let long = format!("{} = 1", "a".repeat(LONGEST_NAME));
        let deep = format!("{}a = 1{}", "(".repeat(MOST), ")".repeat(MOST));
        let set = format!("a in ({})", vec!["1"; MOST + 1].join(","));
        for text in [
            "",
            " ",
            "a",
            "not a = 1",
            "a = 1 xor b = 1",
            "a = 1 && b = 1",
            "a = 1;",
            "a = 1 is true",
            "true",
            "a = 1 and",
            "and a = 1",
            "(a = 1",
            "a = 1)",
            "a = 1 or or b = 1",
            "a = 1 b = 1",
            "a = 1 andb = 1",
            "a = 1 /* */",
            "a = 1 -- x",
            "a = 1^2",
            "a in (1^2)",
            "a in (1) ^2",
            "a in ()",
            "a in (1,)",
            "a in (1, 'x')",
            "a between 1 and 'x'",
            "a = 1 + 2",
            "a = 1.5",
            "a = 1e3",
            "a = +1",
            "a = true",
            "a = b",
            "a = 'it''s'",
            "a = '0123456789abcdef'",
            "a like 'x'",
            "a is null",
            "exists(a)",
            "lower(a) = 'x'",
            "it = 1",
            "contains = 1",
            "\"a\" = 1",
            "a == 1",
            "a <=> 1",
            "a = 1000000000000000000",
            "any(a, b = 1)",
            "a = 'x",
            "a = 1 \u{a0}and b = 1",
            "(a) = 1",
            "(a = 1) = true",
            "date = 1",
            "null = 1",
            &many,
            &long,
            &deep,
            &set,
        ] {
            assert!(!is_flat(text), "{text}");
        }
        let mut flat = FlatExpression::default();
        assert!(!flat.read("a = 1", &Limits { text: 4, ..Limits::default() }));
        for limits in [
            Limits { nodes: 1, ..Limits::default() },
            Limits { depth: 1, ..Limits::default() },
            Limits { set: 1, ..Limits::default() },
            Limits { name: 1, ..Limits::default() },
            Limits { name_depth: 1, ..Limits::default() },
        ] {
            assert!(!flat.read("a = 1", &limits));
        }
    }

    #[test]
    fn short_texts_sort_as_their_texts_do() {
        let texts = ["", "\0", "\0\0", "a", "a\0", "aa", "ab", "b", "0123456789abcde", "0123456789abcd", "é"];
        for one in texts {
            let short = ShortText::new(one).unwrap();
            assert_eq!(&*short.to_text(), one);
            for other in texts {
                assert_eq!(short.cmp(&ShortText::new(other).unwrap()), one.cmp(other), "{one:?} {other:?}");
            }
        }
        assert_eq!(ShortText::new("0123456789abcdef"), None);
    }
}
