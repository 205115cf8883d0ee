//! `tamis.GraphMatches`: the nodes that an event reaches, one by one.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis_graph::Search;

use crate::error;
use crate::id;

/// The ids of the nodes that an event reaches, as they are found.
#[pyclass(module = "tamis")]
pub struct GraphMatches {
    pub(super) search: Search,
}

#[pymethods]
impl GraphMatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let search = &mut self.search;
        while !search.is_ready() {
            let more = py.detach(|| search.advance()).map_err(|error| error::raise(py, &error))?;
            if !more {
                return Ok(None);
            }
        }
        let id = search.take().transpose().map_err(|error| error::raise(py, &error))?;
        id.map(|id| id::write(py, id)).transpose()
    }

    /// The work done so far.
    ///
    /// `retrieved`: nodes found through the index; `evaluated`: expressions evaluated directly;
    /// `edges`: edges followed.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.search.counts();
        let dict = PyDict::new(py);
        dict.set_item("retrieved", counts.retrieved)?;
        dict.set_item("evaluated", counts.evaluated)?;
        dict.set_item("edges", counts.edges)?;
        Ok(dict)
    }
}
