//! How are many values kept in columns?

use std::cmp::Ordering;

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

const FALSE: u8 = 0;
const TRUE: u8 = 1;
const INTEGER: u8 = 2;
const FLOAT: u8 = 3;
const STRING: u8 = 4;

/// Values by their position.
#[derive(Debug, Default)]
pub(super) struct ValueColumns {
    kinds: Column<u8>,
    /// The number's bits, or where the text starts.
    payloads: Column<u64>,
    /// The length of the text; 0 for what is none.
    lengths: Column<u32>,
    text: Column<u8>,
}

impl<'a> FromIterator<&'a Value> for ValueColumns {
    fn from_iter<I: IntoIterator<Item = &'a Value>>(values: I) -> Self {
        let (mut kinds, mut payloads, mut lengths, mut all) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for value in values {
            let (kind, payload, text) = match value {
                Value::Boolean(false) => (FALSE, 0, ""),
                Value::Boolean(true) => (TRUE, 0, ""),
                Value::Integer(value) => (INTEGER, *value as u64, ""),
                Value::Float(value) => (FLOAT, value.get().to_bits(), ""),
                Value::String(text) => (STRING, all.len() as u64, &**text),
            };
            kinds.push(kind);
            payloads.push(payload);
            lengths.push(text.len() as u32);
            all.extend_from_slice(text.as_bytes());
        }
        ValueColumns {
            kinds: kinds.into(),
            payloads: payloads.into(),
            lengths: lengths.into(),
            text: all.into(),
        }
    }
}

impl ValueColumns {
    fn text(&self, position: usize) -> &[u8] {
        let start = self.payloads[position] as usize;
        &self.text[start..start + self.lengths[position] as usize]
    }

    /// Whether the value at `position` is this one.
    pub fn is(&self, position: usize, value: ValueRef<'_>) -> bool {
        let payload = self.payloads[position];
        match (self.kinds[position], value) {
            (kind @ (FALSE | TRUE), ValueRef::Boolean(value)) => kind == u8::from(value),
            (INTEGER, ValueRef::Integer(value)) => payload == value as u64,
            (FLOAT, ValueRef::Float(value)) => payload == value.get().to_bits(),
            (STRING, ValueRef::String(text)) => self.text(position) == text.as_bytes(),
            _ => false,
        }
    }

    /// How the value at `position` is ordered against this one, as by [`ValueRef::canonical_order`].
    pub fn order(&self, position: usize, value: ValueRef<'_>) -> Ordering {
        let payload = self.payloads[position];
        let number = match self.kinds[position] {
            STRING => {
                return match value {
                    ValueRef::String(text) => self.text(position).cmp(text.as_bytes()),
                    _ => Ordering::Greater,
                };
            }
            FALSE => ValueRef::Boolean(false),
            TRUE => ValueRef::Boolean(true),
            INTEGER => ValueRef::Integer(payload as i64),
            _ => ValueRef::number(f64::from_bits(payload)).unwrap_or(ValueRef::Integer(0)),
        };
        number.canonical_order(value)
    }

    pub fn bytes(&self) -> usize {
        13 * self.kinds.len() + self.text.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.kinds);
        sections.push(&self.payloads);
        sections.push(&self.lengths);
        sections.push(&self.text);
    }

    pub fn read(reader: &mut SectionReader) -> Result<ValueColumns> {
        Ok(ValueColumns {
            kinds: reader.next()?,
            payloads: reader.next()?,
            lengths: reader.next()?,
            text: reader.next()?,
        })
    }
}
