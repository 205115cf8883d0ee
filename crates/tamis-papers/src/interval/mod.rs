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
//! - Instead of sorting intervals by their begin, a match takes them in turns: an interval has its turn after
//!   all that end where it begins. Turns are assigned when the intervals are laid out, in runs by conjunction
//!   and turn. Trees that use shared trees have their turns after those.

mod build;
mod label;

#[cfg(test)]
mod tests;

use crate::forest::{Bits, Forest};
use crate::scratch::Working;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::Expression;
use tamis::matcher::{Matcher, Scratch, Slot};

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
    cells: u32,
    /// By turn: whether its intervals begin lines. The others follow a cell.
    turns: Vec<bool>,
    /// Where the runs of each source begin.
    starts: Vec<u32>,
    runs: Vec<Run>,
    /// By runs: the cell that an interval reaches, after the one that it follows where it does.
    words: Vec<u32>,
}

/// The intervals of one source that have one turn. It ends where the next begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    turn: u32,
    start: u32,
}

/// Working memory of a match.
#[derive(Debug, Default)]
pub(crate) struct IntervalScratch {
    matched: Bits,
    /// By turn: where runs whose sources are true begin and end.
    pending: Vec<Vec<(u32, u32)>>,
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
        use crate::forest::ForestBuilder;
        build::build(ForestBuilder::new(attributes, missing, options.common_subexpressions), expressions)
    }

    /// How many shared trees there are.
    pub fn shared(&self) -> usize {
        self.forest.shared as usize
    }

    /// Adds the runs of a true source to those of their turns.
    fn take(&self, source: u32, pending: &mut [Vec<(u32, u32)>]) {
        let source = source as usize;
        for run in self.starts[source] as usize..self.starts[source + 1] as usize {
            let Run { turn, start } = self.runs[run];
            pending[turn as usize].push((start, self.runs[run + 1].start));
        }
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

impl Interval {
    /// How many conjunctions are true of an event, which a match finds first.
    pub fn true_conjunctions(&self, event: &Event, scratch: &mut Scratch) -> usize {
        let mut count = 0;
        self.forest.conjunctions.find(event, &mut Working::of(scratch).conjunction, |_| count += 1);
        count
    }
}

impl Matcher for Interval {
    fn name(&self) -> &'static str {
        "interval"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        let Working { conjunction, interval, .. } = Working::of(scratch);
        let IntervalScratch { matched, pending, shared } = interval;
        // Empty unless the match before was cut short by a damaged file.
        matched.clear();
        matched.begin(self.cells as usize);
        pending.iter_mut().for_each(Vec::clear);
        pending.resize_with(pending.len().max(self.turns.len()), Vec::new);
        shared.clear();
        self.forest.conjunctions.find(event, conjunction, |source| self.take(source, pending));
        let (mut leaves, mut probes) = (0, 0);
        for (turn, &first) in self.turns.iter().enumerate() {
            let mut runs = std::mem::take(&mut pending[turn]);
            for &(start, end) in &runs {
                let words = &self.words[start as usize..end as usize];
                if first {
                    leaves += words.len() as u64;
                    probes += words.len() as u64;
                    words.iter().for_each(|&cell| self.reach(cell, matched, shared));
                    continue;
                }
                leaves += words.len() as u64 / 2;
                probes += words.len() as u64 / 2;
                for step in words.chunks_exact(2) {
                    if matched.contains(step[0]) {
                        probes += 1;
                        self.reach(step[1], matched, shared);
                    }
                }
            }
            runs.clear();
            pending[turn] = runs;
            for tree in shared.drain(..) {
                self.take(self.forest.conjunctions.len() as u32 + tree, pending);
            }
        }
        matched.for_each(0..self.forest.expressions, |slot| found.push(slot));
        matched.clear();
        conjunction.counters().leaves += leaves;
        conjunction.counters().probes += probes;
        self.forest.scan(event, scratch, found, first);
    }

    fn bytes(&self) -> usize {
        self.forest.bytes()
            + 4 * (self.starts.len() + self.words.len())
            + self.turns.len()
            + size_of::<Run>() * self.runs.len()
    }
}
