//! Are the events of a batch matched one by one or in blocks?
//!
//! Both ways find the same slots. A matcher measures how long an event takes each way and uses the faster one. Until
//! it has measured, it estimates (`batch_match`). It tries the other way after a few blocks, and again at growing
//! intervals while that stays slower, so that trials cost little and a change in the events is noticed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The other way is tried after this many blocks, then after this factor more each time, up to this maximum.
const FIRST_WAIT: u32 = 4;
const FACTOR: u32 = 4;
const LONGEST_WAIT: u32 = 1024;

/// What to do with the next events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing has been measured yet.
    Estimate,
    Events,
    Blocks,
}

/// How long the events of batches took, by the way they were matched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BatchTimes {
    /// Nanoseconds per event that were matched one by one, if some were.
    pub events: Option<u64>,
    /// Nanoseconds per event that were matched in blocks, if some were.
    pub blocks: Option<u64>,
}

impl BatchTimes {
    /// Whether events are matched in blocks, except for trials; `None` if nothing has been measured yet.
    pub fn prefers_blocks(self) -> Option<bool> {
        match (self.events, self.blocks) {
            (None, None) => None,
            (Some(events), Some(blocks)) => Some(blocks < events),
            (events, _) => Some(events.is_none()),
        }
    }
}

/// The times measured so far, and when to try the other way next. Threads that match concurrently may count a block
/// twice, which only shifts a trial.
#[derive(Debug)]
pub(super) struct Choice {
    /// Nanoseconds per event; 0 while they are unknown.
    events: AtomicU64,
    blocks: AtomicU64,
    /// How many blocks are left until the other way is tried, and the interval after the last trial.
    waits: AtomicU32,
    wait: AtomicU32,
}

impl Default for Choice {
    fn default() -> Self {
        Choice {
            events: AtomicU64::new(0),
            blocks: AtomicU64::new(0),
            waits: AtomicU32::new(FIRST_WAIT),
            wait: AtomicU32::new(FIRST_WAIT),
        }
    }
}

impl Choice {
    pub fn times(&self) -> BatchTimes {
        let known = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|&time| time > 0);
        BatchTimes { events: known(&self.events), blocks: known(&self.blocks) }
    }

    /// How to match the next events.
    pub fn next(&self) -> Next {
        let Some(mut blocks) = self.times().prefers_blocks() else { return Next::Estimate };
        let fewer = |waits: u32| waits.checked_sub(1);
        if self.waits.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fewer).is_err() {
            let wait = (self.wait.load(Ordering::Relaxed) * FACTOR).min(LONGEST_WAIT);
            self.wait_for(wait);
            blocks = !blocks;
        }
        if blocks { Next::Blocks } else { Next::Events }
    }

    /// Records how long this many events took.
    pub fn record(&self, blocks: bool, events: usize, took: Duration) {
        let before = self.times().prefers_blocks();
        let new = u64::try_from(took.as_nanos() / events.max(1) as u128).unwrap_or(u64::MAX).max(1);
        let time = if blocks { &self.blocks } else { &self.events };
        let smoothed = match time.load(Ordering::Relaxed) {
            0 => new,
            old if new < old => old.midpoint(new),
            // Other work on the machine slows single blocks down.
            old => old + (new.min(old.saturating_mul(2)) - old).div_ceil(8),
        };
        time.store(smoothed, Ordering::Relaxed);
        if before.is_some() && before != self.times().prefers_blocks() {
            self.wait_for(FIRST_WAIT);
        }
    }

    fn wait_for(&self, blocks: u32) {
        self.wait.store(blocks, Ordering::Relaxed);
        self.waits.store(blocks, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each way is gone for so many blocks, where events take so long one by one and in blocks.
    fn go(choice: &Choice, blocks: usize, events: u64, together: u64) -> (usize, usize) {
        let (mut apart, mut in_blocks) = (0, 0);
        for _ in 0..blocks {
            // An estimate that is wrong.
            let blocks = match choice.next() {
                Next::Estimate => together > events,
                next => next == Next::Blocks,
            };
            let each = if blocks { together } else { events };
            choice.record(blocks, 512, Duration::from_nanos(512 * each));
            *(if blocks { &mut in_blocks } else { &mut apart }) += 1;
        }
        (apart, in_blocks)
    }

    #[test]
    fn the_faster_way_is_found_and_kept() {
        for (events, blocks) in [(100, 40), (40, 100)] {
            let choice = Choice::default();
            assert_eq!((choice.next(), choice.times().prefers_blocks()), (Next::Estimate, None));
            let (apart, in_blocks) = go(&choice, 1000, events, blocks);
            let slower = if blocks < events { apart } else { in_blocks };
            assert!(slower <= 1 + FIRST_WAIT as usize + 5, "{slower} of 1,000");
            assert_eq!(choice.times(), BatchTimes { events: Some(events), blocks: Some(blocks) });
            assert_eq!(choice.times().prefers_blocks(), Some(blocks < events));
        }
    }

    #[test]
    fn a_change_of_the_events_is_noticed() {
        let choice = Choice::default();
        go(&choice, 1000, 100, 40);
        let (apart, in_blocks) = go(&choice, 10_000, 100, 400);
        assert!(apart > 8_000 && in_blocks < 2_000, "{apart} and {in_blocks}");
    }

    #[test]
    fn one_slow_block_changes_nothing() {
        let choice = Choice::default();
        go(&choice, 1000, 100, 40);
        choice.record(true, 512, Duration::from_secs(1));
        assert_eq!(choice.times().prefers_blocks(), Some(true));
    }
}
