//! How likely is a literal to be true?
//!
//! Estimated from a sample of events where there is one, and from the expressions themselves where
//! there is none: a pair that many expressions ask about is taken to be frequent, which also keeps
//! the entries of one pair few.

use super::term::{Tag, Term, Terms};
use crate::event::{Event, Presence};

/// How much the expressions count beside the sampled events.
const PRIOR: f64 = 2.0;

/// Chances of pairs and attributes.
#[derive(Debug)]
pub(super) struct Estimates {
    keys: Vec<f64>,
    attributes: Vec<f64>,
}

impl Estimates {
    /// Estimates for the terms' own numbering of keys and attributes. `uses` says how many
    /// operators and expressions use each term; `local` the attributes' numbers here.
    pub fn new(terms: &Terms, uses: &[u32], sample: &[Event], local: &[u32]) -> Estimates {
        let mut keys = vec![0.0; terms.keys.list.len()];
        let mut attributes = vec![0.0; terms.names().len() + 1];
        let mut total = 0.0;
        for (term, &uses) in uses.iter().enumerate() {
            let term = terms.get(term as u32);
            if matches!(term.tag, Tag::Constant | Tag::And | Tag::Or) {
                continue;
            }
            attributes[term.attribute() as usize] += f64::from(uses);
            total += f64::from(uses);
            if term.tag == Tag::Keys && !term.negated {
                let share = f64::from(uses) / term.payload().len().max(1) as f64;
                term.payload().iter().for_each(|&key| keys[key as usize] += share);
            }
        }
        let most = attributes.iter().copied().fold(1.0, f64::max);
        for key in &mut keys {
            *key = (*key / f64::max(total, 1.0)).sqrt().min(0.5);
        }
        for attribute in &mut attributes {
            *attribute = (*attribute / most).sqrt().clamp(0.01, 0.9);
        }
        if !sample.is_empty() {
            Self::count(terms, sample, local, &mut keys, &mut attributes);
        }
        Estimates { keys, attributes }
    }

    /// Replaces the estimates by frequencies in the sample, with the estimates as a prior.
    fn count(terms: &Terms, sample: &[Event], local: &[u32], keys: &mut [f64], attributes: &mut [f64]) {
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
                    if let Some(key) = terms.keys.find(attribute, value) {
                        keys[key as usize] += 1.0;
                    }
                }
            }
        }
        keys.iter_mut().for_each(|key| *key /= total);
        attributes.iter_mut().for_each(|attribute| *attribute /= total);
    }

    /// The chance that a literal is true.
    pub fn literal(&self, term: Term<'_>) -> f64 {
        let present = self.attributes[term.attribute() as usize].min(1.0);
        let positive = match term.tag {
            Tag::Keys => {
                let sum: f64 = term.payload().iter().map(|&key| self.keys[key as usize]).sum();
                sum.min(present)
            }
            Tag::Range => 0.4 * present,
            Tag::Pattern => 0.2 * present,
            _ => present,
        };
        if term.negated { (present - positive).max(0.0) } else { positive }
    }
}
