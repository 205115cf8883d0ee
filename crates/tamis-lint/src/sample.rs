//! Which attributes do the events of a sample have, and of which types?

use std::collections::HashMap;

use jiter::{Jiter, Peek};

use crate::event::{AttributeId, Event, Presence};
use crate::limits::Limits;
use crate::value::{Family, TimeZone, ValueRef};

/// How many names are kept; the keys of maps with many keys are not attributes.
const NAMES: usize = 100_000;
/// Objects and lists nested deeper are not looked into.
const DEEPEST: usize = 200;
/// How many texts of an attribute are examined.
const TEXTS: u16 = 1_000;

/// What the events of a sample have.
#[derive(Debug, Default)]
pub struct Sample {
    events: usize,
    /// The attributes and terms that subscriptions use.
    asked: HashMap<AttributeId, Seen, ahash::RandomState>,
    /// Every name that an event has, dotted, and the families of its values as far as they are known, as bits.
    names: HashMap<String, u16, ahash::RandomState>,
}

/// What was seen of an attribute or term.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    /// How many events have it, if only as a null.
    pub events: usize,
    /// The families of its values, as bits.
    families: u16,
    /// How many texts were examined, and how many of them can be read as times.
    texts: u16,
    times: u16,
}

impl Seen {
    pub fn has(self, family: Family) -> bool {
        self.families & 1 << family as u16 != 0
    }

    /// Whether most of its texts can be read as times.
    pub fn has_times_as_texts(self) -> bool {
        self.times > self.texts / 2
    }

    /// Whether there was a value, and no null only.
    pub fn has_values(self) -> bool {
        self.families != 0
    }

    /// The types of its values, by name.
    pub fn types(self) -> String {
        let families = [
            (Family::Boolean, "a boolean"),
            (Family::Number, "a number"),
            (Family::String, "a string"),
            (Family::Timestamp, "a timestamp"),
            (Family::Date, "a date"),
            (Family::Duration, "an interval"),
            (Family::Address, "an address"),
            (Family::Version, "a version"),
        ];
        let names: Vec<&str> =
            families.iter().filter(|(family, _)| self.has(*family)).map(|(_, name)| *name).collect();
        names.join(" or ")
    }
}

impl Sample {
    /// How many events were seen.
    pub fn len(&self) -> usize {
        self.events
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Records an event that was decoded for the subscriptions to be checked.
    pub fn see(&mut self, event: &Event) {
        self.events += 1;
        // Whether a text is a time does not depend on the zone.
        let zone = TimeZone::default();
        for (attribute, presence) in event.iter() {
            let seen = self.asked.entry(attribute).or_default();
            match presence {
                Presence::Missing => continue,
                Presence::Null => {}
                Presence::Values(values) => {
                    for value in values {
                        seen.families |= 1 << value.family() as u16;
                        if let (ValueRef::String(text), true) = (value, seen.texts < TEXTS) {
                            seen.texts += 1;
                            seen.times += u16::from(zone.read(text).is_some());
                        }
                    }
                }
            }
            seen.events += 1;
        }
    }

    /// Records a name that an event has, whether subscriptions use it or not. Returns whether it is new.
    pub fn see_name(&mut self, name: &str) -> bool {
        let new = self.names.len() < NAMES && !self.names.contains_key(name);
        if new {
            self.names.insert(name.to_owned(), 0);
        }
        new
    }

    /// Records a value of a name that was seen: its family, or that it may be of any.
    pub fn see_value(&mut self, name: &str, family: Option<Family>) {
        if let Some(families) = self.names.get_mut(name) {
            *families |= family.map_or(u16::MAX, |family| 1 << family as u16);
        }
    }

    /// Records all names of a decoded JSON event. Names that are nested too deeply are left out.
    pub fn see_json(&mut self, json: &[u8], limits: &Limits) {
        let mut reader = Jiter::new(json).with_allow_inf_nan();
        if let Ok(Peek::Object) = reader.peek() {
            // A decoded event may still have errors in the parts that were skipped.
            let _ = self.object(&mut reader, limits);
        }
    }

    /// Reads the names of an object, which is next.
    fn object(&mut self, json: &mut Jiter<'_>, limits: &Limits) -> Result<(), jiter::JiterError> {
        // What is open: for an object, the length of the path before it.
        let mut open: Vec<Option<usize>> = vec![Some(0)];
        let mut path = String::new();
        let mut entered = true;
        loop {
            let Some(innermost) = open.last().copied() else { return Ok(()) };
            let next = match innermost {
                Some(base) => {
                    path.truncate(base);
                    let key = if entered { json.known_object()? } else { json.next_key()? };
                    match key {
                        None => None,
                        Some(key) => {
                            path.push_str(if base == 0 { "" } else { "." });
                            path.push_str(key);
                            if path.len() <= limits.name {
                                self.see_name(&path);
                            }
                            Some(json.peek()?)
                        }
                    }
                }
                None if entered => json.known_array()?,
                None => json.array_step()?,
            };
            entered = false;
            match next {
                None => drop(open.pop()),
                Some(peek @ (Peek::Object | Peek::Array))
                    if open.len() < DEEPEST && path.len() <= limits.name =>
                {
                    open.push((peek == Peek::Object).then_some(path.len()));
                    entered = true;
                }
                Some(peek) => {
                    let family = match peek {
                        Peek::True | Peek::False => Some(Family::Boolean),
                        Peek::String => Some(Family::String),
                        peek if peek.is_num() => Some(Family::Number),
                        _ => None,
                    };
                    if family.is_some() {
                        self.see_value(&path, family);
                    }
                    json.known_skip(peek)?;
                }
            }
        }
    }

    /// What was seen of an attribute or term that subscriptions use.
    pub(super) fn seen(&self, attribute: AttributeId) -> Seen {
        self.asked.get(&attribute).copied().unwrap_or_default()
    }

    /// Whether an event has a name.
    pub(super) fn has_name(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// The types of the values of a dotted name, in lists too, as far as they are known.
    pub(super) fn types_of(&self, name: &str) -> Seen {
        Seen { families: self.names.get(name).copied().unwrap_or_default(), ..Seen::default() }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.keys().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let mut sample = Sample::default();
        let json = br#"{"a": {"b": [{"c": 1, "c": {"d": []}}, [{"e": 2}]], "": 3}, "x.y": null, "a": 1}"#;
        sample.see_json(json, &Limits::default());
        let mut names: Vec<&str> = sample.names().collect();
        names.sort_unstable();
        assert_eq!(names, ["a", "a.", "a.b", "a.b.c", "a.b.c.d", "a.b.e", "x.y"]);
    }

    #[test]
    fn hostile_events_are_harmless() {
        let mut sample = Sample::default();
        for json in [
            format!("{}1{}", "{\"a\":".repeat(50_000), "}".repeat(50_000)),
            format!("{{\"a\": {}", "[".repeat(100_000)),
            "[1]".to_owned(),
            "{\"a\": nope".to_owned(),
        ] {
            sample.see_json(json.as_bytes(), &Limits::default());
        }
        assert!(sample.names.len() <= DEEPEST);
        for number in 0..=NAMES {
            sample.see_name(&number.to_string());
        }
        assert_eq!(sample.names.len(), NAMES);
    }
}
