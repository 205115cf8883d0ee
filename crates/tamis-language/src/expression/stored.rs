//! How are many expressions stored in little memory?
//!
//! Each is encoded (`binary`), and the encodings are compressed in blocks. The names of attributes stand in one table.

use std::sync::{Arc, OnceLock};

use super::binary::{NameTable, NameTableBuilder, decode, encode, encode_flat};
use super::parse::FlatExpression;
use super::tree::Expression;
use crate::compressed_bytes::{CompressedBytes, CompressedBytesBuilder};
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;

/// Expressions by their position.
#[derive(Debug)]
pub struct StoredExpressions {
    names: Strings,
    /// The names once more, for decoding; `None` if they are damaged. Made when an expression is read.
    table: OnceLock<Option<NameTable>>,
    encoded: CompressedBytes,
}

/// Expressions on their way into columns.
#[derive(Debug, Default)]
pub struct StoredExpressionsBuilder {
    names: NameTableBuilder,
    encoded: CompressedBytesBuilder,
}

impl StoredExpressionsBuilder {
    /// Adds an expression.
    pub fn push(&mut self, expression: &Expression) {
        self.encoded.push_with(|bytes| encode(expression, &mut self.names, bytes));
    }

    /// Adds an expression that has no tree.
    pub fn push_flat(&mut self, expression: &FlatExpression) {
        self.encoded.push_with(|bytes| encode_flat(expression, &mut self.names, bytes));
    }

    /// The names of the attributes that the expressions so far mention.
    pub fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.table().iter()
    }

    /// The expressions in columns.
    pub fn finish(self) -> StoredExpressions {
        let table = self.names.finish();
        StoredExpressions {
            names: table.to_strings(),
            table: OnceLock::from(Some(table)),
            encoded: self.encoded.finish(),
        }
    }
}

impl<'a> FromIterator<&'a Expression> for StoredExpressions {
    fn from_iter<I: IntoIterator<Item = &'a Expression>>(expressions: I) -> Self {
        let mut builder = StoredExpressionsBuilder::default();
        expressions.into_iter().for_each(|expression| builder.push(expression));
        builder.finish()
    }
}

impl StoredExpressions {
    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.encoded.len()
    }

    /// The expression at a position; `None` if the file it lives in is damaged.
    pub fn get(&self, position: usize) -> Option<Expression> {
        let table = self.table.get_or_init(|| NameTable::from_strings(&self.names)).as_ref()?;
        self.encoded.read_at(position, |bytes| decode(bytes, table))
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        let table = self.table.get().and_then(Option::as_ref).map_or(0, NameTable::bytes);
        self.names.bytes() + table + self.encoded.bytes()
    }

    /// Adds the columns to the sections of a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        self.names.write(sections);
        self.encoded.write(sections);
    }

    /// Reads what [`write`](StoredExpressions::write) has written.
    pub fn read(reader: &mut SectionReader) -> Result<StoredExpressions> {
        let names = Strings::read(reader)?;
        Ok(StoredExpressions { names, table: OnceLock::new(), encoded: CompressedBytes::read(reader)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    #[test]
    fn expressions_are_found_at_their_positions() {
        let read = |number: i32| parse(&format!("a{} = {number} or b", number % 9), &Limits::none()).unwrap();
        let expressions: Vec<Expression> = (0..3000).map(read).collect();
        let stored: StoredExpressions = expressions.iter().collect();
        assert_eq!(stored.len(), expressions.len());
        for (position, expression) in expressions.iter().enumerate() {
            assert_eq!(stored.get(position).as_ref(), Some(expression));
        }
        assert_eq!(stored.get(expressions.len()), None);
    }

    #[test]
    fn names_that_are_no_text_are_damage() {
        let mut stored: StoredExpressions = [&Expression::constant(true)].into_iter().collect();
        (stored.names, stored.table) = ([b"\xff"].into_iter().collect(), OnceLock::new());
        assert_eq!(stored.get(0), None);
    }
}
