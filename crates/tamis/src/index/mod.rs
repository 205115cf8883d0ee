//! What does a user hold: subscriptions in, matches out?
//!
//! Readers take a [`Snapshot`] and never wait. Writers take turns: each builds the segments that
//! changed and publishes the next snapshot at once. New subscriptions form small segments at the
//! end; eight neighbours of one size class are merged into one of the next, so that a subscription
//! is compiled again only as often as the logarithm of their number.

mod snapshot;
mod subscription;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

pub use snapshot::{MatchScratch, Snapshot, Stats};
pub use subscription::{Id, Subscription};

use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::explain::{Explanation, explain};
use crate::expression::Expression;
use crate::limits::Limits;
use crate::truth::Missing;
use snapshot::Segment;

/// How many neighbouring segments of one size class are merged, and the ratio of two classes.
const MERGE: usize = 8;

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
    missing: Missing,
    limits: Limits,
    writer: Mutex<Writer>,
    snapshot: ArcSwap<Snapshot>,
}

#[derive(Debug, Default)]
struct Writer {
    subscriptions: HashMap<Id, Arc<Subscription>, ahash::RandomState>,
}

impl Index {
    /// An empty index.
    pub fn new(missing: Missing, limits: Limits) -> Index {
        let attributes = Arc::new(Attributes::default());
        let empty = Snapshot { version: 0, segments: Vec::new(), live: 0, attributes };
        Index { missing, limits, writer: Mutex::default(), snapshot: ArcSwap::from_pointee(empty) }
    }

    /// What predicates answer on attributes without a value.
    pub fn missing(&self) -> Missing {
        self.missing
    }

    /// The bounds on expressions and events.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Adds a subscription; one of the same id is replaced and loses its place in the order.
    pub fn add(&self, id: Id, expression: Expression, metadata: Option<Arc<str>>) -> Result<()> {
        expression.check(&self.limits)?;
        self.insert(vec![Arc::new(Subscription::new(id, expression, metadata))]);
        Ok(())
    }

    /// Adds all subscriptions, or none if one exceeds a limit; of equal ids the last counts.
    pub fn add_many(&self, subscriptions: Vec<Subscription>) -> Result<()> {
        for (position, subscription) in subscriptions.iter().enumerate() {
            subscription.expression().check(&self.limits).map_err(|cause| Error::Item {
                position,
                name: format!("id {}", subscription.id()),
                cause: Box::new(cause),
            })?;
        }
        self.insert(subscriptions.into_iter().map(Arc::new).collect());
        Ok(())
    }

    fn insert(&self, subscriptions: Vec<Arc<Subscription>>) {
        if subscriptions.is_empty() {
            return;
        }
        let mut writer = self.writer();
        let current = self.snapshot.load_full();
        let version = current.version + 1;
        for subscription in &subscriptions {
            let replaced = writer.subscriptions.insert(subscription.id().clone(), subscription.clone());
            if let Some(replaced) = replaced {
                replaced.remove(version);
            }
        }
        // What a later item of the same batch replaced is gone before anyone saw it.
        let subscriptions: Vec<_> =
            subscriptions.into_iter().filter(|subscription| subscription.is_live(version)).collect();
        let mut segments = current.segments.clone();
        segments.push(Arc::new(Segment::new(subscriptions, &current.attributes, self.missing)));
        self.publish(&current, segments, writer.subscriptions.len());
    }

    /// Removes a subscription; false where there is none of that id.
    pub fn remove(&self, id: &Id) -> bool {
        let mut writer = self.writer();
        let Some(removed) = writer.subscriptions.remove(id) else {
            return false;
        };
        let current = self.snapshot.load_full();
        removed.remove(current.version + 1);
        self.publish(&current, current.segments.clone(), writer.subscriptions.len());
        true
    }

    /// Merges what should be merged and makes the next version visible. The caller holds the writer.
    fn publish(&self, current: &Snapshot, mut segments: Vec<Arc<Segment>>, live: usize) {
        let version = current.version + 1;
        let merge = |segments: &[Arc<Segment>]| {
            Arc::new(Segment::merge(segments, version, &current.attributes, self.missing))
        };
        let class = |segment: &Arc<Segment>| segment.len().max(1).ilog(MERGE);
        while let Some(last) = segments.last() {
            let highest = class(last);
            let run = segments.iter().rev().take_while(|segment| class(segment) <= highest).count();
            if run < MERGE {
                break;
            }
            let merged = merge(&segments[segments.len() - run..]);
            segments.truncate(segments.len() - run);
            segments.push(merged);
        }
        // Removals alone must not let the dead outnumber the living for good.
        let slots: usize = segments.iter().map(|segment| segment.len()).sum();
        if slots > 2 * live + 1024 {
            segments = vec![merge(&segments)];
        }
        let attributes = current.attributes.clone();
        self.snapshot.store(Arc::new(Snapshot { version, segments, live, attributes }));
    }

    /// The subscription of that id.
    pub fn get(&self, id: &Id) -> Option<Arc<Subscription>> {
        self.writer().subscriptions.get(id).cloned()
    }

    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The ids that an event, given as JSON, matches, in insertion order.
    pub fn match_json(&self, json: &[u8]) -> Result<Vec<Id>> {
        let snapshot = self.snapshot();
        let mut event = Event::default();
        event.decode_json(json, snapshot.attributes(), &self.limits)?;
        let mut ids = Vec::new();
        snapshot.matches(&event, &mut MatchScratch::default(), |subscription| {
            ids.push(subscription.id().clone());
        });
        Ok(ids)
    }

    /// Why a subscription's expression matches an event, or not.
    pub fn explain(&self, subscription: &Subscription, event: &Event) -> Explanation {
        let snapshot = self.snapshot();
        explain(subscription.expression(), event, &snapshot.attributes, self.missing)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // A writer that panicked had not published, and the map is only ever ahead by its change.
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let item =
            |id: i64, text: &str| Subscription::new(id.into(), parse(text, index.limits()).unwrap(), None);
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
        assert_eq!(before.subscriptions().count(), 100);
        let mut seen = 0;
        before.matches(&Event::default(), &mut MatchScratch::default(), |_| seen += 1);
        assert_eq!(seen, 100);
        assert_eq!(index.match_json(b"{}").unwrap(), (50..2000).map(Id::from).collect::<Vec<_>>());
    }

    #[test]
    fn segments_stay_few_and_the_dead_are_dropped() {
        let index = index();
        (0..5000).for_each(|id| add(&index, id, "a = 1"));
        assert!(index.snapshot().stats().segments < 40);
        (0..5000).for_each(|id| assert!(index.remove(&id.into())));
        assert!(!index.remove(&0.into()));
        let stats = index.snapshot().stats();
        assert_eq!(stats.subscriptions, 0);
        assert!(stats.removed <= 1024, "{stats:?}");
    }
}
