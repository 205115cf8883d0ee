//! Ids of subscriptions: Python strings and integers.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};

use crate::error;

/// The id that a Python object stands for; `None` where its type is none of an id.
pub fn try_read(object: &Bound<'_, PyAny>) -> Option<tamis::Id> {
    if let Ok(text) = object.cast::<PyString>() {
        text.to_str().ok().map(tamis::Id::from)
    } else if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
        object.extract::<i64>().ok().map(tamis::Id::from)
    } else if object.get_type().module().is_ok_and(|module| module == "numpy") {
        // NumPy's integers are none of Python's, but say which one they are.
        let number = object.call_method0("__index__").ok()?;
        number.extract::<i64>().ok().map(tamis::Id::from)
    } else {
        None
    }
}

/// The id that a Python object stands for.
pub fn read(object: &Bound<'_, PyAny>) -> PyResult<tamis::Id> {
    try_read(object).ok_or_else(|| {
        let shown = error::shown(object);
        error::subscription(
            object.py(),
            &format!("an id is a string of Unicode text or a 64-bit integer, not {shown}"),
        )
    })
}

/// The Python object for an id.
pub fn write<'py>(py: Python<'py>, id: tamis::IdRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    match id {
        tamis::IdRef::Integer(number) => number.into_bound_py_any(py),
        tamis::IdRef::String(text) => text.into_bound_py_any(py),
    }
}

/// The list of the Python objects for ids.
pub fn write_all<'py, 'a>(
    py: Python<'py>,
    ids: impl IntoIterator<Item = tamis::IdRef<'a>>,
) -> PyResult<Bound<'py, PyList>> {
    let ids = ids.into_iter().map(|id| write(py, id));
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}
