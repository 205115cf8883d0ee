//! Which segments are merged, when, and by which thread?

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::compile::Kept;
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::{AT_ONCE, Shared};
use crate::error::Result;
use crate::event::Event;

/// How many neighbouring segments of one size class are merged, and the ratio of two classes.
const MERGE: usize = 8;

/// A segment that matching reads so many bytes of is merged with no other: positions in one are 32 bits
/// wide, which [`MERGE`] of less than this do not exceed.
const FULL: usize = 1 << 30;

impl Shared {
    /// The segments as one, without what is removed at `version`; nothing if nothing is left.
    pub(super) fn merge(
        &self,
        parts: &[Arc<Segment>],
        version: u64,
        sample: &[Event],
    ) -> Result<Option<Arc<Segment>>> {
        let live = parts.iter().flat_map(|segment| segment.live(version).map(|slot| Kept { segment, slot }));
        let live: Vec<Kept<'_>> = live.collect();
        if live.is_empty() {
            return Ok(None);
        }
        let attributes = Arc::new(self.load().attributes.fork());
        let segment = Segment::new(&live, self.settings(&attributes, sample))?;
        Ok(Some(Arc::new(segment)))
    }

    /// What the background should merge: a run of one size class; the large segments where the removed
    /// outnumber the living among them; or what was compiled before events were seen.
    pub(super) fn next_merge(&self, snapshot: &Snapshot) -> Option<Range<usize>> {
        if self.damaged.load(Ordering::Acquire) || self.at_rest.load(Ordering::Acquire) {
            return None;
        }
        // Writers merge the small segments at the end, and would undo a merge that takes them in.
        let large = snapshot.segments.iter().rposition(|segment| segment.len() > AT_ONCE);
        let large = &snapshot.segments[..large.map_or(0, |last| last + 1)];
        let slots: usize = large.iter().map(|segment| segment.len()).sum();
        let removed: usize = large.iter().map(|segment| segment.removals()).sum();
        if 2 * removed > slots + 1024 {
            // All as one; or, where that might be too large, one that is mostly removed, which there is.
            let mostly = |segment: &Arc<Segment>| 2 * segment.removals() > segment.len();
            let worst = large.iter().position(mostly).filter(|_| large.iter().any(is_full));
            return Some(worst.map_or(0..large.len(), |worst| worst..worst + 1));
        }
        next_run(&snapshot.segments).or_else(|| {
            let unsampled = |segment: &Arc<Segment>| segment.is_worth_sampling();
            let start = snapshot.segments.iter().position(unsampled)?;
            let end =
                start + snapshot.segments[start..].iter().take_while(|segment| unsampled(segment)).count();
            snapshot.sample.is_full().then(|| bounded(&snapshot.segments, start..end))
        })
    }

    fn merge_once(&self, run: Range<usize>) -> Result<()> {
        let before = self.load();
        let Some(parts) = before.segments.get(run) else { return Ok(()) };
        let merged = self.merge(parts, before.version, &before.sample.events())?;

        let _writer = self.writer.lock()?;
        let current = self.load();
        // Writers only append and merge the small segments at the end, so the parts stand where they
        // stood, or were merged by a writer meanwhile.
        let same = |segment: &Arc<Segment>| Arc::ptr_eq(segment, &parts[0]);
        let Some(start) = current.segments.iter().position(same) else { return Ok(()) };
        let range = start..start + parts.len();
        let unchanged = current
            .segments
            .get(range.clone())
            .is_some_and(|segments| segments.iter().zip(parts).all(|(now, then)| Arc::ptr_eq(now, then)));
        if !unchanged {
            return Ok(());
        }
        // Removals since then are carried over with their versions.
        if let Some(merged) = &merged {
            let slots = parts.iter().flat_map(|part| part.live(before.version).map(move |slot| (part, slot)));
            for ((part, slot), new) in slots.zip(0..) {
                if let Some(version) = part.removed_at(slot) {
                    merged.remove(new, version);
                }
            }
        }
        let mut segments = current.segments.clone();
        segments.splice(range, merged);
        self.publish(&current, segments, current.live);
        Ok(())
    }
}

/// The turn of the one thread that merges; given back when dropped, however that comes.
pub(super) struct Turn {
    shared: Arc<Shared>,
}

impl Turn {
    pub(super) fn take(shared: &Arc<Shared>) -> Option<Turn> {
        let (mine, holder) = (std::process::id(), shared.merging.load(Ordering::Acquire));
        let free = holder != mine;
        let taken = free
            && shared.merging.compare_exchange(holder, mine, Ordering::AcqRel, Ordering::Acquire).is_ok();
        taken.then(|| Turn { shared: Arc::clone(shared) })
    }

    /// Merges until nothing is left to merge.
    pub(super) fn merge_all(self) {
        let shared = Arc::clone(&self.shared);
        let mut turn = Some(self);
        while turn.is_some() {
            while let Some(run) = shared.next_merge(&shared.load()) {
                if shared.merge_once(run).is_err() {
                    // A damaged file stays as it is; readers get the error.
                    shared.damaged.store(true, Ordering::Release);
                }
            }
            drop(turn.take());
            // A writer may have come between, seen a thread at work, and left its merge to it.
            if shared.next_merge(&shared.load()).is_some() {
                turn = Turn::take(&shared);
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.shared.merging.store(0, Ordering::Release);
    }
}

/// The last run of at least [`MERGE`] neighbours of at most one size class.
pub(super) fn next_run(segments: &[Arc<Segment>]) -> Option<Range<usize>> {
    let class = |segment: &Arc<Segment>| segment.len().max(1).ilog(MERGE);
    let mut end = segments.len();
    while end > 0 {
        let highest = class(&segments[end - 1]);
        let same = |segment: &&Arc<Segment>| class(segment) <= highest && !is_full(segment);
        let run = segments[..end].iter().rev().take_while(same).count();
        if run >= MERGE {
            return Some(bounded(segments, end - run..end));
        }
        end -= run.max(1);
    }
    None
}

/// The first segments of a run, as many as one may become.
fn bounded(segments: &[Arc<Segment>], run: Range<usize>) -> Range<usize> {
    let mut bytes = 0;
    let together = segments[run.clone()].iter().take_while(|segment| {
        bytes += segment.bytes().0;
        bytes <= MERGE * FULL
    });
    run.start..run.start + together.count().max(1)
}

fn is_full(segment: &Arc<Segment>) -> bool {
    segment.bytes().0 > FULL
}
