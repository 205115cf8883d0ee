//! When can a subscription match?
//!
//! Validity is a half-open interval of time; either end may be missing. A call compares it with
//! `now()`. A segment whose subscriptions are always valid has no column for it, and if all subscriptions
//! of a segment are valid at that moment, slots are not checked one by one.

use crate::column::Column;
use crate::error::{Error, Result};
use crate::explain::{Inactive, ValidityEnd};
use crate::matcher::Slot;
use crate::sections::{SectionReader, Sections};
use crate::value::Timestamp;

/// The moments at which a subscription can match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Validity {
    /// The first moment; `None` if there is no beginning.
    pub from: Option<Timestamp>,
    /// The first moment after its end; `None` if there is no end.
    pub until: Option<Timestamp>,
}

impl Validity {
    /// Whether it has a bound.
    pub fn is_bounded(&self) -> bool {
        self.from.is_some() || self.until.is_some()
    }

    /// Whether it contains a moment.
    pub fn holds(&self, now: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= now) && self.until.is_none_or(|until| now < until)
    }

    /// The end that a moment lies beyond; `None` if it lies in it.
    pub(super) fn inactive(&self, now: Timestamp) -> Option<Inactive> {
        let early = self.from.filter(|from| now < *from).map(ValidityEnd::From);
        let late = self.until.filter(|until| *until <= now).map(ValidityEnd::Until);
        early.or(late).map(|end| Inactive { end, now })
    }

    /// Fails if it contains no moment.
    pub fn check(&self) -> Result<()> {
        match (self.from, self.until) {
            (Some(from), Some(until)) if until <= from => Err(Error::expression(format!(
                "a subscription is active from a moment until a later one, not from {from} until {until}"
            ))),
            _ => Ok(()),
        }
    }
}

const ALWAYS: i128 = i128::MIN;
const NEVER: i128 = i128::MAX;
const SECOND: i128 = 1_000_000_000;

/// The validities of the slots of a segment, as nanoseconds.
#[derive(Debug)]
pub(super) struct Validities {
    /// The beginning and the end of each slot; empty if all are always valid.
    bounds: Column<i128>,
    /// The latest beginning and the earliest end of all slots.
    all: (i128, i128),
}

impl Validities {
    pub fn new(validities: &[Validity]) -> Validities {
        if !validities.iter().any(Validity::is_bounded) {
            return Validities::of(Column::default());
        }
        let bounds = validities.iter().flat_map(|validity| {
            [validity.from.map_or(ALWAYS, nanoseconds), validity.until.map_or(NEVER, nanoseconds)]
        });
        Validities::of(bounds.collect())
    }

    fn of(bounds: Column<i128>) -> Validities {
        let froms = bounds.iter().step_by(2).copied().max();
        let untils = bounds.iter().skip(1).step_by(2).copied().min();
        let all = (froms.unwrap_or(ALWAYS), untils.unwrap_or(NEVER));
        Validities { bounds, all }
    }

    pub fn get(&self, slot: Slot) -> Validity {
        let bound = |position: usize| moment(*self.bounds.get(2 * slot as usize + position)?);
        Validity { from: bound(0), until: bound(1) }
    }

    /// Whether any of them has a bound.
    pub fn are_bounded(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Whether all of them contain a moment.
    pub fn hold_all(&self, now: Timestamp) -> bool {
        let now = nanoseconds(now);
        self.all.0 <= now && now < self.all.1
    }

    /// Whether that of a slot contains a moment.
    pub fn hold(&self, slot: Slot, now: Timestamp) -> bool {
        let (now, first) = (nanoseconds(now), 2 * slot as usize);
        match self.bounds.get(first..first + 2) {
            Some(bounds) => bounds[0] <= now && now < bounds[1],
            None => true,
        }
    }

    /// Whether they are valid intervals, one for every slot.
    pub fn are_for(&self, slots: usize) -> bool {
        let is_interval = |bounds: &[i128]| {
            bounds[0] < bounds[1]
                && (bounds[0] == ALWAYS || moment(bounds[0]).is_some())
                && (bounds[1] == NEVER || moment(bounds[1]).is_some())
        };
        self.bounds.is_empty()
            || self.bounds.len() == 2 * slots && self.bounds.chunks_exact(2).all(is_interval)
    }

    pub fn bytes(&self) -> usize {
        16 * self.bounds.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.bounds);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Validities> {
        Ok(Validities::of(reader.next()?))
    }
}

fn nanoseconds(moment: Timestamp) -> i128 {
    let (seconds, nanoseconds) = moment.parts();
    i128::from(seconds) * SECOND + i128::from(nanoseconds)
}

fn moment(nanoseconds: i128) -> Option<Timestamp> {
    let seconds = i64::try_from(nanoseconds.div_euclid(SECOND)).ok()?;
    Timestamp::new(seconds, nanoseconds.rem_euclid(SECOND) as i64)
}
