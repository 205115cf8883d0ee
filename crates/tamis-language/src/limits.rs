//! How large may one expression or one event be?
//!
//! The default limits protect a service; raise them for trusted input.

pub use crate::error::check_limit as check;
#[cfg(feature = "xml")]
use crate::xml;

/// Bounds on expressions and events; exceeding one is an [`Error::Limit`](tamis_base::Error::Limit) with both numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of an expression's text or JSON form.
    pub text: usize,
    /// Nesting of an expression, parentheses included.
    pub depth: usize,
    /// Operators and predicates of an expression.
    pub nodes: usize,
    /// Values of one set.
    pub set: usize,
    /// Bytes of an attribute's name.
    pub name: usize,
    /// Parts of an attribute's name, between dots.
    pub name_depth: usize,
    /// Characters of a part of a `like` pattern, between two `%`, that has `_` among them.
    pub like: usize,
    /// Bytes of the compiled form of a regular expression.
    pub pattern: usize,
    /// Bytes of the compiled forms of all regular expressions of an expression.
    pub patterns: usize,
    /// Bytes of the compiled forms of all regular expressions of an index.
    pub index_patterns: usize,
    /// Predicates of the normal form to which a matcher expands an expression.
    pub normal_form: usize,
    /// Nesting of a term; never more than 200.
    pub term_depth: usize,
    /// Distinct terms of an index.
    pub terms: usize,
    /// Values of one term on one event; there can be many if its arguments are lists.
    pub term_values: usize,
    /// Nesting of `any`, `all` and `none`; never more than 16.
    pub element_depth: usize,
    /// List elements that are evaluated one by one for one event.
    pub elements: usize,
    /// Bytes of an event's JSON, or of the text a mapping holds.
    pub event: usize,
    /// Nesting of an event's objects.
    pub event_depth: usize,
    /// Attributes and list items of an event that subscriptions mention.
    pub event_values: usize,
    /// Values of one list of an event, repetitions included.
    pub list: usize,
    /// Bounds on XPath expressions and documents.
    #[cfg(feature = "xml")]
    pub xml: xml::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            text: 4 << 20,
            depth: 500,
            nodes: 100_000,
            set: 250_000,
            name: 1024,
            name_depth: 100,
            like: 4096,
            pattern: 1 << 20,
            patterns: 8 << 20,
            index_patterns: 128 << 20,
            normal_form: 10_000,
            term_depth: 100,
            terms: 10_000,
            term_values: 10_000,
            element_depth: 8,
            elements: 10_000,
            event: 16 << 20,
            event_depth: 100,
            event_values: 1_000_000,
            list: 100_000,
            #[cfg(feature = "xml")]
            xml: xml::Limits::default(),
        }
    }
}

impl Limits {
    /// No limits, for trusted input.
    pub fn none() -> Self {
        Limits {
            text: usize::MAX,
            depth: usize::MAX,
            nodes: usize::MAX,
            set: usize::MAX,
            name: usize::MAX,
            name_depth: usize::MAX,
            like: usize::MAX,
            pattern: usize::MAX,
            patterns: usize::MAX,
            index_patterns: usize::MAX,
            normal_form: usize::MAX,
            term_depth: usize::MAX,
            terms: usize::MAX,
            term_values: usize::MAX,
            element_depth: usize::MAX,
            elements: usize::MAX,
            event: usize::MAX,
            event_depth: usize::MAX,
            event_values: usize::MAX,
            list: usize::MAX,
            #[cfg(feature = "xml")]
            xml: xml::Limits::none(),
        }
    }
}
