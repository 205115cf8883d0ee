//! Which attributes do subscriptions mention?
//!
//! A name is numbered when it is first mentioned, and held by the [`Attributes`] that it was mentioned to: those that
//! a segment was compiled with hold the names of its expressions for as long as it lives. After the last hold
//! the name is forgotten and its number given to another. Readers look names up without waiting for writers; a reader may see an
//! attribute that a newer subscription brought, which costs it a look at a value that no matcher of its moment
//! asks about.
//!
//! A number must not be given to another name while an event is decoded that has the old one. A decoder
//! therefore takes its snapshot first, which holds the names that are asked about, and pins the table
//! ([`Attributes::pin`]) while it looks names up: numbers are reused only after all pins of the time are gone.

mod elements;
mod program;
mod table;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arc_swap::{ArcSwapOption, Guard};

use super::Event;
use super::hierarchy::Hierarchy;
use crate::error::Result;
use crate::expression::{Expression, IT, is_hidden};
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;
use elements::MakeIndex;
pub(crate) use elements::{ElementIndex, ElementSnapshot};
pub(super) use program::{Argument, Asked, Computation, Program};
pub use table::Pin;
#[cfg(feature = "arrow")]
pub(super) use table::Reserved;
use table::{Table, lock};

/// The number of an attribute.
pub type AttributeId = u32;

/// What is known of a name that stands in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// The attribute of that name, where a subscription mentions it.
    pub attribute: Option<AttributeId>,
    /// Whether a mentioned attribute is below the name, as `user.age` is below `user`.
    pub prefix: bool,
}

/// The attributes that subscriptions mention, and the terms that events are to have.
///
/// Numbers are shared by all copies. Each copy has its own terms, so that a snapshot of an index keeps computing the
/// terms of its subscriptions, and keeps the names that it has numbered.
#[derive(Debug, Default)]
pub struct Attributes {
    table: Arc<Table>,
    /// None if there are no terms.
    program: ArcSwapOption<Program>,
    /// The terms for which the program was made, ascending.
    roots: Box<[AttributeId]>,
    settings: EventSettings,
    held: Mutex<HashSet<AttributeId, ahash::RandomState>>,
}

/// What holds for all events of an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSettings {
    pub missing: Missing,
    pub limits: Limits,
    pub time_zone: TimeZone,
}

/// The hierarchies of attributes that have one.
pub(super) type Hierarchies = HashMap<AttributeId, Arc<Hierarchy>, ahash::RandomState>;

impl Drop for Attributes {
    fn drop(&mut self) {
        let held = std::mem::take(&mut *lock(&self.held));
        if !held.is_empty() {
            self.table.release_all(held);
        }
    }
}

impl Attributes {
    /// No attributes yet, for an index or a graph.
    pub fn new(missing: Missing, limits: &Limits, time_zone: TimeZone) -> Attributes {
        Attributes::over(Arc::default(), None, EventSettings { missing, limits: limits.clone(), time_zone })
    }

    /// No attributes yet, in a time zone.
    pub fn in_zone(time_zone: TimeZone) -> Attributes {
        Attributes::over(Arc::default(), None, EventSettings { time_zone, ..EventSettings::default() })
    }

    /// The time zone of times without an offset, in expressions and in events.
    pub fn time_zone(&self) -> &TimeZone {
        &self.settings.time_zone
    }

    fn over(table: Arc<Table>, program: Option<Arc<Program>>, settings: EventSettings) -> Attributes {
        let (program, roots, held) = (ArcSwapOption::new(program), Box::default(), Mutex::default());
        Attributes { table, program, roots, settings, held }
    }

    /// The same attributes, with these terms and no others; `terms` is ascending.
    pub(crate) fn with_terms(&self, terms: Vec<AttributeId>) -> Attributes {
        let program = (!terms.is_empty()).then(|| {
            let mut program = Program::default();
            terms.iter().for_each(|term| self.activate(*term, &mut program));
            Arc::new(program)
        });
        let mut attributes = Attributes::over(Arc::clone(&self.table), program, self.settings.clone());
        attributes.roots = terms.into();
        attributes
    }

    /// A copy that can learn new terms and names without being used to decode events. It keeps what it learns for as
    /// long as it lives.
    pub(crate) fn fork(&self) -> Attributes {
        let mut fork = Attributes::over(Arc::clone(&self.table), self.program(), self.settings.clone());
        fork.roots = self.roots.clone();
        fork
    }

    /// The terms that subscriptions use, ascending.
    pub(crate) fn roots(&self) -> &[AttributeId] {
        &self.roots
    }

    /// Adds a term, and the terms it is computed from, to a program.
    fn activate(&self, term: AttributeId, program: &mut Program) {
        if program.contains(term) {
            return;
        }
        if let Some((list, all)) = self.table.list_of(term) {
            return program.ask(list, term, all);
        }
        let Some(computation) = self.table.computation(term) else { return };
        // The nesting of terms is limited.
        computation.arguments().for_each(|argument| self.activate(argument, program));
        program.insert(term, computation);
    }

    /// The terms of events, if there are any.
    pub(super) fn program(&self) -> Option<Arc<Program>> {
        Guard::into_inner(self.program.load())
    }

    /// How many terms are computed.
    pub fn terms(&self) -> usize {
        self.program.load().as_ref().map_or(0, |program| program.len())
    }

    /// Whether decoding an event computes nothing: there are no terms and no expressions about elements.
    pub fn is_plain(&self) -> bool {
        self.program.load().is_none()
    }

    /// Whether a term depends on the type of an attribute, whatever its values.
    pub fn asks_shape(&self, attribute: AttributeId) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asks_shape(attribute))
    }

    /// Whether a term distinguishes a null from a missing attribute.
    #[cfg(feature = "arrow")]
    pub(super) fn asks_null(&self, attribute: AttributeId) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asks_null(attribute))
    }

    /// The values of the whole event, if a subscription uses them.
    pub fn asks_values(&self) -> Option<AttributeId> {
        self.program.load().as_ref().and_then(|program| program.values())
    }

    /// Whether a subscription may use `now()`. Where elements of lists are asked about, they are assumed to.
    pub fn asks_now(&self) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asks_now())
    }

    /// The element of a list itself, if expressions test it.
    pub fn it(&self) -> Option<AttributeId> {
        self.table.find(&IT.into())
    }

    /// The expressions about the elements of a list at this moment, if there are any.
    pub(super) fn elements_of(&self, list: AttributeId) -> Option<Arc<dyn ElementSnapshot>> {
        let asked = self.asks_elements(list);
        asked.then(|| self.table.elements_of(list))?.map(|index| index.snapshot())
    }

    /// Begins the elements of a list in an event, if expressions test them; returns whether they do.
    pub fn begin_elements(&self, list: AttributeId, event: &mut Event) -> bool {
        let snapshot = self.elements_of(list);
        let asked = snapshot.is_some();
        snapshot.into_iter().for_each(|snapshot| event.begin_elements(list, snapshot));
        asked
    }

    /// Waits until nothing is left to merge in the indexes of elements.
    pub(crate) fn settle_elements(&self) {
        self.table.all_elements().iter().for_each(|index| index.settle());
    }

    /// Like [`Attributes::settle_elements`], but not much longer than this; returns whether nothing is left.
    pub(crate) fn settle_elements_within(&self, patience: Duration) -> bool {
        self.table.all_elements().iter().all(|index| index.settle_within(patience))
    }

    /// Whether expressions test the elements of a list.
    pub fn asks_elements(&self, list: AttributeId) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asked().contains_key(&list))
    }

    /// Counts the expressions about elements that an expression contains; `make` makes their indexes. Fails if a
    /// limit is exceeded, and then counts nothing.
    pub(crate) fn retain_elements<'a>(
        &self,
        expressions: impl Iterator<Item = &'a Expression>,
        make: MakeIndex,
    ) -> Result<()> {
        let texts = asked_of_lists(expressions);
        let mut retained: Vec<(Arc<dyn ElementIndex>, &Vec<&str>)> = Vec::new();
        for (list, texts) in &texts {
            let EventSettings { missing, limits, time_zone, .. } = &self.settings;
            let index = self.table.make_elements(&(*list).into(), || make(*missing, limits, time_zone));
            if let Err(error) = index.retain(texts) {
                retained.iter().for_each(|(index, texts)| index.release(texts));
                return Err(error);
            }
            retained.push((index, texts));
        }
        Ok(())
    }

    /// Undoes [`Attributes::retain_elements`].
    pub(crate) fn release_elements<'a>(&self, expressions: impl Iterator<Item = &'a Expression>) {
        for (list, texts) in asked_of_lists(expressions) {
            let list = self.find(&list.into());
            if let Some(index) = list.and_then(|list| self.table.elements_of(list)) {
                index.release(&texts);
            }
        }
    }

    pub(super) fn settings(&self) -> &EventSettings {
        &self.settings
    }

    /// The number of an attribute, assigned now if it has none, and kept for as long as this lives. If it is a term,
    /// it is computed for events that are decoded from now on.
    pub fn intern(&self, name: &Arc<str>) -> AttributeId {
        let attribute = {
            let mut held = lock(&self.held);
            match self.table.find(name).filter(|attribute| held.contains(attribute)) {
                Some(attribute) => attribute,
                None => self.table.hold(name, &mut held),
            }
        };
        if is_hidden(name) {
            self.demand(attribute);
        }
        attribute
    }

    /// Computes a term for events from now on.
    fn demand(&self, term: AttributeId) {
        let known = |program: &Arc<Program>| {
            program.contains(term)
                || self.table.list_of(term).is_some_and(|(list, all)| {
                    let asked = program.asked().get(&list).copied().unwrap_or_default();
                    (if all { asked.all } else { asked.any }) == Some(term)
                })
        };
        if !self.program.load().as_ref().is_some_and(known) {
            self.program.rcu(|program| {
                let mut program = program.as_deref().cloned().unwrap_or_default();
                self.activate(term, &mut program);
                (!program.is_empty()).then(|| Arc::new(program))
            });
        }
    }

    /// The number of an attribute, if it has one.
    pub fn find(&self, name: &Arc<str>) -> Option<AttributeId> {
        self.table.find(name)
    }

    /// The attribute whose values are the XPath expressions that a document satisfies, if a subscription uses one.
    pub fn satisfied(&self) -> Option<AttributeId> {
        self.table.satisfied()
    }

    /// What is known about a name in an event. To look up several names of an event, pin the table once and use
    /// [`Pin::mention`].
    pub fn mention(&self, name: &str) -> Option<Mention> {
        self.table.mention(name)
    }

    /// Keeps the numbers of names that are looked up from being reused meanwhile.
    pub fn pin(&self) -> Pin<'_> {
        self.table.pin()
    }

    /// Keeps the number of a name, if it has one, from being reused.
    #[cfg(feature = "arrow")]
    pub(super) fn reserve(&self, name: &str) -> Option<Reserved> {
        self.table.reserve(name)
    }

    /// Sets or removes the hierarchy of an attribute, for events that are decoded from now on.
    pub fn set_hierarchy(&self, name: &Arc<str>, hierarchy: Option<Hierarchy>) {
        self.table.set_hierarchy(name, hierarchy);
    }

    /// The hierarchies by the names of their attributes, in the order of the names.
    pub fn named_hierarchies(&self) -> Vec<(Arc<str>, Arc<Hierarchy>)> {
        self.table.named_hierarchies()
    }

    /// The hierarchies, if there are any.
    pub(super) fn hierarchies(&self) -> Option<Arc<Hierarchies>> {
        self.table.hierarchies()
    }

    /// The attribute's name, unless it has been released meanwhile.
    pub fn name(&self, attribute: AttributeId) -> Option<Arc<str>> {
        self.table.name(attribute)
    }

    /// The names that events can have, in the order of their numbers.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.table.visible_names()
    }

    /// The number of mentioned attributes that events can name.
    pub fn visible(&self) -> usize {
        self.table.visible()
    }

    /// The number of mentioned attributes, including those that no event can name.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether no attribute is mentioned.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The texts of expressions about elements, by list.
fn asked_of_lists<'a>(
    expressions: impl Iterator<Item = &'a Expression>,
) -> HashMap<&'a str, Vec<&'a str>, ahash::RandomState> {
    let mut texts: HashMap<_, Vec<_>, _> = HashMap::default();
    for elements in
        expressions.flat_map(Expression::predicates).filter_map(|predicate| predicate.as_elements())
    {
        texts.entry(elements.list).or_default().push(elements.text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Arc<str> {
        text.into()
    }

    #[test]
    fn prefixes_are_known() {
        let attributes = Attributes::default();
        let state = attributes.intern(&"user.geo.state".into());
        let geo = attributes.intern(&"user.geo".into());
        assert_eq!(attributes.intern(&"user.geo.state".into()), state);
        assert_eq!(attributes.mention("user"), Some(Mention { attribute: None, prefix: true }));
        assert_eq!(attributes.mention("user.geo"), Some(Mention { attribute: Some(geo), prefix: true }));
        assert_eq!(
            attributes.mention("user.geo.state"),
            Some(Mention { attribute: Some(state), prefix: false })
        );
        assert_eq!(attributes.mention("use"), None);
        assert_eq!(attributes.name(geo).as_deref(), Some("user.geo"));
        assert_eq!(attributes.len(), 2);
    }

    #[test]
    fn names_are_forgotten_with_their_last_hold() {
        let attributes = Attributes::default();
        let (one, other) = (attributes.fork(), attributes.fork());
        for text in ["a.b", "a.b", "a"] {
            one.intern(&name(text));
        }
        for text in ["a.b", "a.c"] {
            other.intern(&name(text));
        }
        assert_eq!(attributes.len(), 3);
        drop(one);
        assert_eq!(attributes.len(), 2);
        assert_eq!(attributes.mention("a"), Some(Mention { attribute: None, prefix: true }));
        assert!(attributes.find(&name("a.b")).is_some());
        drop(other);
        assert!(attributes.is_empty());
        assert_eq!(attributes.mention("a"), None);
    }

    #[test]
    fn hierarchies_hold_their_attributes() {
        let attributes = Attributes::default();
        attributes.intern(&name("x"));
        attributes.set_hierarchy(&name("y"), Some(Hierarchy::Dates));
        assert_eq!(attributes.len(), 2);
        attributes.set_hierarchy(&name("y"), Some(Hierarchy::Dates));
        attributes.set_hierarchy(&name("y"), None);
        attributes.set_hierarchy(&name("z"), None);
        assert_eq!(attributes.names(), [name("x")]);
    }

    #[test]
    fn numbers_are_reused_but_not_while_a_decoder_may_have_them() {
        let attributes = Attributes::default();
        let first = attributes.fork();
        let old = first.intern(&name("old"));
        let pin = attributes.pin();
        drop(first);
        for number in 0..1000 {
            assert_ne!(attributes.fork().intern(&name(&format!("new{number}"))), old);
        }
        drop(pin);
        let numbers = (0..10_000).map(|number| attributes.fork().intern(&name(&format!("newer{number}"))));
        assert!(numbers.max() < Some(2_000));
    }

    #[test]
    fn terms_hold_what_they_are_computed_from() {
        let attributes = Attributes::default();
        let parsed = crate::parse("length(lower(some.name)) > 3", &Limits::default()).unwrap();
        for _ in 0..3 {
            let fork = attributes.fork();
            let terms: Vec<AttributeId> =
                parsed.predicates().map(|predicate| fork.intern(predicate.attribute())).collect();
            let argument = attributes.find(&name("some.name")).unwrap();
            // The arguments of a term come before it.
            assert!(terms.iter().all(|term| *term > argument));
            assert_eq!((attributes.len(), attributes.visible()), (3, 1));
            // A number below the argument's is free, but not used for a term.
            drop(fork);
            assert!(attributes.is_empty());
            let (low, high) = (attributes.fork(), attributes.fork());
            low.intern(&name("low"));
            high.intern(&name("some.name"));
            drop(low);
            for number in 0..100 {
                attributes.fork().intern(&name(&format!("other{number}")));
            }
            let again = attributes.fork();
            let argument = attributes.find(&name("some.name")).unwrap();
            let terms = parsed.predicates().map(|predicate| again.intern(predicate.attribute()));
            assert!(terms.min() > Some(argument));
        }
    }
}
