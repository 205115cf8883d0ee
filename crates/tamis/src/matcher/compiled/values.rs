//! How are many values kept in columns?

use std::cmp::Ordering;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

const FALSE: u32 = 0;
const TRUE: u32 = 1;
const INTEGER: u32 = 2;
const FLOAT: u32 = 3;
/// A text that stands elsewhere, behind its length.
const LONG: u32 = 4;
/// A text short enough for the record itself, plus its length, up to eight bytes.
const SHORT: u32 = 5;

/// The low bits of a record's label, which hold the kind.
const KIND: u32 = 15;

/// An attribute and its value, but for a long text.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Record {
    /// The number's bits, the short text, or where the long text stands.
    payload: u64,
    /// The attribute, and below it the kind.
    label: u32,
    /// Whatever the owner of the record notes about it.
    pub note: u32,
}

impl Record {
    /// The record of a value whose text, if it is long, stands at `start`.
    pub fn new(attribute: u32, value: ValueRef<'_>, start: usize) -> Record {
        let (kind, payload) = match value {
            ValueRef::Boolean(value) => (u32::from(value), 0),
            ValueRef::Integer(value) => (INTEGER, value as u64),
            ValueRef::Float(value) => (FLOAT, value.get().to_bits()),
            ValueRef::String(text) => match short(text.as_bytes()) {
                Some(bytes) => (SHORT + text.len() as u32, bytes),
                None => (LONG, start as u64),
            },
        };
        Record { payload, label: attribute << KIND.count_ones() | kind, note: 0 }
    }

    fn kind(self) -> u32 {
        self.label & KIND
    }

    /// All of it, mixed into one number; of a long text, the text instead of its place.
    pub fn hash(self, text: &[u8]) -> u64 {
        let label = mix(u64::from(self.label) ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        match self.kind() {
            LONG => xxh3_64_with_seed(text, label),
            _ => mix(self.payload ^ label, 0xa076_1d64_78bd_642f),
        }
    }

    /// Whether it is the record of the same value, whose text is as given.
    pub fn is(self, other: Record, texts: &[u8], text: &[u8]) -> bool {
        self.label == other.label
            && match self.kind() {
                LONG => self.text(texts) == text,
                _ => self.payload == other.payload,
            }
    }

    /// The text of a long record, among all texts.
    fn text(self, texts: &[u8]) -> &[u8] {
        let start = self.payload as usize + 4;
        let length = texts[start - 4..start].try_into().map_or(0, u32::from_le_bytes);
        &texts[start..start + length as usize]
    }

    /// Appends the text, if it is long, to all texts.
    pub fn write_text(self, text: &[u8], texts: &mut Vec<u8>) {
        if self.kind() == LONG {
            texts.extend((text.len() as u32).to_le_bytes());
            texts.extend_from_slice(text);
        }
    }
}

/// A text of at most eight bytes, as a number. Two reads that may overlap are faster than a copy of a
/// length that is not known.
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

/// The text of a number made by [`short`] from so many bytes, and zeros.
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

/// The bytes of a value that is a text.
pub(super) fn text_of(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::String(text) => text.as_bytes(),
        _ => &[],
    }
}

/// The product of two numbers, folded.
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Values of attributes by their position.
#[derive(Debug, Default)]
pub(super) struct ValueColumns {
    records: Column<Record>,
    texts: Column<u8>,
}

impl<'a> FromIterator<&'a (u32, Value)> for ValueColumns {
    fn from_iter<I: IntoIterator<Item = &'a (u32, Value)>>(values: I) -> Self {
        let mut texts = Vec::new();
        let record = |(attribute, value): &(u32, Value)| {
            let record = Record::new(*attribute, value.as_ref(), texts.len());
            record.write_text(text_of(value.as_ref()), &mut texts);
            record
        };
        let records = values.into_iter().map(record).collect();
        ValueColumns { records, texts: texts.into() }
    }
}

impl ValueColumns {
    /// How the value at `position` is ordered against this one, as by [`ValueRef::canonical_order`].
    pub fn order(&self, position: usize, value: ValueRef<'_>) -> Ordering {
        let record = self.records[position];
        let text = |bytes: &[u8]| match value {
            ValueRef::String(text) => bytes.cmp(text.as_bytes()),
            _ => Ordering::Greater,
        };
        let number = match record.kind() {
            LONG => return text(record.text(&self.texts)),
            kind @ SHORT.. => {
                let length = (kind - SHORT).min(8) as usize;
                return text(&spell(record.payload, length)[..length]);
            }
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            INTEGER => ValueRef::Integer(record.payload as i64),
            _ => ValueRef::number(f64::from_bits(record.payload)).unwrap_or(ValueRef::Integer(0)),
        };
        number.canonical_order(value)
    }

    pub fn bytes(&self) -> usize {
        size_of::<Record>() * self.records.len() + self.texts.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.records);
        sections.push(&self.texts);
    }

    pub fn read(reader: &mut SectionReader) -> Result<ValueColumns> {
        Ok(ValueColumns { records: reader.next()?, texts: reader.next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
