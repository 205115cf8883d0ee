//! `tamis.Subscription`, and reading the arguments that make one.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use crate::error;
use crate::expression::{self, Expression};
use crate::id;
use crate::index::Index;
use crate::items;
use crate::manners;
use crate::rank;
use crate::value;

impl Index {
    pub(crate) fn find(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<tamis::index::Subscription> {
        let found = id::try_read(id).map_or(Ok(None), |id| self.index.snapshot().get(&id));
        found.map_err(|error| error::raise(py, &error))?.ok_or_else(|| error::unknown_id(py, id))
    }

    pub(crate) fn read_item(
        &self,
        py: Python<'_>,
        position: usize,
        item: &Bound<'_, PyAny>,
    ) -> PyResult<tamis::index::Subscription> {
        if let Ok(arguments) = item.cast::<PyDict>() {
            return self.read_arguments(py, position, arguments);
        }
        if let Some(failure) = error::as_failure(item) {
            return Err(error::at_item(py, failure, position, "item"));
        }
        let parts = items::parts(item);
        let (id, expression, metadata) = match parts.as_deref() {
            Some([id, expression]) => (id, expression, None),
            Some([id, expression, metadata]) => (id, expression, Some(metadata)),
            _ => {
                let message = "an item must be (id, expression), (id, expression, metadata), or a dict of arguments of add";
                return Err(error::at_item(py, error::subscription(py, message), position, "item"));
            }
        };
        let read = || {
            let expression = expression::read(py, expression, self.index.limits())?;
            let metadata = metadata.filter(|metadata| !metadata.is_none());
            let metadata = metadata.map(write_metadata).transpose()?;
            Ok(tamis::index::Subscription {
                metadata,
                ..tamis::index::Subscription::new(id::read(id)?, expression)
            })
        };
        read().map_err(|failure: PyErr| items::at_id(py, failure, position, id))
    }

    /// Completes the subscription whose text [`read_written`] set aside.
    pub(crate) fn read_text(
        &self,
        py: Python<'_>,
        position: usize,
        written: &tamis::index::WrittenSubscription,
    ) -> PyResult<tamis::index::Subscription> {
        match tamis::parse(&written.text, self.index.limits()) {
            Ok(expression) => Ok(written.with(expression)),
            Err(error) => {
                let id = id::write(py, written.id.as_ref())?;
                Err(items::at_id(py, error::raise(py, &error), position, &id))
            }
        }
    }

    /// Reads an item that is a dict of the arguments of `add`.
    pub(crate) fn read_arguments(
        &self,
        py: Python<'_>,
        position: usize,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<tamis::index::Subscription> {
        let wrong = |message: &str| error::at_item(py, error::subscription(py, message), position, "item");
        for name in arguments.keys() {
            if !ARGUMENTS.iter().any(|known| name.eq(known).unwrap_or(false)) {
                let name = error::shorten(&name.str()?.to_string_lossy());
                let message =
                    "an item must be (id, expression) or a dict of arguments of add, and add has no argument";
                return Err(wrong(&format!("{message} `{name}`; it has {}", ARGUMENTS.join(", "))));
            }
        }
        let given = |name: &str| given(arguments, name);
        let (Some(id), Some(expression)) = (arguments.get_item("id")?, arguments.get_item("expression")?)
        else {
            return Err(wrong("an item that is a dict needs an `id` and an `expression`"));
        };
        let read = || {
            let weights = given("weights")?;
            let written = self.read_beside(id::read(&id)?, String::new(), arguments)?;
            Ok(written.with(self.read_expression(py, &expression, weights.as_ref())?))
        };
        read().map_err(|failure: PyErr| items::at_id(py, failure, position, &id))
    }

    /// Reads everything except the expression from a dict of the arguments of `add`.
    fn read_beside(
        &self,
        id: tamis::Id,
        text: String,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<tamis::index::WrittenSubscription> {
        let moment = |name: &'static str| match given(arguments, name)? {
            Some(time) => self.read_moment(name, &time).map(Some),
            None => Ok(None),
        };
        let validity =
            tamis::index::Validity { from: moment("active_from")?, until: moment("active_until")? };
        Ok(tamis::index::WrittenSubscription {
            metadata: given(arguments, "metadata")?.as_ref().map(write_metadata).transpose()?,
            boost: given(arguments, "boost")?.map_or(Ok(1.0), |boost| read_boost(&boost))?,
            priority: given(arguments, "priority")?.map_or(Ok(0), |priority| read_priority(&priority))?,
            validity,
            ..tamis::index::WrittenSubscription::new(id, text)
        })
    }

    /// Reads the time in an argument.
    pub(crate) fn read_moment(
        &self,
        name: &str,
        time: &Bound<'_, PyAny>,
    ) -> PyResult<tamis::value::Timestamp> {
        let zone = self.index.time_zone();
        let moment = value::read(time).ok().and_then(|value| zone.moment_of(value.as_ref()));
        moment.ok_or_else(|| {
            error::subscription(
                time.py(),
                &format!("`{name}` must be a time, not {}; {}", error::shown(time), tamis::value::TIME_FORM),
            )
        })
    }

    pub(crate) fn read_expression(
        &self,
        py: Python<'_>,
        expression: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<tamis::Expression> {
        let expression = expression::read(py, expression, self.index.limits())?;
        let Some(weights) = weights else { return Ok(expression) };
        expression.weighted(&rank::read_weights(weights)?).map_err(|error| error::raise(py, &error))
    }
}

/// The arguments of `add`.
const ARGUMENTS: [&str; 8] =
    ["id", "expression", "metadata", "weights", "boost", "priority", "active_from", "active_until"];

/// An argument that is present and not None.
fn given<'py>(arguments: &Bound<'py, PyDict>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    Ok(arguments.get_item(name)?.filter(|value| !value.is_none()))
}

/// Reads an item whose expression is text, which the engine can parse; `None` for other items.
pub fn read_written(
    index: &Index,
    item: &Bound<'_, PyAny>,
) -> PyResult<Option<tamis::index::WrittenSubscription>> {
    let text = |text: &Bound<'_, PyAny>| {
        let text = text.cast::<PyString>().ok()?;
        text.to_str().ok().map(str::to_owned)
    };
    if let Ok(arguments) = item.cast::<PyDict>() {
        let known = |name: Bound<'_, PyAny>| ARGUMENTS.iter().any(|known| name.eq(known).unwrap_or(false));
        if given(arguments, "weights")?.is_some() || !arguments.keys().iter().all(known) {
            return Ok(None);
        }
        let (id, expression) = (arguments.get_item("id")?, arguments.get_item("expression")?);
        let (Some(id), Some(text)) =
            (id.and_then(|id| id::try_read(&id)), expression.as_ref().and_then(text))
        else {
            return Ok(None);
        };
        return index.read_beside(id, text, arguments).map(Some);
    }
    let Some(parts) = item.cast::<PyTuple>().ok().filter(|item| (2..=3).contains(&item.len())) else {
        return Ok(None);
    };
    let (Some(id), Some(text)) = (id::try_read(&parts.get_item(0)?), text(&parts.get_item(1)?)) else {
        return Ok(None);
    };
    let metadata = if parts.len() == 3 { Some(parts.get_item(2)?) } else { None };
    let metadata =
        metadata.filter(|metadata| !metadata.is_none()).as_ref().map(write_metadata).transpose()?;
    Ok(Some(tamis::index::WrittenSubscription {
        metadata,
        ..tamis::index::WrittenSubscription::new(id, text)
    }))
}

/// The object in the position of an item's id, even if it is not a valid id; None if there is none.
pub fn read_id(item: &Bound<'_, PyAny>) -> Py<PyAny> {
    let py = item.py();
    let id = match item.cast::<PyDict>() {
        Ok(arguments) => arguments.get_item("id").ok().flatten(),
        Err(_) => items::parts(item).and_then(|parts| parts.into_iter().next()),
    };
    id.map_or_else(|| py.None(), Bound::unbind)
}

pub fn read_priority(priority: &Bound<'_, PyAny>) -> PyResult<i64> {
    let py = priority.py();
    let known = !priority.is_instance_of::<PyBool>() && priority.get_type().hasattr("__index__")?;
    if !known {
        let found = error::type_name(priority);
        return Err(error::subscription(py, &format!("a priority must be an integer, not {found}")));
    }
    priority
        .extract::<i64>()
        .map_err(|_| error::subscription(py, "a priority must fit into 64 bits, and this one does not"))
}

pub fn read_boost(boost: &Bound<'_, PyAny>) -> PyResult<f64> {
    rank::number(boost)?.ok_or_else(|| {
        error::subscription(boost.py(), &format!("a boost must be a number, not {}", error::type_name(boost)))
    })
}

/// Metadata as the JSON that the index stores.
pub fn write_metadata(metadata: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    let py = metadata.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.getattr("dumps")?.call((metadata,), Some(&options));
    let text = text.map_err(|failure| {
        error::subscription(py, &format!("metadata must be a JSON value: {}", failure.value(py)))
    })?;
    Ok(text.cast::<PyString>().map_err(PyErr::from)?.to_str()?.into())
}

/// A time as a `datetime` in UTC.
pub fn write_moment(
    py: Python<'_>,
    moment: Option<tamis::value::Timestamp>,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    moment.map(|moment| value::write(py, &tamis::value::Value::Timestamp(moment))).transpose()
}

/// An id with an expression, metadata, boost, priority and validity.
#[pyclass(module = "tamis", frozen)]
pub struct Subscription(pub tamis::index::Subscription);

#[pymethods]
impl Subscription {
    /// The id.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id.as_ref())
    }

    /// The expression.
    #[getter]
    fn expression(&self) -> Expression {
        Expression(self.0.expression.clone())
    }

    /// The metadata passed to `add`.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0.metadata {
            None => Ok(py.None().into_bound(py)),
            Some(text) => py.import("json")?.call_method1("loads", (&**text,)),
        }
    }

    /// The factor applied to its score.
    #[getter]
    fn boost(&self) -> f64 {
        self.0.boost
    }

    /// The priority; higher ones come first in `Index.first`.
    #[getter]
    fn priority(&self) -> i64 {
        self.0.priority
    }

    /// The first moment at which it can match, in UTC; None if there is no bound.
    #[getter]
    fn active_from<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        write_moment(py, self.0.validity.from)
    }

    /// The first moment at which it can no longer match, in UTC; None if there is no bound.
    #[getter]
    fn active_until<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        write_moment(py, self.0.validity.until)
    }

    fn __repr__(&self) -> String {
        format!("<Subscription {}: {}>", self.0.id, self.0.expression)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::reduce(slf, "reduce_subscription")
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        manners::show(slf, "show_subscription")
    }
}
