//! Documents as Python gives them: bytes, text, files and streams.

use std::path::PathBuf;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyMemoryView, PyString};
use tamis::xml::Input;

use crate::error;

/// A document as Python gives it.
pub enum Source {
    Bytes(PyBackedBytes),
    Pieces(Vec<u8>),
    Text(String),
    File(PathBuf),
}

/// Bytes asked of a stream at once.
const PIECE: usize = 1 << 16;

impl Source {
    pub fn read(object: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Source> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Source::Text(text.to_str()?.to_owned()));
        }
        if let Ok(bytes) = object.extract::<PyBackedBytes>() {
            return Ok(Source::Bytes(bytes));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Source::File(object.extract()?));
        }
        if object.is_instance_of::<PyMemoryView>() {
            let bytes = object.py().get_type::<PyBytes>().call1((object,))?;
            return Ok(Source::Bytes(bytes.extract()?));
        }
        if object.hasattr("read")? {
            return Source::read_stream(object, limits).map(Source::Pieces);
        }
        let message =
            format!("a document is bytes, text, a path or a binary stream, not {}", error::type_name(object));
        Err(PyTypeError::new_err(message))
    }

    /// The content of a stream, of which no more is read than a document may have.
    fn read_stream(stream: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Vec<u8>> {
        let mut content = Vec::new();
        while content.len() <= limits.document {
            let piece = stream.call_method1("read", (PIECE,))?;
            let Ok(piece) = piece.extract::<PyBackedBytes>() else {
                let message = format!("a stream gives bytes, not {}", error::type_name(&piece));
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
                let content = tamis::xml::read_file(path, limits).map_err(Failure::File)?;
                use_it(Input::Bytes(&content))
            }
        }
        .map_err(Failure::Engine)
    }
}

/// Why a document could not be used.
pub enum Failure {
    Engine(tamis::Error),
    File(std::io::Error),
}

impl Failure {
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Engine(error) => error::raise(py, &error),
            Failure::File(error) => error.into(),
        }
    }
}
