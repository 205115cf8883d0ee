//! Which short texts did this thread read lately?
//!
//! Names of attributes and values repeat from one expression to the next. Parsing and decoding take them from here, which
//! saves most allocations; and that two texts are one is known without comparing their bytes.

use std::cell::RefCell;
use std::sync::Arc;

/// Longer texts are rarely repeated.
const LONGEST: usize = 24;
/// How many texts are kept per thread: some 300 kB.
const KEPT: usize = 4096;

/// A text, and its bytes followed by zeros, which are compared without another read.
#[derive(Clone, Default)]
struct Recent {
    words: [u64; LONGEST / 8],
    text: Option<Arc<str>>,
}

thread_local! {
    /// Every text has one place, where the next one with the same hash replaces it.
    static RECENT: RefCell<Vec<Recent>> = const { RefCell::new(Vec::new()) };
}

/// A text that can be shared, and is if it was read lately.
pub(super) fn shared(text: &str) -> Arc<str> {
    if text.len() > LONGEST {
        return text.into();
    }
    let mut bytes = [0; LONGEST];
    bytes[..text.len()].copy_from_slice(text.as_bytes());
    let words = [0, 8, 16].map(|start| {
        let word = bytes[start..].first_chunk().copied();
        u64::from_le_bytes(word.unwrap_or_default())
    });
    RECENT.with_borrow_mut(|recent| {
        if recent.is_empty() {
            recent.resize(KEPT, Recent::default());
        }
        let place = &mut recent[hash(words) % KEPT];
        match &place.text {
            Some(known) if place.words == words && known.len() == text.len() => known.clone(),
            _ => {
                let text: Arc<str> = text.into();
                *place = Recent { words, text: Some(text.clone()) };
                text
            }
        }
    })
}

/// Texts that collide cost an allocation each, as they would without this, so nobody gains by finding some.
fn hash(words: [u64; LONGEST / 8]) -> usize {
    let hash = words
        .into_iter()
        .fold(0u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (hash >> 48) as usize
}

/// Which numbers were names given lately? Names that are one allocation are found without reading them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecentNumbers {
    numbers: Vec<u32>,
}

impl RecentNumbers {
    /// How many are kept.
    const KEPT: usize = 1024;

    /// The number of a name; `known` returns the name of a number.
    pub fn find<'a>(&self, name: &Arc<str>, known: impl Fn(u32) -> Option<&'a Arc<str>>) -> Option<u32> {
        let number = *self.numbers.get(place(name))?;
        known(number).filter(|known| Arc::ptr_eq(known, name)).map(|_| number)
    }

    /// Keeps the number of a name.
    pub fn insert(&mut self, name: &Arc<str>, number: u32) {
        if self.numbers.is_empty() {
            self.numbers.resize(RecentNumbers::KEPT, u32::MAX);
        }
        self.numbers[place(name)] = number;
    }
}

/// Where the number of a name is kept.
fn place(name: &Arc<str>) -> usize {
    let address = Arc::as_ptr(name).cast::<u8>().addr();
    (address >> 4 ^ address >> 14) % RecentNumbers::KEPT
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
        // Each is itself, whatever it replaces.
        for number in 0..3 * KEPT {
            let text = format!("{number}");
            assert_eq!(*shared(&text), *text);
        }
        assert_eq!((&*shared(""), &*first), ("", "state"));
        assert_eq!([&*shared("a"), &*shared("a\0"), &*shared("a\0\0")], ["a", "a\0", "a\0\0"]);
    }
}
