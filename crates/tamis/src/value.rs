//! What is a value, and when are two of them equal or ordered?
//!
//! Values have one representation each, so that derived equality and hashing *are* the semantics:
//! a float with an integral value within 64 bits is stored as that integer (`1.0` is `1`), and what
//! remains a [`Float`] is finite and no 64-bit integer. This module knows nothing of attributes.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A finite number that is not a 64-bit integer: a fraction, or a magnitude of 2^63 and more.
#[derive(Debug, Clone, Copy)]
pub struct Float(f64);

impl Float {
    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl PartialEq for Float {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Float {}

impl std::hash::Hash for Float {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A value with borrowed text: what an event holds and what a predicate tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueRef<'a> {
    /// `true` or `false`; equality, no order.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A number that is no 64-bit integer.
    Float(Float),
    /// Text, ordered by its UTF-8 bytes.
    String(&'a str),
}

/// A value that owns its text: the operand of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// `true` or `false`; equality, no order.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// A number that is no 64-bit integer.
    Float(Float),
    /// Text, ordered by its UTF-8 bytes.
    String(Arc<str>),
}

impl<'a> ValueRef<'a> {
    /// The canonical value of a float; `None` for NaN and the infinities, which no value holds.
    pub fn number(number: f64) -> Option<ValueRef<'a>> {
        // -2^63 and 2^63 are exact as floats, and every integral float between them is an i64.
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        if !number.is_finite() {
            None
        } else if number.trunc() == number && (-LIMIT..LIMIT).contains(&number) {
            Some(ValueRef::Integer(number as i64))
        } else {
            Some(ValueRef::Float(Float(number)))
        }
    }

    /// How two values of one type are ordered: `None` for values of two types and for booleans.
    pub fn order(self, other: ValueRef<'_>) -> Option<Ordering> {
        match (self, other) {
            (ValueRef::Boolean(_), _) | (_, ValueRef::Boolean(_)) => None,
            (ValueRef::String(_), ValueRef::String(_)) => Some(self.canonical_order(other)),
            (ValueRef::String(_), _) | (_, ValueRef::String(_)) => None,
            _ => Some(self.canonical_order(other)),
        }
    }

    /// A total order over all values (booleans, numbers, strings), which agrees with
    /// [`ValueRef::order`] where that is defined. Sets are kept in it.
    pub fn canonical_order(self, other: ValueRef<'_>) -> Ordering {
        use ValueRef::{Boolean, Float as Real, Integer, String};
        match (self, other) {
            (Boolean(a), Boolean(b)) => a.cmp(&b),
            (Integer(a), Integer(b)) => a.cmp(&b),
            (Real(a), Real(b)) => a.0.total_cmp(&b.0),
            (Integer(a), Real(b)) => integer_against_float(a, b.0),
            (Real(a), Integer(b)) => integer_against_float(b, a.0).reverse(),
            (String(a), String(b)) => a.as_bytes().cmp(b.as_bytes()),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(self) -> u8 {
        match self {
            ValueRef::Boolean(_) => 0,
            ValueRef::Integer(_) | ValueRef::Float(_) => 1,
            ValueRef::String(_) => 2,
        }
    }

    /// The word for the type of this value in messages.
    pub fn type_name(self) -> &'static str {
        match self {
            ValueRef::Boolean(_) => "boolean",
            ValueRef::Integer(_) | ValueRef::Float(_) => "number",
            ValueRef::String(_) => "string",
        }
    }

    /// A copy that owns its text.
    pub fn to_value(self) -> Value {
        match self {
            ValueRef::Boolean(value) => Value::Boolean(value),
            ValueRef::Integer(value) => Value::Integer(value),
            ValueRef::Float(value) => Value::Float(value),
            ValueRef::String(text) => Value::String(text.into()),
        }
    }
}

/// Exact comparison: converting either side to the other's type could round.
fn integer_against_float(integer: i64, float: f64) -> Ordering {
    // A `Float` beyond the integers is decided by its sign; any other has an exact integral part,
    // and is never equal to an integer.
    let floor = float.floor();
    if floor >= 9_223_372_036_854_775_808.0 {
        Ordering::Less
    } else if floor < -9_223_372_036_854_775_808.0 {
        Ordering::Greater
    } else if integer <= floor as i64 {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

impl Value {
    /// The canonical value of a float; `None` for NaN and the infinities, which no value holds.
    pub fn number(number: f64) -> Option<Value> {
        ValueRef::number(number).map(ValueRef::to_value)
    }

    /// This value with its text borrowed.
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Value::Boolean(value) => ValueRef::Boolean(*value),
            Value::Integer(value) => ValueRef::Integer(*value),
            Value::Float(value) => ValueRef::Float(*value),
            Value::String(text) => ValueRef::String(text),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
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

/// Prints the literal of the expression language.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueRef::Boolean(value) => write!(f, "{value}"),
            ValueRef::Integer(value) => write!(f, "{value}"),
            // Debug prints the shortest digits that read back as the same number, with an exponent.
            ValueRef::Float(value) => write!(f, "{:?}", value.0),
            ValueRef::String(text) => write_quoted(f, text, '\''),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

/// Writes `text` between quotes, doubling those inside.
pub(crate) fn write_quoted(f: &mut impl fmt::Write, text: &str, quote: char) -> fmt::Result {
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
    fn integral_floats_are_integers() {
        assert_eq!(Value::number(1.0), Some(Value::Integer(1)));
        assert_eq!(Value::number(-0.0), Some(Value::Integer(0)));
        assert_eq!(Value::number(-9_223_372_036_854_775_808.0), Some(Value::Integer(i64::MIN)));
        assert!(matches!(Value::number(9_223_372_036_854_775_808.0), Some(Value::Float(_))));
        assert_eq!(Value::number(f64::NAN), None);
        assert_eq!(Value::number(f64::INFINITY), None);
    }

    #[test]
    fn numbers_compare_exactly() {
        let value = |number: f64| ValueRef::number(number).unwrap();
        let big = 1i64 << 53;
        assert_ne!(ValueRef::Integer(big + 1), value(big as f64));
        assert_eq!(ValueRef::Integer(i64::MAX).order(value(9.3e18)), Some(Ordering::Less));
        assert_eq!(ValueRef::Integer(i64::MIN).order(value(-9.3e18)), Some(Ordering::Greater));
        assert_eq!(ValueRef::Integer(2).order(value(2.5)), Some(Ordering::Less));
        assert_eq!(ValueRef::Integer(3).order(value(2.5)), Some(Ordering::Greater));
        assert_eq!(ValueRef::Integer(-3).order(value(-2.5)), Some(Ordering::Less));
        assert_eq!(ValueRef::Integer(-2).order(value(-2.5)), Some(Ordering::Greater));
        assert_eq!(value(0.5).order(value(0.25)), Some(Ordering::Greater));
    }

    #[test]
    fn types_do_not_mix() {
        assert_eq!(ValueRef::Boolean(true).order(ValueRef::Boolean(false)), None);
        assert_eq!(ValueRef::String("1").order(ValueRef::Integer(1)), None);
        assert_ne!(ValueRef::Boolean(true), ValueRef::Integer(1));
    }

    #[test]
    fn literals_print() {
        assert_eq!(Value::from("it's").to_string(), "'it''s'");
        assert_eq!(Value::number(1e300).unwrap().to_string(), "1e300");
        assert_eq!(Value::number(0.1).unwrap().to_string(), "0.1");
    }
}
