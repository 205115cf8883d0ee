//! Which of some of a segment's subscriptions does an event match?
//!
//! An excerpt is a matcher over a few of a segment's slots, made when calls ask for these again and again: those of
//! the highest priorities, or those that a condition on metadata selects. It costs as much as an index of so many.

use super::segment::{Engine, Segment};
use crate::error::Result;
use crate::event::Event;
use crate::matcher::{Scratch, Slot};

/// A matcher over some slots of a segment.
#[derive(Debug)]
pub(super) struct Excerpt {
    /// Ascending.
    slots: Box<[Slot]>,
    engine: Engine,
}

impl Excerpt {
    /// Compiles the expressions in some slots, which ascend. `sample` holds events like those to come.
    pub fn new(segment: &Segment, slots: &[Slot], sample: &[Event]) -> Result<Excerpt> {
        Ok(Excerpt { slots: slots.into(), engine: segment.compile_some(slots, sample)? })
    }

    /// Appends those of the slots that the event matches, ascending, whether removed or not.
    pub fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        self.engine.matcher().matches(event, scratch, found);
        self.translate(&mut found[first..]);
    }

    /// Appends those of the slots that each event matches, as [`Matcher::matches_many`] does.
    pub fn matches_many(
        &self,
        events: &[Event],
        scratch: &mut Scratch,
        found: &mut Vec<Slot>,
        ends: &mut Vec<usize>,
        stopped: &dyn Fn() -> bool,
    ) {
        let first = found.len();
        self.engine.matcher().matches_many(events, scratch, found, ends, stopped);
        self.translate(&mut found[first..]);
    }

    /// From positions in the excerpt to slots of the segment.
    fn translate(&self, found: &mut [Slot]) {
        found.iter_mut().for_each(|slot| *slot = self.slots[*slot as usize]);
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.slots.len() + self.engine.matcher().bytes()
    }
}
