//! How is an event read from JSON?
//!
//! One pass over the text; nested objects become dotted names, and whatever no subscription
//! mentions is skipped, checked only for being well formed.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::{AttributeId, Attributes, Event};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::{self, Limits};
use crate::value::{Float, ValueRef, read_number};

impl Event {
    /// Reads one JSON object, replacing what the event held.
    ///
    /// On an error the event holds nothing of use until it is filled again.
    pub fn decode_json(&mut self, json: &[u8], attributes: &Attributes, limits: &Limits) -> Result<()> {
        limits::check("bytes of an event", "event", json.len(), limits.event)?;
        if let Err(error) = std::str::from_utf8(json) {
            return Err(Error::event(format!(
                "the event is not UTF-8: invalid byte 0x{:02x} at offset {}",
                json[error.valid_up_to()],
                error.valid_up_to()
            )));
        }
        self.clear();
        let _pin = attributes.pin();
        let mut reader = Reader {
            json: Jiter::with_tape(json, std::mem::take(&mut self.tape)).with_allow_inf_nan(),
            path: std::mem::take(&mut self.path),
            event: self,
            attributes,
            limits,
        };
        let result = reader.object();
        let Reader { json, path, .. } = reader;
        (self.tape, self.path) = (json.into_tape(), path);
        result?;
        self.finish(attributes)
    }

    /// Reads the element of a list, replacing what the event held.
    fn decode_element(&mut self, json: &[u8], attributes: &Attributes, limits: &Limits) -> Result<()> {
        let mut reader = Reader {
            json: Jiter::new(json),
            path: std::mem::take(&mut self.path),
            event: self,
            attributes,
            limits,
        };
        let result = reader.anything();
        self.path = reader.path;
        result?;
        self.finish(attributes)
    }
}

struct Reader<'e, 'j> {
    event: &'e mut Event,
    json: Jiter<'j>,
    /// The dotted name of the member being read.
    path: String,
    attributes: &'e Attributes,
    limits: &'e Limits,
}

impl Reader<'_, '_> {
    fn object(&mut self) -> Result<()> {
        if self.peek()? != Peek::Object {
            return Err(self.wrong("an event is a JSON object"));
        }
        // For every open object, the length of its name in `path`.
        let mut open = vec![0];
        self.path.clear();
        let mut first = true;
        while let Some(&base) = open.last() {
            if !self.key(first, base, open.len() > 1)? {
                open.pop();
                first = false;
            } else if self.member()? {
                limits::check("nesting of an event", "event_depth", open.len() + 1, self.limits.event_depth)?;
                open.push(self.path.len());
                first = true;
            } else {
                first = false;
            }
        }
        self.json.finish().map_err(|error| self.malformed(&error))
    }

    /// Reads the next key of the object whose name has `base` bytes, and appends it to the path.
    fn key(&mut self, first: bool, base: usize, nested: bool) -> Result<bool> {
        self.path.truncate(base);
        let key = if first { self.json.known_object() } else { self.json.next_key() };
        match key {
            Ok(Some(key)) => {
                if nested {
                    self.path.push('.');
                }
                self.path.push_str(key);
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(self.malformed(&error)),
        }
    }

    /// Reads the value of the member; true where it is an object to be entered.
    fn member(&mut self) -> Result<bool> {
        let mention = self.attributes.mention(&self.path);
        let peek = self.peek()?;
        let Some(mention) = mention else {
            self.json.known_skip(peek).map_err(|error| self.malformed(&error))?;
            return Ok(false);
        };
        if peek == Peek::Object {
            if let Some(attribute) =
                mention.attribute.filter(|attribute| self.attributes.asks_shape(*attribute))
            {
                self.event.begin(attribute);
                self.event.object();
            }
            if mention.prefix {
                return Ok(true);
            }
        }
        let Some(attribute) = mention.attribute else {
            if peek == Peek::Array {
                self.list(false, false)?;
            } else {
                self.json.known_skip(peek).map_err(|error| self.malformed(&error))?;
            }
            return Ok(false);
        };
        let elements = self.attributes.asks_elements(attribute);
        let start = self.json.current_index();
        self.read(attribute, peek, elements)?;
        if elements {
            let raw = self.json.slice_to_current(start);
            self.elements(attribute, raw)?;
        }
        Ok(false)
    }

    /// Reads the value of an attribute; where elements are asked about, objects may be among them.
    fn read(&mut self, attribute: AttributeId, peek: Peek, elements: bool) -> Result<()> {
        match peek {
            Peek::Object => {
                self.json.known_skip(peek).map_err(|error| self.malformed(&error))?;
            }
            Peek::Null => {
                self.json.known_null().map_err(|error| self.malformed(&error))?;
                self.event.begin(attribute);
                self.event.null();
            }
            Peek::Array => {
                self.event.begin(attribute);
                self.event.list();
                self.list(true, elements)?;
            }
            _ => {
                self.event.begin(attribute);
                if !self.scalar(peek)? {
                    self.event.null();
                }
            }
        }
        Ok(())
    }

    /// Reads the elements of a list, each as an event of its own; anything else is a list of one.
    fn elements(&mut self, list: AttributeId, raw: &[u8]) -> Result<()> {
        let mut json = Jiter::new(raw);
        let peek = json.peek().map_err(|error| self.malformed(&error))?;
        if peek == Peek::Null || !self.attributes.begin_elements(list, self.event) {
            return Ok(());
        }
        if peek != Peek::Array {
            return self.element(raw);
        }
        let mut next = json.known_array().map_err(|error| self.malformed(&error))?;
        while let Some(peek) = next {
            let start = json.current_index();
            json.known_skip(peek).map_err(|error| self.malformed(&error))?;
            let element = json.slice_to_current(start);
            self.element(element)?;
            next = json.array_step().map_err(|error| self.malformed(&error))?;
        }
        Ok(())
    }

    fn element(&mut self, raw: &[u8]) -> Result<()> {
        let limits = self.limits;
        self.event.element(limits, |event, attributes| event.decode_element(raw, attributes, limits))
    }

    /// Reads the element of a list, which may be anything.
    fn anything(&mut self) -> Result<()> {
        let (peek, it) = (self.peek()?, self.attributes.it());
        if let Some(it) = it {
            let elements = self.attributes.asks_elements(it);
            let start = self.json.current_index();
            if peek == Peek::Object {
                self.event.begin(it);
                self.event.object();
            } else {
                self.read(it, peek, elements)?;
                if elements {
                    let raw = self.json.slice_to_current(start);
                    self.elements(it, raw)?;
                }
                return Ok(());
            }
        }
        if peek == Peek::Object {
            return self.object();
        }
        self.json.known_skip(peek).map_err(|error| self.malformed(&error))
    }

    /// Reads a list; one that is not wanted itself stands where mentioned attributes could hide in
    /// objects, and is only looked through for those.
    fn list(&mut self, wanted: bool, elements: bool) -> Result<()> {
        let mut next = self.json.known_array().map_err(|error| self.malformed(&error))?;
        while let Some(peek) = next {
            match peek {
                Peek::Null => {
                    self.json.known_null().map_err(|error| self.malformed(&error))?;
                    if wanted {
                        self.event.other_element();
                    }
                }
                Peek::Array | Peek::Object if elements => {
                    self.json.known_skip(peek).map_err(|error| self.malformed(&error))?;
                    self.event.other_element();
                }
                Peek::Array | Peek::Object => {
                    let inner = if peek == Peek::Array { "a list" } else { "an object" };
                    let message = format!(
                        "{inner} inside the list `{}`; lists hold strings, numbers and booleans",
                        shorten(&self.path)
                    );
                    return Err(self.wrong(&message));
                }
                _ if wanted => {
                    self.scalar(peek)?;
                }
                _ => self.json.known_skip(peek).map_err(|error| self.malformed(&error))?,
            }
            next = self.json.array_step().map_err(|error| self.malformed(&error))?;
        }
        Ok(())
    }

    /// Reads one value; false where it is NaN, which is a null.
    fn scalar(&mut self, peek: Peek) -> Result<bool> {
        match peek {
            Peek::String => match self.json.known_str() {
                Ok(text) => self.event.push(ValueRef::String(text), self.limits)?,
                Err(error) => return Err(self.malformed(&error)),
            },
            Peek::True | Peek::False => {
                let value = self.json.known_bool(peek).map_err(|error| self.malformed(&error))?;
                self.event.push(ValueRef::Boolean(value), self.limits)?;
            }
            _ => {
                let value = match self.json.known_number_bytes(peek) {
                    Ok(b"NaN") => return Ok(false),
                    Ok(b"Infinity") => Ok(ValueRef::Float(Float::INFINITY)),
                    Ok(b"-Infinity") => Ok(ValueRef::Float(Float::NEGATIVE_INFINITY)),
                    Ok(bytes) => read_number(std::str::from_utf8(bytes).unwrap_or_default()),
                    Err(error) => return Err(self.malformed(&error)),
                };
                match value {
                    Ok(value) => self.event.push(value, self.limits)?,
                    Err(reason) => {
                        return Err(self.wrong(&format!("the attribute `{}`: {reason}", shorten(&self.path))));
                    }
                }
            }
        }
        Ok(true)
    }

    fn peek(&mut self) -> Result<Peek> {
        self.json.peek().map_err(|error| self.malformed(&error))
    }

    fn wrong(&self, message: &str) -> Error {
        let place = self.json.current_position();
        Error::event(format!("line {}, column {}: {message}", place.line, place.column))
    }

    fn malformed(&self, error: &JiterError) -> Error {
        /// How deep the parser skips what nobody mentions.
        const SKIPPED: usize = 200;
        if matches!(error.error_type, JiterErrorType::JsonError(JsonErrorType::RecursionLimitExceeded)) {
            return Error::Limit {
                what: "nesting of an event",
                name: "event_depth",
                found: SKIPPED + 1,
                allowed: self.limits.event_depth.min(SKIPPED),
            };
        }
        let place = self.json.error_position(error.index);
        let (line, column, reason) = (place.line, place.column, &error.error_type);
        Error::event(format!("the event is no JSON: line {line}, column {column}: {reason}"))
    }
}
