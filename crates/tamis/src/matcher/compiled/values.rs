//! How are many values kept in columns?

use std::cmp::Ordering;

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

const FALSE: u32 = 0;
const TRUE: u32 = 1;
const INTEGER: u32 = 2;
const FLOAT: u32 = 3;
const STRING: u32 = 4;
/// A text short enough for the record itself.
const SHORT: u32 = 5;

/// The low bits of a record's label, which hold the kind.
const KIND: u32 = 7;

/// An attribute and its value, but for a long text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Record {
    /// The number's bits, the short text, or where the long text starts.
    payload: u64,
    /// The length of the text; 0 for what is none.
    length: u32,
    /// The attribute, and below it the kind.
    label: u32,
}

impl Record {
    /// The record of a value whose text, if it is long, starts at `start`.
    pub fn new(attribute: u32, value: ValueRef<'_>, start: u64) -> Record {
        let (kind, payload, length) = match value {
            ValueRef::Boolean(value) => (u32::from(value), 0, 0),
            ValueRef::Integer(value) => (INTEGER, value as u64, 0),
            ValueRef::Float(value) => (FLOAT, value.get().to_bits(), 0),
            ValueRef::String(text) => {
                let mut bytes = [0; 8];
                match bytes.get_mut(..text.len()) {
                    Some(place) => {
                        place.copy_from_slice(text.as_bytes());
                        (SHORT, u64::from_le_bytes(bytes), text.len())
                    }
                    None => (STRING, start, text.len()),
                }
            }
        };
        Record { payload, length: length as u32, label: attribute << KIND.count_ones() | kind }
    }

    fn kind(self) -> u32 {
        self.label & KIND
    }

    /// Whether its text stands elsewhere.
    pub fn is_long(self) -> bool {
        self.kind() == STRING
    }

    /// All of it but its text, if that stands elsewhere, mixed into one number.
    pub fn hash(self) -> u64 {
        let payload = if self.is_long() { 0 } else { self.payload };
        let high = u64::from(self.length) << 32 | u64::from(self.label);
        mix(payload ^ 0x9e37_79b9_7f4a_7c15, mix(high, 0xd6e8_feb8_6659_fd93) | 1)
    }

    /// Whether it is the record of the same value, where the texts of long ones are as given.
    pub fn is(self, other: Record, texts: &[u8], text: &[u8]) -> bool {
        if other.is_long() {
            let same = (self.label, self.length) == (other.label, other.length);
            same && self.text(texts) == text
        } else {
            self == other
        }
    }

    /// The text of a long record, among all texts.
    pub fn text(self, texts: &[u8]) -> &[u8] {
        let start = self.payload as usize;
        &texts[start..start + self.length as usize]
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
            let record = Record::new(*attribute, value.as_ref(), texts.len() as u64);
            match value {
                Value::String(text) if record.is_long() => texts.extend_from_slice(text.as_bytes()),
                _ => {}
            }
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
            STRING => return text(record.text(&self.texts)),
            SHORT => return text(&record.payload.to_le_bytes()[..record.length as usize]),
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
