//! `tamis.xml`: XPath filters over XML documents.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMapping, PyMemoryView, PyString, PyTuple};
use tamis::xml::{Engine, Input};

use crate::error;
use crate::id;

/// Documents matched together before results are converted and signals looked at.
const CHUNK: usize = 64;

/// Bounds on filters and documents; what is not given keeps its default.
#[pyclass(module = "tamis.xml", name = "XmlLimits", frozen, eq)]
#[derive(Clone, PartialEq)]
pub struct XmlLimits(pub tamis::xml::Limits);

#[pymethods]
impl XmlLimits {
    #[new]
    #[pyo3(signature = (*, xpath=None, document=None, document_depth=None, attributes=None, names=None, expansion=None, memory=None))]
    fn new(
        xpath: Option<usize>,
        document: Option<usize>,
        document_depth: Option<usize>,
        attributes: Option<usize>,
        names: Option<usize>,
        expansion: Option<usize>,
        memory: Option<usize>,
    ) -> Self {
        let default = tamis::xml::Limits::default();
        XmlLimits(tamis::xml::Limits {
            xpath: xpath.unwrap_or(default.xpath),
            document: document.unwrap_or(default.document),
            document_depth: document_depth.unwrap_or(default.document_depth),
            attributes: attributes.unwrap_or(default.attributes),
            names: names.unwrap_or(default.names),
            expansion: expansion.unwrap_or(default.expansion),
            memory: memory.unwrap_or(default.memory),
        })
    }

    /// Bytes of an XPath expression.
    #[getter]
    fn xpath(&self) -> usize {
        self.0.xpath
    }

    /// Bytes of a document.
    #[getter]
    fn document(&self) -> usize {
        self.0.document
    }

    /// Nesting of a document's elements.
    #[getter]
    fn document_depth(&self) -> usize {
        self.0.document_depth
    }

    /// Attributes of one element.
    #[getter]
    fn attributes(&self) -> usize {
        self.0.attributes
    }

    /// Distinct names in one document.
    #[getter]
    fn names(&self) -> usize {
        self.0.names
    }

    /// Bytes that a document's entities expand to.
    #[getter]
    fn expansion(&self) -> usize {
        self.0.expansion
    }

    /// State sets that an engine remembers from document to document.
    #[getter]
    fn memory(&self) -> usize {
        self.0.memory
    }

    pub fn __repr__(&self) -> String {
        let tamis::xml::Limits { xpath, document, document_depth, attributes, names, expansion, memory } =
            &self.0;
        format!(
            "XmlLimits(xpath={xpath}, document={document}, document_depth={document_depth}, \
             attributes={attributes}, names={names}, expansion={expansion}, memory={memory})"
        )
    }
}

/// A document as Python gives it.
pub enum Source {
    Bytes(PyBackedBytes),
    Pieces(Vec<u8>),
    Text(String),
    File(PathBuf),
}

/// Bytes asked of a stream at once.
const PIECE: usize = 1 << 16;

impl Source {
    pub fn read(object: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Source> {
        if let Ok(text) = object.cast::<PyString>() {
            return Ok(Source::Text(text.to_str()?.to_owned()));
        }
        if let Ok(bytes) = object.extract::<PyBackedBytes>() {
            return Ok(Source::Bytes(bytes));
        }
        if object.hasattr("__fspath__")? {
            return Ok(Source::File(object.extract()?));
        }
        if object.is_instance_of::<PyMemoryView>() {
            let bytes = object.py().get_type::<PyBytes>().call1((object,))?;
            return Ok(Source::Bytes(bytes.extract()?));
        }
        if object.hasattr("read")? {
            return Source::read_stream(object, limits).map(Source::Pieces);
        }
        let message =
            format!("a document is bytes, text, a path or a binary stream, not {}", error::type_name(object));
        Err(PyTypeError::new_err(message))
    }

    /// The content of a stream, of which no more is read than a document may have.
    fn read_stream(stream: &Bound<'_, PyAny>, limits: &tamis::xml::Limits) -> PyResult<Vec<u8>> {
        let mut content = Vec::new();
        while content.len() <= limits.document {
            let piece = stream.call_method1("read", (PIECE,))?;
            let Ok(piece) = piece.extract::<PyBackedBytes>() else {
                let message = format!("a stream gives bytes, not {}", error::type_name(&piece));
                return Err(PyTypeError::new_err(message));
            };
            if piece.is_empty() {
                break;
            }
            content.extend_from_slice(&piece);
            stream.py().check_signals()?;
        }
        Ok(content)
    }

    /// Runs `use_it` on the document. A file that is larger than allowed is not read.
    pub fn with<T>(
        &self,
        limits: &tamis::xml::Limits,
        use_it: impl FnOnce(Input<'_>) -> tamis::Result<T>,
    ) -> Result<T, Failure> {
        match self {
            Source::Bytes(bytes) => use_it(Input::Bytes(bytes)),
            Source::Pieces(bytes) => use_it(Input::Bytes(bytes)),
            Source::Text(text) => use_it(Input::Text(text)),
            Source::File(path) => {
                let content = tamis::xml::read_file(path, limits).map_err(Failure::File)?;
                use_it(Input::Bytes(&content))
            }
        }
        .map_err(Failure::Engine)
    }
}

/// Why a document could not be used.
pub enum Failure {
    Engine(tamis::Error),
    File(std::io::Error),
}

impl Failure {
    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Failure::Engine(error) => error::raise(py, &error),
            Failure::File(error) => error.into(),
        }
    }
}

/// A set of XPath filters that can be matched while it changes.
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

    /// Add a filter, replacing the one of the same id.
    #[pyo3(signature = (id, xpath, *, namespaces=None))]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        xpath: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let subscription = self.subscription(id, xpath, &read_namespaces(namespaces)?)?;
        py.detach(|| self.filter.add_many(vec![subscription]));
        Ok(())
    }

    /// Add all filters, given as (id, xpath) or as a mapping of ids to expressions; where one fails,
    /// none is added.
    #[pyo3(signature = (items, *, namespaces=None))]
    fn add_many(
        &self,
        py: Python<'_>,
        items: &Bound<'_, PyAny>,
        namespaces: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let namespaces = read_namespaces(namespaces)?;
        let items = match items.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.try_iter()?,
            Err(_) => iterate(items, "add_many takes an iterable of (id, xpath) pairs")?,
        };
        let mut subscriptions = Vec::new();
        for (position, item) in items.enumerate() {
            if position % 1024 == 0 {
                py.check_signals()?;
            }
            let item = item?;
            let pair = item.cast::<PyTuple>().map(|tuple| tuple.iter().collect::<Vec<_>>());
            let pair = pair.or_else(|_| item.cast::<PyList>().map(|list| list.iter().collect()));
            let Ok([id, xpath]) = pair.as_deref() else {
                let failure = error::subscription(py, "an item is (id, xpath)");
                return Err(error::at_item(py, failure, position, "item"));
            };
            let read = self.subscription(id, xpath, &namespaces);
            subscriptions.push(read.map_err(|failure| {
                let name =
                    id.repr().map_or_else(|_| "?".to_owned(), |text| error::shorten(&text.to_string_lossy()));
                error::at_item(py, failure, position, &format!("id {name}"))
            })?);
        }
        py.detach(|| self.filter.add_many(subscriptions));
        Ok(())
    }

    /// Remove a filter.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        match id::try_read(id) {
            Some(known) if py.detach(|| self.filter.remove(&known)) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// The ids of the filters that a document satisfies, in insertion order.
    #[pyo3(name = "match")]
    fn match_document<'py>(
        &self,
        py: Python<'py>,
        document: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let source = Source::read(document, self.filter.limits())?;
        let snapshot = self.filter.snapshot();
        let found = py.detach(|| self.matches(&snapshot, &source)).map_err(|failure| failure.raise(py))?;
        write_ids(py, &found)
    }

    /// The ids of the filters that each document satisfies: one list per document. All are matched
    /// against the filters of one moment.
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        documents: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.filter.snapshot();
        let results = PyList::empty(py);
        let mut documents = iterate(documents, "match_batch takes an iterable of documents")?;
        loop {
            let chunk = documents.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() {
                return Ok(results);
            }
            let located =
                |failure: PyErr, at: usize| error::at_item(py, failure, results.len() + at, "document");
            let mut sources = Vec::with_capacity(chunk.len());
            for (at, document) in chunk.iter().enumerate() {
                sources.push(
                    Source::read(document, self.filter.limits()).map_err(|failure| located(failure, at))?,
                );
            }
            let found = py.detach(|| {
                let matches = |(at, source)| self.matches(&snapshot, source).map_err(|failure| (at, failure));
                sources.iter().enumerate().map(matches).collect::<Result<Vec<_>, _>>()
            });
            let found = found.map_err(|(at, failure)| located(failure.raise(py), at))?;
            for found in &found {
                results.append(write_ids(py, found)?)?;
            }
            py.check_signals()?;
        }
    }

    /// Begin a document that arrives in pieces, and is matched against the filters of this moment.
    fn stream(&self, py: Python<'_>) -> XmlStream {
        let stream = py.detach(|| tamis::xml::FilterStream::new(Arc::clone(&self.filter)));
        XmlStream(Mutex::new(Some(stream)))
    }

    /// Why a filter is true of a document, or not.
    fn explain(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        document: &Bound<'_, PyAny>,
    ) -> PyResult<XmlExplanation> {
        let subscription = self.find(py, id)?;
        let source = Source::read(document, self.filter.limits())?;
        let explained = py
            .detach(|| source.with(self.filter.limits(), |input| self.filter.explain(&subscription, input)));
        explained.map(XmlExplanation).map_err(|failure| failure.raise(py))
    }

    /// Save the filters into a folder, which is made if it is not there.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.filter.save(&path)).map_err(|failure| error::raise(py, &failure))
    }

    /// Open saved filters.
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

    /// Figures about the filters.
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

    /// The bounds on filters and documents.
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
        write_ids(py, &snapshot.subscriptions().collect::<Vec<_>>())?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Filter of {} subscriptions>", self.filter.snapshot().len())
    }
}

/// A document that is matched while it arrives.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlStream(Mutex<Option<tamis::xml::FilterStream>>);

#[pymethods]
impl XmlStream {
    /// Take the next bytes of the document, and tell the ids of the filters that they make certain.
    fn feed<'py>(&self, py: Python<'py>, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let Ok(bytes) = piece.extract::<PyBackedBytes>() else {
            let message = format!("a piece of a document is bytes, not {}", error::type_name(piece));
            return Err(PyTypeError::new_err(message));
        };
        let mut found = Vec::new();
        let fed = py.detach(|| {
            let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let stream = stream.as_mut()?;
            Some(stream.feed(&bytes, |subscription| found.push(Arc::clone(subscription))))
        });
        fed.ok_or_else(closed)?.map_err(|failure| error::raise(py, &failure))?;
        write_ids(py, &found.iter().collect::<Vec<_>>())
    }

    /// End the document, and tell the ids of all filters that it satisfies, in insertion order.
    fn close<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut found = Vec::new();
        let ended = py.detach(|| {
            let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
            Some(stream.close(|subscription| found.push(Arc::clone(subscription))))
        });
        ended.ok_or_else(closed)?.map_err(|failure| error::raise(py, &failure))?;
        write_ids(py, &found.iter().collect::<Vec<_>>())
    }
}

fn closed() -> PyErr {
    PyValueError::new_err("the document has ended; begin another with Filter.stream()")
}

type Found<'s> = Vec<&'s Arc<tamis::xml::FilterSubscription>>;

impl Filter {
    fn find(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Arc<tamis::xml::FilterSubscription>> {
        let found = id::try_read(id).and_then(|id| self.filter.get(&id));
        found.ok_or_else(|| error::unknown_id(py, id))
    }

    fn subscription(
        &self,
        id: &Bound<'_, PyAny>,
        xpath: &Bound<'_, PyAny>,
        namespaces: &[(String, String)],
    ) -> PyResult<tamis::xml::FilterSubscription> {
        let py = id.py();
        let id = id::read(id)?;
        let Ok(text) = xpath.cast::<PyString>() else {
            let message = format!("an XPath expression is text, not {}", error::type_name(xpath));
            return Err(error::expression(py, &message));
        };
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, name)| (&**prefix, &**name)).collect();
        let xpath = tamis::xml::XPath::parse(text.to_str()?, &namespaces, self.filter.limits());
        let xpath = xpath.map_err(|failure| error::raise(py, &failure))?;
        Ok(tamis::xml::FilterSubscription::new(id, xpath))
    }

    fn matches<'s>(
        &self,
        snapshot: &'s tamis::xml::FilterSnapshot,
        source: &Source,
    ) -> Result<Found<'s>, Failure> {
        let mut found = Vec::new();
        source.with(self.filter.limits(), |input| {
            self.filter.matches(snapshot, input, |subscription| found.push(subscription))
        })?;
        Ok(found)
    }
}

fn read_engine(engine: &str) -> PyResult<Engine> {
    Engine::find(engine).ok_or_else(|| {
        PyValueError::new_err(format!("engine is one of {}, not {engine:?}", Engine::names().join(", ")))
    })
}

fn or_default(limits: Option<&Bound<'_, XmlLimits>>) -> tamis::xml::Limits {
    limits.map_or_else(tamis::xml::Limits::default, |limits| limits.get().0.clone())
}

pub fn read_namespaces(namespaces: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    let Some(namespaces) = namespaces else { return Ok(Vec::new()) };
    let items = namespaces.cast::<PyMapping>().map_err(PyErr::from)?.items()?;
    items.iter().map(|item| item.extract()).collect()
}

fn write_ids<'py>(
    py: Python<'py>,
    found: &[&Arc<tamis::xml::FilterSubscription>],
) -> PyResult<Bound<'py, PyList>> {
    let ids = found.iter().map(|subscription| id::write(py, subscription.id().as_ref()));
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}

fn iterate<'py>(object: &Bound<'py, PyAny>, expected: &str) -> PyResult<Bound<'py, PyIterator>> {
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(error::subscription(object.py(), &format!("{expected}, not text")));
    }
    object.try_iter().map_err(|_| {
        error::subscription(object.py(), &format!("{expected}, not {}", error::type_name(object)))
    })
}

/// An id with an XPath expression.
#[pyclass(module = "tamis.xml", frozen)]
pub struct FilterSubscription(Arc<tamis::xml::FilterSubscription>);

#[pymethods]
impl FilterSubscription {
    /// What it is called: a string or an integer.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id().as_ref())
    }

    /// What it asks.
    #[getter]
    fn xpath(&self) -> &str {
        self.0.xpath().text()
    }

    /// The namespaces that its prefixes stand for.
    #[getter]
    fn namespaces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (prefix, name) in self.0.xpath().namespaces() {
            dict.set_item(&**prefix, &**name)?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("<FilterSubscription {}: {}>", self.0.id(), self.0.xpath())
    }
}

/// The truth of every part of an XPath expression on one document.
#[pyclass(module = "tamis.xml", frozen)]
pub struct XmlExplanation(tamis::xml::Explanation);

#[pymethods]
impl XmlExplanation {
    /// Whether the document satisfies the filter.
    #[getter]
    fn matched(&self) -> bool {
        self.0.matched()
    }

    /// The parts, each before those inside it: dicts of `depth`, `text`, `truth` and, for a path, how
    /// many nodes each of its steps selects.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let parts = PyList::empty(py);
        for line in self.0.lines() {
            let part = PyDict::new(py);
            part.set_item("depth", line.depth)?;
            part.set_item("text", &line.text)?;
            part.set_item("truth", line.truth)?;
            if !line.selected.is_empty() {
                part.set_item("selected", &line.selected)?;
            }
            parts.append(part)?;
        }
        Ok(parts)
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<XmlExplanation: {}>", if self.0.matched() { "matched" } else { "not matched" })
    }
}
