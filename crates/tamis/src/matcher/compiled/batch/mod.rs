//! How are many events matched together, and when does that pay?

pub(super) mod event_set;
pub(super) mod matching;
pub(super) mod sparse;
pub(super) mod state;
