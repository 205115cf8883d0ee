//! Which attributes do subscriptions mention?
//!
//! Names are numbered once and keep their number. Readers look names up without waiting for writers;
//! a reader may see an attribute that a newer subscription brought, which costs it a look at a value
//! that no matcher of its moment asks about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwapOption, Guard};

use super::Event;
use super::elements::{ElementIndex, MakeIndex};
use super::hierarchy::Hierarchy;
use super::program::{Argument, Computation, Program};
use crate::error::Result;
use crate::expression::{Expression, IT, Term, is_hidden, is_satisfied, list_of};
use crate::limits::Limits;
use crate::truth::Missing;
use crate::value::TimeZone;

/// The number of an attribute.
pub type AttributeId = u32;

/// What is known of a name that stands in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// The attribute of that name, where a subscription mentions it.
    pub attribute: Option<AttributeId>,
    /// Whether a mentioned attribute lies below the name, as `user.age` lies below `user`.
    pub prefix: bool,
}

/// The attributes that subscriptions mention, and the terms that events are to have.
///
/// Numbers are shared by all copies; each has terms of its own, so that a snapshot of an index keeps
/// computing what its subscriptions ask for.
#[derive(Debug, Default)]
pub struct Attributes {
    table: Arc<Table>,
    /// None where there are no terms.
    program: ArcSwapOption<Program>,
    /// The terms that the program was made for, ascending.
    roots: Box<[AttributeId]>,
    settings: Settings,
}

/// What holds for all events of an index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    pub missing: Missing,
    pub limits: Limits,
    pub time_zone: TimeZone,
}

#[derive(Debug, Default)]
struct Table {
    mentions: papaya::HashMap<Arc<str>, Mention, ahash::RandomState>,
    names: Mutex<Vec<Arc<str>>>,
    /// What a document satisfies, which is an attribute that no event can name.
    satisfied: OnceLock<AttributeId>,
    /// Attributes that no event can name.
    hidden: papaya::HashMap<Arc<str>, AttributeId, ahash::RandomState>,
    /// The lists whose elements are asked about, by the attributes whose values are what they satisfy, and
    /// whether it is all of them.
    lists: papaya::HashMap<AttributeId, (AttributeId, bool), ahash::RandomState>,
    /// What is asked of the elements of lists.
    elements: papaya::HashMap<AttributeId, Arc<dyn ElementIndex>, ahash::RandomState>,
    /// How terms are computed.
    computations: papaya::HashMap<AttributeId, Arc<Computation>, ahash::RandomState>,
    /// None where no attribute has one.
    hierarchies: ArcSwapOption<Hierarchies>,
}

/// The hierarchies of attributes that have one.
pub(super) type Hierarchies = HashMap<AttributeId, Arc<Hierarchy>, ahash::RandomState>;

impl Attributes {
    /// No attributes yet, for an index or a graph.
    pub fn new(missing: Missing, limits: &Limits, time_zone: TimeZone) -> Attributes {
        let settings = Settings { missing, limits: limits.clone(), time_zone };
        Attributes { settings, ..Attributes::default() }
    }

    /// No attributes yet, in a time zone.
    pub fn in_zone(time_zone: TimeZone) -> Attributes {
        let settings = Settings { time_zone, ..Settings::default() };
        Attributes { settings, ..Attributes::default() }
    }

    /// Where times without an offset are at home, in expressions and in events.
    pub fn time_zone(&self) -> &TimeZone {
        &self.settings.time_zone
    }

    /// The same attributes, with these terms and no others; `terms` is ascending.
    pub(crate) fn with_terms(&self, terms: Vec<AttributeId>) -> Attributes {
        let program = (!terms.is_empty()).then(|| {
            let mut program = Program::default();
            terms.iter().for_each(|term| self.activate(*term, &mut program));
            Arc::new(program)
        });
        let (table, settings) = (Arc::clone(&self.table), self.settings.clone());
        Attributes { table, program: ArcSwapOption::new(program), roots: terms.into(), settings }
    }

    /// A copy that can learn new terms without being used to decode events.
    pub(crate) fn fork(&self) -> Attributes {
        let (table, settings) = (Arc::clone(&self.table), self.settings.clone());
        Attributes { table, program: ArcSwapOption::new(self.program()), roots: self.roots.clone(), settings }
    }

    /// The terms that subscriptions ask for, ascending.
    pub(crate) fn roots(&self) -> &[AttributeId] {
        &self.roots
    }

    /// Adds a term, and the terms it is computed from, to a program.
    fn activate(&self, term: AttributeId, program: &mut Program) {
        if program.contains(term) {
            return;
        }
        if let Some((list, all)) = self.table.lists.pin().get(&term) {
            return program.ask(*list, term, *all);
        }
        let Some(computation) = self.table.computations.pin().get(&term).cloned() else { return };
        // Terms nest only so deep.
        computation.arguments().for_each(|argument| self.activate(argument, program));
        program.insert(term, computation);
    }

    /// The terms that events have, if there are any.
    pub(super) fn program(&self) -> Option<Arc<Program>> {
        Guard::into_inner(self.program.load())
    }

    /// How many terms are computed.
    pub fn terms(&self) -> usize {
        self.program.load().as_ref().map_or(0, |program| program.len())
    }

    /// Whether a term is computed from what an attribute is like, whatever its values are.
    pub fn asks_shape(&self, attribute: AttributeId) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asks_shape(attribute))
    }

    /// The element of a list, where it is asked about itself.
    pub fn it(&self) -> Option<AttributeId> {
        self.table.hidden.pin().get(IT).copied()
    }

    /// Begins the elements of a list in an event, where they are asked about one by one; returns whether
    /// they are.
    pub fn begin_elements(&self, list: AttributeId, event: &mut Event) -> bool {
        let asked = self.program.load().as_ref().is_some_and(|program| program.asked().contains_key(&list));
        let index = self.table.elements.pin().get(&list).cloned().filter(|_| asked);
        if let Some(index) = &index {
            event.begin_elements(list, index.snapshot());
        }
        index.is_some()
    }

    /// Whether the elements of a list are asked about one by one.
    pub fn asks_elements(&self, list: AttributeId) -> bool {
        self.program.load().as_ref().is_some_and(|program| program.asked().contains_key(&list))
    }

    /// Counts what an expression asks of elements of lists, which `make` makes indexes for. Fails where
    /// that is beyond a limit, and counts nothing.
    pub(crate) fn retain_elements<'a>(
        &self,
        expressions: impl Iterator<Item = &'a Expression>,
        make: MakeIndex,
    ) -> Result<()> {
        let mut texts: HashMap<&str, Vec<&str>, ahash::RandomState> = HashMap::default();
        for elements in
            expressions.flat_map(Expression::predicates).filter_map(|predicate| predicate.as_elements())
        {
            texts.entry(elements.list).or_default().push(elements.text);
        }
        let mut retained: Vec<(Arc<dyn ElementIndex>, &Vec<&str>)> = Vec::new();
        for (list, texts) in &texts {
            let list = self.intern(&(*list).into());
            let index = {
                let Settings { missing, limits, time_zone } = &self.settings;
                let all = self.table.elements.pin();
                Arc::clone(all.get_or_insert_with(list, || make(*missing, limits, time_zone)))
            };
            if let Err(error) = index.retain(texts) {
                for (index, texts) in retained {
                    texts.iter().for_each(|text| index.release(text));
                }
                return Err(error);
            }
            retained.push((index, texts));
        }
        Ok(())
    }

    /// Takes back what an expression asks of elements of lists.
    pub(crate) fn release_elements(&self, expression: &Expression) {
        for elements in expression.predicates().filter_map(|predicate| predicate.as_elements()) {
            let list = self.find(&elements.list.into());
            if let Some(index) = list.and_then(|list| self.table.elements.pin().get(&list).cloned()) {
                index.release(elements.text);
            }
        }
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The number of an attribute, given to it now if it has none. Events that are decoded from now on
    /// have it, if it is a term.
    pub fn intern(&self, name: &Arc<str>) -> AttributeId {
        if is_hidden(name) {
            return self.intern_term(name);
        }
        if let Some(attribute) = self.find(name) {
            return attribute;
        }
        let mut names = self.names();
        if let Some(attribute) = self.find(name) {
            return attribute;
        }
        let attribute = names.len() as AttributeId;
        names.push(name.clone());
        if is_satisfied(name) {
            return *self.table.satisfied.get_or_init(|| attribute);
        }
        let mentions = self.table.mentions.pin();
        for (dot, _) in name.match_indices('.') {
            let above = self.mention(&name[..dot]);
            if above.is_none_or(|mention| !mention.prefix) {
                let attribute = above.and_then(|mention| mention.attribute);
                mentions.insert(name[..dot].into(), Mention { attribute, prefix: true });
            }
        }
        let prefix = self.mention(name).is_some_and(|mention| mention.prefix);
        mentions.insert(name.clone(), Mention { attribute: Some(attribute), prefix });
        attribute
    }

    fn intern_term(&self, name: &Arc<str>) -> AttributeId {
        let term = self.find(name).unwrap_or_else(|| {
            let list = list_of(name).map(|(all, list)| (self.intern(&list.into()), all));
            // The names of terms were written by terms; one that cannot be read is never computed.
            let computation = match list {
                None => Term::from_name(name).ok().and_then(|term| self.computation(&term)),
                Some(_) => None,
            };
            let mut names = self.names();
            if let Some(term) = self.find(name) {
                return term;
            }
            let term = names.len() as AttributeId;
            names.push(name.clone());
            if let Some(list) = list {
                self.table.lists.pin().insert(term, list);
            }
            if let Some(computation) = computation {
                self.table.computations.pin().insert(term, Arc::new(computation));
            }
            self.table.hidden.pin().insert(name.clone(), term);
            term
        });
        let known = |program: &Arc<Program>| {
            program.contains(term)
                || self.table.lists.pin().get(&term).is_some_and(|(list, all)| {
                    let asked = program.asked().get(list).copied().unwrap_or_default();
                    (if *all { asked.all } else { asked.any }) == Some(term)
                })
        };
        if !self.program.load().as_ref().is_some_and(known) {
            self.program.rcu(|program| {
                let mut program = program.as_deref().cloned().unwrap_or_default();
                self.activate(term, &mut program);
                (!program.is_empty()).then(|| Arc::new(program))
            });
        }
        term
    }

    /// How a term is computed; its arguments have lower numbers than it is going to have.
    fn computation(&self, term: &Term) -> Option<Computation> {
        let Term::Call(function, arguments) = term else { return None };
        let arguments = arguments.iter().map(|argument| match argument {
            Term::Constant(value) => Argument::Constant(value.clone()),
            other => Argument::Attribute(self.intern(&other.name())),
        });
        Some(Computation { function: *function, arguments: arguments.collect() })
    }

    /// The number of an attribute, if it has one.
    pub fn find(&self, name: &Arc<str>) -> Option<AttributeId> {
        if is_satisfied(name) {
            return self.satisfied();
        }
        if is_hidden(name) {
            return self.table.hidden.pin().get(name).copied();
        }
        self.mention(name).and_then(|mention| mention.attribute)
    }

    /// The attribute whose values are the XPath expressions that a document satisfies, where a
    /// subscription asks for one.
    pub fn satisfied(&self) -> Option<AttributeId> {
        self.table.satisfied.get().copied()
    }

    /// What is known of a name in an event.
    pub fn mention(&self, name: &str) -> Option<Mention> {
        self.table.mentions.pin().get(name).copied()
    }

    /// Gives an attribute a hierarchy, or takes it away; events that are decoded from now on have it.
    pub fn set_hierarchy(&self, name: &Arc<str>, hierarchy: Option<Hierarchy>) {
        let attribute = self.intern(name);
        let hierarchy = hierarchy.map(Arc::new);
        self.table.hierarchies.rcu(|known| {
            let mut all = known.as_deref().cloned().unwrap_or_default();
            match &hierarchy {
                Some(hierarchy) => all.insert(attribute, Arc::clone(hierarchy)),
                None => all.remove(&attribute),
            };
            (!all.is_empty()).then(|| Arc::new(all))
        });
    }

    /// The hierarchies by the names of their attributes, in the order of the names.
    pub fn named_hierarchies(&self) -> Vec<(Arc<str>, Arc<Hierarchy>)> {
        let all = self.table.hierarchies.load();
        let all = all.iter().flat_map(|all| all.iter());
        let mut named: Vec<_> =
            all.map(|(attribute, hierarchy)| (self.name(*attribute), Arc::clone(hierarchy))).collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named
    }

    /// The hierarchies, if there are any.
    pub(super) fn hierarchies(&self) -> Option<Arc<Hierarchies>> {
        Guard::into_inner(self.table.hierarchies.load())
    }

    /// The attribute's name.
    pub fn name(&self, attribute: AttributeId) -> Arc<str> {
        self.names()[attribute as usize].clone()
    }

    /// How many attributes are mentioned that events can name.
    pub fn visible(&self) -> usize {
        let hidden = self.table.hidden.len() + usize::from(self.satisfied().is_some());
        self.len() - hidden.min(self.len())
    }

    /// How many attributes are mentioned, those included that no event can name.
    pub fn len(&self) -> usize {
        self.names().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn names(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        // The list is only pushed to, so it is sound whatever its last holder did.
        self.table.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(&*attributes.name(geo), "user.geo");
        assert_eq!(attributes.len(), 2);
    }
}
