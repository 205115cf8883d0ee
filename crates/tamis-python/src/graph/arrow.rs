//! Searching a graph for the events of Arrow data.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::event::ArrowEvents;
use tamis::index::ArrowRows;
use tamis_graph::ArrowSources;

use super::{Graph, GraphBatch, find};
use crate::arrow;
use crate::error;
use crate::interrupt::interruptible;
use crate::options::read_now;

impl Graph {
    /// The nodes that the rows of Arrow data reach, from one source or from the source in a column.
    pub(super) fn match_arrow<'py>(
        &self,
        py: Python<'py>,
        batch: &GraphBatch<'_, 'py>,
        source: Option<&Bound<'py, PyAny>>,
        sources: Option<&str>,
        column: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let &GraphBatch { events, strategy, sinks_only, on_error, now, deadline } = batch;
        let (snapshot, limits) = (self.graph.snapshot(), self.graph.limits());
        let now = read_now(now, snapshot.attributes())?;
        let one = source.map(|source| find(py, &snapshot, source)).transpose()?;
        if one.is_some() == sources.is_some() {
            let message = "with Arrow data, pass `source`, a node, or `sources`, the column with the source of each event";
            return Err(PyValueError::new_err(message));
        }
        arrow::each_batch(py, events, on_error, |batch, first| {
            let starts = match (one, sources) {
                (None, Some(column)) => ArrowSources::each(batch, column),
                (source, _) => Ok(ArrowSources::one(source.expect("checked above"))),
            };
            let events = ArrowEvents::new(batch, column, snapshot.attributes());
            let (starts, events) = starts
                .and_then(|starts| Ok((starts, events?.at(now).within(deadline))))
                .map_err(|error| error::raise(py, &error))?;
            let search = |stop: &_| {
                let rows = ArrowRows { events: &events, first, limits, stop };
                snapshot.match_arrow(rows, &starts, strategy, sinks_only, on_error)
            };
            interruptible(py, search)?.map_err(|error| error::raise(py, &error))
        })
    }
}
