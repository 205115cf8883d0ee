//! Rankings: reading weights, and writing matches with scores.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyMapping, PyString};
use tamis::IdRef;
use tamis::event::Attributes;
use tamis::expression::Weight;
use tamis::rank::EventWeights;
use tamis::value::Value;

use crate::error::{self, shorten, type_name};
use crate::id;
use crate::value::{self, Refusal};

/// Reads the weights of a subscription: attributes with a weight, or with weights of values.
pub fn read_weights(object: &Bound<'_, PyAny>) -> PyResult<Vec<Weight>> {
    let mut weights = Vec::new();
    each(object, |attribute, value, weight| {
        weights.push(Weight { attribute: attribute.into(), value, weight });
        Ok(())
    })?;
    Ok(weights)
}

/// Reads the weights of an event.
pub fn read_event_weights(
    object: Option<&Bound<'_, PyAny>>,
    attributes: &Attributes,
) -> PyResult<EventWeights> {
    let mut weights = EventWeights::default();
    if let Some(object) = object {
        each(object, |attribute, value, weight| {
            let set = weights.set(attributes, attribute, value, weight);
            set.map_err(|error| error::raise(object.py(), &error))
        })?;
    }
    Ok(weights)
}

fn each(
    object: &Bound<'_, PyAny>,
    mut take: impl FnMut(&str, Option<Value>, f64) -> PyResult<()>,
) -> PyResult<()> {
    let py = object.py();
    let wrong = |message: String| error::expression(py, &message);
    let Ok(attributes) = object.cast::<PyMapping>() else {
        let found = type_name(object);
        return Err(wrong(format!("weights must be a mapping of attributes, not {found}")));
    };
    for item in attributes.items()?.iter() {
        let (name, given) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let Ok(name) = name.cast::<PyString>() else {
            let found = type_name(&name);
            return Err(wrong(format!(
                "weights must be a mapping of attributes, whose names are strings, not {found}"
            )));
        };
        let name = name.to_str().map_err(|_| {
            wrong("the name of an attribute contains a lone surrogate, which is not Unicode text".to_owned())
        })?;
        if let Some(weight) = number(&given)? {
            take(name, None, weight)?;
            continue;
        }
        let Ok(values) = given.cast::<PyMapping>() else {
            let found = type_name(&given);
            let name = shorten(name);
            return Err(wrong(format!(
                "the weight of `{name}` must be a number, or a mapping of values, not {found}"
            )));
        };
        for item in values.items()?.iter() {
            let (key, weight) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            let value = value::read(&key).map_err(|refusal| match refusal {
                Refusal::Reason(reason) => wrong(format!("the weights of `{}`: {reason}", shorten(name))),
                Refusal::Python(failure) => failure,
            })?;
            let Some(weight) = number(&weight)? else {
                let found = type_name(&weight);
                let (name, value) = (shorten(name), shorten(&value.to_string()));
                return Err(wrong(format!("the weight of `{name}` = {value} must be a number, not {found}")));
            };
            take(name, Some(value), weight)?;
        }
    }
    Ok(())
}

/// The number in an object, if it is one.
pub fn number(object: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    if object.is_instance_of::<PyBool>() {
        return Ok(None);
    }
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return object.extract::<f64>().map(Some);
    }
    // Numbers of other libraries, such as NumPy.
    let known = object.get_type().hasattr("__float__")? && !object.is_instance_of::<PyString>();
    if known { object.extract::<f64>().map(Some) } else { Ok(None) }
}

/// A list of `tamis.Match`.
pub fn write_ranking<'py>(py: Python<'py>, ranking: &[(IdRef<'_>, f64)]) -> PyResult<Bound<'py, PyList>> {
    static MATCH: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let class =
        MATCH.get_or_try_init(py, || py.import("tamis.ranking")?.getattr("Match").map(Bound::unbind))?;
    let matches = ranking.iter().map(|(id, score)| class.bind(py).call1((id::write(py, *id)?, *score)));
    PyList::new(py, matches.collect::<PyResult<Vec<_>>>()?)
}
