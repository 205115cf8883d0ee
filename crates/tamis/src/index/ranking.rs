//! Which subscriptions does an event match best?
//!
//! Segments are ranked one after the other into one list of the best, so the results of one
//! set the threshold for the next. A matcher with posting lists skips expressions that cannot reach the
//! threshold. With any other matcher, matches are scored in the order of their upper bounds, until no
//! remaining match can reach it.

use std::collections::{BinaryHeap, HashSet};

use super::condition::ConditionScratch;
use super::segment::Segment;
use super::selection::{Admission, Selection};
use super::snapshot::{MatchScratch, Snapshot};

use crate::deadline::Timer;
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::matcher::extend::Visit;
use crate::matcher::{Counters, Pruning, Slot};
use crate::rank::{EventWeights, ScoreScratch, Scores, Top};

/// Units of work that scoring a match counts as.
const SCORING: usize = 32;

/// A segment and a slot in it.
type SegmentSlot = (usize, Slot);

impl Snapshot {
    /// The `most` subscriptions that the event matches best, with their scores, best first; among equal scores, the
    /// one added first comes first.
    ///
    /// Fails only at the event's deadline, if it has one, or if a file that was opened without verification turns out
    /// to be damaged.
    pub fn top(
        &self,
        event: &Event,
        most: usize,
        weights: &EventWeights,
        scratch: &mut MatchScratch,
    ) -> Result<Vec<(IdRef<'_>, f64)>> {
        self.top_selected(event, most, weights, None, scratch)
    }

    /// Like [`Snapshot::top`], for the subscriptions that a condition selects, if there is one.
    pub fn top_selected(
        &self,
        event: &Event,
        most: usize,
        weights: &EventWeights,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
    ) -> Result<Vec<(IdRef<'_>, f64)>> {
        self.sample.observe(event, &mut scratch.events);
        let mut top = Top::new(most);
        if most > 0 {
            for position in 0..self.segments.len() {
                self.rank_segment(position, event, weights, selection, scratch, &mut top)?;
            }
        }
        let ids = top
            .into_ranking()
            .map(|((position, slot), score)| Ok((self.segments[position].id(slot)?, score)));
        ids.collect()
    }

    fn rank_segment(
        &self,
        position: usize,
        event: &Event,
        weights: &EventWeights,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
        top: &mut Top<SegmentSlot>,
    ) -> Result<()> {
        let segment = &*self.segments[position];
        let (scores, coarse) = segment.scores()?;
        scores.begin(event, &mut scratch.scores);
        if let Some(matcher) = segment.matcher().ranked() {
            scratch.visited.clear();
            let MatchScratch { scratch, scores: scoring, visited, condition, .. } = scratch;
            let mut ranking = Ranking {
                segment,
                position,
                admission: self.admission(position, event, selection),
                timer: Timer::new(event.deadline()),
                condition,
                event,
                weights,
                scores,
                scoring,
                visited,
                top,
            };
            matcher.rank(event, weights, scratch, &mut ranking);
            return ranking.timer.check();
        }
        self.find_slots(position, event, selection, scratch)?;
        let place = |slot: Slot| (position as u64) << 32 | u64::from(slot);
        let score = |slot: Slot, scoring: &mut ScoreScratch| {
            let score = scores.score(slot as usize, event, weights, scoring)?;
            Some((score * segment.boost(slot)).min(f64::MAX))
        };
        if scratch.scratch.pruning() == Pruning::None {
            for &slot in &scratch.slots {
                if let Some(score) = score(slot, &mut scratch.scores) {
                    top.offer(score, place(slot), (position, slot));
                }
            }
            return scratch.scores.timer.check();
        }
        // A bound is summed like a score, but the event's highest weight multiplies the sum instead of its terms, so
        // rounding may make it smaller.
        let exact = weights.is_empty() || (coarse && weights.is_coarse());
        let most = weights.most() * if exact { 1.0 } else { 1.0 + 1e-9 };
        let bound = |slot: Slot| (scores.bound(slot as usize) * most * segment.boost(slot)).min(f64::MAX);
        let mut waiting: BinaryHeap<PendingMatch> =
            scratch.slots.iter().map(|&slot| PendingMatch { bound: bound(slot), slot }).collect();
        while let Some(PendingMatch { bound, slot }) = waiting.pop() {
            // The remaining matches score no higher, or were added later.
            if !top.admits(bound, place(slot)) {
                break;
            }
            if let Some(score) = score(slot, &mut scratch.scores) {
                top.offer(score, place(slot), (position, slot));
            }
        }
        scratch.scores.timer.check()
    }
}

/// A match to be scored; the one with the highest possible score comes first.
#[derive(PartialEq)]
struct PendingMatch {
    bound: f64,
    slot: Slot,
}

impl Eq for PendingMatch {}

impl Ord for PendingMatch {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.bound.total_cmp(&other.bound).then(other.slot.cmp(&self.slot))
    }
}

impl PartialOrd for PendingMatch {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Scores what a matcher finds.
struct Ranking<'a> {
    segment: &'a Segment,
    position: usize,
    admission: Admission<'a>,
    timer: Timer,
    condition: &'a mut Option<Box<ConditionScratch>>,
    event: &'a Event,
    weights: &'a EventWeights,
    scores: &'a Scores,
    scoring: &'a mut ScoreScratch,
    /// A subscription may be found by several of its conjunctions.
    visited: &'a mut HashSet<Slot, ahash::RandomState>,
    top: &'a mut Top<SegmentSlot>,
}

impl Ranking<'_> {
    fn place(&self, slot: Slot) -> u64 {
        (self.position as u64) << 32 | u64::from(slot)
    }
}

impl Visit for Ranking<'_> {
    fn visit(&mut self, slot: Slot) {
        if !self.timer.spend(SCORING)
            && self.admission.admits(slot, self.condition, &mut self.timer)
            && self.visited.insert(slot)
        {
            let score = self.scores.score(slot as usize, self.event, self.weights, self.scoring);
            if let Some(score) = score {
                let score = (score * self.segment.boost(slot)).min(f64::MAX);
                self.top.offer(score, self.place(slot), (self.position, slot));
            }
        }
    }

    fn threshold(&self, slot: Slot) -> f64 {
        self.top.threshold(self.place(slot))
    }
}

impl MatchScratch {
    /// The work done with this scratch since the last call: what matchers read, and how many
    /// expressions were scored.
    pub fn take_counters(&mut self) -> Counters {
        let scored = std::mem::take(&mut self.scores.scored);
        Counters { scored, ..self.scratch.take_counters() }
    }

    /// How rankings are pruned; tightly by default.
    pub fn set_pruning(&mut self, pruning: Pruning) {
        self.scratch.set_pruning(pruning);
    }
}
