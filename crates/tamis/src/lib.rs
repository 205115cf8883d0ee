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
mod event;
mod explain;
mod expression;
mod folder;
mod fork;
pub mod graph;
mod id;
mod ids;
mod index;
mod limits;
mod lint;
mod literals;
mod matcher;
mod predicate;
mod probing;
mod rank;
mod sections;
mod strings;
mod texts;
mod truth;
mod value;
pub mod xml;

pub use deadline::Deadline;
pub use error::{Error, Result, SyntaxError};
pub use event::{
    ArrowEvents, AttributeId, Attributes, Event, Hierarchy, Mention, OnError, Pin, Presence, RefusedEvents,
    Values, clock,
};
pub use explain::{Explanation, Seen, Step, explain};
pub use expression::{
    Comparison, Connective, Elements, Expression, Function, Literal, Node, NormalForm, NormalNode, Operand,
    Operator, Pattern, Predicate, Quantifier, Reading, Term, Test, TruthTest, Type, Weight, XPathKey,
    from_json, lower, normalise, parse, resolve, shown, to_json,
};
pub use folder::manifest::{Manifest, ManifestKind};
pub use id::{Id, IdRef};
pub use index::{
    Algorithm, ArrowMatches, ArrowQuestion, Batching, Builder, Condition, Counts, Index, MatchScratch,
    Refused, Selection, Snapshot, Stats, Subscription, TableRow, Validity, Work, WrittenSubscription,
};
pub use limits::Limits;
pub use lint::{Finding, FindingKind, LintOptions, Sample, check};
pub use matcher::{
    ATree, ATreeOptions, ATreeStats, Cnf, Compiled, Counters, Cursor, Dewey, Evaluation, Interval,
    IntervalOptions, KIndex, KIndexOptions, Matcher, Pruning, Scan, Scratch, Shape, Slot,
};
pub use predicate::Check;
pub use rank::{EventWeights, ScoreScratch, Scores};
pub use sections::OpenOptions;
pub use truth::{Missing, Truth};
pub use value::{
    Address, Civil, Date, Decimal, Duration, Family, Float, LITERAL_WORDS, LiteralKind, LocalTime, Network,
    TimeZone, Timestamp, Value, ValueRef, Written, read_interval, read_number, read_version,
};
