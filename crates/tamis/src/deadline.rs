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
    /// A deadline that much later than now; `None` if that is beyond the range of the clock.
    pub fn after(given: Duration) -> Option<Deadline> {
        Instant::now().checked_add(given).map(|at| Deadline { at, given })
    }

    /// Whether the time is up. Asking costs about 25 ns: ask every few thousand units of work.
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
