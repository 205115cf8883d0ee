//! What values does an event have, whatever their names?
//!
//! They are the values of the term `values()`, as texts. A decoder reads them in a pass of its own, and only if a
//! subscription uses them. Nulls are left out, as is everything that is not a value, such as a number out of range or
//! a column of bytes.

use jiter::{Jiter, JiterError, Peek};

use super::{AttributeId, Event};
use crate::error::{Error, Result};
use crate::expression::text_of;
use crate::limits::{self, Limits};
use crate::value::{Float, ValueRef, read_number};

/// The maximum nesting of objects and lists here, whatever the limits.
pub(super) const DEEPEST: usize = 200;

impl Event {
    /// Begins the values of the whole event, which are added as texts.
    pub fn begin_whole(&mut self, attribute: AttributeId) {
        self.begin(attribute);
        self.list();
    }

    /// Adds the text of a value to the values of the whole event.
    pub fn push_text(&mut self, value: ValueRef<'_>, limits: &Limits) -> Result<()> {
        match value {
            ValueRef::String(_) => self.push(value, limits),
            other => self.push(ValueRef::String(&text_of(other)), limits),
        }
    }

    /// Ends the values of the whole event; if there are none, they are missing.
    pub fn end_whole(&mut self) {
        self.fields.pop_if(|field| field.start == field.end);
    }

    /// Fails if objects, or lists in lists, are nested too deeply.
    pub fn check_depth(depth: usize, limits: &Limits) -> Result<()> {
        limits::check("nesting of an event", "event_depth", depth, limits.event_depth.min(DEEPEST))
    }

    /// Adds all values of a JSON text that has been read before.
    pub(super) fn whole_json(&mut self, attribute: AttributeId, json: &[u8], limits: &Limits) -> Result<()> {
        let mut reader = Jiter::with_tape(json, std::mem::take(&mut self.tape)).with_allow_inf_nan();
        self.begin_whole(attribute);
        let read = self.all_of(&mut reader, limits);
        self.tape = reader.into_tape();
        self.end_whole();
        read
    }

    fn all_of(&mut self, json: &mut Jiter<'_>, limits: &Limits) -> Result<()> {
        // What is open, outermost first: whether it is a list. A list in a list counts as nesting.
        let (mut open, mut depth) = (Vec::<bool>::new(), 0);
        let mut next = Some(json.peek().map_err(|error| malformed(json, &error))?);
        loop {
            let entered = match next {
                Some(Peek::Object) => {
                    depth += 1;
                    open.push(false);
                    true
                }
                Some(Peek::Array) => {
                    depth += usize::from(open.last() == Some(&true));
                    open.push(true);
                    true
                }
                Some(peek) => {
                    self.text_of_json(json, peek, limits)?;
                    false
                }
                None => {
                    let list = open.pop() == Some(true);
                    depth -= usize::from(!list || open.last() == Some(&true));
                    false
                }
            };
            Event::check_depth(depth, limits)?;
            next = match (open.last(), entered) {
                (None, _) => return Ok(()),
                (Some(true), true) => json.known_array(),
                (Some(true), false) => json.array_step(),
                (Some(false), _) => {
                    let key = if entered { json.known_object() } else { json.next_key() };
                    match key.map(|key| key.is_some()) {
                        Ok(true) => json.peek().map(Some),
                        Ok(false) => Ok(None),
                        Err(error) => Err(error),
                    }
                }
            }
            .map_err(|error| malformed(json, &error))?;
        }
    }

    fn text_of_json(&mut self, json: &mut Jiter<'_>, peek: Peek, limits: &Limits) -> Result<()> {
        match peek {
            Peek::Null => json.known_null().map_err(|error| malformed(json, &error)),
            Peek::String => match json.known_str() {
                Ok(text) => self.push_text(ValueRef::String(text), limits),
                Err(error) => Err(malformed(json, &error)),
            },
            Peek::True | Peek::False => {
                let value = json.known_bool(peek).map_err(|error| malformed(json, &error))?;
                self.push_text(ValueRef::Boolean(value), limits)
            }
            _ => {
                let value = match json.known_number_bytes(peek) {
                    Ok(b"NaN") => None,
                    Ok(b"Infinity") => Some(ValueRef::Float(Float::INFINITY)),
                    Ok(b"-Infinity") => Some(ValueRef::Float(Float::NEGATIVE_INFINITY)),
                    Ok(bytes) => read_number(std::str::from_utf8(bytes).unwrap_or_default()).ok(),
                    Err(error) => return Err(malformed(json, &error)),
                };
                value.map_or(Ok(()), |value| self.push_text(value, limits))
            }
        }
    }
}

/// An error in text that was skipped before, which only reading finds.
fn malformed(json: &Jiter<'_>, error: &JiterError) -> Error {
    let place = json.error_position(error.index);
    let (line, column, reason) = (place.line, place.column, &error.error_type);
    Error::event(format!("the event is invalid JSON: line {line}, column {column}: {reason}"))
}
