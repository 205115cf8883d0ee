//! Batches of events that come as Arrow data, and leave as Arrow data.

use arrow_array::RecordBatch;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use tamis::{ArrowEvents, ArrowMatches, Batching, Evaluation, Limits, OnError};

use crate::batch::{Ask, Asked};
use crate::error;
use crate::import::Batches;
use crate::interrupt::interruptible;
use crate::refused::Refusals;

/// The matches of all batches as one table of rows and ids, and of scores and ranks where the best
/// are asked for.
pub fn match_batch<'py>(
    py: Python<'py>,
    asked: &Asked<'_>,
    limits: &Limits,
    events: &Bound<'py, PyAny>,
    column: Option<&str>,
    documents: Option<&str>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let Asked { snapshot, ask, on_error, now, .. } = asked;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let batching = Batching { threads, evaluation: Evaluation::Auto, on_error: *on_error };
    each_batch(py, events, *on_error, |batch, first| {
        let events = py.detach(|| {
            let events = ArrowEvents::new(batch, column, snapshot.attributes())?.at(*now);
            match documents {
                Some(documents) => events.with_documents(batch, documents),
                None => Ok(events),
            }
        });
        let events = events.map_err(|error| error::raise(py, &error))?;
        let matched = interruptible(py, |stop| match ask {
            Ask::All { metadata, evaluation } => {
                let batching = Batching { evaluation: *evaluation, ..batching };
                snapshot.match_arrow(&events, first, *metadata, limits, batching, stop)
            }
            Ask::Top(most, weights) => {
                snapshot.top_arrow(&events, first, *most, weights, limits, batching, stop)
            }
        })?;
        matched.map_err(|error| error::raise(py, &error))
    })
}

/// The matches of all batches as one pyarrow table; `work` takes a batch, and the number of its first
/// row.
pub fn each_batch<'py>(
    py: Python<'py>,
    events: &Bound<'py, PyAny>,
    on_error: OnError,
    mut work: impl FnMut(&RecordBatch, u64) -> PyResult<ArrowMatches>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut reader = Batches::open(events)?;
    let (mut first, mut all, mut schema) = (0, Vec::new(), None);
    let mut refusals = Refusals::new(on_error);
    loop {
        let batch = match reader.next(py)? {
            None if schema.is_some() => break,
            // No batch at all still has a result, whose columns say what it would have been.
            None => RecordBatch::new_empty(reader.schema().clone()),
            Some(batch) => batch,
        };
        let ArrowMatches { schema: found, batches, refused } = work(&batch, first)?;
        first += batch.num_rows() as u64;
        all.extend(batches);
        schema = Some(found);
        refusals.take(py, &refused)?;
    }
    let Some(schema) = schema else { unreachable!("at least one batch was matched") };
    let table = PyTable::try_new(all, schema)?.into_pyarrow(py).map_err(|failure| {
        if failure.is_instance_of::<PyImportError>(py) {
            PyImportError::new_err("matches come as a pyarrow.Table: pip install 'tamis[arrow]'")
        } else {
            failure
        }
    })?;
    refusals.finish(table)
}
