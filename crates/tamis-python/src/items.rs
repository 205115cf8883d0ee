//! Iterating over Python items: iterables, pairs, and mappings of pairs.

use std::path::PathBuf;

use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator, PyList, PyMapping, PyString, PyTuple};

use crate::error;

/// Signals are checked once per this many items, each of which may be long.
const PATIENCE: usize = 16;

/// The items of an iterable that is not text.
pub fn iterate<'py>(object: &Bound<'py, PyAny>, expected: &str) -> PyResult<Bound<'py, PyIterator>> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(error::subscription(object.py(), &format!("{expected}, not text")));
    }
    object.try_iter().map_err(|_| {
        error::subscription(object.py(), &format!("{expected}, not {}", error::type_name(object)))
    })
}

/// The events of an iterable.
pub fn iterate_events<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyIterator>> {
    object.try_iter().map_err(|_| {
        let (py, found) = (object.py(), error::type_name(object));
        // A lazy Polars query is not executed by iterating over it.
        let hint = if found == "LazyFrame" { "; call its collect()".to_owned() } else { read_file(object) };
        let expected = "an iterable of events, JSON lines, or Arrow data";
        error::event(py, &format!("{method} takes {expected}, not {found}{hint}"))
    })
}

/// Rejects a text that looks like a file name; no event starts like one.
pub fn refuse_file_name(object: &Bound<'_, PyAny>, method: &str) -> PyResult<()> {
    let Ok(text) = object.extract::<&str>() else { return Ok(()) };
    let is_name = text.len() < 4096
        && text.contains(['.', '/', '\\'])
        && !text.contains(['{', '}', '[', ']', '"', '\n', '\r']);
    if !is_name {
        return Ok(());
    }
    let message = format!("{method} takes events, not the name of a file{}", read_file(object));
    Err(error::event(object.py(), &message))
}

/// How to read events from the file that an object names; empty if it is not a path.
fn read_file(object: &Bound<'_, PyAny>) -> String {
    let Ok(path) = object.extract::<PathBuf>() else { return String::new() };
    let end = path.extension().unwrap_or_default().to_ascii_lowercase();
    let (what, read) = match end.to_str() {
        Some("parquet") => ("its table", "pyarrow.parquet.read_table"),
        Some("csv") => ("its table", "pyarrow.csv.read_csv"),
        _ => return "; pass its JSON lines: pathlib.Path(...).read_bytes()".to_owned(),
    };
    format!("; pass {what}: {read}(...)")
}

/// All items of an iterable; `__len__` is not trusted.
pub fn all<'py, T: FromPyObjectOwned<'py>>(object: &Bound<'py, PyAny>) -> PyResult<Vec<T>> {
    object.try_iter()?.map(|item| item?.extract::<T>().map_err(Into::into)).collect()
}

/// The items of a mapping, as pairs, or of an iterable.
pub fn pairs<'py>(object: &Bound<'py, PyAny>, expected: &str) -> PyResult<Bound<'py, PyIterator>> {
    match object.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.try_iter(),
        Err(_) => iterate(object, expected),
    }
}

/// Items with their positions. Checks for interrupts.
pub fn enumerate<'py>(
    items: Bound<'py, PyIterator>,
) -> impl Iterator<Item = PyResult<(usize, Bound<'py, PyAny>)>> {
    let py = items.py();
    items.enumerate().map(move |(position, item)| {
        if position.is_multiple_of(PATIENCE) {
            py.check_signals()?;
        }
        Ok((position, item?))
    })
}

/// The parts of an item that is a tuple or list.
pub fn parts<'py>(item: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let tuple = item.cast::<PyTuple>().map(|tuple| tuple.iter().collect::<Vec<_>>());
    tuple.or_else(|_| item.cast::<PyList>().map(|list| list.iter().collect())).ok()
}

/// Adds the position and id of an item to its failure.
pub fn at_id(py: Python<'_>, failure: PyErr, position: usize, id: &Bound<'_, PyAny>) -> PyErr {
    error::at_item(py, failure, position, &format!("id {}", error::shown(id)))
}
