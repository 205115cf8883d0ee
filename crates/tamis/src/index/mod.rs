//! How do subscriptions change while readers match?
//!
//! Readers take a [`Snapshot`] and never wait. Writers take turns: each adds a small segment (a bulk add
//! creates several large ones) or marks a removal, and publishes the next snapshot at once. Eight
//! neighbouring segments of one size class are merged into one of the next class, so a subscription is
//! recompiled a logarithmic number of times. The writer merges small segments itself; a background
//! thread merges larger ones and replaces them when the result is ready.

mod algorithm;
mod arrow_ids;
mod batch;
mod builder;
mod columns;
mod compile;
mod condition;
mod counts;
mod documents;
mod draft;
mod elements;
mod excerpt;
mod first;
mod hierarchies;
mod mentioned;
mod merge;
mod ranking;
mod records;
mod rows;
mod sample;
mod segment;
mod selection;
mod slots;
mod snapshot;
mod storage;
mod subscription;
mod terms;
mod tiers;
mod validity;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::RecordBatch;

pub use algorithm::Algorithm;
pub use batch::{ArrowMatches, ArrowQuestion, Batching};
pub use builder::{Builder, Refused};
pub use condition::Condition;
pub use counts::Counts;
pub use selection::Selection;
pub use snapshot::{MatchScratch, Snapshot, Stats};
pub use subscription::{Subscription, WrittenSubscription};
pub use validity::Validity;

use crate::error::{Error, Result};
use crate::event::{Attributes, Event, Hierarchy};
use crate::explain::{Explanation, explain};
use crate::expression::{Expression, check_name, parse, total_size};
use crate::id::Id;
use crate::limits::{self, Limits};
use crate::matcher::Slot;
use crate::rank::check_weight;
use crate::truth::Missing;
use crate::value::TimeZone;
use crate::versioned::{Background, Maintained, Versioned, Writing};
use algorithm::Settings;
use columns::Declared;
use compile::{compile, refuse};
use documents::Documents;
pub use draft::Work;
use draft::{Draft, Stoppable, Written, must_be_known_first, name_of};
pub(crate) use elements::make_elements;
use merge::next_run;
use rows::{Row, Rows};
use segment::Segment;
use snapshot::attributes_for;

/// Up to so many subscriptions are merged by the writer itself, which takes milliseconds.
const AT_ONCE: usize = 512;

/// So many conditions on metadata are remembered.
const CONDITIONS: usize = 1024;

/// The position of a row of a table, with its subscription, or with its id, if it has one, and what is wrong with it.
pub type TableRow = (usize, std::result::Result<WrittenSubscription, (Option<Id>, Error)>);

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
    /// The columns of metadata that have an index.
    declared: Arc<Declared>,
    /// Conditions on metadata that were used, by their texts.
    conditions: Mutex<HashMap<String, Arc<Condition>, ahash::RandomState>>,
    versions: Versioned<Snapshot>,
    /// The thread that merges.
    background: Background,
    /// Whether it is as it was opened: what was laid out with care is not merged for being read.
    at_rest: AtomicBool,
}

impl Index {
    /// An empty index that chooses its matchers itself.
    pub fn new(missing: Missing, limits: Limits) -> Index {
        Index::with_algorithm(missing, limits, Algorithm::Auto)
    }

    /// An empty index that uses one algorithm.
    pub fn with_algorithm(missing: Missing, limits: Limits, algorithm: Algorithm) -> Index {
        Index::in_zone(missing, limits, algorithm, TimeZone::default())
    }

    /// An empty index, with the zone of times that are written without an offset.
    pub fn in_zone(missing: Missing, limits: Limits, algorithm: Algorithm, zone: TimeZone) -> Index {
        Index::empty(missing, limits, algorithm, zone, Declared::none())
    }

    /// An empty index whose subscriptions can be selected fast by these members of their metadata.
    pub fn with_metadata_columns(
        missing: Missing,
        limits: Limits,
        algorithm: Algorithm,
        zone: TimeZone,
        columns: &[Arc<str>],
    ) -> Result<Index> {
        let declared = Declared::new(columns, &zone, &limits)?;
        Ok(Index::empty(missing, limits, algorithm, zone, declared))
    }

    fn empty(
        missing: Missing,
        limits: Limits,
        algorithm: Algorithm,
        zone: TimeZone,
        declared: Declared,
    ) -> Index {
        let attributes = Attributes::new(missing, &limits, zone);
        Index::over(attributes, missing, limits, algorithm, declared)
    }

    fn over(
        attributes: Attributes,
        missing: Missing,
        limits: Limits,
        algorithm: Algorithm,
        declared: Declared,
    ) -> Index {
        let documents = Arc::new(Documents::new(algorithm, limits.xml.clone()));
        let empty = Snapshot::new(0, Vec::new(), 0, Arc::new(attributes), documents);
        Index::from_snapshot(missing, limits, algorithm, Arc::new(declared), empty)
    }

    fn from_snapshot(
        missing: Missing,
        limits: Limits,
        algorithm: Algorithm,
        declared: Arc<Declared>,
        snapshot: Snapshot,
    ) -> Index {
        let shared = Shared {
            missing,
            limits,
            algorithm,
            declared,
            conditions: Mutex::default(),
            versions: Versioned::new("index", snapshot, ()),
            background: Background::default(),
            at_rest: AtomicBool::new(false),
        };
        Index { shared: Arc::new(shared) }
    }

    /// This index, not to be merged until it changes.
    fn at_rest(self) -> Index {
        self.shared.at_rest.store(true, Ordering::Release);
        self
    }

    /// The requested algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.shared.algorithm
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Missing {
        self.shared.missing
    }

    /// The members of metadata that subscriptions can be selected fast by.
    pub fn metadata_columns(&self) -> &[Arc<str>] {
        self.shared.declared.names()
    }

    /// A condition on the metadata of subscriptions, which [`Snapshot::select`] takes.
    pub fn condition(&self, text: &str) -> Result<Arc<Condition>> {
        let shared = &self.shared;
        let known = excerpt::lock(&shared.conditions).and_then(|known| known.get(text).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let condition = Arc::new(Condition::new(
            &parse(text, &shared.limits)?,
            shared.missing,
            &self.time_zone(),
            &shared.limits,
            &shared.declared,
        )?);
        if let Some(mut known) = excerpt::lock(&shared.conditions) {
            if known.len() >= CONDITIONS {
                known.clear();
            }
            known.insert(text.to_owned(), Arc::clone(&condition));
        }
        Ok(condition)
    }

    /// The zone of times that are written without an offset.
    pub fn time_zone(&self) -> TimeZone {
        self.shared.versions.current().attributes.time_zone().clone()
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
        self.insert(&[subscription], &Work::default())
    }

    /// Adds all subscriptions, or none if one exceeds a limit; of equal ids the last counts.
    pub fn add_many(&self, subscriptions: Vec<Subscription>) -> Result<()> {
        self.add_many_until(subscriptions, &Work::default())
    }

    /// [`add_many`](Index::add_many), which fails with [`Error::Cancelled`] and adds nothing once
    /// `work` is stopped, unless all is done by then.
    pub fn add_many_until(&self, mut subscriptions: Vec<Subscription>, work: &Work) -> Result<()> {
        for (position, subscription) in subscriptions.iter().enumerate() {
            work.check()?;
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
        self.insert(&subscriptions, work)
    }

    /// Adds all subscriptions, or none if one cannot be read or exceeds a limit. Expressions are read
    /// on all processors, and forgotten once they are compiled.
    pub fn add_written(&self, written: Vec<WrittenSubscription>) -> Result<()> {
        self.add_written_until(written, &Work::default())
    }

    /// [`add_written`](Index::add_written), which fails with [`Error::Cancelled`] and adds nothing once
    /// `work` is stopped, unless all is done by then.
    pub fn add_written_until(&self, written: Vec<WrittenSubscription>, work: &Work) -> Result<()> {
        let mut ids: HashSet<&Id, ahash::RandomState> = HashSet::default();
        let distinct = written.iter().all(|written| ids.insert(&written.id));
        let drafts: Vec<Written<'_>> = written
            .iter()
            .enumerate()
            .map(|(position, written)| Written { index: self, position, written })
            .collect();
        // All XPaths must be known before the first document is matched.
        if distinct && !written.iter().any(|written| must_be_known_first(&written.text)) {
            return self.insert_drafts(&drafts, work, &|_| true).map(|_| ());
        }
        let drafts = drafts.iter().map(|draft| Stoppable { draft, work });
        let subscriptions = drafts.map(|draft| draft.read().map(|read| read.into_owned()));
        self.add_many_until(subscriptions.collect::<Result<_>>()?, work)
    }

    /// What is wrong with some of these subscriptions, with their positions: without them, all can be added.
    pub fn refuse_written(
        &self,
        written: &[WrittenSubscription],
        work: &Work,
    ) -> Result<Vec<(usize, Error)>> {
        let drafts: Vec<Written<'_>> = written
            .iter()
            .enumerate()
            .map(|(position, written)| Written { index: self, position, written })
            .collect();
        refuse(&drafts, work)
    }

    /// What is wrong with some of these subscriptions, with their positions: without them, all can be added.
    pub fn refuse_many(&self, subscriptions: &[Subscription], work: &Work) -> Result<Vec<(usize, Error)>> {
        let mut refused = Vec::new();
        for (position, subscription) in subscriptions.iter().enumerate() {
            work.check()?;
            if let Err(error) = self.check(subscription) {
                refused.push((position, error));
            }
        }
        Ok(refused)
    }

    /// The subscriptions in the rows of a table, or what is wrong with a row and the id that stands there; see
    /// [`Builder::add`] for the columns. Rows that say that there is no such subscription are left out.
    pub fn read_table(&self, batch: &RecordBatch) -> Result<Vec<TableRow>> {
        let (zone, mut read) = (self.time_zone(), Vec::with_capacity(batch.num_rows()));
        let rows = Rows::new(batch, &zone, &self.shared.limits)?;
        for number in 0..rows.len() {
            let Row { id, subscription, .. } = rows.read(number)?;
            match subscription {
                Ok(None) => {}
                Ok(Some(subscription)) => read.push((number, Ok(subscription))),
                Err(error) => read.push((number, Err((id.ok(), error)))),
            }
        }
        Ok(read)
    }

    fn check(&self, subscription: &Subscription) -> Result<()> {
        subscription.expression.check(&self.shared.limits)?;
        check_weight("the boost", subscription.boost)?;
        subscription.validity.check()?;
        let snapshot = self.shared.versions.current();
        let zone = snapshot.attributes.time_zone();
        self.shared.algorithm.check(&subscription.expression, zone, &self.shared.limits)
    }

    fn insert(&self, subscriptions: &[Subscription], work: &Work) -> Result<()> {
        self.insert_if(subscriptions, work, &|_| true).map(|_| ())
    }

    /// Inserts, unless the index is not as it must be when the turn comes; then nothing is inserted.
    fn insert_if(
        &self,
        subscriptions: &[Subscription],
        work: &Work,
        condition: &dyn Fn(&Snapshot) -> bool,
    ) -> Result<bool> {
        if subscriptions.is_empty() {
            return Ok(true);
        }
        let _inside = self.shared.versions.enter()?;
        let current = self.shared.versions.current();
        let expressions = || subscriptions.iter().map(|subscription| &subscription.expression);
        current.documents.retain(subscriptions)?;
        let retained = current.attributes.retain_elements(expressions(), make_elements);
        let inserted = retained.and_then(|()| {
            let inserted = self.insert_drafts(subscriptions, work, condition);
            if inserted != Ok(true) {
                current.attributes.release_elements(expressions());
            }
            inserted
        });
        if inserted != Ok(true) {
            expressions().for_each(|expression| current.documents.release(expression));
        }
        inserted
    }

    fn insert_drafts<D: Draft>(
        &self,
        drafts: &[D],
        work: &Work,
        condition: &dyn Fn(&Snapshot) -> bool,
    ) -> Result<bool> {
        if drafts.is_empty() {
            return Ok(true);
        }
        let shared = &self.shared;
        let inside = shared.versions.enter()?;
        // A large batch is compiled before its turn comes, so that other writers need not wait.
        let sample =
            if drafts.len() > AT_ONCE { shared.versions.current().sample.events() } else { Vec::new() };
        let stoppable: Vec<_> = drafts.iter().map(|draft| Stoppable { draft, work }).collect();
        // New terms become known to those who decode events when their subscriptions do.
        let attributes = Arc::new(shared.versions.current().attributes.fork());
        let added = compile(&stoppable, shared.settings(&attributes, &sample))?;
        // What has to be found out about files is found out before the turn comes.
        shared.check_patterns(&shared.versions.current().segments, &added)?;
        work.check()?;
        {
            let writing = shared.versions.write()?;
            let current = &writing.current;
            if !condition(current) {
                return Ok(false);
            }
            shared.check_patterns(&current.segments, &added)?;
            shared.check_terms(current, &added)?;
            let version = current.version + 1;
            let mut live = current.live + drafts.len();
            for segment in added.iter().filter(|_| current.live > 0) {
                for slot in 0..segment.len() as Slot {
                    if let Some((replaced, slot)) = current.find(&segment.id(slot)?.to_id()) {
                        current.release_documents(replaced, slot);
                        replaced.remove(slot, version);
                        live -= 1;
                    }
                }
            }
            let mut segments = current.segments.clone();
            segments.extend(added);
            shared.publish(writing, segments, live);
        }
        drop(inside);
        self.shared.start(());
        Ok(true)
    }

    /// Removes a subscription; false if there is none of that id, or where the index cannot be changed,
    /// of which [`Index::try_remove`] says why.
    pub fn remove(&self, id: &Id) -> bool {
        self.try_remove(id) == Ok(true)
    }

    /// Removes a subscription; false if there is none of that id. Fails in a forked process, where
    /// another thread was changing the index at that moment.
    pub fn try_remove(&self, id: &Id) -> Result<bool> {
        {
            let writing = self.shared.versions.write()?;
            let current = &writing.current;
            let Some((segment, slot)) = current.find(id) else {
                return Ok(false);
            };
            current.release_documents(segment, slot);
            segment.remove(slot, current.version + 1);
            let (segments, live) = (current.segments.clone(), current.live - 1);
            self.shared.publish(writing, segments, live);
        }
        self.shared.start(());
        Ok(true)
    }

    /// Removes subscriptions at once, and returns how many, with the position of the first id that none has. Where
    /// all must be there and one is not, none is removed.
    pub fn remove_many(&self, ids: &[Id], all: bool) -> Result<(usize, Option<usize>)> {
        let removed = {
            let writing = self.shared.versions.write()?;
            let current = &writing.current;
            let (mut places, mut unknown) = (Vec::with_capacity(ids.len()), None);
            let mut distinct: HashSet<&Id, ahash::RandomState> = HashSet::default();
            for (position, id) in ids.iter().enumerate().filter(|(_, id)| distinct.insert(id)) {
                match current.find(id) {
                    Some(place) => places.push(place),
                    None => unknown = unknown.or(Some(position)),
                }
            }
            if places.is_empty() || all && unknown.is_some() {
                return Ok((0, unknown));
            }
            for (segment, slot) in &places {
                current.release_documents(segment, *slot);
                segment.remove(*slot, current.version + 1);
            }
            let removed = (places.len(), unknown);
            let (segments, live) = (current.segments.clone(), current.live - places.len());
            self.shared.publish(writing, segments, live);
            removed
        };
        self.shared.start(());
        Ok(removed)
    }

    /// Changes when a subscription can match; false if there is none of that id. As one that is replaced, it
    /// then moves to the end of the order.
    pub fn set_validity(&self, id: &Id, change: impl Fn(Validity) -> Validity) -> Result<bool> {
        loop {
            let snapshot = self.shared.versions.current();
            let Some((segment, slot)) = snapshot.find(id) else { return Ok(false) };
            let mut subscription = segment.subscription(slot)?;
            subscription.validity = change(subscription.validity);
            self.check(&subscription)?;
            let unchanged = |current: &Snapshot| {
                let found = current.find(id);
                found.is_some_and(|found| Arc::ptr_eq(found.0, segment) && found.1 == slot)
            };
            if self.insert_if(&[subscription], &Work::default(), &unchanged)? {
                return Ok(true);
            }
        }
    }

    /// Says what lies above the values of an attribute, so that an event that has a value has those above
    /// it too; `None` takes it back. It holds for events that are decoded from now on.
    pub fn set_hierarchy(&self, attribute: &str, hierarchy: Option<Hierarchy>) -> Result<()> {
        check_name(attribute, &self.shared.limits)?;
        let _inside = self.shared.versions.enter()?;
        self.shared.versions.current().attributes.set_hierarchy(&attribute.into(), hierarchy);
        Ok(())
    }

    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.shared.versions.current();
        if snapshot.sample.take_filled() {
            // What was compiled before any event came can be compiled better now.
            self.shared.start(());
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

    /// Waits until nothing is left to merge, but not much longer than this; whether nothing is.
    pub fn settle_within(&self, patience: Duration) -> bool {
        self.shared.settle_within((), patience)
    }

    /// Waits until nothing is left to merge, merging here if no thread does.
    pub fn settle(&self) {
        self.shared.settle(());
        self.shared.versions.current().attributes.settle_elements();
    }
}

impl Shared {
    fn settings<'a>(&'a self, attributes: &'a Arc<Attributes>, sample: &'a [Event]) -> Settings<'a> {
        Settings {
            attributes,
            missing: self.missing,
            algorithm: self.algorithm,
            normal_form: self.limits.normal_form,
            sample,
            declared: &self.declared,
        }
    }

    /// Fails if the regular expressions of all segments together exceed their limit.
    fn check_patterns(&self, segments: &[Arc<Segment>], added: &[Arc<Segment>]) -> Result<()> {
        let mut all = Vec::with_capacity(segments.len() + added.len());
        for segment in added {
            all.push(segment.patterns()?);
        }
        if all.iter().all(|patterns| patterns.list.is_empty()) {
            return Ok(());
        }
        for segment in segments {
            all.push(segment.patterns()?);
        }
        let allowed = self.limits.index_patterns;
        // Only where the sums exceed the limit does it matter which segments have patterns in common.
        if all.iter().map(|patterns| patterns.bytes).fold(0, usize::saturating_add) <= allowed {
            return Ok(());
        }
        let bytes = total_size(all.iter().flat_map(|patterns| patterns.list.iter()), allowed);
        limits::check("bytes of an index's regular expressions", "index_patterns", bytes, allowed)
    }

    /// Fails if there would be too many terms.
    pub(super) fn check_terms(&self, current: &Snapshot, added: &[Arc<Segment>]) -> Result<()> {
        if added.iter().all(|segment| segment.terms().is_empty()) {
            return Ok(());
        }
        let attributes = attributes_for(&current.attributes, current.segments.iter().chain(added));
        limits::check("distinct terms of an index", "terms", attributes.terms(), self.limits.terms)
    }

    /// Merges the smallest segments and makes the next version visible.
    fn publish(&self, writing: Writing<'_, Snapshot, ()>, mut segments: Vec<Arc<Segment>>, live: usize) {
        self.at_rest.store(false, Ordering::Release);
        let current = Arc::clone(&writing.current);
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
        let attributes = attributes_for(&current.attributes, segments.iter());
        writing.publish(Snapshot {
            version,
            segments,
            live,
            attributes,
            sample: Arc::clone(&current.sample),
            filters: current.documents.snapshot(),
            documents: Arc::clone(&current.documents),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
