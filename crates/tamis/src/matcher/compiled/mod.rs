//! The A-Tree in its compiled form (after Ji & Jacobsen 2021): flat, immutable, and read in runs.
//!
//! A *source* is what can become true: a pair, a set, a range, a pattern, the presence of an
//! attribute, or a node that several expressions share. The *entries* of a source stand one behind
//! the other; an entry holds up to two more tests inline, bit tests on the values of one attribute
//! each, and refers to the block of checks that remains. Entries past their inline test are collected first and
//! checked afterwards, so that the reads of one do not wait for those of another.
//!
//! Departures from the paper: access children are chosen by estimated cost, not at random; only
//! identical subexpressions are shared, not subsets of operands; there are no levels, because a node
//! is either reached from its access or evaluated on demand, once.

mod assemble;
mod build;
mod estimate;
mod keys;
mod patterns;
mod program;
mod ranges;
mod term;
mod values;
mod working;

use super::{Matcher, Scan, Scratch, Slot};
use crate::column::Column;
use crate::error::Result;
use crate::event::{Attributes, Event, Presence};
use crate::expression::Expression;
use crate::sections::{SectionReader, Sections};
use crate::strings::Strings;
use crate::truth::{Missing, Truth};
use keys::{Keys, NO_KEY};
use patterns::Patterns;
use program::{Context, holds};
use ranges::{Bounds, NO_RANK, Stabbing};
pub(crate) use working::Working;
use working::{Field, Known};

/// No block: nothing remains to be checked.
const NO_BLOCK: u32 = u32::MAX;
/// Marks a target that is a node, not a slot.
const TARGET_NODE: u32 = 1 << 31;

/// What follows when a source is true.
#[derive(Debug, Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Entry {
    /// Bits of keys, of each attribute below, one of which the event must have.
    masks: [u32; 2],
    /// The attributes of the inline tests; 0, which has all bits, where there is none.
    attributes: [u32; 2],
    /// The block of checks that remains.
    block: u32,
    /// The slot or node that is then true.
    target: u32,
}

impl Entry {
    fn unconditional(block: u32, target: u32) -> Entry {
        Entry { masks: [u32::MAX; 2], attributes: [0; 2], block, target }
    }

    /// Whether the event has a key that each inline test asks for, or one that shares its bit.
    fn passes(&self, masks: &[u32]) -> bool {
        masks[self.attributes[0] as usize] & self.masks[0] != 0
            && masks[self.attributes[1] as usize] & self.masks[1] != 0
    }
}

/// A compiled set of expressions.
#[derive(Debug)]
pub struct Compiled {
    missing: Missing,
    /// The number here of each attribute of the index; 0 where no expression asks about it.
    attributes: Vec<u32>,
    keys: Keys,
    bounds: Bounds,
    patterns: Patterns,
    pattern_starts: Column<u32>,
    attribute_patterns: Column<u32>,
    /// Where the entries of each source begin.
    starts: Column<u32>,
    entries: Column<Entry>,
    program: Column<u32>,
    key_set_starts: Column<u32>,
    key_sets: Column<u32>,
    set_starts: Column<u32>,
    set_keys: Column<u32>,
    stabbing: Stabbing,
    /// The block that evaluates each node.
    bodies: Column<u32>,
    node_slot_starts: Column<u32>,
    node_slots: Column<u32>,
    /// The slots of expressions too deep to compile, and a scan over them.
    deep: Column<Slot>,
    scan: Scan,
    /// The names of the attributes, by their number here less one.
    names: Strings,
    /// The number of slots and of predicates, and the first source of each kind.
    counts: Column<u64>,
}

impl Compiled {
    /// Compiles expressions, whose slots are their positions. `sample` holds events like those to
    /// come, decoded by the same attributes; it may be empty.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        sample: &[Event],
    ) -> Compiled {
        build::compile(expressions, attributes, missing, sample)
    }

    /// The first source of the sets, patterns, attributes, of what is always true, and of the nodes.
    fn sources(&self) -> [u32; 5] {
        std::array::from_fn(|kind| self.counts[2 + kind] as u32)
    }

    /// Lays the matcher down in a file.
    pub(crate) fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        sections.push(&self.counts);
        self.names.write(sections);
        self.keys.write(sections);
        self.bounds.write(sections);
        self.patterns.write(sections);
        self.stabbing.write(sections);
        sections.push(&self.entries);
        for column in self.words() {
            sections.push(column);
        }
    }

    fn words(&self) -> [&Column<u32>; 12] {
        [
            &self.pattern_starts,
            &self.attribute_patterns,
            &self.starts,
            &self.program,
            &self.key_set_starts,
            &self.key_sets,
            &self.set_starts,
            &self.set_keys,
            &self.bodies,
            &self.node_slot_starts,
            &self.node_slots,
            &self.deep,
        ]
    }

    /// Finds a matcher of so many slots in a file; `expression` gives the expression of a slot.
    pub(crate) fn read(
        reader: &mut SectionReader,
        attributes: &Attributes,
        missing: Missing,
        slots: usize,
        expression: impl Fn(Slot) -> Result<Expression>,
    ) -> Result<Compiled> {
        let counts: Column<u64> = reader.next()?;
        if counts.len() != 7 || counts[0] != slots as u64 {
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
        let mut compiled = Compiled {
            missing,
            counts,
            names,
            attributes: local,
            keys: Keys::read(reader)?,
            bounds: Bounds::read(reader)?,
            patterns: Patterns::read(reader)?,
            stabbing: Stabbing::read(reader)?,
            entries: reader.next()?,
            pattern_starts: reader.next()?,
            attribute_patterns: reader.next()?,
            starts: reader.next()?,
            program: reader.next()?,
            key_set_starts: reader.next()?,
            key_sets: reader.next()?,
            set_starts: reader.next()?,
            set_keys: reader.next()?,
            bodies: reader.next()?,
            node_slot_starts: reader.next()?,
            node_slots: reader.next()?,
            deep: reader.next()?,
            scan: Scan::new([], attributes, missing),
        };
        if !compiled.deep.is_empty() {
            let deep = compiled.deep.iter().map(|&slot| expression(slot)).collect::<Result<Vec<_>>>()?;
            compiled.scan = Scan::new(&deep, attributes, missing);
        }
        Ok(compiled)
    }

    /// Writes down what the event has, and which sources that makes true.
    fn load(&self, event: &Event, working: &mut Working) {
        let [sets, patterns, attributes, always, _] = self.sources();
        working.sources.push(always);
        for (global, presence) in event.iter() {
            let attribute = match self.attributes.get(global as usize) {
                Some(&attribute) if attribute > 0 => attribute,
                _ => continue,
            };
            let first = working.values.len() as u32;
            working.touched.push(attribute);
            match presence {
                Presence::Missing => continue,
                Presence::Null => {}
                Presence::Values(values) => {
                    for value in values {
                        let key = self.keys.find(attribute, value);
                        let rank = self.bounds.rank(attribute, value);
                        working.values.push(Known { key, rank });
                        if key != NO_KEY {
                            working.masks[attribute as usize] |= self.keys.bit(key);
                            working.sources.push(key);
                            for &set in group(&self.key_set_starts, &self.key_sets, key) {
                                if working.recall(working.sets[set as usize]).is_none() {
                                    working.sets[set as usize] = working.remember(true);
                                    working.sources.push(sets + set);
                                }
                            }
                        }
                        if rank != NO_RANK {
                            self.stabbing.stab(attribute, rank, &mut |source| working.sources.push(source));
                        }
                    }
                }
            }
            working.sources.push(attributes + attribute);
            let values = working.values.len() as u32 - first;
            let key = working.values.get(first as usize).map_or(NO_KEY, |value| value.key);
            working.fields[attribute as usize] = Field { first, values, key, global, present: true };
            if values > 0 {
                for &pattern in group(&self.pattern_starts, &self.attribute_patterns, attribute) {
                    if self.evaluate(pattern, event, working) {
                        working.sources.push(patterns + pattern);
                    }
                }
            }
        }
    }

    /// The truth of a pattern, evaluated once per event.
    fn evaluate(&self, pattern: u32, event: &Event, working: &mut Working) -> bool {
        if let Some(truth) = working.recall(working.patterns[pattern as usize]) {
            return truth;
        }
        let (attribute, check) = self.patterns.get(pattern as usize);
        let global = working.fields[attribute as usize].global;
        let truth = check.truth(event.get(global), Missing::False) == Truth::True;
        working.patterns[pattern as usize] = working.remember(truth);
        truth
    }

    /// Looks at the entries of a source.
    fn follow(&self, source: u32, event: &Event, working: &mut Working) {
        let range = self.starts[source as usize] as usize..self.starts[source as usize + 1] as usize;
        let matching = Matching { compiled: self, event, above: u32::MAX };
        let mut candidates = std::mem::take(&mut working.candidates);
        for entries in self.entries[range].chunks(BATCH) {
            candidates.clear();
            let masks = &working.masks[..];
            candidates.extend(
                entries.iter().filter(|entry| entry.passes(masks)).map(|entry| (entry.block, entry.target)),
            );
            for &(block, target) in &candidates {
                if block == NO_BLOCK || holds(&matching, &self.program, block as usize, 0, working) {
                    self.reach(target, working);
                }
            }
        }
        working.candidates = candidates;
    }

    fn reach(&self, target: u32, working: &mut Working) {
        if target & TARGET_NODE == 0 {
            working.emit(target);
            return;
        }
        let node = target & !TARGET_NODE;
        if working.recall(working.fired[node as usize]).is_some() {
            return;
        }
        working.fired[node as usize] = working.remember(true);
        working.nodes[node as usize] = working.remember(true);
        for &slot in group(&self.node_slot_starts, &self.node_slots, node) {
            working.emit(slot);
        }
        working.sources.push(self.sources()[4] + node);
    }
}

/// Entries whose inline tests are made before the blocks of those that pass are read.
const BATCH: usize = 256;

/// A compiled matcher at work on an event.
struct Matching<'a> {
    compiled: &'a Compiled,
    event: &'a Event,
    /// The node being evaluated, or more than any.
    above: u32,
}

impl Context for Matching<'_> {
    fn set(&self, set: u32) -> &[u32] {
        group(&self.compiled.set_starts, &self.compiled.set_keys, set)
    }

    fn pattern(&self, pattern: u32, working: &mut Working) -> bool {
        self.compiled.evaluate(pattern, self.event, working)
    }

    fn node(&self, node: u32, depth: u32, working: &mut Working) -> bool {
        if let Some(truth) = working.recall(working.nodes[node as usize]) {
            return truth;
        }
        // A node's operands have smaller numbers; a damaged file must not recurse for ever.
        assert!(node < self.above, "a damaged node");
        let body = self.compiled.bodies[node as usize] as usize;
        let below = Matching { above: node, ..*self };
        let truth = holds(&below, &self.compiled.program, body, depth, working);
        working.nodes[node as usize] = working.remember(truth);
        truth
    }

    fn missing(&self) -> Missing {
        self.compiled.missing
    }
}

fn group<'a>(starts: &[u32], items: &'a [u32], group: u32) -> &'a [u32] {
    &items[starts[group as usize] as usize..starts[group as usize + 1] as usize]
}

impl Matcher for Compiled {
    fn name(&self) -> &'static str {
        "compiled"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let mut deep = Vec::new();
        if !self.deep.is_empty() {
            self.scan.matches(event, scratch, &mut deep);
        }
        let working = &mut scratch.compiled;
        let sets = self.set_starts.len() - 1;
        working.begin(
            self.names.len(),
            self.patterns.len(),
            self.bodies.len(),
            sets,
            self.counts[0] as usize,
        );
        self.load(event, working);
        while let Some(source) = working.sources.pop() {
            self.follow(source, event, working);
        }
        deep.into_iter().for_each(|position| working.emit(self.deep[position as usize]));
        working.take(found);
        working.end();
    }

    fn predicates(&self) -> usize {
        self.counts[1] as usize
    }

    fn bytes(&self) -> usize {
        let words = self.attributes.len() + self.words().map(|column| column.len()).iter().sum::<usize>();
        4 * words
            + size_of::<Entry>() * self.entries.len()
            + self.patterns.bytes()
            + self.keys.bytes()
            + self.bounds.bytes()
            + self.stabbing.bytes()
    }
}
