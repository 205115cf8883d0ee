//! What does a matcher of another crate implement?
//!
//! An index takes any algorithm that can compile expressions ([`MatcherKind`]) and match
//! with the result ([`Matcher`]). A matcher may also rank ([`Ranked`]) and skip ([`Cursor`]), and keeps its
//! working memory in the caller's [`Scratch`] ([`ScratchExtension`]). The matchers of the papers, in the
//! crate `tamis-papers`, use nothing else of the engine.

use std::any::Any;
use std::fmt;

use super::{Counters, Matcher, Scratch, Slot};
use crate::error::Result;
use crate::event::{Attributes, Event};
use crate::expression::Expression;
use crate::limits::Limits;
use crate::rank::EventWeights;
use crate::truth::Missing;
use crate::value::TimeZone;

/// Lists stored in two arrays.
pub mod csr {
    pub use crate::csr::{gallop, group, range, starts};
}

pub use crate::literals::Anchor;
// `Check` is also how `tamis-graph` and `tamis-lint` evaluate single tests.
pub use crate::predicate::{Check, Required, required};
pub use crate::reusable::{ListedSet, OrderedSet, Stamped};

/// An algorithm that an index can use.
pub trait MatcherKind: fmt::Debug + Send + Sync {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// Fails if the algorithm cannot take an expression, such as one whose normal form would explode.
    fn check(&self, _expression: &Expression, _zone: &TimeZone, _limits: &Limits) -> Result<()> {
        Ok(())
    }

    /// Compiles expressions.
    fn compile(&self, request: CompileRequest<'_>) -> Box<dyn Matcher>;
}

/// What a matcher is compiled from.
#[derive(Clone, Copy)]
pub struct CompileRequest<'a> {
    /// The expressions; their slots are their positions.
    pub expressions: &'a [&'a Expression],
    /// By slot: the factor of its score.
    pub boost: &'a dyn Fn(Slot) -> f64,
    /// The numbers of the attributes.
    pub attributes: &'a Attributes,
    /// What predicates answer on attributes without a value.
    pub missing: Missing,
    /// The most signed predicates that the normal form of an expression may have.
    pub normal_form: usize,
}

impl fmt::Debug for CompileRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CompileRequest").field("expressions", &self.expressions.len()).finish_non_exhaustive()
    }
}

/// A ranking to be filled.
pub trait Visit {
    /// Takes a match.
    fn visit(&mut self, slot: Slot);

    /// The minimum score of a match whose slot is `slot` or later.
    fn threshold(&self, slot: Slot) -> f64;
}

/// A matcher that skips expressions that cannot be among the best.
///
/// It does not compute scores. The caller does, and returns after each match the score that another one must reach
/// (Whang et al. 2009, section 5).
pub trait Ranked {
    /// Visits every match that may score enough, some of them several times.
    fn rank(&self, event: &Event, weights: &EventWeights, scratch: &mut Scratch, visit: &mut dyn Visit);
}

/// The expressions that one event satisfies, in the order of their slots.
pub trait Cursor {
    /// The first slot from `least` on whose expression the event satisfies. `least` must not decrease from call to
    /// call; repeating a call repeats the result.
    fn next(&mut self, least: Slot) -> Option<Slot>;
}

/// A cursor over matches that have all been found, in descending order.
#[derive(Debug)]
pub(super) struct FoundSlots(pub Vec<Slot>);

impl Cursor for FoundSlots {
    fn next(&mut self, least: Slot) -> Option<Slot> {
        while self.0.last().is_some_and(|&slot| slot < least) {
            self.0.pop();
        }
        self.0.last().copied()
    }
}

/// Working memory that a matcher of another crate keeps in a [`Scratch`].
pub trait ScratchExtension: Any + fmt::Debug + Send + Sync {
    /// The work done with it since the last call.
    fn take_counters(&mut self) -> Counters;
}

impl Scratch {
    /// The working memory of type `E`, created on first use.
    pub fn extension<E: ScratchExtension + Default>(&mut self) -> &mut E {
        let mut extensions = self.extensions.iter();
        let known = extensions.position(|extension| (&**extension as &dyn Any).is::<E>());
        let position = known.unwrap_or_else(|| {
            self.extensions.push(Box::<E>::default());
            self.extensions.len() - 1
        });
        match (&mut *self.extensions[position] as &mut dyn Any).downcast_mut() {
            Some(extension) => extension,
            None => unreachable!("the extension at this position is of this type"),
        }
    }
}

/// Sorts the slots from `first` on and removes duplicates.
pub fn ascending(found: &mut Vec<Slot>, first: usize) {
    found[first..].sort_unstable();
    let mut kept = first;
    for position in first..found.len() {
        if kept == first || found[kept - 1] != found[position] {
            found[kept] = found[position];
            kept += 1;
        }
    }
    found.truncate(kept);
}
