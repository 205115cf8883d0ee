//! Which of many cells are set, and where?
//!
//! A second layer has a bit for every word of the first that is not empty, so that finding and clearing what
//! is set costs little more than there is of it. Unlike a `ListedSet`, it is read in order, and in parts.

use std::ops::Range;

/// A set of numbers.
#[derive(Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    filled: Vec<u64>,
}

impl Bits {
    /// Makes room for numbers below `count`; the set must be empty.
    pub fn begin(&mut self, count: usize) {
        let words = count.div_ceil(64);
        if self.words.len() < words {
            self.words.resize(words, 0);
            self.filled.resize(words.div_ceil(64), 0);
        }
    }

    #[inline]
    pub fn set(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] |= 1 << (number % 64);
        self.filled[word / 64] |= 1 << (word % 64);
    }

    pub fn contains(&self, number: u32) -> bool {
        self.words[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// Calls `found` with the numbers of a range, ascending.
    pub fn for_each(&self, range: Range<u32>, mut found: impl FnMut(u32)) {
        let (start, end) = (range.start as usize, range.end as usize);
        if start >= end {
            return;
        }
        let (first, last) = (start / 64, (end - 1) / 64);
        for group in first / 64..=last / 64 {
            let mut filled = self.filled[group];
            while filled != 0 {
                let word = group * 64 + filled.trailing_zeros() as usize;
                filled &= filled - 1;
                if word < first || word > last {
                    continue;
                }
                let mut bits = self.words[word];
                while bits != 0 {
                    let number = word * 64 + bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if (start..end).contains(&number) {
                        found(number as u32);
                    }
                }
            }
        }
    }

    /// Calls `found` with all numbers, ascending, and empties the set.
    pub fn drain(&mut self, mut found: impl FnMut(u32)) {
        for (group, filled) in self.filled.iter_mut().enumerate() {
            let mut rest = std::mem::take(filled);
            while rest != 0 {
                let word = group * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let mut bits = std::mem::take(&mut self.words[word]);
                while bits != 0 {
                    found((word * 64) as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        for (group, filled) in self.filled.iter_mut().enumerate() {
            let mut rest = std::mem::take(filled);
            while rest != 0 {
                self.words[group * 64 + rest.trailing_zeros() as usize] = 0;
                rest &= rest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bits: &Bits, range: Range<u32>) -> Vec<u32> {
        let mut found = Vec::new();
        bits.for_each(range, |number| found.push(number));
        found
    }

    #[test]
    fn what_is_set_is_found_and_cleared() {
        let mut bits = Bits::default();
        bits.begin(10_000);
        let numbers = [0, 1, 63, 64, 4095, 4096, 4100, 9_999];
        numbers.iter().rev().for_each(|&number| bits.set(number));
        assert!(bits.contains(64) && !bits.contains(65));
        assert_eq!(found(&bits, 0..10_000), numbers);
        assert_eq!(found(&bits, 1..4096), [1, 63, 64, 4095]);
        assert_eq!(found(&bits, 4096..4097), [4096]);
        assert!(found(&bits, 5..5).is_empty());
        bits.clear();
        assert!(found(&bits, 0..10_000).is_empty());
        bits.begin(20_000);
        bits.set(19_999);
        assert_eq!(found(&bits, 0..20_000), [19_999]);
        numbers.iter().for_each(|&number| bits.set(number));
        let mut drained = Vec::new();
        bits.drain(|number| drained.push(number));
        assert_eq!(drained, numbers.into_iter().chain([19_999]).collect::<Vec<_>>());
        bits.drain(|number| panic!("{number} is left"));
    }
}
