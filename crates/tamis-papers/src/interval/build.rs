//! Laying out labels as cells and runs.

use super::Interval;
use super::label::{Label, label};
use super::varint::{write, zigzag};
use crate::forest::{ForestBuilder, Owner, Source, Tree, TreeNode};
use tamis::expression::Expression;

/// The position up to which a line is covered, before cells are numbered.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// The start of the line.
    Start,
    /// The end of the line.
    End(Owner),
    /// A position in between.
    Inner(u32),
}

#[derive(Debug)]
struct PendingInterval {
    source: Source,
    level: u32,
    /// Its turn within the level.
    stage: u32,
    from: Cell,
    to: Cell,
}

/// The cells of one tree, while its leaves are labelled.
#[derive(Debug, Default)]
struct Line {
    labels: Vec<(Source, Label)>,
    /// Positions before the end of the line at which intervals end, ascending, with the turn after
    /// which all that end there are processed.
    ends: Vec<(u32, u32)>,
}

impl Line {
    /// Labels a tree and reports every interval with its stage. Inner cells are numbered from
    /// `inner` on.
    fn draw(&mut self, tree: &Tree<'_>, inner: u32, mut found: impl FnMut(PendingInterval)) {
        let Line { labels, ends } = self;
        let last = leaves(tree.nodes);
        labels.clear();
        label(tree.nodes, last, |source, label| labels.push((source, label)));
        labels.sort_by_key(|(_, label)| label.begin);
        ends.clear();
        ends.extend(labels.iter().map(|(_, label)| (label.end, 0)).filter(|(end, _)| *end < last));
        ends.sort_unstable();
        ends.dedup();
        for &(source, Label { begin, end }) in labels.iter() {
            // All intervals that end before this one starts were reported before it.
            let before = ends.binary_search_by_key(&(begin - 1), |(end, _)| *end);
            let (from, stage) = match before {
                _ if begin == 1 => (Cell::Start, 0),
                Ok(number) => (Cell::Inner(inner + number as u32), ends[number].1),
                // No interval ends there, so the leaf is never reached.
                Err(_) => continue,
            };
            let to = match ends.binary_search_by_key(&end, |(end, _)| *end) {
                Ok(number) => {
                    ends[number].1 = ends[number].1.max(stage + 1);
                    Cell::Inner(inner + number as u32)
                }
                Err(_) => Cell::End(tree.owner),
            };
            found(PendingInterval { source, level: tree.level, stage, from, to });
        }
    }
}

/// Labels the trees of expressions and lays out the labels.
pub(super) fn build<'a>(
    builder: ForestBuilder<'_>,
    expressions: impl IntoIterator<Item = &'a Expression>,
) -> Interval {
    let (mut drafts, mut inner) = (Vec::new(), 0);
    let mut line = Line::default();
    // By level: the number of stages.
    let mut stages: Vec<u32> = Vec::new();
    let forest = builder.build(expressions, |tree| {
        stages.resize(stages.len().max(tree.level as usize + 1), 0);
        let stages = &mut stages[tree.level as usize];
        line.draw(&tree, inner, |draft| {
            *stages = (*stages).max(draft.stage + 1);
            drafts.push(draft);
        });
        inner += line.ends.len() as u32;
    });
    let (expressions, finals) = (forest.expressions, forest.expressions + forest.shared);
    let number = |cell: Cell| match cell {
        // Never used: an interval at the start of a line follows no cell.
        Cell::Start => u32::MAX,
        Cell::End(Owner::Slot(slot)) => slot,
        Cell::End(Owner::Shared(tree)) => expressions + tree,
        Cell::Inner(cell) => finals + cell,
    };
    let mut turns: Vec<bool> = Vec::new();
    let mut bases: Vec<u32> = Vec::new();
    for &count in &stages {
        bases.push(turns.len() as u32);
        turns.extend((0..count).map(|stage| stage == 0));
    }
    let turn = |draft: &PendingInterval| bases[draft.level as usize] + draft.stage;
    // Cells ascend within a run, so cells that are read consecutively are adjacent.
    drafts.sort_unstable_by_key(|draft| (forest.number(draft.source), turn(draft), number(draft.to)));
    let (mut starts, mut labels) = (vec![0u32; forest.sources() + 1], Vec::new());
    let mut run = Vec::new();
    let mut next = 0;
    for intervals in drafts.chunk_by(|one, other| one.source == other.source) {
        let source = forest.number(intervals[0].source) as usize;
        starts[next..=source].fill(labels.len() as u32);
        next = source + 1;
        let (mut before, mut rest) = (0, intervals.len());
        for same in intervals.chunk_by(|one, other| turn(one) == turn(other)) {
            rest -= same.len();
            run.clear();
            let mut last = 0;
            for draft in same {
                let to = number(draft.to);
                write(to - last, &mut run);
                last = to;
                if draft.stage > 0 {
                    write(zigzag(number(draft.from).wrapping_sub(to)), &mut run);
                }
            }
            let turn = turn(&same[0]);
            write((turn - before) << 1 | u32::from(rest == 0), &mut labels);
            before = turn;
            if rest > 0 {
                write(run.len() as u32, &mut labels);
            }
            labels.extend_from_slice(&run);
        }
    }
    starts[next..].fill(labels.len() as u32);
    labels.shrink_to_fit();
    Interval { cells: finals + inner, turns, starts, labels, forest }
}

fn leaves(nodes: &[TreeNode]) -> u32 {
    nodes.iter().filter(|node| matches!(node, TreeNode::Leaf(_))).count() as u32
}
