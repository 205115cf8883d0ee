//! Searching a graph for many events: an iterable, or JSON lines.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMapping, PyString};
use tamis::{Event, IdRef};
use tamis_graph::{GraphSnapshot, NodeNumber};

use super::{Graph, GraphBatch, WORKING, find};
use crate::error;
use crate::event;
use crate::id;
use crate::items::iterate_events;
use crate::options::read_now;
use crate::refused::{Part, Refusals};

/// The number of events that are decoded, then searched for together without the interpreter's
/// lock.
const CHUNK: usize = 64;

impl Graph {
    pub(super) fn match_events<'py>(
        &self,
        py: Python<'py>,
        batch: &GraphBatch<'_, 'py>,
        source: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let &GraphBatch { events, strategy, sinks_only, on_error, now, deadline } = batch;
        if events.cast::<PyMapping>().is_ok() {
            let message =
                "match_batch takes an iterable of events, not one event; call match, or give a list";
            return Err(error::event(py, message));
        }
        let snapshot = self.graph.snapshot();
        let now = read_now(now, snapshot.attributes())?;
        let sources = Sources::read(py, &snapshot, source)?;
        let lines = event::json(events)?;
        let mut events: Events<'_, 'py> = match &lines {
            Some(text) => Box::new(json_lines(py, text)),
            None => {
                let events = iterate_events(events, "match_batch")?;
                Box::new(events.map(|event| Ok((event?, None))))
            }
        };
        let (results, mut refusals) = (PyList::empty(py), Refusals::new(on_error));
        let mut decoded: Vec<Event> = Vec::new();
        loop {
            let chunk = events.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() {
                break;
            }
            decoded.resize_with(decoded.len().max(chunk.len()), Event::default);
            let done = results.len();
            // The events that could be read come first in `decoded`.
            let (mut starts, mut rows) = (Vec::with_capacity(chunk.len()), Vec::with_capacity(chunk.len()));
            for (position, (object, line)) in chunk.iter().enumerate() {
                let start = sources.get(done + position).ok_or_else(|| sources.too_few(py))?;
                let event = &mut decoded[rows.len()];
                event.set_now(Some(now));
                event.set_deadline(deadline);
                let read = event::decode(object, event, snapshot.attributes(), self.graph.limits());
                match read.and_then(|()| start.as_ref().copied().map_err(|failure| failure.clone_ref(py))) {
                    Ok(start) => {
                        starts.push(start);
                        rows.push(position);
                    }
                    Err(failure) => refusals.note(py, done + position, *line, Part::Event, failure)?,
                }
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
            let mut answers = vec![None; chunk.len()];
            for (row, ids) in rows.iter().zip(found.map_err(|error| error::raise(py, &error))?) {
                answers[*row] = Some(id::write_all(py, ids)?);
            }
            for answer in answers {
                results.append(answer.unwrap_or_else(|| PyList::empty(py)))?;
            }
            py.check_signals()?;
        }
        sources.check(py, results.len())?;
        refusals.finish(results.into_any())
    }
}

/// Events, with line numbers for JSON lines.
type Events<'a, 'py> = Box<dyn Iterator<Item = PyResult<(Bound<'py, PyAny>, Option<usize>)>> + 'a>;

fn json_lines<'a, 'py: 'a>(
    py: Python<'py>,
    text: &'a [u8],
) -> impl Iterator<Item = PyResult<(Bound<'py, PyAny>, Option<usize>)>> + 'a {
    let lines = text.split(|&byte| byte == b'\n').zip(1..);
    let lines = lines.filter(|(line, _)| !line.trim_ascii().is_empty());
    lines.map(move |(line, number)| Ok((PyBytes::new(py, line).into_any(), Some(number))))
}

/// The sources of a batch's events.
enum Sources {
    One(PyResult<NodeNumber>),
    /// An event whose source is not a node is refused like one that cannot be read.
    Each(Vec<PyResult<NodeNumber>>),
}

impl Sources {
    fn read(py: Python<'_>, snapshot: &Arc<GraphSnapshot>, source: &Bound<'_, PyAny>) -> PyResult<Sources> {
        if source.is_instance_of::<PyString>() || source.try_iter().is_err() {
            return Ok(Sources::One(Ok(find(py, snapshot, source)?)));
        }
        let each = source.try_iter()?.map(|source| Ok(find(py, snapshot, &source?)));
        each.collect::<PyResult<_>>().map(Sources::Each)
    }

    fn get(&self, position: usize) -> Option<&PyResult<NodeNumber>> {
        match self {
            Sources::One(node) => Some(node),
            Sources::Each(nodes) => nodes.get(position),
        }
    }

    fn too_few(&self, py: Python<'_>) -> PyErr {
        let count = if let Sources::Each(nodes) = self { nodes.len() } else { 1 };
        error::graph(py, &format!("there are more events than sources ({count})"))
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
