//! Matching many events at once: an iterable, JSON lines, or Arrow data.

mod ask;
mod chunk;

pub use ask::Ask;

use std::sync::PoisonError;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyList, PyMapping, PyTuple};
use tamis::Deadline;
use tamis::event::OnError;
use tamis::index::{Selection, Snapshot};
use tamis::matcher::Evaluation;
use tamis::value::Timestamp;

use crate::import::is_arrow;
use crate::index::Index;
use crate::items::{iterate, iterate_events, refuse_file_name};
use crate::options::read_now;
use crate::pipeline::{self, Chunk};
use crate::refused::{Part, Refusals};
use crate::working::{next_event, with_working};
use crate::xml::Source;
use crate::{arrow, error, event, id};

/// The most events that are decoded, then matched together without the interpreter's lock.
const CHUNK: usize = 256;

/// The number of events that are matched first, before other threads are started.
const FIRST_CHUNK: usize = 32;

/// If fewer events follow, starting threads and filling their memory takes longer than it saves.
/// If their number is unknown, as many as were matched are expected to follow.
const WORTH_THREADS: usize = 192;

/// The least number of events in the chunks after the first. Fewer are always matched one by one,
/// even if matching them together is faster.
const LEAST_CHUNK: usize = 64;

/// The length of the chunk that begins at event `first` of about `count`, if that is known. The
/// first and the last chunks are shorter, so that no thread waits long for the first events, or for
/// another thread to finish the last ones.
fn chunk_length(first: usize, count: Option<usize>) -> usize {
    if first == 0 {
        return FIRST_CHUNK;
    }
    let left = count.map_or(usize::MAX, |count| count.saturating_sub(first));
    first.min(left / 4).clamp(LEAST_CHUNK, CHUNK)
}

/// A call of a batch method.
pub struct Asked<'a> {
    pub name: &'static str,
    pub snapshot: &'a Snapshot,
    pub ask: Ask<'a>,
    /// The subscriptions that `where` selects; all if `None`.
    pub selection: Option<&'a Selection>,
    pub on_error: OnError,
    /// The value of `now()` for all events.
    pub now: Timestamp,
    /// The time at which the batch fails.
    pub deadline: Option<Deadline>,
}

/// The arguments of a batch method, apart from its query.
pub struct Batch<'a, 'py> {
    pub name: &'static str,
    pub events: &'a Bound<'py, PyAny>,
    pub condition: Option<&'a Bound<'py, PyAny>>,
    pub documents: Option<&'a Bound<'py, PyAny>>,
    pub column: Option<&'a str>,
    pub threads: Option<usize>,
    pub now: Option<&'a Bound<'py, PyAny>>,
    pub timeout: Option<f64>,
}

/// A decoded event of a chunk.
pub struct Row {
    /// Its position in the chunk.
    pub position: usize,
    /// The number of its line, from 1, in JSON lines.
    pub line: Option<usize>,
    pub document: Option<Source>,
}

impl Index {
    /// The documents of the next events, in order; empty if there are no documents at all.
    fn next_documents<'py>(
        &self,
        documents: Option<&Bound<'py, PyIterator>>,
        first: usize,
        count: usize,
    ) -> PyResult<Vec<PyResult<Option<Source>>>> {
        let Some(documents) = documents else { return Ok(Vec::new()) };
        let mut sources = Vec::with_capacity(count);
        for position in first..first + count {
            let Some(document) = documents.clone().next().transpose()? else {
                let message =
                    format!("there is no document for event {position}; pass None for an event without one");
                return Err(error::event(documents.py(), &message));
            };
            sources.push(self.document(Some(&document)));
        }
        Ok(sources)
    }

    /// Runs the query for every event of a batch.
    pub(crate) fn ask_batch<'py>(
        &self,
        py: Python<'py>,
        snapshot: &Snapshot,
        ask: Ask<'_>,
        on_error: OnError,
        batch: &Batch<'_, 'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let &Batch { name, events, condition, documents, column, threads, now, timeout } = batch;
        let deadline = error::deadline(timeout)?;
        let selection = self.select(py, snapshot, condition, deadline)?;
        let now = read_now(now, snapshot.attributes())?;
        let selection = selection.as_ref();
        let asked = &Asked { name, snapshot, ask, selection, on_error, now, deadline };
        if is_arrow(events) {
            if let Ask::Json { .. } = asked.ask {
                return Err(PyTypeError::new_err(format!("{name} takes no Arrow data; call match_batch")));
            }
            let documents = documents.map(|documents| {
                documents.extract::<&str>().map_err(|_| {
                    PyTypeError::new_err(
                        "with Arrow data, `documents` must be the name of the column of documents",
                    )
                })
            });
            let documents = documents.transpose()?;
            return arrow::match_batch(py, asked, self.index.limits(), events, column, documents, threads);
        }
        let plain = match asked.ask {
            Ask::All { metadata, evaluation } => !metadata && evaluation == Evaluation::Auto,
            Ask::Json { .. } | Ask::Top(..) | Ask::First(_) | Ask::Count(_) => true,
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
        let documents = documents.map(|documents| iterate(documents, "`documents` must be an iterable"));
        self.match_events(py, asked, events, documents.transpose()?.as_ref())
    }

    fn match_events<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyIterator>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (results, mut refusals) = (PyList::empty(py), Refusals::new(asked.on_error));
        if asked.on_error == OnError::Raise {
            refuse_file_name(events, asked.name)?;
        }
        match event::json(events)? {
            Some(text) => self.match_lines(py, asked, &text, documents, &results, &mut refusals)?,
            None => self.match_iterable(py, asked, events, documents, &results, &mut refusals)?,
        }
        if documents.and_then(|documents| documents.clone().next()).transpose()?.is_some() {
            let message = format!("there are more documents than events ({})", results.len());
            return Err(error::event(py, &message));
        }
        let Ask::Count(counts) = &asked.ask else { return refusals.finish(results.into_any()) };
        let (counts, dict) = (counts.lock().unwrap_or_else(PoisonError::into_inner), PyDict::new(py));
        for counted in asked.snapshot.counted(&counts) {
            let (id, count) = counted.map_err(|error| error::raise(py, &error))?;
            dict.set_item(id::write(py, id)?, count)?;
        }
        refusals.finish(dict.into_any())
    }

    fn match_lines<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        text: &[u8],
        documents: Option<&Bound<'py, PyIterator>>,
        results: &Bound<'py, PyList>,
        refusals: &mut Refusals<'py>,
    ) -> PyResult<()> {
        let lines = text.split(|&byte| byte == b'\n').zip(1..);
        let mut lines = lines.filter(|(line, _)| !line.trim_ascii().is_empty());
        let mut objects = id::Objects::default();
        let count = Some(text.iter().filter(|&&byte| byte == b'\n').count());
        loop {
            if is_pipelined(asked, documents, results, count) {
                return self.pipeline(py, asked, &mut objects, results, refusals, |_, chunk, _| {
                    chunk.lines.extend(lines.by_ref().take(chunk_length(chunk.first, count)));
                    chunk.count = chunk.lines.len();
                    Ok(())
                });
            }
            let chunk: Vec<(&[u8], usize)> = lines.by_ref().take(chunk_length(results.len(), None)).collect();
            if chunk.is_empty() || asked.ask.is_full() {
                return Ok(());
            }
            let first = results.len();
            let sources = self.next_documents(documents, first, chunk.len())?;
            with_working(|working| {
                let (attributes, limits) = (asked.snapshot.attributes(), self.index.limits());
                let (mut rows, mut failures) = (Vec::with_capacity(chunk.len()), Vec::new());
                py.detach(|| {
                    for (position, (json, line)) in chunk.iter().enumerate() {
                        let event = next_event(&mut working.events, rows.len(), asked.now, asked.deadline);
                        match event.decode_json(json, attributes, limits) {
                            Ok(()) => rows.push(Row { position, line: Some(*line), document: None }),
                            Err(error) => failures.push((position, *line, error)),
                        }
                        let late = matches!(failures.last(), Some((_, _, tamis::Error::Timeout { .. })));
                        if late || (!failures.is_empty() && asked.on_error == OnError::Raise) {
                            break;
                        }
                    }
                });
                for (position, line, error) in failures {
                    let failure = error::raise(py, &error);
                    refusals.note(py, first + position, Some(line), Part::Event, failure)?;
                }
                self.match_all(
                    py,
                    asked,
                    working,
                    rows,
                    chunk.len(),
                    sources,
                    &mut objects,
                    results,
                    refusals,
                )
            })?;
        }
    }

    fn match_iterable<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        events: &Bound<'py, PyAny>,
        documents: Option<&Bound<'py, PyIterator>>,
        results: &Bound<'py, PyList>,
        refusals: &mut Refusals<'py>,
    ) -> PyResult<()> {
        let count = length(events);
        let mut events = iterate_events(events, asked.name)?;
        let mut objects = id::Objects::default();
        loop {
            if is_pipelined(asked, documents, results, count) {
                let (attributes, limits) = (asked.snapshot.attributes(), self.index.limits());
                return self.pipeline(py, asked, &mut objects, results, refusals, |py, chunk, refusals| {
                    for position in 0..chunk_length(chunk.first, count) {
                        let Some(object) = events.next().transpose()? else { break };
                        chunk.count += 1;
                        let count = chunk.rows.len();
                        let event = next_event(&mut chunk.events, count, asked.now, asked.deadline);
                        match event::decode(&object, event, attributes, limits) {
                            Ok(()) => chunk.rows.push(Row { position, line: None, document: None }),
                            Err(failure) => {
                                refusals.note(py, chunk.first + position, None, Part::Event, failure)?;
                            }
                        }
                    }
                    Ok(())
                });
            }
            let length = chunk_length(results.len(), None);
            let chunk = events.by_ref().take(length).collect::<PyResult<Vec<_>>>()?;
            if chunk.is_empty() || asked.ask.is_full() {
                return Ok(());
            }
            let first = results.len();
            let sources = self.next_documents(documents, first, chunk.len())?;
            with_working(|working| {
                let (attributes, limits) = (asked.snapshot.attributes(), self.index.limits());
                let mut rows = Vec::with_capacity(chunk.len());
                for (position, object) in chunk.iter().enumerate() {
                    let event = next_event(&mut working.events, rows.len(), asked.now, asked.deadline);
                    match event::decode(object, event, attributes, limits) {
                        Ok(()) => rows.push(Row { position, line: None, document: None }),
                        Err(failure) => {
                            refusals.note(py, first + position, None, Part::Event, failure)?;
                        }
                    }
                }
                self.match_all(
                    py,
                    asked,
                    working,
                    rows,
                    chunk.len(),
                    sources,
                    &mut objects,
                    results,
                    refusals,
                )
            })?;
        }
    }

    /// Lets other threads match chunks, which `fill` fills until one stays empty, and appends a
    /// list of ids for each event.
    fn pipeline<'py, 't>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        objects: &mut id::Objects<'py>,
        results: &Bound<'py, PyList>,
        refusals: &mut Refusals<'py>,
        mut fill: impl FnMut(Python<'py>, &mut Chunk<'t>, &mut Refusals<'py>) -> PyResult<()>,
    ) -> PyResult<()> {
        let ask = &asked.ask;
        let mut write = |chunk: &mut Chunk<'t>, refusals: &mut Refusals<'py>| {
            for (position, line, error) in chunk.failures.drain(..) {
                let failure = error::raise(py, &error);
                refusals.note(py, chunk.first + position, Some(line), Part::Event, failure)?;
            }
            let matched = std::mem::replace(&mut chunk.matched, Ok(0));
            let matched = matched.map_err(|error| error::raise(py, &error))?;
            for (event, row) in chunk.rows[..matched].iter().enumerate() {
                ask.fill_up(results, chunk.first + row.position)?;
                results.append(ask.write_matches(py, asked.snapshot, event, &chunk.scratch, objects)?)?;
            }
            ask.fill_up(results, chunk.first + chunk.count)
        };
        let mut first = results.len();
        pipeline::run(asked, self.index.limits(), |pipeline| {
            loop {
                let mut chunk = pipeline.chunk(first);
                fill(py, &mut chunk, refusals)?;
                if chunk.count == 0 {
                    break;
                }
                first += chunk.count;
                pipeline.push(py, chunk);
                while pipeline.is_full()
                    && let Some(mut chunk) = pipeline.pop(py)?
                {
                    write(&mut chunk, refusals)?;
                    pipeline.recycle(chunk);
                }
            }
            while let Some(mut chunk) = pipeline.pop(py)? {
                write(&mut chunk, refusals)?;
            }
            Ok(())
        })
    }
}

/// The number of events in a list or tuple, whose length costs no call of Python code.
fn length(events: &Bound<'_, PyAny>) -> Option<usize> {
    let list = events.cast_exact::<PyList>().map(|list| list.len());
    list.or_else(|_| events.cast_exact::<PyTuple>().map(|tuple| tuple.len())).ok()
}

/// Whether to use other threads from now on; `count` is about the number of all events, if known.
fn is_pipelined(
    asked: &Asked<'_>,
    documents: Option<&Bound<'_, PyIterator>>,
    results: &Bound<'_, PyList>,
    count: Option<usize>,
) -> bool {
    let matched = results.len();
    matches!(asked.ask, Ask::All { .. })
        && documents.is_none()
        && matched >= FIRST_CHUNK
        && count.map_or(matched, |count| count.saturating_sub(matched)) >= WORTH_THREADS
        && pipeline::threads() > 0
}
