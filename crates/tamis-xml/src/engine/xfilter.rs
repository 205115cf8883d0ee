//! XFilter with list balance: one machine per path, indexed by element names (Diao et al. 2003, 3.1).
//!
//! The pivot of a path is the named step with the shortest list. The machine waits for it from the
//! start; when the pivot is found, the steps before it are checked against the open elements.
//! Departure: a final wildcard is a separate piece, on the list of all elements.

use super::candidates::{Piece, Pieces, walk};
use super::{Sink, Structure, WalkScratch};
use crate::document::Document;
use crate::symbols::{Label, PathId, SymbolPath, SymbolTest, Symbols};

#[derive(Debug, Default)]
pub struct XFilter {
    pieces: Vec<Piece>,
    /// For every list, its pivots, with the steps that lead to them.
    pivots: Vec<Vec<(u32, SymbolPath)>>,
}

impl XFilter {
    pub fn new(paths: &[(PathId, SymbolPath)]) -> XFilter {
        let mut filter = XFilter::default();
        paths.iter().for_each(|(path, steps)| filter.add(*path, steps));
        filter
    }

    fn add(&mut self, path: PathId, steps: &SymbolPath) {
        let last = steps.len() - 1;
        let first = self.pieces.len();
        let mut ends = Vec::new();
        let (mut distance, mut exact) = (0, true);
        for (at, &(descendant, test)) in steps.iter().enumerate() {
            distance += 1;
            exact &= !descendant;
            if test != SymbolTest::Any || at == last {
                let list = list_of(test);
                self.pieces.push(Piece { list, distance, exact, path: (at == last).then_some(path) });
                ends.push(at);
                (distance, exact) = (0, true);
                if self.pivots.len() <= list as usize {
                    self.pivots.resize_with(list as usize + 1, Vec::new);
                }
            }
        }
        let length = |at: &usize| self.pivots[self.pieces[first + at].list as usize].len();
        if let Some(pivot) = (0..ends.len()).min_by_key(length) {
            let list = self.pieces[first + pivot].list as usize;
            self.pivots[list].push(((first + pivot) as u32, steps[..=ends[pivot]].into()));
        }
    }
}

/// Names and namespaces are numbered together from 1; 0 is the list of all elements.
fn list_of(test: SymbolTest) -> u32 {
    match test {
        SymbolTest::Any => 0,
        SymbolTest::Name(symbol) | SymbolTest::Namespace(symbol) => symbol,
    }
}

impl Pieces for XFilter {
    fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    fn lists(&self) -> usize {
        self.pivots.len()
    }

    fn ending(&self, labels: &[Label], _: &mut Vec<u32>, _: &mut Vec<usize>, found: &mut Vec<u32>) {
        let Some(label) = labels.last() else { return };
        let lists = [0, label.name, label.namespace];
        for (at, &list) in lists.iter().enumerate() {
            if (at == 0 || list != 0) && (list as usize) < self.pivots.len() {
                found.push(list);
            }
        }
    }

    fn initial(&self, list: u32, labels: &[Label], each: &mut dyn FnMut(u32)) {
        for (piece, prefix) in &self.pivots[list as usize] {
            if leads(prefix, labels) {
                each(*piece);
            }
        }
    }
}

/// Whether the steps lead from the document to the last element of a chain.
fn leads(steps: &[(bool, SymbolTest)], chain: &[Label]) -> bool {
    let last = chain.len() - 1;
    // From the last element upwards: a child step has one possible parent, and all possible
    // ancestors of a descendant step are tried at once.
    let Some((&(descendant, test), before)) = steps.split_last() else { return false };
    if !test.accepts(chain[last]) {
        return false;
    }
    if before.is_empty() {
        return descendant || last == 0;
    }
    let mut ends = vec![false; chain.len()];
    for (depth, end) in ends.iter_mut().enumerate() {
        *end = before[0].1.accepts(chain[depth]) && (before[0].0 || depth == 0);
    }
    for &(descendant, test) in &before[1..] {
        let mut above = false;
        let mut parent = false;
        for depth in 0..chain.len() {
            let reached = if descendant { above } else { parent };
            parent = ends[depth];
            above |= ends[depth];
            ends[depth] = reached && test.accepts(chain[depth]);
        }
    }
    if descendant { ends[..last].contains(&true) } else { last > 0 && ends[last - 1] }
}

impl Structure for XFilter {
    fn walk(&self, document: &Document, symbols: &Symbols, scratch: &mut WalkScratch, sink: &mut dyn Sink) {
        walk(self, document, symbols, scratch, sink);
    }

    fn states(&self) -> usize {
        self.pieces.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &str = "abcde";

    fn steps(text: &str) -> SymbolPath {
        let step = |text: &str| {
            let name = text.trim_start_matches('>');
            let symbol = NAMES.find(name).map(|at| at as u32 + 1);
            (text.starts_with('>'), symbol.map_or(SymbolTest::Any, SymbolTest::Name))
        };
        text.replace("//", "/>").split('/').skip(1).map(step).collect()
    }

    /// The five queries of Figures 5 and 6.
    fn queries() -> Vec<(PathId, SymbolPath)> {
        let texts = ["/a/b//c", "//b/*/c/d", "/*/a/c//d", "//b/d/e", "/a/*/*/c//e"];
        (0..).zip(texts.map(steps)).collect()
    }

    #[test]
    fn the_path_nodes_of_figure_5() {
        let filter = XFilter::new(&queries());
        let nodes: Vec<_> = filter
            .pieces
            .iter()
            .map(|piece| (&NAMES[piece.list as usize - 1..][..1], piece.distance, piece.exact))
            .collect();
        let expected = [
            [("a", 1, true), ("b", 1, true), ("c", 1, false)],
            [("b", 1, false), ("c", 2, true), ("d", 1, true)],
            [("a", 2, true), ("c", 1, true), ("d", 1, false)],
            [("b", 1, false), ("d", 1, true), ("e", 1, true)],
            [("a", 1, true), ("c", 3, true), ("e", 1, false)],
        ];
        assert_eq!(nodes, expected.concat());
    }

    #[test]
    fn the_balanced_lists_of_figure_6() {
        let filter = XFilter::new(&queries());
        // Every list has one pivot, with the steps that lead to it.
        let pivots: Vec<_> = filter.pivots[1..].iter().map(Vec::as_slice).collect();
        let expected = [(0, "/a"), (3, "//b"), (7, "/*/a/c"), (10, "//b/d"), (14, "/a/*/*/c//e")];
        assert_eq!(pivots, expected.map(|(piece, prefix)| vec![(piece, steps(prefix))]));
    }
}
