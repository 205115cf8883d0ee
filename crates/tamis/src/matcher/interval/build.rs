//! How do labels become cells and runs?

use super::super::forest::{Owner, Planting, Source, TreeNode};
use super::label::{Label, label};
use super::{Interval, Run, Step};
use crate::expression::Expression;

/// Where a line is covered up to, before cells are numbered.
#[derive(Debug, Clone, Copy)]
enum Cell {
    /// Its beginning.
    Start,
    /// Its end.
    End(Owner),
    /// A position between.
    Inner(u32),
}

#[derive(Debug)]
struct Draft {
    source: Source,
    level: u32,
    begin: u32,
    from: Cell,
    to: Cell,
}

/// Labels the trees of expressions and lays the labels out.
pub(super) fn build<'a>(
    planting: Planting<'_>,
    expressions: impl IntoIterator<Item = &'a Expression>,
) -> Interval {
    let (mut drafts, mut inner, mut levels) = (Vec::new(), 0, 0);
    let (mut labels, mut ends) = (Vec::new(), Vec::new());
    let forest = planting.plant(expressions, |tree| {
        levels = levels.max(tree.level + 1);
        let last = leaves(tree.nodes);
        labels.clear();
        label(tree.nodes, last, |source, label| labels.push((source, label)));
        ends.clear();
        ends.extend(labels.iter().map(|(_, label)| label.end).filter(|&end| end < last));
        ends.sort_unstable();
        ends.dedup();
        // A position that no interval ends at is never covered, and whoever follows it is never reached.
        let cell = |position: u32| match position {
            0 => Some(Cell::Start),
            end if end == last => Some(Cell::End(tree.owner)),
            end => ends.binary_search(&end).ok().map(|number| Cell::Inner(inner + number as u32)),
        };
        drafts.extend(labels.iter().filter_map(|&(source, Label { begin, end })| {
            let (from, to) = (cell(begin - 1)?, cell(end)?);
            Some(Draft { source, level: tree.level, begin, from, to })
        }));
        inner += ends.len() as u32;
    });
    let (expressions, finals) = (forest.expressions, forest.expressions + forest.shared);
    let number = |cell: Cell| match cell {
        // Nobody asks: what begins a line follows nothing.
        Cell::Start => u32::MAX,
        Cell::End(Owner::Slot(slot)) => slot,
        Cell::End(Owner::Shared(tree)) => expressions + tree,
        Cell::Inner(cell) => finals + cell,
    };
    // Within a run cells ascend, so that what is read one after the other stands together.
    drafts.sort_unstable_by_key(|draft: &Draft| {
        (forest.number(draft.source), draft.level, draft.begin, number(draft.to))
    });
    let mut interval = Interval {
        levels,
        cells: finals + inner,
        starts: Vec::with_capacity(forest.sources() + 1),
        runs: Vec::new(),
        firsts: Vec::new(),
        steps: Vec::new(),
        forest,
    };
    for run in drafts
        .chunk_by(|one, other| (one.source, one.level, one.begin) == (other.source, other.level, other.begin))
    {
        let Draft { source, level, begin, .. } = run[0];
        let source = interval.forest.number(source) as usize;
        interval.starts.resize(interval.starts.len().max(source + 1), interval.runs.len() as u32);
        let length = |interval: &Interval| match begin {
            1 => interval.firsts.len() as u32,
            _ => interval.steps.len() as u32,
        };
        let start = length(&interval);
        for draft in run {
            let (from, to) = (number(draft.from), number(draft.to));
            match begin {
                1 => interval.firsts.push(to),
                _ => interval.steps.push(Step { from, to }),
            }
        }
        let end = length(&interval);
        interval.runs.push(Run { level, begin, start, end });
    }
    interval.starts.resize(interval.forest.sources() + 1, interval.runs.len() as u32);
    interval.runs.shrink_to_fit();
    interval.firsts.shrink_to_fit();
    interval.steps.shrink_to_fit();
    interval
}

fn leaves(nodes: &[TreeNode]) -> u32 {
    nodes.iter().filter(|node| matches!(node, TreeNode::Leaf(_))).count() as u32
}
