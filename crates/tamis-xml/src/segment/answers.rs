//! Intermediate results for one document.

use super::Slot;

/// The work that matching a document took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// The states, or path pieces, that its elements led to; for `auto`, the state sets.
    pub transitions: u64,
    /// How often an element completed a path that filters need; for `auto`, the number of such
    /// paths.
    pub paths: u64,
    /// How often the values of a filter were tested.
    pub tested: u64,
    /// The number of filters that were evaluated on the whole document.
    pub evaluated: u64,
    /// Units of work, as [`Limits`](crate::Limits) bound them.
    pub units: u64,
}

/// A mark instead of a failure count: the filter will be evaluated.
pub const EVALUATED: u32 = u32::MAX;

/// Intermediate results for one document. Both tables are stamped with the document's number, which
/// never repeats, so they need no clearing.
#[derive(Debug)]
pub struct Answers {
    pub document: u64,
    /// For every path, the last document that reached it.
    pub reached: Vec<u64>,
    /// For every filter, the document that its mark belongs to, and the mark: groups reached, or
    /// value tests failed.
    pub marks: Vec<(u64, u32)>,
    pub matched: Bits,
    pub evaluate: Vec<Slot>,
    pub work: Work,
}

impl Answers {
    pub fn mark(&self, slot: Slot) -> u32 {
        let (document, mark) = self.marks[slot as usize];
        if document == self.document { mark } else { 0 }
    }

    /// Marks a filter with value tests to be evaluated at the end.
    pub fn defer(&mut self, slot: Slot) {
        if self.mark(slot) != EVALUATED {
            self.set_mark(slot, EVALUATED);
            self.evaluate.push(slot);
        }
    }

    pub fn set_mark(&mut self, slot: Slot, mark: u32) {
        self.marks[slot as usize] = (self.document, mark);
    }
}

/// Words per line: those of a cache line.
const LINE: usize = 8;

/// A set of small numbers that is drained in ascending order, in time proportional to its size. A
/// [`ListedSet`](tamis_base::reusable::ListedSet) would have to be sorted.
#[derive(Debug)]
pub struct Bits {
    words: Vec<u64>,
    /// Which lines may contain bits.
    used: Vec<bool>,
    /// Whether all lines may contain bits.
    dense: bool,
}

impl Bits {
    pub fn new(size: usize) -> Bits {
        let lines = size.div_ceil(64 * LINE);
        Bits { words: vec![0; lines * LINE], used: vec![false; lines], dense: false }
    }

    #[inline]
    pub fn is_set(&self, bit: u32) -> bool {
        self.words[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    #[inline]
    pub fn set(&mut self, bit: u32) {
        let word = bit as usize / 64;
        self.words[word] |= 1 << (bit % 64);
        self.used[word / LINE] = true;
    }

    /// Sets several bits. If there are at least as many as lines, used lines are no longer
    /// tracked.
    pub fn set_all(&mut self, bits: &[u32]) {
        self.dense |= bits.len() >= self.used.len() && !bits.is_empty();
        if !self.dense {
            return bits.iter().for_each(|bit| self.set(*bit));
        }
        for &bit in bits {
            self.words[bit as usize / 64] |= 1 << (bit % 64);
        }
    }

    /// Empties the set, and calls `found` with its numbers in ascending order, some at a time.
    ///
    /// Inlined, so that what `found` changes can stay in registers.
    #[inline(always)]
    pub fn drain(&mut self, mut found: impl FnMut(&[u32])) {
        let mut numbers = [0; 64 * LINE + AT_ONCE];
        let dense = std::mem::take(&mut self.dense);
        for (line, used) in self.used.iter_mut().enumerate() {
            if !std::mem::take(used) && !dense {
                continue;
            }
            let words = &mut self.words[line * LINE..][..LINE];
            found(write_line(words, (line * LINE * 64) as u32, &mut numbers));
        }
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
        self.used.fill(false);
        self.dense = false;
    }
}

/// How many numbers are written at a time, valid or not, to avoid mispredicted branches. If documents satisfy 11% of
/// 100,000 filters, a word has 7 bits on average.
const AT_ONCE: usize = 12;

/// Empties some words and writes the positions of their bits, offset by `first`.
fn write_line<'n>(words: &mut [u64], first: u32, numbers: &'n mut [u32; 64 * LINE + AT_ONCE]) -> &'n [u32] {
    let mut count = 0;
    for (word, first) in words.iter_mut().zip((first..).step_by(64)) {
        count += write_numbers(std::mem::take(word), first, &mut numbers[count..]);
    }
    &numbers[..count]
}

/// Writes the positions of a word's bits, offset by `first`. Returns their number.
#[inline]
fn write_numbers(mut word: u64, first: u32, numbers: &mut [u32]) -> usize {
    let count = word.count_ones() as usize;
    for some in numbers.chunks_exact_mut(AT_ONCE) {
        for number in some {
            *number = first + word.trailing_zeros();
            word &= word.wrapping_sub(1);
        }
        if word == 0 {
            break;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_come_out_in_order() {
        let mut bits = Bits::new(2000);
        for step in [1, 2, 3, 7, 63, 64, 511, 1999] {
            let expected: Vec<u32> = (0..2000).step_by(step).collect();
            expected.iter().rev().for_each(|bit| bits.set(*bit));
            assert!(bits.is_set(0) && bits.is_set(step as u32 % 2000) && (step == 1 || !bits.is_set(1)));
            let mut found = Vec::new();
            bits.drain(|some| found.extend_from_slice(some));
            assert_eq!(found, expected);
            bits.drain(|some| assert!(some.is_empty(), "nothing is left"));
            bits.set(7);
            bits.set_all(&expected);
            found.clear();
            bits.drain(|some| found.extend_from_slice(some));
            let with_seven: std::collections::BTreeSet<u32> = expected.into_iter().chain([7]).collect();
            assert!(found.into_iter().eq(with_seven.iter().copied()));
            bits.drain(|some| assert!(some.is_empty(), "nothing is left"));
            bits.set(7);
            bits.clear();
            bits.drain(|_| panic!("no line is used"));
            bits.set_all(&with_seven.iter().copied().collect::<Vec<_>>());
            bits.clear();
            bits.drain(|_| panic!("no line is used"));
            assert!(!bits.is_set(7));
        }
    }
}
