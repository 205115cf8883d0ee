//! Translation (Ji & Jacobsen 2021, sections 2.4 and 6.4): translates expressions into conjunctions
//! first.
//!
//! The paper matches them with its authors' PSTBloom and says only that it was the best of those
//! they tried. As a substitute, a conjunction is stored here under its most selective predicate
//! with a signature of its other positive ones. A Bloom filter of the true predicates rejects most
//! candidates before any of their predicates is tested. Equal conjunctions are stored once.

use std::collections::HashMap;

use tamis::Event;
use tamis::matcher::Slot;

use super::conjunctions::Conjunctions;
use super::predicates::{Basic, Predicates};
use super::propagation::access;
use super::{Comparator, Input, Lists, Refused, Work};

/// Conjunctions by one predicate and a signature of the others.
#[derive(Debug)]
pub struct Translation {
    predicates: Predicates,
    /// Conjunctions by access predicate; the last list has those without one.
    entries: Lists<Entry>,
    others: Lists<Basic>,
    /// The expressions of every conjunction.
    slots: Lists<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    signature: u64,
    conjunction: u32,
}

/// The bit of a predicate in a signature.
fn bit(predicate: u32) -> u64 {
    1 << (predicate.wrapping_mul(0x9e37_79b9) >> 26)
}

impl Translation {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Translation, Refused> {
        let Conjunctions { predicates, all, slots } = Conjunctions::new(input)?;
        let frequencies = predicates.frequencies(input.sample);
        let mut numbers: HashMap<&[Basic], u32> = HashMap::new();
        let (mut entries, mut others, mut owners) = (Vec::new(), Vec::new(), Vec::new());
        for (basics, &slot) in all.iter().zip(&slots) {
            let next = numbers.len() as u32;
            let number = *numbers.entry(basics).or_insert(next);
            owners.push((number, slot));
            if number < next {
                continue;
            }
            let access = access(basics, &frequencies);
            let rest = basics.iter().filter(|basic| Some(**basic) != access);
            let positive = rest.clone().filter(|basic| !basic.negated());
            let signature = positive.fold(0, |signature, basic| signature | bit(basic.predicate()));
            let key = access.map_or(predicates.len() as u32, Basic::predicate);
            entries.push((key, Entry { signature, conjunction: number }));
            others.extend(rest.map(|&basic| (number, basic)));
        }
        let conjunctions = numbers.len();
        Ok(Translation {
            entries: Lists::new(predicates.len() + 1, &entries),
            others: Lists::new(conjunctions, &others),
            slots: Lists::new(conjunctions, &owners),
            predicates,
        })
    }
}

impl Comparator for Translation {
    fn name(&self) -> &'static str {
        "translation"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let first = found.len();
        let Work { held, counters, .. } = work;
        self.predicates.find(event, held);
        let filter = held.members().iter().fold(0, |filter, &predicate| filter | bit(predicate));
        let always = self.predicates.len() as u32;
        for &predicate in held.members().iter().chain(&[always]) {
            for entry in self.entries.of(predicate) {
                counters.entries += 1;
                if entry.signature & !filter != 0 {
                    continue;
                }
                counters.candidates += 1;
                let holds = |basic: &Basic| {
                    counters.nodes += 1;
                    basic.holds(held)
                };
                if self.others.of(entry.conjunction).iter().all(holds) {
                    found.extend_from_slice(self.slots.of(entry.conjunction));
                }
            }
        }
        super::trees::ascending(found, first);
    }

    fn bytes(&self) -> usize {
        self.predicates.bytes() + self.entries.bytes() + self.others.bytes() + self.slots.bytes()
    }
}
