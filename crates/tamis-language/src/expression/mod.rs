//! What is an expression, and how is it parsed, printed and normalised?
//!
//! Text or JSON is parsed into an [`Expression`], and matchers compile its [`NormalForm`]. Nothing here
//! knows of events.

pub mod binary;
pub mod distribute;
mod elements;
mod json;
mod keywords;
mod lex;
mod names;
mod normalise;
mod parse;
mod predicate;
mod print;
mod reader;
mod recent;
mod regular_expression;
mod resolve;
mod stored;
mod term;
mod tree;
mod weights;
mod xpath;

pub use elements::{Elements, Quantifier};
pub use json::{from_json, to_json};
pub use normalise::{NormalForm, NormalNode, SignedPredicate, normalise};
pub use parse::parse;
pub use predicate::{Operand, OperandRef, Operator, Predicate, Takes, Test};
pub use regular_expression::RegularExpression;
pub use resolve::resolve;
pub use term::{Comparison, Function, Reading, Term, Type, lower, shown};
pub use tree::{Connective, Expression, Node, TruthTest};
pub use weights::Weight;
pub use xpath::XPathKey;

pub use crate::error::shorten;
pub use binary::{decode_test, encode_test};
pub use elements::{EMPTY, number_of};
pub use json::{write_string, write_value};
pub use names::{IT, check_name, is_hidden, is_satisfied, list_of};
pub use normalise::{Normaliser, SubexpressionKind, Subexpressions, simplest};
pub use parse::{FlatExpression, FlatNode, FlatPredicate, FlatValue, ShortText, read_inner};
pub use recent::RecentNumbers;
pub use regular_expression::total_size;
pub use resolve::resolve_predicate;
pub use stored::{StoredExpressions, StoredExpressionsBuilder};
pub use term::{Context, text_of};
