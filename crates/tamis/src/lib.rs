//! Tamis finds, for every event of a stream, which of many standing Boolean expressions it satisfies.
//!
//! ```
//! use tamis::{Index, Limits, Missing, parse};
//!
//! let index = Index::new(Missing::Unknown, Limits::default());
//! let expression = parse("category = 'sports' and not source in ('espn')", index.limits())?;
//! index.add("no-espn".into(), expression, None)?;
//! assert_eq!(index.match_json(br#"{"category": "sports", "source": "bbc"}"#)?, ["no-espn".into()]);
//! assert_eq!(index.match_json(br#"{"category": "sports"}"#)?, []);   // unknown is not true
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! A subscription is an id with an [`Expression`], which is evaluated on an [`Event`]. An [`Index`] holds many
//! subscriptions and can change while other threads match. [`graph`] finds the nodes of a graph of expressions that an
//! event reaches, and `xml` finds the XPath filters that a document satisfies. Data flows one way: ARCHITECTURE.md
//! follows an expression and an event through the modules and lists the modules in the order of their dependencies.
//!
//! Two features are on by default. Without `arrow` there is no Arrow in or out; without `xml` there is no module `xml`, and
//! `xpath` in an expression is an error.

// The random expressions of the integration tests serve unit tests too, under the name they import.
#[cfg(test)]
extern crate self as tamis;

mod column;
mod compressed_bytes;
mod csr;
mod deadline;
mod error;
pub mod event;
pub mod explain;
pub mod expression;
mod files;
mod folder;
mod fork;
pub mod graph;
mod id;
mod ids;
pub mod index;
mod limits;
pub mod lint;
mod literals;
pub mod matcher;
mod predicate;
mod probing;
pub mod rank;
mod reusable;
mod sections;
mod strings;
mod truth;
pub mod value;
mod versioned;
#[cfg(feature = "xml")]
pub mod xml;

/// How are saved folders read, and what do their manifests say?
pub mod storage {
    pub use crate::folder::manifest::{Manifest, ManifestKind};
    pub use crate::sections::OpenOptions;
}

pub use deadline::Deadline;
pub use error::{Error, Result, SyntaxError};
pub use event::Event;
pub use expression::{Expression, parse};
pub use id::{Id, IdRef};
pub use index::Index;
pub use limits::Limits;
pub use truth::{Missing, Truth};
