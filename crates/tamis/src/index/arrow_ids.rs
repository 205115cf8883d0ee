//! How do ids become a column of an Arrow batch?

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringArray};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};

use crate::error::{Error, Result};
use crate::id::IdRef;

/// Bytes of ids or metadata after which a batch is complete: its offsets are 32-bit numbers.
pub(crate) const FULL: usize = 1 << 30;

/// Collects ids for a column.
pub(crate) enum Ids {
    /// Their bytes, and where each of them ends.
    Strings(Vec<u8>, Vec<i32>),
    Integers(Vec<i64>),
}

impl Ids {
    pub fn new(strings: bool) -> Ids {
        match strings {
            true => Ids::Strings(Vec::new(), vec![0]),
            false => Ids::Integers(Vec::new()),
        }
    }

    pub fn push(&mut self, id: IdRef<'_>) -> Result<()> {
        match (self, id) {
            (Ids::Strings(bytes, ends), IdRef::String(id)) => {
                bytes.extend_from_slice(id.as_bytes());
                ends.push(bytes.len() as i32);
            }
            (Ids::Integers(ids), IdRef::Integer(id)) => ids.push(id),
            _ => {
                return Err(Error::event(
                    "an id is of another kind than its segment says: a file is damaged",
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
pub(crate) fn wrong(error: arrow_schema::ArrowError) -> Error {
    Error::event(error.to_string())
}
