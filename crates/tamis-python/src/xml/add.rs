//! Adding filters: reads Python objects, then parses and adds without the interpreter's lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyMapping, PyString};
use tamis::xml::{Filter, FilterSubscription, Limits, Variable, XPath};

use crate::error;
use crate::id;
use crate::interrupt::{STOPPABLE, abandonable};
use crate::items;

/// The number of bytes of filters that are added at once without checking for signals.
const STOPPABLE_BYTES: usize = 1 << 20;

/// The namespaces of prefixes and the values of variables.
pub struct Names {
    namespaces: Vec<(String, String)>,
    variables: Vec<(String, Variable)>,
}

impl Names {
    pub fn read(
        namespaces: Option<&Bound<'_, PyAny>>,
        variables: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Names> {
        Ok(Names { namespaces: read_namespaces(namespaces)?, variables: read_variables(variables)? })
    }

    fn parse(&self, text: &str, limits: &Limits) -> tamis::Result<XPath> {
        let namespaces: Vec<(&str, &str)> =
            self.namespaces.iter().map(|(prefix, name)| (&**prefix, &**name)).collect();
        let variables: Vec<(&str, Variable)> =
            self.variables.iter().map(|(name, value)| (&**name, value.clone())).collect();
        XPath::parse_with(text, &namespaces, &variables, limits)
    }
}

/// A filter before it is parsed.
pub struct Written {
    id: tamis::Id,
    text: PyBackedStr,
}

impl Written {
    pub fn read(id: &Bound<'_, PyAny>, xpath: &Bound<'_, PyAny>) -> PyResult<Written> {
        let py = id.py();
        let id = id::read(id)?;
        let Ok(text) = xpath.cast::<PyString>() else {
            let message = format!("an XPath expression must be text, not {}", error::type_name(xpath));
            return Err(error::expression(py, &message));
        };
        match text.extract::<PyBackedStr>() {
            Ok(text) => Ok(Written { id, text }),
            Err(_) => Err(error::expression(py, "an XPath expression cannot contain a lone surrogate")),
        }
    }
}

pub fn add_one(py: Python<'_>, filter: &Filter, written: Written, names: &Names) -> PyResult<()> {
    let added = py.detach(|| {
        let xpath = names.parse(&written.text, filter.limits())?;
        filter.add_many(vec![FilterSubscription::new(written.id, xpath)])
    });
    added.map_err(|error| error::raise(py, &error))
}

pub fn add_many(filter: &Arc<Filter>, items: &Bound<'_, PyAny>, names: Names) -> PyResult<()> {
    let py = items.py();
    let items = items::pairs(items, "add_many takes an iterable of (id, xpath) pairs")?;
    let (mut written, mut bytes) = (Vec::new(), 0);
    // If an item is invalid, the errors of earlier items are reported first.
    let mut wrong = Ok(());
    for item in items::enumerate(items) {
        let (position, item) = item?;
        match read_item(&item, position) {
            Ok(item) => {
                bytes += item.text.len();
                written.push(item);
            }
            Err(failure) => {
                wrong = Err(failure);
                break;
            }
        }
    }
    let many = written.len() > STOPPABLE || bytes > STOPPABLE_BYTES;
    let complete = wrong.is_ok();
    let filter = Arc::clone(filter);
    let add = move |stop: &AtomicBool| {
        let mut subscriptions = Vec::with_capacity(written.len());
        for (position, Written { id, text }) in written.iter().enumerate() {
            if stop.load(Ordering::Relaxed) {
                return Err((None, tamis::Error::Cancelled));
            }
            match names.parse(text, filter.limits()) {
                Ok(xpath) => subscriptions.push(FilterSubscription::new(id.clone(), xpath)),
                Err(error) => return Err((Some((position, id.clone())), error)),
            }
        }
        if complete {
            filter.add_many_until(subscriptions, stop).map_err(|error| (None, error))
        } else {
            Ok(())
        }
    };
    let added = match many {
        true => abandonable(py, add)?,
        false => py.detach(|| add(&AtomicBool::new(false))),
    };
    added.map_err(|(place, error)| {
        let failure = error::raise(py, &error);
        match place.map(|(position, id)| (position, id::write(py, id.as_ref()))) {
            Some((position, Ok(id))) => items::at_id(py, failure, position, &id),
            _ => failure,
        }
    })?;
    wrong
}

fn read_item(item: &Bound<'_, PyAny>, position: usize) -> PyResult<Written> {
    let py = item.py();
    match items::parts(item).as_deref() {
        Some([id, xpath]) => {
            Written::read(id, xpath).map_err(|failure| items::at_id(py, failure, position, id))
        }
        _ => Err(error::at_item(py, error::subscription(py, "an item is (id, xpath)"), position, "item")),
    }
}

pub fn read_namespaces(namespaces: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    let Some(namespaces) = namespaces else { return Ok(Vec::new()) };
    let items = namespaces.cast::<PyMapping>().map_err(PyErr::from)?.items()?;
    items.iter().map(|item| item.extract()).collect()
}

fn read_variables(variables: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, Variable)>> {
    let Some(variables) = variables else { return Ok(Vec::new()) };
    let items = variables.cast::<PyMapping>().map_err(PyErr::from)?.items()?;
    let read = |item: Bound<'_, PyAny>| {
        let (name, value): (String, Bound<'_, PyAny>) = item.extract()?;
        let value = if let Ok(boolean) = value.cast::<PyBool>() {
            Variable::Boolean(boolean.is_true())
        } else if let Ok(text) = value.cast::<PyString>() {
            Variable::String(text.to_str()?.into())
        } else if let Ok(number) = value.extract::<f64>() {
            Variable::Number(number)
        } else {
            let type_name = error::type_name(&value);
            let message =
                format!("the variable `{name}` must be a string, a number or a boolean, not {type_name}");
            return Err(PyTypeError::new_err(message));
        };
        Ok((name, value))
    };
    items.iter().map(read).collect()
}
