//! Which subscriptions are live at one moment, and which of them does an event match?
//!
//! A snapshot is a list of immutable segments in insertion order, and a version. A subscription
//! removed later carries the version of its removal, which older snapshots ignore: a reader sees all
//! or nothing of a change, without a lock and without a copy.

use std::sync::Arc;

use super::subscription::Subscription;
use crate::event::{Attributes, Event};
use crate::matcher::{Matcher, Scan, Scratch, Slot};
use crate::truth::Missing;

/// An immutable set of subscriptions with the matcher compiled over them.
#[derive(Debug)]
pub(super) struct Segment {
    subscriptions: Vec<Arc<Subscription>>,
    matcher: Box<dyn Matcher>,
}

impl Segment {
    pub fn new(subscriptions: Vec<Arc<Subscription>>, attributes: &Attributes, missing: Missing) -> Segment {
        let expressions = subscriptions.iter().map(|subscription| subscription.expression());
        let matcher = Box::new(Scan::new(expressions, attributes, missing));
        Segment { subscriptions, matcher }
    }

    /// The segments as one, without what is removed at `version`.
    pub fn merge(
        segments: &[Arc<Segment>],
        version: u64,
        attributes: &Attributes,
        missing: Missing,
    ) -> Segment {
        let live = segments.iter().flat_map(|segment| segment.live(version)).cloned().collect();
        Segment::new(live, attributes, missing)
    }

    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    fn live(&self, version: u64) -> impl Iterator<Item = &Arc<Subscription>> {
        self.subscriptions.iter().filter(move |subscription| subscription.is_live(version))
    }
}

/// An index at one moment.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) version: u64,
    pub(super) segments: Vec<Arc<Segment>>,
    /// How many subscriptions are live.
    pub(super) live: usize,
    pub(super) attributes: Arc<Attributes>,
}

/// Working memory of [`Snapshot::matches`], one per thread.
#[derive(Debug, Default)]
pub struct MatchScratch {
    scratch: Scratch,
    slots: Vec<Slot>,
}

impl Snapshot {
    /// The attributes to decode events by. An event must be decoded after the snapshot was taken,
    /// or it may lack attributes that a subscription of the snapshot asks about.
    pub fn attributes(&self) -> &Attributes {
        &self.attributes
    }

    /// Calls `found` with every subscription that the event matches, in insertion order.
    pub fn matches<'s>(
        &'s self,
        event: &Event,
        scratch: &mut MatchScratch,
        mut found: impl FnMut(&'s Arc<Subscription>),
    ) {
        for segment in &self.segments {
            scratch.slots.clear();
            segment.matcher.matches(event, &mut scratch.scratch, &mut scratch.slots);
            for &slot in &scratch.slots {
                let subscription = &segment.subscriptions[slot as usize];
                if subscription.is_live(self.version) {
                    found(subscription);
                }
            }
        }
    }

    /// The live subscriptions in insertion order.
    pub fn subscriptions(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.segments.iter().flat_map(|segment| segment.live(self.version))
    }

    /// How many subscriptions are live.
    pub fn len(&self) -> usize {
        self.live
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Figures about the snapshot.
    pub fn stats(&self) -> Stats {
        let slots: usize = self.segments.iter().map(|segment| segment.len()).sum();
        Stats {
            subscriptions: self.live,
            removed: slots - self.live,
            segments: self.segments.len(),
            attributes: self.attributes.len(),
            predicates: self.segments.iter().map(|segment| segment.matcher.predicates()).sum(),
            matcher: self.segments.first().map_or("scan", |segment| segment.matcher.name()),
        }
    }
}

/// Figures about an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Live subscriptions.
    pub subscriptions: usize,
    /// Removed subscriptions that segments still carry.
    pub removed: usize,
    /// Immutable parts.
    pub segments: usize,
    /// Attributes that subscriptions mention or have mentioned.
    pub attributes: usize,
    /// Distinct predicates, summed over the segments.
    pub predicates: usize,
    /// The matcher in use.
    pub matcher: &'static str,
}
