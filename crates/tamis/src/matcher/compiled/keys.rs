//! Which pair that some expression asks about is this value of this attribute?
//!
//! A flat hash table over the pairs, numbered attribute by attribute. It is read in place, so it can
//! live in a file: the hash is fixed, and the pair itself decides.

use std::ops::Range;

use super::values::ValueColumns;
use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

/// No pair: no expression asks about this value.
pub(super) const NO_KEY: u32 = u32::MAX;

/// The high half of a hash.
const HIGH: u64 = 0xffff_ffff_0000_0000;

/// A value on its way to its key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    hash: u64,
    /// What stands where the value's slot would be; 0 for nothing.
    found: u64,
}

/// The pairs that equality asks about.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Open addressing with linear probing: a key plus one, or 0 for nothing, and above it the high
    /// half of the pair's hash.
    slots: Column<u64>,
    values: ValueColumns,
    /// The first key of each attribute.
    firsts: Column<u32>,
}

impl Keys {
    /// Numbers the pairs attribute by attribute, those of most `uses` first; returns the number of
    /// each in the given order.
    pub fn new(pairs: &[(u32, Value)], uses: &[u32], attributes: usize) -> (Keys, Vec<u32>) {
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_by_key(|&pair| (pairs[pair as usize].0, std::cmp::Reverse(uses[pair as usize])));
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
        let keys = Keys {
            slots: slots.into(),
            values: order.iter().map(|&pair| &pairs[pair as usize]).collect(),
            firsts: firsts.into(),
        };
        (keys, numbers)
    }

    /// The first step towards the key of a value of an attribute. Steps of several values are taken
    /// together, so that their reads do not wait for each other.
    pub fn probe(&self, attribute: u32, value: ValueRef<'_>) -> Probe {
        if self.of(attribute).is_empty() || self.slots.is_empty() {
            return Probe { hash: 0, found: 0 };
        }
        let hash = hash(attribute, value);
        Probe { hash, found: self.slots[hash as usize & (self.slots.len() - 1)] }
    }

    /// The key of a value of an attribute, or [`NO_KEY`].
    pub fn find(&self, probe: Probe, attribute: u32, value: ValueRef<'_>) -> u32 {
        let Probe { hash, mut found } = probe;
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash as usize & mask;
        // At least half of the slots are empty; the bound is for a damaged file.
        for _ in 0..self.slots.len() {
            if found == 0 {
                return NO_KEY;
            }
            let key = (found as u32).wrapping_sub(1);
            if (found ^ hash) & HIGH == 0 && self.values.is(key as usize, attribute, value) {
                return key;
            }
            slot = (slot + 1) & mask;
            found = self.slots[slot];
        }
        NO_KEY
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The keys of an attribute.
    pub fn of(&self, attribute: u32) -> Range<u32> {
        self.firsts[attribute as usize]..self.firsts[attribute as usize + 1]
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * self.slots.len() + 4 * self.firsts.len() + self.values.bytes()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.slots);
        self.values.write(sections);
        sections.push(&self.firsts);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Keys> {
        let slots: Column<u64> = reader.next()?;
        if !slots.is_empty() && !slots.len().is_power_of_two() {
            return Err(reader.damaged("a hash table has a wrong size"));
        }
        Ok(Keys { slots, values: ValueColumns::read(reader)?, firsts: reader.next()? })
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
