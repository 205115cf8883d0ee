//! Which short texts did this thread read lately?
//!
//! Names of attributes and values repeat from one expression to the next. Parsing and decoding take them from here, which
//! saves most allocations; and that two texts are one is known without comparing their bytes.

use std::cell::RefCell;
use std::sync::Arc;

/// Longer texts are rarely repeated.
const LONGEST: usize = 24;
/// How many texts are kept per thread: some 200 kB.
const KEPT: usize = 4096;

thread_local! {
    /// Every text has a pair of places, where it comes first; a new one replaces the second.
    static RECENT: RefCell<Vec<[Option<Arc<str>>; 2]>> = const { RefCell::new(Vec::new()) };
}

/// A text that can be shared, and is if it was read lately.
pub(super) fn shared(text: &str) -> Arc<str> {
    if text.len() > LONGEST {
        return text.into();
    }
    let words = words_of(text.as_bytes());
    RECENT.with_borrow_mut(|recent| {
        if recent.is_empty() {
            recent.resize(KEPT / 2, [None, None]);
        }
        let pair = &mut recent[hash(words, text.len()) % (KEPT / 2)];
        let is_text = |known: &&Arc<str>| known.len() == text.len() && words_of(known.as_bytes()) == words;
        if let Some(known) = pair[0].as_ref().filter(is_text) {
            return known.clone();
        }
        pair.swap(0, 1);
        if let Some(known) = pair[0].as_ref().filter(is_text) {
            return known.clone();
        }
        pair[0].insert(text.into()).clone()
    })
}

/// The bytes of a short text in three words; texts of one length have the same words only if they are equal. Some bytes
/// are read twice, which is faster than a loop over them.
fn words_of(bytes: &[u8]) -> [u64; 3] {
    let eight = |start: usize| bytes[start..].first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
    let four = |start: usize| bytes[start..].first_chunk().map_or(0, |chunk| u32::from_le_bytes(*chunk));
    match bytes.len() {
        0 => [0; 3],
        length @ 1..4 => {
            let [first, middle, last] = [0, length / 2, length - 1].map(|place| u64::from(bytes[place]));
            [first | middle << 8 | last << 16, 0, 0]
        }
        length @ 4..8 => [u64::from(four(0)) | u64::from(four(length - 4)) << 32, 0, 0],
        length @ 8..16 => [eight(0), eight(length - 8), 0],
        length => [eight(0), eight(8), eight(length - 8)],
    }
}

/// Texts that collide cost an allocation each, as they would without this, so nobody gains by finding some.
fn hash(words: [u64; 3], length: usize) -> usize {
    let hash = words
        .into_iter()
        .fold(length as u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (hash >> 48) as usize
}

/// Which numbers were names given lately? Names that are one allocation are found without reading them.
#[derive(Debug, Clone, Default)]
pub struct RecentNumbers {
    numbers: Vec<u32>,
}

impl RecentNumbers {
    /// How many are kept: 16 kB.
    const KEPT: usize = 4096;
    /// Fewer names are not worth the memory.
    const FEW: u32 = 16;

    /// The number of a name; `known` returns the name of a number.
    #[inline]
    pub fn find<'a>(&self, name: &Arc<str>, known: impl Fn(u32) -> Option<&'a Arc<str>>) -> Option<u32> {
        let number = *self.numbers.get(place(name))?;
        known(number).filter(|known| Arc::ptr_eq(known, name)).map(|_| number)
    }

    /// Keeps the number of a name, unless there are few so far.
    pub fn insert(&mut self, name: &Arc<str>, number: u32) {
        if self.numbers.is_empty() {
            if number < RecentNumbers::FEW {
                return;
            }
            self.numbers.resize(RecentNumbers::KEPT, u32::MAX);
        }
        self.numbers[place(name)] = number;
    }
}

/// Where the number of a name is kept.
fn place(name: &Arc<str>) -> usize {
    // Allocations are 32 bytes apart or more, and those of one expression mostly one behind the other.
    let address = Arc::as_ptr(name).cast::<u8>().addr();
    (address >> 5 ^ address >> 17) % RecentNumbers::KEPT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_shared_while_they_are_recent() {
        let (first, again) = (shared("state"), shared("state"));
        assert!(Arc::ptr_eq(&first, &again));
        let long = "x".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&shared(&long), &shared(&long)));
        // Every byte counts, at every length.
        for length in 0..=LONGEST {
            let text = "abcdefghijklmnopqrstuvwxyz"[..length].to_owned();
            for place in 0..length {
                let mut other = text.clone();
                other.replace_range(place..=place, "-");
                assert_ne!(words_of(text.as_bytes()), words_of(other.as_bytes()));
            }
            assert_eq!(*shared(&text), *text);
        }
        // Each is itself, whatever it replaces.
        for number in 0..3 * KEPT {
            let text = format!("{number}");
            assert_eq!(*shared(&text), *text);
        }
        assert_eq!((&*shared(""), &*first), ("", "state"));
        assert_eq!([&*shared("a"), &*shared("a\0"), &*shared("a\0\0")], ["a", "a\0", "a\0\0"]);
    }
}
