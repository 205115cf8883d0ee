//! `tamis.Index`: what a user holds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyType};
use tamis::event::OnError;
use tamis::index::{FoundIds, Snapshot, Validity};
use tamis::lint::LintOptions;
use tamis::storage::OpenOptions;

use crate::batch::{Ask, Batch};
use crate::check;
use crate::error;
use crate::event;
use crate::explanation::Explanation;
use crate::hierarchy;
use crate::hits::Hits;
use crate::id;
use crate::ids::Ids;
use crate::interrupt::PATIENCE;
use crate::limits::{Limits, or_default};
use crate::loading::Loading;
use crate::manners;
use crate::options::{
    read_algorithm, read_columns, read_count, read_evaluation, read_missing, read_now, read_zone,
    write_missing,
};
use crate::question::Question;
use crate::rank;
use crate::refused::read_on_error;
use crate::subscription::{Subscription, read_boost, read_priority, write_metadata, write_moment};

/// A set of subscriptions that you can match while it changes.
///
/// Any number of threads may match while others add and remove. A match sees all of a change or
/// none of it, and never waits.
///
/// Annotate an index as `Index[str]` if all ids are strings, so that type checkers know what
/// `match` returns.
///
/// Args:
///     matcher: The algorithm. `"auto"` chooses; `"compiled"` is a compiled A-Tree; `"atree"` is
///         the A-Tree of the paper; `"kindex"` and `"cnf"` intersect posting lists of disjunctive
///         and conjunctive normal forms; `"dewey"` and `"interval"` evaluate labels of true
///         conjunctions; `"scan"` evaluates every expression.
///     missing: The truth of a predicate on an attribute without a value. With `"unknown"`, its
///         negation is unknown, too; with `"false"`, its negation is true.
///     time_zone: The zone of times without an offset, in expressions and in events: a name such as
///         `"Europe/Paris"`, or an offset such as `"+02:00"`.
///     metadata_columns: The members of metadata to index, which makes `where` fast: names such as
///         `"tenant"`, or `"owner.team"` in a nested object.
///     limits: Limits on expressions and events.
#[pyclass(module = "tamis", frozen)]
pub struct Index {
    pub(crate) index: tamis::Index,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (
        *,
        matcher="auto",
        missing="unknown",
        time_zone="UTC",
        metadata_columns=None,
        limits=None
    ))]
    fn new(
        py: Python<'_>,
        matcher: &str,
        missing: &str,
        time_zone: &str,
        metadata_columns: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, Limits>>,
    ) -> PyResult<Self> {
        let (algorithm, missing, limits) =
            (read_algorithm(matcher)?, read_missing(missing)?, or_default(limits));
        let (zone, columns) = (read_zone(time_zone)?, read_columns(metadata_columns)?);
        let index = tamis::Index::with_metadata_columns(missing, limits, algorithm, zone, &columns);
        Ok(Index { index: index.map_err(|error| error::raise(py, &error))? })
    }

    /// Add a subscription, or replace the one with the same id.
    ///
    /// Args:
    ///     id: A string or a 64-bit integer.
    ///     expression: Text, or an `Expression`.
    ///     metadata: Any JSON value; `index[id].metadata` returns it.
    ///     weights: Weights of attributes, or of their values, for ranking:
    ///         `{"age": 2.0, "tags": {"new": 2.5}}`. They become part of the expression and
    ///         replace those in its text (`tags = 'new'^2.5`).
    ///     boost: The factor applied to its score in a ranking, such as a bid; 1 by default.
    ///     priority: Higher ones come first in `first`; 0 by default.
    ///     active_from: The first moment at which it can match: a `datetime`, or text such as
    ///         `2026-01-02T05:00Z`. It is compared with `now()`.
    ///     active_until: The first moment at which it can no longer match.
    #[pyo3(signature = (
        id,
        expression,
        *,
        metadata=None,
        weights=None,
        boost=None,
        priority=None,
        active_from=None,
        active_until=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        expression: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        boost: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        active_from: Option<&Bound<'_, PyAny>>,
        active_until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let id = id::read(id)?;
        let boost = boost.map_or(Ok(1.0), read_boost)?;
        let priority = priority.map_or(Ok(0), read_priority)?;
        let from = active_from.map(|time| self.read_moment("active_from", time)).transpose()?;
        let until = active_until.map(|time| self.read_moment("active_until", time)).transpose()?;
        let validity = Validity { from, until };
        let expression = self.read_expression(py, expression, weights)?;
        let metadata = metadata.map(write_metadata).transpose()?;
        let subscription = tamis::index::Subscription { id, expression, metadata, boost, priority, validity };
        py.detach(|| self.index.add_subscription(subscription)).map_err(|error| error::raise(py, &error))
    }

    /// Add all subscriptions, or none.
    ///
    /// Ctrl-C stops the call, and so does an exception in `progress`; nothing is added then.
    ///
    /// Args:
    ///     items: Tuples (id, expression) or (id, expression, metadata), or dicts of the arguments
    ///         of `add`; or one mapping of ids to expressions. If an id is repeated, the last
    ///         counts.
    ///     on_error: What to do with items that cannot be added. `"raise"`: nothing is added.
    ///         `"skip"`: they are skipped and counted. `"collect"`: they are skipped and returned
    ///         in `Loaded.refused`.
    ///     progress: True draws a bar on a terminal or in a notebook, and nothing in a script. A
    ///         function is called from time to time with the number of compiled subscriptions and
    ///         the total.
    ///
    /// Raises:
    ///     TamisError: An item is invalid. `item` is its position; nothing is added.
    #[pyo3(signature = (items, *, on_error="raise", progress=None))]
    fn add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.load_items(items, Loading::new(read_on_error(on_error)?, progress)?)
    }

    /// Add the subscriptions in the rows of a table, in order.
    ///
    /// Args:
    ///     table: Anything with the Arrow C interface: Arrow, pandas, Polars, DuckDB. Its columns
    ///         are `id` (strings or integers), `expression` (text, or the JSON form) and,
    ///         optionally, `metadata` and `weights` (JSON, or a struct or map), `boost`,
    ///         `priority`, `active_from` and `active_until` (times, or their texts). Other
    ///         columns are ignored.
    ///     on_error: As in `add_many`.
    ///     progress: As in `add_many`.
    ///
    /// Raises:
    ///     SubscriptionError: A column is missing or has the wrong type.
    ///     TamisError: A row cannot be added.
    #[pyo3(signature = (table, *, on_error="raise", progress=None))]
    fn add_table<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let table = py.import("tamis.loading")?.call_method1("as_table", (table,))?;
        self.load_table(&table, Loading::new(read_on_error(on_error)?, progress)?)
    }

    /// Create an index from the subscriptions in the rows of a table.
    ///
    /// Args:
    ///     table: As in `add_table`.
    ///     on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
    ///     progress: As in `add_many`.
    ///     options: The arguments of `Index`.
    #[staticmethod]
    #[pyo3(signature = (table, *, on_error="raise", progress=None, **options))]
    fn from_table<'py>(
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (table, on_error, progress, options);
        py.import("tamis.loading")?.call_method1("from_table", arguments)
    }

    /// Create an index from the subscriptions in a CSV file.
    ///
    /// Args:
    ///     path: The path of a file, or an open file. Its first line names the columns: those of
    ///         `add_table`, and no others. `metadata` and `weights` are JSON; an empty cell means
    ///         no value.
    ///     ids: Whether ids are strings or integers.
    ///     delimiter: The separator between cells.
    ///     encoding: The encoding of the file.
    ///     on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
    ///     progress: As in `add_many`.
    ///     options: The arguments of `Index`.
    #[staticmethod]
    #[pyo3(signature = (
        path,
        *,
        ids="string",
        delimiter=",",
        encoding="utf-8",
        on_error="raise",
        progress=None,
        **options
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn from_csv<'py>(
        py: Python<'py>,
        path: &Bound<'py, PyAny>,
        ids: &str,
        delimiter: &str,
        encoding: &str,
        on_error: &str,
        progress: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (path, ids, delimiter, encoding, on_error, progress, options);
        py.import("tamis.loading")?.call_method1("from_csv", arguments)
    }

    /// Remove the subscriptions with these ids, all at once.
    ///
    /// Args:
    ///     ids: Their ids.
    ///     on_error: What to do with an unknown id. `"raise"`: raise an error and remove nothing.
    ///         `"skip"`: ignore it.
    ///
    /// Returns:
    ///     The number of removed subscriptions.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has one of the ids.
    #[pyo3(signature = (ids, *, on_error="raise"))]
    fn remove_many(&self, ids: &Bound<'_, PyAny>, on_error: &str) -> PyResult<usize> {
        match on_error {
            "raise" => self.remove_ids(ids, true),
            "skip" => self.remove_ids(ids, false),
            other => {
                let message = format!("on_error is \"raise\" or \"skip\" here, not {other:?}");
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// Change when a subscription can match.
    ///
    /// As when it is replaced, the subscription moves to the end of the order.
    ///
    /// Args:
    ///     id: Its id.
    ///     bounds: `active_from` and `active_until`, as in `add`. A bound that is not given stays
    ///         as it is; None removes it.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    ///     ExpressionError: It would end before it begins.
    #[pyo3(signature = (id, **bounds))]
    fn set_validity(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        bounds: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (mut from, mut until) = (None, None);
        for (name, time) in bounds.iter().flat_map(|bounds| bounds.iter()) {
            let bound = match &*name.extract::<String>()? {
                "active_from" => &mut from,
                "active_until" => &mut until,
                other => {
                    let message =
                        format!("set_validity takes `active_from` and `active_until`, not `{other}`");
                    return Err(PyTypeError::new_err(message));
                }
            };
            let name = name.extract::<String>()?;
            *bound = Some(match time.is_none() {
                true => None,
                false => Some(self.read_moment(&name, &time)?),
            });
        }
        let change = |before: Validity| Validity {
            from: from.unwrap_or(before.from),
            until: until.unwrap_or(before.until),
        };
        let changed = id::try_read(id).map(|id| py.detach(|| self.index.set_validity(&id, change)));
        match changed.transpose().map_err(|error| error::raise(py, &error))? {
            Some(true) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// The subscriptions with a validity period, in insertion order.
    fn validities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (snapshot, list) = (self.index.snapshot(), PyList::empty(py));
        let class = py.import("tamis.batches")?.getattr("Validity")?;
        for found in snapshot.validities() {
            let (id, Validity { from, until }) = found.map_err(|error| error::raise(py, &error))?;
            let bounds = (id::write(py, id)?, write_moment(py, from)?, write_moment(py, until)?);
            list.append(class.call1(bounds)?)?;
        }
        Ok(list)
    }

    /// Remove a subscription.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let removed = id::try_read(id).map(|id| py.detach(|| self.index.try_remove(&id)));
        match removed.transpose().map_err(|error| error::raise(py, &error))? {
            Some(true) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// The ids of the subscriptions that an event matches, in insertion order.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     where: A condition on metadata, such as `tenant = 'a'`: only subscriptions that satisfy
    ///         it can match. Metadata is read like an event; metadata that is not an object has no
    ///         attributes. Plain predicates on `metadata_columns` are fast.
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
        let question = Question { event, condition: r#where, document, now, deadline };
        let found = self.ask(py, &snapshot, &question, |event, selection, scratch| {
            snapshot.ids_selected(event, selection, scratch)
        })?;
        match found {
            FoundIds::Integers(ids) => PyList::new(py, ids),
            FoundIds::Any(ids) => id::write_all(py, ids),
        }
    }

    /// How long an event takes, and how much the matcher read for it.
    ///
    /// `tamis.statistics.EventProfile` describes the result. Call it twice: the first time, regular
    /// expressions may have to be compiled and files to be read.
    ///
    /// Args:
    ///     event: As in `match`.
    ///     where: As in `match`.
    ///     document: As in `match`.
    ///     now: As in `match`.
    ///
    /// Raises:
    ///     EventError: The event cannot be decoded.
    ///     DocumentError: The document is not well formed.
    #[pyo3(signature = (event, *, r#where=None, document=None, now=None))]
    fn profile<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        r#where: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let begun = Instant::now();
        let snapshot = self.index.snapshot();
        let question = Question { event, condition: r#where, document, now, deadline: None };
        let (read, matched, matches, counters) =
            self.ask(py, &snapshot, &question, |event, selection, scratch| {
                let read = begun.elapsed();
                scratch.take_counters();
                let begun = Instant::now();
                let matches = match snapshot.ids_selected(event, selection, scratch)? {
                    FoundIds::Integers(ids) => ids.len(),
                    FoundIds::Any(ids) => ids.len(),
                };
                Ok((read, begun.elapsed(), matches, scratch.take_counters()))
            })?;
        let dict = PyDict::new(py);
        dict.set_item("read_us", read.as_secs_f64() * 1e6)?;
        dict.set_item("match_us", matched.as_secs_f64() * 1e6)?;
        dict.set_item("matches", matches)?;
        dict.set_item("segments", snapshot.stats().segments)?;
        dict.set_item("lists", counters.lists)?;
        dict.set_item("entries", counters.entries)?;
        dict.set_item("candidates", counters.candidates)?;
        dict.set_item("nodes", counters.nodes)?;
        dict.set_item("patterns", counters.tried)?;
        Ok(dict)
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
        let question = Question { event, condition: r#where, document, now, deadline };
        let json = self.ask(py, &snapshot, &question, |event, selection, scratch| {
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
    ///         is the same; `auto` chooses what it estimates to be faster.
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

    /// The subscriptions that an event matches best, with their scores, best first.
    ///
    /// A predicate scores its weight (1 by default) times the event's weight of the value that
    /// satisfies it; if several values do, the highest product. A negated predicate scores
    /// nothing. `and` adds scores, `or` takes the highest score of its true operands, and the
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
        let question = Question { event, condition: r#where, document, now, deadline };
        let ranking = self.ask(py, &snapshot, &question, |event, selection, scratch| {
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
        let question = Question { event, condition: r#where, document, now, deadline };
        let first = self.ask(py, &snapshot, &question, |event, selection, scratch| {
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

    /// Declare which values of an attribute contain others.
    ///
    /// An event that has a value also has the values above it: after `index.hierarchy("geo",
    /// {"US": ["California", "Oregon"]})`, `geo = 'US'` is true in California. The hierarchy
    /// applies to all later events and is saved with the index.
    ///
    /// Args:
    ///     attribute: The name of the attribute.
    ///     values: A mapping of values to the values below them, as another mapping or a list; or
    ///         `"dates"`, which puts dates such as `2008-02-14` below their month `2008-02` and
    ///         year `2008`; or None to remove the hierarchy.
    ///
    /// Raises:
    ///     ExpressionError: A value is above itself, or is not a valid value.
    fn hierarchy(&self, py: Python<'_>, attribute: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let hierarchy = values.map(hierarchy::read).transpose()?;
        self.index.set_hierarchy(attribute, hierarchy).map_err(|error| error::raise(py, &error))
    }

    /// Why a subscription matches an event, or not.
    ///
    /// Args:
    ///     id: The subscription's id.
    ///     event: A mapping, or JSON as text or bytes.
    ///     document: The document that `xpath('...')` queries; see `match`.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (id, event, *, document=None, now=None, timeout=None))]
    fn explain(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        event: &Bound<'_, PyAny>,
        document: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Explanation> {
        let deadline = error::deadline(timeout)?;
        let subscription = self.find(py, id)?;
        let snapshot = self.index.snapshot();
        let document = self.document(document)?;
        // The subscription may be removed meanwhile, and its names with it.
        let _pin = snapshot.attributes().pin();
        let mut decoded =
            event::read_to_explain(event, now, deadline, snapshot.attributes(), self.index.limits())?;
        py.detach(|| self.read_document(&snapshot, &document, &mut decoded))
            .map_err(|failure| failure.raise(py))?;
        let explained = py.detach(|| self.index.explain(&subscription.expression, &decoded));
        explained.map(Explanation).map_err(|error| error::raise(py, &error))
    }

    /// Find subscriptions that are probably mistakes.
    ///
    /// The kinds of findings, in the order of the list:
    ///
    /// - `"event"`: an event of the sample cannot be read; it is skipped.
    /// - `"unseen-attribute"`: no event has the attribute; the message may name one like it.
    /// - `"unseen-type"`: an operand has a type that the attribute never has in the sample, or a
    ///   term has no value there.
    /// - `"text-order"`: a text that looks like a time, a number or a version is ordered as text.
    /// - `"text-network"`: a network is written as a text, which no address equals.
    /// - `"quoted-name"`: a name contains operators, as in `"a > 5" = true`, and no event has it.
    /// - `"text-case"`: `lower` or `upper` of a text is compared with a text in another case.
    /// - `"never"`, `"always"`: no event can satisfy the expression, or every event does.
    /// - `"equal"`: subscriptions are equivalent, apart from their weights.
    /// - `"subsumed"`: every event that satisfies the first subscription satisfies the others.
    /// - `"bound"`: the check is incomplete; the message says what was left out.
    ///
    /// Findings about expressions hold for all events, not only for the sample, but not all such
    /// mistakes are found. Findings of one kind about one attribute are combined.
    ///
    /// Args:
    ///     events: A sample of events, as in `match_batch`; without one, only the expressions
    ///         themselves are checked.
    ///     now: The value of `now()`; the current time by default.
    ///     comparisons: The number of pairs of predicates to compare when subscriptions are
    ///         compared with each other; 20,000,000 by default.
    ///     most: The maximum number of findings; 10,000 by default.
    #[pyo3(signature = (events=None, *, now=None, comparisons=None, most=None))]
    fn check<'py>(
        &self,
        py: Python<'py>,
        events: Option<&Bound<'py, PyAny>>,
        now: Option<&Bound<'py, PyAny>>,
        comparisons: Option<u64>,
        most: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let mut options = LintOptions::default();
        options.comparisons = comparisons.unwrap_or(options.comparisons);
        options.findings = most.unwrap_or(options.findings);
        let snapshot = self.index.snapshot();
        let now = read_now(now, snapshot.attributes())?;
        check::check(py, &self.index, &snapshot, events, now, &options)
    }

    /// Save the index to a folder, which is created if it does not exist.
    ///
    /// Files that the folder already has are not written again. Whoever opens the folder sees the
    /// index either before or after this save, never a mixture.
    ///
    /// Raises:
    ///     StorageError: The folder cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.index.save(&path)).map_err(|error| error::raise(py, &error))
    }

    /// Open a saved index. Its files are mapped, and shared by all processes that map them.
    ///
    /// Segments are not merged until the index changes.
    ///
    /// Args:
    ///     path: The folder, or a manifest in it. If the folder has versions, the latest is opened.
    ///     shard: The shard to open; all shards by default.
    ///     matcher: The algorithm for subscriptions added from now on.
    ///     limits: Limits on expressions and events.
    ///     verify: Whether to read all files and check their checksums first. Without verification,
    ///         opening takes almost no time, and damage is an error when it is read.
    ///     copy: Whether to copy the files into memory instead of mapping them. A mapped file that
    ///         somebody truncates or overwrites in place kills the process with SIGBUS; a copy
    ///         cannot change.
    ///
    /// Raises:
    ///     StorageError: There is no index, or a file is missing, damaged or of another format.
    #[staticmethod]
    #[pyo3(signature = (path, *, shard=None, matcher="auto", limits=None, verify=true, copy=false))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        shard: Option<u32>,
        matcher: &str,
        limits: Option<&Bound<'_, Limits>>,
        verify: bool,
        copy: bool,
    ) -> PyResult<Self> {
        let options = OpenOptions::default().verify(verify).copy(copy);
        let (algorithm, limits) = (read_algorithm(matcher)?, or_default(limits));
        let index = py.detach(|| match shard {
            None => tamis::Index::open(&path, limits, algorithm, options),
            Some(shard) => tamis::Index::open_shard(&path, shard, limits, algorithm, options),
        });
        Ok(Index { index: index.map_err(|error| error::raise(py, &error))? })
    }

    /// Wait until the background thread has merged all segments that are due.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        while !py.detach(|| self.index.settle_within(PATIENCE)) {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Statistics about the index; see `tamis.statistics.IndexStats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.index.snapshot();
        let expressions =
            py.detach(|| snapshot.expression_stats()).map_err(|error| error::raise(py, &error))?;
        let stats = snapshot.stats();
        let dict = PyDict::new(py);
        dict.set_item("subscriptions", stats.subscriptions)?;
        dict.set_item("removed", stats.removed)?;
        dict.set_item("segments", stats.segments)?;
        dict.set_item("attributes", stats.attributes)?;
        dict.set_item("terms", stats.terms)?;
        dict.set_item("predicates", expressions.predicates.values().sum::<usize>())?;
        let mut predicates: BTreeMap<String, usize> = BTreeMap::new();
        for (name, count) in &expressions.predicates {
            *predicates.entry(written_name(name)).or_default() += count;
        }
        dict.set_item("attribute_predicates", predicates)?;
        dict.set_item("nodes", expressions.nodes)?;
        dict.set_item("edges", expressions.edges)?;
        dict.set_item("sharing", expressions.sharing())?;
        dict.set_item("unfiltered_patterns", expressions.unfiltered_patterns)?;
        dict.set_item("unselective", expressions.unselective)?;
        dict.set_item("matching_bytes", stats.matching_bytes)?;
        dict.set_item("subscription_bytes", stats.subscription_bytes)?;
        dict.set_item("matcher", stats.matcher)?;
        dict.set_item("matchers", stats.matchers)?;
        Ok(dict)
    }

    /// The names of the attributes that subscriptions mention.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        event::attribute_names(self.index.snapshot().attributes())
    }

    /// Whether an expression uses `values()`, so events are decoded completely.
    #[getter]
    fn asks_values(&self) -> bool {
        self.index.snapshot().attributes().asks_values().is_some()
    }

    /// The indexed members of metadata.
    #[getter]
    fn metadata_columns(&self) -> Vec<String> {
        self.index.metadata_columns().iter().map(|name| name.to_string()).collect()
    }

    /// The algorithm passed to the constructor.
    #[getter]
    fn matcher(&self) -> &'static str {
        let algorithm = self.index.algorithm();
        algorithm.name()
    }

    /// The truth of a predicate on an attribute without a value.
    #[getter]
    fn missing(&self) -> &'static str {
        write_missing(self.index.missing())
    }

    /// The zone of times without an offset, in expressions and in events.
    #[getter]
    fn time_zone(&self) -> String {
        self.index.time_zone().name().to_owned()
    }

    /// The limits on expressions and events.
    #[getter]
    fn limits(&self) -> Limits {
        Limits(self.index.limits().clone())
    }

    fn __len__(&self) -> usize {
        self.index.snapshot().len()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> bool {
        id::try_read(id).is_some_and(|id| self.index.snapshot().contains(&id))
    }

    fn __getitem__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Subscription> {
        self.find(py, id).map(Subscription)
    }

    /// The ids, in insertion order, as they are now.
    fn __iter__(&self) -> Ids {
        Ids::new(self.index.snapshot())
    }

    fn __repr__(&self) -> String {
        format!("<Index of {} subscriptions>", self.index.snapshot().len())
    }

    /// `Index[str]`, for annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.call_method1("GenericAlias", (class, ids))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_index")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_index")
    }
}

impl From<tamis::Index> for Index {
    fn from(index: tamis::Index) -> Self {
        Index { index }
    }
}

impl Index {
    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.index.snapshot()
    }
}

/// An attribute's name, or a term as it is written.
fn written_name(name: &str) -> String {
    if name.starts_with('\u{1}') { tamis::expression::shown(name) } else { name.to_owned() }
}
