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
    /// The number of the part that contains it.
    part: AtomicU64,
}

impl FilterSubscription {
    /// A subscription that is not in any filter yet.
    pub fn new(id: Id, xpath: XPath) -> FilterSubscription {
        FilterSubscription { id, xpath, removed: AtomicU64::new(u64::MAX), part: AtomicU64::new(0) }
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

/// Filters that are compiled together.
#[derive(Debug)]
pub(super) struct Part {
    /// Identifies the part within its filter.
    number: u64,
    pub(super) subscriptions: Vec<Arc<FilterSubscription>>,
    segment: Segment,
    /// Whether any of the subscriptions was removed; otherwise none need be checked.
    holed: AtomicBool,
    /// The file that it was written to or read from, with its checksum.
    file: OnceLock<(PathBuf, String)>,
}

impl Part {
    pub fn new(number: u64, subscriptions: Vec<Arc<FilterSubscription>>, segment: Segment) -> Part {
        for subscription in &subscriptions {
            subscription.part.store(number, Ordering::Relaxed);
        }
        Part { number, subscriptions, segment, holed: AtomicBool::new(false), file: OnceLock::new() }
    }

    pub fn file(&self) -> Option<&(PathBuf, String)> {
        self.file.get()
    }

    pub fn set_file(&self, path: PathBuf, checksum: String) {
        // A concurrent save of the same part may have set it first. Either file is valid.
        let _ = self.file.set((path, checksum));
    }
}

/// A filter at one moment.
#[derive(Debug, Default)]
pub struct FilterSnapshot {
    pub(super) version: u64,
    pub(super) parts: Vec<Arc<Part>>,
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
        let FilterScratch { document, segments, .. } = scratch;
        let begin = |part: &Arc<Part>| {
            let memory = segments.entry(part.number).or_insert_with(|| part.segment.scratch(limits.memory));
            part.segment.begin_early(document, memory, limits)
        };
        self.parts.iter().map(begin).collect()
    }

    /// Calls `found` with the subscriptions that have become certain.
    pub(super) fn tell_early(
        &self,
        scratch: &mut FilterScratch,
        early: &mut [Early],
        mut found: impl FnMut(&Arc<FilterSubscription>),
    ) {
        let FilterScratch { document, segments, .. } = scratch;
        for (part, early) in self.parts.iter().zip(early) {
            let Some(memory) = segments.get_mut(&part.number) else { continue };
            part.segment.tell_early(document, memory, early, |slot| {
                let subscription = &part.subscriptions[slot as usize];
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
        let FilterScratch { document, evaluation, segments, units } = scratch;
        let mut meter = Meter::new(limits, deadline);
        if segments.len() > 2 * self.parts.len() + 8 {
            segments.retain(|number, _| self.parts.iter().any(|part| part.number == *number));
        }
        for part in &self.parts {
            let memory = segments.entry(part.number).or_insert_with(|| part.segment.scratch(limits.memory));
            let holed = part.holed.load(Ordering::Acquire);
            let subscriptions = &*part.subscriptions;
            let matched = part.segment.matches(document, memory, evaluation, &mut meter, |slots| {
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
                (Some(slot), limit) => part.subscriptions[slot as usize].failed(limit),
                (None, limit) => limit,
            })?;
        }
        *units = meter.spent();
        Ok(())
    }

    /// The work of the last match with this scratch memory.
    pub(super) fn work(&self, scratch: &FilterScratch) -> Work {
        let mut total = Work { units: scratch.units, ..Work::default() };
        for part in &self.parts {
            let work = scratch.segments.get(&part.number).map(SegmentScratch::work).unwrap_or_default();
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
        let number = subscription.part.load(Ordering::Relaxed);
        if let Some(part) = self.parts.iter().find(|part| part.number == number) {
            part.holed.store(true, Ordering::Release);
        }
    }

    /// Undoes the removal of these subscriptions from the next version, and their move to other
    /// parts. The caller holds the writer lock.
    pub(super) fn restore(&self, subscriptions: &[Arc<FilterSubscription>]) {
        for subscription in subscriptions {
            subscription.removed.store(u64::MAX, Ordering::Release);
        }
        for part in &self.parts {
            for subscription in &part.subscriptions {
                subscription.part.store(part.number, Ordering::Relaxed);
            }
        }
    }

    /// The live subscriptions in insertion order.
    pub fn subscriptions(&self) -> impl Iterator<Item = &Arc<FilterSubscription>> {
        let all = self.parts.iter().flat_map(|part| &part.subscriptions);
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

    /// The number of states of the automata of all parts, or of path pieces for engines without an
    /// automaton.
    pub fn states(&self) -> usize {
        self.parts.iter().map(|part| part.segment.states()).sum()
    }

    /// The number of separately compiled parts.
    pub fn segments(&self) -> usize {
        self.parts.len()
    }
}
