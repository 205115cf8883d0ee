//! The Interval algorithm of Fontoura et al. 2010 (section 4): an expression is true if intervals
//! of its true leaves cover its line without overlap.
//!
//! A cell of the paper's `matched` means that the line is covered up to a position. A true leaf
//! whose interval starts after a matched cell matches the cell at its end: two probes per leaf, and
//! no tree. The layout differs from the paper:
//!
//! - Cells of all trees stand in one array of bits, line by line (`cells`). Only positions where some interval ends
//!   have a cell. A leaf is the number of the cell that it reaches and how far back the cell is that it follows,
//!   whatever the number of leaves of its expression, stored as differences in as few bytes as they need.
//! - Instead of sorting intervals by their begin, a match takes them in turns: an interval has its turn after
//!   all that end where it begins. Turns are assigned when the intervals are laid out, in runs by conjunction
//!   and turn. Trees that use shared trees have their turns after those.
//!
//! The bytes of a source are its runs by turn. A run begins with twice the turn, counted from the run before,
//! and one more if it is the source's last; the others say how many bytes follow. Then every interval is
//! the cell that it reaches, counted from that of the interval before. Unless intervals begin lines, this is doubled,
//! and one more if the cell that the interval follows is not the one just before: then how many cells back it is
//! comes after it.

mod build;
mod cells;
mod label;
mod starts;
mod varint;

#[cfg(test)]
mod tests;

use crate::forest::{Forest, Owner};
use crate::scratch::Working;
use cells::Cells;
use starts::Starts;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::Expression;
use tamis::matcher::extend::OrderedSet;
use tamis::matcher::{Matcher, Scratch, Slot};
use varint::read;

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
    cells: Cells,
    /// By turn: whether its intervals begin lines. The others follow a cell.
    turns: Vec<bool>,
    /// Where the bytes of each source begin.
    starts: Starts,
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
        self.starts.bytes() + self.labels.len() + self.turns.len() + self.cells.bytes()
    }

    /// Adds the runs of a true source to their turns.
    fn take(&self, source: u32, pending: &mut [Vec<(u32, u32)>]) {
        let range = self.starts.range(source);
        let end = range.end as u32;
        let mut rest = &self.labels[range];
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

    /// Matches a cell, and records a shared tree that becomes true by it.
    fn reach(&self, cell: u32, matched: &mut OrderedSet, shared: &mut Vec<u32>) {
        if self.forest.shared > 0
            && !matched.contains(cell)
            && let Some(Owner::Shared(tree)) = self.cells.owner(cell)
        {
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
        matched.grow(self.cells.len() as usize);
        // Another index may have more turns.
        pending.resize_with(pending.len().max(self.turns.len()), Vec::new);
        pending[..self.turns.len()].iter_mut().for_each(Vec::clear);
        shared.clear();
        self.forest.conjunctions.find(event, conjunction, |source| self.take(source, pending));
        let (mut leaves, mut probes) = (0, 0);
        for (turn, &first) in self.turns.iter().enumerate() {
            let mut runs = std::mem::take(&mut pending[turn]);
            for &(start, end) in &runs {
                let mut rest = &self.labels[start as usize..end as usize];
                let mut to = 0;
                while !rest.is_empty() {
                    let gap = read(&mut rest);
                    leaves += 1;
                    probes += 1;
                    if first {
                        to += gap;
                    } else {
                        to += gap >> 1;
                        let back = if gap & 1 == 1 { read(&mut rest) } else { 1 };
                        if !matched.contains(to - back) {
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
        // Trees are in the order of their slots.
        matched.drain(|cell| {
            if let Some(Owner::Slot(slot)) = self.cells.owner(cell) {
                found.push(slot);
            }
        });
        conjunction.counters().leaves += leaves;
        conjunction.counters().probes += probes;
        self.forest.scan(event, scratch, found, first);
    }

    fn bytes(&self) -> usize {
        self.forest.bytes() + self.label_bytes()
    }
}
