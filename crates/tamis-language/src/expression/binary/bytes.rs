//! How are numbers, texts and values written as bytes, and read again?
//!
//! Every value has exactly one encoding, and reading refuses all others: variable-length integers have no
//! leading zeros, and a value that has a short form must use it.

use std::sync::Arc;

use crate::expression::recent::shared;
use crate::value::{
    Address, Date, Duration, Float, LocalTime, Network, Timestamp, Value, ValueRef, read_version,
};

// The first byte of a value.
const FALSE: u8 = 0;
const TRUE: u8 = 1;
/// A signed integer follows.
const INTEGER: u8 = 2;
/// A signed integer follows, and the power of ten that it is divided by.
const FRACTION: u8 = 3;
/// The 8 bytes of a float follow.
const FLOAT: u8 = 4;
/// The 16 bytes of a coefficient follow, and a signed exponent.
const DECIMAL: u8 = 5;
/// A text of at least [`SHORT_TEXTS`] bytes follows.
const TEXT: u8 = 6;
/// Signed seconds follow, and nanoseconds.
const TIMESTAMP: u8 = 7;
/// Signed days follow.
const DATE: u8 = 8;
const DURATION: u8 = 9;
/// The bytes of an address follow, behind their number.
const ADDRESS: u8 = 10;
/// The canonical text follows.
const VERSION: u8 = 11;
const NETWORK: u8 = 12;
const LOCAL: u8 = 13;
/// Texts of fewer bytes have the length in the first byte.
const SHORT: u8 = 16;
const SHORT_TEXTS: usize = 64;
/// Integers from 0 to 175 are the first byte.
const SMALL: u8 = SHORT + SHORT_TEXTS as u8;
const SMALL_INTEGERS: i64 = 256 - SMALL as i64;

/// The largest power of ten that a fraction is divided by.
const MOST_PLACES: u8 = 6;
/// Numerators are below this, so that no two fractions are one float.
const NUMERATORS: f64 = 1e15;

/// Appends an integer, seven bits per byte, the lowest first.
pub(super) fn write_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn write_signed(number: i64, bytes: &mut Vec<u8>) {
    write_number(((number << 1) ^ (number >> 63)) as u64, bytes);
}

/// Appends a text behind its length.
pub(super) fn write_text(text: &str, bytes: &mut Vec<u8>) {
    write_number(text.len() as u64, bytes);
    bytes.extend_from_slice(text.as_bytes());
}

/// Appends a value that is a text of fewer bytes than [`SHORT_TEXTS`].
pub(super) fn write_short_text(text: &[u8], bytes: &mut Vec<u8>) {
    bytes.push(SHORT + text.len() as u8);
    bytes.extend_from_slice(text);
}

pub(super) fn write_value(value: ValueRef<'_>, bytes: &mut Vec<u8>) {
    match value {
        ValueRef::Boolean(value) => bytes.push(if value { TRUE } else { FALSE }),
        ValueRef::Integer(number @ 0..SMALL_INTEGERS) => bytes.push(SMALL + number as u8),
        ValueRef::Integer(number) => {
            bytes.push(INTEGER);
            write_signed(number, bytes);
        }
        ValueRef::Float(float) => match fraction(float.get()) {
            Some((numerator, places)) => {
                bytes.push(FRACTION);
                write_signed(numerator, bytes);
                bytes.push(places);
            }
            None => {
                bytes.push(FLOAT);
                bytes.extend_from_slice(&float.get().to_bits().to_le_bytes());
            }
        },
        ValueRef::Decimal(decimal) => {
            let (coefficient, exponent) = decimal.parts();
            bytes.push(DECIMAL);
            bytes.extend_from_slice(&coefficient.to_le_bytes());
            write_signed(exponent.into(), bytes);
        }
        ValueRef::String(text) if text.len() < SHORT_TEXTS => write_short_text(text.as_bytes(), bytes),
        ValueRef::String(text) => {
            bytes.push(TEXT);
            write_text(text, bytes);
        }
        ValueRef::Timestamp(time) => write_seconds(TIMESTAMP, time.parts(), bytes),
        ValueRef::Duration(span) => write_seconds(DURATION, span.parts(), bytes),
        ValueRef::Local(time) => write_seconds(LOCAL, time.parts(), bytes),
        ValueRef::Date(date) => {
            bytes.push(DATE);
            write_signed(date.days().into(), bytes);
        }
        ValueRef::Address(address) => {
            bytes.extend([ADDRESS, address.bytes().len() as u8]);
            bytes.extend_from_slice(address.bytes());
        }
        ValueRef::Version(text) => {
            bytes.push(VERSION);
            write_text(text, bytes);
        }
        ValueRef::Network(network) => {
            bytes.push(NETWORK);
            write_text(&network.to_string(), bytes);
        }
    }
}

fn write_seconds(tag: u8, (seconds, nanoseconds): (i64, u32), bytes: &mut Vec<u8>) {
    bytes.push(tag);
    write_signed(seconds, bytes);
    write_number(nanoseconds.into(), bytes);
}

/// A float as an integer divided by the smallest power of ten that gives it, if there is one.
fn fraction(float: f64) -> Option<(i64, u8)> {
    let mut power = 1.0;
    for places in 1..=MOST_PLACES {
        power *= 10.0;
        let numerator = (float * power).round();
        // Neither holds for an infinity.
        if numerator.abs() < NUMERATORS && numerator / power == float {
            return Some((numerator as i64, places));
        }
    }
    None
}

/// Bytes that are being read.
pub(super) struct Bytes<'a>(pub &'a [u8]);

impl<'a> Bytes<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 { Some(first.into()) } else { self.long_number(first) }
    }

    fn long_number(&mut self, first: u8) -> Option<u64> {
        let mut number = u64::from(first & 0x7f);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            number |= bits << shift;
            if byte < 0x80 {
                // Neither a leading zero, nor more than 64 bits.
                return (byte != 0 && bits << shift >> shift == bits).then_some(number);
            }
        }
        None
    }

    fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// A text behind its length.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?.try_into().ok()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub fn shared_text(&mut self) -> Option<Arc<str>> {
        self.text().map(Arc::from)
    }

    pub fn value(&mut self) -> Option<Value> {
        let value = match self.byte()? {
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            small @ SMALL.. => ValueRef::Integer((small - SMALL).into()),
            short @ SHORT..SMALL => {
                ValueRef::String(std::str::from_utf8(self.take((short - SHORT).into())?).ok()?)
            }
            INTEGER => {
                let number = self.signed()?;
                (!(0..SMALL_INTEGERS).contains(&number)).then_some(ValueRef::Integer(number))?
            }
            FRACTION => {
                let numerator = self.signed()?;
                let places = self.byte().filter(|places| (1..=MOST_PLACES).contains(places))?;
                let float = numerator as f64 / 10f64.powi(places.into());
                (fraction(float) == Some((numerator, places))).then_some(canonical(float)?)?
            }
            FLOAT => {
                let float = f64::from_bits(u64::from_le_bytes(self.take(8)?.try_into().ok()?));
                fraction(float).is_none().then_some(canonical(float)?)?
            }
            DECIMAL => {
                let coefficient = i128::from_le_bytes(self.take(16)?.try_into().ok()?);
                let exponent = i32::try_from(self.signed()?).ok()?;
                match ValueRef::decimal(coefficient, exponent)? {
                    value @ ValueRef::Decimal(decimal) if decimal.parts() == (coefficient, exponent) => value,
                    _ => return None,
                }
            }
            TEXT => self.text().filter(|text| text.len() >= SHORT_TEXTS).map(ValueRef::String)?,
            TIMESTAMP => {
                let (seconds, nanoseconds) = self.seconds()?;
                ValueRef::Timestamp(Timestamp::new(seconds, nanoseconds)?)
            }
            DURATION => {
                let (seconds, nanoseconds) = self.seconds()?;
                ValueRef::Duration(Duration::new(seconds, nanoseconds)?)
            }
            LOCAL => {
                let (seconds, nanoseconds) = self.seconds()?;
                ValueRef::Local(LocalTime::new(seconds, nanoseconds)?)
            }
            DATE => ValueRef::Date(Date::from_days(self.signed()?)?),
            ADDRESS => {
                let length = self.byte()?;
                let bytes = self.take(length.into())?;
                Address::from_bytes(bytes).filter(|read| read.bytes() == bytes).map(ValueRef::Address)?
            }
            VERSION => {
                let text = self.text()?;
                (read_version(text)? == text).then_some(ValueRef::Version(text))?
            }
            NETWORK => {
                let text = self.text()?;
                let network = Network::read(text).ok()?;
                (network.to_string() == text).then_some(ValueRef::Network(network))?
            }
            _ => return None,
        };
        Some(match value {
            ValueRef::String(text) => Value::String(shared(text)),
            other => other.to_value(),
        })
    }

    /// Seconds, and nanoseconds below a whole second.
    fn seconds(&mut self) -> Option<(i64, i64)> {
        let seconds = self.signed()?;
        let nanoseconds = self.number().filter(|&nanoseconds| nanoseconds < 1_000_000_000)?;
        Some((seconds, nanoseconds as i64))
    }

    /// A weight, written as the number that it is.
    pub fn weight(&mut self) -> Option<f64> {
        let number = self.value()?;
        let weight = match number {
            Value::Integer(integer) => integer as f64,
            Value::Float(float) => float.get(),
            _ => return None,
        };
        (Value::number(weight)? == number).then_some(weight)
    }
}

/// The float as a value, if that is what it is.
fn canonical<'a>(float: f64) -> Option<ValueRef<'a>> {
    ValueRef::number(float).filter(|value| matches!(value, ValueRef::Float(kept) if same(*kept, float)))
}

fn same(kept: Float, float: f64) -> bool {
    kept.get().to_bits() == float.to_bits()
}

/// Appends a weight, which is finite and not negative.
pub(super) fn write_weight(weight: f64, bytes: &mut Vec<u8>) {
    write_value(ValueRef::number(weight).unwrap_or(ValueRef::Integer(0)), bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_value(value.as_ref(), &mut bytes);
        bytes
    }

    #[test]
    fn values_are_written_in_few_bytes_and_read_again() {
        let number = |number: f64| Value::number(number).unwrap();
        let typed = |keyword: &str, text: &str| {
            crate::value::ConstantType::from_keyword(keyword).unwrap().read(text).unwrap()
        };
        let long = "x".repeat(64);
        for (value, length) in [
            (Value::Integer(0), 1),
            (Value::Integer(175), 1),
            (Value::Integer(176), 3),
            (Value::Integer(-1), 2),
            (Value::Integer(i64::MIN), 11),
            (Value::Integer(i64::MAX), 11),
            (number(0.5), 3),
            (number(-12.25), 4),
            (number(0.000001), 3),
            (number(0.0000015), 9),
            (number(123_456_789.5), 7),
            (number(1e300), 9),
            (number(f64::INFINITY), 9),
            (number(f64::MIN_POSITIVE), 9),
            ("".into(), 1),
            (long[1..].into(), 64),
            (long.as_str().into(), 66),
            (typed("date", "2026-01-02"), 4),
            (typed("ip", "10.0.0.1"), 6),
            (typed("cidr", "10.0.0.0/8"), 12),
            (typed("version", "v2"), 7),
        ] {
            let bytes = written(&value);
            assert_eq!(bytes.len(), length, "{value}");
            let mut reader = Bytes(&bytes);
            assert_eq!(reader.value(), Some(value));
            assert!(reader.is_empty());
            // Nothing shorter is a value, and no other byte in the place of the last is the same value.
            assert_eq!(Bytes(&bytes[..length - 1]).value(), None);
        }
    }

    #[test]
    fn what_is_not_canonical_is_refused() {
        for bytes in [
            &[INTEGER, 0][..],
            &[INTEGER, 0x82, 0x00],
            &[INTEGER, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03],
            // 1.0, 0.50 and 0.0
            &[FRACTION, 20, 1],
            &[FRACTION, 100, 2],
            &[FRACTION, 0, 1],
            &[FRACTION, 10, 7],
            &[TEXT, 1, b'a'],
            &[SHORT + 1, 0xff],
            &[ADDRESS, 5, 1, 2, 3, 4, 5],
            &[VERSION, 2, b'v', b'2'],
            &[NETWORK, 3, b'1', b'/', b'2'],
            &[14],
            &[15],
        ] {
            assert_eq!(Bytes(bytes).value(), None, "{bytes:?}");
        }
        for float in [0.5f64, 2.0, -0.0, f64::NAN, 9e15] {
            let bytes = [&[FLOAT][..], &float.to_bits().to_le_bytes()].concat();
            assert_eq!(Bytes(&bytes).value(), None, "{float}");
        }
        for (coefficient, exponent) in [(5i128, -1i64), (10, -400), (7, 0), (0, 0)] {
            let mut bytes = [&[DECIMAL][..], &coefficient.to_le_bytes()].concat();
            write_signed(exponent, &mut bytes);
            assert_eq!(Bytes(&bytes).value(), None, "{coefficient}e{exponent}");
        }
    }

    #[test]
    fn weights_are_numbers() {
        for weight in [0.0, 0.5, 2.0, 1e20, 0.1, 1e-300] {
            let mut bytes = Vec::new();
            write_weight(weight, &mut bytes);
            assert_eq!(Bytes(&bytes).weight(), Some(weight));
        }
        assert_eq!(Bytes(&[SHORT]).weight(), None);
        // An integer that no float is.
        assert_eq!(Bytes(&written(&Value::Integer((1 << 53) + 1))).weight(), None);
    }
}
