//! How is one event matched?

pub(super) mod follow;
pub(super) mod load;
pub(super) mod program;
pub(super) mod scratch;
