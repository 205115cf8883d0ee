//! How can a single word of an event show whether an attribute has one of a set of values?
//!
//! Every attribute has words of 64 bits: one bit for each of its pairs, with the most frequently tested in the first
//! word; if the pairs need several words, one more word into which all of them are folded; and one word for the ranks
//! of values among the bounds of ranges. A test is a word and a mask, and passes if the two have a bit in common.
//! Word 0 has all bits set, so every event passes a test of it.

use crate::column::Column;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};

const WIDTH: u32 = u64::BITS;

/// A test of one word of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::matcher::compiled) struct BitTest {
    pub word: u32,
    pub mask: u64,
    /// Whether an event passes only if it has what the test asks for.
    pub exact: bool,
}

impl BitTest {
    /// Every event passes this test.
    pub const NONE: BitTest = BitTest { word: 0, mask: u64::MAX, exact: true };
}

/// Where the words of an attribute are.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct AttributeWords {
    first_word: u32,
    first_key: u32,
    keys: u32,
    ranks: u32,
}

/// The words of all attributes.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Bits {
    layout: Column<AttributeWords>,
    /// How many words there are, word 0 included.
    words: u32,
}

impl Bits {
    /// Lays out the words; each attribute has a first key, a number of keys and a number of ranks.
    pub fn new(attributes: impl Iterator<Item = (u32, u32, u32)>) -> Bits {
        let mut words = 1;
        let lay_out = |(first_key, keys, ranks)| {
            let of = AttributeWords { first_word: words, first_key, keys, ranks };
            words += of.words();
            of
        };
        let layout = attributes.map(lay_out).collect();
        Bits { layout, words }
    }

    pub fn words(&self) -> usize {
        self.words as usize
    }

    /// Whether the words are those of these attributes, given as to [`Bits::new`].
    pub fn are_of(&self, attributes: impl Iterator<Item = (u32, u32, u32)>) -> bool {
        attributes.eq(self.layout.iter().map(|of| (of.first_key, of.keys, of.ranks)))
    }

    /// The test for some keys of an attribute.
    pub fn of_keys(&self, attribute: u32, keys: impl Iterator<Item = u32> + Clone) -> BitTest {
        let of = &self.layout[attribute as usize];
        let mask = keys.clone().fold(0, |mask, key| mask | of.key_bit(key));
        let mut words = keys.map(|key| of.key_word(key));
        // A set without keys matches no bit of any word.
        let first = words.next().unwrap_or(0);
        let exact = words.all(|word| word == first);
        BitTest { word: if exact { first } else { of.folded() }, mask, exact }
    }

    /// The test for the ranks from `first` to `last`.
    pub fn of_ranks(&self, attribute: u32, first: u32, last: u32) -> BitTest {
        let of = &self.layout[attribute as usize];
        let mask = match first <= last {
            true => (u64::MAX >> (WIDTH - 1 - of.bucket(last))) & (u64::MAX << of.bucket(first)),
            false => 0,
        };
        BitTest { word: of.rank_word(), mask, exact: of.ranks <= WIDTH }
    }

    /// The word and the bit of its own that a key has.
    pub fn key(&self, attribute: u32, key: u32) -> (u32, u64) {
        let of = &self.layout[attribute as usize];
        (of.key_word(key), of.key_bit(key))
    }

    /// Calls `set` with the words and bits of a key that an event has, its own first.
    pub fn with_key(&self, attribute: u32, key: u32, mut set: impl FnMut(u32, u64)) {
        let of = &self.layout[attribute as usize];
        set(of.key_word(key), of.key_bit(key));
        if of.keys > WIDTH {
            set(of.folded(), of.key_bit(key));
        }
    }

    /// Calls `set` with the word and bit of a rank that an event has.
    pub fn with_rank(&self, attribute: u32, rank: u32, mut set: impl FnMut(u32, u64)) {
        let of = &self.layout[attribute as usize];
        set(of.rank_word(), 1 << of.bucket(rank));
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<AttributeWords>() * self.layout.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.layout);
    }

    /// Reads the words of this many keys from a file.
    pub fn read(reader: &mut SectionReader, keys: usize) -> Result<Bits> {
        let layout: Column<AttributeWords> = reader.next()?;
        let (mut words, mut next_key) = (1u32, 0u32);
        for of in layout.iter() {
            if (of.first_word, of.first_key) != (words, next_key) || of.keys as usize > keys {
                return Err(reader.damaged("the bits of an attribute are misplaced"));
            }
            words = words.saturating_add(of.words());
            next_key = next_key.saturating_add(of.keys);
        }
        match next_key as usize == keys {
            true => Ok(Bits { layout, words }),
            false => Err(reader.damaged("the bits of some keys are missing")),
        }
    }
}

impl AttributeWords {
    fn words(self) -> u32 {
        self.keys.div_ceil(WIDTH) + u32::from(self.keys > WIDTH) + u32::from(self.ranks > 0)
    }

    fn key_word(self, key: u32) -> u32 {
        self.first_word + (key - self.first_key) / WIDTH
    }

    fn key_bit(self, key: u32) -> u64 {
        1 << ((key - self.first_key) % WIDTH)
    }

    /// The word into which all keys are folded, which is their only word if one is enough.
    fn folded(self) -> u32 {
        self.first_word + if self.keys > WIDTH { self.keys.div_ceil(WIDTH) } else { 0 }
    }

    fn rank_word(self) -> u32 {
        self.first_word + self.words() - 1
    }

    /// The bit of a rank; a bit of its own if there are enough bits.
    fn bucket(self, rank: u32) -> u32 {
        match self.ranks {
            ..=WIDTH => rank,
            ranks => (u64::from(rank) * u64::from(WIDTH) / u64::from(ranks)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_asked_for_passes_and_exact_tests_pass_nothing_else(
            keys in 1..200u32,
            asked in prop::collection::vec(0..200u32, 1..5),
            has in 0..200u32,
        ) {
            let bits = Bits::new([(0, 5, 0), (5, keys, 0)].into_iter());
            let asked: Vec<u32> = asked.into_iter().map(|key| 5 + key % keys).collect();
            let has = 5 + has % keys;
            let test = bits.of_keys(1, asked.iter().copied());
            let mut event = vec![0; bits.words()];
            bits.with_key(1, has, |word, bit| event[word as usize] |= bit);
            let passes = event[test.word as usize] & test.mask != 0;
            prop_assert!(passes || !asked.contains(&has));
            prop_assert!(!test.exact || passes == asked.contains(&has));
        }

        #[test]
        fn ranks_likewise(ranks in 1..300u32, first in 0..300u32, last in 0..300u32, rank in 0..300u32) {
            let bits = Bits::new([(0, 0, 0), (0, 70, ranks)].into_iter());
            let (first, last, rank) = (first % ranks, last % ranks, rank % ranks);
            let test = bits.of_ranks(1, first, last);
            let mut event = vec![0; bits.words()];
            bits.with_rank(1, rank, |word, bit| event[word as usize] |= bit);
            let passes = event[test.word as usize] & test.mask != 0;
            prop_assert!(passes || !(first..=last).contains(&rank));
            prop_assert!(!test.exact || passes == (first..=last).contains(&rank));
        }
    }
}
