//! Reading all values of an event that is a mapping, for the term `values()`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyMapping, PyString};
use tamis::event::AttributeId;
use tamis::value::ValueRef;
use tamis::{Error, Event, Limits};

use crate::error;
use crate::event::{is_list, is_scalar};
use crate::value::{Refusal, with_value};

/// A mapping or list whose values are being read.
struct OpenContainer<'py> {
    items: Bound<'py, PyIterator>,
    list: bool,
    depth: usize,
}

/// Adds all values in an object to `event`, as texts. Nulls and objects that are not values are
/// left out.
pub fn decode(
    object: &Bound<'_, PyAny>,
    attribute: AttributeId,
    event: &mut Event,
    limits: &Limits,
) -> PyResult<()> {
    event.begin_whole(attribute);
    let py = object.py();
    let raise = |error: Error| error::raise(py, &error);
    let (mut open, mut seen) = (Vec::new(), 0);
    open.extend(visit(object, false, 0, event, limits)?);
    while let Some(OpenContainer { items, list, depth }) = open.last_mut() {
        let Some(item) = items.next() else {
            open.pop();
            continue;
        };
        // Count at least one byte per object, so that objects that contain themselves reach the
        // limit.
        seen += 1;
        if seen > limits.event {
            let (what, name) = ("bytes of an event", "event");
            return Err(raise(Error::Limit { what, name, found: seen, allowed: limits.event }));
        }
        let (list, depth) = (*list, *depth);
        open.extend(visit(&item?, list, depth, event, limits)?);
    }
    event.end_whole();
    Ok(())
}

/// Reads a value, or opens a container. Iterates over a copy, or over an iterator that tolerates
/// changes.
fn visit<'py>(
    object: &Bound<'py, PyAny>,
    in_list: bool,
    depth: usize,
    event: &mut Event,
    limits: &Limits,
) -> PyResult<Option<OpenContainer<'py>>> {
    let py = object.py();
    let raise = |error: Error| error::raise(py, &error);
    if object.is_none() {
        return Ok(None);
    }
    if is_scalar(object) {
        return text(object, event, limits).map(|()| None);
    }
    let list = is_list(object);
    let items = if list {
        object.try_iter()?
    } else if let Ok(dict) = object.cast::<PyDict>() {
        dict.values().try_iter()?
    } else if let Ok(mapping) = object.cast::<PyMapping>() {
        mapping.values()?.try_iter()?
    } else {
        return text(object, event, limits).map(|()| None);
    };
    let depth = depth + usize::from(!list || in_list);
    Event::check_depth(depth, limits).map_err(raise)?;
    Ok(Some(OpenContainer { items, list, depth }))
}

/// Adds the text of a value.
fn text(object: &Bound<'_, PyAny>, event: &mut Event, limits: &Limits) -> PyResult<()> {
    let pushed = with_value(object, |value, _| match value {
        ValueRef::Network(network) => event.push_text(ValueRef::String(&network.to_string()), limits),
        value => event.push_text(value, limits),
    });
    match pushed {
        Ok(Some(Err(error))) => Err(error::raise(object.py(), &error)),
        Err(Refusal::Reason(reason)) if object.is_instance_of::<PyString>() => {
            Err(error::event(object.py(), &format!("a value of the event: {reason}")))
        }
        Ok(_) | Err(Refusal::Reason(_)) => Ok(()),
        Err(Refusal::Python(failure)) => Err(failure),
    }
}
