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

/// An attribute and a value, but for a long text, so that looking at one costs one cache miss.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Record {
    /// The number's bits, the short text, or where the long text starts.
    payload: u64,
    /// The length of the text; 0 for what is none.
    length: u32,
    /// The attribute, and below it the kind.
    label: u32,
}

impl Record {
    fn kind(self) -> u32 {
        self.label & KIND
    }
}

fn label(attribute: u32, kind: u32) -> u32 {
    attribute << KIND.count_ones() | kind
}

fn short(text: &str) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
    Some(u64::from_le_bytes(bytes))
}

/// Values of attributes by their position.
#[derive(Debug, Default)]
pub(super) struct ValueColumns {
    records: Column<Record>,
    text: Column<u8>,
}

impl<'a> FromIterator<&'a (u32, Value)> for ValueColumns {
    fn from_iter<I: IntoIterator<Item = &'a (u32, Value)>>(values: I) -> Self {
        let mut all = Vec::new();
        let record = |(attribute, value): &(u32, Value)| {
            let (kind, payload, length) = match value {
                Value::Boolean(false) => (FALSE, 0, 0),
                Value::Boolean(true) => (TRUE, 0, 0),
                Value::Integer(value) => (INTEGER, *value as u64, 0),
                Value::Float(value) => (FLOAT, value.get().to_bits(), 0),
                Value::String(text) => match short(text) {
                    Some(bytes) => (SHORT, bytes, text.len()),
                    None => {
                        let start = all.len() as u64;
                        all.extend_from_slice(text.as_bytes());
                        (STRING, start, text.len())
                    }
                },
            };
            Record { payload, length: length as u32, label: label(*attribute, kind) }
        };
        let records = values.into_iter().map(record).collect();
        ValueColumns { records, text: all.into() }
    }
}

impl ValueColumns {
    pub fn len(&self) -> usize {
        self.records.len()
    }

    fn text(&self, record: Record) -> &[u8] {
        let start = record.payload as usize;
        &self.text[start..start + record.length as usize]
    }

    /// Whether at `position` there is this value of this attribute.
    pub fn is(&self, position: usize, attribute: u32, value: ValueRef<'_>) -> bool {
        let record = self.records[position];
        let (kind, payload) = match value {
            ValueRef::Boolean(value) => return record.label == label(attribute, u32::from(value)),
            ValueRef::Integer(value) => (INTEGER, value as u64),
            ValueRef::Float(value) => (FLOAT, value.get().to_bits()),
            ValueRef::String(text) => {
                if record.length as usize != text.len() {
                    return false;
                }
                match short(text) {
                    Some(bytes) => (SHORT, bytes),
                    None => {
                        return record.label == label(attribute, STRING)
                            && self.text(record) == text.as_bytes();
                    }
                }
            }
        };
        record.payload == payload && record.label == label(attribute, kind)
    }

    /// How the value at `position` is ordered against this one, as by [`ValueRef::canonical_order`].
    pub fn order(&self, position: usize, value: ValueRef<'_>) -> Ordering {
        let record = self.records[position];
        let text = |bytes: &[u8]| match value {
            ValueRef::String(text) => bytes.cmp(text.as_bytes()),
            _ => Ordering::Greater,
        };
        let number = match record.kind() {
            STRING => return text(self.text(record)),
            SHORT => return text(&record.payload.to_le_bytes()[..record.length as usize]),
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            INTEGER => ValueRef::Integer(record.payload as i64),
            _ => ValueRef::number(f64::from_bits(record.payload)).unwrap_or(ValueRef::Integer(0)),
        };
        number.canonical_order(value)
    }

    pub fn bytes(&self) -> usize {
        16 * self.records.len() + self.text.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.records);
        sections.push(&self.text);
    }

    pub fn read(reader: &mut SectionReader) -> Result<ValueColumns> {
        Ok(ValueColumns { records: reader.next()?, text: reader.next()? })
    }
}
