//! Which nodes do many events reach, that come as an iterable or as JSON lines?

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMapping, PyString};
use tamis::graph::{GraphSnapshot, NodeNumber, Strategy};
use tamis::{Event, IdRef};

use super::{Graph, WORKING, find};
use crate::error;
use crate::event;
use crate::id;
use crate::items::iterate;

/// Events decoded before they are searched for together, without the interpreter's lock.
const CHUNK: usize = 64;

impl Graph {
    pub(super) fn match_events<'py>(
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
                results.append(id::write_all(py, ids)?)?;
            }
            py.check_signals()?;
        }
        sources.check(py, results.len())?;
        Ok(results)
    }
}

fn json_lines<'a, 'py: 'a>(
    py: Python<'py>,
    text: &'a [u8],
) -> impl Iterator<Item = PyResult<Bound<'py, PyAny>>> + 'a {
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    lines.map(move |line| Ok(PyBytes::new(py, line).into_any()))
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
