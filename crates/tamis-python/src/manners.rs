//! Hooks for notebooks and `pickle`; Python implements them (`tamis.display`, `tamis.pickling`).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// The notebook representation of an object.
pub fn show<'py>(object: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("tamis.display")?.call_method1(function, (object,))
}

/// How to pickle and copy an object.
pub fn reduce<'py>(object: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("tamis.pickling")?.call_method1(function, (object,))
}

/// The error for an object that cannot be pickled, with an alternative.
pub fn refuse_pickling<T>(message: &'static str) -> PyResult<T> {
    Err(PyTypeError::new_err(message))
}
