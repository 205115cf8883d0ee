//! Which pair that some expression asks about is this value of this attribute?
//!
//! A flat hash table over the pairs, numbered attribute by attribute. It is read in place, so it can
//! live in a file: the hash is fixed, and the pair itself decides.

use crate::value::{Value, ValueRef};

/// No pair: no expression asks about this value.
pub(super) const NO_KEY: u32 = u32::MAX;

/// The pairs that equality asks about.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Open addressing with linear probing; a key plus one, or 0 for nothing.
    slots: Vec<u32>,
    attributes: Vec<u32>,
    /// What the value is: 0 and 1 for the booleans, 2 integer, 3 float, 4 string.
    kinds: Vec<u8>,
    /// The number's bits, or where the text starts.
    payloads: Vec<u64>,
    /// The length of the text; 0 for what is none.
    lengths: Vec<u32>,
    text: String,
    /// The first key of each attribute.
    firsts: Vec<u32>,
}

impl Keys {
    /// Numbers the pairs attribute by attribute; returns the number of each in the given order.
    pub fn new(pairs: &[(u32, Value)], attributes: usize) -> (Keys, Vec<u32>) {
        let mut order: Vec<u32> = (0..pairs.len() as u32).collect();
        order.sort_by_key(|&pair| pairs[pair as usize].0);
        let mut keys = Keys { firsts: vec![0; attributes + 2], ..Keys::default() };
        let mut numbers = vec![0; pairs.len()];
        let capacity = (pairs.len() * 2).next_power_of_two();
        keys.slots = vec![0; if pairs.is_empty() { 0 } else { capacity }];
        for (number, &pair) in order.iter().enumerate() {
            let (attribute, value) = &pairs[pair as usize];
            numbers[pair as usize] = number as u32;
            keys.firsts[*attribute as usize + 1] += 1;
            keys.attributes.push(*attribute);
            let (kind, payload, length) = match value {
                Value::Boolean(value) => (u8::from(*value), 0, 0),
                Value::Integer(value) => (2, *value as u64, 0),
                Value::Float(value) => (3, value.get().to_bits(), 0),
                Value::String(text) => {
                    let start = keys.text.len() as u64;
                    keys.text.push_str(text);
                    (4, start, text.len() as u32)
                }
            };
            keys.kinds.push(kind);
            keys.payloads.push(payload);
            keys.lengths.push(length);
            let mut slot = hash(*attribute, value.as_ref()) as usize & (capacity - 1);
            while keys.slots[slot] != 0 {
                slot = (slot + 1) & (capacity - 1);
            }
            keys.slots[slot] = number as u32 + 1;
        }
        for attribute in 1..keys.firsts.len() {
            keys.firsts[attribute] += keys.firsts[attribute - 1];
        }
        (keys, numbers)
    }

    /// The key of a value of an attribute, or [`NO_KEY`].
    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> u32 {
        if self.slots.is_empty() {
            return NO_KEY;
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(attribute, value) as usize & mask;
        loop {
            match self.slots[slot] {
                0 => return NO_KEY,
                key if self.is(key - 1, attribute, value) => return key - 1,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    fn is(&self, key: u32, attribute: u32, value: ValueRef<'_>) -> bool {
        let key = key as usize;
        if self.attributes[key] != attribute {
            return false;
        }
        let payload = self.payloads[key];
        match (self.kinds[key], value) {
            (kind @ (0 | 1), ValueRef::Boolean(value)) => kind == u8::from(value),
            (2, ValueRef::Integer(value)) => payload == value as u64,
            (3, ValueRef::Float(value)) => payload == value.get().to_bits(),
            (4, ValueRef::String(text)) => {
                let (start, length) = (payload as usize, self.lengths[key] as usize);
                length == text.len() && self.text.as_bytes()[start..start + length] == *text.as_bytes()
            }
            _ => false,
        }
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
        4 * (self.slots.len() + self.attributes.len() + self.firsts.len())
            + 13 * self.kinds.len()
            + self.text.len()
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
