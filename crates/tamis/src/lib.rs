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
//! Data flows one way, and a module knows only the ones above it:
//!
//! | module | the question it answers |
//! |---|---|
//! | `value` | what is a value, and when are two equal or ordered? |
//! | `truth` | how do true, false and unknown combine? |
//! | `xml` | which of many XPath filters does a document satisfy? |
//! | `expression` | what is asked, and how is it written, read and simplified? |
//! | `event` | what does an event say about the attributes that are asked about? |
//! | `predicate` | which predicates does an event make true? |
//! | `rank` | how well does an event match an expression, and which match best? |
//! | `matcher` | which of a set of expressions does an event satisfy? |
//! | `explain` | why, or why not? |
//! | `index` | how does all of it change while it is being read? |
//! | `lint` | which subscriptions are likely not to ask what was meant? |
//! | `graph` | which nodes of a graph does an event reach over nodes and edges that take it? |

// The random expressions of the integration tests serve unit tests too, under the name they import.
#[cfg(test)]
extern crate self as tamis;

mod column;
mod deadline;
mod error;
pub mod event;
pub mod explain;
pub mod expression;
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
mod sections;
mod strings;
mod texts;
mod truth;
pub mod value;
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
