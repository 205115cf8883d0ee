//! Which of the subscriptions that an event matches have the highest priority?
//!
//! The slots of a large segment with the highest priorities are in *tiers*, each with an excerpt
//! that is compiled when it is first needed. Tiers of all segments are matched in the order of their highest priority,
//! until no other tier can contribute a result. If more results are needed, the remaining slots are matched as a whole.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::selection::Selection;
use super::snapshot::{MatchScratch, Snapshot};
use super::tiers::Tier;
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::matcher::Slot;

/// The place of a slot in the order of priorities: lower is better.
type Rank = (Reverse<i64>, u64);

/// One pass of matching: some slots of one segment.
struct Pass<'s> {
    /// The best rank that its slots can have.
    best: Rank,
    position: usize,
    slots: Slots<'s>,
}

/// The slots of a pass.
enum Slots<'s> {
    Tier(&'s Tier),
    /// What is not in a tier: everything after this rank.
    Rest((Reverse<i64>, Slot)),
    All,
}

impl Snapshot {
    /// The `most` matching subscriptions with the highest priorities, and their priorities; among equal priorities,
    /// the one added first comes first.
    ///
    /// Fails only at the event's deadline, if it has one, or if a file that was opened without verification turns out
    /// to be damaged.
    pub fn first(
        &self,
        event: &Event,
        most: usize,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
    ) -> Result<Vec<(IdRef<'_>, i64)>> {
        self.sample.observe(event, &mut scratch.events);
        // A heap with the worst of them on top.
        let mut first: BinaryHeap<Rank> = BinaryHeap::with_capacity(most.min(1024));
        if most > 0 {
            for Pass { best, position, slots } in self.passes(event, selection)? {
                if first.len() == most && first.peek().is_some_and(|worst| *worst < best) {
                    break;
                }
                self.match_pass(event, position, slots, selection, scratch)?;
                let segment = &*self.segments[position];
                for &slot in &scratch.slots {
                    let rank = (Reverse(segment.priority(slot)), place(position, slot));
                    if first.len() < most {
                        first.push(rank);
                    } else if let Some(mut worst) = first.peek_mut()
                        && rank < *worst
                    {
                        *worst = rank;
                    }
                }
            }
        }
        let found = first.into_sorted_vec().into_iter().map(|(Reverse(priority), place)| {
            let (position, slot) = ((place >> 32) as usize, place as Slot);
            Ok((self.segments[position].id(slot)?, priority))
        });
        found.collect()
    }

    /// The passes over all segments, the ones with the best possible ranks first.
    fn passes(&self, event: &Event, selection: Option<&Selection>) -> Result<Vec<Pass<'_>>> {
        let mut passes = Vec::with_capacity(self.segments.len());
        for (position, segment) in self.segments.iter().enumerate() {
            let chosen = self.admission(position, event, selection).chosen();
            // If a condition selects few slots, they are matched in one pass.
            let excerpted = match chosen {
                Some(chosen) if chosen.is_empty() => continue,
                Some(chosen) => segment.excerpt_of(chosen, &self.sample, 1)?.is_some(),
                None => false,
            };
            let tiers = segment.tiers().filter(|_| !excerpted).map_or(&[][..], |tiers| &tiers.list);
            for tier in tiers {
                let best = (tier.best.0, place(position, tier.best.1));
                passes.push(Pass { best, position, slots: Slots::Tier(tier) });
            }
            passes.push(match tiers.last() {
                // The next one either has the same priority and was added later, or has a lower priority.
                Some(Tier { worst, .. }) => {
                    let best = (worst.0, place(position, worst.1) + 1);
                    Pass { best, position, slots: Slots::Rest(*worst) }
                }
                None => {
                    let best = (Reverse(segment.highest_priority()), place(position, 0));
                    Pass { best, position, slots: Slots::All }
                }
            });
        }
        passes.sort_unstable_by_key(|pass| pass.best);
        Ok(passes)
    }

    /// Finds the selected slots of a pass that the event matches, in `scratch.slots`.
    fn match_pass(
        &self,
        event: &Event,
        position: usize,
        slots: Slots<'_>,
        selection: Option<&Selection>,
        scratch: &mut MatchScratch,
    ) -> Result<()> {
        let segment = &*self.segments[position];
        match slots {
            Slots::All => self.find_slots(position, event, selection, scratch),
            Slots::Rest(worst) => {
                self.find_slots(position, event, selection, scratch)?;
                scratch.slots.retain(|&slot| (Reverse(segment.priority(slot)), slot) > worst);
                Ok(())
            }
            Slots::Tier(tier) => {
                scratch.slots.clear();
                scratch.scratch.begin_within(event.deadline());
                let make = |slots: &[Slot]| segment.excerpt(slots, &self.sample.events());
                tier.excerpt(make)?.matches(event, &mut scratch.scratch, &mut scratch.slots);
                scratch.scratch.check_deadline()?;
                self.keep(&self.admission(position, event, selection), event, scratch)
            }
        }
    }
}

fn place(position: usize, slot: Slot) -> u64 {
    (position as u64) << 32 | u64::from(slot)
}
