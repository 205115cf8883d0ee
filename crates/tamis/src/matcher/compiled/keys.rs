//! Which pair that some expression asks about is this value of this attribute?
//!
//! A flat hash table over the pairs, numbered attribute by attribute. It is read in place, so it can
//! live in a file: the hash is fixed, and the pair itself decides.

use super::values::ValueColumns;
use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

/// No pair: no expression asks about this value.
pub(super) const NO_KEY: u32 = u32::MAX;

/// The high half of a hash.
const HIGH: u64 = 0xffff_ffff_0000_0000;

/// The pairs that equality asks about.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Open addressing with linear probing: a key plus one, or 0 for nothing, and above it the high
    /// half of the pair's hash.
    slots: Column<u64>,
    attributes: Column<u32>,
    values: ValueColumns,
    /// The first key of each attribute.
    firsts: Column<u32>,
}

impl Keys {
    /// Numbers the pairs attribute by attribute; returns the number of each in the given order.
    pub fn new(pairs: &[(u32, Value)], attributes: usize) -> (Keys, Vec<u32>) {
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_by_key(|&pair| pairs[pair as usize].0);
        let mut numbers = vec![0; pairs.len()];
        let mut firsts = vec![0; attributes + 2];
        let capacity = if pairs.is_empty() { 0 } else { (pairs.len() * 2).next_power_of_two() };
        let mut slots = vec![0u64; capacity];
        for (number, &pair) in order.iter().enumerate() {
            let (attribute, value) = &pairs[pair as usize];
            numbers[pair as usize] = number as u32;
            firsts[*attribute as usize + 1] += 1;
            let hash = hash(*attribute, value.as_ref());
            let mut slot = hash as usize & (capacity - 1);
            while slots[slot] != 0 {
                slot = (slot + 1) & (capacity - 1);
            }
            slots[slot] = hash & HIGH | (number as u64 + 1);
        }
        for attribute in 1..firsts.len() {
            firsts[attribute] += firsts[attribute - 1];
        }
        let sorted = || order.iter().map(|&pair| &pairs[pair as usize]);
        let keys = Keys {
            slots: slots.into(),
            attributes: sorted().map(|(attribute, _)| *attribute).collect(),
            values: sorted().map(|(_, value)| value).collect(),
            firsts: firsts.into(),
        };
        (keys, numbers)
    }

    /// The key of a value of an attribute, or [`NO_KEY`].
    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> u32 {
        let mask = self.slots.len().wrapping_sub(1);
        let hash = hash(attribute, value);
        let mut slot = hash as usize & mask;
        // At least half of the slots are empty; the bound is for a damaged file.
        for _ in 0..self.slots.len() {
            let found = self.slots[slot];
            if found == 0 {
                return NO_KEY;
            }
            let key = (found as u32).wrapping_sub(1);
            if (found ^ hash) & HIGH == 0 && self.is(key as usize, attribute, value) {
                return key;
            }
            slot = (slot + 1) & mask;
        }
        NO_KEY
    }

    fn is(&self, key: usize, attribute: u32, value: ValueRef<'_>) -> bool {
        self.attributes[key] == attribute && self.values.is(key, value)
    }

    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// The bit of a key among the 32 of its attribute's mask.
    pub fn bit(&self, key: u32) -> u32 {
        1 << ((key - self.firsts[self.attributes[key as usize] as usize]) & 31)
    }

    /// Whether no two keys of the attribute share a bit.
    pub fn bits_are_exact(&self, attribute: u32) -> bool {
        let attribute = attribute as usize;
        self.firsts[attribute + 1] - self.firsts[attribute] <= 32
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * self.slots.len() + 4 * (self.attributes.len() + self.firsts.len()) + self.values.bytes()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.slots);
        sections.push(&self.attributes);
        self.values.write(sections);
        sections.push(&self.firsts);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Keys> {
        let slots: Column<u64> = reader.next()?;
        if !slots.is_empty() && !slots.len().is_power_of_two() {
            return Err(reader.damaged("a hash table has a wrong size"));
        }
        Ok(Keys {
            slots,
            attributes: reader.next()?,
            values: ValueColumns::read(reader)?,
            firsts: reader.next()?,
        })
    }
}

fn hash(attribute: u32, value: ValueRef<'_>) -> u64 {
    use xxhash_rust::xxh3::xxh3_64_with_seed as xxh3;
    let seed = u64::from(attribute);
    match value {
        ValueRef::Boolean(value) => xxh3(&[u8::from(value)], seed),
        ValueRef::Integer(value) => xxh3(&value.to_le_bytes(), seed),
        ValueRef::Float(value) => xxh3(&value.get().to_le_bytes(), seed),
        ValueRef::String(text) => xxh3(text.as_bytes(), seed),
    }
}
