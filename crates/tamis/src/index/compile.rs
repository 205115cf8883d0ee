//! How do many subscriptions become segments, on all processors?

use std::borrow::Cow;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};

use super::algorithm::{Algorithm, SegmentSettings};
use super::draft::{Draft, Progress};
use super::segment::Segment;
use super::subscription::Subscription;
use crate::error::{Error, Result};
use crate::matcher::Slot;

/// Fewer drafts than this are not worth another thread.
const PER_THREAD: usize = 5_000;

/// At most this many drafts are compiled together: with more, what they share would no longer be in the cache.
const PER_SEGMENT: usize = 64_000;

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

/// Compiles each share on its own thread, the last one on this thread.
fn compile_at_once<D: Draft>(shares: &[&[D]], settings: SegmentSettings<'_>) -> Vec<Result<Segment>> {
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

/// What is wrong with each of these drafts that cannot be read, by position; uses all processors.
pub(super) fn refuse<D: Draft>(drafts: &[D], work: &Progress) -> Result<Vec<(usize, Error)>> {
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

/// The number of available processors; read once, because the system reads files to answer.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, |threads| threads.get()))
}
