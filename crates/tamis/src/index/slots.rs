//! Which slots of a segment are in a set?

use crate::matcher::Slot;

/// A set of slots, one bit each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits {
    words: Box<[u64]>,
}

impl Bits {
    /// An empty set of slots below `slots`.
    pub fn new(slots: usize) -> Bits {
        Bits { words: vec![0; slots.div_ceil(64)].into() }
    }

    /// All slots below `slots`.
    pub fn full(slots: usize) -> Bits {
        let mut bits = Bits { words: vec![u64::MAX; slots.div_ceil(64)].into() };
        if let Some(last) = bits.words.last_mut().filter(|_| !slots.is_multiple_of(64)) {
            *last = (1 << (slots % 64)) - 1;
        }
        bits
    }

    pub fn insert(&mut self, slot: Slot) {
        self.words[slot as usize / 64] |= 1 << (slot % 64);
    }

    pub fn remove(&mut self, slot: Slot) {
        self.words[slot as usize / 64] &= !(1 << (slot % 64));
    }

    pub fn contains(&self, slot: Slot) -> bool {
        self.words.get(slot as usize / 64).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn intersect(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
    }

    pub fn unite(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Its slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        self.words.iter().zip(0..).flat_map(|(&word, position)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(64 * position + bit)
            })
        })
    }

    pub fn bytes(&self) -> usize {
        8 * self.words.len()
    }
}
