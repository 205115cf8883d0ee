//! Converting values between Python and the engine.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use tamis::value::{LocalTime, Value, ValueRef};

use crate::error::{self, shorten, type_name};
use crate::objects::{self, Object};

/// Why a Python object is not a value.
pub enum Refusal {
    /// Its type or size is not supported.
    Reason(String),
    /// Its own Python code failed.
    Python(PyErr),
}

/// Calls `take` with the value in a Python object, and whether it is a binary float. The value is
/// `None` for NaN and not-a-time, which are nulls. Runs no Python code for objects of built-in
/// types.
pub fn with_value<T>(
    object: &Bound<'_, PyAny>,
    take: impl FnOnce(ValueRef<'_>, bool) -> T,
) -> Result<Option<T>, Refusal> {
    let refuse = |reason: &str| Err(Refusal::Reason(reason.to_owned()));
    // The most frequent type first. An exact type is recognised without a call.
    if object.is_exact_instance_of::<PyInt>()
        && let Ok(number) = object.extract::<i64>()
    {
        return Ok(Some(take(ValueRef::Integer(number), false)));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Some(take(ValueRef::String(text), false))),
            Err(_) => refuse("the string contains a lone surrogate, which is not Unicode text"),
        };
    }
    if let Ok(boolean) = object.cast::<PyBool>() {
        return Ok(Some(take(ValueRef::Boolean(boolean.is_true()), false)));
    }
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(ValueRef::number(float.value()).map(|value| take(value, true)));
    }
    // Integers, including those of other libraries such as NumPy.
    if is_integer(object) {
        return match object.extract::<i64>() {
            Ok(number) => Ok(Some(take(ValueRef::Integer(number), false))),
            Err(failure) if failure.is_instance_of::<PyOverflowError>(object.py()) => {
                objects::read_large_integer(object).map(|value| Some(take(value.as_ref(), false)))
            }
            Err(failure) => Err(Refusal::Python(failure)),
        };
    }
    match objects::read(object)? {
        Object::Null => Ok(None),
        Object::Value(value) => Ok(Some(take(value.as_ref(), false))),
        Object::Float(value) => Ok(Some(take(value.as_ref(), true))),
        Object::Unknown => {
            let found = shorten(&type_name(object));
            refuse(&format!(
                "a value must be a string, a number, a boolean, a time, an interval or an address, not {found}"
            ))
        }
    }
}

fn is_integer(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyInt>() || object.get_type().hasattr("__index__").unwrap_or(false)
}

/// The value in a Python object.
pub fn read(object: &Bound<'_, PyAny>) -> Result<Value, Refusal> {
    match with_value(object, |value, _| value.to_value())? {
        Some(Value::Float(float)) if float.get().is_infinite() => {
            Err(Refusal::Reason(format!("{} is not a value", float.get())))
        }
        Some(value) => Ok(value),
        None => Err(Refusal::Reason(format!("{} is not a value", error::shown(object)))),
    }
}

/// The Python object for a value.
pub fn write<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Boolean(value) => value.into_bound_py_any(py),
        Value::Integer(value) => value.into_bound_py_any(py),
        Value::Float(value) => value.get().into_bound_py_any(py),
        Value::String(text) | Value::Version(text) => text.into_bound_py_any(py),
        Value::Decimal(value) => py.import("decimal")?.getattr("Decimal")?.call1((value.to_string(),)),
        Value::Timestamp(moment) => match moment.local(0) {
            Some(local) => write_time(py, local, true, value),
            None => value.to_string().into_bound_py_any(py),
        },
        Value::Local(local) => write_time(py, *local, false, value),
        Value::Date(date) => {
            let tamis::value::Civil { year, month, day } = date.civil();
            py.import("datetime")?.getattr("date")?.call1((year, month, day))
        }
        Value::Duration(span) => {
            let (seconds, nanoseconds) = span.parts();
            // A value that Python's class cannot represent is written as text.
            if nanoseconds % 1000 != 0 || !(-86_399_999_913_600..86_400_000_000_000).contains(&seconds) {
                return value.to_string().into_bound_py_any(py);
            }
            py.import("datetime")?.getattr("timedelta")?.call1((0, seconds, nanoseconds / 1000))
        }
        Value::Address(address) => py.import("ipaddress")?.call_method1("ip_address", (address.to_string(),)),
        Value::Network(network) => py.import("ipaddress")?.call_method1("ip_network", (network.to_string(),)),
    }
}

/// A `datetime`, in UTC if `aware`; as text if nanoseconds would be lost.
fn write_time<'py>(
    py: Python<'py>,
    local: LocalTime,
    aware: bool,
    value: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    let nanoseconds = local.parts().1;
    if !nanoseconds.is_multiple_of(1000) {
        return value.to_string().into_bound_py_any(py);
    }
    let module = py.import("datetime")?;
    let zone = if aware { Some(module.getattr("timezone")?.getattr("utc")?) } else { None };
    let tamis::value::Civil { year, month, day } = local.date().civil();
    let (hour, minute, second) = local.clock();
    module.getattr("datetime")?.call1((year, month, day, hour, minute, second, nanoseconds / 1000, zone))
}
