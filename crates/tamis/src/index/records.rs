//! What does a segment keep of its subscriptions, and where is one of a given id?
//!
//! Ids, the canonical texts of expressions and metadata stand in columns; an expression is read
//! again when someone asks for it. A hash table of slots finds an id.

use xxhash_rust::xxh3::xxh3_64;

use super::subscription::Subscription;
use crate::column::Column;
use crate::error::Result;
use crate::id::{Id, IdRef};
use crate::matcher::Slot;
use crate::sections::{SectionReader, Sections};
use crate::strings::{Strings, StringsBuilder};

/// The subscriptions of a segment, by their slots.
#[derive(Debug)]
pub(super) struct Records {
    /// The ids, where all are integers; otherwise they stand in `ids`.
    integers: Column<i64>,
    ids: Strings,
    texts: Strings,
    /// How many ids are strings, and how many integers.
    kinds: Column<u64>,
    /// Empty where no subscription has metadata.
    metadata: Strings,
    /// What scores are multiplied by; empty where that is 1 for all.
    boosts: Column<f64>,
    /// Open addressing with linear probing; a slot plus one, or 0 for nothing.
    table: Column<u32>,
}

/// Subscriptions on their way into columns.
#[derive(Debug, Default)]
pub(super) struct RecordsBuilder {
    ids: StringsBuilder,
    /// The ids that are integers.
    integers: Vec<i64>,
    texts: StringsBuilder,
    metadata: StringsBuilder,
    has_metadata: bool,
    boosts: Vec<f64>,
}

impl RecordsBuilder {
    pub fn push(&mut self, subscription: &Subscription) {
        self.ids.push(&subscription.id.as_ref().encode());
        if let Id::Integer(number) = subscription.id {
            self.integers.push(number);
        }
        self.texts.push_display(&subscription.expression);
        self.metadata.push(subscription.metadata.as_deref().unwrap_or("").as_bytes());
        self.has_metadata |= subscription.metadata.is_some();
        self.boosts.push(subscription.boost);
    }

    pub fn append(&mut self, other: RecordsBuilder) {
        self.ids.append(other.ids);
        self.integers.extend(other.integers);
        self.texts.append(other.texts);
        self.metadata.append(other.metadata);
        self.has_metadata |= other.has_metadata;
        self.boosts.extend(other.boosts);
    }

    pub fn finish(self) -> Records {
        let (ids, texts) = (self.ids.finish(), self.texts.finish());
        let capacity = (ids.len() * 3 / 2 + 1).next_power_of_two();
        let mut table = vec![0u32; capacity];
        for slot in 0..ids.len() {
            let id = ids.bytes_of(slot).unwrap_or_default();
            let mut position = xxh3_64(id) as usize & (capacity - 1);
            while table[position] != 0 {
                position = (position + 1) & (capacity - 1);
            }
            table[position] = slot as u32 + 1;
        }
        let strings = ids.len() - self.integers.len();
        let boosted = self.boosts.iter().any(|&boost| boost != 1.0);
        Records {
            kinds: vec![strings as u64, self.integers.len() as u64].into(),
            integers: if strings == 0 { self.integers.into() } else { Column::default() },
            ids: if strings == 0 { Strings::default() } else { ids },
            texts,
            metadata: if self.has_metadata { self.metadata.finish() } else { Strings::default() },
            boosts: if boosted { self.boosts.into() } else { Column::default() },
            table: table.into(),
        }
    }
}

impl Records {
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// The slot of an id.
    pub fn find(&self, id: &Id) -> Option<Slot> {
        let wanted = id.as_ref().encode();
        let mask = self.table.len() - 1;
        let mut position = xxh3_64(&wanted) as usize & mask;
        // At least a third of the table is empty; the bound is for a damaged file.
        for _ in 0..self.table.len() {
            match self.table[position] {
                0 => return None,
                slot if self.id(slot - 1) == Some(id.as_ref()) => return Some(slot - 1),
                _ => position = (position + 1) & mask,
            }
        }
        None
    }

    /// The id in a slot; `None` where the file it lives in is damaged.
    #[inline]
    pub fn id(&self, slot: Slot) -> Option<IdRef<'_>> {
        match self.integers.get(slot as usize) {
            Some(&number) => Some(IdRef::Integer(number)),
            None => IdRef::decode(self.ids.bytes_of(slot as usize)?),
        }
    }

    /// Whether there are ids that are strings, and ids that are integers.
    pub fn id_kinds(&self) -> (bool, bool) {
        (self.kinds[0] > 0, self.kinds[1] > 0)
    }

    /// The canonical text of the expression in a slot; `None` where the file is damaged.
    pub fn text(&self, slot: Slot) -> Option<&str> {
        self.texts.get(slot as usize)
    }

    /// The metadata in a slot.
    pub fn metadata(&self, slot: Slot) -> Option<&str> {
        self.metadata.get(slot as usize).filter(|metadata| !metadata.is_empty())
    }

    /// What the score of a slot is multiplied by.
    pub fn boost(&self, slot: Slot) -> f64 {
        self.boosts.get(slot as usize).copied().unwrap_or(1.0)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * self.integers.len()
            + self.ids.bytes()
            + self.texts.bytes()
            + self.metadata.bytes()
            + 8 * self.boosts.len()
            + 4 * self.table.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.kinds);
        sections.push(&self.integers);
        self.ids.write(sections);
        self.texts.write(sections);
        self.metadata.write(sections);
        sections.push(&self.boosts);
        sections.push(&self.table);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Records> {
        let records = Records {
            kinds: reader.next()?,
            integers: reader.next()?,
            ids: Strings::read(reader)?,
            texts: Strings::read(reader)?,
            metadata: Strings::read(reader)?,
            boosts: reader.next()?,
            table: reader.next()?,
        };
        let whole = records.kinds.len() == 2
            && records.kinds[0].checked_add(records.kinds[1]) == Some(records.len() as u64)
            && (records.boosts.is_empty() || records.boosts.len() == records.len())
            && records.boosts.iter().all(|boost| boost.is_finite() && *boost >= 0.0)
            && records.integers.len().max(records.ids.len()) == records.len()
            && records.table.len().is_power_of_two()
            && records.table.len() > records.len();
        if whole { Ok(records) } else { Err(reader.damaged("the subscriptions are incomplete")) }
    }
}
