//! Values: what Python objects mean, and how values look in Python.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use tamis::{Value, ValueRef};

use crate::error::{shorten, type_name};

/// Why a Python object stands for no value.
pub enum Refusal {
    /// It is of a type or size that no value has.
    Reason(String),
    /// Code of its own failed.
    Python(PyErr),
}

/// Calls `take` with the value that a Python object stands for. Runs no Python code for objects of
/// the built-in types.
pub fn with_value<T>(object: &Bound<'_, PyAny>, take: impl FnOnce(ValueRef<'_>) -> T) -> Result<T, Refusal> {
    let refuse = |reason: &str| Err(Refusal::Reason(reason.to_owned()));
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(take(ValueRef::String(text))),
            Err(_) => refuse("the string holds a lone surrogate, which is not Unicode text"),
        };
    }
    if let Ok(boolean) = object.cast::<PyBool>() {
        return Ok(take(ValueRef::Boolean(boolean.is_true())));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return match ValueRef::number(float.value()) {
            Some(value) => Ok(take(value)),
            None => refuse(&format!("{} is no value", float.value())),
        };
    }
    // Integers, and what is exactly one without being Python's own, such as NumPy's.
    if is_integer(object) {
        return match object.extract::<i64>() {
            Ok(number) => Ok(take(ValueRef::Integer(number))),
            Err(failure) if failure.is_instance_of::<PyOverflowError>(object.py()) => {
                refuse("the integer does not fit 64 bits; pass it as a string")
            }
            Err(failure) => Err(Refusal::Python(failure)),
        };
    }
    let found = shorten(&type_name(object));
    refuse(&format!("a value is a string, an integer, a float or a boolean, not {found}"))
}

fn is_integer(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>() || object.get_type().hasattr("__index__").unwrap_or(false)
}

/// The value that a Python object stands for.
pub fn read(object: &Bound<'_, PyAny>) -> Result<Value, Refusal> {
    with_value(object, |value| value.to_value())
}

/// The Python object for a value.
pub fn write<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Boolean(value) => value.into_bound_py_any(py),
        Value::Integer(value) => value.into_bound_py_any(py),
        Value::Float(value) => value.get().into_bound_py_any(py),
        Value::String(text) => text.into_bound_py_any(py),
    }
}
