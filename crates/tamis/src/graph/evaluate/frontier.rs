//! The evaluators that the graph drives: breadth first from the source.
//!
//! `bfs` evaluates the expression of every node it reaches, `index` has asked the index before, and
//! `auto` begins like the first and turns into the second when that is cheaper.

use super::*;
use crate::graph::snapshot::Constraint;
use crate::graph::working::{RESULT, VALID};

impl Run {
    /// Begins to follow the edges of a node.
    pub(super) fn open(&mut self, node: u32, snapshot: &GraphSnapshot, working: &mut Working) {
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
    }

    pub(super) fn walk(
        &mut self,
        snapshot: &GraphSnapshot,
        event: &Event,
        working: &mut Working,
        wanted: usize,
    ) {
        if self.strategy == Strategy::Index && !self.indexed {
            self.ask_index(snapshot, event, working);
        }
        while working.results.len() < wanted {
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
    fn follow(&mut self, snapshot: &GraphSnapshot, event: &Event, working: &mut Working, wanted: usize) {
        for edge in self.edges.by_ref() {
            let child = if self.copied { working.children[edge] } else { snapshot.segment.target(edge) };
            working.counts.edges += 1;
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
                if working.results.len() >= wanted {
                    return;
                }
            }
        }
    }

    /// Marks all valid nodes.
    fn ask_index(&mut self, snapshot: &GraphSnapshot, event: &Event, working: &mut Working) {
        self.indexed = true;
        snapshot.find_valid(event, working);
        let valid = std::mem::take(&mut working.valid);
        valid.iter().for_each(|&node| {
            working.mark(node, VALID);
        });
        working.counts.retrieved += valid.len();
        working.valid = valid;
    }

    /// Whether the index would find the valid nodes sooner than the edges at hand can be followed with
    /// an evaluation each. By the part of the nodes asked about so far that was valid, of which more
    /// were seen the longer the search has run.
    fn prefers_index(&self, snapshot: &GraphSnapshot, working: &Working) -> bool {
        let evaluated = working.counts.evaluated;
        let constrained = snapshot.segment.constrained.len();
        let valid = (working.results.len() + 1) as f64 / (evaluated + 2) as f64;
        let index = INDEX_BASE + INDEX_VALID * valid * constrained as f64;
        (evaluated + self.edges.len()) as f64 > index
    }
}

/// What asking the index costs, in evaluations of one expression: at least, and per valid node.
const INDEX_BASE: f64 = 256.0;
const INDEX_VALID: f64 = 0.5;
