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

/// All of a value but its text, so that looking at one costs one cache miss.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Record {
    /// The number's bits, or where the text starts.
    payload: u64,
    /// The length of the text; 0 for what is none.
    length: u32,
    kind: u32,
}

/// Values by their position.
#[derive(Debug, Default)]
pub(super) struct ValueColumns {
    records: Column<Record>,
    text: Column<u8>,
}

impl<'a> FromIterator<&'a Value> for ValueColumns {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(values: I) -> Self {
        let mut all = Vec::new();
        let record = |value: &Value| {
            let (kind, payload, text) = match value {
                Value::Boolean(false) => (FALSE, 0, ""),
                Value::Boolean(true) => (TRUE, 0, ""),
                Value::Integer(value) => (INTEGER, *value as u64, ""),
                Value::Float(value) => (FLOAT, value.get().to_bits(), ""),
                Value::String(text) => (STRING, all.len() as u64, &**text),
            };
            all.extend_from_slice(text.as_bytes());
            Record { payload, length: text.len() as u32, kind }
        };
        let records = values.into_iter().map(record).collect();
        ValueColumns { records, text: all.into() }
    }
}

impl ValueColumns {
    fn text(&self, record: Record) -> &[u8] {
        let start = record.payload as usize;
        &self.text[start..start + record.length as usize]
    }

    /// Whether the value at `position` is this one.
    pub fn is(&self, position: usize, value: ValueRef<'_>) -> bool {
        let record = self.records[position];
        match (record.kind, value) {
            (kind @ (FALSE | TRUE), ValueRef::Boolean(value)) => kind == u32::from(value),
            (INTEGER, ValueRef::Integer(value)) => record.payload == value as u64,
            (FLOAT, ValueRef::Float(value)) => record.payload == value.get().to_bits(),
            (STRING, ValueRef::String(text)) => {
                record.length as usize == text.len() && self.text(record) == text.as_bytes()
            }
            _ => false,
        }
    }

    /// How the value at `position` is ordered against this one, as by [`ValueRef::canonical_order`].
    pub fn order(&self, position: usize, value: ValueRef<'_>) -> Ordering {
        let record = self.records[position];
        let number = match record.kind {
            STRING => {
                return match value {
                    ValueRef::String(text) => self.text(record).cmp(text.as_bytes()),
                    _ => Ordering::Greater,
                };
            }
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
