//! The manifests of saved folders, for code other than `save` and `open`.

use std::path::PathBuf;

use jiter::JsonValue;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use tamis::storage::{Manifest, ManifestKind};

use crate::error;

/// Read the manifest of a saved folder.
///
/// Args:
///     kind: What the folder holds.
///     path: The name of the manifest in error messages.
///     text: The manifest.
///
/// Raises:
///     StorageError: The checksum does not match, the format differs, or the content is not
///         something a save could have written.
#[pyfunction]
pub fn read_manifest<'py>(
    py: Python<'py>,
    kind: &str,
    path: PathBuf,
    text: &[u8],
) -> PyResult<Bound<'py, PyAny>> {
    let manifest = Manifest::read(&path, text, read_kind(kind)?).map_err(|error| error::raise(py, &error))?;
    convert(py, manifest.members())
}

/// Write a manifest with these members and its checksum.
///
/// Args:
///     kind: What the folder holds.
///     path: The name of the manifest in error messages.
///     members: The members, as a JSON object without a checksum.
///
/// Raises:
///     StorageError: `read_manifest` would not accept them.
#[pyfunction]
pub fn write_manifest<'py>(
    py: Python<'py>,
    kind: &str,
    path: PathBuf,
    members: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let written = Manifest::write(&path, members, read_kind(kind)?);
    written.map(|text| PyBytes::new(py, &text)).map_err(|error| error::raise(py, &error))
}

fn read_kind(kind: &str) -> PyResult<ManifestKind> {
    ManifestKind::by_name(kind).ok_or_else(|| {
        PyValueError::new_err(format!("kind is \"index\", \"graph\" or \"filter\", not {kind:?}"))
    })
}

/// Converts a JSON value to a Python object. The reader bounds the nesting depth.
fn convert<'py>(py: Python<'py>, value: &JsonValue<'_>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        JsonValue::Null => py.None().into_bound(py),
        JsonValue::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        JsonValue::Int(value) => value.into_pyobject(py)?.into_any(),
        JsonValue::Float(value) => value.into_pyobject(py)?.into_any(),
        JsonValue::Str(value) => value.as_ref().into_pyobject(py)?.into_any(),
        JsonValue::Array(items) => {
            let list = PyList::empty(py);
            for item in items.iter() {
                list.append(convert(py, item)?)?;
            }
            list.into_any()
        }
        JsonValue::Object(members) => {
            let dict = PyDict::new(py);
            for (key, value) in members.iter() {
                dict.set_item(key.as_ref(), convert(py, value)?)?;
            }
            dict.into_any()
        }
    })
}
