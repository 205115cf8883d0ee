//! Hybrid: sequences of names are shared, but the `*` and `//` between them are not (Diao et al.
//! 2003, 3.3).
//!
//! Sequences are stored in a trie. Every element starts a sequence and continues those of its
//! parent. Departure: a final wildcard and a namespace test are separate sequences.

use std::collections::HashMap;

use super::candidates::{Piece, Pieces, walk};
use super::{Sink, Structure, WalkScratch};
use crate::document::Document;
use crate::symbols::{Label, PathId, Symbol, SymbolPath, SymbolTest, Symbols};

/// Nodes of the trie are lists. The first is the root; the second matches any element.
const ROOT: u32 = 0;
const ANY: u32 = 1;

#[derive(Debug)]
pub struct Hybrid {
    pieces: Vec<Piece>,
    edges: HashMap<(u32, Symbol), u32, ahash::RandomState>,
    /// For every node of the trie, the first pieces of paths that end there.
    initial: Vec<Vec<u32>>,
}

impl Hybrid {
    pub fn new(paths: &[(PathId, SymbolPath)]) -> Hybrid {
        let initial = vec![Vec::new(), Vec::new()];
        let mut hybrid = Hybrid { pieces: Vec::new(), edges: HashMap::default(), initial };
        paths.iter().for_each(|(path, steps)| hybrid.add(*path, steps));
        hybrid
    }

    fn add(&mut self, path: PathId, steps: &SymbolPath) {
        let last = steps.len() - 1;
        let first = self.pieces.len() as u32;
        let mut at = 0;
        let (mut distance, mut exact) = (0, true);
        while at <= last {
            let (descendant, test) = steps[at];
            distance += 1;
            exact &= !descendant;
            if test == SymbolTest::Any && at != last {
                at += 1;
                continue;
            }
            let mut list = self.node(ROOT, test);
            // Extend the sequence while names follow with `/`.
            while at < last
                && matches!(steps[at].1, SymbolTest::Name(_))
                && matches!(steps[at + 1], (false, SymbolTest::Name(_)))
            {
                at += 1;
                distance += 1;
                list = self.node(list, steps[at].1);
            }
            self.pieces.push(Piece { list, distance, exact, path: (at == last).then_some(path) });
            (distance, exact) = (0, true);
            at += 1;
        }
        let list = self.pieces[first as usize].list;
        self.initial[list as usize].push(first);
    }

    fn node(&mut self, from: u32, test: SymbolTest) -> u32 {
        let symbol = match test {
            SymbolTest::Any => return ANY,
            SymbolTest::Name(symbol) | SymbolTest::Namespace(symbol) => symbol,
        };
        let next = self.initial.len() as u32;
        let node = *self.edges.entry((from, symbol)).or_insert(next);
        if node == next {
            self.initial.push(Vec::new());
        }
        node
    }
}

impl Pieces for Hybrid {
    fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn lists(&self) -> usize {
        self.initial.len()
    }

    /// The trie nodes that an element reaches. They stay on the stack for its children.
    fn ending(&self, labels: &[Label], stack: &mut Vec<u32>, starts: &mut Vec<usize>, found: &mut Vec<u32>) {
        let Some(label) = labels.last() else { return };
        let around = starts.last().copied().unwrap_or(0)..stack.len();
        starts.push(stack.len());
        for at in around {
            stack.extend(self.edges.get(&(stack[at], label.name)).filter(|_| label.name != 0));
        }
        stack.extend(self.edges.get(&(ROOT, label.name)).filter(|_| label.name != 0));
        found.extend_from_slice(&stack[starts.last().copied().unwrap_or(0)..]);
        found.push(ANY);
        found.extend(self.edges.get(&(ROOT, label.namespace)).filter(|_| label.namespace != 0));
    }

    fn initial(&self, list: u32, labels: &[Label], each: &mut dyn FnMut(u32)) {
        let depth = labels.len() as u32;
        for &piece in &self.initial[list as usize] {
            let Piece { distance, exact, .. } = self.pieces[piece as usize];
            if depth == distance || !exact && depth > distance {
                each(piece);
            }
        }
    }
}

impl Structure for Hybrid {
    fn walk(&self, document: &Document, symbols: &Symbols, scratch: &mut WalkScratch, sink: &mut dyn Sink) {
        walk(self, document, symbols, scratch, sink);
    }

    /// Trie nodes plus pieces.
    fn states(&self) -> usize {
        self.initial.len() + self.pieces.len()
    }
}
