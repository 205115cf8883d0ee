//! How do many subscriptions become segments without all of them being in memory at once?
//!
//! A draft is read when its turn comes: its expression is taken apart for the matcher, its text and
//! what else belongs to it go into the records, and the rest is forgotten.

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::Index;
use super::segment::{Algorithm, Segment, Settings};
use super::subscription::{Subscription, WrittenSubscription};
use crate::error::{Error, Result};
use crate::expression::{parse, shorten};
use crate::id::Id;
use crate::matcher::Slot;
use crate::value::ValueRef;

/// Fewer drafts than this are not worth another thread.
const PER_THREAD: usize = 5_000;

/// More drafts than this are not compiled at once: what they have in common would no longer be near.
const PER_SEGMENT: usize = 64_000;

/// A subscription on its way into a segment.
pub(super) trait Draft: Sync {
    /// The subscription itself.
    fn read(&self) -> Result<Cow<'_, Subscription>>;

    /// The text of its expression, where it has one.
    fn text(&self) -> Option<Cow<'_, str>> {
        None
    }
}

impl Draft for Subscription {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        Ok(Cow::Borrowed(self))
    }
}

/// A subscription of a segment that is merged with others.
pub(super) struct Kept<'a> {
    pub segment: &'a Segment,
    pub slot: Slot,
}

impl Draft for Kept<'_> {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        self.segment.subscription(self.slot).map(Cow::Owned)
    }

    fn text(&self) -> Option<Cow<'_, str>> {
        self.segment.text(self.slot).map(Cow::Owned)
    }
}

/// A written subscription on its way into an index.
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

    fn text(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(self.written.text.trim()))
    }
}

/// A long change, as others see it.
#[derive(Debug, Default)]
pub struct Work {
    /// Whether to give up.
    pub stop: AtomicBool,
    /// How many subscriptions were read so far; some are read more than once.
    pub done: AtomicUsize,
}

impl Work {
    /// Fails once somebody says stop.
    pub(super) fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) }
    }
}

/// A draft that can be read until somebody says stop.
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

    fn text(&self) -> Option<Cow<'_, str>> {
        self.draft.text()
    }
}

/// What an id is called in a message.
pub(super) fn name_of(id: &Id) -> String {
    match id {
        Id::Integer(number) => format!("id {number}"),
        Id::String(text) => format!("id {}", ValueRef::String(&shorten(text))),
    }
}

/// Whether a text can ask about documents or about elements of lists, which must be known before the
/// subscription is.
pub(super) fn must_be_known_first(text: &str) -> bool {
    let asks_elements = || {
        let bytes = text.as_bytes();
        memchr::memchr_iter(b'(', bytes).any(|open| {
            let before = bytes[..open].trim_ascii_end();
            // A comment may stand between.
            [&b"any"[..], b"all", b"none", b"*/"].iter().any(|word| {
                let start = before.len().checked_sub(word.len());
                start.is_some_and(|start| before[start..].eq_ignore_ascii_case(word))
            })
        }) || contains_word(text, b"--")
    };
    contains_word(text, b"xpath") || asks_elements()
}

/// Whether a text holds a word, in whatever case.
pub(super) fn contains_word(text: &str, word: &[u8]) -> bool {
    text.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// Reads and compiles drafts on all processors: many become several segments, one behind the other.
/// Fails with the first that cannot be read.
pub(super) fn compile<D: Draft>(drafts: &[D], settings: Settings<'_>) -> Result<Vec<Arc<Segment>>> {
    // The matchers of the papers are asked for by name: what they do, they do to all at once.
    let whole = !matches!(settings.algorithm, Algorithm::Auto | Algorithm::Compiled);
    let threads = if whole { 1 } else { processors().min(drafts.len() / PER_THREAD).max(1) };
    let shares = if whole { 1 } else { drafts.len().div_ceil(PER_SEGMENT).next_multiple_of(threads) };
    let shares: Vec<&[D]> = drafts.chunks(drafts.len().div_ceil(shares.max(1)).max(1)).collect();
    let mut segments = Vec::with_capacity(shares.len());
    for turn in shares.chunks(threads) {
        for segment in compile_at_once(turn, settings) {
            segments.push(Arc::new(segment?));
        }
    }
    Ok(segments)
}

/// Compiles each share on a thread of its own, the last of them on this one.
fn compile_at_once<D: Draft>(shares: &[&[D]], settings: Settings<'_>) -> Vec<Result<Segment>> {
    let Some((last, others)) = shares.split_last() else { return Vec::new() };
    std::thread::scope(|scope| {
        // A share whose thread cannot be started is compiled here.
        let start = |share| {
            let thread = std::thread::Builder::new();
            thread.spawn_scoped(scope, move || Segment::new(share, settings)).map_err(|_| share)
        };
        let others: Vec<_> = others.iter().copied().map(start).collect();
        let last = Segment::new(last, settings);
        let others = others.into_iter().map(|other| match other {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(share) => Segment::new(share, settings),
        });
        others.chain([last]).collect()
    })
}

/// What is wrong with some of these drafts, with their positions; all processors read.
pub(super) fn refuse<D: Draft>(drafts: &[D], work: &Work) -> Result<Vec<(usize, Error)>> {
    let threads = processors().min(drafts.len() / PER_THREAD).max(1);
    let share = drafts.len().div_ceil(threads).max(1);
    let read = |(number, share_of): (usize, &[D])| -> Result<Vec<(usize, Error)>> {
        let mut refused = Vec::new();
        for (position, draft) in share_of.iter().enumerate() {
            work.check()?;
            if let Err(error) = draft.read() {
                refused.push((number * share + position, error));
            }
        }
        Ok(refused)
    };
    std::thread::scope(|scope| {
        let shares = drafts.chunks(share).enumerate();
        let threads: Vec<_> = shares
            .map(|share| {
                std::thread::Builder::new().spawn_scoped(scope, move || read(share)).map_err(|_| share)
            })
            .collect();
        let mut refused = Vec::new();
        for thread in threads {
            // A share whose thread could not be started is read here.
            let share = match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(share) => read(share),
            };
            refused.extend(share?);
        }
        Ok(refused)
    })
}

/// How many threads there are processors for; asked once, because the system reads files to answer.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, |threads| threads.get()))
}
