//! The methods of `Index` that add, change and remove subscriptions.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tamis::index::Validity;

use super::Index;
use crate::interrupt::PATIENCE;
use crate::loading::Loading;
use crate::refused::read_on_error;
use crate::subscription::{read_boost, read_priority, write_metadata};
use crate::{error, hierarchy, id};

#[pymethods]
impl Index {
    /// Add a subscription, or replace the one with the same id.
    ///
    /// Args:
    ///     id: A string or a 64-bit integer.
    ///     expression: Text, or an `Expression`.
    ///     metadata: Any JSON value; `index[id].metadata` returns it.
    ///     weights: Weights of attributes, or of their values, for ranking:
    ///         `{"age": 2.0, "tags": {"new": 2.5}}`. They become part of the expression and
    ///         replace those in its text (`tags = 'new'^2.5`).
    ///     boost: The factor applied to its score in a ranking, such as a bid; 1 by default.
    ///     priority: Higher ones come first in `first`; 0 by default.
    ///     active_from: The first moment at which it can match: a `datetime`, or text such as
    ///         `2026-01-02T05:00Z`. It is compared with `now()`.
    ///     active_until: The first moment at which it can no longer match.
    #[pyo3(signature = (
        id,
        expression,
        *,
        metadata=None,
        weights=None,
        boost=None,
        priority=None,
        active_from=None,
        active_until=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn add(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        expression: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
        weights: Option<&Bound<'_, PyAny>>,
        boost: Option<&Bound<'_, PyAny>>,
        priority: Option<&Bound<'_, PyAny>>,
        active_from: Option<&Bound<'_, PyAny>>,
        active_until: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let id = id::read(id)?;
        let boost = boost.map_or(Ok(1.0), read_boost)?;
        let priority = priority.map_or(Ok(0), read_priority)?;
        let from = active_from.map(|time| self.read_moment("active_from", time)).transpose()?;
        let until = active_until.map(|time| self.read_moment("active_until", time)).transpose()?;
        let validity = Validity { from, until };
        let expression = self.read_expression(py, expression, weights)?;
        let metadata = metadata.map(write_metadata).transpose()?;
        let subscription = tamis::index::Subscription { id, expression, metadata, boost, priority, validity };
        py.detach(|| self.index.add_subscription(subscription)).map_err(|error| error::raise(py, &error))
    }

    /// Add all subscriptions, or none.
    ///
    /// Ctrl-C stops the call, and so does an exception in `progress`; nothing is added then.
    ///
    /// Args:
    ///     items: Tuples (id, expression) or (id, expression, metadata), or dicts of the arguments
    ///         of `add`; or one mapping of ids to expressions. If an id is repeated, the last
    ///         counts.
    ///     on_error: What to do with items that cannot be added. `"raise"`: nothing is added.
    ///         `"skip"`: they are skipped and counted. `"collect"`: they are skipped and returned
    ///         in `Loaded.refused`.
    ///     progress: True draws a bar on a terminal or in a notebook, and nothing in a script. A
    ///         function is called from time to time with the number of compiled subscriptions and
    ///         the total.
    ///
    /// Raises:
    ///     TamisError: An item is invalid. `item` is its position; nothing is added.
    #[pyo3(signature = (items, *, on_error="raise", progress=None))]
    fn add_many<'py>(
        &self,
        items: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.load_items(items, Loading::new(read_on_error(on_error)?, progress)?)
    }

    /// Add the subscriptions in the rows of a table, in order.
    ///
    /// Args:
    ///     table: Anything with the Arrow C interface: Arrow, pandas, Polars, DuckDB. Its columns
    ///         are `id` (strings or integers), `expression` (text, or the JSON form) and,
    ///         optionally, `metadata` and `weights` (JSON, or a struct or map), `boost`,
    ///         `priority`, `active_from` and `active_until` (times, or their texts). Other
    ///         columns are ignored.
    ///     on_error: As in `add_many`.
    ///     progress: As in `add_many`.
    ///
    /// Raises:
    ///     SubscriptionError: A column is missing or has the wrong type.
    ///     TamisError: A row cannot be added.
    #[pyo3(signature = (table, *, on_error="raise", progress=None))]
    fn add_table<'py>(
        &self,
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let table = py.import("tamis.loading")?.call_method1("as_table", (table,))?;
        self.load_table(&table, Loading::new(read_on_error(on_error)?, progress)?)
    }

    /// Create an index from the subscriptions in the rows of a table.
    ///
    /// Args:
    ///     table: As in `add_table`.
    ///     on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
    ///     progress: As in `add_many`.
    ///     options: The arguments of `Index`.
    #[staticmethod]
    #[pyo3(signature = (table, *, on_error="raise", progress=None, **options))]
    fn from_table<'py>(
        py: Python<'py>,
        table: &Bound<'py, PyAny>,
        on_error: &str,
        progress: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (table, on_error, progress, options);
        py.import("tamis.loading")?.call_method1("from_table", arguments)
    }

    /// Create an index from the subscriptions in a CSV file.
    ///
    /// Args:
    ///     path: The path of a file, or an open file. Its first line names the columns: those of
    ///         `add_table`, and no others. `metadata` and `weights` are JSON; an empty cell means
    ///         no value.
    ///     ids: Whether ids are strings or integers.
    ///     delimiter: The separator between cells.
    ///     encoding: The encoding of the file.
    ///     on_error: As in `add_many`; `"skip"` and `"collect"` also return a `Loaded`.
    ///     progress: As in `add_many`.
    ///     options: The arguments of `Index`.
    #[staticmethod]
    #[pyo3(signature = (
        path,
        *,
        ids="string",
        delimiter=",",
        encoding="utf-8",
        on_error="raise",
        progress=None,
        **options
    ))]
    #[expect(clippy::too_many_arguments, reason = "one keyword per argument")]
    fn from_csv<'py>(
        py: Python<'py>,
        path: &Bound<'py, PyAny>,
        ids: &str,
        delimiter: &str,
        encoding: &str,
        on_error: &str,
        progress: Option<&Bound<'py, PyAny>>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = (path, ids, delimiter, encoding, on_error, progress, options);
        py.import("tamis.loading")?.call_method1("from_csv", arguments)
    }

    /// Remove the subscriptions with these ids, all at once.
    ///
    /// Args:
    ///     ids: Their ids.
    ///     on_error: What to do with an unknown id. `"raise"`: raise an error and remove nothing.
    ///         `"skip"`: ignore it.
    ///
    /// Returns:
    ///     The number of removed subscriptions.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has one of the ids.
    #[pyo3(signature = (ids, *, on_error="raise"))]
    fn remove_many(&self, ids: &Bound<'_, PyAny>, on_error: &str) -> PyResult<usize> {
        match on_error {
            "raise" => self.remove_ids(ids, true),
            "skip" => self.remove_ids(ids, false),
            other => {
                let message = format!("on_error must be \"raise\" or \"skip\" here, not {other:?}");
                Err(PyValueError::new_err(message))
            }
        }
    }

    /// Change when a subscription can match.
    ///
    /// As when it is replaced, the subscription moves to the end of the order.
    ///
    /// Args:
    ///     id: Its id.
    ///     bounds: `active_from` and `active_until`, as in `add`. A bound that is not given stays
    ///         as it is; None removes it.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    ///     ExpressionError: It would end before it begins.
    #[pyo3(signature = (id, **bounds))]
    fn set_validity(
        &self,
        py: Python<'_>,
        id: &Bound<'_, PyAny>,
        bounds: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let (mut from, mut until) = (None, None);
        for (name, time) in bounds.iter().flat_map(|bounds| bounds.iter()) {
            let bound = match &*name.extract::<String>()? {
                "active_from" => &mut from,
                "active_until" => &mut until,
                other => {
                    let message =
                        format!("set_validity takes `active_from` and `active_until`, not `{other}`");
                    return Err(PyTypeError::new_err(message));
                }
            };
            let name = name.extract::<String>()?;
            *bound = Some(match time.is_none() {
                true => None,
                false => Some(self.read_moment(&name, &time)?),
            });
        }
        let change = |before: Validity| Validity {
            from: from.unwrap_or(before.from),
            until: until.unwrap_or(before.until),
        };
        let changed = id::try_read(id).map(|id| py.detach(|| self.index.set_validity(&id, change)));
        match changed.transpose().map_err(|error| error::raise(py, &error))? {
            Some(true) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// Remove a subscription.
    ///
    /// Raises:
    ///     UnknownIdError: No subscription has this id.
    fn remove(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<()> {
        let removed = id::try_read(id).map(|id| py.detach(|| self.index.try_remove(&id)));
        match removed.transpose().map_err(|error| error::raise(py, &error))? {
            Some(true) => Ok(()),
            _ => Err(error::unknown_id(py, id)),
        }
    }

    /// Declare which values of an attribute contain others.
    ///
    /// An event that has a value also has the values above it: after `index.hierarchy("geo",
    /// {"US": ["California", "Oregon"]})`, `geo = 'US'` is true in California. The hierarchy
    /// applies to all later events and is saved with the index.
    ///
    /// Args:
    ///     attribute: The name of the attribute.
    ///     values: A mapping of values to the values below them, as another mapping or a list; or
    ///         `"dates"`, which puts dates such as `2008-02-14` below their month `2008-02` and
    ///         year `2008`; or None to remove the hierarchy.
    ///
    /// Raises:
    ///     ExpressionError: A value is above itself, or is not a valid value.
    fn hierarchy(&self, py: Python<'_>, attribute: &str, values: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let hierarchy = values.map(hierarchy::read).transpose()?;
        self.index.set_hierarchy(attribute, hierarchy).map_err(|error| error::raise(py, &error))
    }

    /// Wait until the background thread has merged all segments that are due.
    fn settle(&self, py: Python<'_>) -> PyResult<()> {
        while !py.detach(|| self.index.settle_within(PATIENCE)) {
            py.check_signals()?;
        }
        Ok(())
    }
}
