//! The methods of `Index` that rank matches or return the first ones.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Index;
use crate::batch::{Ask, Batch};
use crate::event::EventArgument;
use crate::options::read_count;
use crate::query::Query;
use crate::refused::read_on_error;
use crate::{error, id, rank};

#[pymethods]
impl Index {
    /// The subscriptions that an event matches best, with their scores, best first.
    ///
    /// A predicate scores its weight (1 by default) times the event's weight of the value that
    /// satisfies it; if several values do, the highest product. A negated predicate scores
    /// nothing. `and` adds scores, `or` takes the highest score of its true children, and the
    /// subscription's boost multiplies the result. Among equal scores, the subscription added
    /// first comes first.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     n: The maximum number of results.
    ///     weights: The event's weights of attributes, or of their values; 1 by default:
    ///         `{"age": 0.8, "tags": {"new": 2.0}}`.
    ///     where: A condition on the metadata of subscriptions, as in `match`.
    ///     document: The document that `xpath('...')` queries; see `match`.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     EventError: The event cannot be decoded.
    ///     ExpressionError: A weight is negative or not finite.
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (event, n=10, *, weights=None, r#where=None, document=None, now=None, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn top<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        n: i64,
        weights: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (n, deadline) = (read_count(n)?, error::deadline(timeout)?);
        let snapshot = self.index.snapshot();
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let event = EventArgument { object: event, now, deadline };
        let query = Query { event, condition: r#where, document };
        let ranking = self.ask(py, &snapshot, &query, |event, selection, scratch| {
            snapshot.top_selected(event, n, &weights, selection, scratch)
        })?;
        rank::write_ranking(py, &ranking)
    }

    /// The subscriptions that each event matches best; see `top` and `match_batch`.
    ///
    /// Args:
    ///     events: An iterable of events, or JSON lines in one text; the result is a list per
    ///         event. Or Arrow data; the result is a pyarrow table with the columns `event`, the
    ///         row number, `subscription`, the id, `score`, and `rank`, from 1.
    ///     n: The maximum number per event.
    ///     weights: The weights of attributes, or of their values, for all events; 1 by default.
    ///     where: A condition on the metadata of subscriptions, as in `match`.
    ///     documents: One document per event, as in `match_batch`.
    ///     column: With Arrow data, the column that holds the events.
    ///     threads: With Arrow data, the number of threads; one per core by default.
    ///     on_error: What to do with events that cannot be read, as in `match_batch`.
    ///     now: The value of `now()` for all events; the current time by default.
    ///     timeout: Seconds that all events may take together.
    #[pyo3(signature = (
        events,
        n=10,
        *,
        weights=None,
        r#where=None,
        documents=None,
        column=None,
        threads=None,
        on_error="raise",
        now=None,
        timeout=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn top_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        n: i64,
        weights: Option<&Bound<'py, PyAny>>,
        r#where: Option<&Bound<'py, PyAny>>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
        on_error: &str,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let on_error = read_on_error(on_error)?;
        let snapshot = self.index.snapshot();
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let ask = Ask::Top(read_count(n)?, &weights);
        let batch =
            Batch { name: "top_batch", events, condition: r#where, documents, column, threads, now, timeout };
        self.ask_batch(py, &snapshot, ask, on_error, &batch)
    }

    /// The ids of the matching subscriptions of the highest priorities, highest first.
    ///
    /// Among equal priorities, the subscription added first comes first. The first call compiles
    /// the highest priorities separately, so lower ones are usually not examined.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     n: The maximum number of results.
    ///     where: A condition on the metadata of subscriptions, as in `match`.
    ///     document: The document that `xpath('...')` queries; see `match`.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (event, n=1, *, r#where=None, document=None, now=None, timeout=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn first<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        n: i64,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (n, deadline) = (read_count(n)?, error::deadline(timeout)?);
        let snapshot = self.index.snapshot();
        let event = EventArgument { object: event, now, deadline };
        let query = Query { event, condition: r#where, document };
        let first = self.ask(py, &snapshot, &query, |event, selection, scratch| {
            snapshot.first(event, n, selection, scratch)
        })?;
        id::write_all(py, first.into_iter().map(|(id, _)| id).collect::<Vec<_>>())
    }

    /// The matching subscriptions of the highest priorities for each event; see `first`.
    ///
    /// Args:
    ///     events: An iterable of events, or JSON lines in one text; the result is a list of ids
    ///         per event. Or Arrow data; the result is a pyarrow table with the columns `event`,
    ///         the row number, `subscription`, the id, `priority`, and `rank`, from 1.
    ///     n: The maximum number per event.
    ///     where: A condition on the metadata of subscriptions, as in `match`.
    ///     documents: One document per event, as in `match_batch`.
    ///     column: With Arrow data, the column that holds the events.
    ///     threads: With Arrow data, the number of threads; one per core by default.
    ///     on_error: What to do with events that cannot be read, as in `match_batch`.
    ///     now: The value of `now()` for all events; the current time by default.
    ///     timeout: Seconds that all events may take together.
    #[pyo3(signature = (
        events,
        n=1,
        *,
        r#where=None,
        documents=None,
        column=None,
        threads=None,
        on_error="raise",
        now=None,
        timeout=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn first_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        n: i64,
        r#where: Option<&Bound<'py, PyAny>>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
        on_error: &str,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let on_error = read_on_error(on_error)?;
        let snapshot = self.index.snapshot();
        let ask = Ask::First(read_count(n)?);
        let batch = Batch {
            name: "first_batch",
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
