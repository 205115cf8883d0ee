//! How are many subscriptions read without holding all of them in memory at once?
//!
//! Drafts are read one at a time: the matcher splits the expression into terms, its encoding,
//! metadata and other fields go into the stored subscriptions, and the expression is dropped. Most texts are read without making an
//! expression at all.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::Index;
use super::subscription::{Subscription, WrittenSubscription};
use crate::error::{Error, Result};
use crate::expression::{FlatExpression, parse, shorten};
use crate::id::Id;
use crate::value::ValueRef;

/// A subscription to be added to a segment.
pub(super) trait Draft: Sync {
    /// The subscription itself.
    fn read(&self) -> Result<Cow<'_, Subscription>>;

    /// The subscription, if its expression is a text that can be read into `flat`. Otherwise `read` returns it, or says
    /// what is wrong.
    fn read_flat(&self, _flat: &mut FlatExpression) -> Result<Option<&WrittenSubscription>> {
        Ok(None)
    }
}

impl Draft for Subscription {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        Ok(Cow::Borrowed(self))
    }
}

impl Draft for Cow<'_, Subscription> {
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
            self.index.check_parsed(&subscription)?;
            Ok(Cow::Owned(subscription))
        };
        read().map_err(|cause| Error::Item {
            position: self.position,
            name: name_of(&self.written.id),
            cause: Box::new(cause),
        })
    }

    fn read_flat(&self, flat: &mut FlatExpression) -> Result<Option<&WrittenSubscription>> {
        let WrittenSubscription { text, boost, validity, .. } = self.written;
        let is_flat =
            flat.read(text, self.index.limits()) && self.index.check_fields(*boost, validity).is_ok();
        Ok(is_flat.then_some(self.written))
    }
}

/// The progress of a long change, which others can watch and stop.
#[derive(Debug, Default)]
pub struct Progress {
    /// Whether to give up.
    pub stop: AtomicBool,
    /// About how many subscriptions have been read so far; some are read more than once.
    pub done: AtomicUsize,
}

impl Progress {
    /// Fails once the work is stopped.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// Drafts are counted so many at a time: threads that count the same work wait for each other.
const COUNTED: usize = 64;

/// A draft that can be read until the work is stopped.
pub(super) struct Stoppable<'a, D> {
    pub draft: &'a D,
    pub position: usize,
    pub work: &'a Progress,
}

impl<'a, D: Draft> Stoppable<'a, D> {
    /// These drafts, which can be read until the work is stopped.
    pub fn all(drafts: &'a [D], work: &'a Progress) -> impl Iterator<Item = Stoppable<'a, D>> {
        drafts.iter().enumerate().map(move |(position, draft)| Stoppable { draft, position, work })
    }
}

impl<D: Draft> Draft for Stoppable<'_, D> {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        self.work.check()?;
        self.count();
        self.draft.read()
    }

    fn read_flat(&self, flat: &mut FlatExpression) -> Result<Option<&WrittenSubscription>> {
        self.work.check()?;
        let read = self.draft.read_flat(flat)?;
        if read.is_some() {
            self.count();
        }
        Ok(read)
    }
}

impl<D> Stoppable<'_, D> {
    fn count(&self) {
        if self.position.is_multiple_of(COUNTED) {
            self.work.done.fetch_add(COUNTED, Ordering::Relaxed);
        }
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
            let before = text[..open].trim_end().as_bytes();
            // There may be a comment in between.
            [&b"any"[..], b"all", b"none", b"*/"].iter().any(|keyword| {
                let start = before.len().checked_sub(keyword.len());
                start.is_some_and(|start| before[start..].eq_ignore_ascii_case(keyword))
            })
        }) || contains_keyword(text, b"--")
    };
    contains_keyword(text, b"xpath") || asks_elements()
}

/// Whether a text contains a keyword, which is written in lower case here, in any case.
fn contains_keyword(text: &str, keyword: &[u8]) -> bool {
    let (bytes, first) = (text.as_bytes(), keyword[0]);
    memchr::memchr2_iter(first, first.to_ascii_uppercase(), bytes).any(|start| {
        bytes[start..].get(..keyword.len()).is_some_and(|part| part.eq_ignore_ascii_case(keyword))
    })
}

/// Whether ids are distinct. Most are numbered in ascending order, which is seen without a table.
pub(super) fn are_distinct<'a>(ids: impl Iterator<Item = &'a Id> + Clone) -> bool {
    let ascending = ids.clone().zip(ids.clone().skip(1)).all(|pair| match pair {
        (Id::Integer(one), Id::Integer(next)) => one < next,
        (Id::String(one), Id::String(next)) => one < next,
        _ => false,
    });
    let mut known: HashSet<&Id, ahash::RandomState> = HashSet::default();
    ascending || ids.into_iter().all(|id| known.insert(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_use_documents_or_elements_are_noticed() {
        for text in [
            "xpath('//a')",
            "a = 1 or XPath ('b')",
            "any(a, b = 1)",
            "NONE\n(a, b)",
            "all/* */(a, b)",
            "any\u{a0}(a, b)",
            "any/**/\u{3000}(a, b)",
        ] {
            assert!(must_be_known_first(text), "{text}");
        }
        for text in ["", "a", "x = 1 and pathx", "xpat", "a in ('any')", "a - b > 1", "many(a)x"] {
            let expected = text.starts_with("many");
            assert_eq!(must_be_known_first(text), expected, "{text}");
        }
        assert!(must_be_known_first("any -- a comment\n (a, b)"));
    }

    #[test]
    fn equal_ids_are_noticed_in_any_order() {
        let distinct = |ids: &[Id]| are_distinct(ids.iter());
        assert!(distinct(&[]) && distinct(&[1.into(), 2.into()]) && distinct(&[2.into(), 1.into()]));
        assert!(distinct(&["a".into(), "b".into(), 1.into()]) && distinct(&["1".into(), 1.into()]));
        assert!(!distinct(&[1.into(), 1.into()]) && !distinct(&["a".into(), 1.into(), "a".into()]));
        assert!(!distinct(&[1.into(), 3.into(), 2.into(), 3.into()]));
    }
}
