//! How is what was compiled laid out, so that matching reads it in runs?
//!
//! Sources of all kinds are numbered one behind the other, their entries sorted together, and every
//! relation becomes a list of starts and a list of items.

use std::sync::atomic::AtomicU32;

use super::Compiled;
use super::build::{Builder, Source, Waiting};
use super::ranges::{Interval, Stabbing};
use super::run::write_run;
use crate::matcher::{Scan, Slot};

/// Everything there is, before it is laid out.
pub(super) struct Parts {
    pub builder: Builder,
    /// The block that evaluates each node.
    pub bodies: Vec<u32>,
    pub node_slots: Vec<(u32, Slot)>,
    /// The number of expressions.
    pub slots: usize,
    pub deep: Vec<Slot>,
    pub scan: Scan,
}

impl Parts {
    /// Lays it out; `local` has the number here of each attribute of the index.
    pub fn assemble(self, local: Vec<u32>) -> Compiled {
        let Parts { mut builder, bodies, mut node_slots, slots, deep, scan } = self;
        let (shape, attribute_predicates) = std::mem::take(&mut builder.shape);
        let Builder { terms, keys, sets, intervals, .. } = &builder;
        let count = terms.names().len();
        let unselective = builder.count_unselective();
        let mut sources = 0;
        let mut section = |size: usize| {
            let start = sources;
            sources += size as u32;
            start
        };
        section(keys.len());
        let set_sources = section(sets.keys.len());
        let range_sources = section(intervals.len());
        let pattern_sources = section(terms.patterns.len());
        let attribute_sources = section(count + 1);
        let always = section(1);
        let node_sources = section(bodies.len());
        let number = |source: Source| match source {
            Source::Key(key) => key,
            Source::Set(set) => set_sources + set,
            Source::Range(range) => range_sources + range,
            Source::Pattern(pattern) => pattern_sources + pattern,
            Source::Attribute(attribute) => attribute_sources + attribute,
            Source::Always => always,
            Source::Node(node) => node_sources + node,
        };
        // By source and, within one, by first test: what is skipped together stands together, and what
        // decides one of the others decides its neighbours, so that the processor guesses right.
        let mut waiting: Vec<(u32, Waiting)> =
            builder.entries.iter().map(|&(source, waiting)| (number(source), waiting)).collect();
        waiting.sort_by_key(|(source, waiting)| (*source, waiting.tests));
        let (mut starts, mut runs) = (Vec::with_capacity(sources as usize + 1), Vec::new());
        let mut rest = &waiting[..];
        for source in 0..sources {
            starts.push(runs.len() as u32);
            let run;
            (run, rest) = rest.split_at(rest.partition_point(|(of, _)| *of == source));
            write_run(run.iter().map(|(_, waiting)| waiting), &mut runs);
        }
        starts.push(runs.len() as u32);

        let mut key_sets: Vec<(u32, u32)> = Vec::new();
        for (set, keys) in sets.keys.iter().enumerate().filter(|(set, _)| sets.entered[*set]) {
            key_sets.extend(keys.iter().map(|&key| (key, set as u32)));
        }
        let (key_set_starts, key_sets) = group(keys.len(), &mut key_sets);
        let (node_slot_starts, node_slots) = group(bodies.len(), &mut node_slots);
        let stabbed = intervals
            .iter()
            .map(|interval| Interval { source: range_sources + interval.source, ..*interval });
        let stabbing = Stabbing::new(stabbed.collect(), count);
        let mut set_starts = vec![0u32];
        let mut set_keys = Vec::new();
        for keys in &sets.keys {
            set_keys.extend_from_slice(keys);
            set_starts.push(set_keys.len() as u32);
        }
        let sources = [set_sources, pattern_sources, attribute_sources, always, node_sources];
        let figures = shape.into_iter().chain([builder.patterns.unfiltered() as u64, unselective]);
        let counts = [slots as u64].into_iter().chain(sources.map(u64::from)).chain(figures);
        Compiled {
            missing: builder.missing,
            counts: counts.collect(),
            attribute_predicates: attribute_predicates.into(),
            names: terms.names().iter().map(|name| name.as_bytes()).collect(),
            attributes: local,
            patterns: builder.patterns,
            starts: starts.into(),
            runs: runs.into(),
            bits: builder.bits,
            key_set_starts: key_set_starts.into(),
            key_sets: key_sets.into(),
            set_starts: set_starts.into(),
            set_keys: set_keys.into(),
            stabbing,
            bodies: bodies.into(),
            node_slot_starts: node_slot_starts.into(),
            node_slots: node_slots.into(),
            deep: deep.into(),
            scan,
            keys: builder.keys,
            bounds: builder.bounds,
            program: builder.program.into(),
            unasked: AtomicU32::new(0),
        }
    }
}

fn accumulate(counts: &mut [u32]) {
    for position in 1..counts.len() {
        counts[position] += counts[position - 1];
    }
}

/// The second of each pair, grouped by the first; and where each group begins.
pub(super) fn group(groups: usize, pairs: &mut [(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    pairs.sort_unstable();
    let mut starts = vec![0u32; groups + 1];
    for (group, _) in pairs.iter() {
        starts[*group as usize + 1] += 1;
    }
    accumulate(&mut starts);
    (starts, pairs.iter().map(|(_, item)| *item).collect())
}
