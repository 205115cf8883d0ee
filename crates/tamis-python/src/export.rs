//! Passing Arrow data to Python.
//!
//! Uses the capsules of the C data interface, which pyarrow reads without copying.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// Record batches, for readers of `__arrow_c_stream__`.
#[pyclass(frozen)]
struct Stream {
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
}

#[pymethods]
impl Stream {
    /// The batches. A requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
}

/// One record batch, for readers of `__arrow_c_array__`.
#[pyclass(frozen)]
struct Batch(RecordBatch);

#[pymethods]
impl Batch {
    /// The schema and the batch. A requested schema is ignored, which the interface allows.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref()).map_err(refused)?;
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).into_data());
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// A `pyarrow.Table` of batches with one schema.
pub fn table(py: Python<'_>, batches: Vec<RecordBatch>, schema: SchemaRef) -> PyResult<Bound<'_, PyAny>> {
    py.import("pyarrow")?.call_method1("table", (Stream { batches, schema },))
}

/// A `pyarrow.RecordBatch`.
pub fn record_batch(py: Python<'_>, batch: RecordBatch) -> PyResult<Bound<'_, PyAny>> {
    py.import("pyarrow")?.call_method1("record_batch", (Batch(batch),))
}

fn refused(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
