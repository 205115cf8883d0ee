//! The evaluators that the graph drives: breadth first from the source.
//!
//! `bfs` evaluates the expression of every node it reaches, `index` finds all valid nodes through the index first, and
//! `auto` starts like `bfs` and switches to `index` when that is cheaper.

use std::ops::Range;

use super::*;
use crate::draft::NONE;
use crate::scratch::{RESULT, VALID};
use crate::snapshot::Constraint;

impl Run {
    /// Begins to follow the edges of a node.
    pub(super) fn open(&mut self, node: u32, snapshot: &GraphSnapshot, working: &mut GraphScratch) {
        self.copied = !snapshot.tail.is_empty();
        if self.copied {
            let mut children = std::mem::take(&mut working.children);
            children.clear();
            snapshot.each_child(node, |child| children.push(child));
            self.edges = 0..children.len();
            working.children = children;
        } else {
            self.edges = snapshot.segment.row(node);
        }
        if (node as usize) < snapshot.segment.len() {
            working.waiting = working.waiting.saturating_sub(snapshot.segment.row(node).len());
        }
    }

    pub(super) fn walk(
        &mut self,
        snapshot: &GraphSnapshot,
        event: &Event,
        working: &mut GraphScratch,
        wanted: usize,
    ) {
        if self.strategy == Strategy::Index && !self.indexed {
            self.ask_index(snapshot, event, working);
        }
        while working.results.len() < wanted && !working.timer.spend(1) {
            if self.edges.is_empty() {
                match working.results.get(self.expanded) {
                    None => {
                        self.done = true;
                        return;
                    }
                    Some(&node) => {
                        self.expanded += 1;
                        if node != self.source {
                            self.open(node, snapshot, working);
                        }
                    }
                }
                continue;
            }
            if self.strategy == Strategy::Auto && !self.indexed && self.prefers_index(snapshot, working) {
                self.ask_index(snapshot, event, working);
            }
            self.follow(snapshot, event, working, wanted);
        }
    }

    /// Follows edges until there are enough results.
    fn follow(&mut self, snapshot: &GraphSnapshot, event: &Event, working: &mut GraphScratch, wanted: usize) {
        let end = self.edges.end;
        // A caller that wants few results may not want more, and a small graph is in the caches anyway.
        let few = wanted.saturating_sub(working.results.len()) < AHEAD;
        let near = self.copied || few || snapshot.segment.len() < LARGE;
        let mut ahead = if near { end } else { self.edges.start };
        for edge in self.edges.by_ref() {
            if edge == ahead {
                ahead = end.min(edge + AHEAD);
                prefetch(edge..ahead, self.indexed, snapshot, working);
            }
            let child = if self.copied { working.children[edge] } else { snapshot.segment.target(edge) };
            working.counts.edges += 1;
            if working.timer.spend(1) {
                return;
            }
            if !working.mark(child, REACHABLE) {
                continue;
            }
            let valid = match self.indexed {
                true => working.has(child, VALID) || matches!(snapshot.constraint(child), Constraint::None),
                false => snapshot.is_valid(child, event, working),
            };
            if valid {
                working.mark(child, RESULT);
                working.results.push(child);
                if self.strategy == Strategy::Auto && (child as usize) < snapshot.segment.len() {
                    working.waiting += snapshot.segment.row(child).len();
                }
                if working.results.len() >= wanted {
                    return;
                }
            }
        }
    }

    /// Marks all valid nodes.
    fn ask_index(&mut self, snapshot: &GraphSnapshot, event: &Event, working: &mut GraphScratch) {
        self.indexed = true;
        snapshot.find_valid(event, working);
        let valid = std::mem::take(&mut working.valid);
        valid.iter().for_each(|&node| {
            working.mark(node, VALID);
        });
        working.counts.retrieved += valid.len();
        working.valid = valid;
    }

    /// Whether the index would find the valid nodes sooner than the edges known to be ahead can be followed
    /// with an evaluation each. How many of those nodes are new, and how many nodes are valid, is taken
    /// from what this search has seen.
    fn prefers_index(&self, snapshot: &GraphSnapshot, working: &GraphScratch) -> bool {
        let ahead = self.edges.len() + working.waiting;
        if ahead < INDEX_BASE {
            return false;
        }
        let (evaluated, edges) = (working.counts.evaluated as f64, working.counts.edges as f64);
        let new = (evaluated + 1.0) / (edges + 1.0);
        let valid = (working.results.len() as f64 + 1.0) / (evaluated + 2.0);
        let constrained = snapshot.segment.constrained.len() as f64;
        ahead as f64 * new.min(1.0) > INDEX_BASE as f64 + INDEX_VALID * valid.min(1.0) * constrained
    }
}

/// Graphs of fewer nodes stay in the caches.
const LARGE: usize = 1 << 17;

/// Children that are read ahead together.
const AHEAD: usize = 16;

/// Prefetches what following these edges will need, so that the cache misses overlap.
fn prefetch(edges: Range<usize>, indexed: bool, snapshot: &GraphSnapshot, working: &GraphScratch) {
    let segment = &snapshot.segment;
    let mut expressions = [NONE; AHEAD];
    let (mut count, mut read) = (0, 0);
    for edge in edges {
        let child = segment.target(edge);
        let expression = segment.expressions.get(child as usize).copied().unwrap_or(NONE);
        read ^= segment.starts.get(child as usize).copied().unwrap_or(0);
        if expression != NONE && !working.has(child, REACHABLE) {
            expressions[count] = expression;
            count += 1;
        }
    }
    std::hint::black_box(read);
    if !indexed {
        segment.programs.prefetch(&mut expressions[..count], &working.memo);
    }
}

/// The cost of asking the index, in evaluations of one expression: a minimum, and per valid node. On the workload
/// *exchange* a valid node takes the index 30 ns, and an evaluation takes 80 ns with everything around it; in doubt,
/// nodes are evaluated, because the first results come at once.
const INDEX_BASE: usize = 256;
const INDEX_VALID: f64 = 0.5;
