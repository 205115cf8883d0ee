//! How do many subscriptions become segments, on all processors?

use std::borrow::Cow;
use std::slice::Chunks;
use std::sync::Arc;

use super::algorithm::{Algorithm, SegmentSettings};
use super::draft::{Draft, Progress};
use super::segment::Segment;
use super::subscription::Subscription;
use crate::error::{Error, Result};
use crate::matcher::Slot;
use crate::parallel;

/// Fewer drafts than this are not worth another thread.
const PER_THREAD: usize = 5_000;

/// At most this many drafts are compiled together: with more, what they share would no longer be in the cache.
const PER_SEGMENT: usize = 64_000;

/// At most this many drafts are compiled together if they test patterns. Each segment searches the texts of an event again,
/// so they are read by all processors, but become as few segments as memory permits: these are held as expressions.
const PATTERNS_PER_SEGMENT: usize = 128_000;

/// How many drafts are read to judge what all of them test.
const JUDGED: usize = 64;

/// A subscription of a segment that is being merged with others.
pub(super) struct Kept<'a> {
    pub segment: &'a Segment,
    pub slot: Slot,
}

impl Draft for Kept<'_> {
    fn read(&self) -> Result<Cow<'_, Subscription>> {
        self.segment.subscription(self.slot).map(Cow::Owned)
    }
}

/// Reads and compiles drafts on all processors; many drafts become several segments, in order. Fails with the first
/// draft that cannot be read.
pub(super) fn compile<D: Draft>(drafts: &[D], settings: SegmentSettings<'_>) -> Result<Vec<Arc<Segment>>> {
    // The papers' matchers are requested by name and compile everything at once.
    if !matches!(settings.algorithm, Algorithm::Auto | Algorithm::Compiled) {
        return equal_shares(drafts, 1).map(|all| Ok(Arc::new(Segment::new(all, settings)?))).collect();
    }
    let threads = parallel::shares(drafts, PER_THREAD).len();
    if threads > 1 && are_mostly_patterns(drafts) {
        let shares = equal_shares(drafts, drafts.len().div_ceil(PATTERNS_PER_SEGMENT));
        return shares.map(|share| Ok(Arc::new(Segment::new(&read(share)?, settings)?))).collect();
    }
    let shares = drafts.len().div_ceil(PER_SEGMENT).next_multiple_of(threads.max(1));
    let shares: Vec<&[D]> = equal_shares(drafts, shares).collect();
    let mut segments = Vec::with_capacity(shares.len());
    for turn in shares.chunks(threads.max(1)) {
        for segment in parallel::work(turn, |share| Segment::new(share, settings)) {
            segments.push(Arc::new(segment?));
        }
    }
    Ok(segments)
}

/// As many consecutive shares as this, or fewer if that suffices.
fn equal_shares<D>(drafts: &[D], count: usize) -> Chunks<'_, D> {
    drafts.chunks(drafts.len().div_ceil(count.max(1)).max(1))
}

/// Whether most drafts test patterns, judged by a few of them. Drafts that cannot be read are left to the compiler.
fn are_mostly_patterns<D: Draft>(drafts: &[D]) -> bool {
    let judged = drafts.iter().step_by(drafts.len().div_ceil(JUDGED).max(1));
    let has_pattern = |draft: &&D| {
        draft
            .read()
            .is_ok_and(|read| read.expression.predicates().any(|predicate| predicate.test().is_pattern()))
    };
    2 * judged.clone().filter(has_pattern).count() > judged.len()
}

/// Reads drafts on all processors. Fails with the first one that cannot be read.
fn read<D: Draft>(drafts: &[D]) -> Result<Vec<Cow<'_, Subscription>>> {
    let read = parallel::work(&parallel::shares(drafts, PER_THREAD), |share| {
        share.iter().map(Draft::read).collect::<Result<Vec<_>>>()
    });
    Ok(read.into_iter().collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// What is wrong with each of these drafts that cannot be read, by position; uses all processors.
pub(super) fn refuse<D: Draft>(drafts: &[D], progress: &Progress) -> Result<Vec<(usize, Error)>> {
    let shares = parallel::shares(drafts, PER_THREAD);
    let read = |share: &[D]| -> Result<Vec<(usize, Error)>> {
        let mut refused = Vec::new();
        for (position, draft) in share.iter().enumerate() {
            progress.check()?;
            if let Err(error) = draft.read() {
                refused.push((position, error));
            }
        }
        Ok(refused)
    };
    let (mut refused, mut first) = (Vec::new(), 0);
    for (share, found) in shares.iter().zip(parallel::work(&shares, read)) {
        refused.extend(found?.into_iter().map(|(position, error)| (first + position, error)));
        first += share.len();
    }
    Ok(refused)
}
