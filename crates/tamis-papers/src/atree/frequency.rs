//! How often is something true on the events seen so far?
//!
//! Matches count without a lock. If two threads write a count at once, one may be lost, which is
//! acceptable for an estimate. Older events weigh less, so that estimates follow a drift.

use std::sync::atomic::{AtomicU32, Ordering};

/// The weight of the previous estimate, in events.
const WEIGHT: f32 = 64.0;

/// The number of events after which the counts are folded into the estimate and counting restarts.
const WINDOW: u32 = 512;

/// An estimate, and the counts since it was made.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    estimate: f32,
    /// The event number at which counting started.
    since: u32,
    count: AtomicU32,
}

impl Frequency {
    /// An initial estimate.
    pub fn new(estimate: f32, events: u32) -> Frequency {
        Frequency { estimate, since: events, count: AtomicU32::new(0) }
    }

    /// Counts one event for which it was true.
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

    /// Folds the counts into the estimate once the window is full.
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
