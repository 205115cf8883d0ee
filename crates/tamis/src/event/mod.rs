//! What values does an event have for the attributes that subscriptions mention?
//!
//! An [`Event`] holds the values of those attributes and nothing else. Its memory is reused from one event to the
//! next. It is filled from JSON and Arrow here, and by other layers through [`Event::begin`], [`Event::push`],
//! [`Event::null`] and [`Event::finish`].

#[cfg(feature = "arrow")]
mod arrow;
mod attributes;
#[cfg(feature = "arrow")]
mod by_column;
#[cfg(feature = "arrow")]
mod checked;
mod compute;
mod elements;
mod hierarchy;
#[cfg(feature = "arrow")]
mod items;
mod json;
#[cfg(feature = "arrow")]
mod nested;
mod parts;
mod refused;
#[cfg(feature = "arrow")]
mod typed;
mod whole;

#[cfg(feature = "arrow")]
pub use arrow::ArrowEvents;
pub use attributes::{AttributeId, Attributes, Mention, Pin};
pub(crate) use attributes::{ElementIndex, ElementSnapshot};
#[cfg(feature = "arrow")]
pub(crate) use by_column::{AskedNulls, ColumnReader};
pub use hierarchy::Hierarchy;
#[cfg(feature = "arrow")]
pub(crate) use items::{Item, Items};
pub use refused::{OnError, RefusedEvents};

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::deadline::Deadline;
use crate::error::Result;
use crate::limits::{self, Limits};
use crate::value::{Address, Date, Decimal, Duration, Float, Timestamp, Value, ValueRef};
use attributes::Hierarchies;
use elements::{ElementList, Elements};
use parts::FieldPart;

/// A list with more values than this is sorted and deduplicated, so that matchers can search it and see each value
/// once.
pub(crate) const UNSORTED: usize = 16;

/// The most values, and bytes of text, whatever limits say: positions are 32-bit numbers.
const MOST: usize = u32::MAX as usize;

/// The pairs of one event.
#[derive(Debug, Default)]
pub struct Event {
    /// Sorted by attribute once the event is finished.
    fields: Vec<Field>,
    values: Vec<Stored>,
    /// The text of all string values, concatenated.
    text: String,
    /// Values that take more room than others.
    decimals: Vec<Decimal>,
    addresses: Vec<Address>,
    /// The maximum number of values, by the limits under which it was filled.
    allowed: usize,
    /// Which values are times without an offset, until the event is finished.
    locals: Vec<u32>,
    /// Which values came as binary floats, or were computed from floats, ascending: arithmetic with them is IEEE's.
    /// Valid until lists are sorted.
    floats: Vec<u32>,
    /// Reused memory: the name being decoded, and the parser's own buffer.
    path: String,
    tape: Vec<u8>,
    /// The value of `now()`, if it is not the clock's.
    now: Option<Timestamp>,
    /// When everything that is asked about it gives up.
    deadline: Option<Deadline>,
    /// Whether the terms have been computed.
    computed: bool,
    /// Reused memory: terms to be computed, and the values of one, each with whether it is a float.
    waiting: BinaryHeap<Reverse<AttributeId>>,
    results: Vec<(Value, bool)>,
    /// The elements of lists that expressions test one by one, and their number at all depths.
    elements: Vec<ElementList>,
    element_count: usize,
    /// Whether the elements of lists are kept after they have been tested.
    keep_elements: bool,
    /// Reused memory: events that were elements.
    spare: Elements,
}

#[derive(Debug, Clone, Copy)]
struct Field {
    attribute: AttributeId,
    null: bool,
    shape: Shape,
    part: FieldPart,
    start: u32,
    end: u32,
}

/// What kind of thing the event has for an attribute, besides its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    /// A list, with the number of its elements that are not values.
    List {
        others: u32,
    },
    Object,
}

#[derive(Debug, Clone, Copy)]
enum Stored {
    Boolean(bool),
    Integer(i64),
    Float(Float),
    /// The position of the string in the event's text.
    String(u32, u32),
    Timestamp(Timestamp),
    Date(Date),
    Duration(Duration),
    /// The position of the version in the event's text.
    Version(u32, u32),
    /// The position among the event's decimals.
    Decimal(u32),
    /// The position among the event's addresses.
    Address(u32),
}

/// The current time by this machine's clock.
pub fn clock() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    Timestamp::new(seconds, i64::from(since.subsec_nanos())).unwrap_or(Timestamp::FIRST)
}

/// A copy of the event's content, without its working memory.
impl Clone for Event {
    fn clone(&self) -> Self {
        Event {
            fields: self.fields.clone(),
            values: self.values.clone(),
            text: self.text.clone(),
            now: self.now,
            deadline: self.deadline,
            computed: self.computed,
            decimals: self.decimals.clone(),
            addresses: self.addresses.clone(),
            floats: self.floats.clone(),
            allowed: self.allowed,
            ..Event::default()
        }
    }
}

/// What an event has for an attribute.
#[derive(Debug, Clone)]
pub enum Presence<'a> {
    /// Nothing: absent, or an empty list.
    Missing,
    /// A null.
    Null,
    /// One value or more.
    Values(Values<'a>),
}

/// The values of one attribute.
#[derive(Debug, Clone)]
pub struct Values<'a> {
    stored: std::slice::Iter<'a, Stored>,
    event: &'a Event,
}

impl<'a> Values<'a> {
    /// Whether there are many values, which are then distinct and ascending by [`ValueRef::canonical_order`].
    pub fn are_ascending(&self) -> bool {
        self.stored.len() > UNSORTED
    }

    /// Whether one of them is this value.
    fn contains(&self, value: ValueRef<'_>) -> bool {
        let stored = self.stored.as_slice();
        match self.are_ascending() {
            true => stored.binary_search_by(|one| one.read(self.event).canonical_order(value)).is_ok(),
            false => stored.iter().any(|one| one.read(self.event) == value),
        }
    }
}

impl<'a> Iterator for Values<'a> {
    type Item = ValueRef<'a>;

    fn next(&mut self) -> Option<ValueRef<'a>> {
        self.stored.next().map(|stored| stored.read(self.event))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stored.size_hint()
    }
}

impl ExactSizeIterator for Values<'_> {}

impl Stored {
    fn read(self, event: &Event) -> ValueRef<'_> {
        match self {
            Stored::Boolean(value) => ValueRef::Boolean(value),
            Stored::Integer(value) => ValueRef::Integer(value),
            Stored::Float(value) => ValueRef::Float(value),
            Stored::String(start, end) => ValueRef::String(&event.text[start as usize..end as usize]),
            Stored::Timestamp(value) => ValueRef::Timestamp(value),
            Stored::Date(value) => ValueRef::Date(value),
            Stored::Duration(value) => ValueRef::Duration(value),
            Stored::Version(start, end) => ValueRef::Version(&event.text[start as usize..end as usize]),
            Stored::Decimal(number) => ValueRef::Decimal(event.decimals[number as usize]),
            Stored::Address(number) => ValueRef::Address(event.addresses[number as usize]),
        }
    }
}

impl Event {
    /// Removes everything but keeps the memory, unless it is more than usual events need.
    pub fn clear(&mut self) {
        let text = self.text.capacity() + self.tape.capacity() + self.path.capacity();
        if self.values.capacity() > 1 << 16 || text > 1 << 20 {
            let Event { now, deadline, keep_elements, .. } = *self;
            *self = Event { now, deadline, keep_elements, ..Event::default() };
        }
        self.fields.clear();
        self.values.clear();
        self.text.clear();
        self.computed = false;
        self.decimals.clear();
        self.addresses.clear();
        self.clear_elements();
        self.locals.clear();
        self.floats.clear();
    }

    /// Begins an attribute; the values that follow belong to it.
    pub fn begin(&mut self, attribute: AttributeId) {
        let start = self.values.len() as u32;
        self.fields.push(Field {
            attribute,
            null: false,
            shape: Shape::Plain,
            part: FieldPart::Whole,
            start,
            end: start,
        });
    }

    /// Sets the value of `now()` for this and all later events; `None` is the clock's.
    pub fn set_now(&mut self, now: Option<Timestamp>) {
        self.now = now;
    }

    /// The value of `now()`.
    pub fn moment(&self) -> Timestamp {
        self.now.unwrap_or_else(clock)
    }

    /// Sets when decoding this and all later events, and everything asked about them, fails; `None` is never. The
    /// clock is read now and then; the papers' matchers are only checked between segments.
    pub fn set_deadline(&mut self, deadline: Option<Deadline>) {
        self.deadline = deadline;
    }

    /// When everything that is asked about the event fails.
    pub fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    /// Makes the attribute begun last a list.
    pub fn list(&mut self) {
        if let Some(field) = self.fields.last_mut() {
            field.shape = Shape::List { others: 0 };
        }
    }

    /// Adds an element that is not a value, such as a null, to the list begun last.
    pub fn other_element(&mut self) {
        if let Some(Field { shape: Shape::List { others }, .. }) = self.fields.last_mut() {
            *others = others.saturating_add(1);
        }
    }

    /// Makes the attribute begun last an object.
    pub fn object(&mut self) {
        if let Some(field) = self.fields.last_mut() {
            field.shape = Shape::Object;
        }
    }

    /// Adds a value to the attribute begun last.
    pub fn push(&mut self, value: ValueRef<'_>, limits: &Limits) -> Result<()> {
        let text = match value {
            ValueRef::String(text) | ValueRef::Version(text) => text.len(),
            _ => 0,
        };
        self.check_room(text, limits)?;
        let stored = self.store(value);
        self.add(stored);
        Ok(())
    }

    /// Adds a value that came as a binary float to the attribute begun last.
    pub fn push_float(&mut self, value: ValueRef<'_>, limits: &Limits) -> Result<()> {
        self.push(value, limits)?;
        self.floats.push(self.values.len() as u32 - 1);
        Ok(())
    }

    /// Adds the lower-case form of an ASCII text that the event already has.
    fn push_lower(&mut self, text: Range<usize>, limits: &Limits) -> Result<()> {
        self.check_room(text.len(), limits)?;
        let start = self.text.len();
        self.text.extend_from_within(text);
        self.text[start..].make_ascii_lowercase();
        self.add(Stored::String(start as u32, self.text.len() as u32));
        Ok(())
    }

    /// Adds an attribute whose one value is an integer: `begin` and `push` in one step.
    #[cfg(feature = "arrow")]
    #[inline]
    fn push_integer(&mut self, attribute: AttributeId, value: i64, limits: &Limits) -> Result<()> {
        let (start, allowed) = (self.values.len(), limits.event_values.min(MOST));
        if start >= allowed || limits.list == 0 || self.text.len() > limits.event.min(MOST) {
            self.begin(attribute);
            return self.push(ValueRef::Integer(value), limits); // which says what is too much
        }
        self.allowed = allowed;
        let (start, end) = (start as u32, start as u32 + 1);
        self.fields.push(Field {
            attribute,
            null: false,
            shape: Shape::Plain,
            part: FieldPart::Whole,
            start,
            end,
        });
        self.values.push(Stored::Integer(value));
        Ok(())
    }

    /// Fails if there is no room for another value with this many bytes of text.
    fn check_room(&mut self, text: usize, limits: &Limits) -> Result<()> {
        self.allowed = limits.event_values.min(MOST);
        limits::check("values of an event", "event_values", self.values.len() + 1, self.allowed)?;
        let first = self.fields.last().map_or(0, |field| field.start as usize);
        limits::check("values of a list", "list", self.values.len() + 1 - first, limits.list)?;
        limits::check("bytes of an event", "event", self.text.len() + text, limits.event.min(MOST))
    }

    fn add(&mut self, stored: Stored) {
        self.values.push(stored);
        if let Some(field) = self.fields.last_mut() {
            field.end = self.values.len() as u32;
        }
    }

    /// Stores separately what does not fit into the list of values.
    fn store(&mut self, value: ValueRef<'_>) -> Stored {
        match value {
            ValueRef::Boolean(value) => Stored::Boolean(value),
            ValueRef::Integer(value) => Stored::Integer(value),
            ValueRef::Float(value) => Stored::Float(value),
            ValueRef::String(text) | ValueRef::Version(text) => {
                let start = self.text.len() as u32;
                self.text.push_str(text);
                let end = self.text.len() as u32;
                match value {
                    ValueRef::String(_) => Stored::String(start, end),
                    _ => Stored::Version(start, end),
                }
            }
            ValueRef::Timestamp(value) => Stored::Timestamp(value),
            ValueRef::Date(value) => Stored::Date(value),
            ValueRef::Duration(value) => Stored::Duration(value),
            ValueRef::Decimal(value) => {
                self.decimals.push(value);
                Stored::Decimal(self.decimals.len() as u32 - 1)
            }
            ValueRef::Address(value) => {
                self.addresses.push(value);
                Stored::Address(self.addresses.len() as u32 - 1)
            }
            ValueRef::Local(value) => {
                self.locals.push(self.values.len() as u32);
                Stored::Timestamp(value.at(0))
            }
            // Networks occur in expressions only.
            ValueRef::Network(value) => self.store(ValueRef::Address(value.ends().0)),
        }
    }

    /// Makes the attribute begun last null.
    pub fn null(&mut self) {
        if let Some(field) = self.fields.last_mut() {
            field.null = true;
        }
    }

    /// Completes the event: an attribute given twice is an error. Terms are computed, and values of an attribute with
    /// a hierarchy add those above them.
    pub fn finish(&mut self, attributes: &Attributes) -> Result<()> {
        // Times without an offset are in the index's time zone.
        for position in self.locals.drain(..) {
            if let Stored::Timestamp(time) = &mut self.values[position as usize]
                && let Some(local) = time.local(0)
            {
                *time = attributes.time_zone().moment(local);
            }
        }
        if !self.fields.is_sorted_by(|a, b| a.attribute < b.attribute) {
            self.join_parts(attributes)?;
        }
        if let Some(program) = attributes.program().filter(|_| !self.computed) {
            if !program.asked().is_empty() {
                self.ask_elements(program.asked())?;
                self.fields.sort_unstable_by_key(|field| field.attribute);
            }
            self.compute(&program, attributes.settings())?;
            self.computed = true;
        }
        for position in 0..self.fields.len() {
            self.sort(position);
        }
        if let Some(hierarchies) = attributes.hierarchies() {
            self.expand(&hierarchies)?;
        }
        Ok(())
    }

    /// Sorts and deduplicates the values of a field if there are many.
    #[inline]
    fn sort(&mut self, position: usize) {
        let Field { start, end, .. } = self.fields[position];
        if (end - start) as usize > UNSORTED {
            self.sort_many(position);
        }
    }

    fn sort_many(&mut self, position: usize) {
        let Field { start, end, .. } = self.fields[position];
        let within = start as usize..end as usize;
        let order = |one: &Stored, other: &Stored| one.read(self).canonical_order(other.read(self));
        if self.values[within.clone()].is_sorted_by(|one, other| order(one, other).is_lt()) {
            return;
        }
        let mut values = self.values[within].to_vec();
        values.sort_unstable_by(order);
        values.dedup_by(|one, other| order(one, other).is_eq());
        let end = start as usize + values.len();
        self.values[start as usize..end].copy_from_slice(&values);
        self.fields[position].end = end as u32;
    }

    /// Adds the values above those of attributes with a hierarchy.
    fn expand(&mut self, hierarchies: &Hierarchies) -> Result<()> {
        for position in 0..self.fields.len() {
            let Field { attribute, start, end, .. } = self.fields[position];
            let Some(hierarchy) = hierarchies.get(&attribute) else { continue };
            let given = Values { stored: self.values[start as usize..end as usize].iter(), event: self };
            let mut all: Vec<Value> = Vec::new();
            // Values share most of what is above them, so duplicates are dropped along the way.
            let mut distinct = 0;
            for value in given.clone() {
                hierarchy.above(value, |above| all.push(above.to_value()));
                if all.len() > 2 * distinct + 1024 {
                    all.sort_unstable();
                    all.dedup();
                    distinct = all.len();
                }
            }
            all.sort_unstable();
            all.dedup();
            all.retain(|above| !given.contains(above.as_ref()));
            if all.is_empty() {
                continue;
            }
            // The values of an attribute are contiguous, so they move to the end.
            let first = self.values.len();
            let count = first + (end - start) as usize + all.len();
            limits::check("values of an event", "event_values", count, self.allowed)?;
            self.values.extend_from_within(start as usize..end as usize);
            for value in all {
                if let Value::String(text) = &value {
                    let bytes = self.text.len() + text.len();
                    limits::check("bytes of an event", "event", bytes, u32::MAX as usize)?;
                }
                let stored = self.store(value.as_ref());
                self.values.push(stored);
            }
            self.fields[position].start = first as u32;
            self.fields[position].end = self.values.len() as u32;
            self.sort(position);
        }
        Ok(())
    }

    /// The length of the longest list.
    pub(crate) fn longest_list(&self) -> usize {
        self.fields.iter().map(|field| (field.end - field.start) as usize).max().unwrap_or(0)
    }

    /// Whether it is too large to be kept in a sample of events.
    pub(crate) fn is_large(&self) -> bool {
        self.values.len() > 1 << 12 || self.text.len() > 1 << 16
    }

    /// What the event has, in the order of the attributes.
    pub fn iter(&self) -> impl Iterator<Item = (AttributeId, Presence<'_>)> {
        self.fields.iter().map(|field| (field.attribute, self.presence(*field)))
    }

    /// What the event has for an attribute.
    pub fn get(&self, attribute: AttributeId) -> Presence<'_> {
        match self.fields.binary_search_by_key(&attribute, |field| field.attribute) {
            Err(_) => Presence::Missing,
            Ok(position) => self.presence(self.fields[position]),
        }
    }

    fn presence(&self, field: Field) -> Presence<'_> {
        if field.null {
            Presence::Null
        } else if field.start == field.end {
            Presence::Missing
        } else {
            Presence::Values(self.values_of(field))
        }
    }

    fn values_of(&self, field: Field) -> Values<'_> {
        let stored = self.values[field.start as usize..field.end as usize].iter();
        Values { stored, event: self }
    }
}
