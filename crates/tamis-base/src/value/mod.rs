//! What is a value, and when are two of them equal or ordered?
//!
//! Every value has one representation, so derived equality and hashing *are* the semantics: `1.0` is the
//! integer `1`, `version 'v2'` is `2.0.0`. `number` chooses the representation of a number, `time`, `address`
//! and `version` parse texts, `zone` converts local times to moments, and `constant` prints
//! values. This module knows nothing of attributes.

mod address;
mod constant;
mod number;
mod time;
mod version;
mod zone;

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

pub use address::{Address, Network};
pub use constant::{CONSTANT_KEYWORDS, ConstantType};
pub use number::{Decimal, Float, read_number};
pub use time::{Civil, Date, Duration, LocalTime, Timestamp, Written, read_interval};
pub use version::read_version;
pub use zone::TimeZone;

/// How messages say what a time may be written as.
pub const TIME_FORM: &str = "write it as `2026-12-31` or `2026-12-31T08:00Z`";

/// A value with borrowed text: what an event holds and what a predicate tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueRef<'a> {
    /// `true` or `false`; equality, no order.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A number that is not a 64-bit integer but the shortest decimal of a float.
    Float(Float),
    /// Any other number.
    Decimal(Decimal),
    /// Text, ordered by its UTF-8 bytes.
    String(&'a str),
    /// A moment.
    Timestamp(Timestamp),
    /// A day.
    Date(Date),
    /// A span of time.
    Duration(Duration),
    /// An address.
    Address(Address),
    /// The canonical text of a version.
    Version(&'a str),
    /// All addresses of a network; only in the sets of expressions.
    Network(Network),
    /// A time without an offset; only in expressions, until the time zone is known.
    Local(LocalTime),
}

/// A value that owns its text: the operand of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// `true` or `false`; equality, no order.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A number that is not a 64-bit integer but the shortest decimal of a float.
    Float(Float),
    /// Any other number.
    Decimal(Decimal),
    /// Text, ordered by its UTF-8 bytes.
    String(Arc<str>),
    /// A moment.
    Timestamp(Timestamp),
    /// A day.
    Date(Date),
    /// A span of time.
    Duration(Duration),
    /// An address.
    Address(Address),
    /// The canonical text of a version.
    Version(Arc<str>),
    /// All addresses of a network; only in the sets of expressions.
    Network(Network),
    /// A time without an offset; only in expressions, until the time zone is known.
    Local(LocalTime),
}

/// The values that can be ordered against each other, in the order of all values. Numbers are one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Family {
    Boolean,
    Number,
    String,
    Timestamp,
    Date,
    Duration,
    Address,
    Version,
    Network,
    Local,
}

impl Family {
    /// The families after strings that ranges can use.
    pub const TYPED: [Family; 5] =
        [Family::Timestamp, Family::Date, Family::Duration, Family::Address, Family::Version];

    /// The families after numbers that ranges can use.
    pub const RANGED: [Family; 6] =
        [Family::String, Family::Timestamp, Family::Date, Family::Duration, Family::Address, Family::Version];

    /// The lowest value of a family after the numbers.
    pub fn first(self) -> Value {
        match self {
            Family::Timestamp => Value::Timestamp(Timestamp::FIRST),
            Family::Date => Value::Date(Date::FIRST),
            Family::Duration => Value::Duration(Duration::FIRST),
            Family::Address => Value::Address(Address::FIRST),
            Family::Version => Value::Version(version::FIRST.into()),
            _ => Value::from(""),
        }
    }

    /// Whether values of this family denote times once the time zone is known.
    #[inline]
    pub fn is_time(self) -> bool {
        matches!(self, Family::Timestamp | Family::Date | Family::Local)
    }
}

impl<'a> ValueRef<'a> {
    /// The order of two values of one type; `None` for values of different types, for booleans and for networks.
    #[inline]
    pub fn order(self, other: ValueRef<'_>) -> Option<Ordering> {
        let family = self.family();
        let ordered = family == other.family() && !matches!(family, Family::Boolean | Family::Network);
        ordered.then(|| self.canonical_order(other))
    }

    /// A total order of all values by family, which agrees with [`ValueRef::order`] where that is defined. Sets are
    /// sorted by it.
    #[inline]
    pub fn canonical_order(self, other: ValueRef<'_>) -> Ordering {
        use ValueRef::{
            Address, Boolean, Date, Duration, Integer, Local, Network, String, Timestamp, Version,
        };
        match (self, other) {
            (Integer(a), Integer(b)) => a.cmp(&b),
            (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Timestamp(a), Timestamp(b)) => a.cmp(&b),
            (Boolean(a), Boolean(b)) => a.cmp(&b),
            (Date(a), Date(b)) => a.cmp(&b),
            (Duration(a), Duration(b)) => a.cmp(&b),
            (Address(a), Address(b)) => a.cmp(&b),
            (Version(a), Version(b)) => version::order(a, b),
            (Network(a), Network(b)) => a.cmp(&b),
            (Local(a), Local(b)) => a.cmp(&b),
            _ => match (self.family(), other.family()) {
                (Family::Number, Family::Number) => number::order(self, other),
                (mine, theirs) => mine.cmp(&theirs),
            },
        }
    }

    /// The values against which it can be ordered.
    #[inline]
    pub fn family(self) -> Family {
        match self {
            ValueRef::Boolean(_) => Family::Boolean,
            ValueRef::Integer(_) | ValueRef::Float(_) | ValueRef::Decimal(_) => Family::Number,
            ValueRef::String(_) => Family::String,
            ValueRef::Timestamp(_) => Family::Timestamp,
            ValueRef::Date(_) => Family::Date,
            ValueRef::Duration(_) => Family::Duration,
            ValueRef::Address(_) => Family::Address,
            ValueRef::Version(_) => Family::Version,
            ValueRef::Network(_) => Family::Network,
            ValueRef::Local(_) => Family::Local,
        }
    }

    /// The name of the type of this value in messages.
    pub fn type_name(self) -> &'static str {
        match self.family() {
            Family::Boolean => "boolean",
            Family::Number => "number",
            Family::String => "string",
            Family::Timestamp | Family::Local => "timestamp",
            Family::Date => "date",
            Family::Duration => "interval",
            Family::Address => "address",
            Family::Version => "version",
            Family::Network => "network",
        }
    }

    /// A copy that owns its text.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Boolean(value) => Value::Boolean(value),
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::Decimal(value) => Value::Decimal(value),
            ValueRef::String(text) => Value::String(text.into()),
            ValueRef::Timestamp(value) => Value::Timestamp(value),
            ValueRef::Date(value) => Value::Date(value),
            ValueRef::Duration(value) => Value::Duration(value),
            ValueRef::Address(value) => Value::Address(value),
            ValueRef::Version(text) => Value::Version(text.into()),
            ValueRef::Network(value) => Value::Network(value),
            ValueRef::Local(value) => Value::Local(value),
        }
    }
}

impl Value {
    /// The number that a float represents; `None` for NaN, which is not a value.
    pub fn number(number: f64) -> Option<Value> {
        ValueRef::number(number).map(ValueRef::to_value)
    }

    /// This value with its text borrowed.
    #[inline]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Boolean(value) => ValueRef::Boolean(*value),
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Float(value) => ValueRef::Float(*value),
            Value::Decimal(value) => ValueRef::Decimal(*value),
            Value::String(text) => ValueRef::String(text),
            Value::Timestamp(value) => ValueRef::Timestamp(*value),
            Value::Date(value) => ValueRef::Date(*value),
            Value::Duration(value) => ValueRef::Duration(*value),
            Value::Address(value) => ValueRef::Address(*value),
            Value::Version(text) => ValueRef::Version(text),
            Value::Network(value) => ValueRef::Network(*value),
            Value::Local(value) => ValueRef::Local(*value),
        }
    }

    /// The values against which it can be ordered.
    #[inline]
    pub fn family(&self) -> Family {
        self.as_ref().family()
    }
}

impl PartialOrd for Value {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().canonical_order(other.as_ref())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::String(text.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<bool> for Value {
    fn from(boolean: bool) -> Self {
        Value::Boolean(boolean)
    }
}

/// Writes `text` between quotes, doubling those inside.
#[doc(hidden)]
pub fn write_quoted(f: &mut impl fmt::Write, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for (position, part) in text.split(quote).enumerate() {
        if position > 0 {
            f.write_char(quote)?;
            f.write_char(quote)?;
        }
        f.write_str(part)?;
    }
    f.write_char(quote)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_small() {
        assert_eq!(size_of::<ValueRef<'_>>(), 24);
        assert_eq!(size_of::<Value>(), 24);
    }

    #[test]
    fn types_do_not_mix() {
        assert_eq!(ValueRef::Boolean(true).order(ValueRef::Boolean(false)), None);
        assert_eq!(ValueRef::String("1").order(ValueRef::Integer(1)), None);
        assert_ne!(ValueRef::Boolean(true), ValueRef::Integer(1));
        let firsts: Vec<Value> = Family::TYPED.map(Family::first).into();
        assert!(firsts.is_sorted_by(|a, b| a < b && a.as_ref().order(b.as_ref()).is_none()));
    }

    #[test]
    fn literals_print() {
        assert_eq!(Value::from("it's").to_string(), "'it''s'");
        assert_eq!(Value::number(1e300).unwrap().to_string(), "1e300");
        assert_eq!(Value::number(0.1).unwrap().to_string(), "0.1");
    }
}
