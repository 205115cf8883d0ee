//! What is a subscription, to the one who adds it and to the one who asks for it?

use std::sync::Arc;

use crate::expression::Expression;
use crate::id::Id;

/// An id with an expression and, optionally, metadata and a boost.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// What the user calls it.
    pub id: Id,
    /// What it asks.
    pub expression: Expression,
    /// The user's own data, as JSON that the index keeps unread.
    pub metadata: Option<Arc<str>>,
    /// What its score is multiplied by, such as a bid; 1 for one like any other.
    pub boost: f64,
}

impl Subscription {
    /// A subscription without metadata and with a boost of 1.
    pub fn new(id: impl Into<Id>, expression: Expression) -> Subscription {
        Subscription { id: id.into(), expression, metadata: None, boost: 1.0 }
    }
}

/// A subscription whose expression is still text.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSubscription {
    /// What the user calls it.
    pub id: Id,
    /// What it asks, as it was written.
    pub text: String,
    /// The user's own data, as JSON that the index keeps unread.
    pub metadata: Option<Arc<str>>,
    /// What its score is multiplied by.
    pub boost: f64,
}

impl WrittenSubscription {
    /// A subscription without metadata and with a boost of 1.
    pub fn new(id: impl Into<Id>, text: impl Into<String>) -> WrittenSubscription {
        WrittenSubscription { id: id.into(), text: text.into(), metadata: None, boost: 1.0 }
    }
}
