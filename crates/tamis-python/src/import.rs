//! Reading Arrow data from Python objects.
//!
//! Uses the capsules of the C data interface. [`interface`](crate::interface) checks their content.
#![expect(unsafe_code, reason = "the C data interface is made of pointers")]

use std::ffi::CStr;

use arrow_array::RecordBatch;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error;
use crate::interface::{read_batch, read_schema};

/// The record batches of a Python object.
pub struct Batches {
    schema: SchemaRef,
    source: Source,
}

enum Source {
    /// One batch, until it is taken.
    One(Option<FFI_ArrowArray>),
    Stream(FFI_ArrowArrayStream),
}

/// Whether an object supports the Arrow C interface.
pub fn is_arrow(object: &Bound<'_, PyAny>) -> bool {
    ["__arrow_c_stream__", "__arrow_c_array__"].iter().any(|name| object.hasattr(*name).unwrap_or(false))
}

impl Batches {
    /// Starts reading an object that supports the interface.
    pub fn open(object: &Bound<'_, PyAny>) -> PyResult<Batches> {
        let py = object.py();
        let refuse = |message: String| error::event(py, &message);
        if object.hasattr("__arrow_c_array__")? {
            let capsules = object.call_method0("__arrow_c_array__")?;
            let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
            let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
            // SAFETY: a capsule with this name contains such a struct, and lives as long as
            // `schema`.
            let schema = read_schema(unsafe { schema.as_ref() }).map_err(refuse)?;
            let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
            // SAFETY: as above; taking the array marks it as released in the capsule.
            let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
            return Ok(Batches { schema, source: Source::One(Some(array)) });
        }
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: as above.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let mut schema = FFI_ArrowSchema::empty();
        let get_schema = stream.get_schema.filter(|_| stream.release.is_some());
        let get_schema =
            get_schema.ok_or_else(|| refuse("the Arrow stream has already been read".to_owned()))?;
        // SAFETY: the stream is live, and the schema is empty and to be filled.
        let code = py.detach(|| Code(unsafe { get_schema(&raw mut stream, &raw mut schema) }));
        if code.0 != 0 {
            return Err(refuse(last_error(&mut stream, code)));
        }
        let schema = read_schema(&schema).map_err(refuse)?;
        Ok(Batches { schema, source: Source::Stream(stream) })
    }

    /// The columns of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch; `None` after the last.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        py.detach(|| {
            let array = match &mut self.source {
                Source::One(array) => match array.take() {
                    None => return Ok(None),
                    Some(array) => array,
                },
                Source::Stream(stream) => {
                    let mut array = FFI_ArrowArray::empty();
                    let get_next = stream.get_next.ok_or("the Arrow stream has no `get_next`")?;
                    // SAFETY: the stream is live, and the array is empty and to be filled.
                    let code = Code(unsafe { get_next(&raw mut *stream, &raw mut array) });
                    if code.0 != 0 {
                        return Err(last_error(stream, code));
                    }
                    if array.is_released() {
                        return Ok(None);
                    }
                    array
                }
            };
            read_batch(array, &self.schema).map(Some)
        })
        .map_err(|message| error::event(py, &message))
    }
}

/// The return code of a stream's function: 0, or an error number.
#[derive(Clone, Copy)]
struct Code(std::ffi::c_int);

/// The message of a stream's last error.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: Code) -> String {
    let text = stream.get_last_error.map(|get_last_error| {
        // SAFETY: the stream is live, and its last call failed.
        let text = unsafe { get_last_error(&raw mut *stream) };
        // SAFETY: a non-null pointer is a text that lives until the next call.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    let text = text.flatten().unwrap_or_else(|| std::io::Error::from_raw_os_error(code.0).to_string());
    format!("the Arrow stream failed: {text}")
}
