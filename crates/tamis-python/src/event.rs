//! Reading events: mappings, and JSON as text or bytes.

use pyo3::prelude::*;
use pyo3::types::{
    PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyMapping, PyMemoryView, PySet,
    PyString, PyTuple,
};
use tamis::event::{AttributeId, Attributes, Pin};
use tamis::value::ValueRef;
use tamis::{Deadline, Event, Limits};

use crate::error::{self, shorten, type_name};
use crate::expression::without_lock;
use crate::objects::is_array;
use crate::options::read_now;
use crate::value::{Refusal, with_value};
use crate::whole;

/// The JSON in a Python object, as text or bytes; `None` for other objects.
pub fn json<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Option<std::borrow::Cow<'a, [u8]>>> {
    if let Ok(text) = object.cast::<PyString>() {
        let text = text.to_str().map_err(|_| {
            error::event(object.py(), "the event's text contains a lone surrogate, which is not Unicode text")
        })?;
        Ok(Some(text.as_bytes().into()))
    } else if let Ok(bytes) = object.cast::<PyBytes>() {
        Ok(Some(bytes.as_bytes().into()))
    } else if let Ok(bytes) = object.cast::<PyByteArray>() {
        Ok(Some(bytes.to_vec().into()))
    } else if object.is_instance_of::<PyMemoryView>() {
        let bytes = object.call_method0("tobytes")?.cast_into::<PyBytes>().map_err(PyErr::from)?;
        Ok(Some(bytes.as_bytes().to_vec().into()))
    } else {
        Ok(None)
    }
}

/// The event of one call, with the value of `now()` and the deadline of the call.
#[derive(Clone, Copy)]
pub struct EventArgument<'a, 'py> {
    pub object: &'a Bound<'py, PyAny>,
    pub now: Option<&'a Bound<'py, PyAny>>,
    pub deadline: Option<Deadline>,
}

impl EventArgument<'_, '_> {
    /// Decodes the event.
    pub fn read(self, attributes: &Attributes, limits: &Limits) -> PyResult<Event> {
        let mut event = Event::default();
        self.read_into(&mut event, attributes, limits)?;
        Ok(event)
    }

    /// Decodes the event for an explanation, which needs the elements of its lists.
    pub fn read_to_explain(self, attributes: &Attributes, limits: &Limits) -> PyResult<Event> {
        let mut event = Event::default();
        event.keep_elements();
        self.read_into(&mut event, attributes, limits)?;
        Ok(event)
    }

    /// Decodes the event into existing memory.
    pub fn read_into(self, event: &mut Event, attributes: &Attributes, limits: &Limits) -> PyResult<()> {
        event.set_now(Some(read_now(self.now, attributes)?));
        event.set_deadline(self.deadline);
        decode(self.object, event, attributes, limits)
    }
}

/// Fills `event` from any Python object that can be an event.
pub fn decode(
    object: &Bound<'_, PyAny>,
    event: &mut Event,
    attributes: &Attributes,
    limits: &Limits,
) -> PyResult<()> {
    let py = object.py();
    match json(object)? {
        Some(json) => {
            // Releasing the lock takes longer than reading a short text, unless terms are computed
            // from it.
            let work = if attributes.is_plain() { json.len() } else { usize::MAX };
            without_lock(py, work, || event.decode_json(&json, attributes, limits))
                .map_err(|error| error::raise(py, &error))
        }
        None => {
            let decoded = decode_mapping(object, event, attributes, limits);
            if decoded.is_err() {
                event.clear(); // so that it keeps no index alive
            }
            decoded
        }
    }
}

/// A mapping, or an object of unknown type, to be decoded later.
struct Waiting<'py> {
    /// Its dotted name, without a final dot; empty for the event itself.
    path: String,
    depth: usize,
    attribute: Option<AttributeId>,
    /// Whether it is inside an element of a list.
    inside: bool,
    object: Bound<'py, PyAny>,
}

fn decode_mapping(
    object: &Bound<'_, PyAny>,
    event: &mut Event,
    attributes: &Attributes,
    limits: &Limits,
) -> PyResult<()> {
    let py = object.py();
    if !object.is_instance_of::<PyDict>() && object.cast::<PyMapping>().is_err() {
        return Err(error::event(
            py,
            &format!(
                "an event must be a mapping, or JSON as str or bytes, not {}",
                shorten(&type_name(object))
            ),
        ));
    }
    event.clear();
    let _pin = attributes.pin();
    decode_object(object, event, attributes, limits)?;
    if let Some(values) = attributes.asks_values() {
        whole::decode(object, values, event, limits)?;
    }
    event.finish(attributes).map_err(|error| error::raise(py, &error))
}

fn decode_object(
    object: &Bound<'_, PyAny>,
    event: &mut Event,
    attributes: &Attributes,
    limits: &Limits,
) -> PyResult<()> {
    let mut decoder = Decoder::new(event, attributes, limits);
    let object = object.clone();
    decoder.waiting.push(Waiting { path: String::new(), depth: 1, attribute: None, inside: false, object });
    decoder.run()
}

/// An error in an element of a list.
struct ElementFailure(PyErr);

impl From<tamis::Error> for ElementFailure {
    fn from(error: tamis::Error) -> Self {
        Python::attach(|py| ElementFailure(error::raise(py, &error)))
    }
}

/// Fills `event` from the element of a list, which may be any object.
fn decode_element(
    object: &Bound<'_, PyAny>,
    event: &mut Event,
    attributes: &Attributes,
    limits: &Limits,
) -> PyResult<()> {
    let mapping = !is_scalar(object) && !is_list(object) && object.cast::<PyMapping>().is_ok();
    if let Some(it) = attributes.it() {
        if mapping {
            event.begin(it);
            event.object();
        } else if object.is_none() {
            event.begin(it);
            event.null();
        } else {
            let mut decoder = Decoder::new(event, attributes, limits);
            let (path, object) = ("it".to_owned(), object.clone());
            decoder.waiting.push(Waiting { path, depth: 1, attribute: Some(it), inside: false, object });
            decoder.run()?;
        }
    }
    if mapping {
        decode_object(object, event, attributes, limits)?;
    }
    if let Some(values) = attributes.asks_values() {
        whole::decode(object, values, event, limits)?;
    }
    event.finish(attributes).map_err(|error| error::raise(object.py(), &error))
}

struct Decoder<'e, 'py> {
    event: &'e mut Event,
    attributes: &'e Attributes,
    /// Used to look up names.
    pin: Pin<'e>,
    /// Whether there are neither terms nor expressions about elements.
    plain: bool,
    limits: &'e Limits,
    /// Objects whose decoding could run Python code, and so change a mapping during iteration. They
    /// are decoded after the iteration.
    waiting: Vec<Waiting<'py>>,
}

impl<'e, 'py> Decoder<'e, 'py> {
    fn new(event: &'e mut Event, attributes: &'e Attributes, limits: &'e Limits) -> Decoder<'e, 'py> {
        let (pin, plain) = (attributes.pin(), attributes.is_plain());
        Decoder { event, attributes, pin, plain, limits, waiting: Vec::new() }
    }

    fn run(&mut self) -> PyResult<()> {
        while let Some(next) = self.waiting.pop() {
            self.visit(next)?;
        }
        Ok(())
    }

    /// Reads the elements of a list, each as a separate event. Any other object counts as a list of
    /// one.
    fn elements(&mut self, list: AttributeId, object: &Bound<'py, PyAny>) -> PyResult<()> {
        // NaN is null, and null is not a list.
        let is_nan = object.cast::<PyFloat>().is_ok_and(|float| float.value().is_nan());
        if is_nan || !self.attributes.begin_elements(list, self.event) {
            return Ok(());
        }
        let (event, limits) = (&mut *self.event, self.limits);
        let mut element = |item: &Bound<'py, PyAny>| {
            event
                .element(limits, |event, attributes| {
                    decode_element(item, event, attributes, limits).map_err(ElementFailure)
                })
                .map_err(|ElementFailure(failure)| failure)
        };
        if is_scalar(object) || !is_list(object) {
            return element(object);
        }
        for item in object.try_iter()? {
            element(&item?)?;
        }
        Ok(())
    }

    fn visit(&mut self, waiting: Waiting<'py>) -> PyResult<()> {
        let Waiting { mut path, depth, attribute, inside, object } = waiting;
        let py = object.py();
        if depth > self.limits.event_depth && !is_list(&object) {
            let limit = tamis::Error::Limit {
                what: "nesting of an event",
                name: "event_depth",
                found: depth,
                allowed: self.limits.event_depth,
            };
            return Err(error::raise(py, &limit));
        }
        let base = path.len();
        let elements = attribute.filter(|attribute| !inside && self.attributes.asks_elements(*attribute));
        if let Some(list) = elements {
            self.elements(list, &object)?;
        }
        if let Some(attribute) = attribute.filter(|attribute| self.attributes.asks_shape(*attribute))
            && !inside
            && object.cast::<PyMapping>().is_ok()
        {
            self.event.begin(attribute);
            self.event.object();
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            for (key, value) in dict {
                self.member(&mut path, base, depth, inside, &key, value)?;
            }
            Ok(())
        } else if let Ok(mapping) = object.cast::<PyMapping>() {
            for item in mapping.items()? {
                let (key, value) = item.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
                self.member(&mut path, base, depth, inside, &key, value)?;
            }
            Ok(())
        } else if is_list(&object) {
            self.begin_list(attribute, inside);
            self.list(&path, depth, &object, attribute.is_some(), elements.is_some())
        } else if let Some(attribute) = attribute {
            self.event.begin_part(attribute, inside);
            if !self.scalar(&path, &object)? {
                self.event.null_part(inside);
            }
            Ok(())
        } else {
            Ok(())
        }
    }

    fn member(
        &mut self,
        path: &mut String,
        base: usize,
        depth: usize,
        inside: bool,
        key: &Bound<'py, PyAny>,
        value: Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let py = value.py();
        let Ok(name) = key.cast::<PyString>() else {
            return Err(error::event(
                py,
                &format!(
                    "an attribute's name must be a string, not {} of type {}",
                    shorten(&key.repr()?.to_string_lossy()),
                    type_name(key)
                ),
            ));
        };
        let name = name.to_str().map_err(|_| {
            error::event(py, "an attribute's name contains a lone surrogate, which is not Unicode text")
        })?;
        let path: &str = if depth > 1 {
            path.truncate(base);
            path.push('.');
            path.push_str(name);
            path
        } else {
            name
        };
        let Some(mention) = self.pin.mention(path) else {
            return Ok(());
        };
        if value.is_none() {
            if let Some(attribute) = mention.attribute {
                self.event.begin_part(attribute, inside);
                self.event.null_part(inside);
            }
            return Ok(());
        }
        // Read now only what can be read without running Python code.
        let scalar = is_scalar(&value);
        let asks = |attribute| !self.plain && self.attributes.asks_elements(attribute);
        let elements = mention.attribute.is_some_and(asks);
        match mention.attribute {
            attribute if elements => {
                let (path, depth, object) = (path.to_owned(), depth + 1, value);
                self.waiting.push(Waiting { path, depth, attribute, inside, object });
                Ok(())
            }
            Some(attribute) if scalar => {
                self.event.begin_part(attribute, inside);
                if !self.scalar(path, &value)? {
                    self.event.null_part(inside);
                }
                Ok(())
            }
            None if scalar => Ok(()),
            attribute if is_plain_list(&value) => {
                self.begin_list(attribute, inside);
                self.list(path, depth, &value, attribute.is_some(), false)
            }
            attribute => {
                let (path, depth, object) = (path.to_owned(), depth + 1, value);
                self.waiting.push(Waiting { path, depth, attribute, inside, object });
                Ok(())
            }
        }
    }

    fn begin_list(&mut self, attribute: Option<AttributeId>, inside: bool) {
        if let Some(attribute) = attribute {
            self.event.begin_part(attribute, inside);
            self.event.list();
        }
    }

    /// Reads a list. Its objects are decoded later. If the list itself is not needed, it is only
    /// searched for objects.
    fn list(
        &mut self,
        path: &str,
        depth: usize,
        list: &Bound<'py, PyAny>,
        wanted: bool,
        elements: bool,
    ) -> PyResult<()> {
        let below = self.pin.mention(path).is_some_and(|mention| mention.prefix);
        for item in list.try_iter()? {
            let item = item?;
            if item.is_none() {
                if wanted {
                    self.event.other_element();
                }
                continue;
            }
            if !is_scalar(&item) && item.cast::<PyMapping>().is_ok() {
                if wanted {
                    self.event.other_element();
                }
                if below {
                    let (path, depth) = (path.to_owned(), depth + 1);
                    self.waiting.push(Waiting { path, depth, attribute: None, inside: true, object: item });
                }
                continue;
            }
            if !is_scalar(&item) && is_list(&item) {
                if elements {
                    self.event.other_element();
                    continue;
                }
                let message = format!(
                    "a {} inside the list `{}`; lists hold strings, numbers, booleans and objects",
                    type_name(&item),
                    shorten(path)
                );
                return Err(error::event(list.py(), &message));
            }
            if wanted && !self.scalar(path, &item)? {
                self.event.other_element();
            }
        }
        Ok(())
    }

    /// Reads one value. Returns false if it is none, such as NaN.
    fn scalar(&mut self, path: &str, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        let pushed = with_value(value, |value, is_float| match value {
            ValueRef::Network(_) => Ok(false),
            value if is_float => self.event.push_float(value, self.limits).map(|()| true),
            value => self.event.push(value, self.limits).map(|()| true),
        });
        match pushed {
            Ok(Some(Ok(true))) => Ok(true),
            Ok(Some(Ok(false))) => {
                let message =
                    format!("the attribute `{}`: a network is not a value of an event", shorten(path));
                Err(error::event(value.py(), &message))
            }
            Ok(None) => Ok(false),
            Ok(Some(Err(error))) => Err(error::raise(value.py(), &error)),
            Err(Refusal::Reason(reason)) => {
                Err(error::event(value.py(), &format!("the attribute `{}`: {reason}", shorten(path))))
            }
            Err(Refusal::Python(failure)) => Err(failure),
        }
    }
}

pub fn is_scalar(object: &Bound<'_, PyAny>) -> bool {
    // Exact types first: comparing a pointer takes no call.
    object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyInt>()
        || object.is_instance_of::<PyFloat>()
}

/// Whether an object is a list of scalars and nulls only, so that reading it runs no Python code.
fn is_plain_list(object: &Bound<'_, PyAny>) -> bool {
    let plain = |item: Bound<'_, PyAny>| item.is_none() || is_scalar(&item);
    if let Ok(list) = object.cast_exact::<PyList>() {
        list.iter().all(plain)
    } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
        tuple.iter().all(plain)
    } else {
        false
    }
}

pub fn is_list(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyList>()
        || object.is_instance_of::<PyTuple>()
        || object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
        || is_array(object)
}

/// The names of the attributes that expressions use.
pub fn attribute_names(attributes: &Attributes) -> Vec<String> {
    attributes.names().iter().map(|name| name.to_string()).collect()
}
