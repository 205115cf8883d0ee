//! `tamis._tamis.Builder`: builds one segment from many subscriptions in Arrow data.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::IdRef;
use tamis::index::Refused;

use crate::error;
use crate::export;
use crate::import::Batches;
use crate::index::Index;
use crate::limits::{Limits, or_default};
use crate::options::{read_columns, read_missing, read_zone};

/// Builds an index with one segment from Arrow data.
///
/// Rows may come in any order. Invalid rows are refused, identical rows count once, and different
/// rows with the same id are all refused.
#[pyclass(module = "tamis", frozen)]
pub struct Builder(Mutex<Option<tamis::index::Builder>>);

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (*, missing="unknown", time_zone="UTC", metadata_columns=None, limits=None))]
    fn new(
        py: Python<'_>,
        missing: &str,
        time_zone: &str,
        metadata_columns: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, Limits>>,
    ) -> PyResult<Self> {
        let zone = read_zone(time_zone)?;
        let builder = tamis::index::Builder::in_zone(read_missing(missing)?, or_default(limits), zone);
        let builder = builder.with_metadata_columns(&read_columns(metadata_columns)?);
        let builder = builder.map_err(|error| error::raise(py, &error))?;
        Ok(Builder(Mutex::new(Some(builder))))
    }

    /// Add the rows of a record batch.
    ///
    /// Args:
    ///     batch: The columns `id` (strings or integers), `expression` (text, or the JSON form)
    ///         and, optionally, `metadata` (JSON), `weights` (JSON), `boost` (a number),
    ///         `priority` (an integer), `active_from` and `active_until` (times, or their texts)
    ///         and `deleted` (the subscription is removed).
    ///
    /// Returns:
    ///     A pyarrow table of the refused rows: `id`, `position`, `message` and
    ///     `expression`.
    fn add<'py>(&self, py: Python<'py>, batch: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (mut batches, mut refused) = (Batches::open(batch)?, Vec::new());
        while let Some(batch) = batches.next(py)? {
            refused.extend(self.with(py, |builder| builder.add(&batch))?);
        }
        let batch = write_refused(&refused);
        export::table(py, vec![batch.clone()], batch.schema())
    }

    /// Add the subscriptions of an index that no row has changed so far.
    fn keep(&self, py: Python<'_>, index: &Bound<'_, Index>) -> PyResult<()> {
        let snapshot = index.get().snapshot();
        self.with(py, |builder| builder.keep(&snapshot))
    }

    /// Compile the index; the builder cannot be used again.
    fn finish(&self, py: Python<'_>) -> PyResult<Index> {
        let builder = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let builder = builder.ok_or_else(used_up)?;
        let index = py.detach(|| builder.finish()).map_err(|error| error::raise(py, &error))?;
        Ok(Index::from(index))
    }
}

impl Builder {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut tamis::index::Builder) -> tamis::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut builder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            builder.as_mut().map(work)
        })
        .ok_or_else(used_up)?
        .map_err(|error| error::raise(py, &error))
    }
}

fn used_up() -> PyErr {
    PyValueError::new_err("the builder has finished; create another")
}

fn write_refused(refused: &[Refused]) -> RecordBatch {
    let ids = refused.iter().map(|row| {
        row.id.as_ref().map(|id| match id.as_ref() {
            IdRef::Integer(number) => number.to_string(),
            IdRef::String(text) => text.to_owned(),
        })
    });
    let positions = refused.iter().map(|row| row.position.map(|position| position as i64));
    let messages = refused.iter().map(|row| Some(&row.message));
    let expressions = refused.iter().map(|row| row.expression.as_deref());
    let columns: [(&str, ArrayRef); 4] = [
        ("id", Arc::new(ids.collect::<StringArray>())),
        ("position", Arc::new(positions.collect::<Int64Array>())),
        ("message", Arc::new(messages.collect::<StringArray>())),
        ("expression", Arc::new(expressions.collect::<StringArray>())),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
}
