//! Scratch memory shared by the calls of one thread.

use std::cell::RefCell;

use tamis::index::MatchScratch;
use tamis::value::Timestamp;
use tamis::{Deadline, Event};

/// The memory that the calls of one thread reuse.
#[derive(Default)]
pub(crate) struct Working {
    pub events: Vec<Event>,
    pub scratch: MatchScratch,
}

impl Working {
    /// The memory for one event and its matches.
    pub fn for_one(&mut self) -> (&mut Event, &mut MatchScratch) {
        if self.events.is_empty() {
            self.events.push(Event::default());
        }
        (&mut self.events[0], &mut self.scratch)
    }
}

/// The event at position `count`, created if needed, with its time and deadline set.
pub(crate) fn next_event(
    events: &mut Vec<Event>,
    count: usize,
    now: Timestamp,
    deadline: Option<Deadline>,
) -> &mut Event {
    events.resize_with(events.len().max(count + 1), Event::default);
    let event = &mut events[count];
    event.set_now(Some(now));
    event.set_deadline(deadline);
    event
}

thread_local! {
    /// Scratch memory, reused from call to call.
    static WORKING: RefCell<Working> = RefCell::default();
}

/// Runs `use_it` with this thread's scratch memory; with new memory if Python code that runs while
/// decoding calls into an index again.
pub(crate) fn with_working<T>(use_it: impl FnOnce(&mut Working) -> T) -> T {
    WORKING.with(|working| match working.try_borrow_mut() {
        Ok(mut working) => use_it(&mut working),
        Err(_) => use_it(&mut Working::default()),
    })
}
