//! Which orderings and ranges on one attribute does a value satisfy?
//!
//! One-sided tests are sorted by operand, so the satisfied ones are contiguous; two-sided ones are
//! intervals in a stabbing structure. Both take logarithmic time plus the number of results.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::Bound;

use super::stabbing::Stabbing;
use crate::predicates::PredicateId;
use tamis::value::{Decimal, Float, ValueRef};

/// A number as a key, ordered by its exact value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Integer(i64),
    Float(Float),
    Decimal(Decimal),
}

impl Number {
    fn value(self) -> ValueRef<'static> {
        match self {
            Number::Integer(number) => ValueRef::Integer(number),
            Number::Float(number) => ValueRef::Float(number),
            Number::Decimal(number) => ValueRef::Decimal(number),
        }
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value().canonical_order(other.value())
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An ordering or range over keys of one type.
#[derive(Debug)]
pub(super) enum Range<K> {
    Less(K),
    AtMost(K),
    Greater(K),
    AtLeast(K),
    Between(K, K),
}

/// The tests with one operand. Equal tests are one predicate, so there is at most one of each kind.
#[derive(Debug, Default)]
struct Ends {
    strict: Option<PredicateId>,
    inclusive: Option<PredicateId>,
}

/// A changing set of orderings and ranges.
#[derive(Debug)]
pub(super) struct Ranges<K> {
    /// `<` and `<=`.
    below: BTreeMap<K, Ends>,
    /// `>` and `>=`.
    above: BTreeMap<K, Ends>,
    between: Stabbing<K>,
}

impl<K> Default for Ranges<K> {
    fn default() -> Self {
        Ranges { below: BTreeMap::new(), above: BTreeMap::new(), between: Stabbing::default() }
    }
}

impl<K: Ord + Clone> Ranges<K> {
    pub fn insert(&mut self, range: Range<K>, predicate: PredicateId) {
        match range {
            Range::Less(key) => self.below.entry(key).or_default().strict = Some(predicate),
            Range::AtMost(key) => self.below.entry(key).or_default().inclusive = Some(predicate),
            Range::Greater(key) => self.above.entry(key).or_default().strict = Some(predicate),
            Range::AtLeast(key) => self.above.entry(key).or_default().inclusive = Some(predicate),
            // An empty range never holds.
            Range::Between(low, high) if low > high => {}
            Range::Between(low, high) => self.between.insert(low, high, predicate),
        }
    }

    pub fn remove(&mut self, range: &Range<K>, predicate: PredicateId) {
        let (map, key, strict) = match range {
            Range::Less(key) => (&mut self.below, key, true),
            Range::AtMost(key) => (&mut self.below, key, false),
            Range::Greater(key) => (&mut self.above, key, true),
            Range::AtLeast(key) => (&mut self.above, key, false),
            Range::Between(low, high) => {
                if low <= high {
                    self.between.remove(low, predicate);
                }
                return;
            }
        };
        if let Some(ends) = map.get_mut(key) {
            *(if strict { &mut ends.strict } else { &mut ends.inclusive }) = None;
            if ends.strict.is_none() && ends.inclusive.is_none() {
                map.remove(key);
            }
        }
    }

    /// Reports the tests that `value` satisfies. Those that a smaller value `before` also satisfies
    /// need not be reported.
    pub fn find<Q: Ord + ?Sized>(&self, before: Option<&Q>, value: &Q, mut report: impl FnMut(PredicateId))
    where
        K: Borrow<Q>,
    {
        let least = before.map_or(Bound::Unbounded, Bound::Included);
        let above = self.above.range::<Q, _>((least, Bound::Included(value)));
        // If a value is below a bound, all smaller values are too.
        let below =
            before.is_none().then(|| self.below.range::<Q, _>((Bound::Included(value), Bound::Unbounded)));
        let below = below.into_iter().flatten();
        for (key, ends) in above.chain(below) {
            ends.inclusive.into_iter().for_each(&mut report);
            if key.borrow() != value {
                ends.strict.into_iter().for_each(&mut report);
            }
        }
        self.between.find(before, value, report);
    }

    pub fn is_empty(&self) -> bool {
        self.below.is_empty() && self.above.is_empty() && self.between.is_empty()
    }
}
