//! Which ids are in as many lists as their size requires?
//!
//! The skipping of Whang et al. 2009 (Alg. 1, after WAND): with the lists sorted by their current
//! entries, the list at position K - 1 has the first id that can be in K lists, and the lists
//! before it skip to that id. With a threshold, the bounds of the lists up to the pivot must also
//! add up to it, which is the first pruning rule of section 5.
//!
//! Departures from the paper: the lists are in a heap instead of being sorted again; the pivot
//! advances until the bounds reach the threshold, as in WAND, whereas the paper advances by one id.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::gather::GatherScratch;
use super::{Postings, Role};
use crate::predicates::PredicateScratch;
use tamis::event::Event;
use tamis::matcher::extend::Visit;
use tamis::matcher::extend::csr::gallop;
use tamis::matcher::{Counters, Pruning, Slot};
use tamis::rank::{EventWeights, with_slack};

/// Working memory of a walk.
#[derive(Debug, Default)]
pub(crate) struct PostingScratch {
    predicates: PredicateScratch,
    /// By the rank of their size.
    pub walks: Vec<Walk>,
    pub hits: Vec<Hit>,
    pub counters: Counters,
    pub gathered: GatherScratch,
    /// Whether lists are read entry by entry, for comparison.
    pub without_skipping: bool,
}

/// A list and its current entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Current {
    pub entry: u32,
    pub end: u32,
    /// An upper bound of the contribution of its entries to the score.
    bound: f64,
    /// An upper bound of the event's weight for the key.
    weight: f64,
}

impl Current {
    /// How many entries are left.
    pub fn len(&self) -> usize {
        (self.end - self.entry) as usize
    }
}

/// An entry of an id that was found. In what order the entries of an id come is left open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hit {
    /// Its position among all entries.
    pub entry: u32,
    /// An upper bound of the event's weight for its key.
    pub weight: f64,
}

/// The lists of one size, with their current entries.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// The number of lists that an id must be in.
    pub(super) needed: usize,
    pub(super) lists: Vec<Current>,
    /// The ids of current entries with their lists.
    heap: BinaryHeap<Reverse<(u32, u32)>>,
    taken: Vec<(u32, u32)>,
    started: bool,
}

impl Postings {
    /// Finds the lists of the event's keys.
    pub fn begin(&self, event: &Event, scratch: &mut PostingScratch) {
        self.begin_ranking(event, &EventWeights::default(), Pruning::None, scratch);
    }

    /// The same, with bounds on the lists' contributions to a score.
    pub fn begin_ranking(
        &self,
        event: &Event,
        weights: &EventWeights,
        pruning: Pruning,
        scratch: &mut PostingScratch,
    ) {
        let PostingScratch { predicates, walks, counters, .. } = scratch;
        if walks.len() < self.sizes.len() {
            walks.resize_with(self.sizes.len(), Walk::default);
        }
        for (walk, &size) in walks.iter_mut().zip(&self.sizes) {
            walk.needed = size.max(1) as usize;
            walk.lists.clear();
            walk.heap.clear();
            walk.started = false;
        }
        self.keys.find(event, predicates, |key| {
            let lists = self.lists_of(key);
            counters.lists += lists.len() as u64;
            if lists.len() == 0 {
                return;
            }
            let weight = self.keys.weight(key, weights);
            for (list, end) in lists {
                let bound = match pruning {
                    // Lists of negated predicates only do not score, for any key.
                    Pruning::Paper if list.bound > 0.0 => self.bounds[key as usize],
                    _ => list.bound.into(),
                };
                let bound = (bound * weight).min(f64::MAX);
                walks[list.rank as usize].lists.push(Current { entry: list.start, end, bound, weight });
            }
        });
    }

    /// The number of distinct sizes.
    pub fn sizes(&self) -> usize {
        self.sizes.len()
    }

    /// The size of a rank.
    pub fn size(&self, rank: usize) -> u32 {
        self.sizes[rank]
    }

    /// The meaning of an entry for its id.
    pub fn role(&self, entry: u32) -> Role {
        self.roles.get(entry)
    }
}

impl Walk {
    /// The number of lists that an id must be in.
    pub fn needed(&self) -> usize {
        self.needed
    }

    /// The next id from `least` on that is in enough lists, whose bounds add up to at least
    /// `threshold`; its entries are stored as hits. The walk continues after it.
    pub fn next(
        &mut self,
        postings: &Postings,
        least: u32,
        threshold: f64,
        hits: &mut Vec<Hit>,
        counters: &mut Counters,
        skipping: bool,
    ) -> Option<u32> {
        if self.lists.len() < self.needed {
            return None;
        }
        if !self.started {
            self.started = true;
            counters.entries += self.lists.len() as u64;
            let first = self.lists.iter().zip(0..);
            let first = first.map(|(list, number)| Reverse((postings.ids[list.entry as usize], number)));
            self.heap.extend(first);
        }
        loop {
            self.taken.clear();
            let mut worth = 0.0;
            while self.taken.len() < self.needed || worth < threshold {
                let Reverse((id, list)) = self.heap.pop()?;
                worth += self.lists[list as usize].bound;
                self.taken.push((id, list));
            }
            let pivot = self.taken[self.taken.len() - 1].0.max(least);
            if self.taken[0].0 == pivot {
                while let Some(&Reverse((id, list))) = self.heap.peek()
                    && id == pivot
                {
                    self.heap.pop();
                    self.taken.push((id, list));
                }
                hits.clear();
                for position in 0..self.taken.len() {
                    let list = self.taken[position].1;
                    let Current { entry, weight, .. } = self.lists[list as usize];
                    hits.push(Hit { entry, weight });
                    self.skip(postings, list, pivot.saturating_add(1), counters, skipping);
                }
                counters.candidates += 1;
                return Some(pivot);
            }
            for position in 0..self.taken.len() {
                let (id, list) = self.taken[position];
                match id < pivot {
                    true => self.skip(postings, list, pivot, counters, skipping),
                    false => self.heap.push(Reverse((id, list))),
                }
            }
        }
    }

    /// An upper bound of the scores of this size: the sum of the highest bounds, as many as an id
    /// needs lists (the second pruning rule of section 5).
    pub fn bound(&self) -> f64 {
        let mut bounds: Vec<f64> = self.lists.iter().map(|list| list.bound).collect();
        bounds.sort_unstable_by(|a, b| b.total_cmp(a));
        bounds.iter().take(self.needed).sum()
    }

    /// Moves a list to its first entry with at least this id, and back onto the heap.
    fn skip(&mut self, postings: &Postings, list: u32, id: u32, counters: &mut Counters, skipping: bool) {
        let current = &mut self.lists[list as usize];
        let rest = &postings.ids[current.entry as usize + 1..current.end as usize];
        let (skipped, read) = match skipping {
            true => gallop(rest, id),
            false => {
                let skipped = rest.iter().position(|entry| *entry >= id).unwrap_or(rest.len());
                (skipped, rest.len().min(skipped + 1))
            }
        };
        counters.entries += read as u64;
        current.entry += 1 + skipped as u32;
        if let Some(&next) = rest.get(skipped) {
            self.heap.push(Reverse((next, list)));
        }
    }
}

/// The score that a match in `slot` or later must reach, depending on the pruning and on whether
/// sums are exact.
pub(crate) fn threshold(visit: &dyn Visit, slot: Slot, pruning: Pruning, coarse: bool) -> f64 {
    match pruning {
        Pruning::None => 0.0,
        _ => with_slack(visit.threshold(slot), coarse),
    }
}
