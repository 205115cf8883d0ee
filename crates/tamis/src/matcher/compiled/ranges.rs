//! Which ranges of an attribute hold a value?
//!
//! The ends of all ranges of an attribute are sorted once; a value is then known by its rank among
//! them, and a range is an interval of ranks. Numbers come before strings, and the empty string
//! always stands between them, so that `a > 5` ends where the strings begin; where ranges ask about
//! times or other types, the first value of each stands there, too. The intervals that a value lies in are found by an implicit tree over the intervals sorted by their low end, each
//! subtree with its highest high end: the logarithm of their number, plus the answers.

use std::ops::Range;

use super::ir::{AT_LEAST, AT_MOST, BETWEEN, GREATER, LESS};
use super::values::ValueColumns;
use crate::column::Column;
use crate::csr::is_ascending;
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Family, Value, ValueRef};

/// No rank: a boolean, or a value of a type that no range asks about.
pub(super) const NO_RANK: u32 = u32::MAX;

/// The ends of the ranges of every attribute.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    /// Where the ends of each attribute begin in `values`.
    starts: Column<u32>,
    values: ValueColumns,
}

impl Bounds {
    /// Sorts the ends; attributes are numbered up to `attributes`.
    pub fn new(bounds: &[(u32, Value)], attributes: usize) -> Bounds {
        let mut sorted: Vec<(u32, Value)> = bounds.to_vec();
        let mut ranged: Vec<u32> = bounds.iter().map(|(attribute, _)| *attribute).collect();
        ranged.sort_unstable();
        ranged.dedup();
        sorted.extend(ranged.into_iter().map(|attribute| (attribute, Value::from(""))));
        let typed = |(_, value): &&(u32, Value)| value.family() > Family::String;
        let mut typed: Vec<u32> = bounds.iter().filter(typed).map(|(attribute, _)| *attribute).collect();
        typed.sort_unstable();
        typed.dedup();
        let firsts = |attribute: u32| Family::TYPED.map(|family| (attribute, family.first()));
        sorted.extend(typed.into_iter().flat_map(firsts));
        sorted.sort_unstable();
        sorted.dedup();
        let mut starts = vec![0u32; attributes + 2];
        for (attribute, _) in &sorted {
            starts[*attribute as usize + 1] += 1;
        }
        for attribute in 1..starts.len() {
            starts[attribute] += starts[attribute - 1];
        }
        Bounds { starts: starts.into(), values: sorted.iter().collect() }
    }

    fn of(&self, attribute: u32) -> Range<usize> {
        let attribute = attribute as usize;
        self.starts[attribute] as usize..self.starts[attribute + 1] as usize
    }

    /// How many ranks the values of an attribute have: none where no range asks about it.
    pub fn ranks(&self, attribute: u32) -> u32 {
        match self.of(attribute).len() as u32 {
            0 => 0,
            ends => 2 * ends + 1,
        }
    }

    /// Whether the ends of so many attributes are there.
    pub fn is_whole(&self, attributes: usize) -> bool {
        self.starts.len() == attributes + 2
            && is_ascending(&self.starts, self.values.len())
            && self.values.len() < (NO_RANK / 2) as usize
            && self.values.are_whole()
    }

    /// The rank of a value: odd where it is an end itself, even between two ends.
    pub fn rank(&self, attribute: u32, value: ValueRef<'_>) -> u32 {
        let ends = self.of(attribute);
        if ends.is_empty() {
            return NO_RANK;
        }
        match value {
            ValueRef::Integer(_) | ValueRef::Float(_) | ValueRef::Decimal(_) | ValueRef::String(_) => {}
            ValueRef::Boolean(_) | ValueRef::Network(_) | ValueRef::Local(_) => return NO_RANK,
            // The ends of an attribute that is asked about one type have the first values of all.
            _ if self.values.is_typed(ends.end - 1) => {}
            _ => return NO_RANK,
        }
        match self.values.find(ends.clone(), value) {
            Ok(end) => 2 * (end - ends.start) as u32 + 1,
            Err(above) => 2 * (above - ends.start) as u32,
        }
    }

    /// The first and last rank of a range; the last is the lesser where nothing lies in it.
    pub fn interval(&self, attribute: u32, comparison: u32, low: &Value, high: &Value) -> (u32, u32) {
        let family = low.family();
        let begin = |family: Family| self.rank(attribute, family.first().as_ref());
        let first = if family == Family::Number { 0 } else { begin(family) };
        let last = match Family::RANGED.iter().find(|next| **next > family).map(|next| begin(*next)) {
            None | Some(NO_RANK) => 2 * self.of(attribute).len() as u32,
            Some(next) => next - 1,
        };
        let (low, high) = (self.rank(attribute, low.as_ref()), self.rank(attribute, high.as_ref()));
        match comparison {
            LESS => (first, low - 1),
            AT_MOST => (first, low),
            GREATER => (low + 1, last),
            AT_LEAST => (low, last),
            BETWEEN => (low, high),
            other => unreachable!("comparison {other}"),
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.starts.len() + self.values.bytes()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.starts);
        self.values.write(sections);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Bounds> {
        Ok(Bounds { starts: reader.next()?, values: ValueColumns::read(reader)? })
    }
}

/// An interval of ranks that something waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(super) struct Interval {
    pub attribute: u32,
    pub first: u32,
    pub last: u32,
    pub trigger: u32,
}

/// The intervals of every attribute, ready to be stabbed.
#[derive(Debug, Default)]
pub(super) struct Stabbing {
    /// Where the intervals of each attribute begin.
    starts: Column<u32>,
    /// Sorted by attribute, then first rank.
    intervals: Column<Interval>,
    /// The highest last rank in the subtree of each interval.
    highest: Column<u32>,
}

impl Stabbing {
    pub fn new(mut intervals: Vec<Interval>, attributes: usize) -> Stabbing {
        intervals.sort_unstable();
        let mut starts = vec![0u32; attributes + 2];
        for interval in &intervals {
            starts[interval.attribute as usize + 1] += 1;
        }
        for attribute in 1..starts.len() {
            starts[attribute] += starts[attribute - 1];
        }
        let mut highest = vec![0; intervals.len()];
        for attribute in 0..=attributes {
            raise(&intervals, &mut highest, starts[attribute] as usize, starts[attribute + 1] as usize);
        }
        Stabbing { starts: starts.into(), intervals: intervals.into(), highest: highest.into() }
    }

    /// How many intervals there are.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Whether the intervals of so many attributes are there, each with a trigger of its own.
    pub fn is_whole(&self, attributes: usize, triggers: Range<u32>) -> bool {
        let mut seen = vec![false; triggers.len()];
        self.starts.len() == attributes + 2
            && is_ascending(&self.starts, self.intervals.len())
            && self.highest.len() == self.intervals.len()
            && self.intervals.iter().all(|interval| {
                triggers.contains(&interval.trigger)
                    && !std::mem::replace(&mut seen[(interval.trigger - triggers.start) as usize], true)
            })
    }

    /// The intervals of an attribute, by their first rank.
    pub fn of(&self, attribute: u32) -> &[Interval] {
        let attribute = attribute as usize;
        &self.intervals[self.starts[attribute] as usize..self.starts[attribute + 1] as usize]
    }

    /// Calls `found` with the trigger of every interval of the attribute that holds the rank, but not a lesser
    /// rank `before`: over ascending ranks every interval is found once.
    pub fn stab(&self, attribute: u32, before: Option<u32>, rank: u32, found: &mut impl FnMut(u32)) {
        if rank == NO_RANK {
            return;
        }
        let (start, end) =
            (self.starts[attribute as usize] as usize, self.starts[attribute as usize + 1] as usize);
        let from = before.filter(|before| *before < rank).map_or(start, |before| {
            start + self.intervals[start..end].partition_point(|interval| interval.first <= before)
        });
        self.visit(from, start, end, rank, found);
    }

    /// Looks at the subtree over `low..high`, but not at what stands before `from`.
    fn visit(&self, from: usize, mut low: usize, high: usize, rank: u32, found: &mut impl FnMut(u32)) {
        while low < high {
            let middle = low.midpoint(high);
            if self.highest[middle] < rank {
                return;
            }
            if from < middle {
                self.visit(from, low, middle, rank, found);
            }
            let interval = self.intervals[middle];
            if rank < interval.first {
                return;
            }
            if rank <= interval.last && from <= middle {
                found(interval.trigger);
            }
            low = middle + 1;
        }
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.starts.len() + 20 * self.intervals.len()
    }

    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.starts);
        sections.push(&self.intervals);
        sections.push(&self.highest);
    }

    pub fn read(reader: &mut SectionReader) -> Result<Stabbing> {
        Ok(Stabbing { starts: reader.next()?, intervals: reader.next()?, highest: reader.next()? })
    }
}

/// Computes `highest` of the subtree over `low..high`, whose root is its middle. The recursion is as
/// deep as the logarithm of the number of intervals.
fn raise(intervals: &[Interval], highest: &mut [u32], low: usize, high: usize) -> u32 {
    if low >= high {
        return 0;
    }
    let middle = low.midpoint(high);
    let below = raise(intervals, highest, low, middle).max(raise(intervals, highest, middle + 1, high));
    highest[middle] = below.max(intervals[middle].last);
    highest[middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stabbing_finds_what_a_scan_finds(
            ranges in prop::collection::vec((1..3u32, 0..20u32, 0..20u32), 0..60),
            rank in 0..22u32,
        ) {
            let intervals: Vec<Interval> = (0..).zip(&ranges)
                .map(|(trigger, &(attribute, first, last))| Interval { attribute, first, last, trigger })
                .collect();
            let stabbing = Stabbing::new(intervals.clone(), 3);
            for attribute in 1..3 {
                let mut found = Vec::new();
                stabbing.stab(attribute, None, rank, &mut |trigger| found.push(trigger));
                found.sort_unstable();
                let expected: Vec<u32> = intervals.iter()
                    .filter(|interval| interval.attribute == attribute && (interval.first..=interval.last).contains(&rank))
                    .map(|interval| interval.trigger)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn ascending_ranks_find_every_interval_once(
            ranges in prop::collection::vec((0..20u32, 0..20u32), 0..60),
            ranks in prop::collection::btree_set(0..22u32, 0..10),
        ) {
            let intervals: Vec<Interval> = (0..).zip(&ranges)
                .map(|(trigger, &(first, last))| Interval { attribute: 1, first, last, trigger })
                .collect();
            let stabbing = Stabbing::new(intervals.clone(), 1);
            let (mut found, mut before) = (Vec::new(), None);
            for &rank in &ranks {
                stabbing.stab(1, before, rank, &mut |trigger| found.push(trigger));
                before = Some(rank);
            }
            found.sort_unstable();
            let expected: Vec<u32> = intervals.iter()
                .filter(|interval| ranks.iter().any(|rank| (interval.first..=interval.last).contains(rank)))
                .map(|interval| interval.trigger)
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn numbers_and_strings_do_not_meet() {
        let bounds = Bounds::new(&[(1, 5.into()), (1, "m".into())], 1);
        let inside = |comparison, operand: &Value, value: ValueRef<'_>| {
            let (first, last) = bounds.interval(1, comparison, operand, operand);
            (first..=last).contains(&bounds.rank(1, value))
        };
        let (five, m) = (5.into(), "m".into());
        assert!(inside(GREATER, &five, ValueRef::Integer(6)));
        assert!(!inside(GREATER, &five, ValueRef::Integer(5)));
        assert!(inside(AT_LEAST, &five, ValueRef::Integer(5)));
        assert!(!inside(GREATER, &five, ValueRef::String("")));
        assert!(!inside(GREATER, &five, ValueRef::String("z")));
        assert!(inside(LESS, &m, ValueRef::String("")));
        assert!(!inside(LESS, &m, ValueRef::Integer(9)));
        assert!(inside(LESS, &five, ValueRef::Integer(i64::MIN)));
        assert!(!inside(LESS, &five, ValueRef::Boolean(true)));
        assert!(inside(GREATER, &m, ValueRef::String("zz")));
    }
}
