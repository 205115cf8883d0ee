//! Values: what Python objects mean, and how values look in Python.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use tamis::{Value, ValueRef};

use crate::error::{shorten, type_name};

/// Calls `take` with the value that a Python object stands for; the error says why it stands for
/// none. Runs no Python code for objects of the built-in types.
pub fn with_value<T>(object: &Bound<'_, PyAny>, take: impl FnOnce(ValueRef<'_>) -> T) -> Result<T, String> {
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(take(ValueRef::String(text))),
            Err(_) => Err("the string holds a lone surrogate, which is not Unicode text".to_owned()),
        };
    }
    if let Ok(boolean) = object.cast::<PyBool>() {
        return Ok(take(ValueRef::Boolean(boolean.is_true())));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return match ValueRef::number(float.value()) {
            Some(value) => Ok(take(value)),
            None => Err(format!("{} is no value", float.value())),
        };
    }
    // Integers, and what is exactly one without being Python's own, such as NumPy's.
    if object.is_instance_of::<PyInt>() || object.hasattr("__index__").unwrap_or(false) {
        return match object.extract::<i64>() {
            Ok(number) => Ok(take(ValueRef::Integer(number))),
            Err(_) => Err("the integer does not fit 64 bits; pass it as a string".to_owned()),
        };
    }
    Err(format!("a value is a string, an integer, a float or a boolean, not {}", shorten(&type_name(object))))
}

/// The value that a Python object stands for.
pub fn read(object: &Bound<'_, PyAny>) -> Result<Value, String> {
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
