//! What notebooks and `pickle` ask of an object; Python answers (`tamis.display`, `tamis.pickling`).

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// What a notebook shows of an object.
pub fn show<'py>(object: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("tamis.display")?.call_method1(function, (object,))
}

/// How an object is pickled and copied.
pub fn reduce<'py>(object: &Bound<'py, PyAny>, function: &str) -> PyResult<Bound<'py, PyAny>> {
    object.py().import("tamis.pickling")?.call_method1(function, (object,))
}

/// Why an object is not pickled, and what to do instead.
pub fn refuse_pickling<T>(message: &'static str) -> PyResult<T> {
    Err(PyTypeError::new_err(message))
}
