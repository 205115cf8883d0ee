//! How is one bit kept for each of many events?

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign};

const WORDS: usize = 8;

/// How many events are matched together: one bit for each fills a cache line.
pub(in crate::matcher::compiled) const LANES: usize = WORDS * 64;

/// A set of events, identified by their lanes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::matcher::compiled) struct EventSet([u64; WORDS]);

impl EventSet {
    pub const NONE: EventSet = EventSet([0; WORDS]);

    /// The first `count` events.
    pub fn first(count: usize) -> EventSet {
        let mut lanes = EventSet::NONE;
        (0..count).for_each(|lane| lanes.insert(lane));
        lanes
    }

    pub fn insert(&mut self, lane: usize) {
        self.0[lane / 64] |= 1 << (lane % 64);
    }

    pub fn contains(&self, lane: usize) -> bool {
        self.0[lane / 64] >> (lane % 64) & 1 == 1
    }

    /// The number of events.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    #[inline]
    pub fn is_none(&self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    #[inline]
    #[must_use]
    pub fn without(self, other: EventSet) -> EventSet {
        EventSet(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }

    /// Calls `with` for every lane, ascending.
    #[inline]
    pub fn each(&self, mut with: impl FnMut(usize)) {
        for (position, &word) in self.0.iter().enumerate() {
            let mut bits = word;
            while bits != 0 {
                with(position * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

impl BitAnd for EventSet {
    type Output = EventSet;

    #[inline]
    fn bitand(self, other: EventSet) -> EventSet {
        EventSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl BitOr for EventSet {
    type Output = EventSet;

    #[inline]
    fn bitor(self, other: EventSet) -> EventSet {
        EventSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl BitAndAssign for EventSet {
    #[inline]
    fn bitand_assign(&mut self, other: EventSet) {
        *self = *self & other;
    }
}

impl BitOrAssign for EventSet {
    #[inline]
    fn bitor_assign(&mut self, other: EventSet) {
        *self = *self | other;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use proptest::prelude::*;

    fn lanes(set: &BTreeSet<usize>) -> EventSet {
        let mut lanes = EventSet::NONE;
        set.iter().for_each(|&lane| lanes.insert(lane));
        lanes
    }

    fn set(lanes: EventSet) -> BTreeSet<usize> {
        let mut set = BTreeSet::new();
        lanes.each(|lane| assert!(set.insert(lane)));
        set
    }

    proptest! {
        #[test]
        fn lanes_are_a_set(
            a in prop::collection::btree_set(0..LANES, 0..20),
            b in prop::collection::btree_set(0..LANES, 0..20),
            count in 0..=LANES,
        ) {
            prop_assert_eq!(set(lanes(&a) & lanes(&b)), &a & &b);
            prop_assert_eq!(set(lanes(&a) | lanes(&b)), &a | &b);
            prop_assert_eq!(set(lanes(&a).without(lanes(&b))), &a - &b);
            prop_assert_eq!(lanes(&a).is_none(), a.is_empty());
            prop_assert_eq!(lanes(&a).count() as usize, a.len());
            prop_assert_eq!(set(EventSet::first(count)), (0..count).collect());
            prop_assert!(a.iter().all(|&lane| lanes(&a).contains(lane)));
            prop_assert!(b.difference(&a).all(|&lane| !lanes(&a).contains(lane)));
        }
    }
}
