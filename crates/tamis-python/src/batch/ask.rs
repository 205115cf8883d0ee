//! The query of a batch method, and how its results are written.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use tamis::index::{Counts, MatchScratch, Selection, Snapshot};
use tamis::matcher::Evaluation;
use tamis::rank::EventWeights;
use tamis::{Event, IdRef};

use crate::hits::Hits;
use crate::{error, id, rank};

/// The query to run for every event of a batch.
pub enum Ask<'a> {
    /// All matches; for Arrow data, optionally with metadata, and with this evaluation.
    All { metadata: bool, evaluation: Evaluation },
    /// All matches as JSON, counted in `hits` if given. `room` is the number of bytes left.
    Json { hits: Option<&'a Hits>, room: AtomicUsize },
    /// The best matches, given the weights of all events.
    Top(usize, &'a EventWeights),
    /// The matches of the highest priorities.
    First(usize),
    /// How many events each subscription matches; summed up here.
    Count(Mutex<Counts>),
}

impl Ask<'_> {
    /// The results, with scores if the query ranks.
    pub(super) fn answer<'s>(
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

    pub(super) fn write<'py>(
        &self,
        py: Python<'py>,
        found: &[(IdRef<'_>, f64)],
    ) -> PyResult<Bound<'py, PyAny>> {
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

    /// All ids that an event matches; `event` is its position among those matched together.
    pub(super) fn write_matches<'py>(
        &self,
        py: Python<'py>,
        snapshot: &Snapshot,
        event: usize,
        scratch: &MatchScratch,
        objects: &mut id::Objects<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ask::Json { .. } = self {
            let slots = snapshot.many_slots(event, scratch);
            let found = slots.flat_map(|(segment, slots)| slots.iter().map(move |&slot| (segment, slot)));
            let ids = found.map(|(segment, slot)| Ok((snapshot.id_in(segment, slot)?, 0.0)));
            let ids = ids.collect::<tamis::Result<Vec<_>>>();
            return self.write(py, &ids.map_err(|error| error::raise(py, &error))?);
        }
        objects.list(py, snapshot, event, scratch).map(Bound::into_any)
    }

    /// Whether the room is used up and no more events should be matched.
    pub(super) fn is_full(&self) -> bool {
        matches!(self, Ask::Json { room, .. } if room.load(Relaxed) == 0)
    }

    /// The result of an event that could not be read.
    pub(super) fn nothing<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self {
            Ask::Json { .. } => PyBytes::new(py, b"[]").into_any(),
            _ => PyList::empty(py).into_any(),
        }
    }

    /// Appends results for events that could not be read, up to a number of results.
    pub(super) fn fill_up(&self, results: &Bound<'_, PyList>, count: usize) -> PyResult<()> {
        (results.len()..count).try_for_each(|_| results.append(self.nothing(results.py())))
    }
}
