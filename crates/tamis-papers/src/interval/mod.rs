//! The Interval algorithm of Fontoura et al. 2010 (section 4): an expression is true if intervals
//! of its true leaves cover its line without overlap.
//!
//! A cell of the paper's `matched` means that the line is covered up to a position. A true leaf
//! whose interval starts after a matched cell matches the cell at its end: two probes per leaf, and
//! no tree. The layout differs from the paper:
//!
//! - The cells of all trees are in one bit array, with the ends of lines first: cell `slot` is the
//!   expression. Only positions where some interval ends have a cell, and all starts of lines share
//!   one. A leaf is one or two cell numbers of up to 32 bits, however many leaves its expression
//!   has, stored as differences in variable-length integers.
//! - Instead of sorting intervals by their start, a match processes them in turns: an interval
//!   comes after all intervals that end where it starts. Turns are assigned at build time, and
//!   intervals are stored in runs by conjunction and turn. Trees that use shared trees come after
//!   those.
//!
//! The bytes of a source are its runs by turn. A run starts with twice the turn, as a difference to
//! the previous run, plus one if it is the last run of the source; other runs continue with their
//! length in bytes. Each interval is then the cell that it reaches, as a difference to the previous
//! one, and, unless it starts a line, the cell that it follows, as a difference to the cell it
//! reaches.

mod build;
mod label;
mod varint;

#[cfg(test)]
mod tests;

use crate::forest::Forest;
use crate::scratch::Working;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::Expression;
use tamis::matcher::extend::OrderedSet;
use tamis::matcher::{Matcher, Scratch, Slot};
use varint::{read, unzigzag};

/// Options of an [`Interval`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IntervalOptions {
    /// Whether parts that several expressions share are evaluated once.
    pub common_subexpressions: bool,
}

/// Expressions as intervals of their conjunctions.
#[derive(Debug)]
pub struct Interval {
    forest: Forest,
    cells: u32,
    /// By turn: whether its intervals start lines. The others follow a cell.
    turns: Vec<bool>,
    /// The start of each source's bytes.
    starts: Vec<u32>,
    labels: Vec<u8>,
}

/// Working memory of a match.
#[derive(Debug, Default)]
pub(crate) struct IntervalScratch {
    matched: OrderedSet,
    /// By turn: the ranges of runs whose sources are true.
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

    /// The number of shared trees.
    pub fn shared(&self) -> usize {
        self.forest.shared as usize
    }

    /// Bytes of the labels alone, without the index of the conjunctions.
    pub fn label_bytes(&self) -> usize {
        4 * self.starts.len() + self.labels.len() + self.turns.len()
    }

    /// Adds the runs of a true source to their turns.
    fn take(&self, source: u32, pending: &mut [Vec<(u32, u32)>]) {
        let source = source as usize;
        let end = self.starts[source + 1];
        let mut rest = &self.labels[self.starts[source] as usize..end as usize];
        let mut turn = 0;
        while !rest.is_empty() {
            let head = read(&mut rest);
            turn += head >> 1;
            let length = if head & 1 == 1 { rest.len() } else { read(&mut rest) as usize };
            let start = end - rest.len() as u32;
            pending[turn as usize].push((start, start + length as u32));
            rest = &rest[length..];
        }
    }

    /// The first cell of the shared trees.
    fn first_shared(&self) -> u32 {
        self.forest.expressions
    }

    /// Matches a cell, and records the shared tree that becomes true, if any.
    fn reach(&self, cell: u32, matched: &mut OrderedSet, shared: &mut Vec<u32>) {
        let tree = cell.wrapping_sub(self.first_shared());
        if tree < self.forest.shared && !matched.contains(cell) {
            shared.push(tree);
        }
        matched.insert(cell);
    }
}

impl Interval {
    /// The number of conjunctions that an event satisfies, which is the first step of a match.
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
        // Already empty, unless a damaged file interrupted the previous match.
        matched.clear();
        matched.grow(self.cells as usize);
        pending.iter_mut().for_each(Vec::clear);
        pending.resize_with(pending.len().max(self.turns.len()), Vec::new);
        shared.clear();
        self.forest.conjunctions.find(event, conjunction, |source| self.take(source, pending));
        let (mut leaves, mut probes) = (0, 0);
        for (turn, &first) in self.turns.iter().enumerate() {
            let mut runs = std::mem::take(&mut pending[turn]);
            for &(start, end) in &runs {
                let mut rest = &self.labels[start as usize..end as usize];
                let mut to = 0;
                while !rest.is_empty() {
                    to += read(&mut rest);
                    leaves += 1;
                    probes += 1;
                    if !first {
                        let from = to.wrapping_add(unzigzag(read(&mut rest)));
                        if !matched.contains(from) {
                            continue;
                        }
                        probes += 1;
                    }
                    self.reach(to, matched, shared);
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
        self.forest.bytes() + self.label_bytes()
    }
}
