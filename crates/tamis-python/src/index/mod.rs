//! `tamis.Index`.

mod changes;
mod inspection;
mod matching;
mod ranking;

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyType;
use tamis::index::Snapshot;
use tamis::storage::OpenOptions;

use crate::ids::Ids;
use crate::limits::{Limits, or_default};
use crate::options::{read_algorithm, read_columns, read_missing, read_zone, write_missing};
use crate::subscription::Subscription;
use crate::{error, event, id, manners};

/// A set of subscriptions that you can match while it changes.
///
/// Any number of threads may match while others add and remove. A match sees all of a change or
/// none of it, and never waits.
///
/// Annotate an index as `Index[str]` if all ids are strings, so that type checkers know what
/// `match` returns.
///
/// Args:
///     matcher: The algorithm. `"auto"` chooses; `"compiled"` is a compiled A-Tree; `"atree"` is
///         the A-Tree of the paper; `"kindex"` and `"cnf"` intersect posting lists of disjunctive
///         and conjunctive normal forms; `"dewey"` and `"interval"` evaluate labels of true
///         conjunctions; `"scan"` evaluates every expression.
///     missing: The truth of a predicate on an attribute without a value. With `"unknown"`, its
///         negation is unknown, too; with `"false"`, its negation is true.
///     time_zone: The zone of times without an offset, in expressions and in events: a name such as
///         `"Europe/Paris"`, or an offset such as `"+02:00"`.
///     metadata_columns: The members of metadata to index, which makes `where` fast: names such as
///         `"tenant"`, or `"owner.team"` in a nested object.
///     limits: Limits on expressions and events.
#[pyclass(module = "tamis", frozen)]
pub struct Index {
    pub(crate) index: tamis::Index,
}
#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (
        *,
        matcher="auto",
        missing="unknown",
        time_zone="UTC",
        metadata_columns=None,
        limits=None
    ))]
    fn new(
        py: Python<'_>,
        matcher: &str,
        missing: &str,
        time_zone: &str,
        metadata_columns: Option<&Bound<'_, PyAny>>,
        limits: Option<&Bound<'_, Limits>>,
    ) -> PyResult<Self> {
        let (algorithm, missing, limits) =
            (read_algorithm(matcher)?, read_missing(missing)?, or_default(limits));
        let (zone, columns) = (read_zone(time_zone)?, read_columns(metadata_columns)?);
        let index = tamis::Index::with_metadata_columns(missing, limits, algorithm, zone, &columns);
        Ok(Index { index: index.map_err(|error| error::raise(py, &error))? })
    }

    /// Save the index to a folder, which is created if it does not exist.
    ///
    /// Files that the folder already has are not written again. Whoever opens the folder sees the
    /// index either before or after this save, never a mixture.
    ///
    /// Raises:
    ///     StorageError: The folder cannot be written.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.index.save(&path)).map_err(|error| error::raise(py, &error))
    }

    /// Open a saved index. Its files are mapped, and shared by all processes that map them.
    ///
    /// Segments are not merged until the index changes.
    ///
    /// Args:
    ///     path: The folder, or a manifest in it. If the folder has versions, the latest is opened.
    ///     shard: The shard to open; all shards by default.
    ///     matcher: The algorithm for subscriptions added from now on.
    ///     limits: Limits on expressions and events.
    ///     verify: Whether to read all files and check their checksums first. Without verification,
    ///         opening takes almost no time, and damage is an error when it is read.
    ///     copy: Whether to copy the files into memory instead of mapping them. A mapped file that
    ///         somebody truncates or overwrites in place kills the process with SIGBUS; a copy
    ///         cannot change.
    ///
    /// Raises:
    ///     StorageError: There is no index, or a file is missing, damaged or of another format.
    #[staticmethod]
    #[pyo3(signature = (path, *, shard=None, matcher="auto", limits=None, verify=true, copy=false))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        shard: Option<u32>,
        matcher: &str,
        limits: Option<&Bound<'_, Limits>>,
        verify: bool,
        copy: bool,
    ) -> PyResult<Self> {
        let options = OpenOptions::default().verify(verify).copy(copy);
        let (algorithm, limits) = (read_algorithm(matcher)?, or_default(limits));
        let index = py.detach(|| match shard {
            None => tamis::Index::open(&path, limits, algorithm, options),
            Some(shard) => tamis::Index::open_shard(&path, shard, limits, algorithm, options),
        });
        Ok(Index { index: index.map_err(|error| error::raise(py, &error))? })
    }

    /// The names of the attributes that subscriptions mention.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        event::attribute_names(self.index.snapshot().attributes())
    }

    /// Whether an expression uses `values()`, so events are decoded completely.
    #[getter]
    fn asks_values(&self) -> bool {
        self.index.snapshot().attributes().asks_values().is_some()
    }

    /// Whether matches may depend on `now()`, also by validity periods.
    ///
    /// Conditions on the elements of lists are assumed to use it.
    #[getter]
    fn asks_now(&self) -> bool {
        self.index.snapshot().asks_now()
    }

    /// The indexed members of metadata.
    #[getter]
    fn metadata_columns(&self) -> Vec<String> {
        self.index.metadata_columns().iter().map(|name| name.to_string()).collect()
    }

    /// The algorithm passed to the constructor.
    #[getter]
    fn matcher(&self) -> &'static str {
        let algorithm = self.index.algorithm();
        algorithm.name()
    }

    /// The truth of a predicate on an attribute without a value.
    #[getter]
    fn missing(&self) -> &'static str {
        write_missing(self.index.missing())
    }

    /// The zone of times without an offset, in expressions and in events.
    #[getter]
    fn time_zone(&self) -> String {
        self.index.time_zone().name().to_owned()
    }

    /// The limits on expressions and events.
    #[getter]
    fn limits(&self) -> Limits {
        Limits(self.index.limits().clone())
    }

    fn __len__(&self) -> usize {
        self.index.snapshot().len()
    }

    fn __contains__(&self, id: &Bound<'_, PyAny>) -> bool {
        id::try_read(id).is_some_and(|id| self.index.snapshot().contains(&id))
    }

    fn __getitem__(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<Subscription> {
        self.find(py, id).map(Subscription)
    }

    /// The ids, in insertion order, as they are now.
    fn __iter__(&self) -> Ids {
        Ids::new(self.index.snapshot())
    }

    fn __repr__(&self) -> String {
        format!("<Index of {} subscriptions>", self.index.snapshot().len())
    }

    /// `Index[str]`, for annotations.
    #[classmethod]
    fn __class_getitem__<'py>(
        class: &Bound<'py, PyType>,
        ids: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class.py().import("types")?.call_method1("GenericAlias", (class, ids))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_index")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_index")
    }
}

impl From<tamis::Index> for Index {
    fn from(index: tamis::Index) -> Self {
        Index { index }
    }
}

impl Index {
    /// The index at this moment.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.index.snapshot()
    }
}
