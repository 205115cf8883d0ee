//! What do many events have, if they are matched together?
//!
//! Where a single event has a bit, a batch has a lane per event: the lanes of a bit are the events that have it.
//! Memory is used only for what some event of the batch has.

use super::super::columns::bits::Bits;
use super::super::columns::entry_list::Candidate;
use super::super::columns::keys::Probe;
use super::super::columns::patterns::TextScratch;
use super::super::columns::ranges::NO_RANK;
use super::super::single::scratch::NumberedValue;
use super::event_set::EventSet;
use super::sparse::Sparse;
use crate::deadline::Timer;
use crate::event::AttributeId;
use crate::matcher::{Counters, Slot};
use crate::reusable::OrderedSet;

/// The end of a chain.
const END: u32 = u32::MAX;

/// Working memory of the matches of one batch.
#[derive(Debug, Default)]
pub(crate) struct BatchState {
    /// All events of the batch.
    pub(in crate::matcher::compiled) all: EventSet,
    words: Sparse<Word>,
    /// For every word, the events that have any of its bits, followed by those of each bit.
    bits: Vec<EventSet>,
    marks: Vec<Mark>,
    pub(in crate::matcher::compiled) fields: Sparse<BatchAttribute>,
    seen: Vec<Seen>,
    /// The keys that some event has, and where their lanes are.
    pub(in crate::matcher::compiled) keys: Vec<(u32, Mark)>,
    ranks: Vec<u32>,
    /// For every rank in `ranks`, the events below it, and at the end of each attribute's ranks all its events.
    below: Vec<EventSet>,
    pub(in crate::matcher::compiled) sets: Sparse<EventSet>,
    pub(in crate::matcher::compiled) ranges: Sparse<EventSet>,
    pub(in crate::matcher::compiled) texts: TextScratch,
    pub(in crate::matcher::compiled) patterns: Sparse<PatternTruths>,
    /// The events for which each node is true.
    pub(in crate::matcher::compiled) nodes: Sparse<EventSet>,
    /// The nodes that are true for some event.
    pub(in crate::matcher::compiled) reached: OrderedSet,
    /// By the level of their targets: candidates whose residuals ask for a node that may still become true, and the
    /// events to check them for.
    pub(in crate::matcher::compiled) deferred: Vec<Vec<(Candidate, EventSet)>>,
    /// The slots of each event, in any order and perhaps repeated.
    pub(in crate::matcher::compiled) found: Vec<Vec<Slot>>,
    pub(in crate::matcher::compiled) ascending: OrderedSet,
    pub(in crate::matcher::compiled) probes: Vec<Probe>,
    pub(in crate::matcher) counters: Counters,
    /// Decides when to give up.
    pub(in crate::matcher) timer: Timer,
}

/// A word of which some event has a bit.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::matcher::compiled) struct Word {
    /// The bits that some event has.
    pub present: u64,
    /// Where its lanes begin.
    first: u32,
}

/// A bit that an event has.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct Mark {
    /// The position of its word.
    word: u32,
    bit: u8,
    lane: u16,
}

/// What the events have for an attribute.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::matcher::compiled) struct BatchAttribute {
    /// Its number in the events.
    pub global: AttributeId,
    /// The events that have the attribute, even if only as a null.
    pub present: EventSet,
    /// The events that have a value for it.
    pub valued: EventSet,
    /// The events that have more than one.
    several: EventSet,
    /// The position of its last value plus one, or 0.
    last: u32,
    /// Where its ranks and their lanes begin, and how many ranks there are, once they have been sorted.
    sorted: Option<(u32, u32, u32)>,
}

/// A value that an event has.
#[derive(Debug, Clone, Copy)]
struct Seen {
    known: NumberedValue,
    lane: u32,
    /// The value of the same attribute before it.
    before: u32,
}

/// The events for which a pattern may be true, those for which its truth is known, and those for which it is true.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::matcher::compiled) struct PatternTruths {
    pub possible: EventSet,
    pub known: EventSet,
    pub truth: EventSet,
}

/// The number of each kind of item.
pub(in crate::matcher::compiled) struct Sizes {
    pub words: usize,
    pub attributes: usize,
    pub sets: usize,
    pub ranges: usize,
    pub patterns: usize,
    pub nodes: usize,
    /// Those of nodes, and that of slots.
    pub levels: usize,
    pub slots: usize,
}

impl BatchState {
    /// Makes room for the results of this many events.
    pub(in crate::matcher::compiled) fn begin(&mut self, events: usize, sizes: &Sizes) {
        self.all = EventSet::first(events);
        self.words.grow(sizes.words);
        self.fields.grow(sizes.attributes);
        self.sets.grow(sizes.sets);
        self.ranges.grow(sizes.ranges);
        self.patterns.grow(sizes.patterns);
        self.nodes.grow(sizes.nodes);
        self.reached.grow(sizes.nodes);
        self.deferred.resize_with(self.deferred.len().max(sizes.levels), Vec::new);
        self.ascending.grow(sizes.slots);
        self.found.resize_with(self.found.len().max(events), Vec::new);
    }

    /// Forgets the events.
    pub(in crate::matcher::compiled) fn end(&mut self) {
        self.words.clear();
        self.fields.clear();
        self.sets.clear();
        self.ranges.clear();
        self.patterns.clear();
        self.nodes.clear();
        self.reached.clear();
        self.deferred.iter_mut().for_each(Vec::clear);
        self.bits.clear();
        self.marks.clear();
        self.seen.clear();
        self.keys.clear();
        self.ranks.clear();
        self.below.clear();
        // What was found before the time was up belongs to no later batch.
        self.found.iter_mut().for_each(Vec::clear);
    }

    /// Records that an event has an attribute, even if only as a null.
    pub(in crate::matcher::compiled) fn see(
        &mut self,
        lane: usize,
        attribute: u32,
        global: AttributeId,
    ) -> usize {
        let position = self.fields.position_or_insert(attribute);
        let field = &mut self.fields.items[position];
        field.global = global;
        field.present.insert(lane);
        position
    }

    /// Records a value that an event has for the attribute whose field is at `position`.
    pub(in crate::matcher::compiled) fn see_value(
        &mut self,
        lane: usize,
        position: usize,
        known: NumberedValue,
    ) {
        let field = &mut self.fields.items[position];
        if field.valued.contains(lane) {
            field.several.insert(lane);
        }
        field.valued.insert(lane);
        self.seen.push(Seen { known, lane: lane as u32, before: field.last.wrapping_sub(1) });
        field.last = self.seen.len() as u32;
    }

    /// Records the bits of a key that an event has.
    pub(in crate::matcher::compiled) fn see_key(
        &mut self,
        lane: usize,
        attribute: u32,
        key: u32,
        bits: &Bits,
    ) {
        let mut own = true;
        bits.with_key(attribute, key, |word, bit| {
            let (mark, fresh) = self.mark(lane, word, bit);
            if own && fresh {
                self.keys.push((key, mark));
            }
            own = false;
        });
    }

    /// Records the bit of a rank that an event has.
    pub(in crate::matcher::compiled) fn see_rank(
        &mut self,
        lane: usize,
        attribute: u32,
        rank: u32,
        bits: &Bits,
    ) {
        bits.with_rank(attribute, rank, |word, bit| {
            self.mark(lane, word, bit);
        });
    }

    /// Records a bit, and returns whether no event had it before.
    fn mark(&mut self, lane: usize, word: u32, bit: u64) -> (Mark, bool) {
        let position = self.words.position_or_insert(word);
        let word = &mut self.words.items[position];
        let mark = Mark { word: position as u32, bit: bit.trailing_zeros() as u8, lane: lane as u16 };
        let fresh = word.present & bit == 0;
        word.present |= bit;
        self.marks.push(mark);
        (mark, fresh)
    }

    /// Lays out the lanes, after all events have been recorded.
    pub(in crate::matcher::compiled) fn lay_out(&mut self) {
        let mut first = 0;
        for word in &mut self.words.items {
            word.first = first;
            first += 1 + word.present.count_ones();
        }
        self.bits.clear();
        self.bits.resize(first as usize, EventSet::NONE);
        for position in 0..self.marks.len() {
            let mark = self.marks[position];
            let word = self.words.items[mark.word as usize];
            self.bits[word.first as usize].insert(mark.lane.into());
            self.bits[word.lanes_of(1 << mark.bit)].insert(mark.lane.into());
        }
    }

    /// The events that have the bit of a mark.
    pub(in crate::matcher::compiled) fn marked(&self, mark: Mark) -> EventSet {
        self.bits[self.words.items[mark.word as usize].lanes_of(1 << mark.bit)]
    }

    /// A word other than the first, if some event has a bit of it.
    #[inline]
    pub(in crate::matcher::compiled) fn word(&self, word: u32) -> Option<Word> {
        self.words.get(word).copied()
    }

    /// The events that have any bit of a word.
    #[inline]
    pub(in crate::matcher::compiled) fn any(&self, word: Word) -> EventSet {
        self.bits[word.first as usize]
    }

    /// The events that have one of some bits of a word.
    #[inline]
    pub(in crate::matcher::compiled) fn some(&self, word: Word, mask: u64) -> EventSet {
        let mut rest = mask & word.present;
        if rest == word.present {
            return self.any(word);
        }
        let mut lanes = EventSet::NONE;
        while rest != 0 {
            let bit = rest & rest.wrapping_neg();
            lanes |= self.bits[word.lanes_of(bit)];
            rest ^= bit;
        }
        lanes
    }

    /// The events that pass a bit test.
    #[inline]
    pub(in crate::matcher::compiled) fn test(&self, word: u32, mask: u64) -> EventSet {
        match self.words.get(word) {
            // Every event passes a test of word 0, unless its mask is empty.
            None if word == 0 && mask != 0 => self.all,
            None => EventSet::NONE,
            Some(&word) => self.some(word, mask),
        }
    }

    /// Calls `with` for every value that events of `lanes` have for an attribute.
    pub(in crate::matcher::compiled) fn each_value(
        &self,
        attribute: u32,
        lanes: EventSet,
        mut with: impl FnMut(usize, NumberedValue),
    ) {
        let mut next = self.fields.get(attribute).map_or(END, |field| field.last.wrapping_sub(1));
        while next != END {
            let Seen { known, lane, before } = self.seen[next as usize];
            if lanes.contains(lane as usize) {
                with(lane as usize, known);
            }
            next = before;
        }
    }

    /// The events of `lanes` that have a value of an attribute for which `is` holds.
    pub(in crate::matcher::compiled) fn scan(
        &self,
        attribute: u32,
        lanes: EventSet,
        is: impl Fn(NumberedValue) -> bool,
    ) -> EventSet {
        let mut found = EventSet::NONE;
        self.each_value(attribute, lanes, |lane, known| {
            if is(known) {
                found.insert(lane);
            }
        });
        found
    }

    /// The distinct ranks of an attribute's values, and for each rank the events below it; events with several values
    /// are kept separately.
    pub(in crate::matcher::compiled) fn ranks(&mut self, attribute: u32) -> (&[u32], &[EventSet]) {
        let Some(position) = self.fields.find(attribute) else { return (&[], &[EventSet::NONE]) };
        if self.fields.items[position].sorted.is_none() {
            self.sort_ranks(position);
        }
        let (ranks, below, count) = self.fields.items[position].sorted.unwrap_or_default();
        let (ranks, below, count) = (ranks as usize, below as usize, count as usize);
        (&self.ranks[ranks..ranks + count], &self.below[below..=below + count])
    }

    fn sort_ranks(&mut self, position: usize) {
        let field = self.fields.items[position];
        let mut pairs: Vec<(u32, usize)> = Vec::new();
        let single = field.valued.without(field.several);
        self.each_value(self.fields.numbers()[position], single, |lane, known| {
            if known.rank != NO_RANK {
                pairs.push((known.rank, lane));
            }
        });
        pairs.sort_unstable();
        let (first, first_below) = (self.ranks.len(), self.below.len());
        let mut lanes = EventSet::NONE;
        for (rank, lane) in pairs {
            if self.ranks.len() == first || self.ranks.last() != Some(&rank) {
                self.ranks.push(rank);
                self.below.push(lanes);
            }
            lanes.insert(lane);
        }
        self.below.push(lanes);
        let count = self.ranks.len() - first;
        self.fields.items[position].sorted = Some((first as u32, first_below as u32, count as u32));
    }

    /// The events that have a value for an attribute.
    pub(in crate::matcher::compiled) fn valued(&self, attribute: u32) -> EventSet {
        self.fields.get(attribute).map_or(EventSet::NONE, |field| field.valued)
    }

    /// The events that have several values for an attribute.
    pub(in crate::matcher::compiled) fn several(&self, attribute: u32) -> EventSet {
        self.fields.get(attribute).map_or(EventSet::NONE, |field| field.several)
    }

    /// The events that have a value of an attribute whose rank lies between two.
    pub(in crate::matcher::compiled) fn within(&mut self, attribute: u32, first: u32, last: u32) -> EventSet {
        let (ranks, below) = self.ranks(attribute);
        let low = ranks.partition_point(|&rank| rank < first);
        let high = ranks.partition_point(|&rank| rank <= last);
        let found = if low < high { below[high].without(below[low]) } else { EventSet::NONE };
        let several = self.several(attribute);
        if several.is_none() {
            return found;
        }
        found | self.scan(attribute, several, |known| first <= known.rank && known.rank <= last)
    }

    /// Takes what was found, event by event and ascending; `ends` says where each event's slots end.
    pub(in crate::matcher::compiled) fn take(
        &mut self,
        events: usize,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
    ) {
        for slots in &mut self.found[..events] {
            slots.drain(..).for_each(|slot| self.ascending.insert(slot));
            self.ascending.drain(|slot| found.push(slot));
            ends.push(found.len());
        }
    }
}

impl Word {
    /// Where the lanes of a bit are, for a bit that some event has.
    #[inline]
    fn lanes_of(self, bit: u64) -> usize {
        (self.first + 1 + (self.present & (bit - 1)).count_ones()) as usize
    }
}
