//! Who answers for the elements of lists?
//!
//! The index of what is asked of elements is built by a layer that stands above events; here is what that
//! layer provides.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::Attributes;
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;

/// The expressions that are asked of the elements of a list.
pub(crate) trait ElementIndex: Send + Sync + fmt::Debug {
    /// Counts predicates that ask for these expressions; all, or none where one fails.
    fn retain(&self, texts: &[&str]) -> Result<()>;
    /// Takes some of them back.
    fn release(&self, texts: &[&str]);
    /// The expressions at this moment.
    fn snapshot(&self) -> Arc<dyn ElementSnapshot>;
    /// Waits until nothing is left to merge.
    fn settle(&self);
    /// As [`ElementIndex::settle`], but not much longer than this; whether nothing is left.
    fn settle_within(&self, patience: Duration) -> bool;
}

/// The expressions that are asked of the elements of a list, at one moment.
pub(crate) trait ElementSnapshot: Send + Sync + fmt::Debug {
    /// The attributes to decode elements by.
    fn attributes(&self) -> &Attributes;
    /// Calls `found` with every expression that each of the elements satisfies: its number, or its text where another
    /// expression has the same number.
    fn satisfied(&self, elements: &[Box<Event>], found: &mut dyn FnMut(IdRef<'_>)) -> Result<()>;
}

/// Makes an index for the elements of a list.
pub(crate) type MakeIndex = fn(Missing, &Limits, &TimeZone) -> Arc<dyn ElementIndex>;
