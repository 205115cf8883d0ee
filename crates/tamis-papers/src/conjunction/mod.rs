//! Which of many conjunctions of signed predicates does an event satisfy?
//!
//! The Conjunction algorithm of Whang et al. 2009 (section 3, Alg. 1), shared by the matchers that
//! split expressions into conjunctions. The size of a conjunction is the number of its *distinct*
//! predicates that need a key of the event. An id in enough lists is a candidate. It is satisfied
//! if its entries cover all its predicates and include no negated one. Counting entries instead
//! would be wrong: two values of a list may satisfy one predicate, and one value two.

use std::collections::HashMap;
use std::ops::Range;

use crate::postings::{
    Hit, PostingScratch, Postings, PostingsBuilder, Role, RoleKind, Sense, SignedPredicateId,
};
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::NormalForm;
use tamis::matcher::Counters;
use tamis::matcher::extend::Stamped;

/// The number of a conjunction.
pub(crate) type ConjunctionId = u32;

/// A signed predicate of a conjunction, and how often it counts towards the score.
pub(crate) type Factor = (SignedPredicateId, u32);

/// Collects conjunctions.
#[derive(Debug)]
pub(crate) struct ConjunctionBuilder<'a> {
    postings: PostingsBuilder<'a>,
    ids: Option<HashMap<Box<[Factor]>, ConjunctionId, ahash::RandomState>>,
    /// By conjunction: its size.
    sizes: Vec<u32>,
}

impl<'a> ConjunctionBuilder<'a> {
    /// With `share`, equal conjunctions get the same number. Otherwise every inserted one gets the
    /// next number.
    pub fn new(attributes: &'a Attributes, missing: Missing, share: bool) -> ConjunctionBuilder<'a> {
        let postings = PostingsBuilder::new(attributes, missing);
        ConjunctionBuilder { postings, ids: share.then(HashMap::default), sizes: Vec::new() }
    }

    /// The number of each signed predicate of a form, by position.
    pub fn signed_predicates(&mut self, form: &NormalForm) -> Vec<SignedPredicateId> {
        self.postings.signed_predicates(form)
    }

    /// The number of the conjunction of these signed predicates, each given once, in the order of their normal
    /// form, which is the same for equal ones. The conjunction of none is always true. The index numbers
    /// conjunctions otherwise.
    pub fn insert(&mut self, factors: Vec<Factor>) -> ConjunctionId {
        let id = self.sizes.len() as ConjunctionId;
        if let Some(ids) = &mut self.ids {
            if let Some(&known) = ids.get(&factors[..]) {
                return known;
            }
            ids.insert(factors.clone().into(), id);
        }
        let size = self.enter(id, &factors);
        self.sizes.push(size);
        id
    }

    /// Enters a conjunction and returns its size.
    fn enter(&mut self, id: ConjunctionId, factors: &[Factor]) -> u32 {
        let postings = &mut self.postings;
        // Guards for negations that require a value of their attribute, unless another predicate
        // implies it.
        let signed_predicates = factors.iter().map(|&(signed, _)| postings.signed_predicate(signed));
        let mut implied: Vec<u32> = signed_predicates.clone().filter_map(|signed| signed.implies).collect();
        implied.sort_unstable();
        let mut guards: Vec<u32> = signed_predicates
            .filter_map(|signed| match signed.sense {
                Sense::Guarded(attribute) if implied.binary_search(&attribute).is_err() => Some(attribute),
                _ => None,
            })
            .collect();
        guards.sort_unstable();
        guards.dedup();
        let is_positive =
            |&&(signed, _): &&Factor| postings.signed_predicate(signed).sense == Sense::Positive;
        let positive = factors.iter().filter(is_positive).count();
        let size = (positive + guards.len()) as u32;
        let mut number = 0;
        for &(signed, times) in factors {
            let role = match postings.signed_predicate(signed).sense {
                Sense::Positive => {
                    number += 1;
                    Role::new(RoleKind::Positive, number - 1)
                }
                _ => Role::new(RoleKind::Negative, 0),
            };
            postings.enter(id, size, signed, role, f64::from(times));
        }
        for (guard, number) in guards.into_iter().zip(number..) {
            postings.enter_value(id, size, guard, Role::new(RoleKind::Positive, number));
        }
        if size == 0 {
            postings.enter_always(id, size, Role::new(RoleKind::Positive, 0));
        }
        size
    }

    /// Lays the index out; `boost` multiplies all weights of a conjunction. Conjunctions are numbered by size, and
    /// within a size in the order of their insertion: also returns the number of each by the one that
    /// [`insert`](Self::insert) gave it.
    pub fn finish(self, boost: impl Fn(ConjunctionId) -> f64) -> (ConjunctionIndex, Vec<ConjunctionId>) {
        let ConjunctionBuilder { mut postings, sizes, .. } = self;
        let mut order: Vec<ConjunctionId> = (0..sizes.len() as ConjunctionId).collect();
        order.sort_by_key(|&inserted| sizes[inserted as usize]);
        let mut numbers = vec![0; sizes.len()];
        (0..).zip(&order).for_each(|(number, &inserted)| numbers[inserted as usize] = number);
        postings.renumber(&numbers);
        let postings = postings.finish(|number| boost(order[number as usize]));
        let below = |size: u32| order.partition_point(|&inserted| sizes[inserted as usize] < size) as u32;
        let ranges = (0..postings.sizes()).map(|rank| postings.size(rank));
        let ranges = ranges.map(|size| below(size)..below(size.saturating_add(1))).collect();
        (ConjunctionIndex { postings, conjunctions: sizes.len() as u32, ranges }, numbers)
    }
}

/// Conjunctions by their keys.
#[derive(Debug)]
pub(crate) struct ConjunctionIndex {
    postings: Postings,
    conjunctions: u32,
    /// By the rank of a size: its conjunctions.
    ranges: Vec<Range<ConjunctionId>>,
}

/// Working memory of a search.
#[derive(Debug, Default)]
pub(crate) struct ConjunctionScratch {
    pub postings: PostingScratch,
    /// The numbers of the candidate's predicates seen so far.
    named: Stamped,
    /// By predicate number: its best entry.
    best: Vec<f64>,
}

impl ConjunctionIndex {
    /// The number of conjunctions.
    pub fn len(&self) -> usize {
        self.conjunctions as usize
    }

    /// The conjunctions of a size.
    pub fn of_size(&self, rank: usize) -> Range<ConjunctionId> {
        self.ranges[rank].clone()
    }

    pub fn postings(&self) -> &Postings {
        &self.postings
    }

    /// Calls `found` once with every conjunction that the event satisfies: by size from the largest
    /// to the smallest, ascending within a size. Small sizes are gathered; large ones, and all of
    /// them without skipping, are walked.
    pub fn find(
        &self,
        event: &Event,
        scratch: &mut ConjunctionScratch,
        mut found: impl FnMut(ConjunctionId),
    ) {
        self.postings.begin(event, &mut scratch.postings);
        for rank in (0..self.postings.sizes()).rev() {
            if !scratch.postings.without_skipping
                && self.postings.gather(rank, self.of_size(rank), &mut scratch.postings, &mut found)
            {
                continue;
            }
            let mut least = 0;
            while let Some(id) = self.next(rank, least, 0.0, scratch) {
                found(id);
                least = id + 1;
            }
        }
    }

    /// The next satisfied conjunction of a size, with a number of at least `least` and lists whose
    /// bounds add up to at least `threshold`.
    pub fn next(
        &self,
        rank: usize,
        least: ConjunctionId,
        threshold: f64,
        scratch: &mut ConjunctionScratch,
    ) -> Option<ConjunctionId> {
        let ConjunctionScratch { postings, named, .. } = scratch;
        let PostingScratch { walks, hits, counters, without_skipping, .. } = postings;
        let walk = &mut walks[rank];
        let needed = walk.needed();
        loop {
            let id = walk.next(&self.postings, least, threshold, hits, counters, !*without_skipping)?;
            if self.satisfied(needed, hits, named) {
                return Some(id);
            }
        }
    }

    /// Whether the entries of a candidate cover all its predicates and include no negated one.
    fn satisfied(&self, needed: usize, hits: &[Hit], named: &mut Stamped) -> bool {
        named.begin(needed);
        let mut count = 0;
        for hit in hits {
            let role = self.postings.role(hit.entry);
            if role.kind() == RoleKind::Negative {
                return false;
            }
            count += usize::from(named.insert(role.number()));
        }
        count == needed
    }
}

impl ConjunctionIndex {
    /// An upper bound of the score of the conjunction found last: the sum of the best entries of
    /// its predicates, in the order in which a score is summed.
    pub fn worth(&self, scratch: &mut ConjunctionScratch) -> f64 {
        let ConjunctionScratch { postings, best, .. } = scratch;
        best.clear();
        for &hit in &postings.hits {
            let number = self.postings.role(hit.entry).number();
            best.resize(best.len().max(number + 1), 0.0);
            best[number] = self.postings.worth(hit).max(best[number]);
        }
        best.iter().sum()
    }
}

impl ConjunctionScratch {
    pub fn counters(&mut self) -> &mut Counters {
        &mut self.postings.counters
    }
}
