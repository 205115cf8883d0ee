//! How are many subscriptions read without holding all of them in memory at once?
//!
//! Drafts are read one at a time: the matcher splits the expression into terms, its encoding,
//! metadata and other fields go into the records, and the expression is dropped.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Index;
use super::subscription::{Subscription, WrittenSubscription};
use crate::error::{Error, Result};
use crate::expression::{parse, shorten};
use crate::id::Id;
use crate::value::ValueRef;

/// A subscription to be added to a segment.
pub(super) trait Draft: Sync {
    /// The subscription itself.
    fn read(&self) -> Result<Cow<'_, Subscription>>;
}

impl Draft for Subscription {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        Ok(Cow::Borrowed(self))
    }
}

/// A subscription in text form to be added to an index.
pub(super) struct Written<'a> {
    pub index: &'a Index,
    pub position: usize,
    pub written: &'a WrittenSubscription,
}

impl Draft for Written<'_> {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        let read = || {
            let subscription = self.written.with(parse(&self.written.text, self.index.limits())?);
            self.index.check(&subscription)?;
            Ok(Cow::Owned(subscription))
        };
        read().map_err(|cause| Error::Item {
            position: self.position,
            name: name_of(&self.written.id),
            cause: Box::new(cause),
        })
    }
}

/// The progress of a long change, which others can watch and stop.
#[derive(Debug, Default)]
pub struct Work {
    /// Whether to give up.
    pub stop: AtomicBool,
    /// How many subscriptions have been read so far; some are read more than once.
    pub done: AtomicUsize,
}

impl Work {
    /// Fails once the work is stopped.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// A draft that can be read until the work is stopped.
pub(super) struct Stoppable<'a, D> {
    pub draft: &'a D,
    pub work: &'a Work,
}

impl<D: Draft> Draft for Stoppable<'_, D> {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        self.work.check()?;
        self.work.done.fetch_add(1, Ordering::Relaxed);
        self.draft.read()
    }
}

/// How messages name an id.
pub(super) fn name_of(id: &Id) -> String {
    match id {
        Id::Integer(number) => format!("id {number}"),
        Id::String(text) => format!("id {}", ValueRef::String(&shorten(text))),
    }
}

/// Whether a text may use documents or elements of lists, which must be known before the subscription is added.
pub(super) fn must_be_known_first(text: &str) -> bool {
    let asks_elements = || {
        let bytes = text.as_bytes();
        memchr::memchr_iter(b'(', bytes).any(|open| {
            let before = bytes[..open].trim_ascii_end();
            // There may be a comment in between.
            [&b"any"[..], b"all", b"none", b"*/"].iter().any(|word| {
                let start = before.len().checked_sub(word.len());
                start.is_some_and(|start| before[start..].eq_ignore_ascii_case(word))
            })
        }) || contains_word(text, b"--")
    };
    contains_word(text, b"xpath") || asks_elements()
}

/// Whether a text contains a word, in any case.
fn contains_word(text: &str, word: &[u8]) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}
