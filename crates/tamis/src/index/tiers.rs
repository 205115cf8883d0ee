//! Which slots of a segment have the highest priorities?

use std::cmp::Reverse;
use std::sync::OnceLock;

use super::excerpt::Excerpt;
use crate::error::Result;
use crate::matcher::Slot;

/// The number of slots in the first tier, the factor by which tiers grow, and the largest part of a segment that all
/// tiers may cover.
const SMALLEST: usize = 512;
const GROWTH: usize = 16;
const PART: usize = 8;

/// The slots of a segment with the highest priorities.
#[derive(Debug)]
pub(super) struct Tiers {
    pub list: Vec<Tier>,
}

/// One tier, which is matched as a whole.
#[derive(Debug)]
pub(super) struct Tier {
    /// Ascending.
    slots: Box<[Slot]>,
    /// The priorities of its best and its worst slot, and these slots.
    pub best: (Reverse<i64>, Slot),
    pub worst: (Reverse<i64>, Slot),
    excerpt: OnceLock<Excerpt>,
}

impl Tiers {
    /// The tiers of a segment with this many slots; `priority` returns the priority of a slot.
    pub fn new(len: usize, priority: impl Fn(Slot) -> i64) -> Tiers {
        let allowed = len / PART;
        let sizes: Vec<usize> = std::iter::successors(Some(SMALLEST), |size| Some(size * GROWTH))
            .take_while(|&size| size <= allowed)
            .collect();
        let Some(&most) = sizes.last() else { return Tiers { list: Vec::new() } };
        let mut ranked: Vec<(Reverse<i64>, Slot)> =
            (0..len as Slot).map(|slot| (Reverse(priority(slot)), slot)).collect();
        ranked.select_nth_unstable(most);
        ranked.truncate(most);
        ranked.sort_unstable();
        let (mut start, mut tiers) = (0, Vec::with_capacity(sizes.len()));
        for end in sizes {
            let ranked = &ranked[start..end];
            let mut slots: Vec<Slot> = ranked.iter().map(|(_, slot)| *slot).collect();
            slots.sort_unstable();
            let (best, worst) = (ranked[0], ranked[ranked.len() - 1]);
            tiers.push(Tier { slots: slots.into(), best, worst, excerpt: OnceLock::new() });
            start = end;
        }
        Tiers { list: tiers }
    }
}

impl Tier {
    /// The matcher of its slots, created on first use.
    pub fn excerpt(&self, make: impl FnOnce(&[Slot]) -> Result<Excerpt>) -> Result<&Excerpt> {
        if let Some(excerpt) = self.excerpt.get() {
            return Ok(excerpt);
        }
        let excerpt = make(&self.slots)?;
        Ok(self.excerpt.get_or_init(|| excerpt))
    }
}
