//! How many events does each subscription match?

use super::selection::Selection;
use super::snapshot::{MatchScratch, Snapshot};
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::matcher::Slot;

/// How many events the subscriptions of a snapshot have matched so far.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// By segment and slot; empty for a segment without matches.
    segments: Vec<Vec<u64>>,
}

impl Counts {
    /// Adds the counts of other events with the same snapshot.
    pub fn add(&mut self, other: Counts) {
        if self.segments.len() < other.segments.len() {
            self.segments.resize_with(other.segments.len(), Vec::new);
        }
        for (all, more) in self.segments.iter_mut().zip(other.segments) {
            if all.is_empty() {
                *all = more;
            } else {
                all.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
        }
    }
}

impl Snapshot {
    /// Counts, for every subscription, the events that match it.
    pub fn count_many(
        &self,
        events: &[Event],
        selection: Option<&Selection>,
        counts: &mut Counts,
        scratch: &mut MatchScratch,
        stopped: &dyn Fn() -> bool,
    ) -> Result<()> {
        counts.segments.resize_with(self.segments.len(), Vec::new);
        self.matching_many(events, selection, scratch, stopped, |_, position, slots| {
            let segment = &mut counts.segments[position];
            if segment.is_empty() {
                segment.resize(self.segments[position].len(), 0);
            }
            slots.iter().for_each(|&slot| segment[slot as usize] += 1);
            Ok(())
        })
    }

    /// The subscriptions with matches, each with its number of events, in insertion order.
    pub fn counted<'s>(&'s self, counts: &'s Counts) -> impl Iterator<Item = Result<(IdRef<'s>, u64)>> {
        self.segments.iter().zip(&counts.segments).flat_map(|(segment, counts)| {
            let slots = counts.iter().zip(0 as Slot..).filter(|(count, _)| **count > 0);
            slots.map(|(&count, slot)| Ok((segment.id(slot)?, count)))
        })
    }
}
