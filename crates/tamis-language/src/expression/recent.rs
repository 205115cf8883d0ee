//! Which short texts did this thread read lately?
//!
//! Names of attributes and values repeat from one expression to the next. Parsing and decoding take them from here, which
//! saves most allocations; and that two texts are one is known without comparing their bytes.

use std::cell::RefCell;
use std::sync::Arc;

/// Longer texts are rarely repeated.
const LONGEST: usize = 24;
/// How many texts are kept per thread: some 100 kB.
const KEPT: usize = 2048;

thread_local! {
    /// Every text has one place, where the next one with the same hash replaces it.
    static RECENT: RefCell<Vec<Option<Arc<str>>>> = const { RefCell::new(Vec::new()) };
}

/// A text that can be shared, and is if it was read lately.
pub(super) fn shared(text: &str) -> Arc<str> {
    if text.len() > LONGEST {
        return text.into();
    }
    RECENT.with_borrow_mut(|recent| {
        if recent.is_empty() {
            recent.resize(KEPT, None);
        }
        let place = &mut recent[hash(text.as_bytes()) % KEPT];
        match place {
            Some(known) if **known == *text => known.clone(),
            _ => place.insert(text.into()).clone(),
        }
    })
}

/// Texts that collide cost an allocation each, as they would without this, so nobody gains by finding some.
fn hash(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks::<8>();
    let rest = rest.iter().fold(bytes.len() as u64, |word, &byte| word << 8 | u64::from(byte));
    let words = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).chain([rest]);
    let hash =
        words.fold(0u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (hash >> 48) as usize
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
    }
}
