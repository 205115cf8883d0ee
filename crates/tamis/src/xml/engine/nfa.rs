//! Which paths does an element complete?
//!
//! One nondeterministic automaton for all paths (Diao et al. 2003, 3.2): a trie over their steps, in
//! which common prefixes are one state and `//` leads over an empty transition to a state that loops.
//! Departure: a set of states is kept closed under the empty transitions, so that following one is
//! no work while a document is read.

use std::collections::HashMap;

use super::PathId;
use crate::xml::symbols::{Label, Symbol, SymbolTest};

pub type StateId = u32;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct State {
    /// Where any element leads.
    any: StateId,
    /// The looping state that `//` leads to.
    descendants: StateId,
    /// Whether any element leads back here.
    loops: bool,
    has_names: bool,
    has_namespaces: bool,
    path: PathId,
}

const STATE: State =
    State { any: NONE, descendants: NONE, loops: false, has_names: false, has_namespaces: false, path: NONE };

#[derive(Debug)]
pub struct Nfa {
    states: Vec<State>,
    /// Where a name or a namespace leads.
    edges: HashMap<(StateId, Symbol), StateId, ahash::RandomState>,
}

impl Default for Nfa {
    fn default() -> Self {
        Nfa { states: vec![STATE], edges: HashMap::default() }
    }
}

impl Nfa {
    /// Adds a path, given as whether each step may skip levels, and its test.
    pub fn add(&mut self, steps: &[(bool, SymbolTest)], path: PathId) {
        let mut state = 0;
        for &(descendant, test) in steps {
            if descendant {
                let known = self.states[state as usize].descendants;
                let looping = if known == NONE { self.push(true) } else { known };
                self.states[state as usize].descendants = looping;
                state = looping;
            }
            state = self.follow_or_add(state, test);
        }
        self.states[state as usize].path = path;
    }

    fn push(&mut self, loops: bool) -> StateId {
        self.states.push(State { loops, ..STATE });
        self.states.len() as StateId - 1
    }

    fn follow_or_add(&mut self, state: StateId, test: SymbolTest) -> StateId {
        let known = match test {
            SymbolTest::Any => Some(self.states[state as usize].any).filter(|next| *next != NONE),
            SymbolTest::Name(symbol) | SymbolTest::Namespace(symbol) => {
                self.edges.get(&(state, symbol)).copied()
            }
        };
        if let Some(known) = known {
            return known;
        }
        let next = self.push(false);
        let from = &mut self.states[state as usize];
        match test {
            SymbolTest::Any => from.any = next,
            SymbolTest::Name(symbol) => {
                from.has_names = true;
                self.edges.insert((state, symbol), next);
            }
            SymbolTest::Namespace(symbol) => {
                from.has_namespaces = true;
                self.edges.insert((state, symbol), next);
            }
        }
        next
    }

    /// The path that a state completes.
    pub fn path(&self, state: StateId) -> Option<PathId> {
        Some(self.states[state as usize].path).filter(|path| *path != NONE)
    }

    /// The states active at the document node.
    pub fn start(&self, active: &mut Vec<StateId>) {
        self.enter(0, active);
    }

    /// The states that are active inside an element, given those around it; sorted, each once.
    pub fn step(&self, around: &[StateId], label: Label, active: &mut Vec<StateId>) {
        for &id in around {
            let state = &self.states[id as usize];
            if state.has_names
                && label.name != 0
                && let Some(&next) = self.edges.get(&(id, label.name))
            {
                self.enter(next, active);
            }
            if state.has_namespaces
                && label.namespace != 0
                && let Some(&next) = self.edges.get(&(id, label.namespace))
            {
                self.enter(next, active);
            }
            if state.any != NONE {
                self.enter(state.any, active);
            }
            if state.loops {
                active.push(id);
            }
        }
        active.sort_unstable();
        active.dedup();
    }

    fn enter(&self, id: StateId, active: &mut Vec<StateId>) {
        active.push(id);
        let looping = self.states[id as usize].descendants;
        if looping != NONE {
            active.push(looping);
        }
    }
}
