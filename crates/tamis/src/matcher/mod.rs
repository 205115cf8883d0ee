//! Which of a set of expressions does an event satisfy?
//!
//! A matcher is one algorithm compiled over one set of expressions. It is immutable; what it writes
//! while matching lives in a [`Scratch`] that the caller keeps, one per thread. [`Scan`] evaluates
//! everything and is the judge of every other matcher; [`ATree`] evaluates what expressions share once,
//! and only what the true predicates lead to; [`Compiled`] is its flat, immutable form; [`KIndex`]
//! and [`Cnf`] intersect the posting lists of an event's keys; [`Dewey`] and [`Interval`] find true
//! conjunctions so, and evaluate expressions from their labels.

mod atree;
mod cnf;
mod compiled;
mod conjunction;
mod counters;
mod dewey;
mod forest;
mod interval;
mod kindex;
mod postings;
mod ranked;
mod scan;

pub use crate::predicate::Check;
pub use atree::{ATree, ATreeOptions, ATreeStats};
pub use cnf::Cnf;
pub(crate) use compiled::CompiledBuilder;
pub use compiled::{Compiled, Shape};
pub use counters::Counters;
pub use dewey::Dewey;
pub use interval::{Interval, IntervalOptions};
pub use kindex::{Cursor, KIndex, KIndexOptions};
pub use ranked::Pruning;
pub(crate) use ranked::{Ranked, Visit};
pub use scan::Scan;

use crate::deadline::Deadline;
use crate::error::Result;
use crate::event::Event;
use crate::truth::Truth;

/// The position of an expression in the set that a matcher was compiled over.
pub type Slot = u32;

/// One algorithm, compiled over a set of expressions.
pub trait Matcher: Send + Sync + std::fmt::Debug {
    /// The algorithm's name, as users select it.
    fn name(&self) -> &'static str;

    /// Appends the slots of the expressions that are true on the event, ascending.
    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>);

    /// Appends the slots of each event, ascending, and for each event where they end. `stopped` is
    /// asked now and then whether to give up, after which the last events have no end.
    fn matches_many(
        &self,
        events: &[Event],
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
        stopped: &dyn Fn() -> bool,
    ) {
        one_by_one(self, events, scratch, found, ends, stopped);
    }

    /// About how many bytes of memory matching reads.
    fn bytes(&self) -> usize;
}

/// Matches events one behind the other.
fn one_by_one<M: Matcher + ?Sized>(
    matcher: &M,
    events: &[Event],
    scratch: &mut Scratch,
    found: &mut Vec<Slot>,
    ends: &mut Vec<usize>,
    stopped: &dyn Fn() -> bool,
) {
    for event in events {
        if stopped() {
            return;
        }
        matcher.matches(event, scratch, found);
        ends.push(found.len());
    }
}

/// How the events of a batch are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Evaluation {
    /// In blocks where that is likely to cost less, one by one elsewhere.
    #[default]
    Auto,
    /// One by one.
    Events,
    /// In blocks, wherever a matcher can.
    Blocks,
}

/// Per-thread working memory of a match; any matcher can use any scratch.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Truths of predicates on the current event, each valid where its stamp is the current one, so
    /// that nothing is cleared between events.
    memo: Vec<(u32, Truth)>,
    stamp: u32,
    /// Truths of operands waiting for their operator.
    stack: Vec<Truth>,
    compiled: compiled::Working,
    block: compiled::Block,
    evaluation: Evaluation,
    atree: atree::ATreeScratch,
    conjunction: conjunction::ConjunctionScratch,
    dewey: dewey::DeweyScratch,
    interval: interval::IntervalScratch,
    cnf: cnf::CnfScratch,
    pruning: Pruning,
    /// When to give up, and whether that was before the end.
    deadline: Option<Deadline>,
    expired: bool,
}

impl Scratch {
    /// From now on, matches give up at a deadline, if there is one. Matchers look at the clock now and
    /// then; those of the papers do not, and are asked between segments.
    pub fn set_deadline(&mut self, deadline: Option<Deadline>) {
        self.deadline = deadline;
        self.expired = false;
    }

    /// Fails where the last match gave up, or the time is up now.
    pub(crate) fn check_deadline(&mut self) -> Result<()> {
        match self.deadline {
            Some(deadline) if std::mem::take(&mut self.expired) || deadline.has_passed() => {
                Err(deadline.error())
            }
            _ => Ok(()),
        }
    }

    /// How much work matchers have done with this scratch since this was asked; a scan counts nothing.
    pub fn take_counters(&mut self) -> Counters {
        let mut all = Counters::default();
        for counters in [
            &mut self.compiled.counters,
            &mut self.block.counters,
            &mut self.atree.counters,
            self.conjunction.counters(),
        ] {
            all += std::mem::take(counters);
        }
        all
    }

    /// Whether posting lists are skipped through, as they are unless told otherwise, or read entry by
    /// entry for comparison.
    pub fn set_skipping(&mut self, skipping: bool) {
        self.conjunction.postings.without_skipping = !skipping;
    }

    /// How the events of a batch are looked at.
    pub fn set_evaluation(&mut self, evaluation: Evaluation) {
        self.evaluation = evaluation;
    }

    fn evaluation(&self) -> Evaluation {
        self.evaluation
    }

    /// How a ranking is pruned.
    pub fn set_pruning(&mut self, pruning: Pruning) {
        self.pruning = pruning;
    }

    pub(crate) fn pruning(&self) -> Pruning {
        self.pruning
    }

    /// Makes room for the truths of `predicates` predicates and forgets those of the last event.
    fn begin(&mut self, predicates: usize) {
        if self.stamp == u32::MAX {
            self.memo.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        if self.memo.len() < predicates {
            self.memo.resize(predicates, (0, Truth::Unknown));
        }
    }
}

/// Brings the slots from `first` on into ascending order, without repetition.
fn ascending(found: &mut Vec<Slot>, first: usize) {
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
