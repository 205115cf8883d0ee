//! How do many subscriptions become a segment without all of them being in memory at once?
//!
//! A draft is read when its turn comes: its expression is taken apart for the matcher, its text and
//! what else belongs to it go into the records, and the rest is forgotten.

use std::borrow::Cow;
use std::panic::resume_unwind;

use super::records::{Records, RecordsBuilder};
use super::segment::Segment;
use super::subscription::Subscription;
use crate::error::Result;
use crate::matcher::{CompiledBuilder, Slot};

/// Fewer drafts than this are not worth another thread.
const PER_THREAD: usize = 5_000;

/// A subscription on its way into a segment.
pub(super) trait Draft: Sync {
    /// The subscription itself.
    fn read(&self) -> Result<Cow<'_, Subscription>>;
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
            gathered.records.push(&subscription);
            gathered.compiled.push(&subscription.expression);
        }
        Ok(gathered)
    };
    let threads = threads.min(drafts.len() / PER_THREAD).max(1);
    let mut shares = drafts.chunks(drafts.len().div_ceil(threads).max(1));
    let first = shares.next().unwrap_or_default();
    let Gathered { records, compiled } = std::thread::scope(|scope| {
        let others: Vec<_> = shares.map(|share| scope.spawn(move || gather(share))).collect();
        let mut all = gather(first)?;
        for other in others {
            let other = other.join().unwrap_or_else(|panic| resume_unwind(panic))?;
            all.records.append(other.records);
            all.compiled.append(&other.compiled);
        }
        Ok::<_, crate::error::Error>(all)
    })?;
    Ok((records.finish(), compiled))
}
