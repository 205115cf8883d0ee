//! Laying out labels as cells and runs.

use super::Interval;
use super::cells::Cells;
use super::label::{Label, label};
use super::starts::Starts;
use super::varint::write;
use crate::forest::{ForestBuilder, Source, Tree, TreeNode};
use tamis::expression::Expression;

#[derive(Debug)]
struct PendingInterval {
    source: Source,
    level: u32,
    /// Its turn within the level.
    stage: u32,
    /// The cell that it reaches.
    to: u32,
    /// How many cells before that is the one that it follows; nothing if it begins the line.
    back: u32,
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
    /// Labels a tree and shows every interval with its stage. Cells are numbered along the line, from `first` on.
    fn draw(&mut self, tree: &Tree<'_>, first: u32, mut found: impl FnMut(PendingInterval)) {
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
                _ if begin == 1 => (None, 0),
                Ok(number) => (Some(number), ends[number].1),
                // Nothing ends there, so the leaf is never reached.
                Err(_) => continue,
            };
            let to = match ends.binary_search_by_key(&end, |(end, _)| *end) {
                Ok(number) => {
                    ends[number].1 = ends[number].1.max(stage + 1);
                    number
                }
                Err(_) => ends.len(),
            };
            let back = from.map_or(0, |from| (to - from) as u32);
            found(PendingInterval { source, level: tree.level, stage, to: first + to as u32, back });
        }
    }
}

/// Labels the trees of expressions and lays out the labels.
pub(super) fn build<'a>(
    builder: ForestBuilder<'_>,
    expressions: impl IntoIterator<Item = &'a Expression>,
) -> Interval {
    let (mut drafts, mut cells) = (Vec::new(), Cells::default());
    let mut line = Line::default();
    // By level: the number of stages.
    let mut stages: Vec<u32> = Vec::new();
    let (forest, numbers) = builder.build(expressions, |tree| {
        stages.resize(stages.len().max(tree.level as usize + 1), 0);
        let stages = &mut stages[tree.level as usize];
        line.draw(&tree, cells.len(), |draft| {
            *stages = (*stages).max(draft.stage + 1);
            drafts.push(draft);
        });
        cells.push(line.ends.len(), tree.owner);
    });
    cells.finish();
    let mut turns: Vec<bool> = Vec::new();
    let mut bases: Vec<u32> = Vec::new();
    for &count in &stages {
        bases.push(turns.len() as u32);
        turns.extend((0..count).map(|stage| stage == 0));
    }
    let turn = |draft: &PendingInterval| bases[draft.level as usize] + draft.stage;
    // Cells ascend within a run, so that cells that are read consecutively are adjacent.
    drafts.sort_unstable_by_key(|draft| (numbers.of(draft.source), turn(draft), draft.to));
    let (mut starts, mut labels) = (vec![0u32; forest.sources() + 1], Vec::new());
    let mut run = Vec::new();
    let mut next = 0;
    for intervals in drafts.chunk_by(|one, other| one.source == other.source) {
        let source = numbers.of(intervals[0].source) as usize;
        starts[next..=source].fill(labels.len() as u32);
        next = source + 1;
        let (mut before, mut rest) = (0, intervals.len());
        for same in intervals.chunk_by(|one, other| turn(one) == turn(other)) {
            rest -= same.len();
            run.clear();
            let mut last = 0;
            for draft in same {
                let gap = draft.to - last;
                last = draft.to;
                match draft.back {
                    0 => write(gap, &mut run),
                    1 => write(gap << 1, &mut run),
                    back => {
                        write(gap << 1 | 1, &mut run);
                        write(back, &mut run);
                    }
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
    Interval { cells, turns, starts: Starts::new(&starts), labels, forest }
}

fn leaves(nodes: &[TreeNode]) -> u32 {
    nodes.iter().filter(|node| matches!(node, TreeNode::Leaf(_))).count() as u32
}
