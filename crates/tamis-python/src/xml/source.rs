//! Reading documents: bytes, text, files and streams.

use std::path::PathBuf;

use pyo3::exceptions::{PyOSError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyMemoryView, PyString};
use tamis::xml::Input;

use crate::error;

/// A document, before it is read.
pub enum Source {
    Bytes(PyBackedBytes),
    Pieces(Vec<u8>),
    Text(String),
    File(PathBuf),
}

/// The number of bytes read from a stream at a time.
const PIECE: usize = 1 << 16;

impl Source {
    pub fn read(object: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Source> {
        if let Ok(text) = object.cast::<PyString>() {
            return match text.to_str() {
                Ok(text) => Ok(Source::Text(text.to_owned())),
                // A lone surrogate, which XML does not allow.
                Err(_) => Err(error::document(object.py(), &surrogate_place(text)?)),
            };
        }
        if let Ok(bytes) = object.extract::<PyBackedBytes>() {
            return Ok(Source::Bytes(bytes));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Source::File(object.extract()?));
        }
        if object.is_instance_of::<PyMemoryView>() {
            let bytes = object.call_method0("tobytes")?;
            return Ok(Source::Bytes(bytes.extract()?));
        }
        if object.hasattr("read")? {
            return Source::read_stream(object, limits).map(Source::Pieces);
        }
        let message = format!(
            "a document must be bytes, text, a path or a binary stream, not {}",
            error::type_name(object)
        );
        Err(PyTypeError::new_err(message))
    }

    /// Reads a stream, up to the size limit of a document.
    fn read_stream(stream: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Vec<u8>> {
        let mut content = Vec::new();
        while content.len() <= limits.document {
            let piece = stream.call_method1("read", (PIECE,))?;
            let Ok(piece) = piece.extract::<PyBackedBytes>() else {
                let message = format!("a stream must return bytes, not {}", error::type_name(&piece));
                return Err(PyTypeError::new_err(message));
            };
            if piece.is_empty() {
                break;
            }
            content.extend_from_slice(&piece);
            stream.py().check_signals()?;
        }
        Ok(content)
    }

    /// Runs `use_it` on the document. A file that is larger than allowed is not read.
    pub fn with<T>(
        &self,
        limits: &tamis::xml::Limits,
        use_it: impl FnOnce(Input<'_>) -> tamis::Result<T>,
    ) -> Result<T, Failure> {
        match self {
            Source::Bytes(bytes) => use_it(Input::Bytes(bytes)),
            Source::Pieces(bytes) => use_it(Input::Bytes(bytes)),
            Source::Text(text) => use_it(Input::Text(text)),
            Source::File(path) => {
                let content = tamis::xml::read_file(path, limits)
                    .map_err(|error| Failure::File(path.clone(), error))?;
                use_it(Input::Bytes(&content))
            }
        }
        .map_err(Failure::Engine)
    }
}

/// Why a document could not be used.
pub enum Failure {
    Engine(tamis::Error),
    File(PathBuf, std::io::Error),
}

impl Failure {
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Engine(error) => error::raise(py, &error),
            Failure::File(path, error) => with_path(py, &path, error),
        }
    }
}

/// Python's error for a file, with its name, as raised by `open`.
fn with_path(py: Python<'_>, path: &std::path::Path, error: std::io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let reason = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    match reason {
        // The class follows from the number: FileNotFoundError, IsADirectoryError and so on.
        Ok(reason) => PyOSError::new_err((number, reason.unbind(), path.as_os_str().to_owned())),
        Err(failure) => failure,
    }
}

/// The line and column, from 1, of a text's first lone surrogate, and its code.
fn surrogate_place(text: &Bound<'_, PyString>) -> PyResult<(usize, usize, u32)> {
    let encoded = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
    let bytes: PyBackedBytes = encoded.extract()?;
    let valid = match std::str::from_utf8(&bytes) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    // In UTF-8, a surrogate would be three bytes starting with ED.
    let code = match bytes.get(valid.len()..valid.len() + 3) {
        Some(&[_, second, third]) => 0xD000 | u32::from(second & 0x3F) << 6 | u32::from(third & 0x3F),
        _ => 0xD800,
    };
    let line_start = valid.rfind('\n').map_or(0, |newline| newline + 1);
    Ok((valid.matches('\n').count() + 1, valid[line_start..].chars().count() + 1, code))
}
