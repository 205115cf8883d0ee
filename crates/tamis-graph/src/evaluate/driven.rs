//! The evaluators that the index drives: figures 3, 5, 6 and 8.

use super::*;
use crate::scratch::{RESULT, VALID};

impl Run {
    /// Marks the successors of the source, and finds the first position to request from the index.
    pub(super) fn begin_driven(&mut self, snapshot: &GraphSnapshot, working: &mut GraphScratch) {
        let strategy = self.strategy;
        snapshot.each_child(self.source, |child| {
            working.counts.edges += 1;
            reach(strategy, snapshot, working, child);
        });
        self.skip = match strategy {
            Strategy::Dag => self.source + 1,
            Strategy::General => 0,
            _ => working.ahead.peek().map_or(END, |Reverse(first)| *first),
        };
    }

    /// Takes one node from the index and follows it; `None` when there is none left.
    pub(crate) fn step(
        &mut self,
        snapshot: &GraphSnapshot,
        working: &mut GraphScratch,
        cursor: &mut impl Cursor,
    ) -> Option<u32> {
        if self.skip == END {
            return None;
        }
        let node = cursor.next(self.skip)?;
        working.counts.retrieved += 1;
        let reachable = working.has(node, REACHABLE);
        match self.strategy {
            Strategy::Dag | Strategy::DagSkipping => {
                if reachable {
                    self.deliver(snapshot, working, node);
                }
                self.skip = match self.strategy {
                    Strategy::Dag => node + 1,
                    _ => least_above(working, node),
                };
            }
            Strategy::General => {
                working.mark(node, VALID);
                if reachable {
                    self.deliver(snapshot, working, node);
                }
                self.skip = node + 1;
            }
            _ => {
                let first = snapshot.first(node);
                if working.has(first, COMPONENT) {
                    working.mark(node, VALID);
                    if reachable {
                        self.deliver(snapshot, working, node);
                    }
                    self.skip = node + 1;
                } else {
                    self.skip = least_above(working, first);
                }
            }
        }
        Some(node)
    }

    /// Makes a node a result, and all valid nodes that this makes reachable: `updatePath`, with the
    /// results themselves as the list of nodes to go on from.
    fn deliver(&self, snapshot: &GraphSnapshot, working: &mut GraphScratch, node: u32) {
        let mut next = working.results.len();
        if !working.mark(node, RESULT) {
            return;
        }
        working.results.push(node);
        while let Some(&node) = working.results.get(next) {
            next += 1;
            if node == self.source {
                continue;
            }
            snapshot.each_child(node, |child| {
                working.counts.edges += 1;
                reach(self.strategy, snapshot, working, child);
                // Valid nodes are noted by the general evaluators only.
                if working.has(child, VALID) && working.mark(child, RESULT) {
                    working.results.push(child);
                }
            });
        }
    }
}

/// Marks a node as reachable, and what the strategy may skip to because of it.
fn reach(strategy: Strategy, snapshot: &GraphSnapshot, working: &mut GraphScratch, node: u32) {
    let new = working.mark(node, REACHABLE);
    match strategy {
        Strategy::DagSkipping if new => working.ahead.push(Reverse(node)),
        Strategy::GeneralSkipping if new => {
            let first = snapshot.first(node);
            if working.mark(first, COMPONENT) {
                working.ahead.push(Reverse(first));
            }
        }
        _ => {}
    }
}

/// The least number that may be skipped to above this one: `minMoreThan`.
fn least_above(working: &mut GraphScratch, number: u32) -> u32 {
    while let Some(&Reverse(least)) = working.ahead.peek() {
        if least > number {
            return least;
        }
        working.ahead.pop();
    }
    END
}
