//! How much work and memory may matching a document take?
//!
//! A unit of work is about a nanosecond: one node visited, a few bytes compared. Every loop whose
//! length depends on the filter or the document spends units, so that expressions of quadratic or
//! exponential cost stop at a limit. Memory is counted as the number of bytes held at a time.

use super::limits::Limits;
use crate::deadline::Deadline;
use crate::error::Error;

/// The number of units between two checks of the clock.
const BETWEEN: u64 = 1 << 16;

/// The budget that an evaluation exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exhausted {
    FilterWork,
    DocumentWork,
    Memory,
    Time,
}

/// The result of an operation that spends units.
pub type Metered<T> = Result<T, Exhausted>;

/// Counts the work of matching one document.
#[derive(Debug)]
pub struct Meter {
    spent: u64,
    /// The units spent before the current filter, and the limit on `spent` while it is evaluated.
    before: u64,
    filter_end: u64,
    /// The value of `spent` at which to check the limits and the clock again.
    check_at: u64,
    held: usize,
    filter_work: u64,
    document_work: u64,
    filter_memory: usize,
    deadline: Option<Deadline>,
}

impl Meter {
    pub fn new(limits: &Limits, deadline: Option<Deadline>) -> Meter {
        Meter {
            spent: 0,
            before: 0,
            filter_end: u64::MAX,
            check_at: 0,
            held: 0,
            filter_work: limits.filter_work as u64,
            document_work: limits.document_work as u64,
            filter_memory: limits.filter_memory,
            deadline,
        }
    }

    /// Begins the evaluation of a filter.
    pub fn begin_filter(&mut self) {
        self.before = self.spent;
        self.filter_end = self.spent.saturating_add(self.filter_work);
        self.held = 0;
        self.check_at = 0;
    }

    /// Ends the evaluation of a filter. Further work counts for the document only.
    pub fn end_filter(&mut self) {
        self.filter_end = u64::MAX;
        self.check_at = 0;
    }

    /// Spends units of work.
    #[inline]
    pub fn spend(&mut self, units: usize) -> Metered<()> {
        self.spent = self.spent.saturating_add(units as u64);
        if self.spent < self.check_at { Ok(()) } else { self.check() }
    }

    #[cold]
    fn check(&mut self) -> Metered<()> {
        if self.spent > self.document_work {
            return Err(Exhausted::DocumentWork);
        } else if self.spent > self.filter_end {
            return Err(Exhausted::FilterWork);
        } else if self.deadline.is_some_and(|deadline| deadline.has_passed()) {
            return Err(Exhausted::Time);
        }
        self.check_at = self.spent.saturating_add(BETWEEN).min(self.filter_end).min(self.document_work);
        self.check_at = self.check_at.saturating_add(1);
        Ok(())
    }

    /// Counts memory as held until it is released or the filter's evaluation ends.
    #[inline]
    pub fn hold(&mut self, bytes: usize) -> Metered<()> {
        self.held = self.held.saturating_add(bytes);
        if self.held > self.filter_memory { Err(Exhausted::Memory) } else { Ok(()) }
    }

    #[inline]
    pub fn release(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// The units spent so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// The error for an exhausted budget.
    pub fn error(&self, exhausted: Exhausted) -> Error {
        let limit = |what, name, found: u64, allowed: u64| Error::Limit {
            what,
            name,
            found: found as usize,
            allowed: allowed as usize,
        };
        match exhausted {
            Exhausted::FilterWork => {
                let found = self.spent - self.before;
                limit("work of evaluating a filter", "filter_work", found, self.filter_work)
            }
            Exhausted::DocumentWork => {
                limit("work of matching a document", "document_work", self.spent, self.document_work)
            }
            Exhausted::Memory => {
                let (found, allowed) = (self.held as u64, self.filter_memory as u64);
                limit("bytes held by the evaluation of a filter", "filter_memory", found, allowed)
            }
            Exhausted::Time => {
                self.deadline.map_or(Error::Timeout { seconds: 0.0 }, |deadline| deadline.error())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_per_filter_and_per_document() {
        let limits = Limits { filter_work: 100, document_work: 250, filter_memory: 10, ..Limits::default() };
        let mut meter = Meter::new(&limits, None);
        meter.begin_filter();
        assert_eq!(meter.spend(100), Ok(()));
        assert_eq!(meter.spend(1), Err(Exhausted::FilterWork));
        meter.begin_filter();
        assert_eq!(meter.spend(99), Ok(()));
        assert_eq!(meter.hold(10), Ok(()));
        assert_eq!(meter.hold(1), Err(Exhausted::Memory));
        meter.begin_filter();
        assert_eq!(meter.hold(10), Ok(()));
        assert_eq!(meter.spend(51), Err(Exhausted::DocumentWork));
        let shown = meter.error(Exhausted::DocumentWork).to_string();
        assert_eq!(
            shown,
            "work of matching a document: 251 exceeds the limit of 250 (limit `document_work`)"
        );
    }

    #[test]
    fn time_is_looked_at_now_and_then() {
        let deadline = Deadline::after(std::time::Duration::ZERO);
        let mut meter = Meter::new(&Limits::default(), deadline);
        assert_eq!(meter.spend(1), Err(Exhausted::Time));
        assert_eq!(meter.error(Exhausted::Time), Error::Timeout { seconds: 0.0 });
    }
}
