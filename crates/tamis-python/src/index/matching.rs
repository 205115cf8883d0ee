//! The methods of `Index` that match events.

use std::sync::Mutex;
use std::sync::atomic::AtomicUsize;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tamis::event::OnError;
use tamis::index::FoundIds;

use super::Index;
use crate::batch::{Ask, Batch};
use crate::event::EventArgument;
use crate::hits::Hits;
use crate::options::read_evaluation;
use crate::query::Query;
use crate::refused::read_on_error;
use crate::working::with_working;
use crate::{error, id};

#[pymethods]
impl Index {
    /// The ids of the subscriptions that an event matches, in insertion order.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     where: A condition on metadata, such as `tenant = 'a'`: only subscriptions that satisfy
    ///         it can match. Metadata is read like an event; metadata that is not an object has no
    ///         attributes. Plain predicates on `metadata_columns` are fast. A name that no metadata
    ///         has is a `MetadataWarning`, once per condition.
    ///     document: The document that `xpath('...')` queries: bytes, text, the path of a file, or
    ///         an open binary file or stream. Without one, `xpath('...')` is unknown.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that matching may take, including reading the event.
    ///
    /// Raises:
    ///     EventError: The event cannot be decoded.
    ///     DocumentError: The document is not well formed.
    ///     MatchTimeoutError: Matching took longer than `timeout`.
    #[pyo3(name = "match", signature = (event, *, r#where=None, document=None, now=None, timeout=None))]
    fn match_event<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let deadline = error::deadline(timeout)?;
        let snapshot = self.index.snapshot();
        let event = EventArgument { object: event, now, deadline };
        let query = Query { event, condition: r#where, document };
        let found = self.ask(py, &snapshot, &query, |event, selection, scratch| {
            snapshot.ids_selected(event, selection, scratch)
        })?;
        match &found {
            FoundIds::Integers(ids) => {
                let list = PyList::new(py, ids);
                with_working(|working| working.scratch.reuse(found));
                list
            }
            FoundIds::Any(ids) => id::write_all(py, ids.iter().copied()),
        }
    }

    /// The ids of the subscriptions that an event matches, as a JSON array.
    ///
    /// For servers, which pass the ids on: none of them becomes a Python object.
    ///
    /// Args:
    ///     event: As in `match`.
    ///     where: As in `match`.
    ///     document: As in `match`.
    ///     now: As in `match`.
    ///     timeout: As in `match`.
    ///     hits: Where to count the event and its matches.
    #[pyo3(signature = (event, *, r#where=None, document=None, now=None, timeout=None, hits=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn match_json<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
        hits: Option<&Bound<'py, Hits>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let deadline = error::deadline(timeout)?;
        let hits = hits.map(Bound::get);
        let snapshot = self.index.snapshot();
        let event = EventArgument { object: event, now, deadline };
        let query = Query { event, condition: r#where, document };
        let json = self.ask(py, &snapshot, &query, |event, selection, scratch| {
            let mut found = Vec::new();
            snapshot.matches_selected(event, selection, scratch, |id| found.push(id))?;
            hits.inspect(|hits| hits.count(found.iter().copied()));
            Ok(id::write_json(found.into_iter()))
        })?;
        Ok(PyBytes::new(py, &json))
    }

    /// The ids of the subscriptions that each event matches, each as a JSON array.
    ///
    /// Args:
    ///     events: As in `match_batch`, with `on_error="collect"`.
    ///     where: As in `match_batch`.
    ///     now: As in `match_batch`.
    ///     timeout: As in `match_batch`.
    ///     room: Bytes of JSON after which no more events are matched; the result is then shorter
    ///         than the list of events, but has at least one item.
    ///     hits: Where to count the events and their matches.
    #[pyo3(signature = (events, *, r#where=None, now=None, timeout=None, room=None, hits=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn match_batch_json<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
        room: Option<usize>,
        hits: Option<&Bound<'py, Hits>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.index.snapshot();
        let (name, condition, documents, column, threads) = ("match_batch_json", r#where, None, None, None);
        let batch = Batch { name, events, condition, documents, column, threads, now, timeout };
        let room = AtomicUsize::new(room.unwrap_or(usize::MAX));
        let ask = Ask::Json { hits: hits.map(Bound::get), room };
        self.ask_batch(py, &snapshot, ask, OnError::Collect, &batch)
    }

    /// The ids of the subscriptions that each event matches.
    ///
    /// All events are matched against one snapshot of the index.
    ///
    /// Args:
    ///     events: An iterable of events, or JSON lines in one text (blank lines are skipped); the
    ///         result is a list of ids per event. Or Arrow data (pyarrow, Polars, pandas,
    ///         DuckDB ...); the result is a pyarrow table with the columns `event`, the row
    ///         number, and `subscription`, the id.
    ///     where: A condition on the metadata of subscriptions, as in `match`.
    ///     count: Whether to count the events that each subscription matches. The result is a dict
    ///         or, with Arrow data, a table with the columns `subscription` and `count`. It omits
    ///         subscriptions without a match.
    ///     documents: One document per event, or `None` for an event without one. With Arrow data,
    ///         the name of the column that holds the documents, as text or bytes.
    ///     column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
    ///         text or bytes. By default, every column is an attribute.
    ///     metadata: With Arrow data, whether to add a column `metadata` with JSON.
    ///     threads: With Arrow data, the number of threads; one per core by default.
    ///     evaluation: With Arrow data, whether to match events one by one or in blocks. The result
    ///         is the same; `auto` measures both and takes the faster one.
    ///     on_error: What to do with events or documents that cannot be read. `"raise"`: the batch
    ///         fails, and the error names the event. `"skip"`: they match nothing, and the result
    ///         is a `Skipped`, the matches and a count. `"collect"`: they match nothing, and the
    ///         result is a `Collected`, the matches and a list of `Refused`.
    ///     now: The value of `now()` for all events; the current time by default.
    ///     timeout: Seconds that all events may take together.
    ///
    /// Raises:
    ///     EventError: An event cannot be read and `on_error` is `"raise"`; or the whole batch
    ///         cannot be read, for example because a column has an unsupported type.
    ///     MatchTimeoutError: It took longer than `timeout`, whatever `on_error` is.
    #[pyo3(signature = (
        events,
        *,
        r#where=None,
        count=false,
        documents=None,
        column=None,
        metadata=false,
        threads=None,
        evaluation="auto",
        on_error="raise",
        now=None,
        timeout=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        count: bool,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        metadata: bool,
        threads: Option<usize>,
        evaluation: &str,
        on_error: &str,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let on_error = read_on_error(on_error)?;
        let snapshot = self.index.snapshot();
        let evaluation = read_evaluation(evaluation)?;
        let ask = match count {
            true if metadata => {
                return Err(PyValueError::new_err(
                    "`count` gives no pairs, to which `metadata` could be added",
                ));
            }
            true => Ask::Count(Mutex::default()),
            false => Ask::All { metadata, evaluation },
        };
        let batch = Batch {
            name: "match_batch",
            events,
            condition: r#where,
            documents,
            column,
            threads,
            now,
            timeout,
        };
        self.ask_batch(py, &snapshot, ask, on_error, &batch)
    }
}
