//! What do functions depend on besides their arguments?

use crate::value::{TimeZone, Timestamp};

/// What functions depend on besides their arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Context<'a> {
    /// Where times without an offset are at home; what needs to know has no result without it.
    pub zone: Option<&'a TimeZone>,
    /// The moment that `now()` is.
    pub now: Option<Timestamp>,
    /// Whether an argument is a float, so that arithmetic is IEEE's.
    pub floating: bool,
}
