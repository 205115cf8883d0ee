//! What is the scratch memory of a match?
//!
//! Everything here is sized to the matcher once and emptied by undoing what the event did, so the work of
//! an event hardly depends on the number of expressions: reading what was reached takes a step per 4,096 of them.

use super::super::columns::entry_list::{Candidate, Stages};
use super::super::columns::keys::{NO_KEY, Probe};
use super::super::columns::patterns::TextScratch;
use super::super::columns::ranges::NO_RANK;
use crate::deadline::Timer;
use crate::event::UNSORTED;
use crate::matcher::Counters;
use crate::reusable::OrderedSet;

/// What the event has for an attribute.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::matcher::compiled) struct EventAttribute {
    /// Where its values begin.
    pub first: u32,
    /// How many values it has.
    pub values: u32,
    /// The key of its first value.
    pub key: u32,
    /// The rank of its first value.
    pub rank: u32,
    /// Its number in the event.
    pub global: u32,
    /// Whether the event has it, if only as a null.
    pub present: bool,
}

/// A value of the event, as the matcher knows it.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct NumberedValue {
    /// The pair it is, or `NO_KEY`.
    pub key: u32,
    /// Its rank among the ends of ranges, or `NO_RANK`.
    pub rank: u32,
}

impl NumberedValue {
    /// A value that no expression tests.
    pub const NONE: NumberedValue = NumberedValue { key: NO_KEY, rank: NO_RANK };
}

/// What is known about a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matcher::compiled) enum Guess {
    /// It may be true and must be tried.
    Possible,
    True,
    False,
}

/// Working memory of one match.
#[derive(Debug, Default)]
pub(crate) struct CompiledScratch {
    /// The bits that the event has; see [`Bits`](super::super::columns::bits::Bits).
    pub(in crate::matcher::compiled) bits: Vec<u64>,
    /// The words of `bits` that are not empty.
    filled: Vec<u32>,
    /// The first steps towards the keys of the event's values.
    pub(in crate::matcher::compiled) probes: Vec<Probe>,
    pub(in crate::matcher::compiled) fields: Vec<EventAttribute>,
    pub(in crate::matcher::compiled) values: Vec<NumberedValue>,
    /// The attributes that the event has.
    pub(in crate::matcher::compiled) touched: Vec<u32>,
    /// Triggers that are true, whose entries are looked at next.
    pub(in crate::matcher::compiled) triggers: Vec<u32>,
    pub(in crate::matcher::compiled) stages: Stages,
    pub(in crate::matcher::compiled) texts: TextScratch,
    /// What is known of patterns: four times the stamp, plus a [`Guess`]. A `Stamped` table would take eight bytes per
    /// pattern instead of four.
    patterns: Vec<u32>,
    /// The sets that were found: the stamp.
    sets: Vec<u32>,
    pub(in crate::matcher) counters: Counters,
    /// Decides when to give up.
    pub(in crate::matcher) timer: Timer,
    stamp: u32,
    /// The targets that were reached: nodes that are true, and slots that match.
    pub(in crate::matcher::compiled) reached: OrderedSet,
    /// By the level of their targets: candidates whose residuals ask for a node that may still become true.
    pub(in crate::matcher::compiled) deferred: Vec<Vec<Candidate>>,
}

impl CompiledScratch {
    /// Makes room and forgets the last event's truths.
    pub(in crate::matcher::compiled) fn begin(
        &mut self,
        attributes: usize,
        words: usize,
        patterns: usize,
        sets: usize,
        targets: usize,
        levels: usize,
    ) {
        if self.stamp >= u32::MAX / 4 - 1 {
            for truths in [&mut self.patterns, &mut self.sets] {
                truths.clear();
            }
            self.stamp = 0;
        }
        self.stamp += 1;
        grow(&mut self.bits, words, 0);
        self.bits[0] = u64::MAX;
        grow(&mut self.fields, attributes + 1, EventAttribute::default());
        grow(&mut self.patterns, patterns, 0);
        grow(&mut self.sets, sets, 0);
        self.reached.grow(targets);
        self.deferred.resize_with(self.deferred.len().max(levels), Vec::new);
    }

    /// Undoes what the event did to the attributes.
    pub(in crate::matcher::compiled) fn end(&mut self) {
        for word in self.filled.drain(..) {
            self.bits[word as usize] = 0;
        }
        for attribute in self.touched.drain(..) {
            self.fields[attribute as usize] = EventAttribute::default();
        }
        self.values.clear();
        self.triggers.clear();
        self.deferred.iter_mut().for_each(Vec::clear);
        // The memory of a long list is released, so that one event does not cost memory for ever.
        shrink(&mut self.filled);
        shrink(&mut self.probes);
        shrink(&mut self.values);
        shrink(&mut self.triggers);
        self.deferred.iter_mut().for_each(shrink);
    }

    /// Sets a bit that the event has.
    pub(in crate::matcher::compiled) fn set(&mut self, word: u32, bit: u64) {
        self.bits[word as usize] |= bit;
        self.filled.push(word);
    }

    /// Whether the event passes the bit test whose head stands at a position of a program.
    #[inline]
    pub(in crate::matcher::compiled) fn has_bits(&self, program: &[u32], position: usize) -> bool {
        let mask = u64::from(program[position + 2]) | u64::from(program[position + 3]) << 32;
        self.bits[program[position + 1] as usize] & mask != 0
    }

    /// Whether a node is true, as far as is known.
    #[inline]
    pub(in crate::matcher::compiled) fn is_true(&self, node: u32) -> bool {
        self.reached.contains(node)
    }

    pub(in crate::matcher::compiled) fn values(&self, field: EventAttribute) -> &[NumberedValue] {
        &self.values[field.first as usize..(field.first + field.values) as usize]
    }

    /// What is known about a pattern on this event.
    pub(in crate::matcher::compiled) fn guess(&self, pattern: u32) -> Option<Guess> {
        let noted = self.patterns[pattern as usize];
        let guess = match noted & 3 {
            0 => Guess::Possible,
            1 => Guess::True,
            _ => Guess::False,
        };
        (noted >> 2 == self.stamp).then_some(guess)
    }

    pub(in crate::matcher::compiled) fn note(&mut self, pattern: u32, guess: Guess) {
        self.patterns[pattern as usize] = self.stamp << 2 | guess as u32;
    }

    /// Whether some value of a field has a rank between two.
    pub(in crate::matcher::compiled) fn has_rank(
        &self,
        field: EventAttribute,
        first: u32,
        last: u32,
    ) -> bool {
        let values = self.values(field);
        if values.len() <= UNSORTED {
            return values.iter().any(|value| first <= value.rank && value.rank <= last);
        }
        // The values of a long list ascend; the at most two booleans come first and have no rank.
        let booleans = values.iter().take(2).take_while(|value| value.rank == NO_RANK).count();
        let values = &values[booleans..];
        debug_assert!(values.is_sorted_by_key(|value| value.rank));
        let position = values.partition_point(|value| value.rank < first);
        values.get(position).is_some_and(|value| value.rank <= last)
    }

    /// Marks a set of which the event has a value; false if it was marked before.
    pub(in crate::matcher::compiled) fn find_set(&mut self, set: u32) -> bool {
        std::mem::replace(&mut self.sets[set as usize], self.stamp) != self.stamp
    }
}

/// Gives back what no usual event needs; the list is empty.
pub(in crate::matcher::compiled) fn shrink<T>(list: &mut Vec<T>) {
    const USUAL: usize = 1 << 14;
    if list.capacity() > USUAL {
        *list = Vec::new();
    }
}

fn grow<T: Clone>(list: &mut Vec<T>, length: usize, value: T) {
    if list.len() < length {
        list.resize(length, value);
    }
}
