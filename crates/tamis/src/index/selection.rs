//! Which slots of a snapshot does a condition on metadata select, and how are only these matched?
//!
//! If few slots are selected and used often, they have an excerpt; until then, the results of the segment's matcher
//! are filtered.

use std::sync::Arc;

use super::condition::{Condition, ConditionScratch};
use super::excerpt::Chosen;
use super::segment::Segment;
use crate::deadline::{Deadline, Timer};
use crate::error::Result;
use crate::event::Event;
use crate::matcher::Slot;
use crate::value::Timestamp;

/// Units of work that reading the metadata of a slot counts as.
const READING: usize = 256;

/// The selection of a condition in a snapshot.
#[derive(Debug)]
pub struct Selection {
    condition: Arc<Condition>,
    /// By segment: the slots, or `None` if each has to be checked.
    segments: Vec<Option<Arc<Chosen>>>,
}

impl Selection {
    /// The selection of a condition in these segments.
    pub(super) fn new(
        condition: &Arc<Condition>,
        segments: &[Arc<Segment>],
        deadline: Option<Deadline>,
    ) -> Result<Selection> {
        let select = |segment: &Arc<Segment>| match segment.chosen(condition.text()) {
            Some(known) => Ok(Some(known)),
            None => Ok(condition.slots(segment, deadline)?.map(|bits| {
                let chosen = Arc::new(Chosen::new(bits, segment.len()));
                segment.remember(condition.text(), &chosen);
                chosen
            })),
        };
        let segments = segments.iter().map(select).collect::<Result<_>>()?;
        Ok(Selection { condition: Arc::clone(condition), segments })
    }
}

/// Which of the slots that a matcher finds are results.
pub(super) struct Admission<'a> {
    segment: &'a Segment,
    /// The version of the snapshot, if slots have been removed.
    version: Option<u64>,
    /// The time of the call, if not all subscriptions are valid at that time.
    now: Option<Timestamp>,
    /// The condition and the time of the call; and its slots, if they are known.
    selected: Option<(&'a Condition, Timestamp, Option<&'a Chosen>)>,
}

impl<'a> Admission<'a> {
    /// Which slots of the segment at a position are results, in a snapshot of this version.
    pub fn new(
        segment: &'a Segment,
        position: usize,
        version: u64,
        event: &Event,
        selection: Option<&'a Selection>,
    ) -> Admission<'a> {
        let now = segment.validities().are_bounded().then(|| event.moment());
        Admission {
            segment,
            version: (segment.removals() > 0).then_some(version),
            now: now.filter(|now| !segment.validities().hold_all(*now)),
            selected: selection.map(|selection| {
                let chosen = selection.segments.get(position).and_then(|chosen| chosen.as_deref());
                (&*selection.condition, event.moment(), chosen)
            }),
        }
    }

    /// The slots that the condition selects, if there is a condition and they are known.
    pub fn chosen(&self) -> Option<&'a Chosen> {
        self.selected.and_then(|(_, _, chosen)| chosen)
    }

    /// Whether a slot is a result; once the time is up, false for slots whose metadata would have to be read.
    pub fn admits(&self, slot: Slot, working: &mut Option<Box<ConditionScratch>>, timer: &mut Timer) -> bool {
        if self.version.is_some_and(|version| !self.segment.is_live(slot, version))
            || self.now.is_some_and(|now| !self.segment.validities().hold(slot, now))
        {
            return false;
        }
        match self.selected {
            None => true,
            Some((_, _, Some(chosen))) => chosen.contains(slot),
            Some((condition, now, None)) => {
                !timer.spend(READING) && condition.selects(self.segment.metadata(slot), now, working)
            }
        }
    }

    /// Whether every slot is a result.
    pub fn is_open(&self) -> bool {
        self.version.is_none() && self.now.is_none() && self.selected.is_none()
    }

    /// Drops slots that are not results.
    pub fn keep(
        &self,
        slots: &mut Vec<Slot>,
        working: &mut Option<Box<ConditionScratch>>,
        timer: &mut Timer,
    ) {
        if !self.is_open() {
            slots.retain(|&slot| self.admits(slot, working, timer));
        }
    }
}
