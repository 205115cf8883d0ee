//! Adding many subscriptions at once: errors, progress and cancellation.

use std::sync::atomic::Ordering;

use arrow_array::RecordBatch;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList};
use tamis::event::OnError;
use tamis::index::Progress;

use crate::error;
use crate::id;
use crate::import::{Batches, is_arrow};
use crate::index::Index;
use crate::interrupt::{STOPPABLE, watched};
use crate::items;
use crate::subscription::{read_id, read_written};

/// Subscriptions to be added, with their positions in the input.
enum Taken {
    Written(Vec<tamis::index::WrittenSubscription>),
    Read(Vec<tamis::index::Subscription>),
}

/// The state of one call that adds subscriptions.
pub struct Loading<'py> {
    on_error: OnError,
    progress: Option<Bound<'py, PyAny>>,
    positions: Vec<usize>,
    taken: Taken,
    /// The position, id and failure of refused items.
    refused: Vec<(usize, Py<PyAny>, PyErr)>,
}

impl<'py> Loading<'py> {
    /// `progress` is a callable, or a boolean that says whether to draw a bar.
    pub fn new(on_error: OnError, progress: Option<Bound<'py, PyAny>>) -> PyResult<Loading<'py>> {
        let (positions, taken) = (Vec::new(), Taken::Written(Vec::new()));
        let progress = match progress {
            Some(told) if told.is_instance_of::<PyBool>() => match told.is_truthy()? {
                true => Some(told.py().import("tamis.progress")?.call_method0("bar")?),
                false => None,
            },
            told => told,
        };
        let progress = progress.filter(|progress| !progress.is_none());
        Ok(Loading { on_error, progress, positions, taken, refused: Vec::new() })
    }

    /// Records an item that cannot be added. Returns the failure if `on_error` is "raise", or if it
    /// is not about the item.
    fn refuse(&mut self, py: Python<'py>, position: usize, id: Py<PyAny>, failure: PyErr) -> PyResult<()> {
        let class = py.import("tamis.errors")?.getattr("TamisError")?;
        if self.on_error == OnError::Raise || !failure.matches(py, class)? {
            return Err(failure);
        }
        self.refused.push((position, id, failure));
        Ok(())
    }

    fn written(&mut self, position: usize, item: tamis::index::WrittenSubscription) {
        self.positions.push(position);
        match &mut self.taken {
            Taken::Written(written) => written.push(item),
            Taken::Read(_) => {}
        }
    }
}

impl Index {
    /// Adds the items of an iterable; see `Index.add_many`.
    pub(crate) fn load_items<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        mut loading: Loading<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = items.py();
        let items = items::pairs(items, "add_many takes an iterable of (id, expression) pairs")?;
        for item in items::enumerate(items) {
            let (position, item) = item?;
            // As long as all expressions are texts, the engine parses them on all processors.
            let written = match &loading.taken {
                Taken::Written(_) => read_written(self, &item),
                Taken::Read(_) => Ok(None),
            };
            match written {
                Ok(Some(written)) => loading.written(position, written),
                Err(failure) => {
                    let id = read_id(&item);
                    let failure = items::at_id(py, failure, position, id.bind(py));
                    self.refuse(py, &mut loading, position, id, failure)?;
                }
                Ok(None) => match self.read_item(py, position, &item) {
                    Ok(subscription) => {
                        self.read_all(py, &mut loading)?;
                        if let Taken::Read(read) = &mut loading.taken {
                            loading.positions.push(position);
                            read.push(subscription);
                        }
                    }
                    Err(failure) => self.refuse(py, &mut loading, position, read_id(&item), failure)?,
                },
            }
        }
        self.finish(py, loading)
    }

    /// Adds the rows of a table; see `Index.add_table`.
    pub(crate) fn load_table<'py>(
        &self,
        table: &Bound<'py, PyAny>,
        mut loading: Loading<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = table.py();
        if !is_arrow(table) {
            let found = error::type_name(table);
            let message = format!(
                "a table must support the Arrow C interface (Arrow, pandas, Polars, DuckDB), unlike {found}"
            );
            return Err(PyTypeError::new_err(message));
        }
        let mut batches = Batches::open(table)?;
        let mut first = 0;
        while let Some(batch) = batches.next(py)? {
            for start in (0..batch.num_rows()).step_by(STOPPABLE) {
                py.check_signals()?;
                let some = batch.slice(start, STOPPABLE.min(batch.num_rows() - start));
                self.take_rows(py, &some, first + start, &mut loading)?;
            }
            // Check the columns even if there are no rows.
            if batch.num_rows() == 0 {
                self.take_rows(py, &batch, first, &mut loading)?;
            }
            first += batch.num_rows();
        }
        self.finish(py, loading)
    }

    /// Takes the rows of a table; `first` is the position of the first one.
    fn take_rows<'py>(
        &self,
        py: Python<'py>,
        batch: &RecordBatch,
        first: usize,
        loading: &mut Loading<'py>,
    ) -> PyResult<()> {
        let rows = py.detach(|| self.index.read_table(batch));
        for (row, read) in rows.map_err(|cause| error::subscription(py, &cause.to_string()))? {
            let position = first + row;
            match read {
                Ok(written) => loading.written(position, written),
                Err((id, cause)) => {
                    let id = match id {
                        Some(id) => id::write(py, id.as_ref())?,
                        None => py.None().into_bound(py),
                    };
                    let failure = items::at_id(py, error::raise(py, &cause), position, &id);
                    self.refuse(py, loading, position, id.unbind(), failure)?;
                }
            }
        }
        Ok(())
    }

    /// Records an item that cannot be added. With "raise", fails with the first such item.
    fn refuse<'py>(
        &self,
        py: Python<'py>,
        loading: &mut Loading<'py>,
        position: usize,
        id: Py<PyAny>,
        failure: PyErr,
    ) -> PyResult<()> {
        if loading.on_error == OnError::Raise {
            self.read_all(py, loading)?;
        }
        loading.refuse(py, position, id, failure)
    }

    /// Parses the expressions of all texts taken so far.
    fn read_all<'py>(&self, py: Python<'py>, loading: &mut Loading<'py>) -> PyResult<()> {
        let Taken::Written(written) = &mut loading.taken else { return Ok(()) };
        let written = std::mem::take(written);
        let positions = std::mem::take(&mut loading.positions);
        let (mut read, mut kept) = (Vec::with_capacity(written.len()), Vec::with_capacity(written.len()));
        for (position, written) in positions.into_iter().zip(written) {
            match self.read_text(py, position, &written) {
                Ok(subscription) => {
                    kept.push(position);
                    read.push(subscription);
                }
                Err(failure) => {
                    let id = id::write(py, written.id.as_ref())?.unbind();
                    loading.refuse(py, position, id, failure)?;
                }
            }
        }
        (loading.taken, loading.positions) = (Taken::Read(read), kept);
        Ok(())
    }

    fn finish<'py>(&self, py: Python<'py>, mut loading: Loading<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if loading.on_error != OnError::Raise {
            self.leave_out_refused(py, &mut loading)?;
        }
        let Loading { on_error, progress, positions, taken, refused } = loading;
        let total = positions.len();
        let mut last = 0;
        let tick = |work: &Progress| match &progress {
            None => Ok(()),
            Some(progress) => {
                // Some are read twice, so cap the count.
                let done = work.done.load(Ordering::Relaxed).min(total);
                if done <= last {
                    return Ok(());
                }
                last = done;
                progress.call1((done, total)).map(|_| ())
            }
        };
        let add = |work: &Progress| match taken {
            Taken::Written(written) => self.index.add_written_until(written, work),
            Taken::Read(read) => self.index.add_many_until(read, work),
        };
        let added = match total > STOPPABLE || progress.is_some() {
            true => watched(py, add, tick)?,
            false => py.detach(|| add(&Progress::default())),
        };
        added.map_err(|cause| self.at_position(py, &cause, &positions))?;
        if let Some(progress) = &progress {
            progress.call1((total, total))?;
        }
        match on_error {
            OnError::Raise => Ok(None),
            _ => {
                let batches = py.import("tamis.batches")?;
                let class = batches.getattr("Refused")?;
                let (skipped, list) = (refused.len(), PyList::empty(py));
                let mut refused = refused;
                refused.sort_by_key(|(position, ..)| *position);
                for (position, id, failure) in refused.iter().filter(|_| on_error == OnError::Collect) {
                    list.append(class.call1((position, failure.value(py), py.None(), id))?)?;
                }
                batches.getattr("Loaded")?.call1((total, skipped, list)).map(Some)
            }
        }
    }

    /// Removes the items that the engine would refuse.
    fn leave_out_refused<'py>(&self, py: Python<'py>, loading: &mut Loading<'py>) -> PyResult<()> {
        let taken = &loading.taken;
        let find = |work: &Progress| match taken {
            Taken::Written(written) => self.index.refuse_written(written, work),
            Taken::Read(read) => self.index.refuse_many(read, work),
        };
        let found = watched(py, find, |_| Ok(()))?.map_err(|cause| error::raise(py, &cause))?;
        if found.is_empty() {
            return Ok(());
        }
        let mut drop = vec![false; loading.positions.len()];
        for (at, cause) in found {
            drop[at] = true;
            let position = loading.positions[at];
            let id = match &loading.taken {
                Taken::Written(written) => id::write(py, written[at].id.as_ref())?,
                Taken::Read(read) => id::write(py, read[at].id.as_ref())?,
            };
            let cause = match cause {
                tamis::Error::Item { cause, .. } => *cause,
                cause => cause,
            };
            let failure = items::at_id(py, error::raise(py, &cause), position, &id);
            loading.refuse(py, position, id.unbind(), failure)?;
        }
        let mut kept = drop.iter().map(|drop| !drop);
        match &mut loading.taken {
            Taken::Written(written) => written.retain(|_| kept.next().unwrap_or(true)),
            Taken::Read(read) => read.retain(|_| kept.next().unwrap_or(true)),
        }
        let mut kept = drop.iter().map(|drop| !drop);
        loading.positions.retain(|_| kept.next().unwrap_or(true));
        Ok(())
    }

    /// Converts an error of the engine, with its position mapped to that of the input.
    fn at_position(&self, py: Python<'_>, cause: &tamis::Error, positions: &[usize]) -> PyErr {
        match cause {
            tamis::Error::Item { position, name, cause } => {
                let position = positions.get(*position).copied().unwrap_or(*position);
                error::at_item(py, error::raise(py, cause), position, name)
            }
            tamis::Error::Cancelled => PyRuntimeError::new_err("interrupted"),
            cause => error::raise(py, cause),
        }
    }

    /// Removes the subscriptions of these ids; see `Index.remove_many`.
    pub(crate) fn remove_ids(&self, ids: &Bound<'_, PyAny>, strict: bool) -> PyResult<usize> {
        let py = ids.py();
        let (mut known, mut given) = (Vec::new(), Vec::new());
        for item in items::enumerate(items::iterate(ids, "remove_many takes an iterable of ids")?) {
            let (_, item) = item?;
            match id::try_read(&item) {
                Some(id) => {
                    known.push(id);
                    given.push(item);
                }
                // An object that is not an id belongs to no subscription.
                None if strict => return Err(error::unknown_id(py, &item)),
                None => {}
            }
        }
        let removed = py.detach(|| self.index.remove_many(&known, strict));
        match removed.map_err(|cause| error::raise(py, &cause))? {
            (_, Some(position)) if strict => Err(error::unknown_id(py, &given[position])),
            (removed, _) => Ok(removed),
        }
    }
}
