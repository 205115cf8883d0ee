//! `tamis.xml`: XPath filters over XML documents.

mod add;
mod explanation;
mod limits;
mod matched;
mod source;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyType};
use tamis::event::OnError;
use tamis::xml::{Engine, Variable};

use crate::error;
use crate::id;
use crate::items::iterate;
use crate::manners;
use crate::refused::{Part, Refusals, read_on_error};
pub use add::read_namespaces;
use add::{Names, Written};
pub use explanation::XmlExplanation;
pub use limits::XmlLimits;
use limits::or_default;
pub use matched::{XmlMatch, XmlNode};
pub use source::{Failure, Source};
pub use stream::XmlStream;

/// The number of documents matched before results are converted and signals checked.
const CHUNK: usize = 64;

/// A set of XPath filters that you can match while it changes.
///
/// Any number of threads may match while others add and remove. A match sees all of a change or
/// none of it, and never waits.
///
/// Args:
///     engine: The algorithm; all return the same results. Use `"auto"`.
///     limits: Limits on filters and documents.
#[pyclass(module = "tamis.xml", frozen)]
pub struct Filter {
    filter: Arc<tamis::xml::Filter>,
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (*, engine="auto", limits=None))]
    fn new(engine: &str, limits: Option<&Bound<'_, XmlLimits>>) -> PyResult<Self> {
        let filter = tamis::xml::Filter::new(read_engine(engine)?, or_default(limits));
        Ok(Filter { filter: Arc::new(filter) })
    }

    /// Add a filter, or replace the one with the same id.
    ///
    /// Args:
    ///     id: A string or a 64-bit integer.
    ///     xpath: An XPath 1.0 expression.
    ///     namespaces: The namespaces of its prefixes.
    ///     variables: The values of its variables.
    ///
    /// Raises:
    ///     ExpressionSyntaxError: The expression is invalid or not supported; says where and why.
    #[pyo3(signature = (id, xpath, *, namespaces=None, variables=None))]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        xpath: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
        variables: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let names = Names::read(namespaces, variables)?;
        add::add_one(py, &self.filter, Written::read(id, xpath)?, &names)
    }

    /// Add all filters, or none.
    ///
    /// Args:
    ///     items: Pairs (id, xpath), or a mapping of ids to expressions. If an id is repeated, the
    ///         last counts.
    ///     namespaces: The namespaces of prefixes, for all filters.
    ///     variables: The values of variables, for all filters.
    ///
    /// Raises:
    ///     TamisError: An item is invalid. `item` is its position; nothing is added.
    #[pyo3(signature = (items, *, namespaces=None, variables=None))]
    fn add_many(
        &self,
        items: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
        variables: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        add::add_many(&self.filter, items, Names::read(namespaces, variables)?)
    }

    /// Remove a filter.
    ///
    /// Raises:
    ///     UnknownIdError: No filter has this id.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let removed = id::try_read(id).map(|id| py.detach(|| self.filter.try_remove(&id)));
        match removed.transpose().map_err(|error| error::raise(py, &error))? {
            Some(true) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// The ids of the filters that a document satisfies, in insertion order.
    ///
    /// Args:
    ///     document: Bytes, text, the path of a file, or an open binary file or stream.
    ///     nodes: Whether to return `xml.Match` objects with the nodes that each filter selects.
    ///     timeout: Seconds that matching may take, after the document has been read.
    ///
    /// Raises:
    ///     DocumentError: The document is not well formed; the error says where and why.
    ///     LimitError: The document exceeds a limit; or a filter takes too much work or memory, and
    ///         its id is the error's `filter`.
    ///     MatchTimeoutError: Matching took longer than `timeout`.
    #[pyo3(name = "match", signature = (document, *, nodes=false, timeout=None))]
    fn match_document<'py>(
        &self,
        py: Python<'py>,
        document: &Bound<'py, PyAny>,
        nodes: bool,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyList>> {
        let deadline = error::deadline(timeout)?;
        let source = Source::read(document, self.filter.limits())?;
        let snapshot = self.filter.snapshot();
        if nodes {
            let found = py.detach(|| {
                source.with(self.filter.limits(), |input| self.filter.select(&snapshot, input, deadline))
            });
            let found = found.map_err(|failure| failure.raise(py))?;
            return PyList::new(py, found.into_iter().map(XmlMatch::new));
        }
        let found = py.detach(|| self.matches(&snapshot, &source, deadline));
        write_ids(py, found.map_err(|failure| failure.raise(py))?)
    }

    /// The ids of the filters that each document satisfies: one list per document.
    ///
    /// Args:
    ///     documents: An iterable of documents, all matched against one snapshot of the filters.
    ///     on_error: What to do with documents that cannot be read, as in `Index.match_batch`.
    ///     timeout: Seconds that matching all of them may take.
    #[pyo3(signature = (documents, *, on_error="raise", timeout=None))]
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
        on_error: &str,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let on_error = read_on_error(on_error)?;
        let deadline = error::deadline(timeout)?;
        let snapshot = self.filter.snapshot();
        let (results, mut refusals) = (PyList::empty(py), Refusals::new(on_error));
        let mut documents = iterate(documents, "match_batch takes an iterable of documents")?;
        let mut texts = id::Texts::default();
        loop {
            let chunk = documents.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() {
                return refusals.finish(results.into_any());
            }
            let first = results.len();
            let mut sources = Vec::with_capacity(chunk.len());
            for (at, document) in chunk.iter().enumerate() {
                match Source::read(document, self.filter.limits()) {
                    Ok(source) => sources.push((at, source)),
                    Err(failure) => refusals.note(py, first + at, None, Part::Document, failure)?,
                }
            }
            let mut found = py.detach(|| {
                let mut failed = false;
                let matches =
                    sources.iter().map(|(at, source)| (*at, self.matches(&snapshot, source, deadline)));
                // With "raise", stop at the first failure.
                let matches = matches.take_while(|(_, found)| {
                    let wanted = !failed || on_error != OnError::Raise;
                    failed |= found.is_err();
                    wanted
                });
                matches.collect::<Vec<_>>().into_iter().peekable()
            });
            for at in 0..chunk.len() {
                let answer = match found.next_if(|(matched, _)| *matched == at) {
                    None => PyList::empty(py),
                    Some((_, Ok(found))) => write_batch_ids(py, found, &mut texts)?,
                    // A timeout is about the batch, not about a document.
                    Some((_, Err(failure @ Failure::Engine(tamis::Error::Timeout { .. })))) => {
                        return Err(error::at_item(py, failure.raise(py), first + at, "document"));
                    }
                    Some((_, Err(failure))) => {
                        refusals.note(py, first + at, None, Part::Document, failure.raise(py))?;
                        PyList::empty(py)
                    }
                };
                results.append(answer)?;
            }
            py.check_signals()?;
        }
    }

    /// Match a document that arrives in pieces against the current filters.
    fn stream(&self, py: Python<'_>) -> XmlStream {
        let stream = py.detach(|| tamis::xml::FilterStream::new(Arc::clone(&self.filter)));
        XmlStream::new(stream)
    }

    /// Why a document satisfies a filter, or not.
    ///
    /// Args:
    ///     id: The filter's id.
    ///     document: As in `match`.
    ///     timeout: Seconds that it may take, after the document has been read.
    ///
    /// Raises:
    ///     UnknownIdError: No filter has this id.
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (id, document, *, timeout=None))]
    fn explain(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<XmlExplanation> {
        let deadline = error::deadline(timeout)?;
        let subscription = self.find(py, id)?;
        let source = Source::read(document, self.filter.limits())?;
        let explained = py.detach(|| {
            source.with(self.filter.limits(), |input| self.filter.explain(&subscription, input, deadline))
        });
        explained.map(XmlExplanation).map_err(|failure| failure.raise(py))
    }

    /// Save the filters to a folder, which is created if it does not exist.
    ///
    /// The folder changes atomically: whoever opens it sees the state before or after this save.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.filter.save(&path)).map_err(|failure| error::raise(py, &failure))
    }

    /// Open saved filters. They are verified and compiled again; no file stays mapped.
    ///
    /// Args:
    ///     path: The folder.
    ///     engine: The algorithm; by default, the one they were saved with.
    ///     limits: Limits on filters and documents.
    ///
    /// Raises:
    ///     StorageError: The folder or a file in it is missing, damaged or of another format.
    #[staticmethod]
    #[pyo3(signature = (path, *, engine=None, limits=None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        engine: Option<&str>,
        limits: Option<&Bound<'_, XmlLimits>>,
    ) -> PyResult<Self> {
        let (engine, limits) = (engine.map(read_engine).transpose()?, or_default(limits));
        let filter = py.detach(|| tamis::xml::Filter::open(&path, engine, limits));
        let filter = filter.map_err(|failure| error::raise(py, &failure))?;
        Ok(Filter { filter: Arc::new(filter) })
    }

    /// Statistics about the filters; see `tamis.statistics.FilterStats`.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let snapshot = self.filter.snapshot();
        let dict = PyDict::new(py);
        dict.set_item("subscriptions", snapshot.len())?;
        dict.set_item("segments", snapshot.segments())?;
        dict.set_item("engine", self.filter.engine().name())?;
        Ok(dict)
    }

    /// The engine's name.
    #[getter]
    fn engine(&self) -> &'static str {
        self.filter.engine().name()
    }

    /// The limits on filters and documents.
    #[getter]
    fn limits(&self) -> XmlLimits {
        XmlLimits(self.filter.limits().clone())
    }

    fn __len__(&self) -> usize {
        self.filter.snapshot().len()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> bool {
        id::try_read(id).is_some_and(|id| self.filter.get(&id).is_some())
    }

    fn __getitem__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<FilterSubscription> {
        self.find(py, id).map(FilterSubscription)
    }

    /// The ids, in insertion order, as they are now.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let snapshot = self.filter.snapshot();
        write_ids(py, snapshot.subscriptions())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Filter of {} subscriptions>", self.filter.snapshot().len())
    }

    /// `Filter[str]`, for annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.call_method1("GenericAlias", (class, ids))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_filter")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_filter")
    }
}

type Found<'s> = Vec<&'s Arc<tamis::xml::FilterSubscription>>;

impl Filter {
    fn find(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Arc<tamis::xml::FilterSubscription>> {
        let found = id::try_read(id).and_then(|id| self.filter.get(&id));
        found.ok_or_else(|| error::unknown_id(py, id))
    }

    fn matches<'s>(
        &self,
        snapshot: &'s tamis::xml::FilterSnapshot,
        source: &Source,
        deadline: Option<tamis::Deadline>,
    ) -> Result<Found<'s>, Failure> {
        let mut found = Vec::new();
        source.with(self.filter.limits(), |input| {
            self.filter.matches_within(snapshot, input, deadline, |subscription| found.push(subscription))
        })?;
        Ok(found)
    }
}

fn read_engine(engine: &str) -> PyResult<Engine> {
    Engine::find(engine).ok_or_else(|| {
        PyValueError::new_err(format!("engine must be one of {}, not {engine:?}", Engine::names().join(", ")))
    })
}

/// The ids of subscriptions.
fn write_ids<'py, 'a>(
    py: Python<'py>,
    found: impl IntoIterator<Item = &'a Arc<tamis::xml::FilterSubscription>>,
) -> PyResult<Bound<'py, PyList>> {
    id::write_all(py, found.into_iter().map(|subscription| subscription.id().as_ref()))
}

/// The ids of subscriptions, cached across the documents of a batch.
fn write_batch_ids<'py>(
    py: Python<'py>,
    found: Found<'_>,
    texts: &mut id::Texts<'py>,
) -> PyResult<Bound<'py, PyList>> {
    let ids = found.into_iter().map(|subscription| match subscription.id().as_ref() {
        // The snapshot keeps every subscription at one address.
        id @ tamis::IdRef::String(_) => {
            texts.get(py, std::ptr::from_ref(&**subscription).addr() as u64, || Ok(id))
        }
        id => id::write(py, id),
    });
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}

/// An id with an XPath expression.
#[pyclass(module = "tamis.xml", frozen)]
pub struct FilterSubscription(Arc<tamis::xml::FilterSubscription>);

#[pymethods]
impl FilterSubscription {
    /// The id.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id().as_ref())
    }

    /// The XPath expression.
    #[getter]
    fn xpath(&self) -> &str {
        self.0.xpath().text()
    }

    /// The namespaces of its prefixes.
    #[getter]
    fn namespaces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (prefix, name) in self.0.xpath().namespaces() {
            dict.set_item(&**prefix, &**name)?;
        }
        Ok(dict)
    }

    /// The values of its variables.
    #[getter]
    fn variables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.0.xpath().variables() {
            match value {
                Variable::String(text) => dict.set_item(&**name, &**text)?,
                Variable::Number(number) => dict.set_item(&**name, number)?,
                Variable::Boolean(boolean) => dict.set_item(&**name, boolean)?,
            }
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<FilterSubscription {}: {}>", self.0.id(), self.0.xpath())
    }
}
