//! How are many texts, or byte strings, stored in columns?

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

/// Texts by their position.
#[derive(Debug, Default)]
pub struct Strings {
    /// Where each text ends.
    ends: Column<u64>,
    bytes: Column<u8>,
}

impl<S: AsRef<[u8]>> FromIterator<S> for Strings {
    fn from_iter<I: IntoIterator<Item = S>>(texts: I) -> Self {
        let mut builder = StringsBuilder::default();
        texts.into_iter().for_each(|text| builder.push(text.as_ref()));
        builder.finish()
    }
}

/// Texts to be stored in columns.
#[derive(Debug, Default)]
pub struct StringsBuilder {
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl StringsBuilder {
    /// The number of texts.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a text.
    pub fn push(&mut self, text: &[u8]) {
        self.push_with(|bytes| bytes.extend_from_slice(text));
    }

    /// Appends the text that `write` appends to what it is given.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len() as u64);
    }

    /// The texts in columns.
    pub fn finish(self) -> Strings {
        Strings { ends: self.ends.into(), bytes: self.bytes.into() }
    }
}

impl Strings {
    /// The number of texts.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text at a position; `None` if its file is damaged.
    #[inline]
    pub fn get(&self, position: usize) -> Option<&str> {
        std::str::from_utf8(self.bytes_of(position)?).ok()
    }

    /// The bytes at a position; `None` if their file is damaged.
    #[inline]
    pub fn bytes_of(&self, position: usize) -> Option<&[u8]> {
        let start = if position == 0 { 0 } else { *self.ends.get(position - 1)? };
        let end = *self.ends.get(position)?;
        self.bytes.get(start as usize..end as usize)
    }

    /// The bytes from a position to the end, and how many of them belong to it; `None` if their file is damaged.
    #[inline]
    pub fn bytes_from(&self, position: usize) -> Option<(&[u8], usize)> {
        let start = if position == 0 { 0 } else { *self.ends.get(position - 1)? };
        let length = self.ends.get(position)?.checked_sub(start)? as usize;
        self.bytes.get(start as usize..).filter(|bytes| length <= bytes.len()).map(|bytes| (bytes, length))
    }

    /// The number of bytes of all texts.
    #[inline]
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory, or of a file.
    pub fn bytes(&self) -> usize {
        8 * self.ends.len() + self.bytes.len()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.ends);
        sections.push(&self.bytes);
    }

    /// Reads what [`write`](Strings::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<Strings> {
        Ok(Strings { ends: reader.next()?, bytes: reader.next()? })
    }
}
