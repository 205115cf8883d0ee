//! What can be changed about a graph?

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::id::Id;
use crate::limits::Limits;

/// One change.
#[derive(Debug, Clone)]
pub enum Change {
    /// A node is added, or the expression of an existing one is replaced.
    AddNode {
        /// What the user calls it.
        id: Id,
        /// The events that it accepts; without an expression, all events.
        expression: Option<Expression>,
    },
    /// An edge is added; there may be others between the same nodes, and missing ends are added.
    AddEdge {
        /// The node it leaves.
        source: Id,
        /// The node it leads to.
        target: Id,
        /// The events that it accepts; without an expression, all events.
        expression: Option<Expression>,
        /// What passing it costs: a number from 0.
        cost: f64,
    },
    /// A node is removed, with all its edges.
    RemoveNode {
        /// The node.
        id: Id,
    },
    /// All edges from one node to another are removed.
    RemoveEdge {
        /// The node they leave.
        source: Id,
        /// The node they lead to.
        target: Id,
    },
}

impl Change {
    /// Fails if the change is not possible.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        match self {
            Change::AddNode { expression: Some(expression), .. } => expression.check(limits),
            Change::AddEdge { expression, cost, .. } => {
                if !(cost.is_finite() && *cost >= 0.0) {
                    let message = format!("the cost of an edge is a finite number from 0, not {cost}");
                    return Err(Error::Graph(message));
                }
                expression.as_ref().map_or(Ok(()), |expression| expression.check(limits))
            }
            _ => Ok(()),
        }
    }

    /// The expression of a node or edge that is added.
    pub(super) fn expression(&self) -> Option<&Expression> {
        match self {
            Change::AddNode { expression, .. } | Change::AddEdge { expression, .. } => expression.as_ref(),
            Change::RemoveNode { .. } | Change::RemoveEdge { .. } => None,
        }
    }

    /// How messages name it.
    pub(super) fn subject(&self) -> String {
        match self {
            Change::AddNode { id, .. } | Change::RemoveNode { id } => format!("node {id}"),
            Change::AddEdge { source, target, .. } | Change::RemoveEdge { source, target } => {
                format!("edge {source} -> {target}")
            }
        }
    }
}
