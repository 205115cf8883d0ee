//! `tamis.Graph`: which nodes an event reaches.

mod arrow;
mod delivery;
mod events;
mod explanation;
mod matches;
mod read;

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList};
use tamis::IdRef;
use tamis::event::OnError;
use tamis::storage::OpenOptions;
use tamis_graph::{self as graph, Batch, GraphSnapshot, NodeNumber, Ranking, Strategy};

use crate::error;
use crate::event::{self, EventArgument};
use crate::expression::Expression;
use crate::id;
use crate::import::is_arrow;
use crate::interrupt::{PATIENCE, STOPPABLE, abandonable};
use crate::items;
use crate::limits::{Limits, or_default};
use crate::options::{read_missing, read_zone, write_missing};
use crate::rank;
use crate::refused::read_on_error;
pub use delivery::Delivery;
pub use explanation::GraphExplanation;
pub use matches::GraphMatches;
use read::subject;

thread_local! {
    /// Scratch memory of batches, reused from call to call.
    static WORKING: RefCell<graph::GraphScratch> = RefCell::default();
}

/// A graph of nodes and edges with expressions that you can search while it changes.
#[pyclass(module = "tamis", frozen, subclass)]
pub struct Graph {
    graph: Arc<graph::Graph>,
}

#[pymethods]
impl Graph {
    #[new]
    #[pyo3(signature = (*, missing="unknown", time_zone="UTC", limits=None, path=None, verify=true, copy=false))]
    fn new(
        py: Python<'_>,
        missing: &str,
        time_zone: &str,
        limits: Option<&Bound<'_, Limits>>,
        path: Option<PathBuf>,
        verify: bool,
        copy: bool,
    ) -> PyResult<Self> {
        let options = OpenOptions::default().verify(verify).copy(copy);
        let (missing, limits) = (read_missing(missing)?, or_default(limits));
        let graph = match path {
            None => graph::Graph::in_zone(missing, limits, read_zone(time_zone)?),
            Some(path) => py
                .detach(|| graph::Graph::open(&path, limits, options))
                .map_err(|error| error::raise(py, &error))?,
        };
        let graph = graph.with_skipping(tamis_papers::SKIPPING).map_err(|error| error::raise(py, &error))?;
        Ok(Graph { graph: Arc::new(graph) })
    }

    /// Add a node, or replace the expression of an existing one, which keeps its edges.
    ///
    /// Args:
    ///     id: A string or a 64-bit integer.
    ///     expression: The events that it accepts; without one, it accepts all events.
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

    /// Add an edge; there may be several between the same nodes.
    ///
    /// Args:
    ///     source: The node it leaves; added without an expression if it does not exist.
    ///     target: The node it leads to; likewise.
    ///     expression: The events that it accepts; without one, it accepts all events.
    ///     cost: The cost of following it: a finite number of at least 0.
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

    /// Add nodes and edges together; if one is invalid, none is added.
    ///
    /// Args:
    ///     nodes: Ids, or (id, expression) pairs, or a mapping of ids to expressions.
    ///     edges: (source, target), (source, target, expression) or (source, target, expression,
    ///         cost).
    #[pyo3(signature = (nodes=None, edges=None))]
    fn add_many(
        &self,
        py: Python<'_>,
        nodes: Option<&Bound<'_, PyAny>>,
        edges: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let mut batch = Batch::default();
        let expected = "nodes must be an iterable of ids, or of (id, expression) pairs";
        let nodes = nodes.map(|nodes| items::pairs(nodes, expected)).transpose()?;
        for node in nodes.into_iter().flat_map(items::enumerate) {
            let (position, node) = node?;
            self.read_node(py, &node, &mut batch)
                .map_err(|failure| error::at_item(py, failure, position, &subject("node", &node)))?;
        }
        let expected = "edges must be an iterable of (source, target) pairs";
        let edges = edges.map(|edges| items::iterate(edges, expected)).transpose()?;
        for edge in edges.into_iter().flat_map(items::enumerate) {
            let (position, edge) = edge?;
            self.read_edge(py, &edge, &mut batch)
                .map_err(|failure| error::at_item(py, failure, position, &subject("edge", &edge)))?;
        }
        let many = batch.len() > STOPPABLE;
        let graph = Arc::clone(&self.graph);
        let add = move |stop: &AtomicBool| graph.add_batch_until(batch, stop);
        let added = match many {
            true => abandonable(py, add)?,
            false => py.detach(|| add(&AtomicBool::new(false))),
        };
        added.map_err(|error| error::raise(py, &error))
    }

    /// Remove a node with all its edges.
    ///
    /// Raises:
    ///     UnknownIdError: No node has this id.
    fn remove_node(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        match id::try_read(id) {
            Some(known) if py.detach(|| self.graph.remove_node(&known)) => Ok(()),
            _ => Err(error::unknown_node(py, id)),
        }
    }

    /// Remove all edges from one node to another.
    ///
    /// Raises:
    ///     UnknownIdError: There is no such edge.
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

    /// Iterate over the ids of the nodes that an event reaches, as they are found.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     source: The node it starts from, whose own expression is not evaluated.
    ///     sinks_only: Whether to return only nodes without outgoing edges.
    ///     strategy: The search strategy; all find the same nodes, but in different orders.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds from now after which fetching the next node fails.
    ///
    /// Raises:
    ///     UnknownIdError: No node has the source's id.
    ///     MatchTimeoutError: The search took longer than `timeout`.
    #[pyo3(
        name = "match",
        signature = (event, source, *, sinks_only=false, strategy="auto", now=None, timeout=None)
    )]
    #[expect(clippy::too_many_arguments, reason = "those of the Python method")]
    fn match_event(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        sinks_only: bool,
        strategy: &str,
        now: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<GraphMatches> {
        let deadline = error::deadline(timeout)?;
        let strategy = read_strategy(strategy)?;
        let snapshot = self.graph.snapshot();
        let source = find(py, &snapshot, source)?;
        let event = EventArgument { object: event, now, deadline };
        let decoded = event.read(snapshot.attributes(), self.graph.limits())?;
        let search = snapshot.search(decoded, source, strategy, sinks_only);
        let search = search.map_err(|error| error::raise(py, &error))?;
        Ok(GraphMatches { search })
    }

    /// The ids of the nodes that each event reaches.
    ///
    /// All events are matched against one snapshot of the graph.
    ///
    /// Args:
    ///     events: An iterable of events, or JSON lines in one text; the result is a list of ids
    ///         per event. Or Arrow data (pyarrow, Polars, pandas, DuckDB ...); the result is a
    ///         pyarrow table with the columns `event`, the row number, and `node`, the id.
    ///     source: The node that all events start from, or one for each event.
    ///     sources: With Arrow data, the column with the node that each event starts from.
    ///     column: With Arrow data, the column that holds the events: a struct, a map, or JSON as
    ///         text or bytes. By default, every column is an attribute.
    ///     sinks_only: Whether to return only nodes without outgoing edges.
    ///     strategy: The search strategy.
    ///     on_error: What to do with events that cannot be read or whose source is not a node, as
    ///         in `Index.match_batch`.
    ///     now: The value of `now()` for all events; the current time by default.
    ///     timeout: Seconds that all events may take together.
    #[pyo3(signature = (
        events,
        source=None,
        *,
        sources=None,
        column=None,
        sinks_only=false,
        strategy="auto",
        on_error="raise",
        now=None,
        timeout=None
    ))]
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
        on_error: &str,
        now: Option<&Bound<'py, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let deadline = error::deadline(timeout)?;
        let (strategy, on_error) = (read_strategy(strategy)?, read_on_error(on_error)?);
        let batch = GraphBatch { events, strategy, sinks_only, on_error, now, deadline };
        if is_arrow(events) {
            return self.match_arrow(py, &batch, source, sources, column);
        }
        if column.is_some() || sources.is_some() {
            return Err(PyValueError::new_err(
                "match_batch takes `column` and `sources` with Arrow data only",
            ));
        }
        let source = source.ok_or_else(|| PyTypeError::new_err("match_batch needs a `source`"))?;
        self.match_events(py, &batch, source)
    }

    /// The path on which an event reaches a target, or the nodes and edges that block it.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     source: The node at which the event starts.
    ///     target: The node in question.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     UnknownIdError: No node has one of the ids.
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (event, source, target, *, now=None, timeout=None))]
    fn explain(
        &self,
        py: Python<'_>,
        event: &Bound<'_, PyAny>,
        source: &Bound<'_, PyAny>,
        target: &Bound<'_, PyAny>,
        now: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<GraphExplanation> {
        let deadline = error::deadline(timeout)?;
        let snapshot = self.graph.snapshot();
        let ends = (find(py, &snapshot, source)?, find(py, &snapshot, target)?);
        let decoded = EventArgument { object: event, now, deadline }
            .read_to_explain(snapshot.attributes(), self.graph.limits())?;
        let route = py.detach(|| snapshot.explain(&decoded, ends.0, ends.1));
        let route = route.map_err(|error| error::raise(py, &error))?;
        let names = (id::read(source)?, id::read(target)?);
        Ok(GraphExplanation { route, source: names.0, target: names.1 })
    }

    /// The reached nodes with the highest values, best first.
    ///
    /// The value of a node is the score of its expression, as in `Index.top` (0 without one), minus
    /// the cost of the cheapest valid path. Among equal values, the node added first comes first.
    ///
    /// Args:
    ///     event: A mapping, or JSON as text or bytes.
    ///     source: The node it starts from.
    ///     n: The maximum number of results.
    ///     max_cost: The maximum cost of a path.
    ///     sinks_only: Whether to return only nodes without outgoing edges.
    ///     weights: The event's weights, as for `Index.top`.
    ///     now: The value of `now()`; the current time by default.
    ///     timeout: Seconds that it may take.
    ///
    /// Raises:
    ///     MatchTimeoutError: It took longer than `timeout`.
    #[pyo3(signature = (
        event,
        source,
        n=10,
        *,
        max_cost=None,
        sinks_only=false,
        weights=None,
        now=None,
        timeout=None
    ))]
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
        now: Option<&Bound<'_, PyAny>>,
        timeout: Option<f64>,
    ) -> PyResult<Vec<Delivery>> {
        let deadline = error::deadline(timeout)?;
        let max_cost = max_cost.unwrap_or(f64::INFINITY);
        if max_cost.is_nan() || max_cost < 0.0 {
            return Err(error::graph(
                py,
                &format!("max_cost must be a number of at least 0, not {max_cost}"),
            ));
        }
        let snapshot = self.graph.snapshot();
        let source = find(py, &snapshot, source)?;
        let event = EventArgument { object: event, now, deadline };
        let decoded = event.read(snapshot.attributes(), self.graph.limits())?;
        let weights = rank::read_event_weights(weights, snapshot.attributes())?;
        let ranking = Ranking { most: n, max_cost, sinks_only };
        let best = py.detach(|| {
            WORKING
                .with(|working| snapshot.top(&decoded, source, ranking, &weights, &mut working.borrow_mut()))
        });
        let best = best.map_err(|error| error::raise(py, &error))?;
        Ok(best.into_iter().map(Delivery).collect())
    }

    /// The edges of a node, or of all nodes: source, target, expression and cost.
    ///
    /// Parallel edges without an expression are represented by the cheapest one.
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

    /// The expression of a node; None if it accepts every event.
    fn expression(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Option<Expression>> {
        let snapshot = self.graph.snapshot();
        let found = snapshot.expression_of(find(py, &snapshot, id)?);
        Ok(found.map_err(|error| error::raise(py, &error))?.map(Expression))
    }

    /// Save the graph to a folder, which is created if it does not exist.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.graph.save(&path)).map_err(|error| error::raise(py, &error))
    }

    /// Wait until the background thread has compiled all changes.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        while !py.detach(|| self.graph.settle_within(PATIENCE)) {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Statistics about the graph; see `tamis.statistics.GraphStats`.
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

    /// The names of the attributes that nodes and edges use, or have used.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        event::attribute_names(self.graph.snapshot().attributes())
    }

    /// Whether an expression uses `values()`, so events are decoded completely.
    #[getter]
    fn asks_values(&self) -> bool {
        self.graph.snapshot().attributes().asks_values().is_some()
    }

    /// The truth of a predicate on an attribute without a value.
    #[getter]
    fn missing(&self) -> &'static str {
        write_missing(self.graph.missing())
    }

    /// The zone of times without an offset, in expressions and in events.
    #[getter]
    fn time_zone(&self) -> String {
        self.graph.time_zone().name().to_owned()
    }

    /// The limits on expressions and events.
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
        id::write_all(py, ids.map_err(|error| error::raise(py, &error))?)?.try_iter()
    }

    fn __repr__(&self) -> String {
        format!("<Graph of {} nodes>", self.graph.snapshot().len())
    }
}

/// The arguments of `match_batch` that apply to all forms of events.
pub(super) struct GraphBatch<'a, 'py> {
    pub events: &'a Bound<'py, PyAny>,
    pub strategy: Strategy,
    pub sinks_only: bool,
    pub on_error: OnError,
    pub now: Option<&'a Bound<'py, PyAny>>,
    pub deadline: Option<tamis::Deadline>,
}

fn find(py: Python<'_>, snapshot: &Arc<GraphSnapshot>, id: &Bound<'_, PyAny>) -> PyResult<NodeNumber> {
    let found = id::try_read(id).and_then(|id| snapshot.find(&id));
    found.ok_or_else(|| error::unknown_node(py, id))
}

fn read_strategy(name: &str) -> PyResult<Strategy> {
    Strategy::by_name(name).ok_or_else(|| {
        let names = Strategy::ALL.map(|strategy| format!("{:?}", strategy.name())).join(", ");
        PyValueError::new_err(format!("strategy must be one of {names}, not {name:?}"))
    })
}
