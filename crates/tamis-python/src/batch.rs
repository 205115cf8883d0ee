//! Many events at once: as an iterable, as JSON lines, or as Arrow data.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMapping};
use tamis::event::OnError;
use tamis::index::{Counts, MatchScratch, Selection, Snapshot};
use tamis::matcher::Evaluation;
use tamis::rank::EventWeights;
use tamis::value::Timestamp;
use tamis::{Deadline, Event, IdRef};

use crate::arrow;
use crate::error;
use crate::event;
use crate::hits::Hits;
use crate::id;
use crate::import::is_arrow;
use crate::index::Index;
use crate::items::{iterate, iterate_events, refuse_file_name};
use crate::options::read_now;
use crate::pipeline::{self, Chunk};
use crate::rank;
use crate::refused::{Part, Refusals};
use crate::working::{Working, next_event, with_working};
use crate::xml::Source;

/// Events decoded before they are matched together, without the interpreter's lock.
const CHUNK: usize = 256;

/// Events that are matched first, to see how long they take.
const FIRST: usize = 16;

/// The longest that matching keeps the interpreter from noticing an interrupt.
const PATIENCE: Duration = Duration::from_millis(20);

/// What is asked of every event of a batch.
pub enum Ask<'a> {
    /// All matches; of Arrow data, perhaps with metadata, and with events looked at so.
    All { metadata: bool, evaluation: Evaluation },
    /// All matches, as JSON, which are counted where that is wanted; and how many more bytes it may take.
    Json { hits: Option<&'a Hits>, room: AtomicUsize },
    /// The best matches, given the weights of all events.
    Top(usize, &'a EventWeights),
    /// The matches of the highest priorities.
    First(usize),
    /// How many events each subscription matches, summed up here.
    Count(Mutex<Counts>),
}

impl Ask<'_> {
    /// What is found, with scores where there are any.
    fn answer<'s>(
        &self,
        snapshot: &'s Snapshot,
        selection: Option<&Selection>,
        event: &Event,
        scratch: &mut MatchScratch,
    ) -> tamis::Result<Vec<(IdRef<'s>, f64)>> {
        let mut ids = Vec::new();
        match self {
            Ask::Top(most, weights) => {
                return snapshot.top_selected(event, *most, weights, selection, scratch);
            }
            Ask::All { .. } | Ask::Json { .. } => {
                snapshot.matches_selected(event, selection, scratch, |id| ids.push((id, 0.0)))?;
            }
            Ask::First(most) => {
                let first = snapshot.first(event, *most, selection, scratch)?;
                ids.extend(first.into_iter().map(|(id, _)| (id, 0.0)));
            }
            Ask::Count(counts) => {
                let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
                let events = std::slice::from_ref(event);
                snapshot.count_many(events, selection, &mut counts, scratch, &|| false)?;
            }
        }
        Ok(ids)
    }

    fn write<'py>(&self, py: Python<'py>, found: &[(IdRef<'_>, f64)]) -> PyResult<Bound<'py, PyAny>> {
        let ids = found.iter().map(|(id, _)| *id);
        match self {
            Ask::Top(..) => rank::write_ranking(py, found).map(Bound::into_any),
            Ask::All { .. } | Ask::First(_) | Ask::Count(_) => id::write_all(py, ids).map(Bound::into_any),
            Ask::Json { hits, room } => {
                hits.inspect(|hits| hits.count(ids.clone()));
                let json = id::write_json(ids);
                room.store(room.load(Relaxed).saturating_sub(json.len()), Relaxed);
                Ok(PyBytes::new(py, &json).into_any())
            }
        }
    }

    /// All ids that an event matches, by its position among those that were matched together.
    fn write_matches<'py>(
        &self,
        py: Python<'py>,
        snapshot: &Snapshot,
        event: usize,
        scratch: &MatchScratch,
        texts: &mut id::Texts<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let raise = |error| error::raise(py, &error);
        let found = snapshot.many_matches(event, scratch);
        if let Ask::Json { .. } = self {
            let ids = found.map(|found| Ok((snapshot.id_of(found)?, 0.0)));
            return self.write(py, &ids.collect::<tamis::Result<Vec<_>>>().map_err(raise)?);
        }
        if !snapshot.has_text_ids() {
            let mut ids = Vec::new();
            snapshot.many_integers(event, scratch, &mut ids).map_err(raise)?;
            return PyList::new(py, ids).map(Bound::into_any);
        }
        let ids = found.map(|found| texts.get(py, found.number(), || snapshot.id_of(found).map_err(raise)));
        PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?).map(Bound::into_any)
    }

    /// Whether no more events are to be looked at.
    fn is_full(&self) -> bool {
        matches!(self, Ask::Json { room, .. } if room.load(Relaxed) == 0)
    }

    /// What an event that was not read has.
    fn nothing<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self {
            Ask::Json { .. } => PyBytes::new(py, b"[]").into_any(),
            _ => PyList::empty(py).into_any(),
        }
    }

    /// Appends what events have that match nothing, because they could not be read, up to a number of results.
    fn fill_up(&self, results: &Bound<'_, PyList>, count: usize) -> PyResult<()> {
        (results.len()..count).try_for_each(|_| results.append(self.nothing(results.py())))
    }
}

/// A batch method at work.
pub struct Asked<'a> {
    pub name: &'static str,
    pub snapshot: &'a Snapshot,
    pub ask: Ask<'a>,
    /// The subscriptions that count, if not all.
    pub selection: Option<&'a Selection>,
    pub on_error: OnError,
    /// The moment that `now()` is for all events.
    pub now: Timestamp,
    /// When the batch fails.
    pub deadline: Option<Deadline>,
}

/// What a batch method takes besides what it asks.
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

/// An event of a chunk that was decoded.
pub struct Row {
    /// Its position in the chunk.
    pub position: usize,
    /// The number of its line, from 1, in JSON lines.
    pub line: Option<usize>,
    pub document: Option<Source>,
}

impl Index {
    /// The documents of the next events, in order; none where there are none at all.
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
                let message = format!("there is no document for event {position}; give None for none");
                return Err(error::event(documents.py(), &message));
            };
            sources.push(self.document(Some(&document)));
        }
        Ok(sources)
    }

    /// Asks the same of every event of a batch.
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
                        "with Arrow data, `documents` is the name of the column of documents",
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
        let documents = documents.map(|documents| iterate(documents, "`documents` is an iterable"));
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
            let message =
                format!("there are more documents than events, of which there are {}", results.len());
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
        let mut texts = id::Texts::default();
        loop {
            if is_pipelined(asked, documents, results) {
                return self.pipeline(py, asked, &mut texts, results, refusals, |_, chunk, _| {
                    chunk.lines.extend(lines.by_ref().take(CHUNK));
                    chunk.count = chunk.lines.len();
                    Ok(())
                });
            }
            let chunk: Vec<(&[u8], usize)> = lines.by_ref().take(CHUNK).collect();
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
                self.match_all(py, asked, working, rows, chunk.len(), sources, &mut texts, results, refusals)
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
        let mut events = iterate_events(events, asked.name)?;
        let mut texts = id::Texts::default();
        loop {
            if is_pipelined(asked, documents, results) {
                let (attributes, limits) = (asked.snapshot.attributes(), self.index.limits());
                return self.pipeline(py, asked, &mut texts, results, refusals, |py, chunk, refusals| {
                    for position in 0..CHUNK {
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
            let chunk = events.by_ref().take(CHUNK).collect::<PyResult<Vec<_>>>()?;
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
                self.match_all(py, asked, working, rows, chunk.len(), sources, &mut texts, results, refusals)
            })?;
        }
    }

    /// Has other threads match chunks, which `fill` fills until one stays empty, and appends a list of ids for each event.
    fn pipeline<'py, 't>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        texts: &mut id::Texts<'py>,
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
                results.append(ask.write_matches(py, asked.snapshot, event, &chunk.scratch, texts)?)?;
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

    /// Matches the decoded events of a chunk without the interpreter's lock, and appends a list of ids
    /// for each event of the chunk. There are as many documents as events in the chunk, or none.
    #[expect(clippy::too_many_arguments, reason = "what a chunk consists of")]
    fn match_all<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        working: &mut Working,
        mut rows: Vec<Row>,
        count: usize,
        documents: Vec<PyResult<Option<Source>>>,
        texts: &mut id::Texts<'py>,
        results: &Bound<'py, PyList>,
        refusals: &mut Refusals<'py>,
    ) -> PyResult<()> {
        let Asked { snapshot, ask, selection, .. } = asked;
        let first = results.len();
        let mut unreadable = vec![false; rows.len()];
        let mut decoded = rows.iter_mut().zip(&mut unreadable).peekable();
        for (position, document) in documents.into_iter().enumerate() {
            let row = decoded.next_if(|(row, _)| row.position == position);
            match (document, row) {
                (Ok(document), Some((row, _))) => row.document = document,
                // An event is refused once.
                (_, None) => {}
                (Err(failure), Some((row, unreadable))) => {
                    refusals.note(py, first + position, row.line, Part::Document, failure)?;
                    *unreadable = true;
                }
            }
        }
        if let Ask::All { .. } | Ask::Json { .. } = ask
            && rows.iter().all(|row| row.document.is_none())
            && !unreadable.contains(&true)
        {
            return match_together(py, asked, working, &rows, count, texts, results);
        }
        let Working { events, scratch } = working;
        let mut answers = vec![None; count];
        let mut next = 0;
        while next < rows.len() {
            let begin = next;
            let found = py.detach(|| {
                let started = Instant::now();
                let mut found = Vec::with_capacity(rows.len() - next);
                while next < rows.len() && started.elapsed() < PATIENCE {
                    let (row, event) = (&rows[next], &mut events[next]);
                    if unreadable[next] {
                        found.push(None);
                    } else if let Err(failure) = self.read_document(snapshot, &row.document, event) {
                        found.push(Some(Err(failure)));
                    } else {
                        found.push(Some(Ok(ask.answer(snapshot, *selection, event, scratch)?)));
                    }
                    next += 1;
                }
                Ok(found)
            });
            let found = found.map_err(|error: tamis::Error| error::raise(py, &error))?;
            for (row, found) in rows[begin..].iter().zip(found) {
                match found {
                    None => {}
                    Some(Ok(found)) => answers[row.position] = Some(ask.write(py, &found)?),
                    Some(Err(failure)) => {
                        let (number, failure) = (first + row.position, failure.raise(py));
                        refusals.note(py, number, row.line, Part::Document, failure)?;
                    }
                }
            }
            py.check_signals()?;
        }
        for answer in answers {
            results.append(answer.unwrap_or_else(|| ask.nothing(py)))?;
        }
        Ok(())
    }
}

/// Whether other threads match what comes next: a whole chunk was matched already, so that more is likely to come.
fn is_pipelined(
    asked: &Asked<'_>,
    documents: Option<&Bound<'_, PyIterator>>,
    results: &Bound<'_, PyList>,
) -> bool {
    matches!(asked.ask, Ask::All { .. })
        && documents.is_none()
        && results.len() >= CHUNK
        && pipeline::threads() > 0
}

/// Matches decoded events together, without the interpreter's lock, and appends a list of ids for each of the
/// `count` events that they are of.
fn match_together<'py>(
    py: Python<'py>,
    asked: &Asked<'_>,
    working: &mut Working,
    rows: &[Row],
    count: usize,
    texts: &mut id::Texts<'py>,
    results: &Bound<'py, PyList>,
) -> PyResult<()> {
    let Asked { snapshot, ask, selection, .. } = asked;
    let Working { events, scratch } = working;
    let (first, mut next) = (results.len(), 0);
    let mut length = FIRST;
    while next < rows.len() {
        length = length.min(rows.len() - next);
        let (matched, took) = py.detach(|| {
            let started = Instant::now();
            let stopped = || length > 1 && started.elapsed() > PATIENCE;
            let matched = snapshot.match_many(&events[next..next + length], *selection, scratch, &stopped);
            (matched, started.elapsed())
        });
        let matched = matched.map_err(|error| error::raise(py, &error))?;
        // As many as are likely to be matched in time. Where none was, because a segment took it all, fewer.
        length = match u32::try_from(matched) {
            Ok(0) | Err(_) => (length / 4).max(1),
            Ok(count) => {
                (PATIENCE.as_nanos() / (took / count).as_nanos().max(1)).clamp(1, CHUNK as u128) as usize
            }
        };
        for (event, row) in rows[next..next + matched].iter().enumerate() {
            ask.fill_up(results, first + row.position)?;
            results.append(ask.write_matches(py, snapshot, event, scratch, texts)?)?;
            if ask.is_full() {
                return Ok(());
            }
        }
        next += matched;
        py.check_signals()?;
    }
    ask.fill_up(results, first + count)
}
