//! Turning many ranges on one attribute into few keys per event.
//!
//! The range hierarchy of Whang et al. 2009, section 2.3, as a binary tree: the bounds of all
//! ranges divide the values into steps, and every node of a binary tree over the steps that some
//! range needs is a key. A range is the few nodes that cover it without overlap, and a value has
//! the nodes above its step. An event then has about as many keys as the logarithm of the number of
//! ranges; otherwise every range that holds would be a separate key.
//!
//! [`Stabbing`](crate::predicates) finds every range that contains a value. Posting lists are
//! intersected, so a value must have few keys here, however many ranges contain it.

use tamis::expression::Test;
use tamis::value::{Family, Value, ValueRef};

/// A missing key.
const NO_KEY: u32 = u32::MAX;

/// The ranges on one attribute with operands of one family.
#[derive(Debug)]
pub(super) struct DyadicRanges {
    /// The bounds of the ranges, ascending. Steps are before, at and between them.
    ends: Vec<Value>,
    /// The key of each node: the root is at 1, and the children of `n` are at `2n` and `2n + 1`.
    keys: Vec<u32>,
    /// The number of steps, rounded up to a power of two.
    width: usize,
}

/// Whether a test is a range of ordered values.
pub(super) fn is_range(test: &Test) -> bool {
    matches!(test, Test::Less(_) | Test::AtMost(_) | Test::Greater(_) | Test::AtLeast(_) | Test::Between(..))
}

/// The family of the operands of a range.
pub(super) fn family(test: &Test) -> Family {
    match test {
        Test::Less(value) | Test::AtMost(value) | Test::Greater(value) | Test::AtLeast(value) => {
            value.family()
        }
        Test::Between(low, _) => low.family(),
        _ => Family::Boolean,
    }
}

impl DyadicRanges {
    /// The tree for these ranges, which are over one family.
    pub fn new<'a>(ranges: impl Iterator<Item = &'a Test>) -> DyadicRanges {
        let mut ends: Vec<Value> = Vec::new();
        for test in ranges {
            match test {
                Test::Less(value) | Test::AtMost(value) | Test::Greater(value) | Test::AtLeast(value) => {
                    ends.push(value.clone());
                }
                Test::Between(low, high) => ends.extend([low.clone(), high.clone()]),
                _ => {}
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let width = (2 * ends.len() + 1).next_power_of_two();
        DyadicRanges { ends, keys: vec![NO_KEY; 2 * width], width }
    }

    /// Calls `found` with the keys of a range; `make` creates new ones.
    pub fn cover(&mut self, test: &Test, mut make: impl FnMut() -> u32, mut found: impl FnMut(u32)) {
        let last = 2 * self.ends.len();
        let at = |value: &Value| self.step(value.as_ref());
        let (first, last) = match test {
            Test::Less(value) => (0, at(value) - 1),
            Test::AtMost(value) => (0, at(value)),
            Test::Greater(value) => (at(value) + 1, last),
            Test::AtLeast(value) => (at(value), last),
            Test::Between(low, high) => (at(low), at(high)),
            _ => return,
        };
        // Walk from both ends towards the root. An empty range has no node.
        let (mut low, mut high) = (first + self.width, last + self.width + 1);
        while low < high {
            if low % 2 == 1 {
                found(self.key(low, &mut make));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                found(self.key(high, &mut make));
            }
            (low, high) = (low / 2, high / 2);
        }
    }

    fn key(&mut self, node: usize, make: &mut impl FnMut() -> u32) -> u32 {
        if self.keys[node] == NO_KEY {
            self.keys[node] = make();
        }
        self.keys[node]
    }

    /// Calls `found` with the keys of the ranges that contain a value. Values of another family
    /// have none.
    pub fn find(&self, value: ValueRef<'_>, mut found: impl FnMut(u32)) {
        if self.ends.first().is_none_or(|end| end.family() != value.family()) {
            return;
        }
        let mut node = self.step(value) + self.width;
        while node > 0 {
            if self.keys[node] != NO_KEY {
                found(self.keys[node]);
            }
            node /= 2;
        }
    }

    /// The step of a value: odd at a bound, even between two.
    fn step(&self, value: ValueRef<'_>) -> usize {
        match self.ends.binary_search_by(|end| end.as_ref().canonical_order(value)) {
            Ok(position) => 2 * position + 1,
            Err(position) => 2 * position,
        }
    }

    /// Bytes of memory, without operands.
    pub fn bytes(&self) -> usize {
        size_of::<Value>() * self.ends.len() + 4 * self.keys.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use tamis::matcher::Check;

    #[test]
    fn a_value_meets_each_range_that_holds_in_one_key() {
        let ends = [-3, 0, 1, 2, 5, 5, 8, 13];
        let mut tests: Vec<Test> = Vec::new();
        for low in ends.map(Value::Integer) {
            let one = |make: fn(Value) -> Test| make(low.clone());
            tests.extend([one(Test::Less), one(Test::AtMost), one(Test::Greater), one(Test::AtLeast)]);
            tests.extend(ends.map(|high| Test::Between(low.clone(), Value::Integer(high))));
        }
        let mut ranges = DyadicRanges::new(tests.iter());
        let mut next = 0;
        let covers: Vec<Vec<u32>> = tests
            .iter()
            .map(|test| {
                let mut keys = Vec::new();
                let make = || {
                    next += 1;
                    next - 1
                };
                ranges.cover(test, make, |key| keys.push(key));
                keys
            })
            .collect();
        let halves = (-8..32).map(|value| ValueRef::number(f64::from(value) / 2.0).unwrap());
        for value in halves.chain([ValueRef::String("5"), ValueRef::Boolean(true)]) {
            let mut found = HashSet::new();
            ranges.find(value, |key| assert!(found.insert(key)));
            for (test, keys) in tests.iter().zip(&covers) {
                let met = keys.iter().filter(|key| found.contains(key)).count();
                assert_eq!(met, usize::from(Check::new(test).holds(value)), "{test:?} on {value:?}");
                assert!(keys.len() <= 2 * ranges.width.ilog2() as usize);
            }
        }
    }
}
