//! Keyword arguments that several classes take.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tamis::Missing;
use tamis::event::Attributes;
use tamis::index::Algorithm;
use tamis::matcher::Evaluation;
use tamis::value::{TimeZone, Timestamp};

use crate::error;
use crate::items;
use crate::value;

/// The value of `now()` for one call: the given time, or the current one.
pub(crate) fn read_now(now: Option<&Bound<'_, PyAny>>, attributes: &Attributes) -> PyResult<Timestamp> {
    let Some(now) = now.filter(|now| !now.is_none()) else { return Ok(tamis::event::clock()) };
    let moment = value::read(now).ok().and_then(|value| attributes.time_zone().moment_of(value.as_ref()));
    let refused = || {
        PyValueError::new_err(format!(
            "`now` must be a time, not {}; {}",
            error::shown(now),
            tamis::value::TIME_FORM
        ))
    };
    moment.ok_or_else(refused)
}

/// Reads the names of metadata columns.
pub(crate) fn read_columns(columns: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<Arc<str>>> {
    let Some(columns) = columns.filter(|columns| !columns.is_none()) else { return Ok(Vec::new()) };
    let names = items::iterate(columns, "metadata_columns must be an iterable of names")?;
    names.map(|name| Ok(name?.extract::<String>()?.into())).collect()
}

/// Reads the requested number of results.
pub(crate) fn read_count(n: i64) -> PyResult<usize> {
    usize::try_from(n).map_err(|_| PyValueError::new_err(format!("n must be at least 0, not {n}")))
}

pub(crate) fn read_zone(name: &str) -> PyResult<TimeZone> {
    TimeZone::named(name).map_err(|error| PyValueError::new_err(error.to_string()))
}

pub(crate) fn read_missing(missing: &str) -> PyResult<Missing> {
    match missing {
        "unknown" => Ok(Missing::Unknown),
        "false" => Ok(Missing::False),
        other => {
            let message = format!("missing must be \"unknown\" or \"false\", not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

pub(crate) fn write_missing(missing: Missing) -> &'static str {
    match missing {
        Missing::Unknown => "unknown",
        Missing::False => "false",
    }
}

pub(crate) fn read_evaluation(evaluation: &str) -> PyResult<Evaluation> {
    match evaluation {
        "auto" => Ok(Evaluation::Auto),
        "events" => Ok(Evaluation::Events),
        "blocks" => Ok(Evaluation::Blocks),
        other => {
            let message = format!("evaluation must be \"auto\", \"events\" or \"blocks\", not {other:?}");
            Err(PyValueError::new_err(message))
        }
    }
}

pub(crate) fn read_algorithm(matcher: &str) -> PyResult<Algorithm> {
    tamis_papers::algorithm(matcher).ok_or_else(|| {
        let mut names: Vec<_> =
            tamis_papers::ALGORITHMS.iter().map(|algorithm| format!("{:?}", algorithm.name())).collect();
        let last = names.pop().unwrap_or_default();
        PyValueError::new_err(format!("matcher is {} or {last}, not {matcher:?}", names.join(", ")))
    })
}
