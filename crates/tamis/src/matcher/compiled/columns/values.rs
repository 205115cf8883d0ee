//! How are many values kept in columns?

use std::cmp::Ordering;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::column::Column;
use crate::error;
use crate::probing::mix;
use crate::sections::{SectionReader, Sections};
use crate::value::{Address, Date, Decimal, Duration, Family, Float, Timestamp, Value, ValueRef};

const FALSE: u32 = 0;
const TRUE: u32 = 1;
const INTEGER: u32 = 2;
const FLOAT: u32 = 3;
/// A text stored elsewhere, preceded by its length.
const LONG: u32 = 4;
/// A text short enough for the pair itself, plus its length, up to eight bytes.
const SHORT: u32 = 5;
const LONGEST_SHORT: u32 = SHORT + 8;
/// A timestamp or a duration of whole microseconds.
const TIMESTAMP: u32 = 14;
const DURATION: u32 = 15;
const DATE: u32 = 16;
/// Kinds whose bytes are stored elsewhere, like those of a long text.
const FINE_TIMESTAMP: u32 = 17;
const FINE_DURATION: u32 = 18;
const DECIMAL: u32 = 19;
const ADDRESS: u32 = 20;
const VERSION: u32 = 21;

/// The low bits of a pair's label, which hold the type of its value.
const TYPE: u32 = 31;

/// An attribute and its value, except for long texts.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::matcher::compiled) struct StoredPair {
    /// The number's bits, the short text, or where the long text is stored.
    payload: u64,
    /// The attribute, and in the lower bits the type of the value.
    label: u32,
    /// For the owner of the pair.
    pub note: u32,
}

impl StoredPair {
    /// The pair of a value whose text, if it is long, is stored at `start`.
    pub fn new(attribute: u32, value: ValueRef<'_>, start: usize) -> StoredPair {
        let (tag, payload) = match value {
            ValueRef::Boolean(value) => (u32::from(value), 0),
            ValueRef::Integer(value) => (INTEGER, value as u64),
            ValueRef::Float(value) => (FLOAT, value.get().to_bits()),
            ValueRef::String(text) => match short(text.as_bytes()) {
                Some(bytes) => (SHORT + text.len() as u32, bytes),
                None => (LONG, start as u64),
            },
            ValueRef::Timestamp(value) => match microseconds(value.parts()) {
                Some(whole) => (TIMESTAMP, whole),
                None => (FINE_TIMESTAMP, start as u64),
            },
            ValueRef::Duration(value) => match microseconds(value.parts()) {
                Some(whole) => (DURATION, whole),
                None => (FINE_DURATION, start as u64),
            },
            ValueRef::Date(value) => (DATE, i64::from(value.days()) as u64),
            ValueRef::Decimal(_) => (DECIMAL, start as u64),
            ValueRef::Address(_) => (ADDRESS, start as u64),
            ValueRef::Version(_) => (VERSION, start as u64),
            ValueRef::Local(_) | ValueRef::Network(_) => unreachable!("expressions are resolved"),
        };
        StoredPair { payload, label: attribute << TYPE.count_ones() | tag, note: 0 }
    }

    /// The attribute whose value it is.
    pub fn attribute(self) -> u32 {
        self.label >> TYPE.count_ones()
    }

    /// Whether its type is known and, if its bytes are stored elsewhere, whether they are those of a value.
    pub fn is_whole(self, texts: &[u8]) -> bool {
        match self.type_tag() {
            ..LONG | SHORT..=DATE => true,
            tag @ (LONG..=VERSION) => usize::try_from(self.payload)
                .ok()
                .and_then(|start| texts.get(start..)?.split_first_chunk())
                .and_then(|(length, rest)| rest.get(..u32::from_le_bytes(*length) as usize))
                .is_some_and(|bytes| tag == LONG || wide(tag, bytes).is_some()),
            _ => false,
        }
    }

    fn type_tag(self) -> u32 {
        self.label & TYPE
    }

    /// Whether its bytes are stored elsewhere.
    #[inline]
    fn is_wide(self) -> bool {
        matches!(self.type_tag(), LONG | FINE_TIMESTAMP..)
    }

    /// The bytes of its value, if they are stored elsewhere.
    #[inline]
    pub fn text_of<'a>(self, value: ValueRef<'a>, buffer: &'a mut Buffer) -> &'a [u8] {
        if self.is_wide() { text_of(value, buffer) } else { &[] }
    }

    /// The first of the bytes stored elsewhere.
    #[inline]
    pub fn first_byte(self, texts: &[u8]) -> Option<u8> {
        if self.is_wide() { texts.get(self.payload as usize).copied() } else { None }
    }

    /// A hash of all of it under a seed; of a long text, the text itself instead of its position.
    pub fn hash(self, text: &[u8], seed: u64) -> u64 {
        let label = mix(u64::from(self.label) ^ seed, 0xd6e8_feb8_6659_fd93);
        if self.is_wide() { xxh3_64_with_seed(text, label) } else { mix(self.payload ^ label, seed | 1) }
    }

    /// Whether it is the pair of the same value, with the given text.
    pub fn is(self, other: StoredPair, texts: &[u8], text: &[u8]) -> bool {
        self.label == other.label
            && if self.is_wide() { self.text(texts) == text } else { self.payload == other.payload }
    }

    /// The bytes of a pair that are stored elsewhere.
    fn text(self, texts: &[u8]) -> &[u8] {
        let start = self.payload as usize + 4;
        let length = texts[start - 4..start].try_into().map_or(0, u32::from_le_bytes);
        &texts[start..start + length as usize]
    }

    /// Appends the bytes, if they are stored elsewhere, to `texts`.
    pub fn write_text(self, text: &[u8], texts: &mut Vec<u8>) {
        if self.is_wide() {
            texts.extend((text.len() as u32).to_le_bytes());
            texts.extend_from_slice(text);
        }
    }
}

/// A text of at most eight bytes, as a number. Two reads that may overlap are faster than a copy of unknown length.
fn short(text: &[u8]) -> Option<u64> {
    let word = |start: usize| {
        let bytes = text[start..start + 4].try_into();
        u64::from(bytes.map_or(0, u32::from_le_bytes))
    };
    let byte = |position: usize| u64::from(text[position]);
    match text.len() {
        0 => Some(0),
        length @ 1..4 => Some(byte(0) | byte(length / 2) << 8 | byte(length - 1) << 16),
        length @ 4..=8 => Some(word(0) | word(length - 4) << 32),
        _ => None,
    }
}

/// The text that [`short`] turned into a number, padded with zeros.
fn spell(number: u64, length: usize) -> [u8; 8] {
    let bytes = number.to_le_bytes();
    if length < 4 {
        return bytes;
    }
    let mut text = [0; 8];
    text[..4].copy_from_slice(&bytes[..4]);
    text[length - 4..length].copy_from_slice(&bytes[4..]);
    text
}

/// Seconds and nanoseconds as microseconds, if they are a whole number that fits into 64 bits.
fn microseconds((seconds, nanoseconds): (i64, u32)) -> Option<u64> {
    if nanoseconds % 1000 != 0 {
        return None;
    }
    let whole = seconds.checked_mul(1_000_000)?.checked_add(i64::from(nanoseconds / 1000))?;
    Some(whole as u64)
}

/// The seconds and nanoseconds of microseconds.
fn parts(microseconds: u64) -> (i64, i64) {
    let microseconds = microseconds as i64;
    (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000) * 1000)
}

/// The bytes of a value that do not fit into its pair: those of a text, or those of a wide value, which are written
/// to `buffer`.
pub(in crate::matcher::compiled) fn text_of<'a>(value: ValueRef<'a>, buffer: &'a mut Buffer) -> &'a [u8] {
    let seconds = |(seconds, nanoseconds): (i64, u32), buffer: &'a mut Buffer| {
        buffer[..8].copy_from_slice(&seconds.to_le_bytes());
        buffer[8..12].copy_from_slice(&nanoseconds.to_le_bytes());
        &buffer[..12]
    };
    match value {
        ValueRef::String(text) | ValueRef::Version(text) => text.as_bytes(),
        ValueRef::Timestamp(value) => seconds(value.parts(), buffer),
        ValueRef::Duration(value) => seconds(value.parts(), buffer),
        ValueRef::Decimal(value) => {
            let (coefficient, exponent) = value.parts();
            buffer[..16].copy_from_slice(&coefficient.to_le_bytes());
            buffer[16..18].copy_from_slice(&(exponent as i16).to_le_bytes());
            &buffer[..18]
        }
        ValueRef::Address(value) => {
            let bytes = value.bytes();
            buffer[..bytes.len()].copy_from_slice(bytes);
            &buffer[..bytes.len()]
        }
        _ => &[],
    }
}

/// Room for the bytes of a wide value.
pub(in crate::matcher::compiled) type Buffer = [u8; 18];

/// The value that [`text_of`] turned into bytes; `None` if a file is damaged.
fn wide(tag: u32, bytes: &[u8]) -> Option<ValueRef<'_>> {
    let seconds = || {
        let (seconds, nanoseconds) = bytes.split_at_checked(8)?;
        let seconds = i64::from_le_bytes(seconds.try_into().ok()?);
        Some((seconds, i64::from(u32::from_le_bytes(nanoseconds.try_into().ok()?))))
    };
    match tag {
        FINE_TIMESTAMP => {
            let (seconds, nanoseconds) = seconds()?;
            Timestamp::new(seconds, nanoseconds).map(ValueRef::Timestamp)
        }
        FINE_DURATION => {
            let (seconds, nanoseconds) = seconds()?;
            Duration::new(seconds, nanoseconds).map(ValueRef::Duration)
        }
        DECIMAL => {
            let (coefficient, exponent) = bytes.split_at_checked(16)?;
            let coefficient = i128::from_le_bytes(coefficient.try_into().ok()?);
            let exponent = i16::from_le_bytes(exponent.try_into().ok()?);
            Some(ValueRef::Decimal(Decimal::kept(coefficient, exponent)))
        }
        ADDRESS => Address::from_bytes(bytes).map(ValueRef::Address),
        _ => std::str::from_utf8(bytes).ok().map(ValueRef::Version),
    }
}

/// Values of attributes by their position.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct ValueColumns {
    pairs: Column<StoredPair>,
    texts: Column<u8>,
}

impl<'a> FromIterator<&'a (u32, Value)> for ValueColumns {
    fn from_iter<I: IntoIterator<Item = &'a (u32, Value)>>(values: I) -> Self {
        let mut texts = Vec::new();
        let pair = |(attribute, value): &(u32, Value)| {
            let pair = StoredPair::new(*attribute, value.as_ref(), texts.len());
            pair.write_text(text_of(value.as_ref(), &mut Buffer::default()), &mut texts);
            pair
        };
        let pairs = values.into_iter().map(pair).collect();
        ValueColumns { pairs, texts: texts.into() }
    }
}

impl ValueColumns {
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether every pair is that of a value.
    pub fn are_whole(&self) -> bool {
        self.pairs.iter().all(|pair| pair.is_whole(&self.texts))
    }

    /// Searches values that ascend by [`ValueRef::canonical_order`]: the position of the value, or of the first one
    /// above it. The type of the value is examined once, not at every step.
    pub fn find(&self, range: Range<usize>, value: ValueRef<'_>) -> Result<usize, usize> {
        let general = |pair: StoredPair| self.order(pair, value);
        let against = |pair: StoredPair, approximate: f64| {
            // Rounding preserves the order of numbers, except that some become equal.
            let mine = match pair.type_tag() {
                INTEGER => pair.payload as i64 as f64,
                FLOAT => f64::from_bits(pair.payload),
                _ => return general(pair),
            };
            match mine.partial_cmp(&approximate) {
                Some(order) if order.is_ne() => order,
                _ => general(pair),
            }
        };
        let whole = |tag: u32, parts: (i64, u32)| {
            let microseconds = microseconds(parts).map(|whole| whole as i64);
            move |pair: StoredPair| match microseconds {
                Some(whole) if pair.type_tag() == tag => (pair.payload as i64).cmp(&whole),
                _ => general(pair),
            }
        };
        match value {
            ValueRef::Integer(number) => self.search(range, |pair| match pair.type_tag() {
                INTEGER => (pair.payload as i64).cmp(&number),
                _ => against(pair, number as f64),
            }),
            ValueRef::Float(number) => self.search(range, |pair| against(pair, number.get())),
            ValueRef::Timestamp(time) => self.search(range, whole(TIMESTAMP, time.parts())),
            ValueRef::Duration(span) => self.search(range, whole(DURATION, span.parts())),
            _ => self.search(range, general),
        }
    }

    fn search(&self, range: Range<usize>, order: impl Fn(StoredPair) -> Ordering) -> Result<usize, usize> {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low.midpoint(high);
            match order(self.pairs[middle]) {
                Ordering::Less => low = middle + 1,
                Ordering::Equal => return Ok(middle),
                Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    fn order(&self, pair: StoredPair, value: ValueRef<'_>) -> Ordering {
        let text = |bytes: &[u8]| match value {
            ValueRef::String(text) => bytes.cmp(text.as_bytes()),
            _ => Family::String.cmp(&value.family()),
        };
        // In a damaged file, any value will do.
        let damaged = ValueRef::Integer(0);
        let mine = match pair.type_tag() {
            INTEGER => ValueRef::Integer(pair.payload as i64),
            TIMESTAMP => {
                let (seconds, nanoseconds) = parts(pair.payload);
                Timestamp::new(seconds, nanoseconds).map_or(damaged, ValueRef::Timestamp)
            }
            LONG => return text(pair.text(&self.texts)),
            tag @ SHORT..=LONGEST_SHORT => {
                let length = (tag - SHORT) as usize;
                return text(&spell(pair.payload, length)[..length]);
            }
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            FLOAT => Float::kept(f64::from_bits(pair.payload)).map_or(damaged, ValueRef::Float),
            DATE => Date::from_days(pair.payload as i64).map_or(damaged, ValueRef::Date),
            DURATION => {
                let (seconds, nanoseconds) = parts(pair.payload);
                Duration::new(seconds, nanoseconds).map_or(damaged, ValueRef::Duration)
            }
            tag => wide(tag, pair.text(&self.texts)).unwrap_or(damaged),
        };
        mine.canonical_order(value)
    }

    /// Whether the value at `position` belongs to a family that sorts after strings.
    pub fn is_typed(&self, position: usize) -> bool {
        self.pairs[position].type_tag() > LONGEST_SHORT
    }

    pub fn bytes(&self) -> usize {
        size_of::<StoredPair>() * self.pairs.len() + self.texts.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.pairs);
        sections.push(&self.texts);
    }

    pub fn read(reader: &mut SectionReader) -> error::Result<ValueColumns> {
        Ok(ValueColumns { pairs: reader.next()?, texts: reader.next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_all_kinds_are_kept_in_order() {
        let numbers = ["-1e400", "-1", "0.1", "1", "18446744073709551615"];
        let numbers = numbers.map(|text| crate::value::read_number(text).unwrap().to_value());
        let constants = [
            "timestamp '2026-01-02 00:00:00Z'",
            "timestamp '2026-01-02 00:00:00.000000001Z'",
            "timestamp '9999-12-31 23:59:59.999999999Z'",
            "date '9999-12-31'",
            "interval '-1' second",
            "interval '1' second",
            "ip '255.255.255.255'",
            "ip 'ffff::'",
            "version '99999999999999999999999.0.0'",
        ];
        let constants = constants.map(|text| {
            let expression = crate::parse(&format!("x = {text}"), &crate::Limits::none()).unwrap();
            match expression.predicates().next().unwrap().test() {
                crate::expression::Test::Equal(value) => value.clone(),
                other => panic!("{other:?}"),
            }
        });
        let strings = ["", "short", "a longer text"].map(Value::from);
        let mut all: Vec<(u32, Value)> = Vec::new();
        all.extend(Family::TYPED.map(|family| (0, family.first())));
        all.extend(numbers.into_iter().chain(strings).chain(constants).map(|value| (0, value)));
        all.sort();
        let columns: ValueColumns = all.iter().collect();
        for (position, (_, value)) in all.iter().enumerate() {
            for (start, end) in [(0, all.len()), (position, position + 1), (0, position + 1)] {
                assert_eq!(columns.find(start..end, value.as_ref()), Ok(position), "{value}");
            }
            assert_eq!(columns.find(0..position, value.as_ref()), Err(position), "{value}");
            assert_eq!(columns.find(position + 1..all.len(), value.as_ref()), Err(position + 1), "{value}");
        }
    }

    #[test]
    fn numbers_of_all_kinds_are_found_exactly() {
        let texts = [
            "-1e400",
            "-1e300",
            "-9223372036854775809",
            "-9223372036854775808",
            "-9007199254740993",
            "-9007199254740992.5",
            "-9007199254740992",
            "-0.1",
            "0",
            "0.1",
            "0.10000000000000001",
            "0.3",
            "1",
            "9007199254740992",
            "9007199254740992.5",
            "9007199254740993",
            "9007199254740993.5",
            "9007199254740994",
            "9223372036854775806.5",
            "9223372036854775807",
            "9223372036854775808",
            "1e300",
            "1e400",
        ];
        let values: Vec<Value> = texts
            .iter()
            .filter_map(|text| crate::value::read_number(text).ok())
            .map(|v| v.to_value())
            .collect();
        let mut all: Vec<(u32, Value)> = values.into_iter().map(|value| (0, value)).collect();
        all.sort();
        all.dedup();
        for part in [0, 1, 2] {
            // Every other one, so that some values are not found.
            let kept: Vec<_> = all.iter().skip(part % 2).step_by(1 + part.min(1)).cloned().collect();
            let columns: ValueColumns = kept.iter().collect();
            for (_, value) in &all {
                let expected =
                    kept.binary_search_by(|(_, other)| other.as_ref().canonical_order(value.as_ref()));
                assert_eq!(columns.find(0..kept.len(), value.as_ref()), expected, "{value}");
            }
        }
    }

    #[test]
    fn short_texts_are_told_apart_and_spelled() {
        let letters = ["a", "b", "\0"];
        let mut texts = vec![String::new()];
        for length in 0..5 {
            let longest: Vec<String> = texts.iter().filter(|text| text.len() == length).cloned().collect();
            texts.extend(longest.iter().flat_map(|text| letters.map(|letter| format!("{text}{letter}"))));
        }
        texts.extend(["abcdef", "abcdefg", "abcdefgh"].map(String::from));
        for text in &texts {
            let number = short(text.as_bytes()).unwrap();
            assert_eq!(&spell(number, text.len())[..text.len()], text.as_bytes());
        }
        assert_eq!(short(b"abcdefghi"), None);
    }
}
