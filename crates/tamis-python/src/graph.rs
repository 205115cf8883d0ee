//! `tamis.Graph`: which nodes an event reaches.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PyString, PyTuple};
use tamis::graph::{
    self, ArrowSources, Batch, GraphSnapshot, NodeNumber, Place, Ranking, Route, Search, Strategy,
};
use tamis::{ArrowEvents, Event, IdRef};

use crate::arrow;
use crate::error;
use crate::event;
use crate::explanation::Explanation;
use crate::expression::{self, Expression};
use crate::id;
use crate::index::{read_missing, write_ids, write_missing};
use crate::limits::{Limits, or_default};
use crate::rank;
use crate::subscription::iterate;

/// Events decoded before they are searched for together, without the interpreter's lock.
const CHUNK: usize = 64;

thread_local! {
    /// Working memory of batches, reused from call to call.
    static WORKING: RefCell<graph::Working> = RefCell::default();
}

/// A graph of nodes and edges with expressions, which can be searched while it changes.
#[pyclass(module = "tamis", frozen, subclass)]
pub struct Graph {
    graph: graph::Graph,
}

#[pymethods]
impl Graph {
    #[new]
    #[pyo3(signature = (*, missing="unknown", limits=None, path=None, verify=true))]
    fn new(
        py: Python<'_>,
        missing: &str,
        limits: Option<&Bound<'_, Limits>>,
        path: Option<PathBuf>,
        verify: bool,
    ) -> PyResult<Self> {
        let (missing, limits) = (read_missing(missing)?, or_default(limits));
        let graph = match path {
            None => graph::Graph::new(missing, limits),
            Some(path) => py
                .detach(|| graph::Graph::open(&path, limits, verify))
                .map_err(|error| error::raise(py, &error))?,
        };
        Ok(Graph { graph })
    }

    /// Add a node, or replace the expression of one that is there.
    #[pyo3(signature = (id, expression=None))]
    fn add_node(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        expression: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (id, expression) = (id::read(id)?, self.read_expression(py, expression)?);
        py.detach(|| self.graph.add_node(id, expression)).map_err(|error| error::raise(py, &error))
    }

    /// Add an edge, beside others between the same nodes; unknown ends are added as nodes.
    #[pyo3(signature = (source, target, *, expression=None, cost=1.0))]
    fn add_edge(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        expression: Option<&Bound<'_, PyAny>>,
        cost: f64,
    ) -> PyResult<()> {
        let (source, target) = (id::read(source)?, id::read(target)?);
        let expression = self.read_expression(py, expression)?;
        let added = py.detach(|| self.graph.add_edge(source, target, expression, cost));
        added.map_err(|error| error::raise(py, &error))
    }

    /// Add nodes and edges together; where one fails, none is added. A node is an id, or (id,
    /// expression); an edge is (source, target), (source, target, expression) or (source, target,
    /// expression, cost).
    #[pyo3(signature = (nodes=None, edges=None))]
    fn add_many(
        &self,
        py: Python<'_>,
        nodes: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut batch = Batch::default();
        let nodes = nodes.map(|nodes| match nodes.cast::<PyMapping>() {
            Ok(mapping) => mapping.items()?.try_iter(),
            Err(_) => iterate(nodes, "nodes are an iterable of ids, or of (id, expression) pairs"),
        });
        for (position, node) in nodes.transpose()?.into_iter().flatten().enumerate() {
            check_signals(py, position)?;
            let node = node?;
            self.read_node(py, &node, &mut batch)
                .map_err(|failure| error::at_item(py, failure, position, &subject("node", &node)))?;
        }
        let edges = edges.map(|edges| iterate(edges, "edges are an iterable of (source, target) pairs"));
        for (position, edge) in edges.transpose()?.into_iter().flatten().enumerate() {
            check_signals(py, position)?;
            let edge = edge?;
            self.read_edge(py, &edge, &mut batch)
                .map_err(|failure| error::at_item(py, failure, position, &subject("edge", &edge)))?;
        }
        py.detach(|| self.graph.add_batch(batch)).map_err(|error| error::raise(py, &error))
    }

    /// Remove a node with all its edges.
    fn remove_node(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        match id::try_read(id) {
            Some(known) if py.detach(|| self.graph.remove_node(&known)) => Ok(()),
            _ => Err(error::unknown_node(py, id)),
        }
    }

    /// Remove all edges from one node to another.
    fn remove_edge(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let ends = (id::try_read(source), id::try_read(target));
        match ends {
            (Some(from), Some(to)) if py.detach(|| self.graph.remove_edge(&from, &to)) => Ok(()),
            _ => Err(error::unknown_edge(py, source, target)),
        }
    }

    /// The ids of the nodes that an event reaches from a source, each as soon as it is found.
    #[pyo3(name = "match", signature = (event, source, *, sinks_only=false, strategy="auto"))]
    fn match_event(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        sinks_only: bool,
        strategy: &str,
    ) -> PyResult<GraphMatches> {
        let strategy = read_strategy(strategy)?;
        let snapshot = self.graph.snapshot();
        let source = find(py, &snapshot, source)?;
        let mut decoded = Event::default();
        event::decode(event, &mut decoded, snapshot.attributes(), self.graph.limits())?;
        let search = snapshot.search(decoded, source, strategy, sinks_only);
        Ok(GraphMatches { search: search.map_err(|error| error::raise(py, &error))? })
    }

    /// The ids of the nodes that each event reaches: one list per event. The source is that of all
    /// events, or a list with one for each. All are matched against the graph of one moment. Arrow data
    /// gives a table of rows and ids.
    #[pyo3(signature = (events, source=None, *, sources=None, column=None, sinks_only=false, strategy="auto"))]
    #[expect(clippy::too_many_arguments, reason = "those of the Python method")]
    fn match_batch<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        source: Option<&Bound<'py, PyAny>>,
        sources: Option<&str>,
        column: Option<&str>,
        sinks_only: bool,
        strategy: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        let strategy = read_strategy(strategy)?;
        if arrow::is_arrow(events) {
            return self.match_arrow(py, events, source, sources, column, strategy, sinks_only);
        }
        if column.is_some() || sources.is_some() {
            return Err(PyValueError::new_err(
                "match_batch takes `column` and `sources` with Arrow data only",
            ));
        }
        let source = source.ok_or_else(|| PyTypeError::new_err("match_batch needs a `source`"))?;
        self.match_events(py, events, source, strategy, sinks_only).map(Bound::into_any)
    }

    /// Over which path an event reaches a target from a source, or who is in the way.
    fn explain(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
    ) -> PyResult<GraphExplanation> {
        let snapshot = self.graph.snapshot();
        let ends = (find(py, &snapshot, source)?, find(py, &snapshot, target)?);
        let mut decoded = Event::default();
        event::decode(event, &mut decoded, snapshot.attributes(), self.graph.limits())?;
        let route = py.detach(|| snapshot.explain(&decoded, ends.0, ends.1));
        let route = route.map_err(|error| error::raise(py, &error))?;
        let names = (id::read(source)?, id::read(target)?);
        Ok(GraphExplanation { route, source: names.0, target: names.1 })
    }

    /// The nodes that an event reaches and that are worth most: the score of their expression less the cost
    /// of the cheapest valid path. Best first; of equal ones what was added first.
    #[pyo3(signature = (event, source, n=10, *, max_cost=None, sinks_only=false, weights=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python method")]
    fn top(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        n: usize,
        max_cost: Option<f64>,
        sinks_only: bool,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Delivery>> {
        let max_cost = max_cost.unwrap_or(f64::INFINITY);
        if max_cost.is_nan() || max_cost < 0.0 {
            return Err(error::graph(py, &format!("max_cost is a number from 0, not {max_cost}")));
        }
        let snapshot = self.graph.snapshot();
        let source = find(py, &snapshot, source)?;
        let mut decoded = Event::default();
        event::decode(event, &mut decoded, snapshot.attributes(), self.graph.limits())?;
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let ranking = Ranking { most: n, max_cost, sinks_only };
        let best = py.detach(|| {
            WORKING
                .with(|working| snapshot.top(&decoded, source, ranking, &weights, &mut working.borrow_mut()))
        });
        let best = best.map_err(|error| error::raise(py, &error))?;
        Ok(best.into_iter().map(Delivery).collect())
    }

    /// The edges of a node, or of all nodes, as (source, target, expression or None, cost).
    #[pyo3(signature = (source=None))]
    fn edges<'py>(
        &self,
        py: Python<'py>,
        source: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let snapshot = self.graph.snapshot();
        let list = PyList::empty(py);
        let append = |node: NodeNumber, source: IdRef<'_>| -> PyResult<()> {
            let source = id::write(py, source)?;
            for edge in snapshot.edges(node).map_err(|error| error::raise(py, &error))? {
                let expression = edge.expression.map(Expression);
                list.append((&source, id::write(py, edge.target.as_ref())?, expression, edge.cost))?;
            }
            Ok(())
        };
        match source {
            Some(source) => append(find(py, &snapshot, source)?, id::read(source)?.as_ref())?,
            None => {
                for node in snapshot.ids() {
                    let source = node.map_err(|error| error::raise(py, &error))?;
                    if let Some(number) = snapshot.find(&source.to_id()) {
                        append(number, source)?;
                    }
                }
            }
        }
        Ok(list)
    }

    /// The expression of a node, or None where it takes every event.
    fn expression(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Option<Expression>> {
        let snapshot = self.graph.snapshot();
        let found = snapshot.expression_of(find(py, &snapshot, id)?);
        Ok(found.map_err(|error| error::raise(py, &error))?.map(Expression))
    }

    /// Save the graph into a folder, which is made if it is not there.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.graph.save(&path)).map_err(|error| error::raise(py, &error))
    }

    /// Wait until nothing is left to be compiled in the background.
    fn settle(&self, py: Python<'_>) {
        py.detach(|| self.graph.settle());
    }

    /// Figures about the graph.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.graph.snapshot().stats();
        let dict = PyDict::new(py);
        dict.set_item("nodes", stats.nodes)?;
        dict.set_item("edges", stats.edges)?;
        dict.set_item("expressions", stats.expressions)?;
        dict.set_item("components", stats.components)?;
        dict.set_item("largest_component", stats.largest_component)?;
        dict.set_item("changes", stats.changes)?;
        dict.set_item("bytes", stats.bytes)?;
        Ok(dict)
    }

    /// The names of the attributes that nodes and edges ask about, or have asked about.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        let snapshot = self.graph.snapshot();
        let attributes = snapshot.attributes();
        let numbers = (0..attributes.len() as u32).filter(|number| attributes.satisfied() != Some(*number));
        numbers.map(|number| attributes.name(number).to_string()).collect()
    }

    /// What a predicate is on an attribute without a value: `"unknown"` or `"false"`.
    #[getter]
    fn missing(&self) -> &'static str {
        write_missing(self.graph.missing())
    }

    /// The bounds on expressions and events.
    #[getter]
    fn limits(&self) -> Limits {
        Limits(self.graph.limits().clone())
    }

    fn __len__(&self) -> usize {
        self.graph.snapshot().len()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> bool {
        id::try_read(id).is_some_and(|id| self.graph.snapshot().find(&id).is_some())
    }

    /// The ids of the nodes, in insertion order, as they are now.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let snapshot = self.graph.snapshot();
        let ids = snapshot.ids().collect::<tamis::Result<Vec<_>>>();
        write_ids(py, &ids.map_err(|error| error::raise(py, &error))?)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Graph of {} nodes>", self.graph.snapshot().len())
    }
}

impl Graph {
    fn match_events<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        source: &Bound<'py, PyAny>,
        strategy: Strategy,
        sinks_only: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        if events.cast::<PyMapping>().is_ok() {
            let message =
                "match_batch takes an iterable of events, not one event; call match, or give a list";
            return Err(error::event(py, message));
        }
        let snapshot = self.graph.snapshot();
        let sources = Sources::read(py, &snapshot, source)?;
        let lines = event::json(events)?;
        let mut events: Box<dyn Iterator<Item = PyResult<Bound<'py, PyAny>>>> = match &lines {
            Some(text) => Box::new(json_lines(py, text)),
            None => Box::new(iterate(events, "match_batch takes an iterable of events, or JSON lines")?),
        };
        let results = PyList::empty(py);
        let mut decoded: Vec<Event> = Vec::new();
        loop {
            let chunk = events.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() {
                break;
            }
            decoded.resize_with(decoded.len().max(chunk.len()), Event::default);
            let done = results.len();
            let mut starts = Vec::with_capacity(chunk.len());
            for (position, (object, event)) in chunk.iter().zip(&mut decoded).enumerate() {
                starts.push(sources.get(done + position).ok_or_else(|| sources.too_few(py))?);
                event::decode(object, event, snapshot.attributes(), self.graph.limits())
                    .map_err(|failure| error::at_item(py, failure, done + position, "event"))?;
            }
            let found = py.detach(|| {
                WORKING.with(|working| {
                    let mut working = working.borrow_mut();
                    let searches = decoded.iter().zip(&starts);
                    let search = |(event, &source): (&Event, &NodeNumber)| {
                        let mut ids = Vec::new();
                        snapshot
                            .matches(event, source, strategy, sinks_only, &mut working, |id| ids.push(id))?;
                        Ok(ids)
                    };
                    searches.map(search).collect::<tamis::Result<Vec<Vec<IdRef<'_>>>>>()
                })
            });
            for ids in found.map_err(|error| error::raise(py, &error))? {
                results.append(write_ids(py, &ids)?)?;
            }
            py.check_signals()?;
        }
        sources.check(py, results.len())?;
        Ok(results)
    }

    /// The nodes that the rows of Arrow data reach, from one source or from that which a column names.
    #[expect(clippy::too_many_arguments, reason = "those of the Python method")]
    fn match_arrow<'py>(
        &self,
        py: Python<'py>,
        events: &Bound<'py, PyAny>,
        source: Option<&Bound<'py, PyAny>>,
        sources: Option<&str>,
        column: Option<&str>,
        strategy: Strategy,
        sinks_only: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (snapshot, limits) = (self.graph.snapshot(), self.graph.limits());
        let one = source.map(|source| find(py, &snapshot, source)).transpose()?;
        if one.is_some() == sources.is_some() {
            let message = "with Arrow data, give `source`, a node, or `sources`, the column of each event's";
            return Err(PyValueError::new_err(message));
        }
        arrow::each_batch(py, events, |batch, first| {
            let starts = match (one, sources) {
                (None, Some(column)) => ArrowSources::each(batch, column),
                (source, _) => Ok(ArrowSources::one(source.expect("one of the two is given"))),
            };
            let events = ArrowEvents::new(batch, column, snapshot.attributes());
            let (starts, events) =
                starts.and_then(|starts| Ok((starts, events?))).map_err(|error| error::raise(py, &error))?;
            let search =
                |stop: &_| snapshot.match_arrow(&events, first, &starts, strategy, sinks_only, limits, stop);
            arrow::interruptible(py, search)?.map_err(|error| error::raise(py, &error))
        })
    }

    fn read_expression(
        &self,
        py: Python<'_>,
        expression: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<tamis::Expression>> {
        let given = expression.filter(|expression| !expression.is_none());
        given.map(|expression| expression::read(py, expression, self.graph.limits())).transpose()
    }

    fn read_node(&self, py: Python<'_>, node: &Bound<'_, PyAny>, batch: &mut Batch) -> PyResult<()> {
        let parts = parts_of(node);
        let (id, expression) = match parts.as_deref() {
            None => (node, None),
            Some([id]) => (id, None),
            Some([id, expression]) => (id, Some(expression)),
            Some(_) => return Err(error::graph(py, "a node is an id, or (id, expression)")),
        };
        let (id, expression) = (id::read(id)?, self.read_expression(py, expression)?);
        batch.add_node(id, expression, self.graph.limits()).map_err(|error| raise_item(py, error))
    }

    fn read_edge(&self, py: Python<'_>, edge: &Bound<'_, PyAny>, batch: &mut Batch) -> PyResult<()> {
        let parts = parts_of(edge);
        let (source, target, expression, cost) = match parts.as_deref() {
            Some([source, target]) => (source, target, None, None),
            Some([source, target, expression]) => (source, target, Some(expression), None),
            Some([source, target, expression, cost]) => (source, target, Some(expression), Some(cost)),
            _ => {
                let message = "an edge is (source, target), (source, target, expression) or (source, target, \
                               expression, cost)";
                return Err(error::graph(py, message));
            }
        };
        let cost = match cost.filter(|cost| !cost.is_none()) {
            None => 1.0,
            Some(cost) => cost.extract::<f64>().map_err(|_| {
                let found = error::type_name(cost);
                error::graph(py, &format!("the cost of an edge is a finite number from 0, not {found}"))
            })?,
        };
        let expression = self.read_expression(py, expression)?;
        let (source, target) = (id::read(source)?, id::read(target)?);
        let added = batch.add_edge(source, target, expression, cost, self.graph.limits());
        added.map_err(|error| raise_item(py, error))
    }
}

/// The items of a tuple or list.
fn parts_of<'py>(object: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let tuple = object.cast::<PyTuple>().map(|tuple| tuple.iter().collect::<Vec<_>>());
    tuple.or_else(|_| object.cast::<PyList>().map(|list| list.iter().collect())).ok()
}

/// An error of a batch without the place in it, which is given where the item is read.
fn raise_item(py: Python<'_>, error: tamis::Error) -> PyErr {
    match error {
        tamis::Error::Item { cause, .. } => error::raise(py, &cause),
        other => error::raise(py, &other),
    }
}

fn subject(kind: &str, item: &Bound<'_, PyAny>) -> String {
    let shown = item.repr().map_or_else(|_| "?".to_owned(), |text| error::shorten(&text.to_string_lossy()));
    format!("{kind} {shown}")
}

fn check_signals(py: Python<'_>, position: usize) -> PyResult<()> {
    if position.is_multiple_of(1024) { py.check_signals() } else { Ok(()) }
}

fn find(py: Python<'_>, snapshot: &Arc<GraphSnapshot>, id: &Bound<'_, PyAny>) -> PyResult<NodeNumber> {
    let found = id::try_read(id).and_then(|id| snapshot.find(&id));
    found.ok_or_else(|| error::unknown_node(py, id))
}

fn read_strategy(name: &str) -> PyResult<Strategy> {
    Strategy::by_name(name).ok_or_else(|| {
        let names = Strategy::ALL.map(|strategy| format!("{:?}", strategy.name())).join(", ");
        PyValueError::new_err(format!("strategy is one of {names}, not {name:?}"))
    })
}

fn json_lines<'a, 'py: 'a>(
    py: Python<'py>,
    text: &'a [u8],
) -> impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'a {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.map(move |line| Ok(pyo3::types::PyBytes::new(py, line).into_any()))
}

/// Where the events of a batch start.
enum Sources {
    One(NodeNumber),
    Each(Vec<NodeNumber>),
}

impl Sources {
    fn read(py: Python<'_>, snapshot: &Arc<GraphSnapshot>, source: &Bound<'_, PyAny>) -> PyResult<Sources> {
        if source.is_instance_of::<PyString>() || source.try_iter().is_err() {
            return find(py, snapshot, source).map(Sources::One);
        }
        let each = source.try_iter()?.map(|source| find(py, snapshot, &source?));
        each.collect::<PyResult<_>>().map(Sources::Each)
    }

    fn get(&self, position: usize) -> Option<NodeNumber> {
        match self {
            Sources::One(node) => Some(*node),
            Sources::Each(nodes) => nodes.get(position).copied(),
        }
    }

    fn too_few(&self, py: Python<'_>) -> PyErr {
        let count = if let Sources::Each(nodes) = self { nodes.len() } else { 1 };
        error::graph(py, &format!("there are more events than sources, which are {count}"))
    }

    fn check(&self, py: Python<'_>, events: usize) -> PyResult<()> {
        match self {
            Sources::Each(nodes) if nodes.len() != events => {
                let message = format!("there are {} sources and {events} events", nodes.len());
                Err(error::graph(py, &message))
            }
            _ => Ok(()),
        }
    }
}

/// The nodes that an event reaches, as they are found.
#[pyclass(module = "tamis")]
pub struct GraphMatches {
    search: Search,
}

#[pymethods]
impl GraphMatches {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let search = &mut self.search;
        while !search.is_ready() {
            let more = py.detach(|| search.advance()).map_err(|error| error::raise(py, &error))?;
            if !more {
                return Ok(None);
            }
        }
        let id = search.take().transpose().map_err(|error| error::raise(py, &error))?;
        id.map(|id| id::write(py, id)).transpose()
    }

    /// What finding them took so far: nodes that the index gave, expressions evaluated by themselves,
    /// and edges followed.
    #[getter]
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let counts = self.search.counts();
        let dict = PyDict::new(py);
        dict.set_item("retrieved", counts.retrieved)?;
        dict.set_item("evaluated", counts.evaluated)?;
        dict.set_item("edges", counts.edges)?;
        Ok(dict)
    }
}

/// A node that an event reaches, with what it is worth.
#[pyclass(module = "tamis", frozen)]
pub struct Delivery(graph::Delivery);

#[pymethods]
impl Delivery {
    /// The node.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id.as_ref())
    }

    /// Its score less the cost.
    #[getter]
    fn value(&self) -> f64 {
        self.0.value
    }

    /// What its expression scores on the event; 0 without one.
    #[getter]
    fn score(&self) -> f64 {
        self.0.score
    }

    /// What the cheapest valid path costs.
    #[getter]
    fn cost(&self) -> f64 {
        self.0.cost
    }

    /// That path, from the source to the node.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids: Vec<IdRef<'_>> = self.0.path.iter().map(tamis::Id::as_ref).collect();
        write_ids(py, &ids)
    }

    fn __repr__(&self) -> String {
        let graph::Delivery { id, value, score, cost, path } = &self.0;
        let path: Vec<String> = path.iter().map(tamis::Id::to_string).collect();
        format!("Delivery(id={id}, value={value}, score={score}, cost={cost}, path=[{}])", path.join(", "))
    }
}

/// Over which path an event reaches a node, or who is in the way.
#[pyclass(module = "tamis", frozen)]
pub struct GraphExplanation {
    route: Route,
    source: tamis::Id,
    target: tamis::Id,
}

#[pymethods]
impl GraphExplanation {
    /// Whether the event reaches the target.
    #[getter]
    fn reached(&self) -> bool {
        matches!(self.route, Route::Reached(_))
    }

    /// The nodes of a valid path with the fewest edges, from the source to the target; None where
    /// there is none.
    #[getter]
    fn path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyList>>> {
        match &self.route {
            Route::Reached(path) => {
                let ids: Vec<IdRef<'_>> = path.iter().map(tamis::Id::as_ref).collect();
                write_ids(py, &ids).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What refuses the event and stands on every path: pairs of a node's id, or an edge's two ids,
    /// and the explanation of its expression. Empty where the target is reached, or not connected.
    #[getter]
    fn cut<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        if let Route::Refused(refusals) = &self.route {
            for refusal in refusals {
                let place = match &refusal.place {
                    Place::Node(id) => id::write(py, id.as_ref())?,
                    Place::Edge(source, target) => {
                        let ends = [id::write(py, source.as_ref())?, id::write(py, target.as_ref())?];
                        PyTuple::new(py, ends)?.into_any()
                    }
                };
                list.append((place, Explanation(refusal.explanation.clone())))?;
            }
        }
        Ok(list)
    }

    fn __str__(&self) -> String {
        let GraphExplanation { route, source, target } = self;
        match route {
            Route::Reached(path) => {
                let path: Vec<String> = path.iter().map(tamis::Id::to_string).collect();
                format!("{target} is reached: {}", path.join(" -> "))
            }
            Route::Unconnected => {
                format!("{target} is not reached: no path leads there from {source}, whatever the event")
            }
            Route::Refused(refusals) => {
                let mut text = format!("{target} is not reached from {source}: every path is refused by");
                for refusal in refusals {
                    let lines = refusal.explanation.to_string().replace('\n', "\n  ");
                    text += &format!("\n{}\n  {lines}", refusal.place);
                }
                text
            }
        }
    }

    fn __repr__(&self) -> String {
        let reached = if self.reached() { "reached" } else { "not reached" };
        format!("<GraphExplanation: {} is {reached} from {}>", self.target, self.source)
    }
}
