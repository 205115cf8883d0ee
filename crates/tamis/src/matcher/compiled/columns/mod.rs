//! What does a compiled matcher store?
//!
//! Immutable columns, in memory or in a mapped file, and how they are searched. Nothing here knows how they are built, or
//! how an event is matched.

pub(super) mod bits;
pub(super) mod entry_list;
pub(super) mod keys;
pub(super) mod opcodes;
pub(super) mod patterns;
pub(super) mod ranges;
pub(super) mod values;
