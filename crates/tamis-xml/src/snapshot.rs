//! Which filters are live at one moment, and which of them does a document satisfy?

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::document::Document;
use super::evaluate::EvaluationScratch;
use super::limits::Limits;
use super::meter::Meter;
use super::segment::{Early, Segment, SegmentScratch, Work};
use super::xpath::XPath;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::id::Id;

/// An id with an XPath expression.
#[derive(Debug)]
pub struct FilterSubscription {
    id: Id,
    xpath: XPath,
    /// The first version of the filter without the subscription.
    removed: AtomicU64,
    /// The number of the segment that contains it.
    segment: AtomicU64,
}

impl FilterSubscription {
    /// A subscription that is not in any filter yet.
    pub fn new(id: Id, xpath: XPath) -> FilterSubscription {
        FilterSubscription { id, xpath, removed: AtomicU64::new(u64::MAX), segment: AtomicU64::new(0) }
    }

    /// The id that the user gave it.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// The expression.
    pub fn xpath(&self) -> &XPath {
        &self.xpath
    }

    /// The error for a failed evaluation of this filter.
    pub(super) fn failed(&self, cause: Error) -> Error {
        Error::Filter { id: self.id.clone(), cause: Box::new(cause) }
    }

    pub(super) fn is_live(&self, version: u64) -> bool {
        version < self.removed.load(Ordering::Acquire)
    }
}

/// Filters that are compiled together, with their subscriptions.
#[derive(Debug)]
pub(super) struct FilterSegment {
    /// Identifies the segment within its filter.
    number: u64,
    pub(super) subscriptions: Vec<Arc<FilterSubscription>>,
    compiled: Segment,
    /// Whether any of the subscriptions was removed; otherwise none need be checked.
    holed: AtomicBool,
    /// The file that it was written to or read from, with its checksum.
    file: OnceLock<(PathBuf, String)>,
}

impl FilterSegment {
    pub fn new(number: u64, subscriptions: Vec<Arc<FilterSubscription>>, compiled: Segment) -> FilterSegment {
        for subscription in &subscriptions {
            subscription.segment.store(number, Ordering::Relaxed);
        }
        FilterSegment {
            number,
            subscriptions,
            compiled,
            holed: AtomicBool::new(false),
            file: OnceLock::new(),
        }
    }

    pub fn file(&self) -> Option<&(PathBuf, String)> {
        self.file.get()
    }

    pub fn set_file(&self, path: PathBuf, checksum: String) {
        // A concurrent save of the same segment may have set it first. Either file is valid.
        let _ = self.file.set((path, checksum));
    }
}

/// A filter at one moment.
#[derive(Debug, Default)]
pub struct FilterSnapshot {
    pub(super) version: u64,
    pub(super) segments: Vec<Arc<FilterSegment>>,
    pub(super) live: usize,
}

/// Scratch memory of a match: the document and the caches of engines.
#[derive(Debug, Default)]
pub struct FilterScratch {
    pub(super) document: Document,
    evaluation: EvaluationScratch,
    segments: HashMap<u64, SegmentScratch, ahash::RandomState>,
    /// Units of work that the last match took.
    units: u64,
}

impl FilterSnapshot {
    /// Prepares to report filters while a document arrives.
    pub(super) fn begin_early(&self, scratch: &mut FilterScratch, limits: &Limits) -> Vec<Early> {
        let FilterScratch { document, segments: memories, .. } = scratch;
        let begin = |segment: &Arc<FilterSegment>| {
            let memory =
                memories.entry(segment.number).or_insert_with(|| segment.compiled.scratch(limits.memory));
            segment.compiled.begin_early(document, memory, limits)
        };
        self.segments.iter().map(begin).collect()
    }

    /// Calls `found` with the subscriptions that have become certain.
    pub(super) fn tell_early(
        &self,
        scratch: &mut FilterScratch,
        early: &mut [Early],
        mut found: impl FnMut(&Arc<FilterSubscription>),
    ) {
        let FilterScratch { document, segments: memories, .. } = scratch;
        for (segment, early) in self.segments.iter().zip(early) {
            let Some(memory) = memories.get_mut(&segment.number) else { continue };
            segment.compiled.tell_early(document, memory, early, |slot| {
                let subscription = &segment.subscriptions[slot as usize];
                if subscription.is_live(self.version) {
                    found(subscription);
                }
            });
        }
    }

    pub(super) fn matches<'s>(
        &'s self,
        scratch: &mut FilterScratch,
        limits: &Limits,
        deadline: Option<Deadline>,
        mut found: impl FnMut(&'s Arc<FilterSubscription>),
    ) -> Result<()> {
        let FilterScratch { document, evaluation, segments: memories, units } = scratch;
        let mut meter = Meter::new(limits, deadline);
        if memories.len() > 2 * self.segments.len() + 8 {
            memories.retain(|number, _| self.segments.iter().any(|segment| segment.number == *number));
        }
        for segment in &self.segments {
            let memory =
                memories.entry(segment.number).or_insert_with(|| segment.compiled.scratch(limits.memory));
            let holed = segment.holed.load(Ordering::Acquire);
            let subscriptions = &*segment.subscriptions;
            let matched = segment.compiled.matches(document, memory, evaluation, &mut meter, |slots| {
                if holed {
                    let run = slots.iter().map(|slot| &subscriptions[*slot as usize]);
                    return run
                        .filter(|subscription| subscription.is_live(self.version))
                        .for_each(&mut found);
                }
                // Look up several before handing them out, so that what `found` changes can stay in
                // registers: a lookup may panic, and memory must be up to date by then.
                let (eights, rest) = slots.as_chunks::<8>();
                for eight in eights {
                    eight.map(|slot| &subscriptions[slot as usize]).into_iter().for_each(&mut found);
                }
                rest.iter().map(|slot| &subscriptions[*slot as usize]).for_each(&mut found);
            });
            matched.map_err(|(slot, exhausted)| match (slot, meter.error(exhausted)) {
                (_, timeout @ Error::Timeout { .. }) => timeout,
                (Some(slot), limit) => segment.subscriptions[slot as usize].failed(limit),
                (None, limit) => limit,
            })?;
        }
        *units = meter.spent();
        Ok(())
    }

    /// The work of the last match with this scratch memory.
    pub(super) fn work(&self, scratch: &FilterScratch) -> Work {
        let mut total = Work { units: scratch.units, ..Work::default() };
        for segment in &self.segments {
            let work = scratch.segments.get(&segment.number).map(SegmentScratch::work).unwrap_or_default();
            total.transitions += work.transitions;
            total.paths += work.paths;
            total.tested += work.tested;
            total.evaluated += work.evaluated;
        }
        total
    }

    /// Removes a subscription from the next version. The caller holds the writer lock.
    pub(super) fn remove(&self, subscription: &FilterSubscription, version: u64) {
        subscription.removed.store(version, Ordering::Release);
        let number = subscription.segment.load(Ordering::Relaxed);
        if let Some(segment) = self.segments.iter().find(|segment| segment.number == number) {
            segment.holed.store(true, Ordering::Release);
        }
    }

    /// Undoes the removal of these subscriptions from the next version, and their move to other
    /// segments. The caller holds the writer lock.
    pub(super) fn restore(&self, subscriptions: &[Arc<FilterSubscription>]) {
        for subscription in subscriptions {
            subscription.removed.store(u64::MAX, Ordering::Release);
        }
        for segment in &self.segments {
            for subscription in &segment.subscriptions {
                subscription.segment.store(segment.number, Ordering::Relaxed);
            }
        }
    }

    /// The live subscriptions in insertion order.
    pub fn subscriptions(&self) -> impl Iterator<Item = &Arc<FilterSubscription>> {
        let all = self.segments.iter().flat_map(|segment| &segment.subscriptions);
        all.filter(|subscription| subscription.is_live(self.version))
    }

    /// The number of live subscriptions.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether no subscription is live.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// The number of states of the automata of all segments, or of path pieces for engines without an
    /// automaton.
    pub fn states(&self) -> usize {
        self.segments.iter().map(|segment| segment.compiled.states()).sum()
    }

    /// The number of segments.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }
}
