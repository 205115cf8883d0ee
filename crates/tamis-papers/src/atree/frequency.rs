//! How often is something true on the events seen so far?
//!
//! Matches count without a lock: if two threads write a count at once, one may be lost, which does not
//! matter for an estimate. Older events have less weight, so estimates follow a drift.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many events the estimate so far weighs as much as.
const WEIGHT: f32 = 64.0;

/// The number of events after which the counts become the estimate, and counting starts again.
const WINDOW: u32 = 512;

/// An estimate, and the counts since it was made.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    estimate: f32,
    /// The number of the event with which counting began.
    since: u32,
    count: AtomicU32,
}

impl Frequency {
    /// An estimate before anything was seen.
    pub fn new(estimate: f32, events: u32) -> Frequency {
        Frequency { estimate, since: events, count: AtomicU32::new(0) }
    }

    /// Counts one event on which it was true.
    pub fn count(&self) {
        let count = self.count.load(Ordering::Relaxed);
        self.count.store(count.wrapping_add(1), Ordering::Relaxed);
    }

    /// The estimate after this many events.
    pub fn estimate(&self, events: u32) -> f32 {
        let seen = events.wrapping_sub(self.since) as f32;
        let count = (self.count.load(Ordering::Relaxed) as f32).min(seen);
        (self.estimate * WEIGHT + count) / (WEIGHT + seen)
    }

    /// Starts counting again if enough has been counted.
    pub fn fold(&mut self, events: u32) {
        if events.wrapping_sub(self.since) >= WINDOW {
            *self = Frequency::new(self.estimate(events), events);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_follow_what_is_seen() {
        let mut frequency = Frequency::new(0.5, 10);
        assert_eq!(frequency.estimate(10), 0.5);
        (0..1000).for_each(|_| frequency.count());
        assert!(frequency.estimate(1010) > 0.95);
        frequency.fold(1010);
        assert!(frequency.estimate(1010) > 0.95);
        assert!(frequency.estimate(2010) < 0.1);
    }
}
