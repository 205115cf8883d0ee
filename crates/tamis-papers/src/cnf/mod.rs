//! The CNF algorithm of Whang et al. 2009, section 4: expressions by the clauses of their
//! conjunctive form.
//!
//! Expressions are not split: an id is a slot, and its size is the number of clauses that need a
//! key of the event. A clause needs none if it has a negated predicate that holds when its
//! attribute is missing. The entries of a candidate show which clauses are satisfied and which
//! negated predicates are violated (Alg. 2).
//!
//! Departures from the paper: violated predicates are recorded instead of counting up from the
//! number of negated predicates, which would count a predicate twice if two values of a list
//! violate it. If a negated predicate requires its attribute to have a value, that is an entry too,
//! so its clause needs a key after all.

#[cfg(test)]
mod tests;

use crate::fallback::Fallback;
use crate::postings::{PostingScratch, Postings, PostingsBuilder, Role, RoleKind, Sense, threshold};
use crate::scratch::Working;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::distribute::{Outer, distribute, is_in_form};
use tamis::expression::{Expression, normalise, resolve};
use tamis::matcher::Pruning;
use tamis::matcher::extend::{Ranked, Stamped, Visit, csr};
use tamis::matcher::{Matcher, Scratch, Slot};
use tamis::rank::{COARSE_SUM, EventWeights, is_coarse};

/// A negated predicate.
#[derive(Debug, Clone, Copy)]
struct Negation {
    clause: u32,
    /// Whether its attribute must have a value.
    guarded: bool,
}

/// Expressions by their clauses.
#[derive(Debug)]
pub struct Cnf {
    postings: Postings,
    /// By slot: the factor of its score.
    boosts: Vec<f64>,
    /// Whether sums of weights are exact in any order.
    coarse: bool,
    /// Whether every expression was already in conjunctive form. Then the bound of a candidate is
    /// summed in the same order as its score and is never lower.
    native: bool,
    /// By slot: its number of clauses.
    clauses: Vec<u32>,
    /// The start of each slot's negated predicates.
    starts: Vec<u32>,
    negations: Vec<Negation>,
    /// Expressions that are evaluated on every event.
    fallback: Fallback,
}

/// Scratch memory of a match, reset for every candidate.
#[derive(Debug, Default)]
pub(crate) struct CnfScratch {
    /// The clauses that are satisfied.
    satisfied: Stamped,
    /// The negated predicates that are violated, and those whose attribute has a value.
    violated: Stamped,
    valued: Stamped,
    /// By clause: its best entry.
    best: Vec<f64>,
}

impl Cnf {
    /// Compiles expressions, whose slots are their positions. If the conjunctive form of one would have more than
    /// `normal_form` signed predicates, the expression is evaluated on every event instead.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        normal_form: usize,
    ) -> Cnf {
        Cnf::with_boosts(expressions, |_| 1.0, attributes, missing, normal_form)
    }

    /// The same, with a boost per expression.
    pub(crate) fn with_boosts<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        boost: impl Fn(Slot) -> f64,
        attributes: &Attributes,
        missing: Missing,
        normal_form: usize,
    ) -> Cnf {
        let mut builder = PostingsBuilder::new(attributes, missing);
        let mut native = true;
        let (mut clauses, mut starts, mut negations) = (Vec::new(), vec![0], Vec::new());
        let mut refused = Vec::new();
        for (slot, expression) in (0..).zip(expressions) {
            let form = normalise(&resolve(expression, attributes.time_zone()));
            match distribute(&form, Outer::And, normal_form) {
                Err(_) => {
                    refused.push((slot, expression));
                    clauses.push(0);
                }
                Ok(found) => {
                    native &= is_in_form(&form, Outer::And);
                    let signed_predicates = builder.signed_predicates(&form);
                    let found = found.iter().map(|clause| {
                        clause
                            .iter()
                            .map(|term| signed_predicates[term.predicate as usize])
                            .collect::<Vec<_>>()
                    });
                    let found: Vec<_> = found.collect();
                    enter(&mut builder, slot, &found, &mut negations);
                    clauses.push(found.len() as u32);
                }
            }
            starts.push(negations.len() as u32);
        }
        let boosts: Vec<f64> = (0..clauses.len() as Slot).map(&boost).collect();
        let postings = builder.finish(&boost);
        Cnf {
            native,
            // Clauses that need no key may also score.
            coarse: postings.is_coarse()
                && boosts.iter().copied().all(is_coarse)
                && clauses.iter().all(|&clauses| f64::from(clauses) * 1024.0 <= COARSE_SUM),
            boosts,
            postings,
            clauses,
            starts,
            negations,
            fallback: Fallback::new(&refused, attributes, missing),
        }
    }

    /// The number of expressions that are evaluated on every event because their normal form would
    /// be too large.
    pub fn scanned(&self) -> usize {
        self.fallback.len()
    }

    /// An upper bound of the score of the slot found last: the sum of the best entries of its
    /// clauses.
    fn worth(&self, scratch: &mut Working) -> f64 {
        let (hits, best) = (&scratch.conjunction.postings.hits, &mut scratch.cnf.best);
        best.clear();
        for &hit in hits {
            let role = self.postings.role(hit.entry);
            if role.kind() == RoleKind::Positive {
                best.resize(best.len().max(role.number() + 1), 0.0);
                best[role.number()] = self.postings.worth(hit).max(best[role.number()]);
            }
        }
        best.iter().sum()
    }

    fn negations_of(&self, slot: Slot) -> &[Negation] {
        &self.negations[csr::range(&self.starts, slot)]
    }

    /// The next satisfied slot of a size.
    fn next(&self, rank: usize, least: Slot, threshold: f64, scratch: &mut Working) -> Option<Slot> {
        let PostingScratch { walks, hits, counters, without_skipping, .. } =
            &mut scratch.conjunction.postings;
        let walk = &mut walks[rank];
        loop {
            let slot = walk.next(&self.postings, least, threshold, hits, counters, !*without_skipping)?;
            let roles = hits.iter().map(|hit| self.postings.role(hit.entry));
            if self.is_satisfied(slot, roles, &mut scratch.cnf) {
                return Some(slot);
            }
        }
    }

    /// Whether the entries of a candidate satisfy all its clauses.
    fn is_satisfied(&self, slot: Slot, roles: impl Iterator<Item = Role>, scratch: &mut CnfScratch) -> bool {
        let (clauses, negations) = (self.clauses[slot as usize], self.negations_of(slot));
        let CnfScratch { satisfied, violated, valued, .. } = scratch;
        satisfied.begin(clauses as usize);
        violated.begin(negations.len());
        valued.begin(negations.len());
        let mut count = 0;
        for role in roles {
            match role.kind() {
                RoleKind::Positive => count += u32::from(satisfied.insert(role.number())),
                RoleKind::Negative => violated.set(role.number(), ()),
                RoleKind::Guard => valued.set(role.number(), ()),
                RoleKind::Always => {}
            }
        }
        for (number, Negation { clause, guarded }) in negations.iter().enumerate() {
            if !violated.contains(number) && (!guarded || valued.contains(number)) {
                count += u32::from(satisfied.insert(*clause as usize));
            }
        }
        count == clauses
    }
}

/// Adds a slot under the keys of its clauses, and lists its negated predicates.
fn enter(builder: &mut PostingsBuilder<'_>, slot: Slot, clauses: &[Vec<u32>], negations: &mut Vec<Negation>) {
    let needs_key = |clause: &&Vec<u32>| {
        clause.iter().all(|&signed| builder.signed_predicate(signed).sense != Sense::Negative)
    };
    let size = clauses.iter().filter(needs_key).count() as u32;
    let mut number = 0;
    for (clause, members) in clauses.iter().enumerate() {
        for &signed in members {
            let sense = builder.signed_predicate(signed).sense;
            if sense == Sense::Positive {
                builder.enter(slot, size, signed, Role::new(RoleKind::Positive, clause), 1.0);
                continue;
            }
            builder.enter(slot, size, signed, Role::new(RoleKind::Negative, number), 0.0);
            if let Sense::Guarded(attribute) = sense {
                builder.enter_value(slot, size, attribute, Role::new(RoleKind::Guard, number));
            }
            negations.push(Negation { clause: clause as u32, guarded: sense != Sense::Negative });
            number += 1;
        }
    }
    if size == 0 {
        builder.enter_always(slot, size, Role::new(RoleKind::Always, 0));
    }
}

impl Matcher for Cnf {
    fn name(&self) -> &'static str {
        "cnf"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        self.fallback.matches(event, scratch, found);
        let scratch = Working::of(scratch);
        self.postings.begin(event, &mut scratch.conjunction.postings);
        for rank in (0..self.postings.sizes()).rev() {
            let mut least = 0;
            while let Some(slot) = self.next(rank, least, 0.0, scratch) {
                found.push(slot);
                least = slot + 1;
            }
        }
        tamis::matcher::extend::ascending(found, first);
    }

    fn ranked(&self) -> Option<&dyn Ranked> {
        Some(self)
    }

    fn bytes(&self) -> usize {
        let words = 3 * self.clauses.len() + self.starts.len() + 2 * self.negations.len();
        self.postings.bytes() + 4 * words + self.fallback.bytes()
    }
}

impl Ranked for Cnf {
    /// The second pruning rule does not apply here: more clauses may score than need a key.
    fn rank(&self, event: &Event, weights: &EventWeights, scratch: &mut Scratch, visit: &mut dyn Visit) {
        self.fallback.rank(event, scratch, visit);
        let (pruning, scratch) = (scratch.pruning(), Working::of(scratch));
        let coarse = self.coarse && weights.is_coarse();
        let threshold = |visit: &dyn Visit, slot: Slot| threshold(visit, slot, pruning, coarse);
        self.postings.begin_ranking(event, weights, pruning, &mut scratch.conjunction.postings);
        for rank in (0..self.postings.sizes()).rev() {
            let mut least = 0;
            while let Some(slot) = self.next(rank, least, threshold(visit, least), scratch) {
                least = slot + 1;
                let worth = match pruning {
                    Pruning::Tight => self.worth(scratch) * self.boosts[slot as usize],
                    _ => f64::INFINITY,
                };
                let bar = if self.native { visit.threshold(slot) } else { threshold(visit, slot) };
                if worth >= bar {
                    visit.visit(slot);
                }
            }
        }
    }
}
