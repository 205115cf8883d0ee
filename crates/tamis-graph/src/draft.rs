//! What is a graph before it is compiled?

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::id::Id;

/// No expression, or no id.
pub(super) const NONE: u32 = u32::MAX;

/// Numbers above this one are not given to nodes, edges or expressions.
pub(super) const MOST: usize = 1 << 31;

/// An edge between two nodes, by their numbers in the draft.
#[derive(Debug, Clone, Copy)]
pub(super) struct DraftEdge {
    pub source: u32,
    pub target: u32,
    /// The number of its expression, or [`NONE`].
    pub expression: u32,
    pub cost: f64,
}

/// Nodes and edges in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct GraphDraft {
    pub ids: Vec<Id>,
    /// The number of each node's expression, or [`NONE`].
    pub nodes: Vec<u32>,
    pub edges: Vec<DraftEdge>,
    /// The distinct expressions.
    pub expressions: Vec<Expression>,
    known: HashMap<Expression, u32, ahash::RandomState>,
}

impl GraphDraft {
    /// The number of an expression, assigned now if it has none.
    pub fn expression(&mut self, expression: Option<&Expression>) -> u32 {
        let Some(expression) = expression else { return NONE };
        if let Some(&number) = self.known.get(expression) {
            return number;
        }
        let number = self.expressions.len() as u32;
        self.expressions.push(expression.clone());
        self.known.insert(expression.clone(), number);
        number
    }

    pub fn add_node(&mut self, id: Id, expression: u32) -> u32 {
        self.ids.push(id);
        self.nodes.push(expression);
        self.nodes.len() as u32 - 1
    }

    /// Fails if there is more than numbers can be given to.
    pub fn check(&self) -> Result<()> {
        let split = self.edges.iter().filter(|edge| edge.expression != NONE).count();
        for (what, found) in [
            ("nodes of a graph, and edges with an expression", self.nodes.len() + split),
            ("edges of a graph", self.edges.len() + split),
        ] {
            if found > MOST {
                return Err(Error::Limit { what, name: "2^31", found, allowed: MOST });
            }
        }
        Ok(())
    }
}
