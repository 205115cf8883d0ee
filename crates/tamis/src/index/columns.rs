//! Which slots of a segment have the same value in a declared column of metadata?
//!
//! For every declared column, slots are grouped by their value in it. A condition on that
//! column is then evaluated once per group, on the metadata of the group's first slot.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use super::slots::Bits;
use crate::column::Column;
use crate::csr;
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event, Presence};
use crate::expression::check_name;
use crate::limits::Limits;
use crate::matcher::Slot;
use crate::sections::{SectionReader, Sections};
use crate::truth::Missing;
use crate::value::TimeZone;

/// The columns of metadata that an index declares.
#[derive(Debug)]
pub(super) struct Declared {
    names: Vec<Arc<str>>,
    numbers: Vec<AttributeId>,
    attributes: Attributes,
    limits: Limits,
}

impl Declared {
    pub fn new(names: &[Arc<str>], zone: &TimeZone, limits: &Limits) -> Result<Declared> {
        let attributes = Attributes::new(Missing::Unknown, limits, zone.clone());
        let mut distinct: Vec<Arc<str>> = Vec::with_capacity(names.len());
        for name in names {
            check_name(name, limits)?;
            if !distinct.contains(name) {
                distinct.push(name.clone());
            }
        }
        let numbers = distinct.iter().map(|name| attributes.intern(name)).collect();
        Ok(Declared { names: distinct, numbers, attributes, limits: limits.clone() })
    }

    /// No columns.
    pub fn none() -> Declared {
        let limits = Limits::none();
        let attributes = Attributes::new(Missing::Unknown, &limits, TimeZone::default());
        Declared { names: Vec::new(), numbers: Vec::new(), attributes, limits }
    }

    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn position(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|declared| **declared == *name)
    }
}

/// The slots of a segment by their values in the declared columns.
#[derive(Debug, Default)]
pub(super) struct MetadataColumns {
    columns: Vec<Grouped>,
}

/// Slots in groups.
#[derive(Debug)]
pub(super) struct Grouped {
    /// Where each group begins, and where the last one ends.
    starts: Column<u32>,
    /// Ascending in every group.
    slots: Column<Slot>,
}

/// Collects metadata for the columns.
#[derive(Debug)]
pub(super) struct MetadataColumnsBuilder<'a> {
    declared: &'a Declared,
    event: Event,
    key: String,
    columns: Vec<(HashMap<String, u32, ahash::RandomState>, Vec<u32>)>,
}

impl<'a> MetadataColumnsBuilder<'a> {
    pub fn new(declared: &'a Declared) -> MetadataColumnsBuilder<'a> {
        let columns = declared.names.iter().map(|_| Default::default()).collect();
        MetadataColumnsBuilder { declared, event: Event::default(), key: String::new(), columns }
    }

    /// Appends the metadata of the next slot.
    pub fn push(&mut self, metadata: Option<&str>) {
        if self.columns.is_empty() {
            return;
        }
        let Declared { numbers, attributes, limits, .. } = self.declared;
        let is_read = read_metadata(&mut self.event, metadata, attributes, limits);
        for (number, (groups, column)) in numbers.iter().zip(&mut self.columns) {
            self.key.clear();
            match self.event.get(*number) {
                // Some of it may be readable for a condition on fewer columns, so it has a group of its own.
                _ if !is_read => {
                    let _ = write!(self.key, "2{}", column.len());
                }
                Presence::Missing => {}
                Presence::Null => self.key.push('0'),
                Presence::Values(values) => {
                    self.key.push('1');
                    for value in values {
                        let _ = write!(self.key, "{value},");
                    }
                }
            }
            let next = groups.len() as u32;
            let group = match groups.get(&self.key) {
                Some(group) => *group,
                None => *groups.entry(self.key.clone()).or_insert(next),
            };
            column.push(group);
        }
    }

    pub fn finish(self) -> MetadataColumns {
        let columns = self.columns.into_iter().map(|(groups, column)| Grouped::new(groups.len(), &column));
        MetadataColumns { columns: columns.collect() }
    }
}

/// Reads metadata as an event. Metadata that is not an object, exceeds the limits of an event, or has something
/// unreadable for one of the attributes is read as empty; returns false.
pub(super) fn read_metadata(
    event: &mut Event,
    metadata: Option<&str>,
    attributes: &Attributes,
    limits: &Limits,
) -> bool {
    let read = event.decode_json(metadata.unwrap_or("{}").as_bytes(), attributes, limits);
    if read.is_err() {
        // An empty object can always be read.
        let _ = event.decode_json(b"{}", attributes, limits);
    }
    read.is_ok()
}

impl Grouped {
    fn new(groups: usize, column: &[u32]) -> Grouped {
        let (starts, slots) = csr::group(groups, column);
        Grouped { starts: starts.into(), slots: slots.into() }
    }

    /// The groups, none of which is empty; `None` instead of one that a damaged file lacks.
    pub fn groups(&self) -> impl Iterator<Item = Option<&[Slot]>> {
        self.starts
            .windows(2)
            .map(|ends| self.slots.get(ends[0] as usize..ends[1] as usize).filter(|group| !group.is_empty()))
    }

    /// Whether every slot is in exactly one group.
    fn are_for(&self, slots: usize) -> bool {
        let mut seen = vec![false; slots];
        let each_once = |slot: &Slot| {
            let seen = seen.get_mut(*slot as usize);
            seen.is_some_and(|seen| !std::mem::replace(seen, true))
        };
        let ends = (self.starts.first(), self.starts.last());
        self.slots.len() == slots
            && ends == (Some(&0), Some(&(slots as u32)))
            && self.starts.windows(2).all(|ends| ends[0] < ends[1])
            && self.slots.iter().all(each_once)
    }
}

impl MetadataColumns {
    pub fn get(&self, column: usize) -> Option<&Grouped> {
        self.columns.get(column)
    }

    /// Of so many slots, those that are alone in their groups of all columns. Those whose metadata cannot be read are
    /// among them. `None` if the columns are damaged.
    pub fn alone(&self, slots: usize) -> Option<Bits> {
        let mut all = Bits::full(slots);
        for column in &self.columns {
            let mut alone = Bits::new(slots);
            for group in column.groups() {
                if let [slot] = *group? {
                    ((slot as usize) < slots).then(|| alone.insert(slot))?;
                }
            }
            all.intersect(&alone);
        }
        Some(all)
    }

    pub fn bytes(&self) -> usize {
        4 * self.columns.iter().map(|column| column.starts.len() + column.slots.len()).sum::<usize>()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        for column in &self.columns {
            sections.push(&column.starts);
            sections.push(&column.slots);
        }
    }

    /// Reads as many columns as are declared. If they are not verified, their content is checked when it is read.
    pub fn read(
        reader: &mut SectionReader,
        declared: &Declared,
        slots: usize,
        verify: bool,
    ) -> Result<MetadataColumns> {
        let mut columns = Vec::with_capacity(declared.names.len());
        for _ in &declared.names {
            let column = Grouped { starts: reader.next()?, slots: reader.next()? };
            if verify && !column.are_for(slots) {
                return Err(reader.damaged("a column of metadata is incomplete"));
            }
            columns.push(column);
        }
        Ok(MetadataColumns { columns })
    }
}
