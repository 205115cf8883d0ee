//! What is the result of a function on one value per argument?
//!
//! Nothing fails: a function without a result has none.

use std::cmp::Ordering;

use super::context::Context;
use super::function::{Comparison, Function, Reading, Type};
use super::{number, time};
use crate::value::{Duration, Family, Value, ValueRef};

impl Function {
    /// The result on one value per argument; `None` if there is none.
    pub fn apply(self, arguments: &[ValueRef<'_>], context: &Context<'_>) -> Option<Value> {
        use ValueRef::{Integer, String};
        match (self, arguments) {
            (Function::Lower, [String(text)]) => Some(Value::String(lower(text).into())),
            (Function::Upper, [String(text)]) => Some(Value::String(upper(text).into())),
            (Function::Trim, [String(text)]) => Some(Value::String(text.trim().into())),
            (Function::Length, [String(text)]) => Some(Value::Integer(text.chars().count() as i64)),
            (Function::Substring, [String(text), Integer(from), Integer(count)]) => {
                substring(text, *from, *count).map(|part| Value::String(part.into()))
            }
            (Function::Concat, texts) => {
                let mut all = std::string::String::new();
                for text in texts {
                    let String(text) = text else { return None };
                    all.push_str(text);
                }
                Some(Value::String(all.into()))
            }
            (Function::Add | Function::Subtract | Function::Multiply, [left, right])
            | (Function::Divide | Function::Remainder, [left, right]) => {
                if left.family() == Family::Number && right.family() == Family::Number {
                    number::combine(self, *left, *right, context.floating)
                } else {
                    time::combine(self, *left, *right, context)
                }
            }
            (Function::Negate | Function::Abs, [ValueRef::Duration(span)]) => {
                let length = span.nanoseconds();
                let negative = self == Function::Negate || length < 0;
                Duration::from_nanoseconds(if negative { -length } else { length }).map(Value::Duration)
            }
            (Function::Negate | Function::Abs | Function::Round, [value])
            | (Function::Floor | Function::Ceil, [value]) => number::change(self, *value, context.floating),
            (Function::Year | Function::Month | Function::Day | Function::Hour, [value])
            | (Function::Minute | Function::Weekday | Function::Date, [value]) => {
                time::part(self, *value, context)
            }
            (Function::Now, []) => context.now.map(Value::Timestamp),
            (Function::Coalesce, [first, ..]) => Some(first.to_value()),
            (Function::Type, [value]) => Some(Value::String(value.type_name().into())),
            (Function::Size, [_]) => Some(Value::Integer(1)),
            (Function::Bucket, [value, Integer(buckets), salt @ ..]) => {
                let salt = match salt {
                    [String(salt)] => salt,
                    _ => "",
                };
                Some(Value::Integer(bucket(*value, *buckets, salt)))
            }
            (Function::Cast(to), [value]) => cast(*value, to, context),
            (Function::Compare(comparison), [left, right]) => {
                compare(comparison, *left, *right, context).map(Value::Boolean)
            }
            (Function::Read(reading), [value]) => {
                Some(time::read(*value, reading, context).unwrap_or(Value::Boolean(false)))
            }
            _ => None,
        }
    }
}

/// Lower case by Unicode's simple mapping, character by character.
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(simple_lower).collect()
}

fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    text.chars().map(simple_upper).collect()
}

impl Function {
    /// A text as `lower` or `upper` writes it; `None` for any other function. They keep what they have written: a text
    /// that this changes is part of none of their results.
    pub fn change_case(self, text: &str) -> Option<String> {
        match self {
            Function::Lower => Some(lower(text)),
            Function::Upper => Some(upper(text)),
            _ => None,
        }
    }
}

/// The one character that another is in lower case.
fn simple_lower(character: char) -> char {
    match character {
        // The only character whose full mapping has two; the simple one is plain `i`.
        '\u{130}' => 'i',
        other => other.to_lowercase().next().unwrap_or(other),
    }
}

/// The one character that another is in upper case; itself where only several would do.
fn simple_upper(character: char) -> char {
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(only), None) => only,
        _ => SIMPLE_UPPER
            .binary_search_by_key(&character, |(from, _)| *from)
            .map_or(character, |position| SIMPLE_UPPER[position].1),
    }
}

/// Characters whose full upper case has several characters, but whose simple one is another character.
const SIMPLE_UPPER: [(char, char); 27] = [
    ('\u{1f80}', '\u{1f88}'),
    ('\u{1f81}', '\u{1f89}'),
    ('\u{1f82}', '\u{1f8a}'),
    ('\u{1f83}', '\u{1f8b}'),
    ('\u{1f84}', '\u{1f8c}'),
    ('\u{1f85}', '\u{1f8d}'),
    ('\u{1f86}', '\u{1f8e}'),
    ('\u{1f87}', '\u{1f8f}'),
    ('\u{1f90}', '\u{1f98}'),
    ('\u{1f91}', '\u{1f99}'),
    ('\u{1f92}', '\u{1f9a}'),
    ('\u{1f93}', '\u{1f9b}'),
    ('\u{1f94}', '\u{1f9c}'),
    ('\u{1f95}', '\u{1f9d}'),
    ('\u{1f96}', '\u{1f9e}'),
    ('\u{1f97}', '\u{1f9f}'),
    ('\u{1fa0}', '\u{1fa8}'),
    ('\u{1fa1}', '\u{1fa9}'),
    ('\u{1fa2}', '\u{1faa}'),
    ('\u{1fa3}', '\u{1fab}'),
    ('\u{1fa4}', '\u{1fac}'),
    ('\u{1fa5}', '\u{1fad}'),
    ('\u{1fa6}', '\u{1fae}'),
    ('\u{1fa7}', '\u{1faf}'),
    ('\u{1fb3}', '\u{1fbc}'),
    ('\u{1fc3}', '\u{1fcc}'),
    ('\u{1ff3}', '\u{1ffc}'),
];

/// The characters at `count` positions from `from` on, counted from 1, as far as they exist.
fn substring(text: &str, from: i64, count: i64) -> Option<&str> {
    if count < 0 {
        return None;
    }
    let first = from.max(1);
    let behind = from.saturating_add(count);
    if behind <= first {
        return Some("");
    }
    let mut starts = text.char_indices().map(|(start, _)| start);
    let length = (behind - first) as usize;
    let Some(start) = usize::try_from(first - 1).ok().and_then(|skipped| starts.nth(skipped)) else {
        return Some("");
    };
    // `starts` is past the first character; the end is that of the last one taken.
    let end = starts.nth(length - 1).unwrap_or(text.len());
    Some(&text[start..end])
}

/// The bucket of a value, the same on every machine and in every version: XXH3-64 of the salt, a zero
/// byte and the value's canonical text, modulo the number of buckets.
fn bucket(value: ValueRef<'_>, buckets: i64, salt: &str) -> i64 {
    let mut bytes = Vec::with_capacity(salt.len() + 32);
    bytes.extend_from_slice(salt.as_bytes());
    bytes.push(0);
    bytes.extend_from_slice(text_of(value).as_bytes());
    (xxhash_rust::xxh3::xxh3_64(&bytes) % buckets as u64) as i64
}

/// The canonical text of a value, without quotes.
pub fn text_of(value: ValueRef<'_>) -> String {
    match (value, value.as_typed_constant()) {
        (ValueRef::String(text), _) => text.to_owned(),
        (_, Some((_, text))) => text,
        (other, None) => other.to_string(),
    }
}

fn cast(value: ValueRef<'_>, to: Type, context: &Context<'_>) -> Option<Value> {
    match (to, value) {
        (Type::String, value) => Some(Value::String(text_of(value).into())),
        (Type::Boolean, ValueRef::Boolean(value)) => Some(Value::Boolean(value)),
        (Type::Boolean, ValueRef::String(text)) => match text.trim() {
            text if text.eq_ignore_ascii_case("true") => Some(Value::Boolean(true)),
            text if text.eq_ignore_ascii_case("false") => Some(Value::Boolean(false)),
            _ => None,
        },
        (Type::Boolean, ValueRef::Integer(value @ (0 | 1))) => Some(Value::Boolean(value == 1)),
        (Type::Integer | Type::Decimal | Type::Float, value) => number::cast(value, to),
        (Type::Timestamp, value) => context.zone?.moment_of(value).map(Value::Timestamp),
        (Type::Date, value) => time::part(Function::Date, value, context),
        _ => None,
    }
}

/// Whether two values compare so; values that cannot be compared do not. A string is read as what it is
/// compared with.
fn compare(
    comparison: Comparison,
    left: ValueRef<'_>,
    right: ValueRef<'_>,
    context: &Context<'_>,
) -> Option<bool> {
    let reading = [left, right].into_iter().find_map(|value| Reading::for_value(value));
    if let Some(reading) = reading {
        context.zone?;
        let read = |value| time::read(value, reading, context);
        let (Some(left), Some(right)) = (read(left), read(right)) else { return Some(false) };
        return Some(compare_plainly(comparison, left.as_ref(), right.as_ref()));
    }
    Some(compare_plainly(comparison, left, right))
}

fn compare_plainly(comparison: Comparison, left: ValueRef<'_>, right: ValueRef<'_>) -> bool {
    let ordered = |holds: fn(Ordering) -> bool| left.order(right).is_some_and(holds);
    match (comparison, left, right) {
        (Comparison::Equal, ..) => left == right,
        (Comparison::Less, ..) => ordered(Ordering::is_lt),
        (Comparison::AtMost, ..) => ordered(Ordering::is_le),
        (Comparison::Greater, ..) => ordered(Ordering::is_gt),
        (Comparison::AtLeast, ..) => ordered(Ordering::is_ge),
        (Comparison::StartsWith, ValueRef::String(left), ValueRef::String(right)) => left.starts_with(right),
        (Comparison::EndsWith, ValueRef::String(left), ValueRef::String(right)) => left.ends_with(right),
        (Comparison::Contains, ValueRef::String(left), ValueRef::String(right)) => left.contains(right),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_mapped_character_by_character() {
        assert_eq!(lower("ÄÖÜ İ ΑΣ ẞ"), "äöü i ας ß".replace('ς', "σ"));
        assert_eq!(upper("straße ŉ ᾳ ﬁ"), "STRAßE ŉ ᾼ ﬁ");
        assert!(SIMPLE_UPPER.is_sorted());
    }

    #[test]
    fn changing_case_twice_changes_nothing() {
        for character in '\0'..=char::MAX {
            let (low, high) = (simple_lower(character), simple_upper(character));
            assert_eq!((simple_lower(low), simple_upper(high)), (low, high), "{character:?}");
        }
        assert_eq!(Function::Trim.change_case("a"), None);
    }

    #[test]
    fn substrings() {
        assert_eq!(substring("abc", 1, 2), Some("ab"));
        assert_eq!(substring("abc", 0, 2), Some("a"));
        assert_eq!(substring("abc", -5, 2), Some(""));
        assert_eq!(substring("abc", 2, 100), Some("bc"));
        assert_eq!(substring("äöü", 2, 1), Some("ö"));
        assert_eq!(substring("abc", 4, 1), Some(""));
        assert_eq!(substring("abc", 1, -1), None);
        assert_eq!(substring("abc", i64::MIN, i64::MAX), Some(""));
        assert_eq!(substring("abc", 1, 0), Some(""));
        assert_eq!(substring("abc", i64::MAX, i64::MAX), Some(""));
    }

    #[test]
    fn buckets_never_change() {
        assert_eq!(bucket(ValueRef::String("user-1"), 100, ""), 88);
        assert_eq!(bucket(ValueRef::Integer(42), 100, "salt"), 46);
    }
}
