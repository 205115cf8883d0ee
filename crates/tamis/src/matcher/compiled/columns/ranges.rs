//! Which ranges of an attribute hold a value?
//!
//! The ends of all ranges of an attribute are sorted once; a value is then known by its rank among
//! them, and a range is an interval of ranks. Numbers come before strings, and the empty string
//! always stands between them, so that `a > 5` ends where the strings begin; where ranges ask about
//! times or other types, the first value of each stands there, too. The intervals that a value lies in
//! are found by an implicit tree over bundles of the intervals sorted by their low end, each subtree with its highest
//! high end. A bundle of 64 is compared at once, without branches: half of the intervals or more hold a usual value.

use std::collections::HashMap;
use std::ops::Range;

use super::values::ValueColumns;
use crate::column::Column;
use crate::csr::{self, is_ascending};
use crate::error::Result;
use crate::sections::{SectionReader, Sections};
use crate::value::{Family, Value, ValueRef};

/// The comparisons of a range.
pub(in crate::matcher::compiled) const LESS: u32 = 0;
pub(in crate::matcher::compiled) const AT_MOST: u32 = 1;
pub(in crate::matcher::compiled) const GREATER: u32 = 2;
pub(in crate::matcher::compiled) const AT_LEAST: u32 = 3;
pub(in crate::matcher::compiled) const BETWEEN: u32 = 4;

/// No rank: a boolean, or a value of a type that no range tests.
pub(in crate::matcher::compiled) const NO_RANK: u32 = u32::MAX;

/// The ends of the ranges of every attribute.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Bounds {
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
        let starts = csr::starts(attributes + 1, sorted.iter().map(|(attribute, _)| *attribute));
        Bounds { starts: starts.into(), values: sorted.iter().collect() }
    }

    fn of(&self, attribute: u32) -> Range<usize> {
        csr::range(&self.starts, attribute)
    }

    /// How many ranks the values of an attribute have: none if no range tests it.
    pub fn ranks(&self, attribute: u32) -> u32 {
        match self.of(attribute).len() as u32 {
            0 => 0,
            ends => 2 * ends + 1,
        }
    }

    /// Whether there are the bounds of exactly this many attributes.
    pub fn is_whole(&self, attributes: usize) -> bool {
        self.starts.len() == attributes + 2
            && is_ascending(&self.starts, self.values.len())
            && self.values.len() < (NO_RANK / 2) as usize
            && self.values.are_whole()
    }

    /// The rank of a value: odd if it is a bound itself, even between two bounds.
    pub fn rank(&self, attribute: u32, value: ValueRef<'_>) -> u32 {
        let ends = self.of(attribute);
        if ends.is_empty() {
            return NO_RANK;
        }
        match value {
            ValueRef::Integer(_) | ValueRef::Float(_) | ValueRef::Decimal(_) | ValueRef::String(_) => {}
            ValueRef::Boolean(_) | ValueRef::Network(_) | ValueRef::Local(_) => return NO_RANK,
            // If an attribute has bounds of one typed family, it has the first values of all.
            _ if self.values.is_typed(ends.end - 1) => {}
            _ => return NO_RANK,
        }
        match self.values.find(ends.clone(), value) {
            Ok(end) => 2 * (end - ends.start) as u32 + 1,
            Err(above) => 2 * (above - ends.start) as u32,
        }
    }

    /// The first and last rank of a range; the last is smaller if the range is empty.
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

/// An interval of ranks that is a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(in crate::matcher::compiled) struct Interval {
    pub first: u32,
    pub last: u32,
}

/// Intervals while they are collected, each once.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Intervals {
    /// The attribute, the first and the last rank.
    list: Vec<(u32, u32, u32)>,
    numbers: HashMap<(u32, u32, u32), u32, ahash::RandomState>,
}

impl Intervals {
    /// The number of an interval.
    pub fn number(&mut self, attribute: u32, (first, last): (u32, u32)) -> u32 {
        let interval = (attribute, first, last);
        let next = self.list.len() as u32;
        let number = *self.numbers.entry(interval).or_insert(next);
        if number == next {
            self.list.push(interval);
        }
        number
    }

    /// The intervals by attribute and rank, and the position there of each number.
    pub fn in_order(self) -> (Vec<(u32, u32, u32)>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.sort_unstable_by_key(|&number| self.list[number as usize]);
        let mut positions = vec![0; order.len()];
        for (&number, position) in order.iter().zip(0..) {
            positions[number as usize] = position;
        }
        (order.iter().map(|&number| self.list[number as usize]).collect(), positions)
    }
}

/// So many intervals are compared with a rank at a time.
const BUNDLE: usize = u64::BITS as usize;

/// The intervals of every attribute, ready to be stabbed.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Stabbing {
    /// Where the intervals of each attribute begin.
    starts: Column<u32>,
    /// Sorted by attribute, then first rank. Their positions number the triggers of ranges.
    intervals: Column<Interval>,
    /// The bundles of an attribute are the nodes of an implicit tree: the highest last rank in the subtree of each.
    highest: Column<u32>,
}

impl Stabbing {
    /// Of intervals by attribute, first and last rank, in ascending order.
    pub fn new(sorted: &[(u32, u32, u32)], attributes: usize) -> Stabbing {
        let starts = csr::starts(attributes + 1, sorted.iter().map(|(attribute, ..)| *attribute));
        let intervals: Vec<Interval> =
            sorted.iter().map(|&(_, first, last)| Interval { first, last }).collect();
        let highest = highest(&starts, &intervals);
        Stabbing { starts: starts.into(), intervals: intervals.into(), highest: highest.into() }
    }

    /// How many intervals there are.
    pub fn len(&self) -> usize {
        self.intervals.len()
    }

    /// Whether there are the intervals of exactly this many attributes, each once and ordered, so that an event finds
    /// none of them twice.
    pub fn is_whole(&self, attributes: usize) -> bool {
        let ascends = |of: &[u32]| {
            let intervals = &self.intervals[of[0] as usize..of[1] as usize];
            intervals.is_sorted_by_key(|interval| interval.first)
        };
        self.starts.len() == attributes + 2
            && is_ascending(&self.starts, self.intervals.len())
            && self.starts.windows(2).all(ascends)
            && *self.highest == *highest(&self.starts, &self.intervals)
    }

    /// The position of an attribute's first interval, and its intervals by their first rank.
    pub fn of(&self, attribute: u32) -> (u32, &[Interval]) {
        let attribute = attribute as usize;
        let (start, end) = (self.starts[attribute], self.starts[attribute + 1]);
        (start, &self.intervals[start as usize..end as usize])
    }

    /// Calls `found` with the position of every interval of the attribute that holds the rank, but not a lesser
    /// rank `before`: over ascending ranks every interval is found once.
    pub fn stab(&self, attribute: u32, before: Option<u32>, rank: u32, found: &mut impl FnMut(u32)) {
        if rank == NO_RANK {
            return;
        }
        let (start, intervals) = self.of(attribute);
        let from = before
            .filter(|before| *before < rank)
            .map_or(0, |before| intervals.partition_point(|interval| interval.first <= before));
        let highest = &self.highest[first_block(start as usize, attribute as usize)..];
        let bundles = Bundles { start, intervals, highest, from, rank };
        bundles.visit(0, intervals.len().div_ceil(BUNDLE), found);
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.highest.len()) + size_of::<Interval>() * self.intervals.len()
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

/// Where the bundles of an attribute begin whose first interval is at `start`: there is room for all bundles of the
/// attributes before it, the last of which may not be full.
fn first_block(start: usize, attribute: usize) -> usize {
    start / BUNDLE + attribute
}

/// The intervals of an attribute that are searched for a rank.
struct Bundles<'a> {
    start: u32,
    intervals: &'a [Interval],
    highest: &'a [u32],
    /// Intervals before this one are left out.
    from: usize,
    rank: u32,
}

impl Bundles<'_> {
    /// Searches the subtree over the bundles `low..high`.
    fn visit(&self, mut low: usize, high: usize, found: &mut impl FnMut(u32)) {
        while low < high {
            let middle = low.midpoint(high);
            if self.highest[middle] < self.rank {
                return;
            }
            let begin = BUNDLE * middle;
            if self.from < begin {
                self.visit(low, middle, found);
            }
            let bundle = &self.intervals[begin..self.intervals.len().min(begin + BUNDLE)];
            if self.rank < bundle[0].first {
                return;
            }
            let mut holding = bundle.iter().zip(0..).fold(0, |bits, (interval, position)| {
                bits | u64::from(interval.first <= self.rank && self.rank <= interval.last) << position
            });
            holding &= u64::MAX.checked_shl(self.from.saturating_sub(begin) as u32).unwrap_or(0);
            while holding != 0 {
                found(self.start + begin as u32 + holding.trailing_zeros());
                holding &= holding - 1;
            }
            low = middle + 1;
        }
    }
}

/// Computes `highest` of the bundles of all attributes.
fn highest(starts: &[u32], intervals: &[Interval]) -> Vec<u32> {
    let mut highest = vec![0; first_block(intervals.len(), starts.len().saturating_sub(1))];
    for (attribute, of) in starts.windows(2).enumerate() {
        let intervals = &intervals[of[0] as usize..of[1] as usize];
        let highest = &mut highest[first_block(of[0] as usize, attribute)..];
        raise(intervals, highest, 0, intervals.len().div_ceil(BUNDLE));
    }
    highest
}

/// Computes `highest` of the subtree over the bundles `low..high`, whose root is its middle. The recursion is as
/// deep as the logarithm of their number.
fn raise(intervals: &[Interval], highest: &mut [u32], low: usize, high: usize) -> u32 {
    if low >= high {
        return 0;
    }
    let middle = low.midpoint(high);
    let below = raise(intervals, highest, low, middle).max(raise(intervals, highest, middle + 1, high));
    let bundle = &intervals[BUNDLE * middle..intervals.len().min(BUNDLE * (middle + 1))];
    highest[middle] = bundle.iter().map(|interval| interval.last).fold(below, u32::max);
    highest[middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn collect(ranges: &[(u32, u32, u32)]) -> Vec<(u32, u32, u32)> {
        let mut intervals = Intervals::default();
        let numbers: Vec<u32> = ranges
            .iter()
            .map(|&(attribute, first, last)| intervals.number(attribute, (first, last)))
            .collect();
        let (sorted, positions) = intervals.in_order();
        for (range, number) in ranges.iter().zip(numbers) {
            assert_eq!(sorted[positions[number as usize] as usize], *range);
        }
        sorted
    }

    proptest! {
        #[test]
        fn stabbing_finds_what_a_scan_finds(
            ranges in prop::collection::vec((1..3u32, 0..40u32, 0..40u32), 0..400),
            rank in 0..42u32,
        ) {
            let sorted = collect(&ranges);
            let stabbing = Stabbing::new(&sorted, 3);
            prop_assert!(stabbing.is_whole(3));
            for attribute in 1..3 {
                let mut found = Vec::new();
                stabbing.stab(attribute, None, rank, &mut |position| found.push(position));
                found.sort_unstable();
                let expected: Vec<u32> = (0..).zip(&sorted)
                    .filter(|(_, (of, first, last))| *of == attribute && (*first..=*last).contains(&rank))
                    .map(|(position, _)| position)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }

        #[test]
        fn ascending_ranks_find_every_interval_once(
            ranges in prop::collection::vec((Just(1), 0..40u32, 0..40u32), 0..400),
            ranks in prop::collection::btree_set(0..42u32, 0..10),
        ) {
            let sorted = collect(&ranges);
            let stabbing = Stabbing::new(&sorted, 1);
            let (mut found, mut before) = (Vec::new(), None);
            for &rank in &ranks {
                stabbing.stab(1, before, rank, &mut |position| found.push(position));
                before = Some(rank);
            }
            found.sort_unstable();
            let expected: Vec<u32> = (0..).zip(&sorted)
                .filter(|(_, (_, first, last))| ranks.iter().any(|rank| (first..=last).contains(&rank)))
                .map(|(position, _)| position)
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn intervals_that_would_be_found_twice_are_refused() {
        let sorted: Vec<(u32, u32, u32)> = (0..200).map(|first| (1, first, first + 3)).collect();
        let whole = || Stabbing::new(&sorted, 1);
        assert!(whole().is_whole(1));
        let mut stabbing = whole();
        let mut intervals = stabbing.intervals.to_vec();
        intervals.swap(70, 71);
        stabbing.intervals = intervals.into();
        assert!(!stabbing.is_whole(1));
        let mut stabbing = whole();
        let mut highest = stabbing.highest.to_vec();
        highest[1] = u32::MAX;
        stabbing.highest = highest.into();
        assert!(!stabbing.is_whole(1));
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
