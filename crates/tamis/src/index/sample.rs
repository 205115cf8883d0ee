//! What are events like?
//!
//! A few of the events that are matched are kept, so that what is compiled next can choose its
//! access predicates by what was seen. Nobody waits for it: a busy sample takes nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::event::Event;

/// How many events are kept.
const SIZE: usize = 256;
/// One in so many events is kept, once there are enough to begin with.
const INTERVAL: u32 = 64;

/// The events seen most recently, thinned out.
#[derive(Debug, Default)]
pub(super) struct Sample {
    events: Mutex<(Vec<Event>, usize)>,
    /// Set when there are enough events for the first time.
    filled: AtomicBool,
}

impl Sample {
    /// Looks at an event that is being matched; `seen` counts those of one thread.
    pub fn observe(&self, event: &Event, seen: &mut u32) {
        *seen = seen.wrapping_add(1);
        if *seen > SIZE as u32 && !seen.is_multiple_of(INTERVAL) {
            return;
        }
        if event.is_large() {
            return;
        }
        let Ok(mut guard) = self.events.try_lock() else { return };
        let (events, next) = &mut *guard;
        if events.len() < SIZE {
            events.push(event.clone());
            self.filled.store(events.len() == SIZE, Ordering::Release);
        } else {
            events[*next] = event.clone();
            *next = (*next + 1) % SIZE;
        }
    }

    /// Whether there are enough events for the first time since this was asked.
    pub fn take_filled(&self) -> bool {
        self.filled.load(Ordering::Relaxed) && self.filled.swap(false, Ordering::AcqRel)
    }

    /// Whether there are enough events to choose by.
    pub fn is_full(&self) -> bool {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).0.len() == SIZE
    }

    /// The events kept.
    pub fn events(&self) -> Vec<Event> {
        // Events are pushed and replaced whole, so the list is sound whatever its last holder did.
        self.events.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }
}
