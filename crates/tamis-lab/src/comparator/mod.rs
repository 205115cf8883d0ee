//! The algorithms that the papers compare themselves with.
//!
//! These matchers return the same results as the engine's and are used by benchmarks only: they are
//! built once and cannot change. Expressions that would grow too large are errors that carry both
//! numbers.
//!
//! | comparator | after | idea |
//! |---|---|---|
//! | [`Pscan`] | Whang et al. 2009, 7 | evaluates the expressions listed under the event's pairs |
//! | [`Sift`] | Yan & Garcia-Molina 1999 | counts the satisfied predicates of every conjunction |
//! | [`Propagation`] | Fabret et al. 2001 | enters a conjunction by its most selective predicate |
//! | [`DnfExpansion`] | Fontoura et al. 2010, 5.2 | the K-index over disjunctive forms |
//! | [`ScanWithConjunctions`] | Fontoura et al. 2010, 5.2 | evaluates expressions with a true conjunction |
//! | [`Bop`] | Bittner & Hinze 2007 | evaluates expressions with enough satisfied predicates |
//! | [`Bdd`] | Campailla et al. 2001 | one decision diagram of all expressions |
//! | [`Translation`] | Ji & Jacobsen 2021, 6.4 | conjunctions stored under one predicate, with a signature of the others |

mod bdd;
mod bop;
mod conjunctions;
mod dnf_expansion;
mod predicates;
mod propagation;
mod pscan;
mod scan_with_conjunctions;
mod sift;
mod translation;
mod trees;
mod work;

pub use bdd::Bdd;
pub use bop::Bop;
pub use dnf_expansion::DnfExpansion;
pub use propagation::Propagation;
pub use pscan::Pscan;
pub use scan_with_conjunctions::ScanWithConjunctions;
pub use sift::Sift;
pub use translation::Translation;
pub use work::{Counters, Work};

use std::fmt;

use tamis::event::Attributes;
use tamis::matcher::Slot;
use tamis::matcher::extend::csr;
use tamis::{Event, Expression, Missing};

/// A matcher to compare the engine with.
pub trait Comparator {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Appends the slots of the expressions that the event satisfies, ascending.
    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>);

    /// Approximate number of bytes that matching reads.
    fn bytes(&self) -> usize;
}

/// What comparators are built from.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// The expressions, whose slots are their positions.
    pub expressions: &'a [Expression],
    /// The attributes that events are decoded with.
    pub attributes: &'a Attributes,
    /// The truth of a predicate whose attribute the event lacks.
    pub missing: Missing,
    /// Sample events, for comparators that choose by frequency.
    pub sample: &'a [Event],
    /// The maximum number of conjunctions or nodes per expression. All nodes of a decision diagram
    /// together may be a hundred times as many.
    pub most: usize,
}

/// An expression that is too large for a comparator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The expression.
    pub slot: Slot,
    /// What exceeds the limit.
    pub what: &'static str,
    /// The size, or a lower bound of it.
    pub found: usize,
    /// The limit.
    pub allowed: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { slot, what, found, allowed } = self;
        write!(f, "expression {slot} would take {found} {what}, and {allowed} are allowed")
    }
}

impl std::error::Error for Refused {}

/// How a comparator is built.
pub type Build = fn(&Input<'_>) -> Result<Box<dyn Comparator>, Refused>;

/// Every comparator by name.
pub const COMPARATORS: [(&str, Build); 8] = [
    ("pscan", |input| Ok(Box::new(Pscan::new(input)?))),
    ("sift", |input| Ok(Box::new(Sift::new(input)?))),
    ("propagation", |input| Ok(Box::new(Propagation::new(input)?))),
    ("dnf-expansion", |input| Ok(Box::new(DnfExpansion::new(input)?))),
    ("scan-with-conjunctions", |input| Ok(Box::new(ScanWithConjunctions::new(input)?))),
    ("bop", |input| Ok(Box::new(Bop::new(input)?))),
    ("bdd", |input| Ok(Box::new(Bdd::new(input)?))),
    ("translation", |input| Ok(Box::new(Translation::new(input)?))),
];

/// Lists by key, stored contiguously.
#[derive(Debug, Default)]
struct Lists<T> {
    starts: Vec<u32>,
    entries: Vec<T>,
}

impl<T: Copy> Lists<T> {
    /// Groups entries by key, keeping the order within a key.
    fn new(keys: usize, pairs: &[(u32, T)]) -> Lists<T> {
        let of_pairs: Vec<u32> = pairs.iter().map(|(key, _)| *key).collect();
        let (starts, order) = csr::group(keys, &of_pairs);
        let entries = order.iter().map(|&position| pairs[position as usize].1).collect();
        Lists { starts, entries }
    }

    fn of(&self, key: u32) -> &[T] {
        &self.entries[csr::range(&self.starts, key)]
    }

    fn bytes(&self) -> usize {
        4 * self.starts.len() + size_of::<T>() * self.entries.len()
    }
}
