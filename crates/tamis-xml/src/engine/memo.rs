//! Which state sets have been seen before?
//!
//! Documents repeat themselves: the set of states inside an element depends only on the set around it
//! and on the element's label. Sets are numbered when first seen, and transitions between them are cached
//! across documents. So the automaton becomes deterministic, but only for the paths that documents
//! contain (as in Green et al. 2003, but bounded). Values are not part of the sets; otherwise
//! there would be as many sets as combinations of values.

use std::collections::HashMap;

use super::nfa::{Nfa, StateId};
use crate::access::{Access, AccessIndex, Slot};
use crate::symbols::{Label, PathId};
use crate::values::Key;

pub type SetId = u32;

/// The maximum number of states in all sets together, per cached set.
const STATES_PER_SET: usize = 100;

/// Longer values are not cached, because they rarely recur.
const LONGEST_VALUE: usize = 64;

/// How a path is used by filters.
#[derive(Debug, Clone, Default)]
pub struct PathUse {
    /// Filters that match when the path is reached.
    pub slots: Box<[Slot]>,
    /// Whether the first element that reaches the path must be reported.
    pub fires: bool,
    /// Whether filters may wait for each element that completes the path.
    pub awaited: bool,
    /// The values to look up when the path is reached.
    pub keys: Box<[Key]>,
}

/// A set of states, with the combined effect of its states.
#[derive(Debug, Default)]
pub struct Set {
    states: Box<[StateId]>,
    /// The filters that any element inside satisfies; known after the first one.
    inside: Option<Box<[Slot]>>,
    /// The last document in which an element inside the set was seen.
    seen_inside: u64,
    /// The filters that the set decides, except those whose path ends with a wildcard. These are
    /// the same for all children of an element, and are in `inside` of the parent's set.
    pub slots: Box<[Slot]>,
    pub fires: Box<[PathId]>,
    pub awaited: Box<[PathId]>,
    pub keys: Box<[(Key, Box<[PathId]>)]>,
    /// The last document in which the set was seen.
    pub seen: u64,
}

#[derive(Debug)]
pub struct Memo {
    sets: Vec<Set>,
    numbers: HashMap<Box<[StateId]>, SetId, ahash::RandomState>,
    transitions: HashMap<(SetId, u32), SetId, ahash::RandomState>,
    /// Sets beyond the limit, which exist only while their element is open.
    passing: Vec<Set>,
    states: usize,
    bound: usize,
    active: Vec<StateId>,
    hits: Hits,
    /// The number of states stepped from and to since it was last taken.
    stepped: usize,
}

/// Cached lookups: the accesses that values pass, by set, key and value.
#[derive(Debug, Default)]
struct Hits {
    values: HashMap<Box<str>, u32, ahash::RandomState>,
    ranges: HashMap<(SetId, u32, u32), Hit, ahash::RandomState>,
    list: Vec<Access>,
    /// By the first pending access of a hit and a set further down: the accesses that the set
    /// completes.
    joins: HashMap<(u32, SetId), (u32, u32), ahash::RandomState>,
    /// The same by the path of names to an element further down, and the depth of the hit: first
    /// the accesses that are certainly complete, then those to check.
    completions: HashMap<(u32, LabelPath, u32), Hit, ahash::RandomState>,
    /// Numbers of the paths of names, by parent path and name.
    label_paths: HashMap<(LabelPath, u32), LabelPath, ahash::RandomState>,
}

/// Number of a path of names from the root to an element.
pub type LabelPath = u32;

/// The path of the root, and a path that is not cached.
pub const ROOT: LabelPath = 0;
pub const LOST: LabelPath = u32::MAX;

/// Accesses that a value passes: first those of complete paths, then those that need the rest of
/// their path.
#[derive(Debug, Clone, Copy)]
pub struct Hit {
    start: u32,
    middle: u32,
    end: u32,
}

impl Hit {
    /// Identifies the pending accesses of a hit, if any. Equal hits have the same ones.
    pub fn waits(self) -> Option<u32> {
        (self.middle < self.end).then_some(self.middle)
    }
}

impl Memo {
    pub fn new(bound: usize) -> Memo {
        Memo {
            sets: Vec::new(),
            numbers: HashMap::default(),
            transitions: HashMap::default(),
            passing: Vec::new(),
            states: 0,
            bound: bound.min(1 << 30),
            active: Vec::new(),
            hits: Hits::default(),
            stepped: 0,
        }
    }

    /// The set at the document node. The cache is cleared if it has reached its limit.
    pub fn start(&mut self, nfa: &Nfa, uses: &[PathUse]) -> SetId {
        self.passing.clear();
        if self.is_full() || !self.has_room(1) {
            let bound = self.bound;
            *self = Memo::new(bound);
        }
        if self.sets.is_empty() {
            let mut active = Vec::new();
            nfa.start(&mut active);
            active.sort_unstable();
            self.sets.push(Set::new(nfa, &active, uses));
            self.numbers.insert(active.into(), 0);
        }
        0
    }

    fn is_full(&self) -> bool {
        self.sets.len() > self.bound || self.states > self.bound.saturating_mul(STATES_PER_SET)
    }

    pub fn set(&mut self, id: SetId) -> &mut Set {
        match (id as usize).checked_sub(self.bound + 2) {
            Some(passing) => &mut self.passing[passing],
            None => &mut self.sets[id as usize],
        }
    }

    /// The number of states that have been stepped from and to since the last call.
    pub fn take_stepped(&mut self) -> usize {
        std::mem::take(&mut self.stepped)
    }

    /// The set inside an element, given the set around it. Ids beyond the limit are valid until
    /// [`Memo::leave`].
    pub fn enter(&mut self, nfa: &Nfa, uses: &[PathUse], around: SetId, label: Label) -> SetId {
        if let Some(&known) = self.transitions.get(&(around, label.number())) {
            return known;
        }
        let mut active = std::mem::take(&mut self.active);
        active.clear();
        let states = &self.set(around).states;
        let from = states.len();
        nfa.step(states, label, &mut active);
        let outer = self.set(around);
        if outer.inside.is_none() {
            let paths = outer.states.iter().filter_map(|state| nfa.path_inside(*state));
            outer.inside = Some(paths.flat_map(|path| uses[path as usize].slots.iter().copied()).collect());
        }
        self.stepped += from + active.len();
        let known = self.numbers.get(&*active).copied();
        let id = match known {
            Some(id) => id,
            None if self.is_full() => {
                self.passing.push(Set::new(nfa, &active, uses));
                (self.bound + 1 + self.passing.len()) as SetId
            }
            None => {
                let id = self.sets.len() as SetId;
                self.states += active.len();
                self.sets.push(Set::new(nfa, &active, uses));
                self.numbers.insert(active.as_slice().into(), id);
                id
            }
        };
        self.active = active;
        let lasting = |id: SetId| (id as usize) < self.bound + 2;
        if lasting(around) && lasting(id) && self.transitions.len() < self.bound.saturating_mul(4) {
            self.transitions.insert((around, label.number()), id);
        }
        id
    }

    /// The filters that any element inside a set satisfies; empty after the first such element of a
    /// document.
    pub fn inside(&mut self, around: SetId, document: u64) -> &[Slot] {
        if std::mem::replace(&mut self.set(around).seen_inside, document) == document {
            return &[];
        }
        self.all_inside(around)
    }

    /// The filters that any element inside a set satisfies, if one was seen before.
    pub fn all_inside(&mut self, around: SetId) -> &[Slot] {
        self.set(around).inside.as_deref().unwrap_or_default()
    }

    /// The accesses that a value passes inside a set; `key` is the position among the set's keys.
    /// Returns `None` if the result cannot be cached, and leaves it in `found`. Adds units of work
    /// to `cost`.
    pub fn hit(
        &mut self,
        access: &AccessIndex,
        set: SetId,
        key: usize,
        value: &str,
        found: &mut Vec<Access>,
        cost: &mut usize,
    ) -> Option<Hit> {
        let lasting = (set as usize) < self.bound + 2 && value.len() <= LONGEST_VALUE;
        let mut number = None;
        if lasting {
            let values = &mut self.hits.values;
            number = values.get(value).copied();
            if number.is_none() && values.len() < self.bound.saturating_mul(4) {
                number = Some(values.len() as u32);
                values.insert(value.into(), values.len() as u32);
            }
        }
        let place = number.map(|number| (set, key as u32, number));
        if let Some(place) = place
            && let Some(&known) = self.hits.ranges.get(&place)
        {
            return Some(known);
        }
        found.clear();
        let (key, paths) = &self.set(set).keys[key];
        access.find(paths, *key, value, found, cost);
        *cost += found.len();
        found.sort_by_key(|access| !access.last);
        let place = place.filter(|_| self.has_room(found.len()))?;
        let start = self.hits.list.len() as u32;
        let middle = start + found.iter().take_while(|access| access.last).count() as u32;
        self.hits.list.extend_from_slice(found);
        let hit = Hit { start, middle, end: self.hits.list.len() as u32 };
        self.hits.ranges.insert(place, hit);
        Some(hit)
    }

    fn has_room(&self, more: usize) -> bool {
        let hits = &self.hits;
        hits.list.len() + hits.ranges.len() + hits.joins.len() + hits.completions.len() + more
            <= self.bound.saturating_mul(STATES_PER_SET)
    }

    /// The accesses of a hit whose path is complete.
    pub fn complete(&self, hit: Hit) -> &[Access] {
        &self.hits.list[hit.start as usize..hit.middle as usize]
    }

    /// The accesses of a hit that need the rest of their path.
    pub fn waiting(&self, hit: Hit) -> &[Access] {
        &self.hits.list[hit.middle as usize..hit.end as usize]
    }

    /// The pending accesses of a hit whose path a set further down completes. `found` receives
    /// results that cannot be cached.
    pub fn join<'m>(&'m mut self, hit: Hit, set: SetId, found: &'m mut Vec<Access>) -> &'m [Access] {
        if let Some(&(start, end)) = self.hits.joins.get(&(hit.middle, set)) {
            return &self.hits.list[start as usize..end as usize];
        }
        found.clear();
        let awaited = std::mem::take(&mut self.set(set).awaited);
        found.extend(self.waiting(hit).iter().filter(|access| awaited.binary_search(&access.path).is_ok()));
        self.set(set).awaited = awaited;
        if (set as usize) < self.bound + 2 && self.has_room(found.len()) {
            let start = self.hits.list.len() as u32;
            self.hits.list.extend_from_slice(found);
            self.hits.joins.insert((hit.middle, set), (start, self.hits.list.len() as u32));
        }
        found
    }

    /// The path of names to an element, given that of its parent; [`LOST`] beyond the limit.
    pub fn label_path(&mut self, around: LabelPath, label: Label) -> LabelPath {
        let paths = &mut self.hits.label_paths;
        if let Some(&known) = paths.get(&(around, label.number())) {
            return known;
        }
        if around == LOST || paths.len() >= self.bound {
            return LOST;
        }
        let new = paths.len() as LabelPath + 1;
        paths.insert((around, label.number()), new);
        new
    }

    /// The pending accesses of a hit at `depth` whose path an element further down may complete:
    /// those certainly complete, and those to check. `None` if not cached.
    pub fn completion(&self, hit: Hit, path: LabelPath, depth: usize) -> Option<(&[Access], &[Access])> {
        let known = *self.hits.completions.get(&(hit.middle, path, depth as u32))?;
        Some((self.complete(known), self.waiting(known)))
    }

    /// Caches a completion, if there is room.
    pub fn remember(&mut self, hit: Hit, path: LabelPath, depth: usize, known: &[Access], check: &[Access]) {
        if path != LOST && self.has_room(known.len() + check.len() + 1) {
            let start = self.hits.list.len() as u32;
            self.hits.list.extend_from_slice(known);
            let middle = self.hits.list.len() as u32;
            self.hits.list.extend_from_slice(check);
            let end = self.hits.list.len() as u32;
            self.hits.completions.insert((hit.middle, path, depth as u32), Hit { start, middle, end });
        }
    }

    /// Drops a set beyond the limit when its element ends. Elements end in reverse order.
    pub fn leave(&mut self, id: SetId) {
        if id as usize >= self.bound + 2 {
            self.passing.truncate(id as usize - self.bound - 2);
        }
    }
}

impl Set {
    fn new(nfa: &Nfa, states: &[StateId], uses: &[PathUse]) -> Set {
        let paths = || states.iter().filter_map(|state| nfa.path(*state));
        let mut keyed: Vec<(Key, PathId)> = Vec::new();
        for path in paths() {
            keyed.extend(uses[path as usize].keys.iter().map(|key| (*key, path)));
        }
        keyed.sort_unstable();
        let mut awaited: Box<[PathId]> = paths().filter(|path| uses[*path as usize].awaited).collect();
        awaited.sort_unstable();
        let groups = keyed.chunk_by(|one, other| one.0 == other.0);
        let named = states.iter().filter_map(|state| nfa.named_path(*state));
        Set {
            states: states.into(),
            inside: None,
            seen_inside: 0,
            slots: named.flat_map(|path| uses[path as usize].slots.iter().copied()).collect(),
            fires: paths().filter(|path| uses[*path as usize].fires).collect(),
            awaited,
            keys: groups.map(|group| (group[0].0, group.iter().map(|(_, path)| *path).collect())).collect(),
            seen: 0,
        }
    }
}
