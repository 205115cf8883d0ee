//! What is known so far about a document?

use super::Slot;

/// In place of a count of failures: the filter waits for its evaluation.
pub const EVALUATED: u32 = u32::MAX;

/// What is known so far about a document.
#[derive(Debug)]
pub struct Answers {
    pub document: u64,
    /// Of every path, the last document that reached it.
    pub reached: Vec<u64>,
    /// Of every filter, the document that `marks` speaks of, and the groups reached or values failed.
    pub marks: Vec<(u64, u32)>,
    pub matched: Bits,
    pub evaluate: Vec<Slot>,
}

impl Answers {
    pub fn mark(&self, slot: Slot) -> u32 {
        let (document, mark) = self.marks[slot as usize];
        if document == self.document { mark } else { 0 }
    }

    /// Has a filter that tests values evaluated in the end.
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

/// A set of small numbers that is emptied in order, in time proportional to what it holds.
#[derive(Debug)]
pub struct Bits {
    words: Vec<u64>,
    /// Which words are not zero.
    used: Vec<u64>,
}

impl Bits {
    pub fn new(size: usize) -> Bits {
        let words = size.div_ceil(64);
        Bits { words: vec![0; words], used: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub fn is_set(&self, bit: u32) -> bool {
        self.words[bit as usize / 64] >> (bit % 64) & 1 == 1
    }

    #[inline]
    pub fn set(&mut self, bit: u32) {
        let word = bit as usize / 64;
        self.words[word] |= 1 << (bit % 64);
        self.used[word / 64] |= 1 << (word % 64);
    }

    pub fn drain(&mut self, mut found: impl FnMut(u32)) {
        for (at, used) in self.used.iter_mut().enumerate() {
            while *used != 0 {
                let word = at * 64 + used.trailing_zeros() as usize;
                *used &= *used - 1;
                let mut bits = std::mem::take(&mut self.words[word]);
                while bits != 0 {
                    found(word as u32 * 64 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
        }
    }
}
