//! What is an expression, and how is it parsed, printed and normalised?
//!
//! Text or JSON is parsed into an [`Expression`], and matchers compile its [`NormalForm`]. Nothing here
//! knows of events.

pub mod binary;
pub mod distribute;
mod elements;
mod json;
mod lex;
mod names;
mod normalise;
mod parse;
mod pattern;
mod predicate;
mod print;
mod reader;
mod recent;
mod resolve;
mod stored;
mod term;
mod tree;
mod weights;
mod words;
mod xpath;

pub use elements::{Elements, Quantifier};
pub use json::{from_json, to_json};
pub use normalise::{Literal, NormalForm, NormalNode, normalise};
pub use parse::parse;
pub use pattern::Pattern;
pub use predicate::{Operand, OperandRef, Operator, Predicate, Takes, Test};
pub use resolve::resolve;
pub use term::{Comparison, Function, Reading, Term, Type, lower, shown};
pub use tree::{Connective, Expression, Node, TruthTest};
pub use weights::Weight;
pub use xpath::XPathKey;

pub(crate) use crate::error::shorten;
pub(crate) use binary::{decode_test, encode_test};
pub(crate) use elements::{EMPTY, number_of};
pub(crate) use json::{write_string, write_value};
pub(crate) use names::{IT, check_name, is_hidden, is_satisfied, list_of};
pub(crate) use normalise::{Normaliser, PartKind, Parts, simplest};
pub(crate) use parse::read_inner;
pub(crate) use pattern::total_size;
pub(crate) use recent::RecentNumbers;
pub(crate) use resolve::resolve_predicate;
pub(crate) use stored::{StoredExpressions, StoredExpressionsBuilder};
pub(crate) use term::{Context, text_of};
