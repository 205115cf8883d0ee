//! How is a compiled matcher written to a file and read back?

use super::choice::Choice;
use super::columns::bits::Bits;
use super::columns::keys::Keys;
use super::columns::patterns::Patterns;
use super::columns::ranges::{Bounds, Stabbing};
use super::{Compiled, Scan, Slot};
use crate::column::Column;
use crate::csr::Lists;
use crate::error::Result;
use crate::event::Attributes;
use crate::expression::Expression;
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;
use crate::truth::Missing;

impl Compiled {
    /// Lays the matcher down in a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.counts);
        self.names.write(sections);
        self.keys.write(sections);
        self.bounds.write(sections);
        self.patterns.write(sections);
        self.stabbing.write(sections);
        self.bits.write(sections);
        for column in self.words() {
            sections.push(column);
        }
    }

    /// The columns of 32-bit words, in the order in which a file has them.
    pub(super) fn words(&self) -> [&Column<u32>; 10] {
        [
            &self.entry_lists,
            &self.starts,
            &self.program,
            &self.key_sets.starts,
            &self.key_sets.items,
            &self.sets.starts,
            &self.sets.items,
            &self.levels,
            &self.deep,
            &self.attribute_predicates,
        ]
    }

    /// Reads a matcher of this many slots from a file; `expression` returns the expression of a slot.
    pub fn read(
        reader: &mut SectionReader,
        attributes: &Attributes,
        missing: Missing,
        slots: usize,
        expression: impl Fn(Slot) -> Result<Expression>,
    ) -> Result<Compiled> {
        let counts: Column<u64> = reader.next()?;
        if counts.len() != 12 || counts[0] != slots as u64 {
            return Err(reader.damaged("the counts are wrong"));
        }
        let names = Strings::read(reader)?;
        let mut local = Vec::new();
        for (position, number) in (0..names.len()).zip(1..) {
            let name = names.get(position).ok_or_else(|| reader.damaged("an attribute's name is damaged"))?;
            let attribute = attributes.intern(&name.into()) as usize;
            local.resize(local.len().max(attribute + 1), 0);
            local[attribute] = number;
        }
        let keys = Keys::read(reader)?;
        let key_count = keys.len();
        let mut compiled = Compiled {
            missing,
            counts,
            names,
            attributes: local,
            keys,
            bounds: Bounds::read(reader)?,
            patterns: Patterns::read(reader)?,
            stabbing: Stabbing::read(reader)?,
            bits: Bits::read(reader, key_count)?,
            entry_lists: reader.next()?,
            starts: reader.next()?,
            program: reader.next()?,
            key_sets: Lists::read(reader)?,
            sets: Lists::read(reader)?,
            levels: reader.next()?,
            deep: reader.next()?,
            attribute_predicates: reader.next()?,
            scan: Scan::new([], attributes, missing),
            choice: Choice::default(),
        };
        // Every one of them is decoded.
        if !compiled.deep.is_sorted_by(|one, other| one < other) {
            return Err(reader.damaged("a list is damaged"));
        }
        if !compiled.deep.is_empty() {
            let deep = compiled.deep.iter().map(|&slot| expression(slot)).collect::<Result<Vec<_>>>()?;
            compiled.scan = Scan::new(&deep, attributes, missing);
        }
        Ok(compiled)
    }
}
