//! The default matcher: a compiled A-Tree (after Ji & Jacobsen 2021) in flat, immutable columns.
//!
//! A conjunction can only be true if all of its operands are. So it is enough to store it under one of
//! them, its *trigger*, and to examine it when that one is true. The cheapest trigger is the literal that
//! is true least often; a sample of past events says which. An expression that is stored under a trigger
//! is an *entry*; the tests that remain are its *residual*. A part that several expressions share
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
//! **Parts** (`ir`). Each expression is normalised and split into literals, conjunctions and
//! disjunctions, which are interned: `topic = 'chess'` is one part that both conjunctions use. Attributes
//! are numbered in the order of their first mention: topic 1, state 2, vip 3, age 4.
//!
//! **Values** (`keys`, `ranges`, `bits`). A pair of an attribute and a value that some equality tests is a
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
//! **Triggers** (`estimate`, `access`). Suppose that few events of the sample are about chess, and that
//! most have a state. Then slots 0 and 1 are both stored under `topic = 'chess'`. A disjunction is stored
//! under each of its operands, so slot 2 has two entries, one of them under a range. Up to two of the
//! remaining literals, the least likely first, become bit tests of the entry itself; negated ones cannot.
//! The rest becomes a residual (`residual`, `program`), a small program whose checks are also ordered by
//! how unlikely they are, with exact bit tests first. Only slot 1 needs one:
//!
//! ```text
//! program   0   00000c38   check of kind BITS (8), negated (10), last of its residual (20), attribute 3 (3 << 10)
//!           1   00000003   word 3
//!           2   00000001   the low and the high half of the mask
//!           3   00000000
//! ```
//!
//! **Layout** (`layout`, `entry_list`). Triggers of all kinds are numbered consecutively: keys 0 to 4, no
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
//! **Load** (`Compiled::load`, `working`). Each value is looked up once. Keys and ranks set bits of the
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
//! **Follow** (`Compiled::follow`, `entry_list::Stages`). The lists of triggers 3 and 11 are empty. The
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
//! **Nodes** (`Compiled::follow_all`). Targets are numbered: nodes first, level by level, then slots. A node of one
//! level needs only nodes of lower levels. Once the entry lists of all literals were read, the nodes of the first level
//! that are true are known; their triggers are followed next, then those of the second level, and so on. An entry
//! whose residual needs a node that is not true so far is deferred until all levels below its target are settled. So
//! the entries under a node are read at most once, and no node is evaluated that no trigger leads to.
//!
//! **Patterns** (`patterns`, `text_match`). While an event is loaded, its texts are searched for the literals of all
//! patterns of their attributes. A pattern that its literals decide is a trigger like any other; one that they do not
//! decide is tried if something is entered under it, or else when a residual asks for it.
//!
//! `matcher::Counters` has what each step reads: `lists` and `entries` of the groups that are open, `candidates` that
//! pass both tests, `nodes` that are true, and patterns that were `tried`.
//!
//! **Many events** (`batch_state`, `batch_match`, `event_set`). Up to 512 events can be matched together:
//! each bit, trigger and node then has a set of events, and every entry list is read once for all of them.
//! Unless forced, both ways are measured and the faster one is taken (`choice`); at first, the cost is estimated.
//!
//! # Departures from the paper
//!
//! - The access child of a conjunction is chosen by estimated cost, not at random.
//! - Only identical subexpressions are shared, not subsets of operands.
//! - Levels count shared nodes only, and a node is evaluated only where its trigger is true.
//! - Expressions that nest more than 64 levels are evaluated by a scan, which does not recurse.

mod access;
mod batch_match;
mod batch_state;
mod bits;
mod build;
mod choice;
mod entry_list;
mod estimate;
mod event_set;
mod ir;
mod keys;
mod layout;
mod lower;
mod nulls;
mod patterns;
mod program;
mod ranges;
mod residual;
mod sparse;
mod stats;
#[cfg(test)]
mod tests;
mod text_match;
mod validate;
mod values;
mod working;

use std::time::Instant;

use super::{Evaluation, Matcher, Scan, Scratch, Slot, one_by_one};
use crate::column::Column;
use crate::csr::Lists;
use crate::error::Result;
use crate::event::{AttributeId, Attributes, Event, Presence};
use crate::expression::Expression;
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;
use crate::truth::Missing;
pub(crate) use batch_state::BatchState;
use bits::Bits;
pub(crate) use build::CompiledBuilder;
pub use choice::BatchTimes;
use choice::{Choice, Next};
use entry_list::{Candidate, NO_RESIDUAL, Stages, prefetch};
use event_set::LANES;
use keys::{Keys, NO_KEY};
use patterns::Patterns;
use program::{Context, Outcome, evaluate};
use ranges::{Bounds, NO_RANK, Stabbing};
pub use stats::ExpressionStats;
pub(crate) use working::Working;
use working::{EventAttribute, Known};

/// Events with a longer list are matched one by one: in a batch, every check goes through all values.
const MOST_VALUES: usize = 256;
/// The entry lists of this many triggers are read together.
const LISTS: usize = 256;

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
    /// For every key the sets that hold it, of those that are entered.
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
    /// By attribute of these names: how many predicates it has.
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

    /// The level of a target; that of slots comes after those of all nodes.
    fn level_of(&self, target: u32) -> usize {
        match target < self.nodes() {
            true => self.levels.iter().skip(1).take_while(|&&end| end <= target).count(),
            false => self.level_count(),
        }
    }

    /// What the expressions consist of, except those too deep to compile.
    pub(crate) fn stats(&self) -> ExpressionStats {
        let [nodes, edges, uses, unfiltered_patterns, unselective] =
            std::array::from_fn(|figure| self.counts[6 + figure] as usize);
        let predicates = self.attribute_predicates.iter().enumerate();
        let predicates = predicates.filter_map(|(attribute, &count)| {
            self.names.get(attribute).map(|name| (name.into(), count as usize))
        });
        ExpressionStats {
            nodes,
            edges,
            uses,
            predicates: predicates.collect(),
            unfiltered_patterns,
            unselective,
        }
    }

    /// Lays the matcher down in a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.counts);
        self.names.write(sections);
        self.keys.write(sections);
        self.bounds.write(sections);
        self.patterns.write(sections);
        self.stabbing.write(sections);
        self.bits.write(sections);
        for column in self.words() {
            sections.push(column);
        }
    }

    fn words(&self) -> [&Column<u32>; 10] {
        [
            &self.entry_lists,
            &self.starts,
            &self.program,
            &self.key_sets.starts,
            &self.key_sets.items,
            &self.sets.starts,
            &self.sets.items,
            &self.levels,
            &self.deep,
            &self.attribute_predicates,
        ]
    }

    /// Reads a matcher of this many slots from a file; `expression` returns the expression of a slot.
    pub fn read(
        reader: &mut SectionReader,
        attributes: &Attributes,
        missing: Missing,
        slots: usize,
        expression: impl Fn(Slot) -> Result<Expression>,
    ) -> Result<Compiled> {
        let counts: Column<u64> = reader.next()?;
        if counts.len() != 12 || counts[0] != slots as u64 {
            return Err(reader.damaged("the counts are wrong"));
        }
        let names = Strings::read(reader)?;
        let mut local = Vec::new();
        for (position, number) in (0..names.len()).zip(1..) {
            let name = names.get(position).ok_or_else(|| reader.damaged("an attribute's name is damaged"))?;
            let attribute = attributes.intern(&name.into()) as usize;
            local.resize(local.len().max(attribute + 1), 0);
            local[attribute] = number;
        }
        let keys = Keys::read(reader)?;
        let key_count = keys.len();
        let mut compiled = Compiled {
            missing,
            counts,
            names,
            attributes: local,
            keys,
            bounds: Bounds::read(reader)?,
            patterns: Patterns::read(reader)?,
            stabbing: Stabbing::read(reader)?,
            bits: Bits::read(reader, key_count)?,
            entry_lists: reader.next()?,
            starts: reader.next()?,
            program: reader.next()?,
            key_sets: Lists::read(reader)?,
            sets: Lists::read(reader)?,
            levels: reader.next()?,
            deep: reader.next()?,
            attribute_predicates: reader.next()?,
            scan: Scan::new([], attributes, missing),
            choice: Choice::default(),
        };
        if !compiled.deep.is_empty() {
            let deep = compiled.deep.iter().map(|&slot| expression(slot)).collect::<Result<Vec<_>>>()?;
            compiled.scan = Scan::new(&deep, attributes, missing);
        }
        Ok(compiled)
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

    /// Writes down what the event has, and which triggers that makes true.
    fn load(&self, event: &Event, working: &mut Working) {
        let [sets, _, attributes, always, _] = self.triggers();
        let ranges = sets + self.sets.len() as u32;
        working.triggers.push(always);
        // Often the mere presence of an attribute is not a trigger of anything.
        let presence_matters = self.starts[attributes as usize] < self.starts[always as usize];
        working.probes.clear();
        for (attribute, _, presence) in self.known(event) {
            if let Presence::Values(values) = presence {
                for value in values {
                    working.probes.push(self.keys.probe(attribute, value));
                }
            }
        }
        self.keys.prefetch(&working.probes);
        let (mut probe, mut repeated) = (0, false);
        for (attribute, global, presence) in self.known(event) {
            let first = working.values.len() as u32;
            working.touched.push(attribute);
            match presence {
                Presence::Missing => continue,
                Presence::Null => {}
                Presence::Values(values) => {
                    // The rank before, where ranks ascend: what holds it was found already.
                    let (ascending, mut before) = (values.are_ascending(), None);
                    for value in values {
                        let key = self.keys.find(working.probes[probe], value);
                        probe += 1;
                        let rank = self.bounds.rank(attribute, value);
                        working.values.push(Known { key, rank });
                        if key != NO_KEY {
                            self.bits.with_key(attribute, key, |word, bit| working.set(word, bit));
                            working.triggers.push(key);
                            for &set in self.sets_of(key) {
                                if working.find_set(set) {
                                    working.triggers.push(sets + set);
                                }
                            }
                        }
                        if rank != NO_RANK && before != Some(rank) {
                            self.bits.with_rank(attribute, rank, |word, bit| working.set(word, bit));
                            let found = &mut |range| working.triggers.push(ranges + range);
                            self.stabbing.stab(attribute, before, rank, found);
                            before = ascending.then_some(rank);
                        }
                    }
                }
            }
            if presence_matters {
                working.triggers.push(attributes + attribute);
            }
            let values = working.values.len() as u32 - first;
            let Known { key, rank } = working.values.get(first as usize).copied().unwrap_or(Known::NONE);
            working.fields[attribute as usize] =
                EventAttribute { first, values, key, rank, global, present: true };
            if values > 0 {
                self.find_patterns(attribute, global, event, working);
            }
            if working.timer.spend(values as usize) {
                working.triggers.clear();
                return;
            }
            repeated |= values > 1;
        }
        // Several values can lie in one range: its entry list is read once.
        if repeated {
            working.triggers.sort_unstable();
            working.triggers.dedup();
        }
    }

    /// The attributes of the event that expressions test: their numbers in this matcher and in the event.
    fn known<'e>(&self, event: &'e Event) -> impl Iterator<Item = (u32, u32, Presence<'e>)> {
        event.iter().filter_map(|(global, presence)| match self.attributes.get(global as usize) {
            Some(&attribute) if attribute > 0 => Some((attribute, global, presence)),
            _ => None,
        })
    }

    /// The sets that are triggers and have a key.
    fn sets_of(&self, key: u32) -> &[u32] {
        if self.key_sets.items.is_empty() { &[] } else { self.key_sets.get(key) }
    }

    /// Looks at the entries of all triggers that are true: first those of literals, then those of nodes, level by
    /// level. A level is settled once everything below was looked at: what of it was not reached is false.
    fn follow_all(&self, event: &Event, working: &mut Working) {
        self.follow(event, 0, working);
        for level in 0..self.level_count() {
            if working.timer.is_late() {
                return;
            }
            self.check_deferred(event, level, working);
            let (nodes, first) = (self.levels[level]..self.levels[level + 1], self.triggers()[4]);
            let Working { reached, triggers, .. } = &mut *working;
            reached.for_each(nodes, |node| triggers.push(first + node));
            working.counters.nodes += working.triggers.len() as u64;
            self.follow(event, level + 1, working);
        }
        self.check_deferred(event, self.level_count(), working);
    }

    /// Looks at the entries of the triggers at hand. So many levels of nodes are settled.
    fn follow(&self, event: &Event, settled: usize, working: &mut Working) {
        let mut stages = std::mem::take(&mut working.stages);
        let mut followed = std::mem::take(&mut working.triggers);
        for triggers in followed.chunks(LISTS) {
            let ranges = triggers.iter().map(|&trigger| {
                let trigger = trigger as usize;
                (self.starts[trigger], self.starts[trigger + 1])
            });
            stages.begin(ranges, &self.entry_lists, &working.bits, &mut working.counters);
            for targets in stages.targets(&self.entry_lists) {
                targets.iter().for_each(|&target| working.reached.insert(target));
                working.timer.spend(targets.len());
            }
            self.check_candidates(event, settled, &mut stages, working);
            if working.timer.is_late() {
                break;
            }
        }
        followed.clear();
        working.triggers = followed;
        working.stages = stages;
    }

    /// Checks the entries that pass their bit tests.
    fn check_candidates(&self, event: &Event, settled: usize, stages: &mut Stages, working: &mut Working) {
        while stages.pass(&self.entry_lists, &working.bits, &mut working.counters) {
            prefetch(&self.program, stages.candidates().iter().map(|candidate| candidate.residual));
            let matching = Matching { compiled: self, event };
            for &Candidate { residual, target } in stages.candidates() {
                if residual == NO_RESIDUAL {
                    working.reached.insert(target);
                    continue;
                }
                match evaluate(&matching, &self.program, residual as usize, working) {
                    Outcome::True => working.reached.insert(target),
                    Outcome::False => {}
                    Outcome::Open(residual) => {
                        let level = self.level_of(target);
                        if level > settled {
                            working.deferred[level].push(Candidate { residual, target });
                        }
                    }
                }
                if working.timer.is_late() {
                    break;
                }
            }
            if working.timer.look() {
                return;
            }
        }
    }

    /// Checks the candidates for targets of a level whose residuals asked for nodes, now that all of these are settled.
    fn check_deferred(&self, event: &Event, level: usize, working: &mut Working) {
        let mut deferred = std::mem::take(&mut working.deferred[level]);
        let matching = Matching { compiled: self, event };
        for &Candidate { residual, target } in &deferred {
            if evaluate(&matching, &self.program, residual as usize, working) == Outcome::True {
                working.reached.insert(target);
            }
            if working.timer.spend(1) {
                break;
            }
        }
        deferred.clear();
        working.deferred[level] = deferred;
    }
}

/// The first target that is a slot: it follows the nodes, and begins a word of a bitmap of targets.
fn first_slot(levels: &[u32]) -> u32 {
    levels.last().map_or(0, |nodes| nodes.next_multiple_of(u64::BITS))
}

/// A compiled matcher at work on an event.
struct Matching<'a> {
    compiled: &'a Compiled,
    event: &'a Event,
}

impl Context for Matching<'_> {
    fn set(&self, set: u32) -> &[u32] {
        self.compiled.sets.get(set)
    }

    fn pattern(&self, pattern: u32, working: &mut Working) -> bool {
        self.compiled.pattern_holds(pattern, self.event, working)
    }

    fn missing(&self) -> Missing {
        self.compiled.missing
    }

    fn has_key(&self, attribute: u32, key: u32, working: &Working) -> bool {
        let (word, bit) = self.compiled.bits.key(attribute, key);
        working.bits[word as usize] & bit != 0
    }
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
