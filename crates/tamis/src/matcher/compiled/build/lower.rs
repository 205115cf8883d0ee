//! What do subexpressions become before they are laid out?
//!
//! Entries under the triggers that can make an expression true, and the program of what remains to be checked.

use std::collections::HashMap;

use super::super::columns::bits::{BitTest, Bits};
use super::super::columns::entry_list::PendingEntry;
use super::super::columns::keys::Keys;
use super::super::columns::opcodes::MOST_KEYS;
use super::super::columns::patterns::Patterns;
use super::super::columns::ranges::{Bounds, Intervals};
use super::estimate::Estimates;
use super::ir::{Ir, Subexpression, SubexpressionId, Tag};
use crate::truth::Missing;

/// Trying a pattern costs about this many times as much as examining an entry.
const TRIED: f64 = 8.0;
/// A subexpression that is not a node.
pub(in crate::matcher::compiled) const NO_NODE: u32 = u32::MAX;

/// What leads to an entry; the kinds are numbered consecutively once all are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::matcher::compiled) enum Trigger {
    Key(u32),
    Set(u32),
    /// The number of an interval.
    Range(u32),
    Pattern(u32),
    Attribute(u32),
    Always,
    Node(u32),
}

/// The sets that residuals check or that entries are stored under.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Sets {
    /// The keys of each set, ascending.
    pub keys: Vec<Vec<u32>>,
    /// The set of each subexpression.
    numbers: HashMap<SubexpressionId, u32, ahash::RandomState>,
    /// Sets that entries are stored under, which therefore must be found through their keys.
    pub entered: Vec<bool>,
}

/// A child of a conjunction that is not its access child.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct OtherChild {
    pub id: SubexpressionId,
    /// The probability that it is true.
    pub chance: f64,
    pub negated: bool,
    /// The bit test that an event passes if it, or what it negates, is true.
    pub test: Option<BitTest>,
}

/// Turns subexpressions into entries and programs: `access` chooses the triggers of each subexpression, `residual`
/// writes what remains to be checked.
pub(in crate::matcher::compiled) struct Lowering {
    pub missing: Missing,
    pub ir: Ir,
    pub keys: Keys,
    /// The number in `keys` of each key of `ir`.
    pub key_numbers: Vec<u32>,
    pub bounds: Bounds,
    pub bits: Bits,
    /// Subexpressions, edges and uses; and the predicates of each attribute.
    pub stats: ([u64; 3], Vec<u32>),
    /// The probability that a subexpression is true.
    pub chances: Vec<f64>,
    /// How often per event a subexpression's entries are examined.
    pub costs: Vec<f64>,
    /// The node of a subexpression, and the subexpression of each node.
    pub nodes: Vec<u32>,
    pub node_subexpressions: Vec<SubexpressionId>,
    /// Where each level of nodes begins, and where the last ends.
    pub levels: Vec<u32>,
    /// Whether checking a subexpression needs the truth of a node.
    pub asks_nodes: Vec<bool>,
    pub entries: Vec<(Trigger, PendingEntry)>,
    pub program: Vec<u32>,
    /// The words of the residual being built; reused to save allocations.
    pub words: Vec<u32>,
    /// The children of a conjunction beside its access child; likewise.
    pub others: Vec<OtherChild>,
    /// What is read ahead; likewise.
    pub ahead: Vec<SubexpressionId>,
    pub sets: Sets,
    pub intervals: Intervals,
    pub patterns: Patterns,
    /// How many events were sampled.
    pub sampled: usize,
}

impl Lowering {
    pub fn estimate(&mut self, estimates: &Estimates) {
        for number in 0..self.ir.len() {
            let subexpression = self.ir.get(number as SubexpressionId);
            let children = subexpression.children().iter().map(|&child| child as usize);
            let (chance, cost) = match subexpression.tag {
                Tag::Constant => (f64::from(u8::from(subexpression.constant())), 1.0),
                Tag::And => (
                    children.clone().map(|child| self.chances[child]).product(),
                    children.map(|child| self.costs[child]).fold(f64::INFINITY, f64::min),
                ),
                Tag::Or => (
                    1.0 - children.clone().map(|child| 1.0 - self.chances[child]).product::<f64>(),
                    children.map(|child| self.costs[child]).sum(),
                ),
                _ => {
                    let ranks = if subexpression.tag == Tag::Range {
                        self.interval(number as SubexpressionId)
                    } else {
                        (0, 0)
                    };
                    let chance = estimates.predicate(subexpression, ranks);
                    let cost = match subexpression.tag {
                        _ if !self.is_positive(subexpression) => 1.0 + chance,
                        Tag::Pattern => self.pattern_cost(subexpression.payload()[0], chance),
                        _ => chance,
                    };
                    (chance, cost)
                }
            };
            self.chances[number] = chance;
            self.costs[number] = cost;
        }
    }

    /// The cost per event of using a pattern as a trigger, if it is true, or possible, with this probability.
    fn pattern_cost(&self, pattern: u32, chance: f64) -> f64 {
        if self.patterns.is_unfiltered(pattern) {
            // It is tried on every event, which costs more than examining an entry on every event.
            2.0 + chance
        } else if self.patterns.is_tried(pattern) {
            TRIED * chance
        } else {
            chance
        }
    }

    /// How many expressions and nodes are examined on every event, or on every event with a certain attribute.
    pub(in crate::matcher::compiled) fn count_unselective(&self) -> u64 {
        let is_unselective = |trigger: &Trigger| match *trigger {
            Trigger::Always | Trigger::Attribute(_) => true,
            Trigger::Pattern(pattern) => self.patterns.is_unfiltered(pattern),
            _ => false,
        };
        let entries = self.entries.iter().filter(|(trigger, _)| is_unselective(trigger));
        let mut targets: Vec<u32> = entries.map(|(_, entry)| entry.target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.len() as u64
    }

    /// Whether a predicate can be true only if one of its own triggers is.
    pub(in crate::matcher::compiled) fn is_positive(&self, subexpression: Subexpression<'_>) -> bool {
        match subexpression.tag {
            // `exists` needs the attribute; `missing` and `is null` are true without it.
            Tag::Presence => subexpression.payload()[0] == u32::from(subexpression.negated),
            _ => !subexpression.negated,
        }
    }

    /// Numbers the nodes, level by level: a node depends only on nodes of lower levels. Nodes of a level with the same
    /// trigger are adjacent, so that their entry lists and bits share cache lines.
    pub fn number_nodes(&mut self, uses: &[u32]) {
        let mut nodes = Vec::new();
        let mut levels: Vec<u32> = Vec::with_capacity(uses.len());
        for (subexpression, &uses) in (0..).zip(uses) {
            let children = self.ir.get(subexpression).children();
            let below = children.iter().map(|&child| levels[child as usize]).max().unwrap_or(0);
            let is_node = uses > 1 && !children.is_empty();
            levels.push(below + u32::from(is_node));
            self.asks_nodes.push(levels[subexpression as usize] > 0);
            if is_node {
                nodes.push(subexpression);
            }
        }
        nodes.sort_by_cached_key(|&subexpression| {
            (levels[subexpression as usize], self.likeliest_trigger(subexpression))
        });
        let of_levels = nodes.chunk_by(|&one, &other| levels[one as usize] == levels[other as usize]);
        self.levels = vec![0];
        self.levels.extend(of_levels.scan(0, |end, nodes| {
            *end += nodes.len() as u32;
            Some(*end)
        }));
        for (&subexpression, node) in nodes.iter().zip(0..) {
            self.nodes[subexpression as usize] = node;
        }
        self.node_subexpressions = nodes;
    }

    /// The bit test that an event passes if a subexpression, or what it negates, is true; `None` if no test is worth
    /// making.
    pub(in crate::matcher::compiled) fn bit_test(&self, subexpression: SubexpressionId) -> Option<BitTest> {
        let predicate = self.ir.get(subexpression);
        match predicate.tag {
            Tag::Keys if predicate.payload().len() <= MOST_KEYS => {
                let keys = predicate.payload().iter().map(|&key| self.key_numbers[key as usize]);
                Some(self.bits.of_keys(predicate.attribute(), keys))
            }
            Tag::Range => {
                let (first, last) = self.interval(subexpression);
                Some(self.bits.of_ranks(predicate.attribute(), first, last))
            }
            _ => None,
        }
    }

    pub(in crate::matcher::compiled) fn interval(&self, subexpression: SubexpressionId) -> (u32, u32) {
        let subexpression = self.ir.get(subexpression);
        let [comparison, low, high] = *subexpression.payload() else { unreachable!("a range has two ends") };
        let value = |bound: u32| &self.ir.bounds.list[bound as usize].1;
        self.bounds.interval(subexpression.attribute(), comparison, value(low), value(high))
    }

    pub(in crate::matcher::compiled) fn set(&mut self, subexpression: SubexpressionId) -> u32 {
        // The same keys with both signs become two sets, which only costs memory.
        let next = self.sets.keys.len() as u32;
        let set = *self.sets.numbers.entry(subexpression).or_insert(next);
        if set == next {
            let keys = self.ir.get(subexpression).payload();
            let mut keys: Vec<u32> = keys.iter().map(|&key| self.key_numbers[key as usize]).collect();
            keys.sort_unstable();
            self.sets.keys.push(keys);
            self.sets.entered.push(false);
        }
        set
    }
}
