//! What is a subscription, when it is added and when it is read?

use std::sync::Arc;

use super::validity::Validity;
use crate::expression::Expression;
use crate::id::Id;

/// An id with an expression and, optionally, metadata, a boost, a priority and a validity.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// What the user calls it.
    pub id: Id,
    /// The expression.
    pub expression: Expression,
    /// The user's own data, as JSON that the index does not parse.
    pub metadata: Option<Arc<str>>,
    /// The factor of its score, such as a bid; 1 by default.
    pub boost: f64,
    /// Higher priorities come first in [`Snapshot::first`](super::Snapshot::first).
    pub priority: i64,
    /// When it can match.
    pub validity: Validity,
}

impl Subscription {
    /// A subscription without metadata, with a boost of 1 and a priority of 0, that is always valid.
    pub fn new(id: impl Into<Id>, expression: Expression) -> Subscription {
        let validity = Validity::default();
        Subscription { id: id.into(), expression, metadata: None, boost: 1.0, priority: 0, validity }
    }
}

/// A subscription whose expression is still text.
#[derive(Debug, Clone, PartialEq)]
pub struct WrittenSubscription {
    /// What the user calls it.
    pub id: Id,
    /// The expression as written.
    pub text: String,
    /// The user's own data, as JSON that the index does not parse.
    pub metadata: Option<Arc<str>>,
    /// The factor of its score.
    pub boost: f64,
    /// Higher priorities come first.
    pub priority: i64,
    /// When it can match.
    pub validity: Validity,
}

impl WrittenSubscription {
    /// A subscription without metadata, with a boost of 1 and a priority of 0, that is always valid.
    pub fn new(id: impl Into<Id>, text: impl Into<String>) -> WrittenSubscription {
        let (text, validity) = (text.into(), Validity::default());
        WrittenSubscription { id: id.into(), text, metadata: None, boost: 1.0, priority: 0, validity }
    }

    /// The subscription with its text parsed.
    pub fn with(&self, expression: Expression) -> Subscription {
        let WrittenSubscription { id, metadata, boost, priority, validity, .. } = self;
        let (id, metadata) = (id.clone(), metadata.clone());
        Subscription { id, expression, metadata, boost: *boost, priority: *priority, validity: *validity }
    }
}
