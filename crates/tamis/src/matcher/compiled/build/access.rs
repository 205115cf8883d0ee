//! Which triggers is an expression stored under?
//!
//! An expression is stored under predicates at least one of which must be true for it to be true. For a conjunction,
//! these are the predicates of the child least likely to be true (the access child of Ji & Jacobsen 2021, section
//! 5.2.2, which the paper picks at random); for a disjunction, those of all children.

use super::super::columns::bits::BitTest;
use super::super::columns::entry_list::PendingEntry;
use super::ir::{SubexpressionId, Tag};
use super::lower::{Lowering, NO_NODE, OtherChild, Trigger};
use crate::truth::Missing;

/// A set with more values than this is entered once, as a trigger of its own that each of its keys leads to.
const MOST_COPIES: usize = 16;

/// So many children of a subexpression are read ahead.
const MOST_AHEAD: usize = 8;

impl Lowering {
    /// The trigger under which an expression is found most often, as numbers that sort like the triggers.
    pub(in crate::matcher::compiled) fn likeliest_trigger(&self, mut id: SubexpressionId) -> (u32, u32, u32) {
        loop {
            let subexpression = self.ir.get(id);
            match subexpression.tag {
                Tag::And => id = self.access(subexpression.children()),
                Tag::Or => id = self.likeliest(subexpression.children()),
                Tag::Keys if !subexpression.negated && !subexpression.payload().is_empty() => {
                    return (0, self.key_numbers[subexpression.payload()[0] as usize], 0);
                }
                Tag::Range if !subexpression.negated => {
                    return (1, subexpression.attribute(), 1 + self.interval(id).0);
                }
                Tag::Constant => return (2, 0, 0),
                _ => return (1, subexpression.attribute(), 0),
            }
        }
    }

    /// The child of a conjunction that is cheapest to use as its trigger.
    fn access(&self, children: &[SubexpressionId]) -> SubexpressionId {
        let cost = |&&child: &&SubexpressionId| self.costs[child as usize];
        children.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).copied().unwrap_or(0)
    }

    /// The child that is most often true.
    fn likeliest(&self, children: &[SubexpressionId]) -> SubexpressionId {
        let chance = |&&child: &&SubexpressionId| self.chances[child as usize];
        children.iter().max_by(|a, b| chance(a).total_cmp(&chance(b))).copied().unwrap_or(0)
    }

    /// Reads ahead what entering these subexpressions takes, so that the cache misses overlap.
    pub(in crate::matcher::compiled) fn prefetch(&mut self, ids: impl Iterator<Item = SubexpressionId>) {
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.clear();
        ahead.extend(ids);
        let mut start = 0;
        // Most expressions are conjunctions of predicates, or disjunctions of these.
        for _ in 0..2 {
            let end = ahead.len();
            for parent in start..end {
                let children = self.ir.get(ahead[parent]).children();
                ahead.extend_from_slice(&children[..children.len().min(MOST_AHEAD)]);
            }
            start = end;
        }
        let seen = ahead.iter().fold(0, |seen, &id| {
            let numbers = self.chances[id as usize].to_bits() ^ self.costs[id as usize].to_bits();
            seen ^ numbers ^ u64::from(self.nodes[id as usize]) ^ u64::from(self.ir.get(id).negated)
        });
        std::hint::black_box(seen);
        self.ahead = ahead;
    }

    /// Enters a subexpression so that `target` is reached when it and the residual at `rest` hold.
    pub(in crate::matcher::compiled) fn enter(&mut self, id: SubexpressionId, rest: u32, target: u32) {
        match self.nodes[id as usize] {
            NO_NODE => self.enter_children(id, rest, target),
            node => self.entries.push((Trigger::Node(node), PendingEntry::new(rest, target))),
        }
    }

    pub(in crate::matcher::compiled) fn enter_children(
        &mut self,
        id: SubexpressionId,
        rest: u32,
        target: u32,
    ) {
        let subexpression = self.ir.get(id);
        match subexpression.tag {
            Tag::Constant => {
                if subexpression.constant() {
                    self.entries.push((Trigger::Always, PendingEntry::new(rest, target)));
                }
            }
            Tag::Or => {
                for position in 0..subexpression.children().len() {
                    self.enter(self.ir.get(id).children()[position], rest, target);
                }
            }
            Tag::And => {
                let access = self.access(subexpression.children());
                let mut others = std::mem::take(&mut self.others);
                others.clear();
                let children = subexpression.children().iter().filter(|&&child| child != access);
                others.extend(children.map(|&id| OtherChild {
                    id,
                    chance: self.chances[id as usize],
                    negated: self.ir.get(id).negated,
                    test: self.bit_test(id),
                }));
                others.sort_by(|a, b| a.chance.total_cmp(&b.chance));
                // If the access child is a predicate, the entry itself tests the least likely of the other children.
                let is_predicate =
                    self.nodes[access as usize] == NO_NODE && self.ir.get(access).children().is_empty();
                let (mut tests, mut count) = ([BitTest::NONE; 2], 0);
                others.retain(|other| match other.test {
                    Some(test) if is_predicate && count < 2 && !other.negated => {
                        tests[count] = test;
                        count += 1;
                        !test.exact
                    }
                    _ => true,
                });
                // Bit tests are the cheapest checks, so they come first. Nodes come last: a check that needs a node whose
                // level is not settled yet defers all that follow it.
                others.sort_by_key(|other| {
                    let is_bit_test = !other.negated && other.test.is_some_and(|test| test.exact);
                    (self.asks_nodes[other.id as usize], !is_bit_test)
                });
                let rest = self.residual(others.iter().map(|other| other.id), rest);
                self.others = others;
                let from = self.entries.len();
                self.enter(access, rest, target);
                for (_, entry) in &mut self.entries[from..] {
                    entry.tests[..count].copy_from_slice(&tests[..count]);
                }
            }
            _ => self.enter_predicate(id, rest, target),
        }
    }

    fn enter_predicate(&mut self, id: SubexpressionId, rest: u32, target: u32) {
        let subexpression = self.ir.get(id);
        let attribute = subexpression.attribute();
        if !self.is_positive(subexpression) {
            // No predicate can be its trigger, so it is examined whenever it can be true.
            let needs_value = match subexpression.tag {
                Tag::Presence => false,
                _ => self.missing == Missing::Unknown,
            };
            let trigger = if needs_value { Trigger::Attribute(attribute) } else { Trigger::Always };
            let rest = self.residual([id].into_iter(), rest);
            self.entries.push((trigger, PendingEntry::new(rest, target)));
            return;
        }
        match subexpression.tag {
            Tag::Keys if subexpression.payload().len() <= MOST_COPIES => {
                let keys = subexpression.payload().iter().map(|&key| self.key_numbers[key as usize]);
                let entry = PendingEntry::new(rest, target);
                self.entries.extend(keys.map(|key| (Trigger::Key(key), entry)));
            }
            Tag::Keys => {
                let set = self.set(id);
                self.sets.entered[set as usize] = true;
                self.entries.push((Trigger::Set(set), PendingEntry::new(rest, target)));
            }
            Tag::Range => {
                let range = self.intervals.number(attribute, self.interval(id));
                self.entries.push((Trigger::Range(range), PendingEntry::new(rest, target)));
            }
            Tag::Pattern => {
                let pattern = subexpression.payload()[0];
                self.entries.push((Trigger::Pattern(pattern), PendingEntry::new(rest, target)));
            }
            Tag::Presence => {
                let rest = self.residual([id].into_iter(), rest);
                self.entries.push((Trigger::Attribute(attribute), PendingEntry::new(rest, target)));
            }
            Tag::Constant | Tag::And | Tag::Or => unreachable!("no predicate"),
        }
    }
}
