//! How is an event read from JSON?
//!
//! One pass over the text. Nested objects become dotted names; what no subscription mentions is skipped, and only
//! checked for being well formed.

use jiter::{Jiter, JiterError, JiterErrorType, JsonErrorType, Peek};

use super::{AttributeId, Attributes, Event, Mention, Pin};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::{self, Limits};
use crate::value::{Float, ValueRef, read_number};

impl Event {
    /// Reads one JSON object, replacing the event's content.
    ///
    /// After an error, the event's content is unspecified until it is filled again.
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
        let pin = attributes.pin();
        let mut reader = Reader {
            json: Jiter::with_tape(json, std::mem::take(&mut self.tape)).with_allow_inf_nan(),
            path: std::mem::take(&mut self.path),
            event: self,
            attributes,
            plain: attributes.is_plain(),
            pin: &pin,
            limits,
        };
        let result = reader.object().and_then(|()| reader.finish());
        let Reader { json: read, path, .. } = reader;
        (self.tape, self.path) = (read.into_tape(), path);
        let whole = result.and_then(|()| match attributes.asks_values() {
            Some(values) => self.whole_json(values, json, limits),
            None => Ok(()),
        });
        if whole.is_err() {
            self.clear_elements();
        }
        whole?;
        self.finish(attributes)
    }

    /// Reads the element of a list at the beginning of a text, replacing the event's content. Returns its length.
    fn decode_element(&mut self, text: &[u8], attributes: &Attributes, limits: &Limits) -> Result<usize> {
        let pin = attributes.pin();
        let mut reader = Reader {
            json: Jiter::new(text).with_allow_inf_nan(),
            path: std::mem::take(&mut self.path),
            event: self,
            attributes,
            plain: attributes.is_plain(),
            pin: &pin,
            limits,
        };
        let result = reader.anything();
        let length = reader.json.current_index();
        self.path = reader.path;
        result?;
        if let Some(values) = attributes.asks_values() {
            self.whole_json(values, &text[..length], limits)?;
        }
        self.finish(attributes)?;
        Ok(length)
    }
}

struct Reader<'e, 'j> {
    event: &'e mut Event,
    json: Jiter<'j>,
    /// The dotted name of the member being read.
    path: String,
    attributes: &'e Attributes,
    /// Whether there are neither terms nor expressions about elements.
    plain: bool,
    /// For looking up names.
    pin: &'e Pin<'e>,
    limits: &'e Limits,
}

/// An object or a list that is being read.
struct Open {
    /// The length of its name in `path`.
    base: usize,
    /// Whether its first member or element has been asked for.
    started: bool,
    list: Option<List>,
    /// The attribute whose elements are tested one by one, and where its text begins.
    asked: Option<(AttributeId, usize)>,
}

/// A list whose elements may be objects.
struct List {
    /// The attribute whose values are those of the list.
    attribute: Option<AttributeId>,
    /// Whether attributes inside its objects are mentioned.
    below: bool,
    /// Whether its elements are tested one by one, whatever they are.
    elements: bool,
    /// Whether the list's own fields are followed by fields of an element.
    interrupted: bool,
}

impl Reader<'_, '_> {
    fn object(&mut self) -> Result<()> {
        if self.peek()? != Peek::Object {
            return Err(self.wrong("an event is a JSON object"));
        }
        self.path.clear();
        let mut open = vec![Open { base: 0, started: false, list: None, asked: None }];
        let (mut objects, mut lists) = (1, 0);
        while let Some(last) = open.last_mut() {
            self.path.truncate(last.base);
            let started = std::mem::replace(&mut last.started, true);
            let entered = match &mut last.list {
                None => {
                    if !self.key(!started, objects > 1)? {
                        let asked = last.asked;
                        open.pop();
                        objects -= 1;
                        self.ask(asked)?;
                        continue;
                    }
                    self.member(lists > 0)?
                }
                Some(list) => match self.next_element(list, !started)? {
                    None => {
                        let asked = last.asked;
                        open.pop();
                        lists -= 1;
                        self.ask(asked)?;
                        continue;
                    }
                    Some(true) => Some(Open { base: 0, started: false, list: None, asked: None }),
                    Some(false) => None,
                },
            };
            if let Some(entered) = entered {
                *(if entered.list.is_some() { &mut lists } else { &mut objects }) += 1;
                limits::check("nesting of an event", "event_depth", objects, self.limits.event_depth)?;
                open.push(Open { base: self.path.len(), ..entered });
            }
        }
        Ok(())
    }

    /// Fails if something follows.
    fn finish(&mut self) -> Result<()> {
        self.json.finish().map_err(|error| self.malformed(&error))
    }

    /// Reads the next key of an object and appends it to the path; false if there is none.
    fn key(&mut self, first: bool, nested: bool) -> Result<bool> {
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

    fn skip(&mut self, peek: Peek) -> Result<()> {
        self.json.known_skip(peek).map_err(|error| self.malformed(&error))
    }

    /// Reads the value of a member, which may be `inside` an element of a list. Returns an object or a list to be
    /// entered.
    fn member(&mut self, inside: bool) -> Result<Option<Open>> {
        let mention = self.pin.mention(&self.path);
        let peek = self.peek()?;
        let Some(Mention { attribute, prefix: below }) = mention else {
            self.skip(peek)?;
            return Ok(None);
        };
        let start = self.json.current_index();
        let asks = |attribute: &AttributeId| !self.plain && self.attributes.asks_elements(*attribute);
        let asked = attribute.filter(|attribute| !inside && asks(attribute));
        let asked = asked.map(|attribute| (attribute, start));
        match (peek, attribute) {
            (Peek::Object, _) => {
                if let Some(attribute) = attribute.filter(|attribute| self.attributes.asks_shape(*attribute))
                    && !inside
                {
                    self.event.begin(attribute);
                    self.event.object();
                }
                if below {
                    return Ok(Some(Open { base: 0, started: false, list: None, asked }));
                }
                self.skip(peek)?;
            }
            (Peek::Array, _) => {
                if let Some(attribute) = attribute {
                    self.event.begin_part(attribute, inside);
                    self.event.list();
                }
                let list = List { attribute, below, elements: asked.is_some(), interrupted: false };
                return Ok(Some(Open { base: 0, started: false, list: Some(list), asked }));
            }
            (_, None) => self.skip(peek)?,
            (Peek::Null, Some(attribute)) => {
                self.json.known_null().map_err(|error| self.malformed(&error))?;
                self.event.begin_part(attribute, inside);
                self.event.null_part(inside);
            }
            (_, Some(attribute)) => {
                self.event.begin_part(attribute, inside);
                if !self.scalar(peek)? {
                    self.event.null_part(inside);
                }
            }
        }
        self.ask(asked)?;
        Ok(None)
    }

    /// Reads the value just read again, element by element, if expressions test the elements.
    fn ask(&mut self, asked: Option<(AttributeId, usize)>) -> Result<()> {
        match asked {
            None => Ok(()),
            Some((list, start)) => {
                let raw = self.json.slice_to_current(start);
                self.elements(list, raw)
            }
        }
    }

    /// Reads the next element of a list: true if it is an object to be entered, `None` at the end.
    fn next_element(&mut self, list: &mut List, first: bool) -> Result<Option<bool>> {
        let next = if first { self.json.known_array() } else { self.json.array_step() };
        let Some(peek) = next.map_err(|error| self.malformed(&error))? else { return Ok(None) };
        if let Some(attribute) = list.attribute.filter(|_| list.interrupted) {
            self.event.resume(attribute);
            list.interrupted = false;
        }
        let wanted = list.attribute.is_some();
        match peek {
            Peek::Array if list.elements => {
                self.skip(peek)?;
                self.event.other_element();
            }
            Peek::Array => {
                let message = format!(
                    "a list inside the list `{}`; lists hold strings, numbers, booleans and objects",
                    shorten(&self.path)
                );
                return Err(self.wrong(&message));
            }
            Peek::Null | Peek::Object => {
                if wanted {
                    self.event.other_element();
                }
                if peek == Peek::Object && list.below {
                    list.interrupted = true;
                    return Ok(Some(true));
                }
                self.skip(peek)?;
            }
            _ if wanted => {
                if !self.scalar(peek)? {
                    self.event.other_element();
                }
            }
            _ => self.skip(peek)?,
        }
        Ok(Some(false))
    }

    /// Reads the elements of a list, each as an event of its own; anything else is treated as a list of one. The text
    /// has been read before and is well formed.
    fn elements(&mut self, list: AttributeId, raw: &[u8]) -> Result<()> {
        if matches!(raw, b"null" | b"NaN") || !self.attributes.begin_elements(list, self.event) {
            return Ok(());
        }
        let Some(mut rest) = raw.strip_prefix(b"[") else { return self.element(raw).map(drop) };
        while let [first, behind @ ..] = rest {
            match first {
                b']' => break,
                b',' | b' ' | b'\t' | b'\n' | b'\r' => rest = behind,
                _ => rest = rest.get(self.element(rest)?.max(1)..).unwrap_or_default(),
            }
        }
        Ok(())
    }

    /// Reads the element at the beginning of a text, and returns its length.
    fn element(&mut self, text: &[u8]) -> Result<usize> {
        let (limits, mut length) = (self.limits, 0);
        self.event.element(limits, |event, attributes| {
            length = event.decode_element(text, attributes, limits)?;
            Ok(())
        })?;
        Ok(length)
    }

    /// Reads an element of a list, which may be anything.
    fn anything(&mut self) -> Result<()> {
        let (peek, it) = (self.peek()?, self.attributes.it());
        match it {
            Some(it) if peek == Peek::Object => {
                self.event.begin(it);
                self.event.object();
            }
            Some(it) => return self.lone(it, peek),
            None => {}
        }
        if peek == Peek::Object {
            return self.object();
        }
        self.skip(peek)
    }

    /// Reads an element that is not an object as the value of an attribute.
    fn lone(&mut self, attribute: AttributeId, peek: Peek) -> Result<()> {
        let start = self.json.current_index();
        let elements = self.attributes.asks_elements(attribute);
        match peek {
            Peek::Array => {
                self.event.begin(attribute);
                self.event.list();
                let mut list =
                    List { attribute: Some(attribute), below: false, elements, interrupted: false };
                let mut first = true;
                while self.next_element(&mut list, first)?.is_some() {
                    first = false;
                }
            }
            Peek::Null => {
                self.json.known_null().map_err(|error| self.malformed(&error))?;
                self.event.begin(attribute);
                self.event.null();
            }
            _ => {
                self.event.begin(attribute);
                if !self.scalar(peek)? {
                    self.event.null();
                }
            }
        }
        if elements {
            let raw = self.json.slice_to_current(start);
            self.elements(attribute, raw)?;
        }
        Ok(())
    }

    /// Reads one value; false if it is NaN, which counts as null.
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
        /// How deep the parser skips attributes that no expression mentions.
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
        Error::event(format!("the event is invalid JSON: line {line}, column {column}: {reason}"))
    }
}
