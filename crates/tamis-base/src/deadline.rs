//! When must a match give up?

use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// The moment at which a match gives up, and how long it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadline {
    at: Instant,
    given: Duration,
}

impl Deadline {
    /// A deadline this much later than now; `None` if that exceeds the range of the clock.
    pub fn after(given: Duration) -> Option<Deadline> {
        Instant::now().checked_add(given).map(|at| Deadline { at, given })
    }

    /// Whether the time is up. Reading the clock takes about 25 ns, so ask only every few thousand units of work.
    pub fn has_passed(&self) -> bool {
        Instant::now() >= self.at
    }

    /// The error of a match whose time is up.
    pub fn error(&self) -> Error {
        Error::Timeout { seconds: self.given.as_secs_f64() }
    }

    /// Fails once the time is up.
    pub fn check(&self) -> Result<()> {
        if self.has_passed() { Err(self.error()) } else { Ok(()) }
    }
}

/// Units of work between two readings of the clock. A unit is about one comparison, so this many take some
/// microseconds.
const UNITS: usize = 1 << 12;

/// Reads the clock each time a certain number of units of work have been done.
#[derive(Debug, Clone, Default)]
pub struct Timer {
    deadline: Option<Deadline>,
    spent: usize,
    late: bool,
}

impl Timer {
    /// A timer for work that starts now and must end before the deadline, if there is one.
    pub fn new(deadline: Option<Deadline>) -> Timer {
        Timer { deadline, spent: 0, late: false }
    }

    /// Counts work; returns whether to give up. Once it returns true, it always does.
    #[inline]
    pub fn spend(&mut self, units: usize) -> bool {
        self.spent = self.spent.saturating_add(units);
        if self.spent >= UNITS { self.look() } else { self.late }
    }

    /// Reads the clock; returns whether to give up. For work in which a single step may take long.
    pub fn look(&mut self) -> bool {
        self.spent = 0;
        self.late = self.late || self.deadline.is_some_and(|deadline| deadline.has_passed());
        self.late
    }

    /// Whether the deadline has been found to have passed.
    #[inline]
    pub fn is_late(&self) -> bool {
        self.late
    }

    /// Fails if work was given up, or if the time is up now.
    #[inline]
    pub fn check(&mut self) -> Result<()> {
        let late = self.look();
        match self.deadline {
            Some(deadline) if late => Err(deadline.error()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_late_after_some_units_and_stays_so() {
        let mut timer = Timer::new(Deadline::after(Duration::ZERO));
        assert!(!timer.spend(UNITS - 1));
        assert!(timer.spend(1));
        assert!(timer.spend(0) && timer.is_late());
        assert!(timer.check().is_err());
        let mut timer = Timer::new(None);
        assert!(!timer.spend(usize::MAX) && !timer.spend(usize::MAX));
        assert!(timer.check().is_ok());
    }
}
