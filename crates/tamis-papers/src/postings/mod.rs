//! Which ids are in the posting lists of an event's keys, and in how many of them?
//!
//! The inverted index of Whang et al. 2009, sections 3 and 4: ids are partitioned by *size*, the
//! minimum number of keys that an event must have for them to match, and every size has a posting
//! list per key. The caller decides what an id is, a conjunction or a whole expression, and how its
//! entries combine.
//!
//! | file | the question it answers |
//! |---|---|
//! | `keys` | which keys does an event have? |
//! | `dyadic_ranges` | how do many ranges on one attribute become few keys per event? |
//! | `build` | how do entries become lists? |
//! | `entry_columns` | how are the meaning and the weight of an entry stored in few bytes? |
//! | `walk` | which ids are in as many lists as they must be, one after the other? |
//! | `gather` | which are, all at once? |
//!
//! Departures from the paper:
//! - A key is a pair, or any other predicate that the predicate index finds; a set of more than a
//!   few values is one key. "This attribute has a value" is a key too; it replaces the default
//!   values that the paper adds to events for its strong negation.
//! - Repeated entries of an id under one key go to additional lists. The paper does this for
//!   clauses; here conjunctions need it too (`a in (1, 2) and a in (2, 3)`).

mod build;
mod dyadic_ranges;
mod entry_columns;
mod gather;
mod keys;
mod walk;

pub(crate) use build::{PostingsBuilder, Role, RoleKind, Sense, SignedPredicateId};
pub(crate) use walk::{Hit, PostingScratch, threshold};

use entry_columns::{Roles, WeightNumbers};
use keys::Keys;
use tamis::matcher::extend::csr;
use tamis::rank::{COARSE_SUM, is_coarse};

/// The entries of one key for ids of one size, at most one per id, ascending.
#[derive(Debug, Clone, Copy)]
struct List {
    /// Its first entry; the next list begins after its last.
    start: u32,
    /// The position of its size among the distinct sizes.
    rank: u32,
    /// At least the weight of every entry.
    bound: f32,
}

/// Posting lists by key and size.
#[derive(Debug)]
pub(crate) struct Postings {
    keys: Keys,
    /// The start of each key's lists.
    starts: Vec<u32>,
    lists: Vec<List>,
    /// By entry: its id. Searches read ids only, so they are stored separately.
    ids: Vec<u32>,
    /// By entry: its meaning for its id.
    roles: Roles,
    /// By entry: the number of its weight among the distinct weights.
    entry_weights: WeightNumbers,
    /// The distinct weights.
    weights: Vec<f64>,
    /// By key: an upper bound of the weights of its entries of any size (the paper's UB).
    bounds: Vec<f64>,
    /// The distinct sizes, ascending.
    sizes: Vec<u32>,
}

impl Postings {
    /// The lists of a key, with the ends of their entries.
    fn lists_of(&self, key: u32) -> impl ExactSizeIterator<Item = (List, u32)> {
        let range = csr::range(&self.starts, key);
        let end = |list: usize| self.lists.get(list + 1).map_or(self.ids.len() as u32, |next| next.start);
        range.map(move |list| (self.lists[list], end(list)))
    }

    /// The approximate size in bytes, without operands of predicates.
    pub fn bytes(&self) -> usize {
        self.keys.bytes()
            + 4 * self.starts.len()
            + size_of::<List>() * self.lists.len()
            + 4 * self.ids.len()
            + self.roles.size()
            + self.entry_weights.size()
            + 8 * (self.weights.len() + self.bounds.len())
    }

    /// Every list as its size, its key, the key's bound and its entries with what `name` calls their ids, sign and
    /// weight.
    #[cfg(test)]
    pub fn describe(&self, name: impl Fn(u32) -> u32) -> Vec<String> {
        let mut lists = Vec::new();
        for key in 0..self.keys.len() as u32 {
            for (list, end) in self.lists_of(key) {
                let entries = (list.start..end).map(|entry| {
                    let weight = self.weights[self.entry_weights.get(entry)];
                    let id = name(self.ids[entry as usize]);
                    format!("({id}, {}, {weight})", self.roles.get(entry).sign())
                });
                let entries = entries.collect::<Vec<_>>().join(" ");
                let (size, bound) = (self.sizes[list.rank as usize], self.bounds[key as usize]);
                lists.push(format!("{size} {} {bound}: {entries}", self.keys.describe(key)));
            }
        }
        lists.sort();
        lists
    }

    /// Whether sums of weights are exact in any order.
    pub fn is_coarse(&self) -> bool {
        // Weights are at most 1024.
        let low = self.sizes.last().is_none_or(|&size| f64::from(size) * 1024.0 <= COARSE_SUM);
        low && self.weights.iter().copied().all(is_coarse)
    }

    /// An upper bound of an entry's contribution to the score.
    pub fn worth(&self, hit: Hit) -> f64 {
        self.weights[self.entry_weights.get(hit.entry)] * hit.weight
    }
}
