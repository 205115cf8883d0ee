//! What does a user hold: subscriptions in, matches out?
//!
//! Readers take a [`Snapshot`] and never wait. Writers take turns: each adds a small segment, or
//! notes a removal, and publishes the next snapshot at once. Eight neighbouring segments of one size
//! class are merged into one of the next, so that a subscription is compiled again only as often as
//! the logarithm of their number: small ones at once, larger ones by a thread in the background,
//! whose result replaces them when it is ready.

mod batch;
mod builder;
mod documents;
mod draft;
mod hierarchies;
mod ranking;
mod records;
mod sample;
mod segment;
mod snapshot;
mod storage;
mod subscription;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

pub use batch::ArrowMatches;
pub use builder::{Builder, Refused};
pub use segment::Algorithm;
pub use snapshot::{MatchScratch, Snapshot, Stats};
pub use subscription::{Subscription, WrittenSubscription};

use crate::error::{Error, Result};
use crate::event::{Event, Hierarchy};
use crate::explain::{Explanation, explain};
use crate::expression::{Expression, parse, shorten};
use crate::id::Id;
use crate::limits::Limits;
use crate::matcher::Slot;
use crate::rank::check_weight;
use crate::truth::Missing;
use crate::value::ValueRef;
use documents::Documents;
use draft::{Draft, Kept};
use segment::{Segment, Settings};

/// How many neighbouring segments of one size class are merged, and the ratio of two classes.
const MERGE: usize = 8;
/// Up to so many subscriptions are merged by the writer itself, which takes milliseconds.
const AT_ONCE: usize = 512;

/// A set of subscriptions that can be matched while it changes.
///
/// ```
/// use tamis::{Index, Limits, Missing, parse};
///
/// let index = Index::new(Missing::Unknown, Limits::default());
/// index.add("young-west".into(), parse("age between 18 and 25 and state = 'CA'", index.limits())?, None)?;
/// assert_eq!(index.match_json(br#"{"age": 21, "state": "CA"}"#)?, ["young-west".into()]);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct Index {
    shared: Arc<Shared>,
}

/// What an index shares with its background thread.
#[derive(Debug)]
struct Shared {
    missing: Missing,
    limits: Limits,
    algorithm: Algorithm,
    /// Held by whoever changes the index.
    writer: Mutex<()>,
    /// The process of the thread that is merging, or 0: a forked process has no such thread.
    merging: AtomicU32,
    /// Whether a merge met a damaged file; there are none after that.
    damaged: AtomicBool,
    /// Whether it is as it was opened: what was laid out with care is not merged for being read.
    at_rest: AtomicBool,
    snapshot: ArcSwap<Snapshot>,
}

impl Index {
    /// An empty index that chooses its matchers itself.
    pub fn new(missing: Missing, limits: Limits) -> Index {
        Index::with_algorithm(missing, limits, Algorithm::Auto)
    }

    /// An empty index that uses one algorithm.
    pub fn with_algorithm(missing: Missing, limits: Limits, algorithm: Algorithm) -> Index {
        let documents = Arc::new(Documents::new(algorithm, limits.xml.clone()));
        let empty = Snapshot {
            version: 0,
            segments: Vec::new(),
            live: 0,
            attributes: Arc::default(),
            sample: Arc::default(),
            filters: documents.snapshot(),
            documents,
        };
        Index::from_snapshot(missing, limits, algorithm, empty)
    }

    fn from_snapshot(missing: Missing, limits: Limits, algorithm: Algorithm, snapshot: Snapshot) -> Index {
        let shared = Shared {
            missing,
            limits,
            algorithm,
            writer: Mutex::default(),
            merging: AtomicU32::new(0),
            damaged: AtomicBool::new(false),
            at_rest: AtomicBool::new(false),
            snapshot: ArcSwap::from_pointee(snapshot),
        };
        Index { shared: Arc::new(shared) }
    }

    /// This index, not to be merged until it changes.
    fn at_rest(self) -> Index {
        self.shared.at_rest.store(true, Ordering::Release);
        self
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Missing {
        self.shared.missing
    }

    /// The bounds on expressions and events.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// Adds a subscription; one of the same id is replaced and loses its place in the order.
    pub fn add(&self, id: Id, expression: Expression, metadata: Option<Arc<str>>) -> Result<()> {
        self.add_subscription(Subscription { metadata, ..Subscription::new(id, expression) })
    }

    /// Adds a subscription with all that belongs to it.
    pub fn add_subscription(&self, subscription: Subscription) -> Result<()> {
        self.check(&subscription)?;
        self.insert(&[subscription])
    }

    /// Adds all subscriptions, or none if one exceeds a limit; of equal ids the last counts.
    pub fn add_many(&self, mut subscriptions: Vec<Subscription>) -> Result<()> {
        for (position, subscription) in subscriptions.iter().enumerate() {
            self.check(subscription).map_err(|cause| Error::Item {
                position,
                name: name_of(&subscription.id),
                cause: Box::new(cause),
            })?;
        }
        let mut last: HashMap<Id, usize, ahash::RandomState> = HashMap::default();
        for (position, subscription) in subscriptions.iter().enumerate() {
            last.insert(subscription.id.clone(), position);
        }
        if last.len() < subscriptions.len() {
            let mut position = 0;
            subscriptions.retain(|subscription| {
                position += 1;
                last[&subscription.id] == position - 1
            });
        }
        self.insert(&subscriptions)
    }

    /// Adds all subscriptions, or none if one cannot be read or exceeds a limit. Expressions are read
    /// on all processors, and forgotten once they are compiled.
    pub fn add_written(&self, written: Vec<WrittenSubscription>) -> Result<()> {
        let mut ids: HashSet<&Id, ahash::RandomState> = HashSet::default();
        let distinct = written.iter().all(|written| ids.insert(&written.id));
        let drafts: Vec<Written<'_>> = written
            .iter()
            .enumerate()
            .map(|(position, written)| Written { index: self, position, written })
            .collect();
        // What documents are asked must be known before the first of them is matched.
        if distinct && !written.iter().any(|written| may_ask_documents(&written.text)) {
            return self.insert_drafts(&drafts);
        }
        let subscriptions = drafts.iter().map(|draft| draft.read().map(Cow::into_owned));
        self.add_many(subscriptions.collect::<Result<_>>()?)
    }

    fn check(&self, subscription: &Subscription) -> Result<()> {
        subscription.expression.check(&self.shared.limits)?;
        check_weight("the boost", subscription.boost)?;
        self.shared.algorithm.check(&subscription.expression, &self.shared.limits)
    }

    fn insert(&self, subscriptions: &[Subscription]) -> Result<()> {
        if subscriptions.is_empty() {
            return Ok(());
        }
        self.shared.load().documents.retain(subscriptions)?;
        self.insert_drafts(subscriptions)
    }

    fn insert_drafts<D: Draft>(&self, drafts: &[D]) -> Result<()> {
        if drafts.is_empty() {
            return Ok(());
        }
        let shared = &self.shared;
        // A large batch is compiled before its turn comes, so that other writers need not wait.
        let sample = if drafts.len() > AT_ONCE { shared.load().sample.events() } else { Vec::new() };
        let segment = Arc::new(shared.build(drafts, &sample, threads())?);
        {
            let _writer = shared.writer();
            let current = shared.load();
            let version = current.version + 1;
            let mut live = current.live + drafts.len();
            let known = if current.live > 0 { segment.len() as Slot } else { 0 };
            for slot in 0..known {
                if let Some((replaced, slot)) = current.find(&segment.id(slot)?.to_id()) {
                    current.release_documents(replaced, slot);
                    replaced.remove(slot, version);
                    live -= 1;
                }
            }
            let mut segments = current.segments.clone();
            segments.push(segment);
            shared.publish(&current, segments, live);
        }
        self.merge_in_background();
        Ok(())
    }

    /// Removes a subscription; false where there is none of that id.
    pub fn remove(&self, id: &Id) -> bool {
        {
            let _writer = self.shared.writer();
            let current = self.shared.load();
            let Some((segment, slot)) = current.find(id) else {
                return false;
            };
            current.release_documents(segment, slot);
            segment.remove(slot, current.version + 1);
            self.shared.publish(&current, current.segments.clone(), current.live - 1);
        }
        self.merge_in_background();
        true
    }

    /// Says what lies above the values of an attribute, so that an event that has a value has those above
    /// it too; `None` takes it back. It holds for events that are decoded from now on.
    pub fn set_hierarchy(&self, attribute: &str, hierarchy: Option<Hierarchy>) -> Result<()> {
        if attribute.is_empty() {
            return Err(Error::expression("an attribute's name is empty; it needs at least one character"));
        }
        self.shared.load().attributes.set_hierarchy(&attribute.into(), hierarchy);
        Ok(())
    }

    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.shared.load();
        if snapshot.sample.take_filled() {
            // What was compiled before any event came can be compiled better now.
            self.merge_in_background();
        }
        snapshot
    }

    /// The ids that an event, given as JSON, matches, in insertion order.
    pub fn match_json(&self, json: &[u8]) -> Result<Vec<Id>> {
        let snapshot = self.snapshot();
        let mut event = Event::default();
        event.decode_json(json, snapshot.attributes(), self.limits())?;
        let mut ids = Vec::new();
        snapshot.matches(&event, &mut MatchScratch::default(), |id| ids.push(id.to_id()))?;
        Ok(ids)
    }

    /// Why an expression matches an event, or not.
    pub fn explain(&self, expression: &Expression, event: &Event) -> Explanation {
        explain(expression, event, &self.snapshot().attributes, self.shared.missing)
    }

    /// Starts the thread that merges, unless it runs or there is nothing to do. It ends when there
    /// is nothing left; if it cannot be started, the segments stay as they are, and answers right.
    fn merge_in_background(&self) {
        let shared = &self.shared;
        if shared.next_merge(&shared.load()).is_none() {
            return;
        }
        let Some(turn) = Turn::take(shared) else { return };
        // Where the thread cannot be started, the turn is given back as the closure is dropped.
        let _ = std::thread::Builder::new().name("tamis-merge".into()).spawn(move || turn.merge_all());
    }

    /// Waits until nothing is left to merge, merging here if no thread does.
    pub fn settle(&self) {
        while self.shared.next_merge(&self.shared.load()).is_some() {
            match Turn::take(&self.shared) {
                None => std::thread::sleep(std::time::Duration::from_millis(1)),
                Some(turn) => turn.merge_all(),
            }
        }
    }
}

impl Shared {
    fn load(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        // Nothing that holds it panics; what it guards is published whole or not at all.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn build<D: Draft>(&self, drafts: &[D], sample: &[Event], threads: usize) -> Result<Segment> {
        let attributes = Arc::clone(&self.load().attributes);
        let settings = Settings {
            attributes: &attributes,
            missing: self.missing,
            algorithm: self.algorithm,
            normal_form: self.limits.normal_form,
            sample,
            threads,
        };
        Segment::new(drafts, settings)
    }

    /// Merges the smallest segments and makes the next version visible. The caller is the writer.
    fn publish(&self, current: &Snapshot, mut segments: Vec<Arc<Segment>>, live: usize) {
        self.at_rest.store(false, Ordering::Release);
        let version = current.version + 1;
        // Small segments that are mostly removed are built again at once.
        let stale =
            |segment: &Arc<Segment>| segment.len() <= AT_ONCE && 2 * segment.removals() > segment.len();
        while let Some(position) = segments.iter().rposition(stale) {
            let Ok(merged) = self.merge(&segments[position..=position], version, &[]) else { break };
            segments.splice(position..=position, merged);
        }
        while let Some(run) = next_run(&segments) {
            let parts = &segments[run.clone()];
            let size: usize = parts.iter().map(|segment| segment.len()).sum();
            if size > AT_ONCE {
                break;
            }
            let Ok(merged) = self.merge(parts, version, &[]) else { break };
            segments.splice(run, merged);
        }
        self.snapshot.store(Arc::new(Snapshot {
            version,
            segments,
            live,
            attributes: Arc::clone(&current.attributes),
            sample: Arc::clone(&current.sample),
            filters: current.documents.snapshot(),
            documents: Arc::clone(&current.documents),
        }));
    }

    /// The segments as one, without what is removed at `version`; nothing where nothing is left.
    fn merge(&self, parts: &[Arc<Segment>], version: u64, sample: &[Event]) -> Result<Option<Arc<Segment>>> {
        let live = parts.iter().flat_map(|segment| segment.live(version).map(|slot| Kept { segment, slot }));
        let live: Vec<Kept<'_>> = live.collect();
        if live.is_empty() {
            return Ok(None);
        }
        self.build(&live, sample, 1).map(|segment| Some(Arc::new(segment)))
    }

    /// What the background should merge: a run of one size class; the large segments where the removed
    /// outnumber the living among them; or a single one that was compiled before events were seen.
    fn next_merge(&self, snapshot: &Snapshot) -> Option<std::ops::Range<usize>> {
        if self.damaged.load(Ordering::Acquire) || self.at_rest.load(Ordering::Acquire) {
            return None;
        }
        // Writers merge the small segments at the end, and would undo a merge that takes them in.
        let large = snapshot.segments.iter().rposition(|segment| segment.len() > AT_ONCE);
        let large = &snapshot.segments[..large.map_or(0, |last| last + 1)];
        let slots: usize = large.iter().map(|segment| segment.len()).sum();
        let removed: usize = large.iter().map(|segment| segment.removals()).sum();
        if 2 * removed > slots + 1024 {
            return Some(0..large.len());
        }
        next_run(&snapshot.segments).or_else(|| {
            let unsampled = snapshot.segments.iter().position(|segment| segment.is_worth_sampling())?;
            snapshot.sample.is_full().then_some(unsampled..unsampled + 1)
        })
    }

    fn merge_once(&self, run: std::ops::Range<usize>) -> Result<()> {
        let before = self.load();
        let Some(parts) = before.segments.get(run) else { return Ok(()) };
        let merged = self.merge(parts, before.version, &before.sample.events())?;

        let _writer = self.writer();
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
struct Turn {
    shared: Arc<Shared>,
}

impl Turn {
    fn take(shared: &Arc<Shared>) -> Option<Turn> {
        let (mine, holder) = (std::process::id(), shared.merging.load(Ordering::Acquire));
        let free = holder != mine;
        let taken = free
            && shared.merging.compare_exchange(holder, mine, Ordering::AcqRel, Ordering::Acquire).is_ok();
        taken.then(|| Turn { shared: Arc::clone(shared) })
    }

    /// Merges until nothing is left to merge.
    fn merge_all(self) {
        let shared = Arc::clone(&self.shared);
        let mut turn = Some(self);
        while turn.is_some() {
            while let Some(run) = shared.next_merge(&shared.load()) {
                if shared.merge_once(run).is_err() {
                    // A damaged file: it stays as it is, and says so to whoever reads it.
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

/// A written subscription on its way into an index.
struct Written<'a> {
    index: &'a Index,
    position: usize,
    written: &'a WrittenSubscription,
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
}

/// What an id is called in a message.
fn name_of(id: &Id) -> String {
    match id {
        Id::Integer(number) => format!("id {number}"),
        Id::String(text) => format!("id {}", ValueRef::String(&shorten(text))),
    }
}

/// Whether a text can hold `xpath('...')`.
fn may_ask_documents(text: &str) -> bool {
    text.as_bytes().windows(5).any(|word| word.eq_ignore_ascii_case(b"xpath"))
}

/// How many threads a caller who waits may keep busy.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |threads| threads.get())
}

/// The last run of at least [`MERGE`] neighbours of at most one size class.
fn next_run(segments: &[Arc<Segment>]) -> Option<std::ops::Range<usize>> {
    let class = |segment: &Arc<Segment>| segment.len().max(1).ilog(MERGE);
    let mut end = segments.len();
    while end > 0 {
        let highest = class(&segments[end - 1]);
        let run = segments[..end].iter().rev().take_while(|segment| class(segment) <= highest).count();
        if run >= MERGE {
            return Some(end - run..end);
        }
        end -= run;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn index() -> Index {
        Index::new(Missing::Unknown, Limits::default())
    }

    fn add(index: &Index, id: i64, text: &str) {
        index.add(id.into(), parse(text, index.limits()).unwrap(), None).unwrap();
    }

    #[test]
    fn replacing_moves_to_the_end() {
        let index = index();
        add(&index, 1, "a = 1");
        add(&index, 2, "a = 1");
        add(&index, 1, "a in (1, 2)");
        assert_eq!(index.match_json(br#"{"a": 1}"#).unwrap(), [2.into(), 1.into()]);
        assert_eq!(index.match_json(br#"{"a": 2}"#).unwrap(), [1.into()]);
        assert_eq!(index.snapshot().len(), 2);
    }

    #[test]
    fn a_batch_with_one_id_twice_keeps_the_last() {
        let index = index();
        let item = |id: i64, text: &str| {
            let expression = parse(text, index.limits()).unwrap();
            Subscription::new(id, expression)
        };
        index.add_many(vec![item(1, "false"), item(2, "true"), item(1, "true")]).unwrap();
        assert_eq!(index.match_json(b"{}").unwrap(), [2.into(), 1.into()]);
    }

    #[test]
    fn old_snapshots_do_not_change() {
        let index = index();
        (0..100).for_each(|id| add(&index, id, "true"));
        let before = index.snapshot();
        (0..50).for_each(|id| assert!(index.remove(&id.into())));
        (100..2000).for_each(|id| add(&index, id, "true"));
        index.settle();
        assert_eq!(before.subscriptions().count(), 100);
        let mut seen = 0;
        before.matches(&Event::default(), &mut MatchScratch::default(), |_| seen += 1).unwrap();
        assert_eq!(seen, 100);
        assert_eq!(index.match_json(b"{}").unwrap(), (50..2000).map(Id::from).collect::<Vec<_>>());
    }

    #[test]
    fn segments_stay_few_and_the_removed_are_dropped() {
        let index = index();
        (0..5000).for_each(|id| add(&index, id, "a = 1"));
        index.settle();
        assert!(index.snapshot().stats().segments < 40);
        (0..5000).for_each(|id| assert!(index.remove(&id.into())));
        assert!(!index.remove(&0.into()));
        index.settle();
        let stats = index.snapshot().stats();
        assert_eq!(stats.subscriptions, 0);
        assert!(stats.removed <= 1024, "{stats:?}");
    }

    #[test]
    fn what_is_removed_during_a_merge_stays_removed() {
        let index = index();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..20 {
                    (0..700).for_each(|id| add(&index, id, &format!("a = {round}")));
                    (0..700).step_by(2).for_each(|id| assert!(index.remove(&id.into())));
                }
            });
        });
        index.settle();
        let expected: Vec<Id> = (0..700).filter(|id| id % 2 == 1).map(Id::from).collect();
        assert_eq!(index.match_json(br#"{"a": 19}"#).unwrap(), expected);
        assert_eq!(index.match_json(br#"{"a": 18}"#).unwrap(), []);
        assert_eq!(index.snapshot().len(), 350);
    }
}
