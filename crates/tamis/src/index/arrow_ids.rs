//! How do ids become a column of an Arrow batch, and a column ids?
//!
//! For the index and for other crates that write matches as Arrow, such as `tamis-graph`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use crate::error::{Error, Result};
use crate::event::{Item, Items};
use crate::id::IdRef;
use crate::value::ValueRef;

/// Bytes of ids or metadata after which a batch is complete: its offsets are 32-bit numbers.
pub const FULL: usize = 1 << 30;

/// Collects ids for a column.
#[derive(Debug)]
pub enum Ids {
    /// Their bytes, and where each of them ends.
    Strings(Vec<u8>, Vec<i32>),
    /// Numbers.
    Integers(Vec<i64>),
}

impl Ids {
    /// No ids yet: of strings, or of integers.
    pub fn new(strings: bool) -> Ids {
        match strings {
            true => Ids::Strings(Vec::new(), vec![0]),
            false => Ids::Integers(Vec::new()),
        }
    }

    /// Adds an id, which must be of the column's type.
    pub fn push(&mut self, id: IdRef<'_>) -> Result<()> {
        match (self, id) {
            (Ids::Strings(bytes, ends), IdRef::String(id)) => {
                bytes.extend_from_slice(id.as_bytes());
                ends.push(bytes.len() as i32);
            }
            (Ids::Integers(ids), IdRef::Integer(id)) => ids.push(id),
            _ => {
                return Err(Error::event(
                    "an id is of another type than its segment says: a file is damaged",
                ));
            }
        }
        Ok(())
    }

    /// The column of the ids pushed since the last call.
    pub fn take(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Ids::Strings(bytes, ends) => {
                let ends = ScalarBuffer::from(std::mem::replace(ends, vec![0]));
                let bytes = Buffer::from_vec(std::mem::take(bytes));
                Arc::new(StringArray::try_new(OffsetBuffer::new(ends), bytes, None).map_err(wrong)?)
            }
            Ids::Integers(ids) => Arc::new(Int64Array::from(std::mem::take(ids))),
        })
    }
}

/// The error for a batch that Arrow refuses.
pub fn wrong(error: arrow_schema::ArrowError) -> Error {
    Error::event(error.to_string())
}

/// A column that gives an id for each row.
#[derive(Debug)]
pub struct IdColumn(Items);

/// Why a row of an [`IdColumn`] has no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoId {
    /// The value is null.
    Null,
    /// The value cannot be read, for this reason.
    Damaged(&'static str),
    /// The value is neither a string nor an integer.
    OtherType,
}

impl IdColumn {
    /// The ids of the column with this name.
    pub fn new(name: &str, array: &ArrayRef) -> Result<IdColumn> {
        Items::new(name, array).map(IdColumn)
    }

    /// The id of a row.
    pub fn get(&self, row: usize) -> std::result::Result<IdRef<'_>, NoId> {
        match self.0.get(row) {
            Some(Item::Value(ValueRef::String(text))) => Ok(IdRef::String(text)),
            Some(Item::Value(ValueRef::Integer(number))) => Ok(IdRef::Integer(number)),
            Some(Item::Null) => Err(NoId::Null),
            Some(Item::Damaged(damage)) => Err(NoId::Damaged(damage.reason())),
            _ => Err(NoId::OtherType),
        }
    }
}
