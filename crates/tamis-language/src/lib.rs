//! What does a subscription ask?
//!
//! An internal part of Tamis without a stable interface: use the crate `tamis`, which re-exports what users need.
//! Nothing here knows events or matchers.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`limits`] | how large may an input be? |
//! | [`expression`] | what does a subscription ask, as text, JSON, bytes, a tree and a normal form? |
//!
//! With the feature `xml` an expression may ask `xpath`; without it, that is an error.

#![allow(clippy::len_without_is_empty, reason = "the interface is internal and has what the engine calls")]

pub mod expression;
pub mod limits;

// The modules of the crates that this one depends on have the same paths here as in all crates of the engine.
use tamis_base::{compressed_bytes, error, sections, strings, truth, value};
#[cfg(feature = "xml")]
use tamis_xml as xml;

pub use expression::{Expression, parse};
pub use limits::Limits;
