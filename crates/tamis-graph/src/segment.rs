//! What is the immutable, compiled part of a graph?
//!
//! Nodes are numbered in the topological order of their components, and their edges, expressions and ids are
//! in columns indexed by that number. An edge with an expression becomes
//! a node without an id between its two ends (Broder et al. 2011, section 2). The nodes
//! that can be reached and have an expression are compiled into a matcher, whose slots follow the
//! numbers of the nodes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::draft::{GraphDraft, NONE};
use super::order::{Order, Rows, order};
use super::programs::Programs;
use crate::column::Column;
use crate::csr;
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::expression::{Expression, StoredExpressions};
use crate::ids::Ids;
use crate::limits::Limits;
use crate::matcher::extend::{CompileRequest, MatcherKind};
use crate::matcher::{Compiled, Matcher};
use crate::rank::Scores;
use crate::sections::{SectionReader, Sections};
use crate::truth::Missing;

/// A compiled graph.
#[derive(Debug)]
pub(super) struct Segment {
    /// The ids in the order in which their nodes were added.
    pub ids: Ids,
    /// The node of each id.
    pub nodes: Column<u32>,
    /// The position of each node's id, or [`NONE`] for an edge's node.
    pub owners: Column<u32>,
    /// For every node the first of its component.
    pub firsts: Column<u32>,
    pub starts: Column<u32>,
    pub targets: Column<u32>,
    /// The cost of each edge; empty if all cost 1.
    pub costs: Column<f64>,
    /// The number of each node's expression, or [`NONE`].
    pub expressions: Column<u32>,
    pub programs: Programs,
    /// Every expression by its number.
    written: StoredExpressions,
    pub matcher: Compiled,
    /// The same as an index that can be skipped through, created on first use.
    skipping: OnceLock<Box<dyn Matcher>>,
    /// The scores of expressions, and the highest possible one, built in the same way.
    scores: OnceLock<(Scores, f64)>,
    /// The nodes of the matcher's slots, ascending.
    pub constrained: Column<u32>,
    /// The nodes that can be reached and have no expression, ascending.
    pub free: Column<u32>,
    /// Whether no path leads from a node to itself; one number, 0 or 1.
    acyclic: Column<u32>,
    /// Whether its bytes are known to be as they were written.
    trusted: bool,
    /// Whether an expression was met that cannot be read as it was written.
    damaged: AtomicBool,
}

impl Segment {
    /// A graph of nothing.
    pub fn empty(attributes: &Attributes, missing: Missing) -> Segment {
        match Segment::new(&GraphDraft::default(), attributes, missing, &AtomicBool::new(false)) {
            Ok(segment) => segment,
            Err(error) => unreachable!("there is nothing to compile: {error}"),
        }
    }

    /// Compiles a draft; fails with [`Error::Cancelled`] once `stop` is set, unless it is nearly done.
    pub fn new(
        draft: &GraphDraft,
        attributes: &Attributes,
        missing: Missing,
        stop: &AtomicBool,
    ) -> Result<Segment> {
        Segment::in_order(draft, attributes, missing, stop, order)
    }

    /// Compiles a draft whose nodes `order` numbers.
    pub fn in_order(
        draft: &GraphDraft,
        attributes: &Attributes,
        missing: Missing,
        stop: &AtomicBool,
        order: impl FnOnce(Rows<'_>) -> Order,
    ) -> Result<Segment> {
        let runs = |_: &&Expression| !stop.load(Ordering::Relaxed);
        let go_on = || if stop.load(Ordering::Relaxed) { Err(Error::Cancelled) } else { Ok(()) };
        let split = Split::new(draft);
        let rows = Rows { starts: &split.starts, targets: &split.targets };
        let Order { nodes: ordered, firsts } = order(rows);
        let count = ordered.len();
        let mut number = vec![0u32; count];
        ordered.iter().zip(0..).for_each(|(&node, new)| number[node as usize] = new);

        let mut starts = Vec::with_capacity(count + 1);
        starts.push(0);
        let mut targets: Vec<u32> = Vec::with_capacity(split.targets.len());
        let mut costs: Vec<f64> = Vec::new();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for &node in &ordered {
            row.clear();
            let edges = csr::range(&split.starts, node);
            row.extend(edges.map(|edge| (number[split.targets[edge] as usize], split.cost(edge))));
            // Of edges between the same nodes the cheapest is enough; it comes first.
            row.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            row.dedup_by_key(|(target, _)| *target);
            targets.extend(row.iter().map(|(target, _)| target));
            if !split.costs.is_empty() {
                costs.extend(row.iter().map(|(_, cost)| cost));
            }
            starts.push(targets.len() as u32);
        }
        let mut entered = vec![false; count];
        targets.iter().for_each(|&target| entered[target as usize] = true);
        // Expressions are numbered like nodes, so that those of neighbours are adjacent.
        let (expressions, written) = renumber(&split.expressions, &ordered, draft.expressions.len());
        let written = || written.iter().map(|&number| &draft.expressions[number as usize]);
        let with = |constrained: bool| {
            let nodes = (0..count as u32).filter(|&node| entered[node as usize]);
            nodes.filter(|&node| (expressions[node as usize] != NONE) == constrained).collect::<Vec<u32>>()
        };
        let constrained = with(true);
        let asked = constrained
            .iter()
            .map(|&node| &draft.expressions[split.expressions[ordered[node as usize] as usize] as usize]);
        go_on()?;
        let programs = Programs::new(written().take_while(runs), attributes, missing);
        go_on()?;
        let stored = written().take_while(runs).collect();
        go_on()?;
        let matcher = Compiled::new(asked.take_while(runs), attributes, missing, &[])?;
        go_on()?;
        let edges = |node: usize| &targets[csr::range(&starts, node as u32)];
        let acyclic = (0..count)
            .all(|node| firsts[node] == node as u32 && edges(node).binary_search(&(node as u32)).is_err());
        Ok(Segment {
            ids: Ids::new(&draft.ids),
            nodes: number[..draft.nodes.len()].to_vec().into(),
            owners: ordered
                .iter()
                .map(|&node| if (node as usize) < draft.nodes.len() { node } else { NONE })
                .collect(),
            programs,
            written: stored,
            matcher,
            skipping: OnceLock::new(),
            scores: OnceLock::new(),
            free: with(false).into(),
            constrained: constrained.into(),
            firsts: firsts.into(),
            starts: starts.into(),
            targets: targets.into(),
            costs: costs.into(),
            expressions: expressions.into(),
            acyclic: vec![u32::from(acyclic)].into(),
            trusted: true,
            damaged: AtomicBool::new(false),
        })
    }

    /// How many nodes there are, those of edges included.
    pub fn len(&self) -> usize {
        self.owners.len()
    }

    /// How many edges there are, halves included.
    pub fn edges(&self) -> usize {
        self.targets.len()
    }

    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    pub fn is_acyclic(&self) -> bool {
        self.acyclic[0] == 1
    }

    /// The positions of a node's edges.
    pub fn row(&self, node: u32) -> std::ops::Range<usize> {
        csr::range(&self.starts, node)
    }

    /// The nodes that a node's edges lead to, ascending.
    pub fn children(&self, node: u32) -> &[u32] {
        &self.targets[self.row(node)]
    }

    pub fn target(&self, edge: usize) -> u32 {
        self.targets[edge]
    }

    /// What an edge out of `node` costs; the second half of a split edge is free.
    pub fn cost(&self, node: u32, edge: usize) -> f64 {
        if self.owners[node as usize] == NONE { 0.0 } else { self.costs.get(edge).copied().unwrap_or(1.0) }
    }

    /// An expression by its number; `None` if the file it lives in is damaged.
    pub fn expression(&self, number: u32) -> Option<Expression> {
        self.written.get(number as usize)
    }

    /// An expression by its number. One that is damaged is noted, and false.
    fn expression_or_note(&self, number: u32) -> Expression {
        self.expression(number).unwrap_or_else(|| {
            self.damaged.store(true, Ordering::Relaxed);
            Expression::constant(false)
        })
    }

    /// Whether a part that is read only when it is needed was found to be damaged.
    pub fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed) || self.programs.are_damaged() || self.matcher.is_damaged()
    }

    /// The matcher's expressions in a matcher that can be skipped through, if there is a kind of them.
    pub fn skipping(&self, kind: Option<&dyn MatcherKind>, attributes: &Attributes) -> &dyn Matcher {
        let Some(kind) = kind else { return &self.matcher };
        &**self.skipping.get_or_init(|| {
            let expressions: Vec<Expression> = self
                .constrained
                .iter()
                .map(|&node| self.expression_or_note(self.expressions[node as usize]))
                .collect();
            kind.compile(CompileRequest {
                expressions: &expressions.iter().collect::<Vec<_>>(),
                boost: &|_| 1.0,
                attributes,
                missing: self.programs.missing(),
                normal_form: Limits::default().normal_form,
            })
        })
    }

    /// The scores of all expressions, and the highest possible one.
    pub fn scores(&self, attributes: &Attributes) -> &(Scores, f64) {
        self.scores.get_or_init(|| {
            let numbers = 0..self.written.len() as u32;
            let expressions: Vec<Expression> =
                numbers.map(|number| self.expression_or_note(number)).collect();
            let scores = Scores::new(&expressions, attributes, self.programs.missing());
            let most = (0..expressions.len()).map(|number| scores.bound(number)).fold(0.0, f64::max);
            (scores, most)
        })
    }

    /// How many distinct expressions there are.
    pub fn expression_count(&self) -> usize {
        self.written.len()
    }

    fn words(&self) -> [&Column<u32>; 9] {
        [
            &self.nodes,
            &self.owners,
            &self.firsts,
            &self.starts,
            &self.targets,
            &self.expressions,
            &self.constrained,
            &self.free,
            &self.acyclic,
        ]
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.words().iter().map(|column| column.len()).sum::<usize>()
            + 8 * self.costs.len()
            + self.ids.bytes()
            + self.written.bytes()
            + self.programs.bytes()
            + self.matcher.bytes()
    }

    /// Lays the segment down in a file.
    pub fn write<'a>(&'a self, sections: &mut Sections<'a>) {
        self.words().into_iter().for_each(|column| sections.push(column));
        sections.push(&self.costs);
        self.ids.write(sections);
        self.written.write(sections);
        self.programs.write(sections);
        self.matcher.write(sections);
    }

    /// Finds a segment in a file.
    pub fn read(
        reader: &mut SectionReader,
        attributes: &Attributes,
        missing: Missing,
        trusted: bool,
    ) -> Result<Segment> {
        let (nodes, owners, firsts): (Column<u32>, Column<u32>, Column<u32>) =
            (reader.next()?, reader.next()?, reader.next()?);
        let (starts, targets, expressions): (Column<u32>, Column<u32>, Column<u32>) =
            (reader.next()?, reader.next()?, reader.next()?);
        let (constrained, free, acyclic): (Column<u32>, Column<u32>, Column<u32>) =
            (reader.next()?, reader.next()?, reader.next()?);
        let costs: Column<f64> = reader.next()?;
        let (ids, written) = (Ids::read(reader)?, StoredExpressions::read(reader)?);
        let count = owners.len();
        let whole = ids.len() == nodes.len()
            && [firsts.len(), expressions.len()] == [count; 2]
            && starts.len() == count + 1
            && (costs.is_empty() || costs.len() == targets.len())
            && acyclic.len() == 1;
        if !whole {
            return Err(reader.damaged("the graph is incomplete"));
        }
        let programs = Programs::read(reader, attributes, missing)?;
        let origin = reader.origin().clone();
        // What is too deep to be compiled is evaluated as it was written.
        let expression = |slot: u32| {
            let number = constrained.get(slot as usize).and_then(|&node| expressions.get(node as usize));
            let read = number.and_then(|&number| written.get(number as usize));
            read.ok_or_else(|| origin.damaged("an expression is damaged"))
        };
        let matcher = Compiled::read(reader, attributes, missing, constrained.len(), expression)?;
        let segment = Segment {
            ids,
            nodes,
            owners,
            firsts,
            starts,
            targets,
            costs,
            expressions,
            programs,
            written,
            matcher,
            skipping: OnceLock::new(),
            scores: OnceLock::new(),
            constrained,
            free,
            acyclic,
            trusted,
            damaged: AtomicBool::new(false),
        };
        segment.validate().map_err(|reason| reader.damaged(reason))?;
        Ok(segment)
    }
}

/// The number of each node's expression in the order of the nodes, or [`NONE`], and the expressions of these
/// numbers; those that no node has come last.
fn renumber(of_nodes: &[u32], ordered: &[u32], count: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut numbers, mut written) = (vec![NONE; count], Vec::with_capacity(count));
    let mut renumbered = |old: u32| {
        let number = &mut numbers[old as usize];
        if *number == NONE {
            *number = written.len() as u32;
            written.push(old);
        }
        *number
    };
    let of_node = |node: &u32| of_nodes[*node as usize];
    let expressions =
        ordered.iter().map(of_node).map(|old| if old == NONE { NONE } else { renumbered(old) }).collect();
    (0..count as u32).for_each(|old| {
        renumbered(old);
    });
    (expressions, written)
}

/// A draft whose edges are grouped by source; those with an expression are split in two.
struct Split {
    starts: Vec<u32>,
    targets: Vec<u32>,
    /// Empty where every edge costs 1.
    costs: Vec<f64>,
    /// The number of each node's expression, or [`NONE`].
    expressions: Vec<u32>,
}

impl Split {
    fn new(draft: &GraphDraft) -> Split {
        let mut expressions = draft.nodes.clone();
        expressions.extend(draft.edges.iter().map(|edge| edge.expression).filter(|&found| found != NONE));
        let count = expressions.len();
        let between = draft.nodes.len() as u32..count as u32;
        let starts = csr::starts(count, draft.edges.iter().map(|edge| edge.source).chain(between));
        let mut free = starts.clone();
        let mut targets = vec![0u32; starts[count] as usize];
        let costly = draft.edges.iter().any(|edge| edge.cost != 1.0);
        let mut costs = vec![0.0; if costly { targets.len() } else { 0 }];
        let mut between = draft.nodes.len() as u32;
        for edge in &draft.edges {
            let place = &mut free[edge.source as usize];
            if costly {
                costs[*place as usize] = edge.cost;
            }
            if edge.expression == NONE {
                targets[*place as usize] = edge.target;
            } else {
                targets[*place as usize] = between;
                targets[starts[between as usize] as usize] = edge.target;
                between += 1;
            }
            *place += 1;
        }
        Split { starts, targets, costs, expressions }
    }

    fn cost(&self, edge: usize) -> f64 {
        self.costs.get(edge).copied().unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_numbered_as_nodes_are() {
        // Nodes 0 to 4 have the expressions 2, none, 0, 2 and 3, and are numbered from the last to the first.
        let (expressions, written) = renumber(&[2, NONE, 0, 2, 3], &[4, 3, 2, 1, 0], 5);
        assert_eq!(expressions, [0, 1, 2, NONE, 1]);
        assert_eq!(written, [3, 2, 0, 1, 4]);
    }
}
