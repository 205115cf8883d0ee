//! `tamis.Index` and `tamis.Subscription`: what a user holds.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple};
use tamis::{Algorithm, Event, EventWeights, IdRef, MatchScratch, Missing, Snapshot};

use crate::arrow;
use crate::error;
use crate::event;
use crate::explanation::Explanation;
use crate::expression::{self, Expression};
use crate::hierarchy;
use crate::id;
use crate::limits::{Limits, or_default};
use crate::rank;
use crate::xml::{Failure, Source};

/// Events decoded before they are matched together, without the interpreter's lock.
const CHUNK: usize = 256;

#[derive(Default)]
struct Working {
    events: Vec<Event>,
    scratch: MatchScratch,
}

thread_local! {
    /// Working memory, reused from call to call.
    static WORKING: RefCell<Working> = RefCell::default();
}

/// Runs `use_it` with this thread's working memory, or with new memory where Python code that
/// decoding runs calls back into an index.
fn with_working<T>(use_it: impl FnOnce(&mut Working) -> T) -> T {
    WORKING.with(|working| match working.try_borrow_mut() {
        Ok(mut working) => use_it(&mut working),
        Err(_) => use_it(&mut Working::default()),
    })
}

/// A set of subscriptions that can be matched while it changes.
#[pyclass(module = "tamis", frozen)]
pub struct Index {
    index: tamis::Index,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (*, matcher="auto", missing="unknown", limits=None))]
    fn new(matcher: &str, missing: &str, limits: Option<&Bound<'_, Limits>>) -> PyResult<Self> {
        let algorithm = read_algorithm(matcher)?;
        let missing = read_missing(missing)?;
        Ok(Index { index: tamis::Index::with_algorithm(missing, or_default(limits), algorithm) })
    }

    /// Add a subscription, replacing the one of the same id.
    #[pyo3(signature = (id, expression, *, metadata=None, weights=None, boost=None))]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        expression: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        boost: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let id = id::read(id)?;
        let boost = boost.map_or(Ok(1.0), read_boost)?;
        let expression = self.read_expression(py, expression, weights)?;
        let metadata = metadata.map(write_metadata).transpose()?;
        let subscription = tamis::Subscription { id, expression, metadata, boost };
        py.detach(|| self.index.add_subscription(subscription)).map_err(|error| error::raise(py, &error))
    }

    /// Add all subscriptions, given as (id, expression) or (id, expression, metadata), as mappings of
    /// the arguments of `add`, or as one mapping of ids to expressions; where one fails, none is added.
    fn add_many(&self, py: Python<'_>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        let items = match items.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.try_iter()?,
            Err(_) => iterate(items, "add_many takes an iterable of (id, expression) pairs")?,
        };
        let mut subscriptions = Vec::new();
        for (position, item) in items.enumerate() {
            if position % 1024 == 0 {
                py.check_signals()?;
            }
            subscriptions.push(self.read_item(py, position, &item?)?);
        }
        py.detach(|| self.index.add_many(subscriptions)).map_err(|error| error::raise(py, &error))
    }

    /// Remove a subscription.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        match id::try_read(id) {
            Some(known) if py.detach(|| self.index.remove(&known)) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// The ids of the subscriptions that an event matches, in insertion order. A document is what
    /// `xpath('...')` asks about: bytes, text, a path or a binary stream.
    #[pyo3(name = "match", signature = (event, *, document=None))]
    fn match_event<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        document: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.index.snapshot();
        let document = self.document(document)?;
        with_working(|working| {
            let Working { events, scratch } = working;
            if events.is_empty() {
                events.push(Event::default());
            }
            let decoded = &mut events[0];
            event::decode(event, decoded, snapshot.attributes(), self.index.limits())?;
            let mut found = Vec::new();
            let matched = py.detach(|| {
                self.read_document(&snapshot, &document, decoded)?;
                snapshot.matches(decoded, scratch, |id| found.push(id)).map_err(Failure::Engine)
            });
            matched.map_err(|failure| failure.raise(py))?;
            write_ids(py, &found)
        })
    }

    /// The ids of the subscriptions that each event matches: one list per event. Events are given as
    /// an iterable, or as JSON lines in one text; all are matched against the index of one moment.
    ///
    /// `documents` has one document per event, or `None` for an event without.
    ///
    /// Arrow data, which is whatever speaks the Arrow C interface, gives an Arrow table instead, and
    /// `documents` is the name of the column that holds them.
    #[pyo3(signature = (events, *, documents=None, column=None, threads=None))]
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.index.snapshot();
        let asked = Asked { name: "match_batch", snapshot: &snapshot, ask: Ask::All };
        self.batch(py, &asked, events, documents, column, threads)
    }

    /// The `n` subscriptions that an event matches best, best first.
    #[pyo3(signature = (event, n=10, *, weights=None, document=None))]
    fn top<'py>(
        &self,
        py: Python<'py>,
        event: &Bound<'py, PyAny>,
        n: i64,
        weights: Option<&Bound<'py, PyAny>>,
        document: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let n = read_count(n)?;
        let snapshot = self.index.snapshot();
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let document = self.document(document)?;
        with_working(|working| {
            let Working { events, scratch } = working;
            if events.is_empty() {
                events.push(Event::default());
            }
            let decoded = &mut events[0];
            event::decode(event, decoded, snapshot.attributes(), self.index.limits())?;
            let ranking = py.detach(|| {
                self.read_document(&snapshot, &document, decoded)?;
                snapshot.top(decoded, n, &weights, scratch).map_err(Failure::Engine)
            });
            rank::write_ranking(py, &ranking.map_err(|failure| failure.raise(py))?)
        })
    }

    /// The `n` subscriptions that each event matches best: one list per event, or an Arrow table for
    /// Arrow data.
    #[pyo3(signature = (events, n=10, *, weights=None, documents=None, column=None, threads=None))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn top_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        n: i64,
        weights: Option<&Bound<'py, PyAny>>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let snapshot = self.index.snapshot();
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let asked = Asked { name: "top_batch", snapshot: &snapshot, ask: Ask::Top(read_count(n)?, &weights) };
        self.batch(py, &asked, events, documents, column, threads)
    }

    /// Say what lies above the values of an attribute; `None` takes it back.
    fn hierarchy(&self, py: Python<'_>, attribute: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let hierarchy = values.map(hierarchy::read).transpose()?;
        self.index.set_hierarchy(attribute, hierarchy).map_err(|error| error::raise(py, &error))
    }

    /// Why a subscription matches an event, or not.
    #[pyo3(signature = (id, event, *, document=None))]
    fn explain(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        event: &Bound<'_, PyAny>,
        document: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Explanation> {
        let subscription = self.find(py, id)?;
        let snapshot = self.index.snapshot();
        let document = self.document(document)?;
        let mut decoded = Event::default();
        event::decode(event, &mut decoded, snapshot.attributes(), self.index.limits())?;
        py.detach(|| self.read_document(&snapshot, &document, &mut decoded))
            .map_err(|failure| failure.raise(py))?;
        Ok(Explanation(self.index.explain(&subscription.expression, &decoded)))
    }

    /// Save the index into a folder, which is made if it is not there.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.index.save(&path)).map_err(|error| error::raise(py, &error))
    }

    /// Open a saved index.
    #[staticmethod]
    #[pyo3(signature = (path, *, matcher="auto", limits=None, verify=true))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        matcher: &str,
        limits: Option<&Bound<'_, Limits>>,
        verify: bool,
    ) -> PyResult<Self> {
        let (algorithm, limits) = (read_algorithm(matcher)?, or_default(limits));
        let index = py.detach(|| tamis::Index::open(&path, limits, algorithm, verify));
        Ok(Index { index: index.map_err(|error| error::raise(py, &error))? })
    }

    /// Wait until nothing is left to be merged in the background.
    fn settle(&self, py: Python<'_>) {
        py.detach(|| self.index.settle());
    }

    /// Figures about the index.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.index.snapshot().stats();
        let dict = PyDict::new(py);
        dict.set_item("subscriptions", stats.subscriptions)?;
        dict.set_item("removed", stats.removed)?;
        dict.set_item("segments", stats.segments)?;
        dict.set_item("attributes", stats.attributes)?;
        dict.set_item("predicates", stats.predicates)?;
        dict.set_item("matching_bytes", stats.matching_bytes)?;
        dict.set_item("subscription_bytes", stats.subscription_bytes)?;
        dict.set_item("matcher", stats.matcher)?;
        Ok(dict)
    }

    /// What a predicate is on an attribute without a value: `"unknown"` or `"false"`.
    #[getter]
    fn missing(&self) -> &'static str {
        write_missing(self.index.missing())
    }

    /// The bounds on expressions and events.
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
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let snapshot = self.index.snapshot();
        let ids =
            snapshot.ids().collect::<tamis::Result<Vec<_>>>().map_err(|error| error::raise(py, &error))?;
        write_ids(py, &ids)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Index of {} subscriptions>", self.index.snapshot().len())
    }
}

impl Index {
    /// The document that a Python object is, if it is one.
    fn document(&self, document: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Source>> {
        let given = document.filter(|document| !document.is_none());
        given.map(|document| Source::read(document, &self.index.limits().xml)).transpose()
    }

    /// Adds a document to a decoded event.
    fn read_document(
        &self,
        snapshot: &Snapshot,
        document: &Option<Source>,
        event: &mut Event,
    ) -> Result<(), Failure> {
        match document {
            Some(source) => {
                source.with(&self.index.limits().xml, |input| snapshot.read_document(input, event))
            }
            None => Ok(()),
        }
    }

    /// The documents of the next events.
    fn next_documents<'py>(
        &self,
        documents: Option<&Bound<'py, PyIterator>>,
        first: usize,
        count: usize,
    ) -> PyResult<Vec<Option<Source>>> {
        let Some(documents) = documents else { return Ok(Vec::new()) };
        let mut sources = Vec::with_capacity(count);
        for position in first..first + count {
            let Some(document) = documents.clone().next().transpose()? else {
                let message = format!("there is no document for event {position}; give None for none");
                return Err(error::event(documents.py(), &message));
            };
            let source = self.document(Some(&document));
            sources.push(
                source.map_err(|failure| error::at_item(documents.py(), failure, position, "document"))?,
            );
        }
        Ok(sources)
    }

    fn batch<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = asked.name;
        if arrow::is_arrow(events) {
            let documents = documents.map(|documents| {
                documents.extract::<&str>().map_err(|_| {
                    PyTypeError::new_err(
                        "with Arrow data, `documents` is the name of the column of documents",
                    )
                })
            });
            let Asked { snapshot, ask, .. } = asked;
            let documents = documents.transpose()?;
            return arrow::match_batch(
                py,
                snapshot,
                self.index.limits(),
                events,
                ask,
                column,
                documents,
                threads,
            );
        }
        if column.is_some() || threads.is_some() {
            let message = format!("{name} takes `column` and `threads` with Arrow data only");
            return Err(PyValueError::new_err(message));
        }
        if events.is_instance_of::<PyDict>() || events.cast::<PyMapping>().is_ok() {
            let one = name.trim_end_matches("_batch");
            let message =
                format!("{name} takes an iterable of events, not one event; call {one}, or give a list");
            return Err(error::event(py, &message));
        }
        let documents = documents.map(|documents| iterate(documents, "`documents` is an iterable"));
        self.match_events(py, asked, events, documents.transpose()?.as_ref()).map(Bound::into_any)
    }

    fn match_events<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyIterator>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let results = self.match_chunks(py, asked, events, documents)?;
        if documents.and_then(|documents| documents.clone().next()).transpose()?.is_some() {
            let message =
                format!("there are more documents than events, of which there are {}", results.len());
            return Err(error::event(py, &message));
        }
        Ok(results)
    }

    fn match_chunks<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyIterator>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = asked.snapshot;
        let results = PyList::empty(py);
        if let Some(text) = event::json(events)? {
            let lines = text.split(|&byte| byte == b'\n').enumerate();
            let mut lines = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
            loop {
                let chunk: Vec<(usize, &[u8])> = lines.by_ref().take(CHUNK).collect();
                if chunk.is_empty() {
                    return Ok(results);
                }
                let sources = self.next_documents(documents, results.len(), chunk.len())?;
                let decode = |working: &mut Working| {
                    for (event, (line, json)) in working.events.iter_mut().zip(&chunk) {
                        let decoded = event.decode_json(json, snapshot.attributes(), self.index.limits());
                        decoded.map_err(|error| tamis::Error::Item {
                            position: *line,
                            name: format!("line {}", line + 1),
                            cause: Box::new(error),
                        })?;
                    }
                    Ok(())
                };
                with_working(|working| {
                    working.events.resize_with(working.events.len().max(chunk.len()), Event::default);
                    py.detach(|| decode(working)).map_err(|error| error::raise(py, &error))?;
                    self.match_all(py, asked, working, chunk.len(), &sources, &results)
                })?;
            }
        }
        let expected = format!("{} takes an iterable of events, or JSON lines", asked.name);
        let mut events = iterate(events, &expected)?.enumerate();
        loop {
            let chunk = events.by_ref().take(CHUNK).map(|(_, event)| event).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() {
                return Ok(results);
            }
            let done = results.len();
            let sources = self.next_documents(documents, done, chunk.len())?;
            with_working(|working| {
                working.events.resize_with(working.events.len().max(chunk.len()), Event::default);
                for (position, (event, object)) in working.events.iter_mut().zip(&chunk).enumerate() {
                    event::decode(object, event, snapshot.attributes(), self.index.limits())
                        .map_err(|failure| error::at_item(py, failure, done + position, "event"))?;
                }
                self.match_all(py, asked, working, chunk.len(), &sources, &results)
            })?;
        }
    }

    fn find(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<tamis::Subscription> {
        let found = id::try_read(id).map_or(Ok(None), |id| self.index.snapshot().get(&id));
        found.map_err(|error| error::raise(py, &error))?.ok_or_else(|| error::unknown_id(py, id))
    }

    fn read_item(
        &self,
        py: Python<'_>,
        position: usize,
        item: &Bound<'_, PyAny>,
    ) -> PyResult<tamis::Subscription> {
        if let Ok(arguments) = item.cast::<PyDict>() {
            return self.read_arguments(py, position, arguments);
        }
        let parts = item.cast::<PyTuple>().map(|tuple| tuple.iter().collect::<Vec<_>>());
        let parts = parts.or_else(|_| item.cast::<PyList>().map(|list| list.iter().collect()));
        let (id, expression, metadata) = match parts.as_deref() {
            Ok([id, expression]) => (id, expression, None),
            Ok([id, expression, metadata]) => (id, expression, Some(metadata)),
            _ => {
                let message =
                    "an item is (id, expression), (id, expression, metadata), or a dict of arguments of add";
                return Err(error::at_item(py, error::subscription(py, message), position, "item"));
            }
        };
        let read = || {
            let expression = expression::read(py, expression, self.index.limits())?;
            let metadata = metadata.filter(|metadata| !metadata.is_none());
            let metadata = metadata.map(write_metadata).transpose()?;
            Ok(tamis::Subscription { id: id::read(id)?, expression, metadata, boost: 1.0 })
        };
        read().map_err(|failure: PyErr| at_id(py, failure, position, id))
    }

    /// An item that is a dict of the arguments of `add`.
    fn read_arguments(
        &self,
        py: Python<'_>,
        position: usize,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<tamis::Subscription> {
        const NAMES: [&str; 5] = ["id", "expression", "metadata", "weights", "boost"];
        let wrong = |message: &str| error::at_item(py, error::subscription(py, message), position, "item");
        for name in arguments.keys() {
            if !NAMES.iter().any(|known| name.eq(known).unwrap_or(false)) {
                let name = error::shorten(&name.str()?.to_string_lossy());
                return Err(wrong(&format!("add has no argument `{name}`; it has {}", NAMES.join(", "))));
            }
        }
        let given = |name: &str| Ok::<_, PyErr>(arguments.get_item(name)?.filter(|value| !value.is_none()));
        let (Some(id), Some(expression)) = (arguments.get_item("id")?, arguments.get_item("expression")?)
        else {
            return Err(wrong("an item that is a dict needs an `id` and an `expression`"));
        };
        let read = || {
            let weights = given("weights")?;
            Ok(tamis::Subscription {
                id: id::read(&id)?,
                expression: self.read_expression(py, &expression, weights.as_ref())?,
                metadata: given("metadata")?.as_ref().map(write_metadata).transpose()?,
                boost: given("boost")?.map_or(Ok(1.0), |boost| read_boost(&boost))?,
            })
        };
        read().map_err(|failure: PyErr| at_id(py, failure, position, &id))
    }

    fn read_expression(
        &self,
        py: Python<'_>,
        expression: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<tamis::Expression> {
        let expression = expression::read(py, expression, self.index.limits())?;
        let Some(weights) = weights else { return Ok(expression) };
        expression.weighted(&rank::read_weights(weights)?).map_err(|error| error::raise(py, &error))
    }

    /// Matches the first `count` decoded events without the interpreter's lock, and appends a list of
    /// ids for each. There are as many documents as events, or none.
    fn match_all<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        working: &mut Working,
        count: usize,
        documents: &[Option<Source>],
        results: &Bound<'py, PyList>,
    ) -> PyResult<()> {
        let Asked { snapshot, ask, .. } = asked;
        let Working { events, scratch } = working;
        let (first, mut next) = (results.len(), 0);
        while next < count {
            let found = py.detach(|| {
                let started = Instant::now();
                let mut found = Vec::with_capacity(count - next);
                while next < count && started.elapsed() < PATIENCE {
                    let event = &mut events[next];
                    if let Some(document) = documents.get(next) {
                        let read = self.read_document(snapshot, document, event);
                        read.map_err(|failure| (true, failure))?;
                    }
                    let answer = ask.answer(snapshot, event, scratch);
                    found.push(answer.map_err(|error| (false, Failure::Engine(error)))?);
                    next += 1;
                }
                Ok(found)
            });
            let found = found.map_err(|(document, failure)| match document {
                true => error::at_item(py, failure.raise(py), first + next, "document"),
                false => failure.raise(py),
            })?;
            for found in found {
                results.append(ask.write(py, &found)?)?;
            }
            py.check_signals()?;
        }
        Ok(())
    }
}

/// What is asked of every event of a batch.
pub enum Ask<'a> {
    /// All matches.
    All,
    /// The best matches, given the weights of all events.
    Top(usize, &'a EventWeights),
}

fn read_count(n: i64) -> PyResult<usize> {
    usize::try_from(n).map_err(|_| PyValueError::new_err(format!("n is at least 0, not {n}")))
}

fn read_boost(boost: &Bound<'_, PyAny>) -> PyResult<f64> {
    rank::number(boost)?.ok_or_else(|| {
        error::subscription(boost.py(), &format!("a boost is a number, not {}", error::type_name(boost)))
    })
}

impl Ask<'_> {
    /// What is found, with scores where there are any.
    fn answer<'s>(
        &self,
        snapshot: &'s Snapshot,
        event: &Event,
        scratch: &mut MatchScratch,
    ) -> tamis::Result<Vec<(IdRef<'s>, f64)>> {
        match self {
            Ask::Top(most, weights) => snapshot.top(event, *most, weights, scratch),
            Ask::All => {
                let mut ids = Vec::new();
                snapshot.matches(event, scratch, |id| ids.push((id, 0.0)))?;
                Ok(ids)
            }
        }
    }

    fn write<'py>(&self, py: Python<'py>, found: &[(IdRef<'_>, f64)]) -> PyResult<Bound<'py, PyList>> {
        match self {
            Ask::Top(..) => rank::write_ranking(py, found),
            Ask::All => {
                let ids = found.iter().map(|(id, _)| id::write(py, *id));
                PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
            }
        }
    }
}

/// A batch method at work.
struct Asked<'a> {
    name: &'static str,
    snapshot: &'a Snapshot,
    ask: Ask<'a>,
}

/// The failure of an item of a batch, with its id.
fn at_id(py: Python<'_>, failure: PyErr, position: usize, id: &Bound<'_, PyAny>) -> PyErr {
    let name = id.repr().map_or_else(|_| "?".to_owned(), |text| error::shorten(&text.to_string_lossy()));
    error::at_item(py, failure, position, &format!("id {name}"))
}

/// The longest that matching keeps the interpreter from noticing an interrupt.
const PATIENCE: Duration = Duration::from_millis(20);

pub fn write_ids<'py>(py: Python<'py>, found: &[IdRef<'_>]) -> PyResult<Bound<'py, PyList>> {
    let ids = found.iter().map(|&id| id::write(py, id));
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}

/// The matchers by the names that users select them by.
const MATCHERS: [(&str, Algorithm); 8] = [
    ("auto", Algorithm::Auto),
    ("compiled", Algorithm::Compiled),
    ("atree", Algorithm::ATree),
    ("kindex", Algorithm::KIndex),
    ("cnf", Algorithm::Cnf),
    ("dewey", Algorithm::Dewey),
    ("interval", Algorithm::Interval),
    ("scan", Algorithm::Scan),
];

pub fn read_missing(missing: &str) -> PyResult<Missing> {
    match missing {
        "unknown" => Ok(Missing::Unknown),
        "false" => Ok(Missing::False),
        other => {
            let message = format!("missing is \"unknown\" or \"false\", not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

pub fn write_missing(missing: Missing) -> &'static str {
    match missing {
        Missing::Unknown => "unknown",
        Missing::False => "false",
    }
}

fn read_algorithm(matcher: &str) -> PyResult<Algorithm> {
    let known = MATCHERS.iter().find(|(name, _)| *name == matcher);
    known.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
        let (last, names) = MATCHERS.split_last().map_or(("", &[][..]), |(last, names)| (last.0, names));
        let names: Vec<_> = names.iter().map(|(name, _)| format!("{name:?}")).collect();
        PyValueError::new_err(format!("matcher is {} or {last:?}, not {matcher:?}", names.join(", ")))
    })
}

pub fn iterate<'py>(object: &Bound<'py, PyAny>, expected: &str) -> PyResult<Bound<'py, PyIterator>> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(error::subscription(object.py(), &format!("{expected}, not text")));
    }
    object.try_iter().map_err(|_| {
        error::subscription(object.py(), &format!("{expected}, not {}", error::type_name(object)))
    })
}

/// Metadata as the JSON that the index keeps.
fn write_metadata(metadata: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    let py = metadata.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.getattr("dumps")?.call((metadata,), Some(&options));
    let text = text.map_err(|failure| {
        error::subscription(py, &format!("metadata is what JSON can hold: {}", failure.value(py)))
    })?;
    Ok(text.cast::<PyString>().map_err(PyErr::from)?.to_str()?.into())
}

/// An id with an expression and, optionally, metadata.
#[pyclass(module = "tamis", frozen)]
pub struct Subscription(tamis::Subscription);

#[pymethods]
impl Subscription {
    /// What it is called: a string or an integer.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id.as_ref())
    }

    /// What it asks.
    #[getter]
    fn expression(&self) -> Expression {
        Expression(self.0.expression.clone())
    }

    /// What was given as its metadata.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0.metadata {
            None => Ok(py.None().into_bound(py)),
            Some(text) => py.import("json")?.call_method1("loads", (&**text,)),
        }
    }

    /// What its score is multiplied by.
    #[getter]
    fn boost(&self) -> f64 {
        self.0.boost
    }

    fn __repr__(&self) -> String {
        format!("<Subscription {}: {}>", self.0.id, self.0.expression)
    }
}
