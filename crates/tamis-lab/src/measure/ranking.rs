//! The engine's matchers, ranking.

use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tamis::Event;
use tamis::event::Attributes;
use tamis::index::{MatchScratch, Snapshot};
use tamis::matcher::Pruning;
use tamis::rank::EventWeights;

use super::Built;
use super::clock::Subject;
use super::engine;
use super::expressions::Setting;
use super::options;
use crate::workload::{Named, Parameters, read};

/// Ranking options.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct RankingOptions {
    /// The number of results; by default all matches, without scores.
    pub top: Option<usize>,
    pruning: PruningName,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum PruningName {
    None,
    Paper,
    #[default]
    Tight,
}

impl Parameters for RankingOptions {
    fn check(&self) -> Result<(), String> {
        match self.top {
            Some(0) => Err("top must be at least 1, or null for all matches without scores".to_owned()),
            _ => Ok(()),
        }
    }
}

/// The ranking that a matcher's options request, if any. Rankings always use the default options of
/// the matcher.
pub(super) fn asked(matcher: &str, given: &Named) -> Result<Option<RankingOptions>, String> {
    if given.get("top").is_none_or(|top| top.is_null()) {
        return Ok(None);
    }
    let (usual, mut asked) = (options::options(matcher), Named::new());
    for (name, value) in given {
        if ["top", "pruning"].contains(&&**name) || !usual.contains_key(name) {
            asked.insert(name.clone(), value.clone());
        } else if usual.get(name) != Some(value) {
            return Err(format!("rankings use the default options of {matcher}, not {name}: {value}"));
        }
    }
    read("option", RankingOptions::default(), &asked).map(Some)
}

/// Builds an index that ranks.
pub(super) fn build(name: &str, options: RankingOptions, mut setting: Setting<'_>) -> Result<Built, String> {
    let algorithm = tamis_papers::algorithm(name).unwrap_or_default();
    let begun = Instant::now();
    let index = engine::index(algorithm, &mut setting)?;
    let seconds = begun.elapsed().as_secs_f64();
    let snapshot = index.snapshot();
    let events = setting.measured(snapshot.attributes());
    let weigh = |(number, event): (u64, Event)| {
        let weights = weigh(&event, number, snapshot.attributes());
        (event, weights)
    };
    let events = (0..).zip(events).map(weigh).collect();
    let mut scratch = MatchScratch::default();
    scratch.set_pruning(match options.pruning {
        PruningName::None => Pruning::None,
        PruningName::Paper => Pruning::Paper,
        PruningName::Tight => Pruning::Tight,
    });
    let bytes = snapshot.stats().matching_bytes;
    let top = options.top.unwrap_or(usize::MAX);
    Ok(Built::new(seconds, bytes, Box::new(Ranked { top, snapshot, events, scratch })))
}

/// A weight from 0 to 1 for every attribute of an event, as in section 7 of Whang et al. 2009.
pub fn weigh(event: &Event, number: u64, attributes: &Attributes) -> EventWeights {
    let mut weights = EventWeights::default();
    for (attribute, _) in event.iter() {
        // Mix the name, not the number, which depends on the order in which threads meet the
        // attributes.
        let name = attributes.name(attribute).unwrap_or_default();
        let mix = |mixed: u64, byte: u8| (mixed ^ u64::from(byte)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let weight = (name.bytes().fold(number, mix) >> 54) as f64 / 1024.0;
        weights.set(attributes, &name, None, weight).expect("a weight is never negative");
    }
    weights
}

struct Ranked {
    top: usize,
    snapshot: Arc<Snapshot>,
    events: Vec<(Event, EventWeights)>,
    scratch: MatchScratch,
}

impl Subject for Ranked {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        let (event, weights) = &self.events[event];
        let best = self.snapshot.top(event, self.top, weights, &mut self.scratch);
        found.extend(best.expect("the index is in memory").into_iter().map(|(id, _)| engine::number(id)));
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        engine::counters(&self.scratch.take_counters())
    }
}
