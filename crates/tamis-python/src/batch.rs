//! Many events at once: as an iterable, as JSON lines, or as Arrow data.

use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping};
use tamis::{Evaluation, Event, EventWeights, IdRef, MatchScratch, Snapshot};

use crate::arrow;
use crate::error;
use crate::event;
use crate::id;
use crate::import::is_arrow;
use crate::index::{Index, Working, with_working};
use crate::items::iterate;
use crate::rank;
use crate::xml::{Failure, Source};

/// Events decoded before they are matched together, without the interpreter's lock.
const CHUNK: usize = 256;

/// The longest that matching keeps the interpreter from noticing an interrupt.
const PATIENCE: Duration = Duration::from_millis(20);

/// What is asked of every event of a batch.
pub enum Ask<'a> {
    /// All matches; of Arrow data, perhaps with metadata, and with events looked at so.
    All { metadata: bool, evaluation: Evaluation },
    /// The best matches, given the weights of all events.
    Top(usize, &'a EventWeights),
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
            Ask::All { .. } => {
                let mut ids = Vec::new();
                snapshot.matches(event, scratch, |id| ids.push((id, 0.0)))?;
                Ok(ids)
            }
        }
    }

    fn write<'py>(&self, py: Python<'py>, found: &[(IdRef<'_>, f64)]) -> PyResult<Bound<'py, PyList>> {
        match self {
            Ask::Top(..) => rank::write_ranking(py, found),
            Ask::All { .. } => id::write_all(py, found.iter().map(|(id, _)| *id)),
        }
    }
}

/// A batch method at work.
pub struct Asked<'a> {
    pub name: &'static str,
    pub snapshot: &'a Snapshot,
    pub ask: Ask<'a>,
}

impl Index {
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

    pub(crate) fn batch<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyAny>>,
        column: Option<&str>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = asked.name;
        if is_arrow(events) {
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
        let plain = match asked.ask {
            Ask::All { metadata, evaluation } => !metadata && evaluation == Evaluation::Auto,
            Ask::Top(..) => true,
        };
        if column.is_some() || threads.is_some() || !plain {
            let message =
                format!("{name} takes `column`, `metadata`, `threads` and `evaluation` with Arrow data only");
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
        let mut events = iterate(events, &expected)?;
        loop {
            let chunk = events.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
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
