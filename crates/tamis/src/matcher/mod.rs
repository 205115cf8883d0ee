//! Which of a set of expressions does an event satisfy?
//!
//! A matcher is one algorithm, compiled from one set of expressions. It is immutable; its working memory
//! is a [`Scratch`] that the caller keeps, one per thread. [`Scan`] evaluates
//! every expression and is the oracle for all other matchers. [`Compiled`] evaluates only expressions that true
//! predicates lead to, and shared subexpressions once. [`extend`] is the interface for matchers of other crates.

mod compiled;
mod counters;
pub mod extend;
mod scan;

pub use crate::predicate::Check;
pub(crate) use compiled::CompiledBuilder;
pub use compiled::{BatchTimes, Compiled, ExpressionStats};
pub use counters::Counters;
pub use scan::Scan;

use crate::deadline::{Deadline, Timer};
use crate::error::Result;
use crate::event::{AttributeId, Event};
use crate::reusable::Stamped;
use crate::truth::Truth;

/// The position of an expression in the set that a matcher was compiled over.
pub type Slot = u32;

/// One algorithm, compiled over a set of expressions.
pub trait Matcher: Send + Sync + std::fmt::Debug {
    /// The algorithm's name, as users select it.
    fn name(&self) -> &'static str;

    /// Appends the slots of the expressions that are true on the event, ascending.
    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>);

    /// Appends the slots of each event, ascending, and for each event where they end. `stopped` is polled now and
    /// then; once it returns true, the remaining events have no end.
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

    /// This matcher as one that can skip what cannot be among the best, if it supports that.
    fn ranked(&self) -> Option<&dyn extend::Ranked> {
        None
    }

    /// The expressions that the event satisfies, one at a time. Unless a matcher can skip,
    /// all are found first.
    fn cursor<'a>(&'a self, event: &Event, scratch: &'a mut Scratch) -> Box<dyn extend::Cursor + 'a> {
        let mut found = Vec::new();
        self.matches(event, scratch, &mut found);
        found.reverse();
        Box::new(extend::FoundSlots(found))
    }

    /// The attributes for which some expression may distinguish a null from a missing attribute; `None` if that may
    /// be all of them. Only `exists` makes that distinction.
    fn asked_nulls(&self) -> Option<Vec<AttributeId>> {
        None
    }

    /// About how many bytes of memory matching reads.
    fn bytes(&self) -> usize;
}

/// Matches events one after the other.
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
        if scratch.timer.is_late() {
            return;
        }
        ends.push(found.len());
    }
}

/// How the events of a batch are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Evaluation {
    /// The way that was measured to be faster; at first, the one that is estimated to be.
    #[default]
    Auto,
    /// One by one.
    Events,
    /// In blocks, if the matcher supports it.
    Blocks,
}

/// What keeps an expression from being scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pruning {
    /// Nothing: every match is scored.
    None,
    /// The two rules of Whang et al. 2009, section 5, with one bound per key.
    Paper,
    /// The same rules with one bound per list, and a third: the weights of a match's own entries.
    #[default]
    Tight,
}

/// Per-thread working memory of a match; any matcher can use any scratch.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Truths of predicates on the current event.
    memo: Stamped<Truth>,
    /// Truths of children waiting for their operator.
    stack: Vec<Truth>,
    compiled: compiled::CompiledScratch,
    batch: compiled::BatchState,
    evaluation: Evaluation,
    /// Working memory of matchers of other crates.
    extensions: Vec<Box<dyn extend::ScratchExtension>>,
    pruning: Pruning,
    without_skipping: bool,
    /// Decides when matchers give up.
    timer: Timer,
}

impl Scratch {
    /// Starts matches that give up at a deadline, if there is one.
    pub(crate) fn begin_within(&mut self, deadline: Option<Deadline>) {
        self.timer = Timer::new(deadline);
    }

    /// Fails if a match has given up since [`Scratch::begin_within`], or if the time is up now.
    pub(crate) fn check_deadline(&mut self) -> Result<()> {
        self.timer.check()
    }

    /// The work that matchers have done with this scratch since the last call; a scan counts nothing.
    pub fn take_counters(&mut self) -> Counters {
        let mut all = Counters::default();
        for counters in [&mut self.compiled.counters, &mut self.batch.counters] {
            all += std::mem::take(counters);
        }
        for extension in &mut self.extensions {
            all += extension.take_counters();
        }
        all
    }

    /// Whether to skip through posting lists, which is the default, or to read them entry by
    /// entry for comparison.
    pub fn set_skipping(&mut self, skipping: bool) {
        self.without_skipping = !skipping;
    }

    /// Whether posting lists are skipped through.
    pub fn skipping(&self) -> bool {
        !self.without_skipping
    }

    /// How the events of a batch are matched.
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

    /// How a ranking is pruned.
    pub fn pruning(&self) -> Pruning {
        self.pruning
    }
}
