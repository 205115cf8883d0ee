//! `tamis._tamis.Hits`: counts matches per id.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ahash::RandomState;
use pyo3::prelude::*;
use tamis::{Id, IdRef};

use crate::id;

/// Counts events and what they match, by id.
///
/// Any number of threads may count and look.
///
/// Args:
///     most: How many ids are told apart; the matches of others are only summed up.
#[pyclass(module = "tamis._tamis", frozen)]
pub struct Hits {
    counts: Mutex<Counts>,
    most: usize,
}

#[derive(Default)]
struct Counts {
    events: u64,
    matches: u64,
    integers: HashMap<i64, u64, RandomState>,
    strings: HashMap<Box<str>, u64, RandomState>,
}

impl Counts {
    fn ids(&self) -> usize {
        self.integers.len() + self.strings.len()
    }

    fn get(&self, id: IdRef<'_>) -> u64 {
        match id {
            IdRef::Integer(number) => self.integers.get(&number),
            IdRef::String(text) => self.strings.get(text),
        }
        .copied()
        .unwrap_or(0)
    }

    fn add(&mut self, id: IdRef<'_>, most: usize) {
        let room = self.ids() < most;
        match id {
            IdRef::Integer(number) => match self.integers.get_mut(&number) {
                Some(count) => *count += 1,
                None if room => drop(self.integers.insert(number, 1)),
                None => {}
            },
            IdRef::String(text) => match self.strings.get_mut(text) {
                Some(count) => *count += 1,
                None if room => drop(self.strings.insert(text.into(), 1)),
                None => {}
            },
        }
    }
}

impl Hits {
    /// Counts an event that matched these ids.
    pub fn count<'a>(&self, ids: impl ExactSizeIterator<Item = IdRef<'a>>) {
        let mut counts = self.lock();
        counts.events += 1;
        counts.matches += ids.len() as u64;
        ids.for_each(|id| counts.add(id, self.most));
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Hits {
    #[new]
    #[pyo3(signature = (most=1_000_000))]
    fn new(most: usize) -> Hits {
        Hits { counts: Mutex::default(), most }
    }

    /// Count an event that matched these ids.
    fn add(&self, py: Python<'_>, ids: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let ids = ids.iter().map(id::read).collect::<PyResult<Vec<Id>>>()?;
        py.detach(|| self.count(ids.iter().map(Id::as_ref)));
        Ok(())
    }

    /// The ids that matched most often, with how often, most first.
    fn most_common<'py>(&self, py: Python<'py>, n: usize) -> PyResult<Vec<(Bound<'py, PyAny>, u64)>> {
        let best = py.detach(|| {
            let counts = self.lock();
            let integers = counts.integers.iter().map(|(&id, &count)| (IdRef::Integer(id), count));
            let strings = counts.strings.iter().map(|(id, &count)| (IdRef::String(id), count));
            let mut all: Vec<(IdRef<'_>, u64)> = integers.chain(strings).collect();
            let order = |(id, count): &(IdRef<'_>, u64)| (Reverse(*count), id.to_id().to_string());
            if n < all.len() {
                all.select_nth_unstable_by_key(n, |(_, count)| Reverse(*count));
                all.truncate(n);
            }
            all.sort_by_cached_key(order);
            all.into_iter().map(|(id, count)| (id.to_id(), count)).collect::<Vec<_>>()
        });
        best.into_iter().map(|(id, count)| Ok((id::write(py, id.as_ref())?, count))).collect()
    }

    /// How often an id has matched.
    fn get(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> u64 {
        id::try_read(id).map_or(0, |id| py.detach(|| self.lock().get(id.as_ref())))
    }

    /// How many events were counted.
    #[getter]
    fn events(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().events)
    }

    /// How many matches they had together.
    #[getter]
    fn matches(&self, py: Python<'_>) -> u64 {
        py.detach(|| self.lock().matches)
    }
}
