//! Which names have numbers, and which prefixes do they have?

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwapOption, Guard};

use super::{Argument, AttributeId, Computation, ElementIndex, Hierarchies, Mention};
use crate::event::hierarchy::Hierarchy;
use crate::expression::{Term, is_hidden, is_satisfied, list_of};

/// Numbers that someone holds.
type Held = HashSet<AttributeId, ahash::RandomState>;

/// The names that are held. Changes are made under the lock of `names`; reads need no lock.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Names and their prefixes.
    mentions: Mentions,
    names: Mutex<Names>,
    /// Numbers whose names are gone and that no decoder is using.
    free: Arc<Mutex<Vec<AttributeId>>>,
    /// The attribute for what a document satisfies, which no event can name.
    satisfied: OnceLock<AttributeId>,
    /// Attributes that no event can name.
    hidden: papaya::HashMap<Arc<str>, AttributeId, ahash::RandomState>,
    /// The list of each attribute whose values are what elements satisfy, and whether it is about all elements.
    lists: papaya::HashMap<AttributeId, (AttributeId, bool), ahash::RandomState>,
    /// The indexes of expressions about elements, by the list, which they hold.
    elements: papaya::HashMap<AttributeId, Arc<dyn ElementIndex>, ahash::RandomState>,
    /// How terms are computed.
    computations: papaya::HashMap<AttributeId, Arc<Computation>, ahash::RandomState>,
    /// None if no attribute has one.
    hierarchies: ArcSwapOption<Hierarchies>,
}

type Mentions = papaya::HashMap<Prefix, NameEntry, ahash::RandomState>;

/// A name, or a prefix of one up to a dot. Prefixes share the text, so a name takes memory linear in its length
/// however many dots it has.
#[derive(Debug, Clone)]
struct Prefix {
    name: Arc<str>,
    end: usize,
}

impl Borrow<str> for Prefix {
    fn borrow(&self) -> &str {
        &self.name[..self.end]
    }
}

impl Hash for Prefix {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let text: &str = self.borrow();
        text.hash(state);
    }
}

impl PartialEq for Prefix {
    fn eq(&self, other: &Self) -> bool {
        let (one, other): (&str, &str) = (self.borrow(), other.borrow());
        one == other
    }
}

impl Eq for Prefix {}

/// What the table knows about a name or prefix.
#[derive(Debug, Clone, Default)]
struct NameEntry {
    /// The number of the name, which the lease has as well: a reader need not follow its pointer.
    lease: Option<(AttributeId, Arc<Lease>)>,
    /// How many mentioned names are below it.
    below: u32,
}

/// A number in use. The table drops removed entries once no pin is left that existed when they were removed; then the
/// number is free.
#[derive(Debug)]
struct Lease {
    attribute: AttributeId,
    free: Arc<Mutex<Vec<AttributeId>>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        lock(&self.free).push(self.attribute);
    }
}

/// The names by their numbers.
#[derive(Debug, Default)]
struct Names {
    list: Vec<Named>,
    /// How many numbers have names.
    live: usize,
}

#[derive(Debug, Default, Clone)]
struct Named {
    name: Option<Arc<str>>,
    holds: u32,
}

/// Keeps the numbers of names that are looked up from being reused meanwhile.
#[derive(Debug)]
pub struct Pin<'a> {
    mentions: papaya::HashMapRef<'a, Prefix, NameEntry, ahash::RandomState, papaya::LocalGuard<'a>>,
}

impl Pin<'_> {
    /// What is known about a name in an event.
    pub fn mention(&self, name: &str) -> Option<Mention> {
        let entry = self.mentions.get(name)?;
        let attribute = entry.lease.as_ref().map(|(attribute, _)| *attribute);
        Some(Mention { attribute, prefix: entry.below > 0 })
    }
}

/// Keeps one number from being reused for longer than a pin.
#[cfg(feature = "arrow")]
#[derive(Debug)]
pub(in crate::event) struct Reserved {
    _lease: Arc<Lease>,
}

impl Table {
    /// Numbers a name and holds it, if it is not held already.
    pub fn hold(&self, name: &Arc<str>, held: &mut Held) -> AttributeId {
        let mut names = lock(&self.names);
        let attribute = self.intern(&mut names, name);
        if held.insert(attribute) {
            names.list[attribute as usize].holds += 1;
        }
        attribute
    }

    /// Releases names.
    pub fn release_all(&self, held: Held) {
        let mut names = lock(&self.names);
        held.into_iter().for_each(|attribute| self.release(&mut names, attribute));
    }

    fn hold_one(&self, names: &mut Names, name: &Arc<str>) -> AttributeId {
        let attribute = self.intern(names, name);
        names.list[attribute as usize].holds += 1;
        attribute
    }

    fn intern(&self, names: &mut Names, name: &Arc<str>) -> AttributeId {
        if let Some(attribute) = self.find(name) {
            return attribute;
        }
        if is_hidden(name) {
            return self.intern_term(names, name);
        }
        let attribute = self.number(names, name, None);
        if is_satisfied(name) {
            return *self.satisfied.get_or_init(|| attribute);
        }
        self.change_above(name, |entry| entry.below += 1);
        let lease = Some((attribute, Arc::new(Lease { attribute, free: Arc::clone(&self.free) })));
        self.change(name, name.len(), |entry| entry.lease = lease);
        attribute
    }

    /// Numbers a term, which holds its arguments.
    fn intern_term(&self, names: &mut Names, name: &Arc<str>) -> AttributeId {
        let list = list_of(name).map(|(all, list)| (self.hold_one(names, &list.into()), all));
        // Names of terms are written by terms; one that cannot be parsed is never computed.
        let computation = match Term::from_name(name) {
            _ if list.is_some() => None,
            Ok(Term::Call(function, arguments)) => {
                let arguments = arguments.iter().map(|argument| match argument {
                    Term::Constant(value) => Argument::Constant(value.clone()),
                    other => Argument::Attribute(self.hold_one(names, &other.name())),
                });
                Some(Computation { function, arguments: arguments.collect() })
            }
            _ => None,
        };
        let last = computation.as_ref().and_then(|computation| computation.arguments().max());
        let term = self.number(names, name, last.max(list.map(|(list, _)| list)));
        if let Some(list) = list {
            self.lists.pin().insert(term, list);
        }
        if let Some(computation) = computation {
            self.computations.pin().insert(term, Arc::new(computation));
        }
        self.hidden.pin().insert(name.clone(), term);
        term
    }

    /// A number for a name, greater than another: terms are computed in the order of their numbers.
    fn number(&self, names: &mut Names, name: &Arc<str>, above: Option<AttributeId>) -> AttributeId {
        let mut free = lock(&self.free);
        let fitting = free.iter().rposition(|&number| Some(number) > above);
        let attribute = fitting.map(|position| free.swap_remove(position)).unwrap_or_else(|| {
            names.list.push(Named::default());
            names.list.len() as AttributeId - 1
        });
        names.list[attribute as usize] = Named { name: Some(name.clone()), holds: 0 };
        names.live += 1;
        attribute
    }

    /// Releases a name; after the last release it is removed.
    fn release(&self, names: &mut Names, attribute: AttributeId) {
        let named = &mut names.list[attribute as usize];
        named.holds -= 1;
        if named.holds > 0 || self.satisfied() == Some(attribute) {
            return;
        }
        let Some(name) = named.name.take() else { return };
        names.live -= 1;
        if is_hidden(&name) {
            self.hidden.pin().remove(&name);
            // The nesting of terms is limited.
            if let Some(computation) = self.computations.pin().remove(&attribute) {
                computation.arguments().for_each(|argument| self.release(names, argument));
            }
            if let Some((list, _)) = self.lists.pin().remove(&attribute) {
                self.release(names, *list);
            }
            // Decoders know it through the terms of their snapshot, which hold it.
            lock(&self.free).push(attribute);
            return;
        }
        self.change(&name, name.len(), |entry| entry.lease = None);
        self.change_above(&name, |entry| entry.below -= 1);
    }

    /// Changes the entries of all prefixes of a name.
    fn change_above(&self, name: &Arc<str>, change: impl Fn(&mut NameEntry)) {
        for (dot, _) in name.match_indices('.') {
            self.change(name, dot, &change);
        }
    }

    /// Changes the entry of a prefix; an entry without content is removed.
    fn change(&self, name: &Arc<str>, end: usize, change: impl FnOnce(&mut NameEntry)) {
        let mentions = self.mentions.pin();
        let mut entry = mentions.get(&name[..end]).cloned().unwrap_or_default();
        change(&mut entry);
        if entry.lease.is_none() && entry.below == 0 {
            mentions.remove(&name[..end]);
        } else {
            mentions.insert(Prefix { name: name.clone(), end }, entry);
        }
    }

    /// The list whose elements an attribute is about, and whether it is about all of them.
    pub fn list_of(&self, term: AttributeId) -> Option<(AttributeId, bool)> {
        self.lists.pin().get(&term).copied()
    }

    /// The indexes of expressions about elements, of all lists.
    pub fn all_elements(&self) -> Vec<Arc<dyn ElementIndex>> {
        self.elements.pin().values().cloned().collect()
    }

    /// The index of expressions about the elements of a list.
    pub fn elements_of(&self, list: AttributeId) -> Option<Arc<dyn ElementIndex>> {
        self.elements.pin().get(&list).cloned()
    }

    /// The index of expressions about the elements of a list, created if there is none. It holds the list from then
    /// on.
    pub fn make_elements(
        &self,
        list: &Arc<str>,
        make: impl FnOnce() -> Arc<dyn ElementIndex>,
    ) -> Arc<dyn ElementIndex> {
        let mut names = lock(&self.names);
        let list = self.intern(&mut names, list);
        if let Some(index) = self.elements_of(list) {
            return index;
        }
        names.list[list as usize].holds += 1;
        let index = make();
        self.elements.pin().insert(list, Arc::clone(&index));
        index
    }

    /// How a term is computed.
    pub fn computation(&self, term: AttributeId) -> Option<Arc<Computation>> {
        self.computations.pin().get(&term).cloned()
    }

    pub fn find(&self, name: &Arc<str>) -> Option<AttributeId> {
        if is_satisfied(name) {
            return self.satisfied();
        }
        if is_hidden(name) {
            return self.hidden.pin().get(name).copied();
        }
        self.mention(name).and_then(|mention| mention.attribute)
    }

    pub fn satisfied(&self) -> Option<AttributeId> {
        self.satisfied.get().copied()
    }

    pub fn mention(&self, name: &str) -> Option<Mention> {
        self.pin().mention(name)
    }

    pub fn pin(&self) -> Pin<'_> {
        Pin { mentions: self.mentions.pin() }
    }

    #[cfg(feature = "arrow")]
    pub fn reserve(&self, name: &str) -> Option<Reserved> {
        let (_, lease) = self.mentions.pin().get(name)?.lease.clone()?;
        Some(Reserved { _lease: lease })
    }

    /// A hierarchy holds its attribute.
    pub fn set_hierarchy(&self, name: &Arc<str>, hierarchy: Option<Hierarchy>) {
        let mut names = lock(&self.names);
        let attribute = self.hold_one(&mut names, name);
        let mut all = self.hierarchies().as_deref().cloned().unwrap_or_default();
        let (set, before) = match hierarchy {
            Some(hierarchy) => (true, all.insert(attribute, Arc::new(hierarchy))),
            None => (false, all.remove(&attribute)),
        };
        self.hierarchies.store((!all.is_empty()).then(|| Arc::new(all)));
        for _ in 0..usize::from(!set) + usize::from(before.is_some()) {
            self.release(&mut names, attribute);
        }
    }

    pub fn named_hierarchies(&self) -> Vec<(Arc<str>, Arc<Hierarchy>)> {
        let names = lock(&self.names);
        let all = self.hierarchies.load();
        let all = all.iter().flat_map(|all| all.iter());
        let mut named: Vec<_> = all
            .filter_map(|(attribute, hierarchy)| {
                Some((names.list[*attribute as usize].name.clone()?, Arc::clone(hierarchy)))
            })
            .collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named
    }

    pub fn hierarchies(&self) -> Option<Arc<Hierarchies>> {
        Guard::into_inner(self.hierarchies.load())
    }

    pub fn name(&self, attribute: AttributeId) -> Option<Arc<str>> {
        lock(&self.names).list.get(attribute as usize)?.name.clone()
    }

    pub fn visible_names(&self) -> Vec<Arc<str>> {
        let names = lock(&self.names);
        let named = names.list.iter().filter_map(|named| named.name.clone());
        named.filter(|name| !is_satisfied(name) && !is_hidden(name)).collect()
    }

    pub fn visible(&self) -> usize {
        let hidden = self.hidden.len() + usize::from(self.satisfied().is_some());
        self.len() - hidden.min(self.len())
    }

    pub fn len(&self) -> usize {
        lock(&self.names).live
    }
}

/// The data behind these locks is consistent even if the last holder panicked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_take_memory_linear_in_the_name() {
        let table = Table::default();
        let long: Arc<str> = ".".repeat(5_000).into();
        table.hold(&long, &mut Held::default());
        let mentions = table.mentions.pin();
        assert_eq!(mentions.len(), 5_001);
        assert!(mentions.keys().all(|prefix| Arc::ptr_eq(&prefix.name, &long)));
    }
}
