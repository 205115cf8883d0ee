//! Reading nodes and edges from Python objects.

use pyo3::prelude::*;
use tamis_graph::Batch;

use super::Graph;
use crate::error;
use crate::expression;
use crate::id;
use crate::items;

impl Graph {
    pub(super) fn read_expression(
        &self,
        py: Python<'_>,
        expression: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<tamis::Expression>> {
        let given = expression.filter(|expression| !expression.is_none());
        given.map(|expression| expression::read(py, expression, self.graph.limits())).transpose()
    }

    pub(super) fn read_node(
        &self,
        py: Python<'_>,
        node: &Bound<'_, PyAny>,
        batch: &mut Batch,
    ) -> PyResult<()> {
        let parts = items::parts(node);
        let (id, expression) = match parts.as_deref() {
            None => (node, None),
            Some([id]) => (id, None),
            Some([id, expression]) => (id, Some(expression)),
            Some(_) => return Err(error::graph(py, "a node must be an id, or (id, expression)")),
        };
        let (id, expression) = (id::read(id)?, self.read_expression(py, expression)?);
        batch.add_node(id, expression, self.graph.limits()).map_err(|error| raise_item(py, error))
    }

    pub(super) fn read_edge(
        &self,
        py: Python<'_>,
        edge: &Bound<'_, PyAny>,
        batch: &mut Batch,
    ) -> PyResult<()> {
        let parts = items::parts(edge);
        let (source, target, expression, cost) = match parts.as_deref() {
            Some([source, target]) => (source, target, None, None),
            Some([source, target, expression]) => (source, target, Some(expression), None),
            Some([source, target, expression, cost]) => (source, target, Some(expression), Some(cost)),
            _ => {
                let message = "an edge must be (source, target), (source, target, expression) or (source, target, \
                               expression, cost)";
                return Err(error::graph(py, message));
            }
        };
        let cost = match cost.filter(|cost| !cost.is_none()) {
            None => 1.0,
            Some(cost) => cost.extract::<f64>().map_err(|_| {
                let found = error::type_name(cost);
                error::graph(py, &format!("the cost of an edge is a finite number from 0, not {found}"))
            })?,
        };
        let expression = self.read_expression(py, expression)?;
        let (source, target) = (id::read(source)?, id::read(target)?);
        let added = batch.add_edge(source, target, expression, cost, self.graph.limits());
        added.map_err(|error| raise_item(py, error))
    }
}

/// An error without its position in the batch, which the caller adds.
fn raise_item(py: Python<'_>, error: tamis::Error) -> PyErr {
    match error {
        tamis::Error::Item { cause, .. } => error::raise(py, &cause),
        other => error::raise(py, &other),
    }
}

/// The name of an item in messages.
pub(super) fn subject(kind: &str, item: &Bound<'_, PyAny>) -> String {
    format!("{kind} {}", error::shown(item))
}
