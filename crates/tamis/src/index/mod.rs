//! How do subscriptions change while readers match?
//!
//! Readers take a [`Snapshot`] and never wait. Writers take turns: each adds a small segment (a bulk add
//! creates several large ones) or marks a removal, and publishes the next snapshot at once. Eight
//! neighbouring segments of one size class are merged into one of the next class, so a subscription is
//! recompiled a logarithmic number of times. The writer merges small segments itself; a background
//! thread merges larger ones and replaces them when the result is ready.

mod algorithm;
#[cfg(feature = "arrow")]
pub mod arrow_ids;
#[cfg(feature = "arrow")]
mod batch;
#[cfg(feature = "arrow")]
mod builder;
mod changes;
mod columns;
mod compile;
mod condition;
mod counts;
#[cfg_attr(not(feature = "xml"), path = "without_documents.rs")]
mod documents;
mod draft;
mod elements;
mod excerpt;
mod first;
mod hierarchies;
mod mentioned;
mod merge;
mod ranking;
#[cfg(feature = "arrow")]
mod rows;
mod sample;
mod segment;
mod selection;
mod slots;
mod snapshot;
mod storage;
mod stored_subscriptions;
mod subscription;
mod terms;
mod tiers;
mod validity;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use algorithm::Algorithm;
#[cfg(feature = "arrow")]
pub use batch::{ArrowMatches, ArrowQuery, ArrowRows, Batching};
#[cfg(feature = "arrow")]
pub use builder::{Builder, Refused};
pub use condition::Condition;
pub use counts::Counts;
#[cfg(feature = "arrow")]
pub use rows::TableRow;
pub use selection::Selection;
pub use snapshot::{FoundIds, IdPlace, MatchScratch, Snapshot, Stats};
pub use subscription::{Subscription, WrittenSubscription};
pub use validity::Validity;

use crate::error::Result;
use crate::event::{Attributes, Event};
use crate::explain::{Explanation, explain};
use crate::expression::{Expression, parse};
use crate::id::Id;
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;
use crate::versioned::{Background, Maintained, Versioned};
use algorithm::SegmentSettings;
use columns::Declared;
use documents::Documents;
pub use draft::Progress;

/// The writer itself merges up to this many subscriptions, which takes milliseconds.
const AT_ONCE: usize = 512;

/// How many conditions on metadata are cached.
const CONDITIONS: usize = 1024;

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
    /// The declared columns of metadata.
    declared: Arc<Declared>,
    /// Conditions on metadata that have been used, by their texts.
    conditions: Mutex<HashMap<String, Arc<Condition>, ahash::RandomState>>,
    versions: Versioned<Snapshot>,
    /// The thread that merges.
    background: Background,
    /// Whether it is unchanged since it was opened: a compacted index is not merged merely because it is read.
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

    /// An empty index with columns for these members of the metadata, by which subscriptions can be selected quickly.
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
        let documents = Arc::new(Documents::new(algorithm, &limits));
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

    /// This index, marked as not to be merged until it changes.
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

    /// The members of metadata by which subscriptions can be selected quickly.
    pub fn metadata_columns(&self) -> &[Arc<str>] {
        self.shared.declared.names()
    }

    /// A condition on the metadata of subscriptions, for [`Snapshot::select`].
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

    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.shared.versions.current();
        if snapshot.sample.take_filled() {
            // Segments that were compiled before any event was seen can be compiled better now.
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

    /// Why an expression matches an event or does not. Fails only at the event's deadline, if it has one.
    pub fn explain(&self, expression: &Expression, event: &Event) -> Result<Explanation> {
        explain(expression, event, &self.snapshot().attributes, self.shared.missing)
    }

    /// Why a subscription matches an event, or not: as [`Index::explain`], with its validity.
    pub fn explain_subscription(&self, subscription: &Subscription, event: &Event) -> Result<Explanation> {
        let inactive = subscription.validity.inactive(event.moment());
        Ok(self.explain(&subscription.expression, event)?.with_validity(inactive))
    }

    /// Waits until nothing is left to merge, but not much longer than this; returns whether nothing is left.
    pub fn settle_within(&self, patience: Duration) -> bool {
        self.shared.settle_within((), patience)
            && self.shared.versions.current().attributes.settle_elements_within(patience)
    }

    /// Waits until nothing is left to merge, and merges on this thread if no other does.
    pub fn settle(&self) {
        self.shared.settle(());
        self.shared.versions.current().attributes.settle_elements();
    }
}

impl Shared {
    fn settings<'a>(&'a self, attributes: &'a Arc<Attributes>, sample: &'a [Event]) -> SegmentSettings<'a> {
        SegmentSettings {
            attributes,
            missing: self.missing,
            algorithm: self.algorithm,
            normal_form: self.limits.normal_form,
            sample,
            declared: &self.declared,
        }
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
    fn patterns_that_are_added_together_are_one_segment() {
        let written = |operator: &str| {
            let text = |id: i64| WrittenSubscription::new(id, format!("t {operator} 'w{id}x'"));
            (0..70_000).map(text).collect::<Vec<_>>()
        };
        let (equalities, patterns) = (index(), index());
        equalities.add_written(written("=")).unwrap();
        assert!(equalities.snapshot().stats().segments > 1);
        patterns.add_written(written("contains")).unwrap();
        assert_eq!(patterns.snapshot().stats().segments, 1);
        let found = patterns.match_json(br#"{"t": "w7x w69999x w42x"}"#).unwrap();
        assert_eq!(found, [7.into(), 42.into(), 69_999.into()]);
        // The first that cannot be read is named, wherever it is.
        let mut invalid = written("contains");
        (invalid[69_000].text, invalid[9_000].text) = ("t contains".into(), "t contains 1".into());
        let error = index().add_written(invalid).unwrap_err().to_string();
        assert!(error.contains("id 9000"), "{error}");
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
