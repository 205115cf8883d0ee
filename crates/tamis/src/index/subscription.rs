//! What does an index keep of one subscription?

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::expression::Expression;

/// What a user calls a subscription.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Id {
    /// A 64-bit integer.
    Integer(i64),
    /// Text.
    String(Arc<str>),
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
#[derive(Debug)]
pub struct Subscription {
    id: Id,
    expression: Expression,
    metadata: Option<Arc<str>>,
    /// The first version of the index that no longer holds the subscription.
    removed: AtomicU64,
}

impl Subscription {
    /// A subscription that no index holds yet; `metadata` is JSON that the index keeps unread.
    pub fn new(id: Id, expression: Expression, metadata: Option<Arc<str>>) -> Subscription {
        Subscription { id, expression, metadata, removed: AtomicU64::new(u64::MAX) }
    }

    /// What the user calls it.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// What it asks.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The user's own data, as JSON.
    pub fn metadata(&self) -> Option<&Arc<str>> {
        self.metadata.as_ref()
    }

    /// Whether a version of the index that held the subscription still does.
    pub(super) fn is_live(&self, version: u64) -> bool {
        version < self.removed.load(Ordering::Acquire)
    }

    pub(super) fn remove(&self, version: u64) {
        self.removed.store(version, Ordering::Release);
    }
}
