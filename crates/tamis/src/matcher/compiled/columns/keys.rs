//! Which of the pairs that expressions test is this value of this attribute?
//!
//! A flat hash table of the pairs, numbered attribute by attribute. It is read in place, so it can live in a file:
//! the seed of its hash is derived from the pairs (see `probing`), and the pairs themselves are compared. A pair is
//! stored in its bucket, so that finding it takes one cache miss.

use std::ops::Range;

use super::values::{Buffer, StoredPair, text_of};
use crate::column::Column;
use crate::csr::{self, is_ascending};
use crate::error::Result;
use crate::probing::place;
use crate::sections::{SectionReader, Sections};
use crate::value::{Value, ValueRef};

/// No pair: no expression tests this value.
pub(in crate::matcher::compiled) const NO_KEY: u32 = u32::MAX;

/// Texts are prefetched from this many values on.
const LEAST_TOUCHED: usize = 8;

/// A value whose key is being looked up.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct Probe {
    pair: StoredPair,
    bucket: u32,
    /// The note in the bucket.
    note: u32,
}

/// The pairs tested for equality.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Keys {
    /// Open addressing with linear probing; the note is the key plus one, or 0 if the bucket is free.
    table: Column<StoredPair>,
    texts: Column<u8>,
    /// The first key of each attribute.
    firsts: Column<u32>,
    /// The seed of the hash, and nothing else.
    seed: Column<u64>,
}

impl Keys {
    /// Numbers the pairs attribute by attribute, the most used first; returns the number of each pair in the given
    /// order.
    pub fn new(pairs: &[(u32, Value)], uses: &[u32], attributes: usize) -> (Keys, Vec<u32>) {
        let of_pairs: Vec<u32> = pairs.iter().map(|(attribute, _)| *attribute).collect();
        let (firsts, mut order) = csr::group(attributes + 1, &of_pairs);
        for of_attribute in firsts.windows(2) {
            let order = &mut order[of_attribute[0] as usize..of_attribute[1] as usize];
            order.sort_by_key(|&pair| std::cmp::Reverse(uses[pair as usize]));
        }
        let mut numbers = vec![0; pairs.len()];
        // At least a fifth of the buckets is free.
        let capacity = if pairs.is_empty() { 0 } else { (pairs.len() * 5 / 4 + 1).next_power_of_two() };
        let mut stored: Vec<StoredPair> = Vec::with_capacity(pairs.len());
        let mut texts = Vec::new();
        for (next_key, &number) in (1..).zip(&order) {
            let (attribute, value) = &pairs[number as usize];
            numbers[number as usize] = next_key - 1;
            let mut pair = StoredPair::new(*attribute, value.as_ref(), texts.len());
            pair.note = next_key;
            pair.write_text(text_of(value.as_ref(), &mut Buffer::default()), &mut texts);
            stored.push(pair);
        }
        let (seed, placed) = place(pairs.len(), capacity, |key, seed| {
            let value = pairs[order[key] as usize].1.as_ref();
            stored[key].hash(text_of(value, &mut Buffer::default()), seed)
        });
        let table = placed.into_iter().map(|key| match key {
            0 => <StoredPair as bytemuck::Zeroable>::zeroed(),
            key => stored[key as usize - 1],
        });
        let keys = Keys {
            table: table.collect(),
            texts: texts.into(),
            firsts: firsts.into(),
            seed: vec![seed].into(),
        };
        (keys, numbers)
    }

    /// The first step of looking up a value's key. It is done for several values before the next step, so that their
    /// cache misses overlap.
    pub fn probe(&self, attribute: u32, value: ValueRef<'_>) -> Probe {
        let pair = StoredPair::new(attribute, value, 0);
        if self.of(attribute).is_empty() || self.table.is_empty() {
            return Probe { pair, bucket: 0, note: 0 };
        }
        let mut buffer = Buffer::default();
        let text = pair.text_of(value, &mut buffer);
        let bucket = pair.hash(text, self.seed[0]) as usize & (self.table.len() - 1);
        Probe { pair, bucket: bucket as u32, note: self.table[bucket].note }
    }

    /// The second step, if there are enough values for it to pay off: reads the texts that they are compared with.
    pub fn prefetch(&self, probes: &[Probe]) {
        if probes.len() >= LEAST_TOUCHED {
            let taken = probes.iter().filter(|probe| probe.note != 0);
            let bytes = taken.filter_map(|probe| self.table[probe.bucket as usize].first_byte(&self.texts));
            std::hint::black_box(bytes.fold(0, |sum, byte| sum ^ byte));
        }
    }

    /// The key of a value, or [`NO_KEY`].
    pub fn find(&self, probe: Probe, value: ValueRef<'_>) -> u32 {
        let Probe { pair, mut bucket, mut note } = probe;
        if note == 0 {
            return NO_KEY;
        }
        let mut buffer = Buffer::default();
        let text = pair.text_of(value, &mut buffer);
        // Some buckets are free; the bound protects against a damaged file.
        for _ in 0..self.table.len() {
            if note == 0 {
                return NO_KEY;
            }
            if self.table[bucket as usize].is(pair, &self.texts, text) {
                return note - 1;
            }
            bucket = (bucket + 1) & (self.table.len() - 1) as u32;
            note = self.table[bucket as usize].note;
        }
        NO_KEY
    }

    /// Whether every pair has a key of its attribute; the largest attribute number is `attributes`.
    pub fn is_whole(&self, attributes: usize) -> bool {
        let of_attribute = |pair: &StoredPair| {
            let attribute = pair.attribute();
            attribute as usize <= attributes && self.of(attribute).contains(&(pair.note - 1))
        };
        self.firsts.len() == attributes + 2
            && is_ascending(&self.firsts, self.len())
            && self.len() <= self.table.len()
            && self
                .table
                .iter()
                .all(|pair| pair.note == 0 || (of_attribute(pair) && pair.is_whole(&self.texts)))
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
        size_of::<StoredPair>() * self.table.len() + 4 * self.firsts.len() + self.texts.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.table);
        sections.push(&self.texts);
        sections.push(&self.firsts);
        sections.push(&self.seed);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Keys> {
        let table: Column<StoredPair> = reader.next()?;
        if !table.is_empty() && !table.len().is_power_of_two() {
            return Err(reader.damaged("a hash table has a wrong size"));
        }
        let keys = Keys { table, texts: reader.next()?, firsts: reader.next()?, seed: reader.next()? };
        if keys.seed.len() != 1 {
            return Err(reader.damaged("a hash table has no seed"));
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probing::mix;

    #[test]
    fn values_chosen_to_collide_under_a_known_hash_are_found_at_once() {
        // A hash without a seed, as tables of format 7 had, whose low bits are alike for these.
        let label = mix(0x12 ^ 0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93);
        let known = |number: i64| mix(number as u64 ^ label, 0xa076_1d64_78bd_642f);
        let colliding = (0..).filter(|&number| known(number) & 8191 < 64).take(4000);
        let pairs: Vec<(u32, Value)> = colliding.map(|number| (1, Value::Integer(number))).collect();
        let (keys, numbers) = Keys::new(&pairs, &vec![1; pairs.len()], 1);
        let mut furthest = 0;
        for ((attribute, value), number) in pairs.iter().zip(numbers) {
            let probe = keys.probe(*attribute, value.as_ref());
            assert_eq!(keys.find(probe, value.as_ref()), number);
            let bucket = keys.table.iter().position(|pair| pair.note == number + 1).unwrap_or_default();
            furthest = furthest.max(bucket.wrapping_sub(probe.bucket as usize) & (keys.table.len() - 1));
        }
        assert!(furthest < 200, "{furthest}");
        assert_eq!(Keys::new(&pairs, &vec![1; pairs.len()], 1).0.seed[0], keys.seed[0]);
    }
}
