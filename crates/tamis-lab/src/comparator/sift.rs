//! SIFT (Yan & Garcia-Molina 1999), with negation and several values as in Whang et al. 2009, section 7.
//!
//! Every satisfied predicate increments the count of the conjunctions that contain it, and rules
//! out those that contain its negation. A conjunction is true if its count equals its number of
//! positive predicates. Conjunctions without positive predicates are true unless ruled out.

use tamis::Event;
use tamis::matcher::Slot;

use super::conjunctions::Conjunctions;
use super::predicates::Predicates;
use super::{Comparator, Input, Lists, Refused, Work};

/// The counting algorithm.
#[derive(Debug)]
pub struct Sift {
    predicates: Predicates,
    /// By predicate: the conjunction's number times two, plus one if the predicate is negated
    /// there.
    lists: Lists<u32>,
    /// By conjunction: its number of positive predicates, and its expression.
    needed: Vec<u32>,
    slots: Vec<Slot>,
    /// Conjunctions without positive predicates.
    zero: Vec<u32>,
}

/// Added to a count by a predicate that must not hold; no conjunction has this many predicates.
const RULED_OUT: u32 = 1 << 24;

impl Sift {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Sift, Refused> {
        let Conjunctions { predicates, all, slots } = Conjunctions::new(input)?;
        let mut pairs = Vec::new();
        for (number, basics) in (0u32..).zip(&all) {
            let entry = |negated: bool| number << 1 | u32::from(negated);
            pairs.extend(basics.iter().map(|basic| (basic.predicate(), entry(basic.negated()))));
        }
        let positive =
            |basics: &[_]| basics.iter().filter(|basic: &&super::predicates::Basic| !basic.negated()).count();
        let needed: Vec<u32> = all.iter().map(|basics| positive(basics) as u32).collect();
        let zero = (0..).zip(&needed).filter(|(_, needed)| **needed == 0).map(|(number, _)| number).collect();
        Ok(Sift { lists: Lists::new(predicates.len(), &pairs), predicates, needed, slots, zero })
    }
}

impl Comparator for Sift {
    fn name(&self) -> &'static str {
        "sift"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let first = found.len();
        let Work { held, counts, counters, seen, .. } = work;
        self.predicates.find(event, held);
        counts.clear();
        counts.resize(self.needed.len(), 0);
        seen.begin(self.needed.len());
        for &predicate in held.members() {
            let list = self.lists.of(predicate);
            counters.entries += list.len() as u64;
            for &entry in list {
                let conjunction = (entry >> 1) as usize;
                if entry & 1 == 1 {
                    counts[conjunction] += RULED_OUT;
                } else {
                    counts[conjunction] += 1;
                    if counts[conjunction] == self.needed[conjunction] {
                        seen.insert(entry >> 1);
                    }
                }
            }
        }
        // A conjunction may be ruled out after its count was complete, so check the counts at the
        // end.
        let complete = seen.members().iter().chain(&self.zero);
        for &conjunction in complete {
            counters.candidates += 1;
            if counts[conjunction as usize] == self.needed[conjunction as usize] {
                found.push(self.slots[conjunction as usize]);
            }
        }
        super::trees::ascending(found, first);
    }

    fn bytes(&self) -> usize {
        let words = self.needed.len() + self.slots.len() + self.zero.len();
        self.predicates.bytes() + self.lists.bytes() + 4 * words
    }
}
