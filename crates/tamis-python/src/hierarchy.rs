//! Reading hierarchies: a tree of values, or the name of a built-in one.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMapping, PyString};
use tamis::event::Hierarchy;
use tamis::value::Value;

use crate::error::{self, type_name};
use crate::value::{self, Refusal};

/// The maximum nesting of mappings.
const MOST_DEPTH: usize = 300;

/// Reads `"dates"`, or a mapping of values to the values below them: a mapping, or an iterable of
/// values.
pub fn read(object: &Bound<'_, PyAny>) -> PyResult<Hierarchy> {
    let py = object.py();
    if let Ok(name) = object.cast::<PyString>() {
        return match name.to_string_lossy().as_ref() {
            "dates" => Ok(Hierarchy::Dates),
            other => Err(error::expression(
                py,
                &format!("a hierarchy must be a mapping or \"dates\", not {other:?}"),
            )),
        };
    }
    if object.cast::<PyMapping>().is_err() {
        let found = type_name(object);
        return Err(error::expression(
            py,
            &format!("a hierarchy must be a mapping or \"dates\", not {found}"),
        ));
    }
    let mut pairs: Vec<(Value, Value)> = Vec::new();
    let mut waiting: Vec<(Option<Value>, Bound<'_, PyAny>, usize)> = vec![(None, object.clone(), 0)];
    while let Some((above, below, depth)) = waiting.pop() {
        if depth > MOST_DEPTH {
            return Err(error::expression(py, &format!("a hierarchy has at most {MOST_DEPTH} levels")));
        }
        let add = |object: &Bound<'_, PyAny>, pairs: &mut Vec<(Value, Value)>| {
            let value = value::read(object).map_err(|refusal| match refusal {
                Refusal::Reason(reason) => error::expression(py, &format!("the hierarchy: {reason}")),
                Refusal::Python(failure) => failure,
            })?;
            if let Some(above) = &above {
                pairs.push((value.clone(), above.clone()));
            }
            Ok::<Value, PyErr>(value)
        };
        if let Ok(mapping) = below.cast::<PyMapping>() {
            for item in mapping.items()?.iter() {
                let (key, parts) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                let value = add(&key, &mut pairs)?;
                waiting.push((Some(value), parts, depth + 1));
            }
        } else if below.is_instance_of::<PyString>() || below.is_instance_of::<PyBytes>() {
            return Err(error::expression(
                py,
                "the values below a value must be a mapping or a list, not text",
            ));
        } else {
            let items = below.try_iter().map_err(|_| {
                let found = type_name(&below);
                error::expression(
                    py,
                    &format!("the values below a value must be a mapping or a list, not {found}"),
                )
            })?;
            for item in items {
                add(&item?, &mut pairs)?;
            }
        }
    }
    Hierarchy::tree(pairs).map_err(|error| error::raise(py, &error))
}
