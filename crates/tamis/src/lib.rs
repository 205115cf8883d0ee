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
//! subscriptions and can change while other threads match, and `xml` finds the XPath filters that a document satisfies.
//! Data flows one way: ARCHITECTURE.md follows an expression and an event through the modules and lists the modules in
//! the order of their dependencies.
//!
//! | module | the question it answers |
//! |---|---|
//! | [`event`] | what are an event's values for the attributes that subscriptions mention? |
//! | `predicate` | is a predicate true for an event, and which literals does a pattern require? |
//! | [`rank`] | how well does an event match an expression, and which expressions match best? |
//! | [`matcher`] | which of a set of expressions does an event satisfy? |
//! | [`explain`] | why does an expression match, or why not? |
//! | [`index`] | how do subscriptions change while readers match, and how are they stored on disk? |
//!
//! [`value`] comes from the crate `tamis-base`, [`expression`] from `tamis-language` and `xml` from `tamis-xml`. Two crates
//! build on this one: `tamis-graph` finds the nodes of a graph of expressions that an event reaches, and `tamis-lint`
//! finds subscriptions that probably do not mean what their author intended. `tamis-papers` has more matchers.
//!
//! Two features are on by default. Without `arrow` there is no Arrow in or out; without `xml` there is no module `xml`, and
//! `xpath` in an expression is an error.

pub mod event;
pub mod explain;
pub mod index;
pub mod matcher;
mod predicate;
pub mod rank;

// The modules of the crates that this one depends on have the same paths here as there; users need some of them.
pub use tamis_base::value;
use tamis_base::{
    column, csr, deadline, error, folder, fork, id, ids, literals, parallel, probing, reusable, sections,
    strings, truth, versioned,
};
use tamis_language::limits;
#[cfg(feature = "xml")]
pub use tamis_xml as xml;

/// What is an expression, and how is it parsed, printed and normalised?
///
/// Text or JSON is parsed into an [`Expression`], and matchers compile its [`NormalForm`](expression::NormalForm).
pub mod expression {
    pub use tamis_language::expression::{
        Comparison, Connective, Elements, Expression, Function, Node, NormalForm, NormalNode, Operand,
        OperandRef, Operator, Predicate, Quantifier, Reading, RegularExpression, SignedPredicate, Takes,
        Term, Test, TruthTest, Type, Weight, XPathKey, binary, distribute, from_json, lower, normalise,
        parse, resolve, shown, to_json,
    };
    // What the engine needs of the language beyond that.
    pub(crate) use tamis_language::expression::{
        Context, EMPTY, FlatExpression, FlatNode, FlatPredicate, FlatValue, IT, Normaliser, RecentNumbers,
        ShortText, StoredExpressions, StoredExpressionsBuilder, SubexpressionKind, Subexpressions,
        check_name, is_hidden, is_satisfied, list_of, number_of, read_inner, resolve_predicate, shorten,
        simplest, text_of, total_size, write_string, write_value,
    };
}

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
