//! Which memory do the calls of one thread share?

use std::cell::RefCell;

use tamis::index::MatchScratch;
use tamis::value::Timestamp;
use tamis::{Deadline, Event};

/// The memory that calls of one thread take turns in.
#[derive(Default)]
pub(crate) struct Working {
    pub events: Vec<Event>,
    pub scratch: MatchScratch,
}

impl Working {
    /// The memory of one event and of its matches.
    pub fn for_one(&mut self) -> (&mut Event, &mut MatchScratch) {
        if self.events.is_empty() {
            self.events.push(Event::default());
        }
        (&mut self.events[0], &mut self.scratch)
    }
}

/// The memory of the event that comes after so many; what is asked about it fails at the deadline.
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
    /// Working memory, reused from call to call.
    static WORKING: RefCell<Working> = RefCell::default();
}

/// Runs `use_it` with this thread's working memory, or with new memory where Python code that
/// decoding runs calls back into an index.
pub(crate) fn with_working<T>(use_it: impl FnOnce(&mut Working) -> T) -> T {
    WORKING.with(|working| match working.try_borrow_mut() {
        Ok(mut working) => use_it(&mut working),
        Err(_) => use_it(&mut Working::default()),
    })
}
