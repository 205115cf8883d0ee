//! `tamis.Subscription`, and what Python gives to make one.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::error;
use crate::expression::{self, Expression};
use crate::id;
use crate::index::Index;
use crate::items;
use crate::rank;

impl Index {
    pub(crate) fn find(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<tamis::Subscription> {
        let found = id::try_read(id).map_or(Ok(None), |id| self.index.snapshot().get(&id));
        found.map_err(|error| error::raise(py, &error))?.ok_or_else(|| error::unknown_id(py, id))
    }

    pub(crate) fn read_item(
        &self,
        py: Python<'_>,
        position: usize,
        item: &Bound<'_, PyAny>,
    ) -> PyResult<tamis::Subscription> {
        if let Ok(arguments) = item.cast::<PyDict>() {
            return self.read_arguments(py, position, arguments);
        }
        let parts = items::parts(item);
        let (id, expression, metadata) = match parts.as_deref() {
            Some([id, expression]) => (id, expression, None),
            Some([id, expression, metadata]) => (id, expression, Some(metadata)),
            _ => {
                let message =
                    "an item is (id, expression), (id, expression, metadata), or a dict of arguments of add";
                return Err(error::at_item(py, error::subscription(py, message), position, "item"));
            }
        };
        let read = || {
            let expression = expression::read(py, expression, self.index.limits())?;
            let metadata = metadata.filter(|metadata| !metadata.is_none());
            let metadata = metadata.map(write_metadata).transpose()?;
            Ok(tamis::Subscription { id: id::read(id)?, expression, metadata, boost: 1.0 })
        };
        read().map_err(|failure: PyErr| items::at_id(py, failure, position, id))
    }

    /// The subscription whose text was put aside by [`read_written`].
    pub(crate) fn read_text(
        &self,
        py: Python<'_>,
        position: usize,
        written: tamis::WrittenSubscription,
    ) -> PyResult<tamis::Subscription> {
        let tamis::WrittenSubscription { id, text, metadata, boost } = written;
        match tamis::parse(&text, self.index.limits()) {
            Ok(expression) => Ok(tamis::Subscription { id, expression, metadata, boost }),
            Err(error) => {
                let id = id::write(py, id.as_ref())?;
                Err(items::at_id(py, error::raise(py, &error), position, &id))
            }
        }
    }

    /// An item that is a dict of the arguments of `add`.
    pub(crate) fn read_arguments(
        &self,
        py: Python<'_>,
        position: usize,
        arguments: &Bound<'_, PyDict>,
    ) -> PyResult<tamis::Subscription> {
        const NAMES: [&str; 5] = ["id", "expression", "metadata", "weights", "boost"];
        let wrong = |message: &str| error::at_item(py, error::subscription(py, message), position, "item");
        for name in arguments.keys() {
            if !NAMES.iter().any(|known| name.eq(known).unwrap_or(false)) {
                let name = error::shorten(&name.str()?.to_string_lossy());
                let message =
                    "an item is (id, expression) or a dict of arguments of add, and add has no argument";
                return Err(wrong(&format!("{message} `{name}`; it has {}", NAMES.join(", "))));
            }
        }
        let given = |name: &str| Ok::<_, PyErr>(arguments.get_item(name)?.filter(|value| !value.is_none()));
        let (Some(id), Some(expression)) = (arguments.get_item("id")?, arguments.get_item("expression")?)
        else {
            return Err(wrong("an item that is a dict needs an `id` and an `expression`"));
        };
        let read = || {
            let weights = given("weights")?;
            Ok(tamis::Subscription {
                id: id::read(&id)?,
                expression: self.read_expression(py, &expression, weights.as_ref())?,
                metadata: given("metadata")?.as_ref().map(write_metadata).transpose()?,
                boost: given("boost")?.map_or(Ok(1.0), |boost| read_boost(&boost))?,
            })
        };
        read().map_err(|failure: PyErr| items::at_id(py, failure, position, &id))
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

/// An item that is nothing but an id and a text.
pub fn read_written(item: &Bound<'_, PyAny>) -> Option<tamis::WrittenSubscription> {
    let (id, text) = match item.cast::<PyTuple>() {
        Ok(pair) if pair.len() == 2 => (pair.get_item(0).ok()?, pair.get_item(1).ok()?),
        _ => return None,
    };
    let text = text.cast::<PyString>().ok()?.to_str().ok()?.to_owned();
    Some(tamis::WrittenSubscription::new(id::try_read(&id)?, text))
}

pub fn read_boost(boost: &Bound<'_, PyAny>) -> PyResult<f64> {
    rank::number(boost)?.ok_or_else(|| {
        error::subscription(boost.py(), &format!("a boost is a number, not {}", error::type_name(boost)))
    })
}

/// Metadata as the JSON that the index keeps.
pub fn write_metadata(metadata: &Bound<'_, PyAny>) -> PyResult<Arc<str>> {
    let py = metadata.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.getattr("dumps")?.call((metadata,), Some(&options));
    let text = text.map_err(|failure| {
        error::subscription(py, &format!("metadata is what JSON can hold: {}", failure.value(py)))
    })?;
    Ok(text.cast::<PyString>().map_err(PyErr::from)?.to_str()?.into())
}

/// An id with an expression and, optionally, metadata.
#[pyclass(module = "tamis", frozen)]
pub struct Subscription(pub tamis::Subscription);

#[pymethods]
impl Subscription {
    /// What it is called: a string or an integer.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        id::write(py, self.0.id.as_ref())
    }

    /// What it asks.
    #[getter]
    fn expression(&self) -> Expression {
        Expression(self.0.expression.clone())
    }

    /// What was given as its metadata.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.0.metadata {
            None => Ok(py.None().into_bound(py)),
            Some(text) => py.import("json")?.call_method1("loads", (&**text,)),
        }
    }

    /// What its score is multiplied by.
    #[getter]
    fn boost(&self) -> f64 {
        self.0.boost
    }

    fn __repr__(&self) -> String {
        format!("<Subscription {}: {}>", self.0.id, self.0.expression)
    }
}
