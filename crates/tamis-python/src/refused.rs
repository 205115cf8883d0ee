//! Events of a batch that cannot be read: raised, counted, or returned as `tamis.Refused`.

use pyo3::exceptions::{PyOSError, PyTypeError, PyUnicodeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use tamis::event::OnError;

use crate::error;

/// The part of an event that could not be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Event,
    Document,
}

/// Reads the argument `on_error`.
pub fn read_on_error(name: &str) -> PyResult<OnError> {
    let known = OnError::NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, on_error)| *on_error).ok_or_else(|| {
        PyValueError::new_err(format!("on_error must be \"raise\", \"skip\" or \"collect\", not {name:?}"))
    })
}

/// The events that a batch skipped.
pub struct Refusals<'py> {
    on_error: OnError,
    count: usize,
    /// With `OnError::Collect`, the refused events, by row.
    refused: Vec<(usize, Bound<'py, PyAny>)>,
}

impl<'py> Refusals<'py> {
    pub fn new(on_error: OnError) -> Refusals<'py> {
        Refusals { on_error, count: 0, refused: Vec::new() }
    }

    /// Records an event that could not be read. Returns the failure if `on_error` is "raise", or if
    /// it is not about the event.
    pub fn note(
        &mut self,
        py: Python<'py>,
        row: usize,
        line: Option<usize>,
        part: Part,
        failure: PyErr,
    ) -> PyResult<()> {
        let subject = match (part, line) {
            (Part::Document, _) => "document".to_owned(),
            (Part::Event, None) => "event".to_owned(),
            (Part::Event, Some(line)) => format!("line {line}"),
        };
        let item = line.filter(|_| part == Part::Event).map_or(row, |line| line - 1);
        let failure = error::at_item(py, failure, item, &subject);
        if self.on_error == OnError::Raise || !is_about_event(py, part, &failure) {
            return Err(failure);
        }
        self.count += 1;
        if self.on_error == OnError::Collect {
            let class = py.import("tamis.batches")?.getattr("Refused")?;
            self.refused.push((row, class.call1((row, failure.value(py), line))?));
        }
        Ok(())
    }

    /// Records the events of Arrow data that the engine skipped.
    pub fn take(&mut self, py: Python<'py>, refused: &tamis::event::RefusedEvents) -> PyResult<()> {
        for (row, error) in &refused.errors {
            self.note(py, *row as usize, None, Part::Event, error::raise(py, error))?;
        }
        self.count += refused.count - refused.errors.len();
        Ok(())
    }

    /// The result of a batch method.
    pub fn finish(mut self, matches: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = matches.py();
        let batches = py.import("tamis.batches")?;
        match self.on_error {
            OnError::Raise => Ok(matches),
            OnError::Skip => batches.getattr("Skipped")?.call1((matches, self.count)),
            OnError::Collect => {
                // Documents are read after the events of a chunk, so sort by row.
                self.refused.sort_by_key(|(row, _)| *row);
                let refused = PyList::new(py, self.refused.into_iter().map(|(_, refused)| refused))?;
                batches.getattr("Collected")?.call1((matches, refused))
            }
        }
    }
}

/// Whether a failure means that an event is invalid; other failures come from Python code that it
/// runs.
pub fn is_about_event(py: Python<'_>, part: Part, failure: &PyErr) -> bool {
    // A timeout is about the batch, not about an event.
    let timeout = py.import("tamis.errors").and_then(|module| module.getattr("MatchTimeoutError"));
    if timeout.is_ok_and(|class| failure.matches(py, class).unwrap_or(false)) {
        return false;
    }
    let tamis_error = py.import("tamis.errors").and_then(|module| module.getattr("TamisError"));
    if tamis_error.is_ok_and(|class| failure.matches(py, class).unwrap_or(false)) {
        return true;
    }
    part == Part::Document
        && (failure.is_instance_of::<PyOSError>(py)
            || failure.is_instance_of::<PyTypeError>(py)
            || failure.is_instance_of::<PyUnicodeError>(py))
}
