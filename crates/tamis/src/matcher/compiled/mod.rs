//! The default matcher: a compiled A-Tree (after Ji & Jacobsen 2021) in flat, immutable columns.
//!
//! A conjunction can only be true if all of its children are. So it is enough to store it under one of
//! them, its *trigger*, and to examine it when that one is true. The cheapest trigger is the predicate that
//! is true least often; a sample of past events says which. An expression that is stored under a trigger
//! is an *entry*; the tests that remain are its *residual*. A subexpression that several expressions share
//! is a *node*: it is evaluated at most once per event, and is itself a trigger for the expressions that
//! contain it.
//!
//! This page follows three expressions and one event through the matcher:
//!
//! ```text
//! slot 0   topic = 'chess' and state = 'CA'
//! slot 1   topic = 'chess' and state = 'OR' and not vip
//! slot 2   topic = 'go' or age > 60
//! ```
//!
//! # Building
//!
//! **Subexpressions** (`build::ir`). Each expression is normalised and split into predicates, conjunctions and
//! disjunctions, which are interned: `topic = 'chess'` is one subexpression that both conjunctions use. Attributes
//! are numbered in the order of their first mention: topic 1, state 2, vip 3, age 4.
//!
//! **Values** (`columns`: `keys`, `ranges`, `bits`). A pair of an attribute and a value that some equality tests is a
//! *key*. Keys are numbered attribute by attribute, those used most often first, and a hash table finds
//! the key of an event's value. The ends of ranges are sorted per attribute, and a value is known by its
//! *rank* among them: odd if it equals an end, even if it lies between two. The empty string separates
//! numbers from strings, so the ends of `age` are 60 and `''`, and `age > 60` is the interval of the one
//! rank 2. Every attribute also has 64-bit words in which each of its keys and ranks has a bit. A *bit
//! test* is a word and a mask; it passes if they have a bit in common. Word 0 has all bits set.
//!
//! ```text
//!              key    word, bit            value of age   rank   word, bit
//! topic chess   0      1, 0                < 60            0      4, 0
//! topic go      1      1, 1                = 60            1      4, 1
//! state CA      2      2, 0                > 60            2      4, 2
//! state OR      3      2, 1                ''              3      4, 3
//! vip   true    4      3, 0                other strings   4      4, 4
//! ```
//!
//! **Triggers** (`build`: `estimate`, `access`). Suppose that few events of the sample are about chess, and that
//! most have a state. Then slots 0 and 1 are both stored under `topic = 'chess'`. A disjunction is stored
//! under each of its children, so slot 2 has two entries, one of them under a range. Up to two of the
//! remaining predicates, the least likely first, become bit tests of the entry itself; negated ones cannot.
//! The rest becomes a residual (`build::residual`, `columns::opcodes`), a small program whose checks are also ordered by
//! how unlikely they are, with exact bit tests first. Only slot 1 needs one:
//!
//! ```text
//! program   0   00000c38   check of kind BITS (8), negated (10), last of its residual (20), attribute 3 (3 << 10)
//!           1   00000003   word 3
//!           2   00000001   the low and the high half of the mask
//!           3   00000000
//! ```
//!
//! **Layout** (`build::layout`, `columns::entry_list`). Triggers of all kinds are numbered consecutively: keys 0 to 4, no
//! sets, the range `age > 60` 5, no patterns, the presence of attributes 6 to 10 (number 0 is unused),
//! "always" 11, no nodes. The entries of a trigger are stored contiguously, in one *entry list* of
//! `entry_lists`; `starts` says where each list begins.
//!
//! ```text
//! trigger   0    1    2    3    4    5    6 ... 11
//! starts    0   19   21   21   21   21   23 ... 23   23
//!
//! entry_lists, topic = 'chess'
//!           0   00000004                              one group (1 << 2), and nothing but groups (0)
//!           1   00000002 00000002 00000003 00000000   group: word 2, ends before entry 2, masks together
//!           5   00000001 00000000                     first mask of slot 0: bit of 'CA'
//!           7   00000002 00000000                     first mask of slot 1: bit of 'OR'
//!           9   ffffffff ffffffff 00000000            slot 0: second mask and word, which always pass
//!          12   ffffffff 00000000                             no residual, target 0
//!          14   ffffffff ffffffff 00000000            slot 1: likewise
//!          17   00000000 00000001                             residual at 0, target 1
//! entry_lists, topic = 'go'
//!          19   00000005                              one target (1 << 2), and nothing but targets (1)
//!          20   00000002                              slot 2, which is neither tested nor checked
//! entry_lists, age > 60: at 21, the same two words as for 'go'
//! ```
//!
//! Entries whose first bit test reads the same word form a group. If the event's word has no bit of the
//! group's combined mask, the whole group is skipped.
//!
//! # Matching
//!
//! ```text
//! {"topic": "chess", "state": "OR", "vip": false, "age": 30}
//! ```
//!
//! **Load** (`single`: `load`, `scratch`). Each value is looked up once. Keys and ranks set bits of the
//! event's words and put their triggers on a list; a search tree over the intervals finds the ranges that
//! contain a rank.
//!
//! ```text
//! topic 'chess'   key 0    word 1 = 1    trigger 0
//! state 'OR'      key 3    word 2 = 2    trigger 3
//! vip   false     no key                 none, but the attribute has a value
//! age   30        rank 0   word 4 = 1    none: 0 is not in the interval of `age > 60`
//!                                        trigger 11, "always"
//! ```
//!
//! **Follow** (`single`: `follow`, `program`; `entry_list::Stages`). The lists of triggers 3 and 11 are empty. The
//! list of trigger 0 is processed in stages. Each stage is a loop over everything that passed the stage
//! before. Its steps do not depend on each other and hardly branch, so many reads are in flight at once.
//!
//! ```text
//! groups       word 2 is 10, combined mask 11    the group is open
//! first test   slot 0: 10 & 01 = 0               dropped
//!              slot 1: 10 & 10 = 10              passes
//! second test  slot 1: word 0                    passes: a candidate
//! residual     word 3 & 1 = 0, negated, and      holds
//!              vip has a value
//! target       1                                 slot 1 matches
//! ```
//!
//! Without `vip` in the event, the negated check would be unknown, and slot 1 would not match (with
//! `Missing::False` it would). Slot 2 was never examined.
//!
//! **Nodes** (`single::follow`). Targets are numbered: nodes first, level by level, then slots. A node of one
//! level needs only nodes of lower levels. Once the entry lists of all predicates were read, the nodes of the first level
//! that are true are known; their triggers are followed next, then those of the second level, and so on. An entry
//! whose residual needs a node that is not true so far is deferred until all levels below its target are settled. So
//! the entries under a node are read at most once, and no node is evaluated that no trigger leads to.
//!
//! **Patterns** (`columns::patterns`, `text_match`). While an event is loaded, its texts are searched for the literals of all
//! patterns of their attributes. A pattern that its literals decide is a trigger like any other. Any other pattern
//! whose literals are found is tried at once if entries are stored under it, otherwise only when a residual needs it.
//!
//! `matcher::Counters` counts what each step reads: `lists` that are not empty; their `entries`, except those of
//! skipped groups; `candidates`, the entries that pass their bit tests, if they have any; `nodes` that are true; and
//! patterns that were `tried`.
//!
//! **Many events** (`batch`). Up to 512 events can be matched together:
//! each bit, trigger and node then has a set of events, and every entry list is read once for all of them.
//! Unless forced, both ways are measured and the faster one is taken (`choice`); at first, the cost is estimated.
//!
//! # Departures from the paper
//!
//! - The access child of a conjunction is chosen by estimated cost, not at random.
//! - Only identical subexpressions are shared, not subsets of children.
//! - Levels count shared nodes only, and a node is evaluated only where its trigger is true.
//! - Expressions that are nested more than 64 deep are evaluated by a scan, which does not recurse.

mod batch;
mod build;
mod choice;
mod columns;
mod nulls;
mod single;
mod storage;
#[cfg(test)]
mod tests;
mod text_match;
mod validate;

use std::time::Instant;

use super::{Evaluation, Matcher, Scan, Scratch, Slot, one_by_one};
use crate::column::Column;
use crate::csr::Lists;
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event};
use crate::expression::Expression;
use crate::strings::Strings;
use crate::truth::Missing;
use batch::event_set::LANES;
pub(crate) use batch::state::BatchState;
pub(crate) use build::CompiledBuilder;
pub use build::stats::ExpressionStats;
pub use choice::BatchTimes;
use choice::{Choice, Next};
use columns::bits::Bits;
use columns::keys::Keys;
use columns::patterns::Patterns;
use columns::ranges::{Bounds, Stabbing};
pub(crate) use single::scratch::CompiledScratch;

/// Events with a longer list are matched one by one: in a batch, every check goes through all values.
const MOST_VALUES: usize = 256;
/// Fewer events are matched one by one.
const LEAST_BATCH: usize = 64;

/// A compiled set of expressions.
#[derive(Debug)]
pub struct Compiled {
    missing: Missing,
    /// This matcher's number of each attribute of the index; 0 if no expression tests it.
    attributes: Vec<u32>,
    keys: Keys,
    bounds: Bounds,
    patterns: Patterns,
    bits: Bits,
    /// Where the entry list of each trigger begins in `entry_lists`.
    starts: Column<u32>,
    /// The groups and entries of every trigger; see [`entry_list`].
    entry_lists: Column<u32>,
    program: Column<u32>,
    /// For every key, the sets that contain it and are triggers.
    key_sets: Lists<u32>,
    /// The keys of every set, ascending.
    sets: Lists<u32>,
    stabbing: Stabbing,
    /// The first node of each level, and the number of nodes. A node asks only for nodes of lower levels.
    levels: Column<u32>,
    /// The slots of expressions too deep to compile, and a scan over them.
    deep: Column<Slot>,
    scan: Scan,
    /// The names of the attributes, by their number here less one.
    names: Strings,
    /// The number of predicates of each attribute in `names`.
    attribute_predicates: Column<u32>,
    /// The number of slots, the first trigger of each kind, the figures of [`ExpressionStats`], and the
    /// number of sampled events.
    counts: Column<u64>,
    /// How the events of batches are matched.
    choice: Choice,
}

impl Compiled {
    /// Compiles expressions, whose slots are their positions. `sample` holds events that resemble those to come,
    /// decoded with the same attributes; it may be empty. Fails if there are too many expressions, or too many
    /// patterns in them.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        sample: &[Event],
    ) -> Result<Compiled> {
        let mut builder = CompiledBuilder::new(attributes.time_zone().clone());
        let mut all = Vec::new();
        for expression in expressions {
            builder.push(expression);
            all.push(expression);
        }
        let deep = |slot: Slot| Ok(all[slot as usize].clone());
        builder.finish(attributes, missing, sample, deep)
    }

    /// The first trigger of the sets, patterns, attributes, of what is always true, and of the nodes.
    fn triggers(&self) -> [u32; 5] {
        std::array::from_fn(|kind| self.counts[1 + kind] as u32)
    }

    /// How many nodes there are.
    fn nodes(&self) -> u32 {
        self.levels.last().copied().unwrap_or(0)
    }

    /// How many levels of nodes there are.
    fn level_count(&self) -> usize {
        self.levels.len().saturating_sub(1)
    }

    /// The names of the attributes that the expressions test, except those that are scanned.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        (0..self.names.len()).filter_map(|position| self.names.get(position))
    }

    /// The slots of the expressions that are scanned.
    pub(crate) fn deep(&self) -> &[Slot] {
        &self.deep
    }

    /// Whether a part that is read only when it is needed was found to be damaged.
    pub fn is_damaged(&self) -> bool {
        self.patterns.are_damaged()
    }

    /// How long events of batches took so far.
    pub(crate) fn batch_times(&self) -> BatchTimes {
        self.choice.times()
    }

    /// How many sampled events the triggers were chosen by.
    pub(crate) fn sampled_events(&self) -> usize {
        self.counts[11] as usize
    }

    /// How to match some events of a batch.
    fn next(&self, events: &[Event], evaluation: Evaluation) -> Next {
        if events.iter().any(|event| event.longest_list() > MOST_VALUES) {
            return Next::Events;
        }
        match evaluation {
            Evaluation::Blocks => Next::Blocks,
            Evaluation::Auto if events.len() >= LEAST_BATCH => self.choice.next(),
            Evaluation::Auto | Evaluation::Events => Next::Events,
        }
    }

    /// Matches events in a block; false where one by one is estimated to be cheaper, or the time is up.
    fn match_block(
        &self,
        events: &[Event],
        in_any_case: bool,
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
    ) -> bool {
        scratch.begin_within(events[0].deadline());
        let mut state = std::mem::take(&mut scratch.batch);
        state.timer = scratch.timer.clone();
        let deep = || self.match_deep(events, scratch);
        let matched = self.match_batch(events, &mut state, in_any_case, deep, found, ends);
        if state.timer.is_late() {
            scratch.timer = state.timer.clone();
        }
        scratch.batch = state;
        matched
    }

    /// The lanes and slots of the expressions too deep to compile that events satisfy.
    fn match_deep(&self, events: &[Event], scratch: &mut Scratch) -> Vec<(usize, Slot)> {
        let mut found = Vec::new();
        for (lane, event) in events.iter().enumerate().filter(|_| !self.deep.is_empty()) {
            let mut slots = Vec::new();
            self.scan.find(event, scratch, &mut slots);
            found.extend(slots.into_iter().map(|position| (lane, self.deep[position as usize])));
        }
        found
    }
}

/// The first target that is a slot: it follows the nodes, and begins a word of a bitmap of targets.
fn first_slot(levels: &[u32]) -> u32 {
    levels.last().map_or(0, |nodes| nodes.next_multiple_of(u64::BITS))
}

impl Matcher for Compiled {
    fn name(&self) -> &'static str {
        "compiled"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        scratch.begin_within(event.deadline());
        let mut deep = Vec::new();
        if !self.deep.is_empty() {
            self.scan.find(event, scratch, &mut deep);
        }
        let working = &mut scratch.compiled;
        working.timer = scratch.timer.clone();
        let first_slot = first_slot(&self.levels);
        working.begin(
            self.names.len(),
            self.bits.words(),
            self.patterns.len(),
            self.sets.len(),
            first_slot as usize + self.counts[0] as usize,
            self.level_count() + 1,
        );
        self.load(event, working);
        self.follow_all(event, working);
        scratch.timer = working.timer.clone();
        for position in deep {
            working.reached.insert(first_slot + self.deep[position as usize]);
        }
        working.reached.drain_from(first_slot, found);
        working.end();
    }

    fn matches_many(
        &self,
        events: &[Event],
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
        stopped: &dyn Fn() -> bool,
    ) {
        for events in events.chunks(LANES) {
            if stopped() || scratch.timer.is_late() {
                return;
            }
            let next = self.next(events, scratch.evaluation());
            let (mut begun, done) = (Instant::now(), ends.len());
            let blocks =
                next != Next::Events && self.match_block(events, next == Next::Blocks, scratch, found, ends);
            if !blocks && !scratch.timer.is_late() {
                begun = Instant::now();
                one_by_one(self, events, scratch, found, ends, stopped);
            }
            if scratch.timer.is_late() {
                return;
            }
            if events.len() >= LEAST_BATCH && ends.len() == done + events.len() {
                self.choice.record(blocks, events.len(), begun.elapsed());
            }
        }
    }

    fn asked_nulls(&self) -> Option<Vec<AttributeId>> {
        self.nulls()
    }

    fn bytes(&self) -> usize {
        let words = self.attributes.len() + self.words().map(|column| column.len()).iter().sum::<usize>();
        4 * words
            + self.bits.bytes()
            + self.patterns.bytes()
            + self.keys.bytes()
            + self.bounds.bytes()
            + self.stabbing.bytes()
    }
}
