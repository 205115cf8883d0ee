//! Which pair that some expression asks about is this value of this attribute?
//!
//! A flat hash table over the pairs, numbered attribute by attribute. It is read in place, so it can
//! live in a file: the hash is fixed, and the pair itself decides. A pair stands in its slot, so that
//! finding it costs one read of far memory.

use std::ops::Range;

use super::values::{Buffer, Record, text_of};
use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

/// No pair: no expression asks about this value.
pub(super) const NO_KEY: u32 = u32::MAX;

/// A value on its way to its key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    pair: Record,
    slot: u32,
    /// The note of what stands in the slot.
    note: u32,
}

/// The pairs that equality asks about.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Open addressing with linear probing; the note is the key plus one, 0 where a slot is free.
    slots: Column<Record>,
    texts: Column<u8>,
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
        // At least a fifth of the slots is free.
        let capacity = if pairs.is_empty() { 0 } else { (pairs.len() * 5 / 4 + 1).next_power_of_two() };
        let mut slots = vec![<Record as bytemuck::Zeroable>::zeroed(); capacity];
        let mut texts = Vec::new();
        for (next_key, &number) in (1..).zip(&order) {
            let (attribute, value) = &pairs[number as usize];
            numbers[number as usize] = next_key - 1;
            firsts[*attribute as usize + 1] += 1;
            let mut buffer = Buffer::default();
            let text = text_of(value.as_ref(), &mut buffer);
            let mut pair = Record::new(*attribute, value.as_ref(), texts.len());
            pair.note = next_key;
            pair.write_text(text, &mut texts);
            let mut slot = pair.hash(text) as usize & (capacity - 1);
            while slots[slot].note != 0 {
                slot = (slot + 1) & (capacity - 1);
            }
            slots[slot] = pair;
        }
        for attribute in 1..firsts.len() {
            firsts[attribute] += firsts[attribute - 1];
        }
        (Keys { slots: slots.into(), texts: texts.into(), firsts: firsts.into() }, numbers)
    }

    /// The first step towards the key of a value of an attribute. Steps of several values are taken
    /// together, so that their reads do not wait for each other.
    pub fn probe(&self, attribute: u32, value: ValueRef<'_>) -> Probe {
        let pair = Record::new(attribute, value, 0);
        if self.of(attribute).is_empty() || self.slots.is_empty() {
            return Probe { pair, slot: 0, note: 0 };
        }
        let slot = pair.hash(text_of(value, &mut Buffer::default())) as usize & (self.slots.len() - 1);
        Probe { pair, slot: slot as u32, note: self.slots[slot].note }
    }

    /// The key of a value, or [`NO_KEY`].
    pub fn find(&self, probe: Probe, value: ValueRef<'_>) -> u32 {
        let Probe { pair, mut slot, mut note } = probe;
        if note == 0 {
            return NO_KEY;
        }
        let mut buffer = Buffer::default();
        let text = text_of(value, &mut buffer);
        // Some slots are free; the bound is for a damaged file.
        for _ in 0..self.slots.len() {
            if note == 0 {
                return NO_KEY;
            }
            if self.slots[slot as usize].is(pair, &self.texts, text) {
                return note - 1;
            }
            slot = (slot + 1) & (self.slots.len() - 1) as u32;
            note = self.slots[slot as usize].note;
        }
        NO_KEY
    }

    pub fn len(&self) -> usize {
        self.firsts.last().copied().unwrap_or(0) as usize
    }

    /// The keys of an attribute.
    pub fn of(&self, attribute: u32) -> Range<u32> {
        self.firsts[attribute as usize]..self.firsts[attribute as usize + 1]
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<Record>() * self.slots.len() + 4 * self.firsts.len() + self.texts.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.slots);
        sections.push(&self.texts);
        sections.push(&self.firsts);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Keys> {
        let slots: Column<Record> = reader.next()?;
        if !slots.is_empty() && !slots.len().is_power_of_two() {
            return Err(reader.damaged("a hash table has a wrong size"));
        }
        Ok(Keys { slots, texts: reader.next()?, firsts: reader.next()? })
    }
}
