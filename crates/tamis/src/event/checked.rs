//! How are arrays with unchecked content read?
//!
//! Arrow data that comes over the C data interface guarantees the number of its rows and the size of its buffers.
//! Everything inside the buffers may be wrong: text that is not UTF-8, offsets that decrease, views and keys out of
//! range. So every read is checked against the buffer that it reads from. A check costs about as much as the read,
//! and a damaged value affects only the rows that read it.

use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_buffer::Buffer;

/// Why a value cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Damage {
    /// Text that is not UTF-8.
    Text,
    /// Offsets that decrease or are out of range.
    Offsets,
    /// A view out of range, or without a buffer.
    View,
    /// A dictionary key without a value.
    Key,
}

/// The result of a checked read.
pub(crate) type Checked<T> = Result<T, Damage>;

impl Damage {
    /// What is wrong, as a part of a message about the value.
    pub fn reason(self) -> &'static str {
        match self {
            Damage::Text => "the text is not valid UTF-8",
            Damage::Offsets => "the Arrow offsets of the value are damaged",
            Damage::View => "the Arrow view of the value is damaged: it points outside its buffer",
            Damage::Key => {
                "the Arrow dictionary key of the value is damaged: the dictionary has no such value"
            }
        }
    }
}

/// These bytes as text.
pub(crate) fn text(bytes: &[u8]) -> Checked<&str> {
    std::str::from_utf8(bytes).map_err(|_| Damage::Text)
}

/// The bytes of a string or binary value.
pub(crate) fn bytes<T: ByteArrayType>(array: &GenericByteArray<T>, row: usize) -> Checked<&[u8]> {
    let values = array.value_data();
    let (start, end) = range(array.value_offsets(), row, values.len())?;
    Ok(&values[start..end])
}

/// The bytes of a value of a view array.
pub(crate) fn view<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>, row: usize) -> Checked<&[u8]> {
    /// The size of a value that fits into its view; a longer one has its length first.
    const INLINE: usize = 12;
    let views = array.views();
    let view = views.get(row).ok_or(Damage::View)?;
    let length = *view as u32 as usize;
    if length <= INLINE {
        // The bytes in memory, not those of a copy.
        let bytes = views.inner().as_slice();
        return bytes.get(row * 16 + 4..row * 16 + 4 + length).ok_or(Damage::View);
    }
    long(*view, length, array.data_buffers())
}

/// The bytes of a value whose view has the number of a buffer and an offset into it.
fn long(view: u128, length: usize, buffers: &[Buffer]) -> Checked<&[u8]> {
    let (buffer, offset) = ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize);
    let buffer = buffers.get(buffer).ok_or(Damage::View)?;
    buffer.get(offset..offset + length).ok_or(Damage::View)
}

/// The positions of a row's items among `length` items.
pub(crate) fn range<O: OffsetSizeTrait>(offsets: &[O], row: usize, length: usize) -> Checked<(usize, usize)> {
    let [start, end] = offsets[row..row + 2] else { return Err(Damage::Offsets) };
    match (start.to_usize(), end.to_usize()) {
        (Some(start), Some(end)) if start <= end && end <= length => Ok((start, end)),
        _ => Err(Damage::Offsets),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{StringArray, StringViewArray};

    use super::*;

    #[test]
    fn offsets_are_checked() {
        assert_eq!(range(&[0, 2, 5], 1, 5), Ok((2, 5)));
        assert_eq!(range(&[0, 2, 5], 1, 4), Err(Damage::Offsets));
        assert_eq!(range(&[0, 3, 2], 1, 5), Err(Damage::Offsets));
        assert_eq!(range(&[-1, 2], 0, 5), Err(Damage::Offsets));
        assert_eq!(range(&[i64::MIN, i64::MAX], 0, 5), Err(Damage::Offsets));
    }

    #[test]
    fn what_is_whole_is_read_as_it_is() {
        let words = ["", "a", "twelve bytes", "thirteen byte", "many more bytes, für alle"];
        let strings = StringArray::from(words.to_vec()).slice(1, 4);
        let views = StringViewArray::from(words.to_vec()).slice(1, 4);
        for (row, word) in words[1..].iter().enumerate() {
            assert_eq!(bytes(&strings, row).and_then(text), Ok(*word));
            assert_eq!(view(&views, row).and_then(text), Ok(*word));
        }
    }

    #[test]
    fn views_outside_their_buffers_are_damage() {
        let buffers = [Buffer::from(b"a value of many bytes")];
        let size = buffers[0].len();
        let read = |length: usize, buffer: u128, offset: usize| {
            long(length as u128 | buffer << 64 | (offset as u128) << 96, length, &buffers).is_ok()
        };
        assert!(read(20, 0, 1));
        assert!(!read(20, 1, 0));
        assert!(!read(20, 0, size - 19));
        assert!(!read(u32::MAX as usize, 0, 0));
        assert!(!read(20, 0, u32::MAX as usize));
    }
}
