//! `Index.check`: finds likely mistakes in the subscriptions of an index, given a sample of events.

use arrow_schema::{DataType, FieldRef};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use tamis::event::ArrowEvents;
use tamis::index::Snapshot;
use tamis::value::{Family, Timestamp};
use tamis::{Event, Index};
use tamis_lint::{Finding, LintOptions, Sample};

use crate::error;
use crate::event::{self, is_list, is_scalar};
use crate::id;
use crate::import::{Batches, is_arrow};
use crate::interrupt::interruptible;
use crate::items::{self, iterate_events};
use crate::refused::{Part, is_about_event};

/// The number of unreadable events that are reported one by one; further ones are only counted.
const NAMED: usize = 100;
/// The maximum number of objects and lists of one event that are searched for names.
const VISITED: usize = 100_000;
/// The maximum nesting depth that is searched for names.
const DEEPEST: usize = 200;

/// Reads a sample, then checks the subscriptions. Returns a list of `tamis.Finding`.
pub fn check<'py>(
    py: Python<'py>,
    index: &Index,
    snapshot: &Snapshot,
    events: Option<&Bound<'py, PyAny>>,
    now: Timestamp,
    options: &LintOptions,
) -> PyResult<Bound<'py, PyList>> {
    let mut survey = Survey { index, snapshot, sample: Sample::default(), findings: Vec::new(), unread: 0 };
    let mut decoded = Event::default();
    decoded.set_now(Some(now));
    if let Some(events) = events.filter(|events| !events.is_none()) {
        survey.read(events, &mut decoded, now)?;
    }
    let (sample, missing) = (&survey.sample, index.missing());
    let found = interruptible(py, |stop| tamis_lint::check(snapshot, missing, sample, options, stop))?;
    let found = found.map_err(|error| error::raise(py, &error))?;
    let class = py.import("tamis.checking")?.getattr("Finding")?;
    let findings = survey.findings.iter().chain(&found).map(|finding| write(py, &class, finding));
    PyList::new(py, findings.collect::<PyResult<Vec<_>>>()?)
}

fn write<'py>(py: Python<'py>, class: &Bound<'py, PyAny>, finding: &Finding) -> PyResult<Bound<'py, PyAny>> {
    let Finding { kind, message, subscriptions, count, attribute, position } = finding;
    let ids = subscriptions.iter().map(|subscription| id::write(py, subscription.as_ref()));
    let ids = PyTuple::new(py, ids.collect::<PyResult<Vec<_>>>()?)?;
    class.call1((kind.name(), message, ids, *count, attribute.as_deref(), *position))
}

/// The state while reading a sample.
struct Survey<'a> {
    index: &'a Index,
    snapshot: &'a Snapshot,
    sample: Sample,
    /// Findings about events.
    findings: Vec<Finding>,
    unread: usize,
}

impl Survey<'_> {
    fn read<'py>(&mut self, events: &Bound<'py, PyAny>, decoded: &mut Event, now: Timestamp) -> PyResult<()> {
        let py = events.py();
        if is_arrow(events) {
            self.arrow(events, decoded, now)?;
        } else if events.is_instance_of::<PyDict>() || events.cast::<PyMapping>().is_ok() {
            return Err(error::event(py, "check takes an iterable of events, not one event; give a list"));
        } else if let Some(text) = event::json(events)? {
            let lines = text.split(|&byte| byte == b'\n');
            for (row, line) in lines.filter(|line| !line.trim_ascii().is_empty()).enumerate() {
                if row.is_multiple_of(1024) {
                    py.check_signals()?;
                }
                self.json(py, row, line, decoded)?;
            }
        } else {
            for item in items::enumerate(iterate_events(events, "check")?) {
                let (row, item) = item?;
                match event::json(&item) {
                    Ok(Some(json)) => self.json(py, row, &json, decoded)?,
                    Ok(None) => self.mapping(row, &item, decoded)?,
                    Err(failure) => self.refuse(py, row, failure)?,
                }
            }
        }
        if self.unread > NAMED {
            let message = format!("{} more events cannot be read", self.unread - NAMED);
            self.findings.push(Finding::event(self.sample.len() + self.unread, message));
        }
        Ok(())
    }

    /// Records an event that cannot be read. Returns the failure if it is not about the event.
    fn refuse(&mut self, py: Python<'_>, row: usize, failure: PyErr) -> PyResult<()> {
        if !is_about_event(py, Part::Event, &failure) {
            return Err(failure);
        }
        self.unread += 1;
        if self.unread <= NAMED {
            let message = format!("event {row} cannot be read: {}", failure.value(py));
            self.findings.push(Finding::event(row, message));
        }
        Ok(())
    }

    fn json(&mut self, py: Python<'_>, row: usize, json: &[u8], decoded: &mut Event) -> PyResult<()> {
        let (attributes, limits) = (self.snapshot.attributes(), self.index.limits());
        match decoded.decode_json(json, attributes, limits) {
            Ok(()) => {
                self.sample.see(decoded);
                self.sample.see_json(json, limits);
                Ok(())
            }
            Err(error) => self.refuse(py, row, error::raise(py, &error)),
        }
    }

    fn mapping(&mut self, row: usize, object: &Bound<'_, PyAny>, decoded: &mut Event) -> PyResult<()> {
        match event::decode(object, decoded, self.snapshot.attributes(), self.index.limits()) {
            Ok(()) => {
                self.sample.see(decoded);
                self.names(object)
            }
            Err(failure) => self.refuse(object.py(), row, failure),
        }
    }

    /// Records all names of a mapping. Iterates over copies.
    fn names(&mut self, event: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut waiting = vec![(String::new(), 0, event.clone())];
        let mut visited = 0;
        while let Some((path, depth, object)) = waiting.pop() {
            visited += 1;
            if visited > VISITED || depth > DEEPEST {
                continue;
            }
            if is_scalar(&object) {
                self.sample.see_value(&path, family_of(&object));
                continue;
            }
            if is_list(&object) {
                for item in object.try_iter()?.take(VISITED) {
                    waiting.push((path.clone(), depth + 1, item?));
                }
                continue;
            }
            let Ok(mapping) = object.cast::<PyMapping>() else {
                if !object.is_none() {
                    self.sample.see_value(&path, None);
                }
                continue;
            };
            for item in mapping.items()?.iter() {
                let (key, value) = item.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
                let Some(key) = key.cast::<PyString>().ok().and_then(|key| key.to_str().ok()) else {
                    continue;
                };
                let name = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                if name.len() <= self.index.limits().name {
                    self.sample.see_name(&name);
                    waiting.push((name, depth + 1, value));
                }
            }
        }
        Ok(())
    }

    fn arrow(&mut self, events: &Bound<'_, PyAny>, decoded: &mut Event, now: Timestamp) -> PyResult<()> {
        let py = events.py();
        let (attributes, limits) = (self.snapshot.attributes(), self.index.limits());
        let mut reader = Batches::open(events)?;
        for field in reader.schema().fields() {
            self.column("", field, 0);
        }
        let mut row = 0;
        while let Some(batch) = reader.next(py)? {
            let rows =
                ArrowEvents::new(&batch, None, attributes).map_err(|error| error::raise(py, &error))?;
            let rows = rows.at(now);
            for position in 0..rows.len() {
                match rows.decode(position, decoded, attributes, limits) {
                    Ok(()) => self.sample.see(decoded),
                    Err(error) => self.refuse(py, row + position, error::raise(py, &error))?,
                }
            }
            row += rows.len();
            py.check_signals()?;
        }
        Ok(())
    }

    /// Records the name of a column, and those of its fields.
    fn column(&mut self, prefix: &str, field: &FieldRef, depth: usize) {
        let name = match prefix {
            "" => field.name().clone(),
            prefix => format!("{prefix}.{}", field.name()),
        };
        self.sample.see_name(&name);
        self.inside(&name, field.data_type(), depth);
    }

    fn inside(&mut self, name: &str, data_type: &DataType, depth: usize) {
        match data_type {
            _ if depth > DEEPEST => {}
            DataType::Null => {}
            DataType::Struct(fields) => fields.iter().for_each(|field| self.column(name, field, depth + 1)),
            DataType::List(item)
            | DataType::LargeList(item)
            | DataType::FixedSizeList(item, _)
            | DataType::ListView(item)
            | DataType::LargeListView(item) => self.inside(name, item.data_type(), depth + 1),
            data_type => {
                let family = match data_type {
                    DataType::Boolean => Some(Family::Boolean),
                    DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Family::String),
                    data_type if data_type.is_numeric() => Some(Family::Number),
                    _ => None,
                };
                self.sample.see_value(name, family);
            }
        }
    }
}

/// The family of a value of a built-in Python type; `None` for other objects.
fn family_of(object: &Bound<'_, PyAny>) -> Option<Family> {
    if object.is_exact_instance_of::<PyBool>() {
        Some(Family::Boolean)
    } else if object.is_exact_instance_of::<PyString>() {
        Some(Family::String)
    } else if object.is_exact_instance_of::<PyInt>() || object.is_exact_instance_of::<PyFloat>() {
        Some(Family::Number)
    } else {
        None
    }
}
