//! Which of many literals does a text contain, and which patterns may it therefore match?
//!
//! Literals are found by Aho-Corasick automata, with one pass over the text for each. An automaton
//! does not change: new literals are kept in a short list, searched one by one, and move into
//! automata of doubling sizes, so a literal is compiled a logarithmic number of times. A removed
//! literal stays in its automaton, without a predicate, until half of the automaton's literals are
//! removed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};

use crate::predicates::PredicateId;

/// The number of new literals searched one by one before they are compiled.
const RECENT: usize = 16;

type LiteralId = u32;

/// Automaton states visited in a text; repetitive text visits few.
pub(super) type States = HashSet<u32, ahash::RandomState>;

/// A changing set of literals, with the predicates to report when one is found.
#[derive(Debug, Default)]
pub(super) struct Substrings {
    ids: HashMap<Arc<[u8]>, LiteralId, ahash::RandomState>,
    literals: Vec<Literal>,
    free: Vec<LiteralId>,
    /// Literals that are in no automaton yet.
    recent: Vec<LiteralId>,
    groups: Vec<LiteralGroup>,
    /// Patterns without a literal, which are tried on every text.
    unfiltered: Vec<PredicateId>,
}

#[derive(Debug, Default)]
struct Literal {
    text: Arc<[u8]>,
    /// Holds if the literal is found.
    contains: Option<PredicateId>,
    /// To be tried if the literal is found.
    possible: Vec<PredicateId>,
    /// The group that contains it, if any.
    group: Option<u32>,
}

#[derive(Debug)]
struct LiteralGroup {
    /// `None` if there are too many literals for one; they are then searched one by one.
    automaton: Option<NFA>,
    literals: Vec<LiteralId>,
    /// The number of literals still in use.
    live: usize,
}

impl Substrings {
    /// Adds a predicate that holds for texts that contain `literal`.
    pub fn insert_contains(&mut self, literal: &str, predicate: PredicateId) {
        if literal.is_empty() {
            // Every text contains it; trying it is as cheap as a special case.
            self.unfiltered.push(predicate);
            return;
        }
        let id = self.intern(literal.as_bytes());
        self.literals[id as usize].contains = Some(predicate);
    }

    pub fn remove_contains(&mut self, literal: &str, predicate: PredicateId) {
        match self.ids.get(literal.as_bytes()).copied() {
            Some(id) => {
                self.literals[id as usize].contains = None;
                self.release(id);
            }
            None => self.unfiltered.retain(|&other| other != predicate),
        }
    }

    /// Adds a predicate to be tried on texts that contain one of the literals, or on every text.
    pub fn insert_candidate(&mut self, required: Option<&[Vec<u8>]>, predicate: PredicateId) {
        let Some(required) = required else {
            self.unfiltered.push(predicate);
            return;
        };
        for literal in required {
            let id = self.intern(literal);
            self.literals[id as usize].possible.push(predicate);
        }
    }

    pub fn remove_candidate(&mut self, required: Option<&[Vec<u8>]>, predicate: PredicateId) {
        let Some(required) = required else {
            self.unfiltered.retain(|&other| other != predicate);
            return;
        };
        for literal in required {
            if let Some(&id) = self.ids.get(literal.as_slice()) {
                let possible = &mut self.literals[id as usize].possible;
                if let Some(position) = possible.iter().position(|&other| other == predicate) {
                    possible.swap_remove(position);
                }
                self.release(id);
            }
        }
    }

    pub fn is_empty(&self) -> bool {
        self.unfiltered.is_empty()
            && self.recent.is_empty()
            && self.groups.iter().all(|group| group.live == 0)
    }

    /// Reports the predicates that hold for the text, with `true`, and those to be tried on it.
    pub fn find(&self, text: &str, states: &mut States, mut report: impl FnMut(PredicateId, bool)) {
        self.unfiltered.iter().for_each(|&predicate| report(predicate, false));
        let text = text.as_bytes();
        let mut found = |id: LiteralId| {
            let literal = &self.literals[id as usize];
            literal.contains.into_iter().for_each(|predicate| report(predicate, true));
            literal.possible.iter().for_each(|&predicate| report(predicate, false));
        };
        let one_by_one = |literals: &[LiteralId], found: &mut dyn FnMut(LiteralId)| {
            for &id in literals {
                if memchr::memmem::find(text, &self.literals[id as usize].text).is_some() {
                    found(id);
                }
            }
        };
        one_by_one(&self.recent, &mut found);
        for group in &self.groups {
            match &group.automaton {
                Some(automaton) => walk(automaton, text, states, |pattern| found(group.literals[pattern])),
                None => one_by_one(&group.literals, &mut found),
            }
        }
    }

    fn intern(&mut self, text: &[u8]) -> LiteralId {
        if let Some(&id) = self.ids.get(text) {
            let literal = &self.literals[id as usize];
            if let (true, Some(group)) = (literal.is_unused(), literal.group) {
                self.groups[group as usize].live += 1;
            }
            return id;
        }
        let text: Arc<[u8]> = text.into();
        let literal = Literal { text: text.clone(), ..Literal::default() };
        let id = match self.free.pop() {
            Some(id) => {
                self.literals[id as usize] = literal;
                id
            }
            None => {
                self.literals.push(literal);
                self.literals.len() as LiteralId - 1
            }
        };
        self.ids.insert(text, id);
        self.recent.push(id);
        if self.recent.len() > RECENT {
            self.compile_recent();
        }
        id
    }

    /// Drops a literal if nothing uses it any more.
    fn release(&mut self, id: LiteralId) {
        let literal = &self.literals[id as usize];
        if !literal.is_unused() {
            return;
        }
        match literal.group {
            None => {
                self.recent.retain(|&other| other != id);
                self.forget(id);
            }
            Some(position) => {
                let group = &mut self.groups[position as usize];
                group.live -= 1;
                if 2 * group.live < group.literals.len() {
                    let literals = std::mem::take(&mut group.literals);
                    let live = self.keep_used(literals);
                    self.groups[position as usize] = self.compile(live, position);
                }
            }
        }
    }

    /// Compiles the new literals together with the automata that are no larger.
    fn compile_recent(&mut self) {
        let mut literals = std::mem::take(&mut self.recent);
        while self.groups.last().is_some_and(|group| group.live <= literals.len()) {
            let group = self.groups.pop().map(|group| group.literals).unwrap_or_default();
            literals.extend(self.keep_used(group));
        }
        let group = self.compile(literals, self.groups.len() as u32);
        self.groups.push(group);
    }

    /// The literals that are still in use.
    fn keep_used(&mut self, literals: Vec<LiteralId>) -> Vec<LiteralId> {
        let (unused, used): (Vec<_>, Vec<_>) =
            literals.into_iter().partition(|&id| self.literals[id as usize].is_unused());
        unused.into_iter().for_each(|id| self.forget(id));
        used
    }

    fn forget(&mut self, id: LiteralId) {
        let literal = std::mem::take(&mut self.literals[id as usize]);
        self.ids.remove(&literal.text);
        self.free.push(id);
    }

    fn compile(&mut self, literals: Vec<LiteralId>, position: u32) -> LiteralGroup {
        for &id in &literals {
            self.literals[id as usize].group = Some(position);
        }
        let texts = literals.iter().map(|&id| &self.literals[id as usize].text);
        let automaton = NFA::builder().match_kind(MatchKind::Standard).build(texts).ok();
        LiteralGroup { automaton, live: literals.len(), literals }
    }
}

impl Literal {
    fn is_unused(&self) -> bool {
        self.contains.is_none() && self.possible.is_empty()
    }
}

/// Reports the patterns of the automaton that occur in the text, each at least once. The patterns
/// of a state are reported once, however often the text leads there.
fn walk(automaton: &NFA, text: &[u8], states: &mut States, mut found: impl FnMut(usize)) {
    let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
    states.clear();
    for &byte in text {
        state = automaton.next_state(Anchored::No, state, byte);
        if automaton.is_special(state) && automaton.is_match(state) && states.insert(state.as_u32()) {
            for position in 0..automaton.match_len(state) {
                found(automaton.match_pattern(state, position).as_usize());
            }
        }
    }
    if states.capacity() > 1 << 12 {
        // Clearing takes time proportional to the capacity, so do not keep a large one after a long
        // text.
        *states = States::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn equals_a_search_for_each(
            changes in vec(("[ab]{0,6}", any::<bool>(), prop::bool::weighted(0.7)), 0..200),
            text in "[ab]{0,30}",
        ) {
            let mut substrings = Substrings::default();
            let mut model: BTreeMap<(String, bool), PredicateId> = BTreeMap::new();
            for (predicate, (literal, contains, adds)) in (0..).zip(changes) {
                let contains = contains || literal.is_empty();
                let required = [literal.clone().into_bytes()];
                if let Some(old) = model.remove(&(literal.clone(), contains)) {
                    match contains {
                        true => substrings.remove_contains(&literal, old),
                        false => substrings.remove_candidate(Some(&required), old),
                    }
                }
                if adds {
                    match contains {
                        true => substrings.insert_contains(&literal, predicate),
                        false => substrings.insert_candidate(Some(&required), predicate),
                    }
                    model.insert((literal, contains), predicate);
                }
            }
            let mut found = BTreeMap::new();
            substrings.find(&text, &mut States::default(), |predicate, proven| {
                found.insert(predicate, proven);
            });
            let expected: BTreeMap<_, _> = model.iter()
                .filter(|((literal, _), _)| text.contains(literal.as_str()))
                .map(|((literal, contains), &predicate)| (predicate, *contains && !literal.is_empty()))
                .collect();
            prop_assert_eq!(found, expected);
            for ((literal, contains), predicate) in model {
                match contains {
                    true => substrings.remove_contains(&literal, predicate),
                    false => substrings.remove_candidate(Some(&[literal.into_bytes()]), predicate),
                }
            }
            prop_assert!(substrings.is_empty());
        }
    }
}
