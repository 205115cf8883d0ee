//! `tamis.GraphExplanation`: why an event reaches a node, or not.

use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use tamis_graph::{GraphElement, Route};

use crate::explanation::Explanation;
use crate::id;

/// The path on which an event reaches a node, or the nodes and edges that block it.
#[pyclass(module = "tamis", frozen)]
pub struct GraphExplanation {
    pub(super) route: Route,
    pub(super) source: tamis::Id,
    pub(super) target: tamis::Id,
}

#[pymethods]
impl GraphExplanation {
    /// Whether the event reaches the target.
    #[getter]
    fn reached(&self) -> bool {
        matches!(self.route, Route::Reached(_))
    }

    /// A valid path with the fewest edges, from source to target; None if there is none.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        match &self.route {
            Route::Reached(path) => id::write_all(py, path.iter().map(tamis::Id::as_ref)).map(Some),
            _ => Ok(None),
        }
    }

    /// The nodes and edges that refuse the event and block every path, each with an explanation.
    ///
    /// A node is given by its id, an edge by its two ids. Empty if the target is reached, or if no
    /// event could reach it.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Route::Refused(refusals) = &self.route {
            for refusal in refusals {
                let place = match &refusal.place {
                    GraphElement::Node(id) => id::write(py, id.as_ref())?,
                    GraphElement::Edge(source, target) => {
                        let ends = [id::write(py, source.as_ref())?, id::write(py, target.as_ref())?];
                        PyTuple::new(py, ends)?.into_any()
                    }
                };
                list.append((place, Explanation(refusal.explanation.clone())))?;
            }
        }
        Ok(list)
    }

    fn __str__(&self) -> String {
        let GraphExplanation { route, source, target } = self;
        match route {
            Route::Reached(path) => {
                let path: Vec<String> = path.iter().map(tamis::Id::to_string).collect();
                format!("{target} is reached: {}", path.join(" -> "))
            }
            Route::Unconnected => {
                format!("{target} is not reached: no path leads there from {source}, whatever the event")
            }
            Route::Refused(refusals) => {
                let mut text = format!("{target} is not reached from {source}: every path is refused by");
                for refusal in refusals {
                    let lines = refusal.explanation.to_string().replace('\n', "\n  ");
                    text += &format!("\n{}\n  {lines}", refusal.place);
                }
                text
            }
        }
    }

    fn __repr__(&self) -> String {
        let reached = if self.reached() { "reached" } else { "not reached" };
        format!("<GraphExplanation: {} is {reached} from {}>", self.target, self.source)
    }
}
