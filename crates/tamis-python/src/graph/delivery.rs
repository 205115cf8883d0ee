//! `tamis.Delivery`: a node of a ranking.

use pyo3::prelude::*;
use pyo3::types::PyList;
use tamis_graph as graph;

use crate::id;

/// A node that an event reaches, with its value.
#[pyclass(module = "tamis", frozen)]
pub struct Delivery(pub(super) graph::Delivery);

#[pymethods]
impl Delivery {
    /// The node.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id.as_ref())
    }

    /// The score minus the cost.
    #[getter]
    fn value(&self) -> f64 {
        self.0.value
    }

    /// The score of its expression on the event; 0 without one.
    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    /// The cost of the cheapest valid path.
    #[getter]
    fn cost(&self) -> f64 {
        self.0.cost
    }

    /// That path, from the source to the node.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        id::write_all(py, self.0.path.iter().map(tamis::Id::as_ref))
    }

    fn __repr__(&self) -> String {
        let graph::Delivery { id, value, score, cost, path } = &self.0;
        let path: Vec<String> = path.iter().map(tamis::Id::to_string).collect();
        format!("Delivery(id={id}, value={value}, score={score}, cost={cost}, path=[{}])", path.join(", "))
    }
}
