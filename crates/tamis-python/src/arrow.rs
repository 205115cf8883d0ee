//! Matching batches of Arrow data, with Arrow results.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use tamis::Limits;
use tamis::event::{ArrowEvents, OnError};
use tamis::index::{ArrowMatches, ArrowQuery, ArrowRows, Batching, Counts};
use tamis::matcher::Evaluation;

use crate::batch::{Ask, Asked};
use crate::error;
use crate::export;
use crate::import::Batches;
use crate::interrupt::interruptible;
use crate::refused::Refusals;

/// The matches of all batches as one table of rows and ids; for rankings, with scores and ranks.
pub fn match_batch<'py>(
    py: Python<'py>,
    asked: &Asked<'_>,
    limits: &Limits,
    events: &Bound<'py, PyAny>,
    column: Option<&str>,
    documents: Option<&str>,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let Asked { snapshot, ask, selection, on_error, now, deadline, .. } = asked;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into));
    let mut batching =
        Batching { threads, evaluation: Evaluation::Auto, on_error: *on_error, selection: *selection };
    let mut counts = Counts::default();
    let query = match ask {
        Ask::All { metadata, evaluation } => {
            batching.evaluation = *evaluation;
            Some(ArrowQuery::All { metadata: *metadata })
        }
        Ask::Top(most, weights) => Some(ArrowQuery::Top(*most, weights)),
        Ask::First(most) => Some(ArrowQuery::First(*most)),
        Ask::Json { .. } | Ask::Count(_) => None,
    };
    let matched = |batch: &RecordBatch, first: u64| {
        let events = py.detach(|| {
            let events = ArrowEvents::new(batch, column, snapshot.attributes())?.at(*now).within(*deadline);
            match documents {
                Some(documents) => events.with_documents(batch, documents),
                None => Ok(events),
            }
        });
        let events = events.map_err(|error| error::raise(py, &error))?;
        let matched = interruptible(py, |stop| {
            let rows = ArrowRows { events: &events, first, limits, stop };
            let Some(query) = query else {
                let refused = snapshot.count_arrow(rows, batching, &mut counts)?;
                return Ok(ArrowMatches { schema: Schema::empty().into(), batches: Vec::new(), refused });
            };
            snapshot.match_arrow(rows, query, batching)
        })?;
        matched.map_err(|error| error::raise(py, &error))
    };
    let (batches, schema, refusals) = each(py, events, *on_error, matched)?;
    if query.is_some() {
        return table(py, batches, schema, refusals);
    }
    let counted = py.detach(|| snapshot.counted_arrow(&counts));
    let (schema, batches) = counted.map_err(|error| error::raise(py, &error))?;
    table(py, batches, schema, refusals)
}

/// The matches of all batches as one pyarrow table. `work` gets a batch and the number of its first
/// row.
pub fn each_batch<'py>(
    py: Python<'py>,
    events: &Bound<'py, PyAny>,
    on_error: OnError,
    work: impl FnMut(&RecordBatch, u64) -> PyResult<ArrowMatches>,
) -> PyResult<Bound<'py, PyAny>> {
    let (batches, schema, refusals) = each(py, events, on_error, work)?;
    table(py, batches, schema, refusals)
}

/// The matches of all batches, their schema, and the events that could not be read.
fn each<'py>(
    py: Python<'py>,
    events: &Bound<'py, PyAny>,
    on_error: OnError,
    mut work: impl FnMut(&RecordBatch, u64) -> PyResult<ArrowMatches>,
) -> PyResult<(Vec<RecordBatch>, SchemaRef, Refusals<'py>)> {
    let mut reader = Batches::open(events)?;
    let (mut first, mut all, mut schema) = (0, Vec::new(), None);
    let mut refusals = Refusals::new(on_error);
    loop {
        let batch = match reader.next(py)? {
            None if schema.is_some() => break,
            // Without any batch, match an empty one, to get the columns of the result.
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
    Ok((all, schema, refusals))
}

/// A pyarrow table, together with the refused events if they are requested.
fn table<'py>(
    py: Python<'py>,
    batches: Vec<RecordBatch>,
    schema: SchemaRef,
    refusals: Refusals<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let table = export::table(py, batches, schema).map_err(|failure| {
        if failure.is_instance_of::<PyImportError>(py) {
            PyImportError::new_err("matches come as a pyarrow.Table: pip install 'tamis[arrow]'")
        } else {
            failure
        }
    })?;
    refusals.finish(table)
}
