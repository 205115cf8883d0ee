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
use crate::versioned::{self, Background, MERGE, Maintained};

/// A segment that matching reads so many bytes of is merged with no other: positions in one are 32 bits
/// wide, which [`MERGE`] of less than this do not exceed.
const FULL: usize = 1 << 30;

impl Shared {
    /// The segments as one, without what is removed at `version`; nothing if nothing is left.
    pub(super) fn merge(
        &self,
        segments: &[Arc<Segment>],
        version: u64,
        sample: &[Event],
    ) -> Result<Option<Arc<Segment>>> {
        let live =
            segments.iter().flat_map(|segment| segment.live(version).map(|slot| Kept { segment, slot }));
        let live: Vec<Kept<'_>> = live.collect();
        if live.is_empty() {
            return Ok(None);
        }
        let attributes = Arc::new(self.versions.current().attributes.fork());
        let segment = Segment::new(&live, self.settings(&attributes, sample))?;
        Ok(Some(Arc::new(segment)))
    }

    /// What the background should merge: a run of one size class; the large segments where the removed
    /// outnumber the living among them; or what was compiled before events were seen.
    fn next_merge(&self, snapshot: &Snapshot) -> Option<Range<usize>> {
        if self.at_rest.load(Ordering::Acquire) {
            return None;
        }
        // Writers merge the small segments at the end, and would undo a merge that takes them in.
        let large = snapshot.segments.iter().rposition(|segment| segment.len() > AT_ONCE);
        let large = &snapshot.segments[..large.map_or(0, |last| last + 1)];
        let slots: usize = large.iter().map(|segment| segment.len()).sum();
        let removed: usize = large.iter().map(|segment| segment.removals()).sum();
        if versioned::is_mostly_removed(slots, removed) {
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
        let before = self.versions.current();
        let Some(old) = before.segments.get(run) else { return Ok(()) };
        let merged = self.merge(old, before.version, &before.sample.events())?;

        let writing = self.versions.write()?;
        let current = &writing.current;
        // Writers only append and merge the small segments at the end, so the old segments are where they
        // were, or a writer has merged them in the meantime.
        let same = |segment: &Arc<Segment>| Arc::ptr_eq(segment, &old[0]);
        let Some(start) = current.segments.iter().position(same) else { return Ok(()) };
        let range = start..start + old.len();
        let unchanged = current
            .segments
            .get(range.clone())
            .is_some_and(|segments| segments.iter().zip(old).all(|(now, then)| Arc::ptr_eq(now, then)));
        if !unchanged {
            return Ok(());
        }
        // Removals since then are carried over with their versions.
        if let Some(merged) = &merged {
            let slots =
                old.iter().flat_map(|segment| segment.live(before.version).map(move |slot| (segment, slot)));
            for ((segment, slot), new) in slots.zip(0..) {
                if let Some(version) = segment.removed_at(slot) {
                    merged.remove(new, version);
                }
            }
        }
        let (mut segments, live) = (current.segments.clone(), current.live);
        segments.splice(range, merged);
        self.publish(writing, segments, live);
        Ok(())
    }
}

impl Maintained for Shared {
    const THREAD: &'static str = "tamis-merge";
    type Rest = ();

    fn background(&self) -> &Background {
        &self.background
    }

    fn is_due(&self, (): ()) -> bool {
        self.next_merge(&self.versions.current()).is_some()
    }

    fn maintain(&self) -> Result<()> {
        self.next_merge(&self.versions.current()).map_or(Ok(()), |run| self.merge_once(run))
    }
}

/// What should become one, if anything should: neighbours of one size class.
pub(super) fn next_run(segments: &[Arc<Segment>]) -> Option<Range<usize>> {
    let size = |segment: &Arc<Segment>| (!is_full(segment)).then(|| segment.len());
    versioned::next_run(segments, size).map(|run| bounded(segments, run))
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
