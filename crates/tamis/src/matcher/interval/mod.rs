//! The Interval algorithm of Fontoura et al. 2010 (section 4): an expression is true where intervals of its
//! true leaves cover its line without overlap.
//!
//! A cell of the paper's `matched` says that the line is covered up to a position. A true leaf whose interval
//! begins behind a matched cell matches the cell where it ends: two probes per leaf, and no tree. What is
//! laid out differently:
//!
//! - Cells of all trees stand in one array of bits, those where a line ends first: cell `slot` is the
//!   expression. Only positions where some interval ends have a cell, and there is one for all beginnings. A
//!   leaf is two cell numbers of 32 bits, whatever the number of leaves of its expression.
//! - Intervals are sorted by their begin when they are laid out, in runs by conjunction and begin; a match
//!   sorts runs instead of intervals.
//! - Trees that use shared trees are evaluated after those, level by level.

mod build;
mod label;

#[cfg(test)]
mod tests;

use super::forest::{Bits, Forest};
use super::{Matcher, Scratch, Slot};
use crate::event::{Attributes, Event};
use crate::expression::Expression;
use crate::truth::Missing;

/// How an [`Interval`] is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntervalOptions {
    /// What several expressions have in common is evaluated once.
    pub common_subexpressions: bool,
}

/// Expressions as intervals of their conjunctions.
#[derive(Debug)]
pub struct Interval {
    forest: Forest,
    levels: u32,
    cells: u32,
    /// Where the runs of each source begin.
    starts: Vec<u32>,
    runs: Vec<Run>,
    /// Where intervals that begin a line end, by runs.
    firsts: Vec<u32>,
    /// The others, by runs.
    steps: Vec<Step>,
}

/// The intervals of one source with one begin, in trees of one level. It ends where the next of its kind
/// begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    level: u32,
    begin: u32,
    start: u32,
    end: u32,
}

/// An interval: it may follow one cell, and reaches another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    from: u32,
    to: u32,
}

/// Working memory of a match.
#[derive(Debug, Default)]
pub(super) struct IntervalScratch {
    matched: Bits,
    /// By level: runs whose sources are true.
    pending: Vec<Vec<Run>>,
    /// Shared trees that became true.
    shared: Vec<u32>,
}

impl Interval {
    /// Compiles expressions, whose slots are their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        options: IntervalOptions,
    ) -> Interval {
        use super::forest::Planting;
        build::build(Planting::new(attributes, missing, options.common_subexpressions), expressions)
    }

    /// How many shared trees there are.
    pub fn shared(&self) -> usize {
        self.forest.shared as usize
    }

    fn runs_of(&self, source: u32) -> &[Run] {
        let source = source as usize;
        &self.runs[self.starts[source] as usize..self.starts[source + 1] as usize]
    }

    /// Cells from this one to the end of the shared trees are the shared trees'.
    fn first_shared(&self) -> u32 {
        self.forest.expressions
    }

    /// Matches a cell, and notes a shared tree that is true by it.
    fn reach(&self, cell: u32, matched: &mut Bits, shared: &mut Vec<u32>) {
        let tree = cell.wrapping_sub(self.first_shared());
        if tree < self.forest.shared && !matched.contains(cell) {
            shared.push(tree);
        }
        matched.set(cell);
    }
}

impl Matcher for Interval {
    fn name(&self) -> &'static str {
        "interval"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        let Scratch { conjunction, interval, .. } = scratch;
        let IntervalScratch { matched, pending, shared } = interval;
        // Empty unless the match before was cut short by a damaged file.
        matched.clear();
        matched.begin(self.cells as usize);
        pending.iter_mut().for_each(Vec::clear);
        pending.resize_with(pending.len().max(self.levels as usize), Vec::new);
        shared.clear();
        self.forest.conjunctions.find(event, conjunction, |source| {
            self.runs_of(source).iter().for_each(|run| pending[run.level as usize].push(*run));
        });
        let (mut leaves, mut probes) = (0, 0);
        for level in 0..self.levels as usize {
            let mut runs = std::mem::take(&mut pending[level]);
            runs.sort_unstable_by_key(|run| run.begin);
            for run in &runs {
                let range = run.start as usize..run.end as usize;
                leaves += range.len() as u64;
                if run.begin == 1 {
                    probes += range.len() as u64;
                    self.firsts[range].iter().for_each(|&cell| self.reach(cell, matched, shared));
                    continue;
                }
                for step in &self.steps[range] {
                    probes += 1;
                    if matched.contains(step.from) {
                        probes += 1;
                        self.reach(step.to, matched, shared);
                    }
                }
            }
            runs.clear();
            pending[level] = runs;
            for tree in shared.drain(..) {
                let source = self.forest.conjunctions.len() as u32 + tree;
                self.runs_of(source).iter().for_each(|run| pending[run.level as usize].push(*run));
            }
        }
        matched.for_each(0..self.forest.expressions, |slot| found.push(slot));
        matched.clear();
        conjunction.counters().leaves += leaves;
        conjunction.counters().probes += probes;
        self.forest.scan(event, scratch, found, first);
    }

    fn predicates(&self) -> usize {
        self.forest.predicates()
    }

    fn bytes(&self) -> usize {
        self.forest.bytes()
            + 4 * (self.starts.len() + self.firsts.len())
            + size_of::<Run>() * self.runs.len()
            + size_of::<Step>() * self.steps.len()
    }
}
