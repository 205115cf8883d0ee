//! What do typical events look like?
//!
//! A sample of the matched events is kept, so the next segment can choose its
//! triggers by how often predicates held. Matching never waits for the sample: while it is locked, events are not added.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::event::Event;

/// How many events are kept.
const SIZE: usize = 256;
/// One in this many events is kept, once there are enough to start with.
const INTERVAL: u32 = 64;

/// The events seen most recently, thinned out.
#[derive(Debug, Default)]
pub(super) struct Sample {
    events: Mutex<(Vec<Event>, usize)>,
    /// Set when there are enough events, and kept.
    full: AtomicBool,
    /// Set when there are enough events for the first time.
    filled: AtomicBool,
}

impl Sample {
    /// Considers an event that is being matched for the sample. `seen` counts the events of one thread, of all indexes
    /// together: it thins them out, but does not say how many this sample has.
    pub fn observe(&self, event: &Event, seen: &mut u32) {
        *seen = seen.wrapping_add(1);
        if self.is_full() && !seen.is_multiple_of(INTERVAL) {
            return;
        }
        if event.is_large() {
            return;
        }
        let Ok(mut guard) = self.events.try_lock() else { return };
        let (events, next) = &mut *guard;
        if events.len() < SIZE {
            events.push(event.clone());
            if events.len() == SIZE {
                self.full.store(true, Ordering::Release);
                self.filled.store(true, Ordering::Release);
            }
        } else {
            events[*next] = event.clone();
            *next = (*next + 1) % SIZE;
        }
    }

    /// Whether there are enough events for the first time since the last call.
    pub fn take_filled(&self) -> bool {
        self.filled.load(Ordering::Relaxed) && self.filled.swap(false, Ordering::AcqRel)
    }

    /// Whether there are enough events to choose triggers with.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// The events kept.
    pub fn events(&self) -> Vec<Event> {
        // This never waits: in a forked process, the holder of the lock may not exist.
        self.events.try_lock().map_or_else(|_| Vec::new(), |guard| guard.0.clone())
    }
}
