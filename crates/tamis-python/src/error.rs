//! Converts the engine's errors to the exceptions of `tamis.errors`. This is the only place that
//! does.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

/// The exception for an error of the engine.
pub fn raise(py: Python<'_>, error: &tamis::Error) -> PyErr {
    if let tamis::Error::Item { position, name, cause } = error {
        return at_item(py, raise(py, cause), *position, name);
    }
    let details = PyDict::new(py);
    build(py, error, &details).unwrap_or_else(|failure| failure)
}

fn build<'py>(py: Python<'py>, error: &tamis::Error, details: &Bound<'py, PyDict>) -> PyResult<PyErr> {
    let class = describe(error, details)?;
    exception(py, class, &error.to_string(), Some(details))
}

/// The name of the exception class for an error. Adds the exception's attributes to `details`.
fn describe(error: &tamis::Error, details: &Bound<'_, PyDict>) -> PyResult<&'static str> {
    Ok(match error {
        tamis::Error::Syntax(error) => {
            details.set_item("line", error.line)?;
            details.set_item("column", error.column)?;
            details.set_item("found", &error.found)?;
            details.set_item("expected", &error.expected)?;
            details.set_item("suggestion", &error.suggestion)?;
            "ExpressionSyntaxError"
        }
        tamis::Error::Limit { name, found, allowed, .. } => {
            details.set_item("limit", name)?;
            details.set_item("found", found)?;
            details.set_item("allowed", allowed)?;
            "LimitError"
        }
        tamis::Error::Filter { id, cause } => {
            // The cause says what went wrong; add which filter failed.
            details.set_item("filter", crate::id::write(details.py(), id.as_ref())?)?;
            describe(cause, details)?
        }
        tamis::Error::Timeout { seconds } => {
            details.set_item("seconds", seconds)?;
            "MatchTimeoutError"
        }
        tamis::Error::Document { line, column, .. } => {
            details.set_item("line", line)?;
            details.set_item("column", column)?;
            "DocumentError"
        }
        tamis::Error::Event(_) => "EventError",
        tamis::Error::Graph(_) => "GraphError",
        tamis::Error::Storage { path, .. } => {
            details.set_item("path", path)?;
            "StorageError"
        }
        tamis::Error::Forked { .. } => "TamisError",
        _ => "ExpressionError",
    })
}

/// An exception of `tamis.errors`, by the name of its class.
fn exception(
    py: Python<'_>,
    class: &str,
    message: &str,
    details: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyErr> {
    let class = py.import("tamis.errors")?.getattr(class)?.cast_into::<PyType>().map_err(PyErr::from)?;
    Ok(PyErr::from_value(class.call((message,), details)?))
}

fn named(py: Python<'_>, class: &str, message: &str) -> PyErr {
    exception(py, class, message, None).unwrap_or_else(|failure| failure)
}

/// The error for a document with a lone surrogate, with line and column.
pub fn document(py: Python<'_>, &(line, column, code): &(usize, usize, u32)) -> PyErr {
    let message = format!("the lone surrogate U+{code:04X}, which XML does not allow");
    raise(py, &tamis::Error::Document { line, column, message })
}

/// The error for an invalid event.
pub fn event(py: Python<'_>, message: &str) -> PyErr {
    named(py, "EventError", message)
}

/// The error for an invalid expression.
pub fn expression(py: Python<'_>, message: &str) -> PyErr {
    named(py, "ExpressionError", message)
}

/// The error for an invalid id or metadata, or a batch of the wrong shape.
pub fn subscription(py: Python<'_>, message: &str) -> PyErr {
    named(py, "SubscriptionError", message)
}

/// The deadline for a timeout in seconds.
pub fn deadline(timeout: Option<f64>) -> PyResult<Option<tamis::Deadline>> {
    let Some(seconds) = timeout else { return Ok(None) };
    match std::time::Duration::try_from_secs_f64(seconds) {
        Ok(given) => Ok(tamis::Deadline::after(given)),
        Err(_) if seconds > 0.0 => Ok(None),
        Err(_) => Err(PyValueError::new_err(format!(
            "timeout must be a number of seconds of at least 0, not {seconds}"
        ))),
    }
}

/// The error for an id of no subscription.
pub fn unknown_id(py: Python<'_>, id: &Bound<'_, PyAny>) -> PyErr {
    named(py, "UnknownIdError", &format!("no subscription has the id {}", shown(id)))
}

/// The error for an invalid node or edge.
pub fn graph(py: Python<'_>, message: &str) -> PyErr {
    named(py, "GraphError", message)
}

/// The error for an id of no node.
pub fn unknown_node(py: Python<'_>, id: &Bound<'_, PyAny>) -> PyErr {
    named(py, "UnknownIdError", &format!("no node has the id {}", shown(id)))
}

/// The error for an edge that does not exist.
pub fn unknown_edge(py: Python<'_>, source: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> PyErr {
    let message = format!("no edge leads from {} to {}", shown(source), shown(target));
    named(py, "UnknownIdError", &message)
}

/// The repr of an object, shortened.
pub fn shown(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "?".to_owned(), |text| shorten(&text.to_string_lossy()))
}

/// The name of an object's type.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string())
}

/// At most 60 characters of a text.
pub fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// Python's own error for using an expression as a truth value.
pub fn no_truth() -> PyErr {
    PyTypeError::new_err(
        "an expression is neither true nor false by itself: combine expressions with & | ^ ~ (in \
         parentheses), and write a range as attr.x.between(low, high)",
    )
}

/// Adds to an error the item of a batch that it is about.
pub fn at_item(py: Python<'_>, failure: PyErr, position: usize, name: &str) -> PyErr {
    let tamis_error = py.import("tamis.errors").and_then(|module| module.getattr("TamisError"));
    match tamis_error {
        Ok(class) if failure.matches(py, &class).unwrap_or(false) => {
            match failure.value(py).call_method1("at_item", (position, name)) {
                Ok(located) => PyErr::from_value(located),
                Err(failure) => failure,
            }
        }
        _ => failure,
    }
}

/// The failure in place of an item: readers return it for items that they cannot read.
pub fn as_failure(item: &Bound<'_, PyAny>) -> Option<PyErr> {
    let class = item.py().import("tamis.errors").and_then(|module| module.getattr("TamisError")).ok()?;
    item.is_instance(&class).unwrap_or(false).then(|| PyErr::from_value(item.clone()))
}
