//! Comparators and references.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use tamis::Event;

use super::Built;
use super::clock::Subject;
use super::expressions::{STATISTICS, Setting, cannot};
use crate::comparator::{COMPARATORS, Comparator, Counters, Input, Work};
use crate::reference::{Access, Compact, Corpus, Counting, Probabilities, Reference, ReferenceScratch};
use crate::workload::{Named, Pair, Parameters, read};

/// The matchers that only support conjunctions.
pub(super) const REFERENCES: [&str; 3] = ["counting", "access", "compact"];

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ComparatorOptions {
    /// The maximum number of conjunctions or nodes per expression.
    most: usize,
    /// The number of sample events, from which the matcher estimates probabilities.
    sample: u64,
}

impl Default for ComparatorOptions {
    fn default() -> Self {
        ComparatorOptions { most: 1 << 20, sample: 200 }
    }
}

impl Parameters for ComparatorOptions {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Builds a comparator.
pub(super) fn comparator(name: &str, given: &Named, setting: Setting<'_>) -> Result<Built, String> {
    let ComparatorOptions { most, sample } = read("option", ComparatorOptions::default(), given)?;
    let attributes = setting.attributes();
    let sample = setting.decode(STATISTICS, sample, &attributes);
    let known = COMPARATORS.iter().find(|(known, _)| *known == name);
    let (_, build) = known.ok_or_else(|| format!("unknown comparator {name:?}"))?;
    let input = Input {
        expressions: &setting.expressions,
        attributes: &attributes,
        missing: setting.missing,
        sample: &sample,
        most,
    };
    let begun = Instant::now();
    let comparator = build(&input).map_err(cannot)?;
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = comparator.bytes();
    let events = setting.measured(&attributes);
    Ok(Built::new(seconds, bytes, Box::new(Compared { comparator, events, work: Work::default() })))
}

struct Compared {
    comparator: Box<dyn Comparator>,
    events: Vec<Event>,
    work: Work,
}

impl Subject for Compared {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        self.comparator.matches(&self.events[event], &mut self.work, found);
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        let Counters { entries, candidates, nodes } = self.work.take_counters();
        vec![("entries", entries), ("candidates", candidates), ("nodes", nodes)]
    }
}

/// Builds a reference.
pub(super) fn reference(
    name: &str,
    given: &Named,
    setting: &Setting<'_>,
    expressions: u32,
) -> Result<Built, String> {
    if let Some(option) = given.keys().next() {
        return Err(format!("unknown option {option:?}: there are none"));
    }
    let workload = setting.workload.as_conjunctive().ok_or_else(|| {
        cannot(format!(
            "{name} supports only disjunctions of conjunctions of set predicates, as in conjunctive and dense"
        ))
    })?;
    let draw = |number| {
        let mut pairs = Vec::new();
        workload.draw_event(number, &mut pairs);
        pairs
    };
    let corpus = Corpus::generate(workload, expressions);
    let sample: Vec<Vec<Pair>> = (STATISTICS..STATISTICS + 200).map(draw).collect();
    let events = (0..setting.events).map(draw).collect();
    let begun = Instant::now();
    let probabilities = Probabilities::sample(&corpus, sample.iter().map(Vec::as_slice));
    let reference: Box<dyn Reference> = match name {
        "counting" => Box::new(Counting::new(&corpus)),
        "access" => Box::new(Access::new(&corpus, &probabilities)),
        _ => Box::new(Compact::new(&corpus, &probabilities)),
    };
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = reference.bytes();
    let scratch = ReferenceScratch::default();
    Ok(Built::new(seconds, bytes, Box::new(Referred { reference, events, scratch })))
}

struct Referred {
    reference: Box<dyn Reference>,
    events: Vec<Vec<Pair>>,
    scratch: ReferenceScratch,
}

impl Subject for Referred {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        self.reference.matches(&self.events[event], &mut self.scratch, found);
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
