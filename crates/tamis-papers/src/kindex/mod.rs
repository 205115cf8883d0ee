//! The K-index of Whang et al. 2009 (section 3): expressions by the conjunctions of their disjunctive form.
//!
//! Other expressions are converted to this form. If that would take more signed predicates than
//! [`KIndexOptions::normal_form`] allows, the expression is evaluated on every event instead; an
//! [`Index`](tamis::Index) rejects it.

mod cursor;

#[cfg(test)]
mod tests;

pub use cursor::KIndexCursor;

use crate::conjunction::{ConjunctionBuilder, ConjunctionIndex};
use crate::fallback::Fallback;
use crate::postings::threshold;
use crate::scratch::Working;
use tamis::Limits;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::distribute::{Outer, distribute, is_in_form};
use tamis::expression::{Expression, normalise, resolve};
use tamis::matcher::Pruning;
use tamis::matcher::extend::{Cursor, Ranked, Visit, csr};
use tamis::matcher::{Matcher, Scratch, Slot};
use tamis::rank::{EventWeights, is_coarse};

/// Options of a [`KIndex`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KIndexOptions {
    /// Whether equal conjunctions of several expressions are stored once. Otherwise the
    /// conjunctions of a size are in slot order, and a [`KIndexCursor`] can skip.
    pub share: bool,
    /// The maximum number of signed predicates in the disjunctive form of an expression.
    pub normal_form: usize,
}

impl Default for KIndexOptions {
    fn default() -> Self {
        KIndexOptions { share: true, normal_form: Limits::default().normal_form }
    }
}

/// Expressions by their conjunctions.
#[derive(Debug)]
pub struct KIndex {
    conjunctions: ConjunctionIndex,
    share: bool,
    /// How many expressions there are.
    expressions: u32,
    /// Where the slots of each conjunction begin.
    starts: Vec<u32>,
    slots: Vec<Slot>,
    /// By conjunction: the highest boost of its slots; empty if all are 1.
    boosts: Vec<f64>,
    /// Whether sums of weights are exact in any order.
    coarse: bool,
    /// Whether every expression was already in disjunctive form. Then the bound of a conjunction is
    /// summed in the same order as its score and is never lower.
    native: bool,
    /// The expressions that are evaluated.
    fallback: Fallback,
}

impl KIndex {
    /// Compiles expressions, whose slots are their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        options: KIndexOptions,
    ) -> KIndex {
        KIndex::with_boosts(expressions, |_| 1.0, attributes, missing, options)
    }

    /// The same, with a boost per expression.
    pub(crate) fn with_boosts<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        boost: impl Fn(Slot) -> f64,
        attributes: &Attributes,
        missing: Missing,
        options: KIndexOptions,
    ) -> KIndex {
        let mut builder = ConjunctionBuilder::new(attributes, missing, options.share);
        let mut pairs = Vec::new();
        let mut refused = Vec::new();
        let (mut count, mut conjunctions, mut native) = (0, 0, true);
        for (slot, expression) in (0..).zip(expressions) {
            count = slot + 1;
            let form = normalise(&resolve(expression, attributes.time_zone()));
            let Ok(clauses) = distribute(&form, Outer::Or, options.normal_form) else {
                refused.push((slot, expression));
                continue;
            };
            native &= is_in_form(&form, Outer::Or);
            let signed_predicates = builder.signed_predicates(&form);
            for clause in clauses {
                let factors =
                    clause.iter().map(|term| (signed_predicates[term.predicate as usize], term.times));
                let conjunction = builder.insert(factors.collect());
                conjunctions = conjunctions.max(conjunction + 1);
                pairs.push((conjunction, slot));
            }
        }
        let mut inserted = vec![0.0f64; conjunctions as usize];
        for &(conjunction, slot) in &pairs {
            let most = &mut inserted[conjunction as usize];
            *most = most.max(boost(slot));
        }
        let (conjunctions, numbers) = builder.finish(|conjunction| inserted[conjunction as usize]);
        let mut boosts = vec![0.0f64; conjunctions.len()];
        numbers.iter().zip(inserted).for_each(|(&number, boost)| boosts[number as usize] = boost);
        pairs.iter_mut().for_each(|(conjunction, _)| *conjunction = numbers[*conjunction as usize]);
        pairs.sort_unstable();
        pairs.dedup();
        let starts = csr::starts(conjunctions.len(), pairs.iter().map(|&(conjunction, _)| conjunction));
        KIndex {
            native,
            coarse: conjunctions.postings().is_coarse() && boosts.iter().copied().all(is_coarse),
            conjunctions,
            share: options.share,
            expressions: count,
            starts,
            slots: pairs.into_iter().map(|(_, slot)| slot).collect(),
            boosts: if boosts.iter().all(|boost| *boost == 1.0) { Vec::new() } else { boosts },
            fallback: Fallback::new(&refused, attributes, missing),
        }
    }

    fn slots_of(&self, conjunction: u32) -> &[Slot] {
        &self.slots[csr::range(&self.starts, conjunction)]
    }

    /// How many expressions are evaluated on every event, because their form would be too large.
    pub fn scanned(&self) -> usize {
        self.fallback.len()
    }

    /// The number of distinct conjunctions.
    pub fn conjunctions(&self) -> usize {
        self.conjunctions.len()
    }
}

impl Matcher for KIndex {
    fn name(&self) -> &'static str {
        "kindex"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        self.fallback.matches(event, scratch, found);
        let Working { conjunction, slots, .. } = Working::of(scratch);
        // Empty unless the match before was cut short by a damaged file.
        slots.clear();
        slots.grow(self.expressions as usize);
        found.drain(first..).for_each(|slot| slots.insert(slot));
        self.conjunctions.find(event, conjunction, |conjunction| {
            self.slots_of(conjunction).iter().for_each(|&slot| slots.insert(slot));
        });
        slots.drain(|slot| found.push(slot));
    }

    fn ranked(&self) -> Option<&dyn Ranked> {
        Some(self)
    }

    fn cursor<'a>(&'a self, event: &Event, scratch: &'a mut Scratch) -> Box<dyn Cursor + 'a> {
        Box::new(KIndex::cursor(self, event, scratch))
    }

    fn bytes(&self) -> usize {
        let words = self.starts.len() + self.slots.len();
        self.conjunctions.postings().bytes() + 4 * words + 8 * self.boosts.len() + self.fallback.bytes()
    }
}

impl Ranked for KIndex {
    fn rank(&self, event: &Event, weights: &EventWeights, scratch: &mut Scratch, visit: &mut dyn Visit) {
        self.fallback.rank(event, scratch, visit);
        let (pruning, scratch) = (scratch.pruning(), Working::of(scratch));
        let coarse = self.coarse && weights.is_coarse();
        let threshold = |visit: &dyn Visit, slot: Slot| threshold(visit, slot, pruning, coarse);
        let (conjunctions, scratch) = (&self.conjunctions, &mut scratch.conjunction);
        conjunctions.postings().begin_ranking(event, weights, pruning, &mut scratch.postings);
        for rank in (0..conjunctions.postings().sizes()).rev() {
            let (mut least, mut least_score) = (0, threshold(visit, 0));
            // The second pruning rule: nothing of this size can be among the best.
            if scratch.postings.walks[rank].bound() < least_score {
                scratch.counters().sizes_skipped += 1;
                continue;
            }
            while let Some(conjunction) = conjunctions.next(rank, least, least_score, scratch) {
                least = conjunction + 1;
                let boost = self.boosts.get(conjunction as usize).copied().unwrap_or(1.0);
                let worth = match pruning {
                    Pruning::Tight => conjunctions.worth(scratch) * boost,
                    _ => f64::INFINITY,
                };
                for &slot in self.slots_of(conjunction) {
                    // If a slot cannot reach its threshold, later ones cannot either.
                    let bar = if self.native { visit.threshold(slot) } else { threshold(visit, slot) };
                    if worth < bar {
                        break;
                    }
                    visit.visit(slot);
                }
                // Conjunctions of one size are numbered in the order of their first slots.
                let next = self.slots.get(self.starts[least as usize] as usize).copied();
                least_score = threshold(visit, next.unwrap_or(Slot::MAX));
            }
        }
    }
}
