//! Matching the decoded events of a chunk without the interpreter's lock.

use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::{Ask, Asked, CHUNK, Row};
use crate::index::Index;
use crate::refused::{Part, Refusals};
use crate::working::Working;
use crate::xml::Source;
use crate::{error, id};

/// Events matched first, to measure how long they take.
const FIRST: usize = 16;

/// The maximum time without checking for interrupts.
const PATIENCE: Duration = Duration::from_millis(20);

impl Index {
    /// Matches the decoded events of a chunk without the interpreter's lock, and appends a list of
    /// ids for each event of the chunk. There are as many documents as events in the chunk, or
    /// none.
    #[expect(clippy::too_many_arguments, reason = "what a chunk consists of")]
    pub(super) fn match_all<'py>(
        &self,
        py: Python<'py>,
        asked: &Asked<'_>,
        working: &mut Working,
        mut rows: Vec<Row>,
        count: usize,
        documents: Vec<PyResult<Option<Source>>>,
        objects: &mut id::Objects<'py>,
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
                // An event is refused only once.
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
            return match_together(py, asked, working, &rows, count, objects, results);
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

/// Matches decoded events together without the interpreter's lock, and appends a list of ids for
/// each of the `count` events of the chunk.
fn match_together<'py>(
    py: Python<'py>,
    asked: &Asked<'_>,
    working: &mut Working,
    rows: &[Row],
    count: usize,
    objects: &mut id::Objects<'py>,
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
        // As many as can be matched in time. Fewer if none was, because one segment took all of it.
        length = match u32::try_from(matched) {
            Ok(0) | Err(_) => (length / 4).max(1),
            Ok(count) => {
                (PATIENCE.as_nanos() / (took / count).as_nanos().max(1)).clamp(1, CHUNK as u128) as usize
            }
        };
        for (event, row) in rows[next..next + matched].iter().enumerate() {
            ask.fill_up(results, first + row.position)?;
            results.append(ask.write_matches(py, snapshot, event, scratch, objects)?)?;
            if ask.is_full() {
                return Ok(());
            }
        }
        next += matched;
        py.check_signals()?;
    }
    ask.fill_up(results, first + count)
}
