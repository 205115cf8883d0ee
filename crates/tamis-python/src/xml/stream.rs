//! `tamis.xml.XmlStream`: a document that arrives in pieces.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyList, PyMemoryView};

use super::write_ids;
use crate::error;

/// A document that is matched while it arrives; created by `Filter.stream`.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlStream(Mutex<Option<tamis::xml::FilterStream>>);

impl XmlStream {
    pub fn new(stream: tamis::xml::FilterStream) -> XmlStream {
        XmlStream(Mutex::new(Some(stream)))
    }
}

#[pymethods]
impl XmlStream {
    /// Take the next bytes of the document.
    ///
    /// Returns:
    ///     The ids of the filters that are now certain to match, whatever follows. Filters that
    ///     depend on the whole document are returned by `close`.
    ///
    /// Raises:
    ///     DocumentError: The document is not well formed; discard the ids returned so far.
    fn feed<'py>(&self, py: Python<'py>, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let copied =
            piece.is_instance_of::<PyMemoryView>().then(|| piece.call_method0("tobytes")).transpose()?;
        let Ok(bytes) = copied.as_ref().unwrap_or(piece).extract::<PyBackedBytes>() else {
            let message = format!("a piece of a document must be bytes, not {}", error::type_name(piece));
            return Err(PyTypeError::new_err(message));
        };
        let mut found = Vec::new();
        let fed = py.detach(|| {
            let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let stream = stream.as_mut()?;
            Some(stream.feed(&bytes, |subscription| found.push(Arc::clone(subscription))))
        });
        fed.ok_or_else(closed)?.map_err(|failure| error::raise(py, &failure))?;
        write_ids(py, &found)
    }

    /// End the document.
    ///
    /// Returns:
    ///     The ids of all filters that it satisfies, in insertion order, as from `match`.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut found = Vec::new();
        let ended = py.detach(|| {
            let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            Some(stream.close(|subscription| found.push(Arc::clone(subscription))))
        });
        ended.ok_or_else(closed)?.map_err(|failure| error::raise(py, &failure))?;
        write_ids(py, &found)
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the document has ended; start another with Filter.stream()")
}
