//! How likely is a predicate to be true?
//!
//! Estimated from a sample of events if there is one, otherwise from the expressions themselves: a pair that many
//! expressions test is assumed to be frequent, which also keeps the entry lists of pairs short.

use super::super::columns::patterns::{Patterns, TextScratch};
use super::super::columns::ranges::{Bounds, NO_RANK};
use super::ir::{Ir, Subexpression, Tag};
use crate::event::{Event, Presence};
use crate::value::ValueRef;

/// The weight of the expressions relative to the sampled events.
const PRIOR: f64 = 2.0;
/// The probability of a range if nothing is known about the values.
const RANGE: f64 = 0.4;
/// Patterns are searched for in at most this many bytes of sampled text.
const SAMPLED: usize = 1 << 18;

/// The probabilities of pairs, patterns and attributes. For a pattern that has to be tried, it is the probability of
/// having to try it.
#[derive(Debug)]
pub(in crate::matcher::compiled) struct Estimates {
    keys: Vec<f64>,
    patterns: Vec<f64>,
    attributes: Vec<f64>,
    /// The ranks of the sampled values of every attribute that has ranges, ascending, and the number of sampled
    /// events.
    ranks: Vec<Vec<u32>>,
    events: usize,
}

impl Estimates {
    /// Estimates for the keys and attributes as `ir` numbers them. `uses` has how many operators and expressions use
    /// each subexpression; `local` has this matcher's numbers of the attributes.
    pub fn new(
        ir: &Ir,
        uses: &[u32],
        known: &Patterns,
        bounds: &Bounds,
        sample: &[Event],
        local: &[u32],
    ) -> Estimates {
        let mut keys = vec![0.0; ir.keys.list.len()];
        let mut patterns = vec![0.0; known.len()];
        let mut attributes = vec![0.0; ir.names().len() + 1];
        let mut total = 0.0;
        for (subexpression, &uses) in uses.iter().enumerate() {
            let subexpression = ir.get(subexpression as u32);
            if matches!(subexpression.tag, Tag::Constant | Tag::And | Tag::Or) {
                continue;
            }
            attributes[subexpression.attribute() as usize] += f64::from(uses);
            total += f64::from(uses);
            if subexpression.tag == Tag::Keys && !subexpression.negated {
                let share = f64::from(uses) / subexpression.payload().len().max(1) as f64;
                subexpression.payload().iter().for_each(|&key| keys[key as usize] += share);
            }
            if subexpression.tag == Tag::Pattern {
                patterns[subexpression.payload()[0] as usize] += f64::from(uses);
            }
        }
        let most = attributes.iter().copied().fold(1.0, f64::max);
        for key in &mut keys {
            *key = (*key / f64::max(total, 1.0)).sqrt().min(0.5);
        }
        for attribute in &mut attributes {
            *attribute = (*attribute / most).sqrt().clamp(0.01, 0.9);
        }
        for (pattern, chance) in patterns.iter_mut().enumerate() {
            let asked = (*chance / f64::max(total, 1.0)).sqrt();
            let length = known.text_length(pattern as u32) as f64;
            let present = attributes[known.attribute(pattern as u32) as usize];
            *chance = (asked + 0.2 / (1.0 + length)).min(0.5) * present;
        }
        if !sample.is_empty() {
            Self::count(ir, sample, local, &mut keys, &mut attributes);
            Self::count_patterns(known, sample, local, &mut patterns);
        }
        let ranks = sample_ranks(bounds, sample, local, attributes.len());
        Estimates { keys, patterns, attributes, ranks, events: sample.len() }
    }

    /// Replaces the estimates by frequencies in the sample, with the estimates as a prior.
    fn count(ir: &Ir, sample: &[Event], local: &[u32], keys: &mut [f64], attributes: &mut [f64]) {
        let total = sample.len() as f64 + PRIOR;
        keys.iter_mut().for_each(|key| *key *= PRIOR);
        attributes.iter_mut().for_each(|attribute| *attribute *= PRIOR);
        for event in sample {
            for (global, presence) in event.iter() {
                let attribute = local.get(global as usize).copied().unwrap_or(0);
                let Presence::Values(values) = presence else { continue };
                if attribute == 0 {
                    continue;
                }
                attributes[attribute as usize] += 1.0;
                for value in values {
                    if let Some(key) = ir.keys.find(attribute, value) {
                        keys[key as usize] += 1.0;
                    }
                }
            }
        }
        keys.iter_mut().for_each(|key| *key /= total);
        attributes.iter_mut().for_each(|attribute| *attribute /= total);
    }

    /// Like [`Estimates::count`], for patterns.
    fn count_patterns(known: &Patterns, sample: &[Event], local: &[u32], patterns: &mut [f64]) {
        if known.len() == 0 {
            return;
        }
        patterns.iter_mut().for_each(|pattern| *pattern *= PRIOR);
        let mut scratch = TextScratch::default();
        let (mut bytes, mut events) = (0, 0.0);
        for event in sample {
            if bytes > SAMPLED {
                break;
            }
            events += 1.0;
            for (global, presence) in event.iter() {
                let attribute = local.get(global as usize).copied().unwrap_or(0);
                let Presence::Values(values) = presence else { continue };
                if attribute == 0 || !known.has_literals(attribute) {
                    continue;
                }
                for value in values {
                    let ValueRef::String(text) = value else { continue };
                    bytes += text.len();
                    known.find(attribute, text, &mut scratch);
                    let found = scratch.decided.iter().chain(&scratch.possible);
                    found.for_each(|&pattern| patterns[pattern as usize] += 1.0);
                }
            }
        }
        patterns.iter_mut().for_each(|pattern| *pattern /= events + PRIOR);
    }

    /// The probability that some value of an attribute has a rank in this range.
    fn range(&self, attribute: u32, (first, last): (u32, u32)) -> f64 {
        let ranks = &self.ranks[attribute as usize];
        let below = |rank: u32| ranks.partition_point(|&sampled| sampled < rank);
        let within = below(last.saturating_add(1)).saturating_sub(below(first));
        (PRIOR * RANGE * self.attributes[attribute as usize] + within as f64) / (PRIOR + self.events as f64)
    }

    /// The probability that a predicate is true; `ranks` are those of a range.
    pub fn predicate(&self, subexpression: Subexpression<'_>, ranks: (u32, u32)) -> f64 {
        let present = self.attributes[subexpression.attribute() as usize].min(1.0);
        let positive = match subexpression.tag {
            Tag::Keys => {
                let sum: f64 = subexpression.payload().iter().map(|&key| self.keys[key as usize]).sum();
                sum.min(present)
            }
            Tag::Range => self.range(subexpression.attribute(), ranks).min(present),
            Tag::Pattern => self.patterns[subexpression.payload()[0] as usize].min(present),
            _ => present,
        };
        if subexpression.negated { (present - positive).max(0.0) } else { positive }
    }
}

/// The ranks of sampled values by attribute, ascending; `attributes` is the number of attributes in this matcher.
fn sample_ranks(bounds: &Bounds, sample: &[Event], local: &[u32], attributes: usize) -> Vec<Vec<u32>> {
    let mut ranks = vec![Vec::new(); attributes];
    for (global, presence) in sample.iter().flat_map(Event::iter) {
        let attribute = local.get(global as usize).copied().unwrap_or(0);
        let Presence::Values(values) = presence else { continue };
        if attribute > 0 && bounds.ranks(attribute) > 0 {
            let known = values.map(|value| bounds.rank(attribute, value)).filter(|&rank| rank != NO_RANK);
            ranks[attribute as usize].extend(known);
        }
    }
    ranks.iter_mut().for_each(|ranks| ranks.sort_unstable());
    ranks
}
