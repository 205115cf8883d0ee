//! Which of some of a segment's subscriptions does an event match?
//!
//! An excerpt is a matcher over a few of a segment's slots, compiled when calls use these slots repeatedly: those of
//! the highest priorities, or those that a condition on metadata selects. Matching it costs as much as an index of that size.
//!
//! A segment caches which slots conditions have selected. If they are few and used often, they get an
//! excerpt. Both caches have a memory limit and evict the least recently used entries first.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use super::algorithm::SegmentMatcher;
use super::slots::Bits;
use crate::error::Result;
use crate::event::Event;
use crate::matcher::{Scratch, Slot};

/// An excerpt has at most one in this many slots of its segment.
const EXCERPTED: usize = 8;
/// Compiling this many slots takes about as long as matching one event with all of them.
const PER_EVENT: usize = 64;
/// Bytes that a segment may cache for conditions, in addition to half the size of its matcher.
const REMEMBERED: usize = 1 << 20;
/// How often to check whether another thread has released a lock; in a forked process it may never do so.
const PATIENCE: usize = 10_000;

/// A matcher over some slots of a segment.
#[derive(Debug)]
pub(super) struct Excerpt {
    /// Ascending.
    slots: Box<[Slot]>,
    engine: SegmentMatcher,
}

impl Excerpt {
    /// An excerpt with a matcher that was compiled from the expressions in these slots, which ascend.
    pub fn new(slots: &[Slot], engine: SegmentMatcher) -> Excerpt {
        Excerpt { slots: slots.into(), engine }
    }

    /// Appends those of the slots that the event matches, ascending, whether removed or not.
    pub fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        self.engine.matcher().matches(event, scratch, found);
        self.translate(&mut found[first..]);
    }

    /// Appends those of the slots that each event matches, as [`Matcher::matches_many`] does.
    pub fn matches_many(
        &self,
        events: &[Event],
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
        stopped: &dyn Fn() -> bool,
    ) {
        let first = found.len();
        self.engine.matcher().matches_many(events, scratch, found, ends, stopped);
        self.translate(&mut found[first..]);
    }

    /// From positions in the excerpt to slots of the segment.
    fn translate(&self, found: &mut [Slot]) {
        found.iter_mut().for_each(|slot| *slot = self.slots[*slot as usize]);
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.slots.len() + self.engine.matcher().bytes()
    }
}

/// The slots of a segment that a condition selects.
#[derive(Debug)]
pub(super) struct Chosen {
    slots: SlotSet,
    count: usize,
    /// How many events have been matched with them.
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
    pub fn new(bits: Bits, slots: usize) -> Chosen {
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

    /// Whether a slot is one of them.
    pub fn contains(&self, slot: Slot) -> bool {
        self.slots.contains(slot)
    }

    /// The matcher over these slots only, if there is one.
    pub fn excerpt(&self) -> Option<&Excerpt> {
        self.excerpt.get()
    }

    /// The matcher over these slots only, compiled once this many more events make it worthwhile; `len` is the number
    /// of all slots.
    pub fn excerpt_for(
        &self,
        events: usize,
        len: usize,
        make: impl FnOnce(&[Slot]) -> Result<Excerpt>,
    ) -> Result<Option<&Excerpt>> {
        if let Some(excerpt) = self.excerpt() {
            return Ok(Some(excerpt));
        }
        if EXCERPTED * self.count > len {
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
        let excerpt = make(&slots)?;
        Ok(Some(self.excerpt.get_or_init(|| excerpt)))
    }
}

/// What a segment caches for conditions, by their texts.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// With the time of last use of each, and the number of uses.
    chosen: Mutex<(ChosenByText, u64)>,
}

type ChosenByText = HashMap<Arc<str>, (Arc<Chosen>, u64), ahash::RandomState>;

impl Remembered {
    pub fn get(&self, text: &Arc<str>) -> Option<Arc<Chosen>> {
        let mut guard = lock(&self.chosen)?;
        let (chosen, clock) = &mut *guard;
        *clock += 1;
        let (found, used) = chosen.get_mut(text)?;
        *used = *clock;
        Some(Arc::clone(found))
    }

    pub fn insert(&self, text: &Arc<str>, new: &Arc<Chosen>) {
        if let Some(mut guard) = lock(&self.chosen) {
            let (chosen, clock) = &mut *guard;
            *clock += 1;
            chosen.insert(Arc::clone(text), (Arc::clone(new), *clock));
        }
    }

    /// Evicts the least recently used entries until the rest is within the limit, given the size of the segment's
    /// matcher.
    pub fn forget_some(&self, matcher: usize) {
        let Some(mut guard) = lock(&self.chosen) else { return };
        let chosen = &mut guard.0;
        let allowed = REMEMBERED + matcher / 2;
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

/// The guard of a mutex that is only ever held briefly; `None` if its holder does not release it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    (0..PATIENCE).find_map(|_| match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(_) => {
            std::thread::yield_now();
            None
        }
    })
}
