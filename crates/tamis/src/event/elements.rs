//! Which expressions do the elements of an event's lists satisfy?
//!
//! The expressions about the elements of one list form an index of their own ([`ElementIndex`](super::ElementIndex)).
//! Elements are decoded as events of that index. The numbers of the expressions that they satisfy become the values
//! of attributes that no event can name.

use std::collections::HashMap;
use std::sync::Arc;

use super::attributes::{Asked, ElementSnapshot};
use super::{AttributeId, Attributes, Event};
use crate::error::Result;
use crate::expression::EMPTY;
use crate::id::IdRef;
use crate::limits::{self, Limits};
use crate::value::ValueRef;

/// Every list satisfies this, so that an attribute whose list satisfies no expression still has a value.
const LIST: &str = "\0";

/// How many events are kept for reuse.
const SPARE: usize = 64;

/// Events that are reused from list to list; boxed, because moving one would copy several hundred bytes.
#[allow(clippy::vec_box)]
pub(super) type Elements = Vec<Box<Event>>;

/// The elements of one list, decoded.
#[derive(Debug)]
pub(super) struct ElementList {
    list: AttributeId,
    snapshot: Arc<dyn ElementSnapshot>,
    events: Elements,
}

impl Event {
    /// Begins the elements of a list, which are decoded with the attributes of `snapshot`.
    pub(crate) fn begin_elements(&mut self, list: AttributeId, snapshot: Arc<dyn ElementSnapshot>) {
        self.elements.push(ElementList { list, snapshot, events: Vec::new() });
    }

    /// Begins the next element of the list begun last, and decodes it with `decode`.
    pub fn element<E: From<crate::Error>>(
        &mut self,
        limits: &Limits,
        decode: impl FnOnce(&mut Event, &Attributes) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.element_count += 1;
        limits::check("elements of lists", "elements", self.element_count, limits.elements)?;
        let mut event = self.spare.pop().unwrap_or_default();
        event.clear();
        event.element_count = self.element_count;
        event.now = self.now;
        event.deadline = self.deadline;
        event.keep_elements = self.keep_elements;
        if let Some(ElementList { snapshot, events, .. }) = self.elements.last_mut() {
            let attributes = snapshot.attributes();
            let pin = attributes.pin();
            let decoded = decode(&mut event, attributes);
            drop(pin);
            self.element_count = event.element_count;
            events.push(event);
            if decoded.is_err() {
                self.clear_elements();
            }
            return decoded;
        }
        Ok(())
    }

    /// Keeps the elements of lists when this event and later ones are decoded, so that an explanation can show which
    /// of them decided. Until it is cleared, the event then keeps the index of these elements alive.
    pub fn keep_elements(&mut self) {
        self.keep_elements = true;
    }

    /// The elements of a list, if they were tested one by one and kept, and the attributes with which they were
    /// decoded.
    pub(crate) fn elements_of(&self, list: AttributeId) -> Option<(&Attributes, &[Box<Event>])> {
        let found = self.elements.iter().find(|elements| elements.list == list)?;
        Some((found.snapshot.attributes(), &found.events))
    }

    /// Removes the elements, but keeps their memory.
    pub(super) fn clear_elements(&mut self) {
        self.element_count = 0;
        let lists = std::mem::take(&mut self.elements);
        self.recycle(lists);
    }

    /// Drops the snapshots of lists, so that working memory keeps no index alive: it is dropped only when its thread
    /// ends, too late for an index.
    fn recycle(&mut self, mut lists: Vec<ElementList>) {
        for list in lists.drain(..) {
            let room = SPARE.saturating_sub(self.spare.len());
            self.spare.extend(list.events.into_iter().take(room));
        }
        self.elements = lists;
    }

    /// Adds the expressions that the elements of lists satisfy.
    pub(super) fn ask_elements(
        &mut self,
        asked: &HashMap<AttributeId, Asked, ahash::RandomState>,
    ) -> Result<()> {
        let lists = std::mem::take(&mut self.elements);
        let mut done = Ok(());
        for list in &lists {
            if let (Some(asked), Ok(())) = (asked.get(&list.list), &done) {
                done = self.ask_list(list, *asked);
            }
        }
        if self.keep_elements {
            self.elements = lists;
        } else {
            self.recycle(lists);
        }
        done
    }

    fn ask_list(&mut self, list: &ElementList, asked: Asked) -> Result<()> {
        let (mut numbers, mut texts): (Vec<i64>, Vec<String>) = Default::default();
        list.snapshot.satisfied(&list.events, &mut |id| match id {
            IdRef::Integer(number) => numbers.push(number),
            IdRef::String(text) => texts.push(text.to_owned()),
        })?;
        numbers.sort_unstable();
        texts.sort_unstable();
        let everything = list.events.len();
        // The results are bounded by the subscriptions.
        let limits = Limits::none();
        for (attribute, least) in [(asked.any, 1), (asked.all, everything)] {
            let Some(attribute) = attribute else { continue };
            self.begin(attribute);
            // In ascending order, so that they need not be sorted again.
            for run in numbers.chunk_by(|one, other| one == other).filter(|run| run.len() >= least) {
                self.push(ValueRef::Integer(run[0]), &limits)?;
            }
            // All elements of an empty list satisfy everything, and none satisfies anything.
            if everything == 0 && least == 0 {
                self.push(ValueRef::String(EMPTY), &limits)?;
            }
            self.push(ValueRef::String(LIST), &limits)?;
            for run in texts.chunk_by(|one, other| one == other).filter(|run| run.len() >= least) {
                self.push(ValueRef::String(&run[0]), &limits)?;
            }
        }
        Ok(())
    }
}
