//! What is a subscription, to the one who adds it and to the one who asks for it?

use std::sync::Arc;

use crate::expression::Expression;
use crate::id::Id;

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
