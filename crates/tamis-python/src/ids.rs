//! Iterating over the ids of an index, without creating all objects at once.

use std::sync::Arc;

use pyo3::prelude::*;
use tamis::Id;
use tamis::index::{IdPlace, Snapshot};

use crate::error;
use crate::id;

/// The number of ids read at a time.
const AHEAD: usize = 256;

/// The ids of an index in insertion order, as of one snapshot.
#[pyclass(module = "tamis._tamis")]
pub struct Ids {
    snapshot: Arc<Snapshot>,
    place: IdPlace,
    ahead: std::vec::IntoIter<Id>,
}

impl Ids {
    /// All ids of a snapshot.
    pub fn new(snapshot: Arc<Snapshot>) -> Ids {
        Ids { snapshot, place: IdPlace::default(), ahead: Vec::new().into_iter() }
    }
}

#[pymethods]
impl Ids {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.ahead.as_slice().is_empty() {
            let ids = self.snapshot.ids_from(&mut self.place, AHEAD);
            let ids = ids.map_err(|error| error::raise(py, &error))?;
            self.ahead = ids.into_iter().map(|id| id.to_id()).collect::<Vec<_>>().into_iter();
        }
        self.ahead.next().map(|id| id::write(py, id.as_ref())).transpose()
    }
}
