//! How do many subscriptions become a segment without all of them being in memory at once?
//!
//! A draft is read when its turn comes: its expression is taken apart for the matcher, its text and
//! what else belongs to it go into the records, and the rest is forgotten.

use std::borrow::Cow;
use std::panic::resume_unwind;

use super::Index;
use super::records::{Records, RecordsBuilder};
use super::segment::Segment;
use super::subscription::{Subscription, WrittenSubscription};
use crate::error::{Error, Result};
use crate::expression::{parse, shorten};
use crate::id::Id;
use crate::matcher::{CompiledBuilder, Slot};
use crate::value::ValueRef;

/// Fewer drafts than this are not worth another thread.
const PER_THREAD: usize = 5_000;

/// A subscription on its way into a segment.
pub(super) trait Draft: Sync {
    /// The subscription itself.
    fn read(&self) -> Result<Cow<'_, Subscription>>;

    /// The text of its expression, where it has one.
    fn text(&self) -> Option<&str> {
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

    fn text(&self) -> Option<&str> {
        self.segment.text(self.slot)
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
        let WrittenSubscription { id, text, metadata, boost } = self.written;
        let read = || {
            let expression = parse(text, self.index.limits())?;
            let (id, metadata) = (id.clone(), metadata.clone());
            let subscription = Subscription { id, expression, metadata, boost: *boost };
            self.index.check(&subscription)?;
            Ok(Cow::Owned(subscription))
        };
        read().map_err(|cause| Error::Item {
            position: self.position,
            name: name_of(id),
            cause: Box::new(cause),
        })
    }

    fn text(&self) -> Option<&str> {
        Some(self.written.text.trim())
    }
}

/// What an id is called in a message.
pub(super) fn name_of(id: &Id) -> String {
    match id {
        Id::Integer(number) => format!("id {number}"),
        Id::String(text) => format!("id {}", ValueRef::String(&shorten(text))),
    }
}

/// Whether a text can hold `xpath('...')`.
pub(super) fn may_ask_documents(text: &str) -> bool {
    text.as_bytes().windows(5).any(|word| word.eq_ignore_ascii_case(b"xpath"))
}

/// What drafts have become so far.
#[derive(Debug, Default)]
struct Gathered {
    records: RecordsBuilder,
    compiled: CompiledBuilder,
}

/// Reads the drafts on up to so many threads; fails with the first that cannot be read.
pub(super) fn gather<D: Draft>(drafts: &[D], threads: usize) -> Result<(Records, CompiledBuilder)> {
    let gather = |share: &[D]| -> Result<Gathered> {
        let mut gathered = Gathered::default();
        for draft in share {
            let subscription = draft.read()?;
            gathered.records.push(&subscription, draft.text());
            gathered.compiled.push(&subscription.expression);
        }
        Ok(gathered)
    };
    let threads = threads.min(drafts.len() / PER_THREAD).max(1);
    let mut shares = drafts.chunks(drafts.len().div_ceil(threads).max(1));
    let first = shares.next().unwrap_or_default();
    let Gathered { records, compiled } = std::thread::scope(|scope| {
        // A share whose thread cannot be started is read here.
        let start =
            |share| std::thread::Builder::new().spawn_scoped(scope, move || gather(share)).map_err(|_| share);
        let others: Vec<_> = shares.map(start).collect();
        let mut all = gather(first)?;
        for other in others {
            let other = match other {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic))?,
                Err(share) => gather(share)?,
            };
            all.records.append(other.records);
            all.compiled.append(&other.compiled);
        }
        Ok::<_, Error>(all)
    })?;
    Ok((records.finish(), compiled))
}
