//! YFilter: the shared automaton, run with a stack of active states (Diao et al. 2003, 3.2.4).

use super::nfa::Nfa;
use super::{Sink, Structure, WalkScratch};
use crate::document::{Document, NodeIndex, NodeKind};
use crate::symbols::{PathId, SymbolPath, Symbols};

#[derive(Debug, Default)]
pub struct YFilter {
    nfa: Nfa,
}

impl YFilter {
    pub fn new(paths: &[(PathId, SymbolPath)]) -> YFilter {
        let mut nfa = Nfa::default();
        paths.iter().for_each(|(path, steps)| nfa.add(steps, *path));
        YFilter { nfa }
    }
}

impl Structure for YFilter {
    fn walk(&self, document: &Document, symbols: &Symbols, scratch: &mut WalkScratch, sink: &mut dyn Sink) {
        let WalkScratch { labels, transitions, open, states, starts, .. } = scratch;
        labels.start(document);
        open.clear();
        states.clear();
        starts.clear();
        self.nfa.start(states);
        starts.push(0);
        let mut active = Vec::new();
        for (index, node) in document.nodes().iter().enumerate() {
            if node.kind != NodeKind::Element {
                continue;
            }
            let index = index as NodeIndex;
            while open.last().is_some_and(|end| *end <= index) {
                open.pop();
                if let Some(start) = starts.pop() {
                    states.truncate(start);
                }
            }
            active.clear();
            let around = &states[starts.last().copied().unwrap_or(0)..];
            self.nfa.step(around, labels.of(symbols, document, index), &mut active);
            *transitions += active.len() as u64;
            for state in &active {
                if let Some(path) = self.nfa.path(*state) {
                    sink.reach(path, index, labels);
                }
            }
            open.push(node.end);
            starts.push(states.len());
            states.extend_from_slice(&active);
        }
    }

    fn states(&self) -> usize {
        self.nfa.len()
    }
}
