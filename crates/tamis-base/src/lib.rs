//! What is every part of the engine built on?
//!
//! An internal part of Tamis without a stable interface: use the crate `tamis`, which re-exports what users need.
//! Nothing here knows expressions, events or documents.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`id`] | what is the id of a subscription, a filter or a node? |
//! | [`truth`] | how do true, false and unknown combine? |
//! | [`files`] | how are files in a folder that others can write opened safely? |
//! | [`reusable`] | how is working memory reset without touching all of it? |
//! | [`parallel`] | how is work on a slice shared by all processors? |
//! | [`error`](mod@error) | what can go wrong? |
//! | [`deadline`] | when must a match give up? |
//! | [`fork`] | may a forked process change what it inherited? |
//! | [`versioned`] | how does a structure change while it is read? |
//! | [`value`] | when are two values equal or ordered? |
//! | [`column`](mod@column) | where do immutable arrays live: in memory or in a mapped file? The only module with unsafe code |
//! | [`sections`], [`csr`], [`strings`], [`compressed_bytes`], [`probing`] | how are files, lists, strings and hash tables laid out in columns? |
//! | [`literals`] | which of many literals does a text start with, end with or contain? |
//! | [`folder`] | how does a folder of files change atomically? |
//! | [`ids`] | which slot has an id? |

#![allow(
    clippy::len_without_is_empty,
    clippy::should_implement_trait,
    reason = "the interface is internal and has what the engine calls"
)]

pub mod column;
pub mod compressed_bytes;
pub mod csr;
pub mod deadline;
pub mod error;
pub mod files;
pub mod folder;
pub mod fork;
pub mod id;
pub mod ids;
pub mod literals;
pub mod parallel;
pub mod probing;
pub mod reusable;
pub mod sections;
pub mod strings;
pub mod truth;
pub mod value;
pub mod versioned;

pub use deadline::Deadline;
pub use error::{Error, Result, SyntaxError};
pub use id::{Id, IdRef};
pub use truth::{Missing, Truth};
