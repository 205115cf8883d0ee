//! What of a snapshot does a condition on metadata select, and how is that matched without the rest?
//!
//! A segment remembers which slots conditions have selected. Where these are few and are asked for often, they get an
//! [`Excerpt`]; until then, what the segment's matcher finds is filtered. Both are forgotten when they take too much
//! memory, the least recently used first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::condition::{Condition, ConditionScratch};
use super::excerpt::Excerpt;
use super::segment::Segment;
use super::slots::Bits;
use super::snapshot::Snapshot;
use crate::error::Result;
use crate::event::Event;
use crate::matcher::Slot;
use crate::value::Timestamp;

/// An excerpt has at most one in so many slots of its segment.
const EXCERPTED: usize = 8;
/// Compiling so many slots takes about as long as matching one event with all of them.
const PER_EVENT: usize = 64;
/// Bytes that a segment may remember of conditions, besides half of what its matcher takes.
const REMEMBERED: usize = 1 << 20;
/// How often one looks whether another thread has left; in a forked process it may never.
const PATIENCE: usize = 10_000;

/// What a condition selects of a snapshot.
#[derive(Debug)]
pub struct Selection {
    condition: Arc<Condition>,
    /// By segment: the slots, or `None` where each has to be looked at.
    segments: Vec<Option<Arc<Chosen>>>,
}

/// The slots of a segment that a condition selects.
#[derive(Debug)]
pub(super) struct Chosen {
    slots: SlotSet,
    count: usize,
    /// How many events were matched with them.
    asked: AtomicUsize,
    excerpt: OnceLock<Excerpt>,
}

#[derive(Debug)]
enum SlotSet {
    Few(Box<[Slot]>),
    Many(Bits),
}

impl SlotSet {
    fn contains(&self, slot: Slot) -> bool {
        match self {
            SlotSet::Few(slots) => slots.binary_search(&slot).is_ok(),
            SlotSet::Many(bits) => bits.contains(slot),
        }
    }
}

impl Chosen {
    fn new(bits: Bits, slots: usize) -> Chosen {
        let count = bits.count();
        let slots = match 32 * count < slots {
            true => SlotSet::Few(bits.iter().collect()),
            false => SlotSet::Many(bits),
        };
        Chosen { slots, count, asked: AtomicUsize::new(0), excerpt: OnceLock::new() }
    }

    fn bytes(&self) -> usize {
        let slots = match &self.slots {
            SlotSet::Few(slots) => 4 * slots.len(),
            SlotSet::Many(bits) => bits.bytes(),
        };
        slots + self.excerpt.get().map_or(0, Excerpt::bytes)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The matcher over these slots only, once so many more events make it worth while.
    pub fn excerpt(&self, segment: &Segment, snapshot: &Snapshot, events: usize) -> Result<Option<&Excerpt>> {
        if let Some(excerpt) = self.excerpt.get() {
            return Ok(Some(excerpt));
        }
        if EXCERPTED * self.count > segment.len() {
            return Ok(None);
        }
        let asked = self.asked.fetch_add(events, Ordering::Relaxed) + events;
        if PER_EVENT * asked < self.count {
            return Ok(None);
        }
        let slots: Cow<'_, [Slot]> = match &self.slots {
            SlotSet::Few(slots) => Cow::Borrowed(slots),
            SlotSet::Many(bits) => bits.iter().collect(),
        };
        let excerpt = Excerpt::new(segment, &slots, &snapshot.sample.events())?;
        let excerpt = self.excerpt.get_or_init(|| excerpt);
        segment.remembered().forget_some(segment);
        Ok(Some(excerpt))
    }
}

/// What a segment remembers of conditions, by their texts.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// With when each was used last, and how many uses there were.
    chosen: Mutex<(ChosenByText, u64)>,
}

type ChosenByText = HashMap<Arc<str>, (Arc<Chosen>, u64), ahash::RandomState>;

impl Remembered {
    fn get(&self, text: &Arc<str>) -> Option<Arc<Chosen>> {
        let mut guard = lock(&self.chosen)?;
        let (chosen, clock) = &mut *guard;
        *clock += 1;
        let (found, used) = chosen.get_mut(text)?;
        *used = *clock;
        Some(Arc::clone(found))
    }

    fn insert(&self, segment: &Segment, text: &Arc<str>, new: &Arc<Chosen>) {
        if let Some(mut guard) = lock(&self.chosen) {
            let (chosen, clock) = &mut *guard;
            *clock += 1;
            chosen.insert(Arc::clone(text), (Arc::clone(new), *clock));
        }
        self.forget_some(segment);
    }

    /// Forgets what was not used for longest, until the rest is within bounds.
    fn forget_some(&self, segment: &Segment) {
        let Some(mut guard) = lock(&self.chosen) else { return };
        let chosen = &mut guard.0;
        let allowed = REMEMBERED + segment.bytes().0 / 2;
        let mut bytes: usize = chosen.values().map(|(chosen, _)| chosen.bytes()).sum();
        while bytes > allowed && chosen.len() > 1 {
            let oldest = chosen.iter().min_by_key(|(_, (_, used))| *used).map(|(text, _)| Arc::clone(text));
            match oldest.and_then(|oldest| chosen.remove(&oldest)) {
                Some((forgotten, _)) => bytes -= forgotten.bytes(),
                None => return,
            }
        }
    }
}

/// The guard of a mutex that is held for moments only; `None` where its holder does not leave.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    (0..PATIENCE).find_map(|_| match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(_) => {
            std::thread::yield_now();
            None
        }
    })
}

impl Snapshot {
    /// What a condition selects; it can be used for this snapshot only.
    pub fn select(&self, condition: &Arc<Condition>) -> Result<Selection> {
        let mut segments = Vec::with_capacity(self.segments.len());
        for segment in &self.segments {
            let known = segment.remembered().get(condition.text());
            segments.push(match known {
                Some(known) => Some(known),
                None => condition.slots(segment)?.map(|bits| {
                    let chosen = Arc::new(Chosen::new(bits, segment.len()));
                    segment.remembered().insert(segment, condition.text(), &chosen);
                    chosen
                }),
            });
        }
        Ok(Selection { condition: Arc::clone(condition), segments })
    }
}

/// Which of the slots that a matcher finds count.
pub(super) struct Admission<'a> {
    segment: &'a Segment,
    /// The version of the snapshot, where slots were removed.
    version: Option<u64>,
    /// The moment of the call, where not all subscriptions are valid at it.
    now: Option<Timestamp>,
    /// The condition, with the moment of the call; and its slots, if they are known.
    selected: Option<(&'a Condition, Timestamp, Option<&'a Chosen>)>,
}

impl<'a> Admission<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        position: usize,
        event: &Event,
        selection: Option<&'a Selection>,
    ) -> Admission<'a> {
        let segment = &*snapshot.segments[position];
        let now = segment.validities().are_bounded().then(|| event.moment());
        Admission {
            segment,
            version: (segment.removals() > 0).then_some(snapshot.version),
            now: now.filter(|now| !segment.validities().hold_all(*now)),
            selected: selection.map(|selection| {
                let chosen = selection.segments.get(position).and_then(|chosen| chosen.as_deref());
                (&*selection.condition, event.moment(), chosen)
            }),
        }
    }

    /// The slots that the condition selects, if there is one and they are known.
    pub fn chosen(&self) -> Option<&'a Chosen> {
        self.selected.and_then(|(_, _, chosen)| chosen)
    }

    /// Whether a slot counts.
    pub fn admits(&self, slot: Slot, working: &mut Option<Box<ConditionScratch>>) -> Result<bool> {
        if self.version.is_some_and(|version| !self.segment.is_live(slot, version))
            || self.now.is_some_and(|now| !self.segment.validities().hold(slot, now))
        {
            return Ok(false);
        }
        match self.selected {
            None => Ok(true),
            Some((_, _, Some(chosen))) => Ok(chosen.slots.contains(slot)),
            Some((condition, now, None)) => condition.selects(self.segment.metadata(slot), now, working),
        }
    }

    /// Whether every slot counts.
    pub fn is_open(&self) -> bool {
        self.version.is_none() && self.now.is_none() && self.selected.is_none()
    }

    /// Leaves out what does not count.
    pub fn keep(&self, slots: &mut Vec<Slot>, working: &mut Option<Box<ConditionScratch>>) -> Result<()> {
        if self.is_open() {
            return Ok(());
        }
        let mut result = Ok(());
        slots.retain(|&slot| {
            result.is_ok()
                && self.admits(slot, working).unwrap_or_else(|error| {
                    result = Err(error);
                    false
                })
        });
        result
    }
}
