//! How are many nodes and edges added at once?

use std::collections::HashMap;

use super::change::Change;
use super::draft::{DraftEdge, GraphDraft, NONE};
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::id::Id;
use crate::limits::Limits;

/// Nodes and edges to be added together.
#[derive(Debug, Default)]
pub struct Batch {
    draft: GraphDraft,
    numbers: HashMap<Id, u32, ahash::RandomState>,
    /// Whether each node was given, not only named by an edge.
    given: Vec<bool>,
    items: usize,
}

impl Batch {
    /// Takes a node; of equal ids the last counts.
    pub fn add_node(&mut self, id: Id, expression: Option<Expression>, limits: &Limits) -> Result<()> {
        let change = Change::AddNode { id, expression };
        self.check(&change, limits)?;
        let Change::AddNode { id, expression } = change else { return Ok(()) };
        let number = self.draft.expression(expression.as_ref());
        let node = self.node(id);
        self.draft.nodes[node as usize] = number;
        self.given[node as usize] = true;
        Ok(())
    }

    /// Takes an edge.
    pub fn add_edge(
        &mut self,
        source: Id,
        target: Id,
        expression: Option<Expression>,
        cost: f64,
        limits: &Limits,
    ) -> Result<()> {
        let change = Change::AddEdge { source, target, expression, cost };
        self.check(&change, limits)?;
        let Change::AddEdge { source, target, expression, cost } = change else { return Ok(()) };
        let expression = self.draft.expression(expression.as_ref());
        let (source, target) = (self.node(source), self.node(target));
        self.draft.edges.push(DraftEdge { source, target, expression, cost });
        Ok(())
    }

    /// How many nodes and edges were taken.
    pub fn len(&self) -> usize {
        self.items
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    fn check(&mut self, change: &Change, limits: &Limits) -> Result<()> {
        let position = self.items;
        self.items += 1;
        change.check(limits).map_err(|cause| Error::Item {
            position,
            name: change.subject(),
            cause: Box::new(cause),
        })
    }

    fn node(&mut self, id: Id) -> u32 {
        if let Some(&node) = self.numbers.get(&id) {
            return node;
        }
        let node = self.draft.add_node(id.clone(), NONE);
        self.given.push(false);
        self.numbers.insert(id, node);
        node
    }

    /// The expressions of nodes and edges.
    pub(super) fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.draft.expressions.iter()
    }

    pub(super) fn into_draft(self) -> GraphDraft {
        self.draft
    }

    /// The batch added to a graph.
    pub(super) fn onto(self, mut draft: GraphDraft) -> GraphDraft {
        let known: HashMap<Id, u32, ahash::RandomState> = draft.ids.iter().cloned().zip(0..).collect();
        let expressions: Vec<u32> =
            self.draft.expressions.iter().map(|expression| draft.expression(Some(expression))).collect();
        let expression = |number: u32| expressions.get(number as usize).copied().unwrap_or(NONE);
        let mut nodes = Vec::with_capacity(self.draft.nodes.len());
        for ((id, &number), given) in self.draft.ids.into_iter().zip(&self.draft.nodes).zip(&self.given) {
            nodes.push(match known.get(&id) {
                Some(&node) => {
                    if *given {
                        draft.nodes[node as usize] = expression(number);
                    }
                    node
                }
                None => draft.add_node(id, expression(number)),
            });
        }
        draft.edges.extend(self.draft.edges.into_iter().map(|edge| DraftEdge {
            source: nodes[edge.source as usize],
            target: nodes[edge.target as usize],
            expression: expression(edge.expression),
            ..edge
        }));
        draft
    }

    /// The batch as changes, nodes first.
    pub(super) fn into_changes(self) -> Vec<Change> {
        let GraphDraft { ids, nodes, edges, expressions, .. } = self.draft;
        let expression = |number: u32| expressions.get(number as usize).cloned();
        let given = ids.iter().zip(&nodes).zip(&self.given).filter(|(_, given)| **given);
        let nodes = given
            .map(|((id, &number), _)| Change::AddNode { id: id.clone(), expression: expression(number) });
        let edges = edges.iter().map(|edge| Change::AddEdge {
            source: ids[edge.source as usize].clone(),
            target: ids[edge.target as usize].clone(),
            expression: expression(edge.expression),
            cost: edge.cost,
        });
        nodes.chain(edges).collect()
    }
}
