//! How do filters change while readers match?
//!
//! As in `index`, readers take a [`FilterSnapshot`] and never wait; one writer at a time publishes
//! the next snapshot. New filters form small segments, which are merged as their number grows. The
//! cache of an engine belongs to a segment, so adding and removing filters does not affect the
//! caches of large segments.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::document::Document;
use super::engine::Engine;
use super::explain::{Explanation, explain};
use super::input::Input;
use super::limits::Limits;
use super::meter::Meter;
use super::segment::{Segment, Work};
use super::snapshot::{FilterScratch, FilterSegment, FilterSnapshot, FilterSubscription};
use super::xpath::XPath;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::id::Id;
use crate::versioned::{Versioned, is_mostly_removed, next_run};

/// The number of scratch memories kept for later matches. As many threads can match without
/// starting cold.
const SPARE: usize = 16;

/// A set of XPath filters that can be matched while it changes.
///
/// ```
/// use tamis_xml::{Engine, Filter, Limits};
///
/// let filter = Filter::new(Engine::Auto, Limits::default());
/// filter.add("q1".into(), "//product[@id]/price[. < 300]", &[])?;
/// let document = b"<catalog><product id='1'><price>299</price></product></catalog>";
/// assert_eq!(filter.match_bytes(document)?, ["q1".into()]);
/// # Ok::<(), tamis_base::Error>(())
/// ```
#[derive(Debug)]
pub struct Filter {
    engine: Engine,
    limits: Limits,
    versions: Versioned<FilterSnapshot, Registry>,
    spare: Mutex<Vec<FilterScratch>>,
}

/// State that only writers need.
#[derive(Debug, Default)]
struct Registry {
    subscriptions: HashMap<Id, Arc<FilterSubscription>, ahash::RandomState>,
    /// The number of segments created so far.
    segments: u64,
}

/// The live subscriptions of a segment, and its file unless some of its subscriptions were removed.
pub(super) type OpenedSegment = (Vec<Arc<FilterSubscription>>, Option<(PathBuf, String)>);

impl Filter {
    /// An empty filter.
    pub fn new(engine: Engine, limits: Limits) -> Filter {
        let versions = Versioned::new("XML filter", FilterSnapshot::default(), Registry::default());
        Filter { engine, limits, versions, spare: Mutex::default() }
    }

    /// A filter with the segments of a saved one.
    pub(super) fn from_segments(
        engine: Engine,
        limits: Limits,
        opened: Vec<OpenedSegment>,
    ) -> Result<Filter> {
        let filter = Filter::new(engine, limits);
        let mut writing = filter.versions.write()?;
        let mut segments = Vec::new();
        for (subscriptions, file) in opened {
            for subscription in &subscriptions {
                writing.state.subscriptions.insert(subscription.id().clone(), subscription.clone());
            }
            let segment = filter.compile(subscriptions, &mut writing.state, &AtomicBool::new(false))?;
            if let Some((path, checksum)) = file {
                segment.set_file(path, checksum);
            }
            segments.push(segment);
        }
        let live = writing.state.subscriptions.len();
        writing.publish(FilterSnapshot { version: 0, segments, live });
        Ok(filter)
    }

    /// The engine in use.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The bounds on filters and documents.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Adds a filter. A filter with the same id is replaced, and the new one comes last in
    /// insertion order.
    pub fn add(&self, id: Id, xpath: &str, namespaces: &[(&str, &str)]) -> Result<()> {
        let xpath = XPath::parse(xpath, namespaces, &self.limits)?;
        self.add_many(vec![FilterSubscription::new(id, xpath)])
    }

    /// Adds all subscriptions. Of several with the same id, the last counts. Fails in a forked
    /// process if another thread was changing the filter at the time of the fork.
    pub fn add_many(&self, subscriptions: Vec<FilterSubscription>) -> Result<()> {
        self.add_many_until(subscriptions, &AtomicBool::new(false))
    }

    /// [`add_many`](Filter::add_many) that can be cancelled: once `stop` is set it fails with
    /// [`Error::Cancelled`](tamis_base::Error::Cancelled) and adds nothing, unless it has finished by
    /// then.
    pub fn add_many_until(&self, subscriptions: Vec<FilterSubscription>, stop: &AtomicBool) -> Result<()> {
        if subscriptions.is_empty() {
            return Ok(());
        }
        let subscriptions: Vec<_> = subscriptions.into_iter().map(Arc::new).collect();
        let mut last: HashMap<&Id, &Arc<FilterSubscription>, ahash::RandomState> = HashMap::default();
        for subscription in &subscriptions {
            last.insert(subscription.id(), subscription);
        }
        let is_last = |added: &&Arc<FilterSubscription>| Arc::ptr_eq(last[added.id()], added);
        let added: Vec<_> = subscriptions.iter().filter(is_last).cloned().collect();
        let mut writing = self.versions.write()?;
        let (current, registry) = (Arc::clone(&writing.current), &mut *writing.state);
        let replaced: Vec<_> = match registry.subscriptions.is_empty() {
            true => Vec::new(),
            false => {
                added.iter().filter_map(|added| registry.subscriptions.get(added.id()).cloned()).collect()
            }
        };
        replaced.iter().for_each(|replaced| current.remove(replaced, current.version + 1));
        let live = registry.subscriptions.len() + added.len() - replaced.len();
        let segments = self.compile(added.clone(), registry, stop).and_then(|segment| {
            let mut segments = current.segments.clone();
            segments.push(segment);
            self.merge(segments, current.version + 1, live, registry, stop)
        });
        let segments = if stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { segments };
        match segments {
            Ok(segments) => {
                let named = added.into_iter().map(|added| (added.id().clone(), added));
                registry.subscriptions.extend(named);
                writing.publish(FilterSnapshot { version: current.version + 1, segments, live });
                Ok(())
            }
            Err(error) => {
                current.restore(&replaced);
                Err(error)
            }
        }
    }

    /// Removes a filter. Returns false if the id is unknown, or if the filter cannot be changed;
    /// [`Filter::try_remove`] reports the reason.
    pub fn remove(&self, id: &Id) -> bool {
        self.try_remove(id) == Ok(true)
    }

    /// Removes a filter. Returns false if the id is unknown. Fails like [`Filter::add_many`].
    pub fn try_remove(&self, id: &Id) -> Result<bool> {
        let mut writing = self.versions.write()?;
        let registry = &mut *writing.state;
        let Some(removed) = registry.subscriptions.remove(id) else {
            return Ok(false);
        };
        let version = writing.current.version + 1;
        writing.current.remove(&removed, version);
        let live = registry.subscriptions.len();
        let segments = writing.current.segments.clone();
        let segments = self.merge(segments, version, live, registry, &AtomicBool::new(false))?;
        writing.publish(FilterSnapshot { version, segments, live });
        Ok(true)
    }

    fn compile(
        &self,
        subscriptions: Vec<Arc<FilterSubscription>>,
        registry: &mut Registry,
        stop: &AtomicBool,
    ) -> Result<Arc<FilterSegment>> {
        registry.segments += 1;
        let xpaths = subscriptions.iter().map(|subscription| subscription.xpath());
        let segment = Segment::new(xpaths, self.engine, stop)?;
        Ok(Arc::new(FilterSegment::new(registry.segments, subscriptions, segment)))
    }

    /// Merges segments for the next version, which has `live` live subscriptions.
    fn merge(
        &self,
        mut segments: Vec<Arc<FilterSegment>>,
        version: u64,
        live: usize,
        registry: &mut Registry,
        stop: &AtomicBool,
    ) -> Result<Vec<Arc<FilterSegment>>> {
        let mut merge = |segments: &[Arc<FilterSegment>]| {
            let subscriptions = segments.iter().flat_map(|segment| &segment.subscriptions);
            let live = subscriptions.filter(|subscription| subscription.is_live(version)).cloned().collect();
            self.compile(live, registry, stop)
        };
        while let Some(run) = next_run(&segments, |segment| Some(segment.subscriptions.len())) {
            let merged = merge(&segments[run.clone()])?;
            segments.splice(run, [merged]);
        }
        // Without this, removals alone could leave more removed subscriptions than live ones.
        let slots: usize = segments.iter().map(|segment| segment.subscriptions.len()).sum();
        if is_mostly_removed(slots, slots - live) {
            segments = vec![merge(&segments)?];
        }
        Ok(segments)
    }

    /// The subscription with this id.
    pub fn get(&self, id: &Id) -> Option<Arc<FilterSubscription>> {
        match self.versions.write() {
            Ok(writing) => writing.state.subscriptions.get(id).cloned(),
            // The table cannot be locked, so search all subscriptions.
            Err(_) => self.snapshot().subscriptions().find(|subscription| subscription.id() == id).cloned(),
        }
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<FilterSnapshot> {
        self.versions.current()
    }

    /// The ids of the filters that a document satisfies, in insertion order.
    pub fn match_bytes(&self, document: &[u8]) -> Result<Vec<Id>> {
        let snapshot = self.snapshot();
        let mut ids = Vec::new();
        let found = |subscription: &Arc<FilterSubscription>| ids.push(subscription.id().clone());
        self.matches(&snapshot, Input::Bytes(document), found)?;
        Ok(ids)
    }

    /// Calls `found` with every subscription of a snapshot of this filter that a document
    /// satisfies, in insertion order. Fails if the document is invalid or exceeds a limit; the
    /// matches found until then are incomplete.
    pub fn matches<'s>(
        &self,
        snapshot: &'s FilterSnapshot,
        input: Input<'_>,
        found: impl FnMut(&'s Arc<FilterSubscription>),
    ) -> Result<()> {
        self.matches_within(snapshot, input, None, found)
    }

    /// Like [`Filter::matches`], but also fails at the deadline, if there is one.
    pub fn matches_within<'s>(
        &self,
        snapshot: &'s FilterSnapshot,
        input: Input<'_>,
        deadline: Option<Deadline>,
        found: impl FnMut(&'s Arc<FilterSubscription>),
    ) -> Result<()> {
        let mut scratch = self.take_scratch();
        let read = input.read(&mut scratch.document, &self.limits);
        let matched = read.and_then(|()| snapshot.matches(&mut scratch, &self.limits, deadline, found));
        self.give_scratch(scratch);
        matched
    }

    /// The work that matching a document with a snapshot of this filter takes.
    pub fn work(&self, snapshot: &FilterSnapshot, input: Input<'_>) -> Result<Work> {
        let mut scratch = self.take_scratch();
        let read = input.read(&mut scratch.document, &self.limits);
        let matched = read.and_then(|()| snapshot.matches(&mut scratch, &self.limits, None, |_| {}));
        let work = matched.map(|()| snapshot.work(&scratch));
        self.give_scratch(scratch);
        work
    }

    /// Scratch memory; reused if available.
    pub(super) fn take_scratch(&self) -> FilterScratch {
        // Do not wait for the lock: in a forked process its holder may not exist.
        self.spare.try_lock().ok().and_then(|mut spare| spare.pop()).unwrap_or_default()
    }

    /// Keeps scratch memory for later matches.
    pub(super) fn give_scratch(&self, mut scratch: FilterScratch) {
        if scratch.document.is_large() {
            scratch.document = Document::default();
        }
        let Ok(mut spare) = self.spare.try_lock() else { return };
        if spare.len() < SPARE {
            spare.push(scratch);
        }
    }

    /// Explains why a document satisfies a subscription's expression or does not. Fails at the
    /// deadline, if there is one.
    pub fn explain(
        &self,
        subscription: &FilterSubscription,
        input: Input<'_>,
        deadline: Option<Deadline>,
    ) -> Result<Explanation> {
        let mut document = Document::default();
        input.read(&mut document, &self.limits)?;
        let mut meter = Meter::new(&self.limits, deadline);
        let explained = explain(subscription.xpath(), &document, &mut meter);
        explained.map_err(|exhausted| match meter.error(exhausted) {
            // The time limit is that of the call, so do not blame the filter.
            late @ Error::Timeout { .. } => late,
            other => subscription.failed(other),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(filter: &Filter, document: &str) -> Vec<Id> {
        filter.match_bytes(document.as_bytes()).unwrap()
    }

    #[test]
    fn filters_come_and_go_and_the_order_stays() {
        let filter = Filter::new(Engine::Auto, Limits::default());
        for id in 0..1000 {
            filter.add(id.into(), &format!("//a[@x = {}]", id % 10), &[]).unwrap();
        }
        assert!(filter.snapshot().segments() < 40);
        let before = filter.snapshot();
        (0..500).for_each(|id| assert!(filter.remove(&Id::from(id))));
        assert!(!filter.remove(&Id::from(0)));
        let expected: Vec<Id> = (500..1000).filter(|id| id % 10 == 3).map(Id::from).collect();
        assert_eq!(ids(&filter, "<a x='3'/>"), expected);
        assert_eq!(before.subscriptions().count(), 1000);
        filter.add(503.into(), "//b", &[]).unwrap();
        assert_eq!(ids(&filter, "<a><b/></a>"), [Id::from(503)]);
        assert_eq!(filter.snapshot().len(), 500);
    }

    #[test]
    fn what_was_cancelled_leaves_nothing_behind() {
        let filter = Filter::new(Engine::Auto, Limits::default());
        let parse = |text: &str| XPath::parse(text, &[], &Limits::default()).unwrap();
        for id in 0..20 {
            filter.add(id.into(), "//a", &[]).unwrap();
        }
        let new = || (10..500).map(|id| FilterSubscription::new(id.into(), parse("//b"))).collect();
        let before = ids(&filter, "<a><b/></a>");
        assert_eq!(filter.add_many_until(new(), &AtomicBool::new(true)), Err(Error::Cancelled));
        assert_eq!(ids(&filter, "<a><b/></a>"), before);
        assert_eq!((filter.snapshot().len(), filter.get(&20.into()).is_none()), (20, true));
        // The filters that would have been replaced can still be removed, and those not added
        // cannot.
        assert!(filter.remove(&12.into()) && !filter.remove(&20.into()));
        assert_eq!(ids(&filter, "<a><b/></a>").len(), 19);
        filter.add_many(new()).unwrap();
        assert_eq!(ids(&filter, "<b/>"), (10..500).map(Id::from).collect::<Vec<_>>());
        assert_eq!(ids(&filter, "<a/>"), (0..10).map(Id::from).collect::<Vec<_>>());
    }

    #[test]
    fn a_broken_document_leaves_nothing_behind() {
        let filter = Filter::new(Engine::Auto, Limits::default());
        filter.add("q".into(), "//b", &[]).unwrap();
        assert!(filter.match_bytes(b"<a><b/>").is_err());
        assert_eq!(ids(&filter, "<a/>"), []);
        assert_eq!(ids(&filter, "<a><b/></a>"), ["q".into()]);
    }
}
