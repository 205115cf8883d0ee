//! Which paths does an element complete?
//!
//! One nondeterministic automaton for all paths (Diao et al. 2003, 3.2): a trie of their steps, in
//! which common prefixes share states and `//` is an empty transition to a state with a loop.
//! Departure: state sets are closed under empty transitions in advance, so following them costs
//! nothing while a document is read.

use std::collections::HashMap;

use crate::symbols::{Label, PathId, Symbol, SymbolTest};

pub type StateId = u32;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct State {
    /// The target for any element.
    any: StateId,
    /// The looping state that `//` leads to.
    descendants: StateId,
    /// Whether any element leads back to this state.
    loops: bool,
    has_names: bool,
    has_namespaces: bool,
    /// Whether this state is the target for any element of the previous state.
    wild: bool,
    path: PathId,
}

const STATE: State = State {
    any: NONE,
    descendants: NONE,
    loops: false,
    has_names: false,
    has_namespaces: false,
    wild: false,
    path: NONE,
};

#[derive(Debug)]
pub struct Nfa {
    states: Vec<State>,
    /// The targets of names and namespaces.
    edges: HashMap<(StateId, Symbol), StateId, ahash::RandomState>,
}

impl Default for Nfa {
    fn default() -> Self {
        Nfa { states: vec![STATE], edges: HashMap::default() }
    }
}

impl Nfa {
    /// Adds a path: for each step, whether it may skip elements, and its test.
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
        self.states[next as usize].wild = test == SymbolTest::Any;
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

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// The path that a state completes.
    pub fn path(&self, state: StateId) -> Option<PathId> {
        Some(self.states[state as usize].path).filter(|path| *path != NONE)
    }

    /// The path that a state completes, if its last step has a name.
    pub fn named_path(&self, state: StateId) -> Option<PathId> {
        self.path(state).filter(|_| !self.states[state as usize].wild)
    }

    /// The path that any element inside a state completes.
    pub fn path_inside(&self, state: StateId) -> Option<PathId> {
        Some(self.states[state as usize].any).filter(|any| *any != NONE).and_then(|any| self.path(any))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// An automaton of paths over names of one letter.
    fn nfa(paths: &[&str]) -> Nfa {
        let mut nfa = Nfa::default();
        for (path, text) in paths.iter().enumerate() {
            let steps = text.replace("//", "/>").split('/').skip(1).map(step).collect::<Vec<_>>();
            nfa.add(&steps, path as PathId);
        }
        nfa
    }

    fn step(text: &str) -> (bool, SymbolTest) {
        let name = text.trim_start_matches('>');
        let test = if name == "*" { SymbolTest::Any } else { SymbolTest::Name(symbol(name)) };
        (text.starts_with('>'), test)
    }

    fn symbol(name: &str) -> Symbol {
        name.bytes().next().map_or(0, Symbol::from)
    }

    /// For every element from the root down: the number of active states, and the paths it
    /// completes.
    fn run(nfa: &Nfa, names: &[&str]) -> Vec<(usize, Vec<PathId>)> {
        let mut around = Vec::new();
        nfa.start(&mut around);
        let steps = names.iter().map(|name| {
            let mut active = Vec::new();
            nfa.step(&around, Label { name: symbol(name), namespace: 0 }, &mut active);
            let mut paths: Vec<PathId> = active.iter().filter_map(|state| nfa.path(*state)).collect();
            paths.sort_unstable();
            around = active;
            (around.len(), paths)
        });
        steps.collect()
    }

    #[test]
    fn the_four_location_steps_of_figure_8() {
        for (path, states) in [("/a", 2), ("//a", 3), ("/*", 2), ("//*", 3)] {
            let nfa = nfa(&[path]);
            assert_eq!(nfa.states.len(), states, "{path}");
            let descendant = path.starts_with("//");
            assert_eq!(nfa.states[0].descendants != NONE, descendant, "{path}");
            // The empty transition leads to a state that loops, and the step's edge leaves from there.
            let from = usize::from(descendant);
            assert_eq!(nfa.states[from].loops, descendant, "{path}");
            assert_eq!(nfa.states[from].any != NONE, path.ends_with('*'), "{path}");
            assert_eq!(nfa.states[from].has_names, path.ends_with('a'), "{path}");
        }
    }

    #[test]
    fn the_four_combinations_of_figure_9() {
        // Different steps have different states; a wildcard counts as a name.
        let a_b = nfa(&["/a", "/b"]);
        assert_eq!(
            (a_b.states.len(), run(&a_b, &["a"]), run(&a_b, &["b"])),
            (3, vec![(1, vec![0])], vec![(1, vec![1])])
        );
        let a_any = nfa(&["/a", "/*"]);
        assert_eq!((a_any.states.len(), run(&a_any, &["a"])), (3, vec![(2, vec![0, 1])]));
        // Beside `//a`, `/b` remains a child of the root.
        let mixed = nfa(&["//a", "/b"]);
        assert_eq!(mixed.states.len(), 4);
        assert_eq!(run(&mixed, &["b", "b", "a"]), [(2, vec![1]), (1, vec![]), (2, vec![0])]);
        // Two descendant steps share the state that loops.
        let both = nfa(&["//a", "//b"]);
        assert_eq!(both.states.len(), 4);
        assert_eq!(run(&both, &["b", "a"]), [(2, vec![1]), (2, vec![0])]);
    }

    #[test]
    fn the_shared_automaton_of_figure_7_and_its_run_in_figure_10() {
        // Q3 and Q8 are the same path and share an accepting state.
        let nfa = nfa(&["/a/b", "/a/c", "/a/b/c", "/a//b/c", "/a/*/b", "/a//c", "/a/*/*/c", "/a/b/c"]);
        assert_eq!(nfa.states.len(), 13);
        let expected = [(2, vec![]), (4, vec![0]), (5, vec![3, 5, 7])];
        assert_eq!(run(&nfa, &["a", "b", "c"]), expected);
    }
}
