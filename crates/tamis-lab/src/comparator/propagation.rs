//! Le Subscribe's Propagation algorithm (Fabret et al. 2001), with negation as in Whang et al. 2009,
//! section 7.
//!
//! A conjunction is in the cluster of its most selective positive predicate and is examined only when that holds; its
//! other predicates are then tested one by one. Conjunctions without a positive predicate are always examined.

use tamis::Event;
use tamis::matcher::Slot;

use super::conjunctions::Conjunctions;
use super::predicates::{Basic, Predicates};
use super::{Comparator, Input, Lists, Refused, Work};

/// Conjunctions by their most selective predicate.
#[derive(Debug)]
pub struct Propagation {
    predicates: Predicates,
    /// Conjunctions by access predicate; the last list has those without one.
    clusters: Lists<u32>,
    /// The other predicates of every conjunction.
    others: Lists<Basic>,
    slots: Vec<Slot>,
}

impl Propagation {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Propagation, Refused> {
        let Conjunctions { predicates, all, slots } = Conjunctions::new(input)?;
        let frequencies = predicates.frequencies(input.sample);
        let (mut entered, mut others) = (Vec::new(), Vec::new());
        for (number, basics) in (0..).zip(&all) {
            let access = access(basics, &frequencies);
            entered.push((access.map_or(predicates.len() as u32, Basic::predicate), number));
            let rest = basics.iter().filter(|basic| Some(**basic) != access);
            others.extend(rest.map(|&basic| (number, basic)));
        }
        let clusters = Lists::new(predicates.len() + 1, &entered);
        Ok(Propagation { clusters, others: Lists::new(all.len(), &others), predicates, slots })
    }

    /// The cluster of conjunctions that have no positive predicate.
    fn always(&self) -> u32 {
        self.predicates.len() as u32
    }
}

/// The positive predicate least likely to hold.
pub(super) fn access(basics: &[Basic], frequencies: &[f64]) -> Option<Basic> {
    let positive = basics.iter().copied().filter(|basic| !basic.negated());
    let frequency = |basic: &Basic| frequencies[basic.predicate() as usize];
    positive.min_by(|one, other| frequency(one).total_cmp(&frequency(other)))
}

impl Comparator for Propagation {
    fn name(&self) -> &'static str {
        "propagation"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let first = found.len();
        let Work { held, counters, .. } = work;
        self.predicates.find(event, held);
        for &predicate in held.members().iter().chain(&[self.always()]) {
            for &conjunction in self.clusters.of(predicate) {
                counters.entries += 1;
                counters.candidates += 1;
                let holds = |basic: &Basic| {
                    counters.nodes += 1;
                    basic.holds(held)
                };
                if self.others.of(conjunction).iter().all(holds) {
                    found.push(self.slots[conjunction as usize]);
                }
            }
        }
        super::trees::ascending(found, first);
    }

    fn bytes(&self) -> usize {
        self.predicates.bytes() + self.clusters.bytes() + self.others.bytes() + 4 * self.slots.len()
    }
}
