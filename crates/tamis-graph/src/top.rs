//! Which of the nodes that an event reaches have the highest value?
//!
//! This is the ranked version that Broder et al. 2011 leave to future work. A node's value is the score of its
//! expression minus the cost of the cheapest valid path. Nodes are settled in the order of their cost. The upper
//! bound of the remaining values is the highest possible score minus the cost reached; the search ends when that is
//! too low.

use std::cmp::Reverse;

use super::costs::{Costs, Offer};
use super::scratch::{GraphScratch, REACHABLE, RESULT, VALID};
use super::snapshot::{Constraint, GraphSnapshot, NodeNumber, damaged};
use crate::error::Result;
use crate::event::Event;
use crate::id::Id;
use crate::rank::{EventWeights, Scores, Top};

/// A node that an event reaches, with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The node.
    pub id: Id,
    /// Its score less the cost.
    pub value: f64,
    /// What its expression scores on the event; 0 without one.
    pub score: f64,
    /// What the cheapest valid path costs.
    pub cost: f64,
    /// That path, from the source to the node.
    pub path: Vec<Id>,
}

/// The options of a ranked search.
#[derive(Debug, Clone, Copy)]
pub struct Ranking {
    /// How many nodes are wanted.
    pub most: usize,
    /// What a path may cost.
    pub max_cost: f64,
    /// Whether only nodes that no edge leads on from are wanted.
    pub sinks_only: bool,
}

/// Units of work that settling a node takes.
const SETTLING: usize = 32;

impl GraphSnapshot {
    /// The nodes that an event reaches and that are worth most, best first; of equal ones what was added
    /// first. Fails at the event's deadline, if it has one.
    pub fn top(
        &self,
        event: &Event,
        source: NodeNumber,
        ranking: Ranking,
        weights: &EventWeights,
        working: &mut GraphScratch,
    ) -> Result<Vec<Delivery>> {
        self.guard(working, |working| self.best(event, source.0, ranking, weights, working))?
    }

    fn best(
        &self,
        event: &Event,
        source: u32,
        ranking: Ranking,
        weights: &EventWeights,
        working: &mut GraphScratch,
    ) -> Result<Vec<Delivery>> {
        working.begin(self.numbers(), event);
        working.memo.begin(&self.segment.programs, event);
        let (scores, highest) = self.segment.scores(&self.attributes);
        scores.begin(event, &mut working.scores);
        // Bounds are summed in another order than scores.
        let highest = self.highest_score(*highest) * weights.most() * (1.0 + 1e-9);
        let mut costs = std::mem::take(&mut working.costs);
        costs.offers.clear();
        if costs.best.len() < self.numbers() {
            costs.best.resize(self.numbers(), (0.0, 0));
        }
        let mut top: Top<(u32, f64, f64)> = Top::new(ranking.most);
        self.offer(source, 0.0, event, ranking.max_cost, working, &mut costs);
        while let Some(Reverse(Offer { cost, node })) = costs.offers.pop() {
            // Later offers cost no less. A value that is only equal may still come first by its place.
            if !top.admits(highest - cost, 0) {
                break;
            }
            if !working.mark(node, RESULT) {
                continue;
            }
            if working.timer.spend(SETTLING) {
                break;
            }
            if self.is_wanted(node, ranking.sinks_only) {
                let score = self.score(node, event, scores, weights, working);
                top.offer(score - cost, self.insertion(node).into(), (node, score, cost));
            }
            if node != source {
                self.offer(node, cost, event, ranking.max_cost, working, &mut costs);
            }
        }
        let timer = &mut working.timer;
        // Scores requested after the deadline are not available.
        let deliveries = timer.check().and_then(|()| {
            let deliveries = top.into_ranking().map(|((node, score, cost), value)| {
                let id = self.id(node).ok_or_else(damaged)?.to_id();
                let path = self.path(|node| costs.best[node as usize].1, source, node)?;
                // Many long paths are more than the graph.
                if timer.spend(path.len()) {
                    timer.check()?;
                }
                Ok(Delivery { id, value, score, cost, path })
            });
            deliveries.collect()
        });
        working.costs = costs;
        deliveries
    }

    /// Offers the targets of a node's edges, if they accept the event and have no cheaper offer.
    fn offer(
        &self,
        node: u32,
        spent: f64,
        event: &Event,
        max_cost: f64,
        working: &mut GraphScratch,
        costs: &mut Costs,
    ) {
        self.each_edge(node, |child, cost| {
            let cost = (spent + cost).min(f64::MAX);
            working.counts.edges += 1;
            if working.timer.spend(1) || cost > max_cost {
                return;
            }
            if working.mark(child, REACHABLE) {
                if !self.is_valid(child, event, working) {
                    return;
                }
                working.mark(child, VALID);
            } else if !working.has(child, VALID) || costs.best[child as usize].0 <= cost {
                return;
            }
            costs.best[child as usize] = (cost, node);
            costs.offers.push(Reverse(Offer { cost, node: child }));
        });
    }

    /// An upper bound on the score of every node.
    fn highest_score(&self, compiled: f64) -> f64 {
        let changed = self.tail.patches.values().filter_map(|patch| patch.condition.as_ref()?.as_ref());
        let newer = changed.map(|condition| condition.scores(&self.attributes, self.missing).bound(0));
        newer.fold(compiled, f64::max)
    }

    fn score(
        &self,
        node: u32,
        event: &Event,
        scores: &Scores,
        weights: &EventWeights,
        working: &mut GraphScratch,
    ) -> f64 {
        let score = match self.constraint(node) {
            Constraint::Removed | Constraint::None => Some(0.0),
            Constraint::Compiled(number) => {
                scores.score(number as usize, event, weights, &mut working.scores)
            }
            Constraint::Newer(condition) => {
                let scores = condition.scores(&self.attributes, self.missing);
                scores.begin(event, &mut working.newer_scores);
                scores.score(0, event, weights, &mut working.newer_scores)
            }
        };
        // It is valid, so it has one.
        score.unwrap_or(0.0)
    }

    /// The place of a node in the order in which nodes were added.
    fn insertion(&self, node: u32) -> u32 {
        // Nodes added since then are numbered in that order, after everything compiled.
        self.segment.owners.get(node as usize).copied().unwrap_or(node)
    }
}
