//! What happens to events that cannot be read?

use crate::error::{Error, Result};

/// What to do with an event of a batch that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The batch fails, with an error that says which event it was.
    #[default]
    Raise,
    /// The event is skipped and counted.
    Skip,
    /// The event is skipped and its error kept.
    Collect,
}

impl OnError {
    /// Their names, as users select them.
    pub const NAMES: [(&str, OnError); 3] =
        [("raise", OnError::Raise), ("skip", OnError::Skip), ("collect", OnError::Collect)];
}

/// The events of a batch that were skipped.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RefusedEvents {
    on_error: OnError,
    /// The number of them.
    pub count: usize,
    /// With [`OnError::Collect`], their numbers and what was wrong with them, ascending.
    pub errors: Vec<(u64, Error)>,
}

impl RefusedEvents {
    /// None yet.
    pub fn new(on_error: OnError) -> RefusedEvents {
        RefusedEvents { on_error, count: 0, errors: Vec::new() }
    }

    /// Records an event that could not be read, or fails; also fails if the batch's time is up.
    pub fn note(&mut self, number: u64, error: Error) -> Result<()> {
        match self.on_error {
            _ if matches!(error, Error::Timeout { .. }) => return Err(error),
            OnError::Raise => {
                let (position, name) = (number as usize, "event".to_owned());
                return Err(Error::Item { position, name, cause: Box::new(error) });
            }
            OnError::Skip => {}
            OnError::Collect => self.errors.push((number, error)),
        }
        self.count += 1;
        Ok(())
    }

    /// Adds those of a later part of the batch.
    pub fn append(&mut self, mut later: RefusedEvents) {
        self.count += later.count;
        self.errors.append(&mut later.errors);
    }
}
