//! What is a subscription, to the one who adds it and to the one who asks for it?

use std::fmt;
use std::sync::Arc;

use crate::expression::Expression;

/// What a user calls a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A 64-bit integer.
    Integer(i64),
    /// Text.
    String(Arc<str>),
}

/// An id with its text borrowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IdRef<'a> {
    /// A 64-bit integer.
    Integer(i64),
    /// Text.
    String(&'a str),
}

impl Id {
    /// This id with its text borrowed.
    pub fn as_ref(&self) -> IdRef<'_> {
        match self {
            Id::Integer(number) => IdRef::Integer(*number),
            Id::String(text) => IdRef::String(text),
        }
    }
}

impl IdRef<'_> {
    /// A copy that owns its text.
    pub fn to_id(self) -> Id {
        match self {
            IdRef::Integer(number) => Id::Integer(number),
            IdRef::String(text) => Id::String(text.into()),
        }
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::String(text.into())
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Id::Integer(number)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Id::Integer(number) => number.fmt(f),
            Id::String(text) => write!(f, "{text:?}"),
        }
    }
}

/// An id with an expression and, optionally, metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// What the user calls it.
    pub id: Id,
    /// What it asks.
    pub expression: Expression,
    /// The user's own data, as JSON that the index keeps unread.
    pub metadata: Option<Arc<str>>,
}
