//! Which filters may a value decide?
//!
//! Every filter with value tests has one access test: the filter is examined only if an element
//! reaches the step of this test and passes it. Accesses are looked up by (path to the step, key,
//! value), not filter by filter.

use std::collections::HashMap;

use super::evaluate::number_and_cost;
use super::plan::ValueCondition;
use super::symbols::PathId;
use super::values::Key;
use super::xpath::Comparison;

/// Position of a filter in its segment.
pub type Slot = u32;

/// A filter behind its access test.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub slot: Slot,
    /// The filter's whole path.
    pub path: PathId,
    /// The step whose element is tested, from 0.
    pub step: u32,
    /// Whether the tested element is that of the last step.
    pub last: bool,
    /// Whether the filter has no other test.
    pub alone: bool,
    /// Whether all tests of the filter are at the same step.
    pub together: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Operand {
    /// Equality with a string, by its number.
    String(u32),
    /// Equality with a number, by its bits.
    Number(u64),
    /// Any other test; these are evaluated one by one.
    Other,
}

#[derive(Debug, Default)]
pub struct AccessIndex {
    entries: Vec<(Access, Option<ValueCondition>)>,
    ranges: HashMap<(PathId, Key, Operand), (u32, u32), ahash::RandomState>,
    constants: HashMap<Box<str>, u32, ahash::RandomState>,
    longest: usize,
}

/// Accesses as they are collected: the path to the tested step, the key, and the test.
pub type Collected = Vec<(PathId, Key, ValueCondition, Access)>;

impl AccessIndex {
    pub fn new(collected: Collected) -> AccessIndex {
        let mut index = AccessIndex::default();
        let mut keyed = Vec::with_capacity(collected.len());
        for (path, key, condition, access) in collected {
            let operand = match &condition {
                ValueCondition::String(Comparison::Equal, text) => {
                    index.longest = index.longest.max(text.len());
                    let next = index.constants.len() as u32;
                    Operand::String(*index.constants.entry((**text).into()).or_insert(next))
                }
                ValueCondition::Number(Comparison::Equal, number) => Operand::Number(bits(*number)),
                _ => Operand::Other,
            };
            let condition = (operand == Operand::Other).then_some(condition);
            keyed.push(((path, key, operand), access, condition));
        }
        keyed.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.slot.cmp(&other.1.slot)));
        for group in keyed.chunk_by(|one, other| one.0 == other.0) {
            let start = index.entries.len() as u32;
            index.entries.extend(group.iter().map(|(_, access, condition)| (*access, condition.clone())));
            index.ranges.insert(group[0].0, (start, index.entries.len() as u32));
        }
        index
    }

    /// Adds the accesses that a value of a key passes at an element that reaches the given paths,
    /// and the units of work to `cost`.
    pub fn find(&self, paths: &[PathId], key: Key, value: &str, found: &mut Vec<Access>, cost: &mut usize) {
        let constant = match value.len() <= self.longest {
            true => self.constants.get(value).copied(),
            false => None,
        };
        let (number, looked_at) = number_and_cost(value);
        *cost += looked_at + paths.len();
        for &path in paths {
            if let Some(constant) = constant {
                found.extend(
                    self.range(path, key, Operand::String(constant)).iter().map(|(access, _)| access),
                );
            }
            if !number.is_nan() {
                found.extend(
                    self.range(path, key, Operand::Number(bits(number))).iter().map(|(access, _)| access),
                );
            }
            for (access, condition) in self.range(path, key, Operand::Other) {
                if condition.as_ref().is_some_and(|condition| condition.passes(value, cost)) {
                    found.push(*access);
                }
            }
        }
    }

    fn range(&self, path: PathId, key: Key, operand: Operand) -> &[(Access, Option<ValueCondition>)] {
        match self.ranges.get(&(path, key, operand)) {
            Some(&(start, end)) => &self.entries[start as usize..end as usize],
            None => &[],
        }
    }
}

/// The bits of a number; equal numbers have equal bits, including zeros of either sign.
fn bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}
