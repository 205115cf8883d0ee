//! Which piece of its path does each filter wait for?
//!
//! XFilter and Hybrid split a path into pieces and keep, per piece, a list of the filters that wait
//! for it (Diao et al. 2003, 3.1 and 3.3). When a piece is found at a depth where a filter waits
//! for it, the filter's next piece is added to its list, until the element that was found ends.
//!
//! Departures: a distance over wildcards and `//` is kept as a minimum, which the
//! paper's -1 discards. Of promotions that differ only in being found deeper, only the first is
//! kept, which bounds the lists polynomially on recursive documents.

use super::{Sink, WalkScratch};
use crate::document::{Document, NodeIndex, NodeKind};
use crate::symbols::{Label, PathId, Symbols};

/// A piece of a path. The next piece of the path is the next in order.
#[derive(Debug, Clone)]
pub struct Piece {
    /// The list on which filters wait for the piece.
    pub list: u32,
    /// The minimum difference in depth from the end of the previous piece to the end of this one.
    pub distance: u32,
    /// Whether the distance is exact.
    pub exact: bool,
    /// The path, if this piece is its last.
    pub path: Option<PathId>,
}

/// A filter that waits for a piece at a depth, or from a depth on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    piece: u32,
    depth: u32,
    exact: bool,
}

#[derive(Debug, Default)]
pub struct CandidateScratch {
    lists: Vec<Vec<Waiting>>,
    /// The lists that promotions were added to, in order.
    promoted: Vec<u32>,
    /// For every piece, whether a filter waits for it from some depth on.
    below: Vec<bool>,
    open: Vec<(NodeIndex, usize)>,
    found: Vec<u32>,
    labels: Vec<Label>,
}

/// The parts that differ between XFilter and Hybrid.
pub trait Pieces {
    fn pieces(&self) -> &[Piece];

    /// The number of lists.
    fn lists(&self) -> usize;

    /// Adds the lists whose pieces end at an element, given the labels from the root down to it.
    fn ending(&self, labels: &[Label], stack: &mut Vec<u32>, starts: &mut Vec<usize>, found: &mut Vec<u32>);

    /// Calls `each` with the pieces of a list that filters wait for from the start, if they may end
    /// at the element.
    fn initial(&self, list: u32, labels: &[Label], each: &mut dyn FnMut(u32));
}

pub fn walk(
    pieces: &impl Pieces,
    document: &Document,
    symbols: &Symbols,
    scratch: &mut WalkScratch,
    sink: &mut dyn Sink,
) {
    let WalkScratch { labels, transitions, states, starts, candidates, .. } = scratch;
    let CandidateScratch { lists, promoted, below, open, found, labels: path } = candidates;
    labels.start(document);
    if lists.len() < pieces.lists() {
        lists.resize_with(pieces.lists(), Vec::new);
    }
    below.resize(pieces.pieces().len(), false);
    for list in promoted.drain(..) {
        if let Some(waiting) = lists[list as usize].pop() {
            below[waiting.piece as usize] = false;
        }
    }
    open.clear();
    path.clear();
    states.clear();
    starts.clear();
    let mut passed = Vec::new();
    for (index, node) in document.nodes().iter().enumerate() {
        if node.kind != NodeKind::Element {
            continue;
        }
        let index = index as NodeIndex;
        while let Some(&(end, promotions)) = open.last()
            && end <= index
        {
            open.pop();
            path.pop();
            if let Some(start) = starts.pop() {
                states.truncate(start);
            }
            for list in promoted.drain(promotions..) {
                if let Some(waiting) = lists[list as usize].pop() {
                    below[waiting.piece as usize] = false;
                }
            }
        }
        path.push(labels.of(symbols, document, index));
        let depth = path.len() as u32;
        found.clear();
        pieces.ending(path, states, starts, found);
        passed.clear();
        for &list in found.iter() {
            pieces.initial(list, path, &mut |piece| passed.push(piece));
            let fits = |waiting: &&Waiting| waiting.depth == depth || !waiting.exact && waiting.depth < depth;
            passed.extend(lists[list as usize].iter().filter(fits).map(|waiting| waiting.piece));
        }
        open.push((node.end, promoted.len()));
        passed.sort_unstable();
        passed.dedup();
        *transitions += passed.len() as u64;
        for &piece in &passed {
            if let Some(complete) = pieces.pieces()[piece as usize].path {
                sink.reach(complete, index, labels);
                continue;
            }
            let next = &pieces.pieces()[piece as usize + 1];
            let waiting = Waiting { piece: piece + 1, depth: depth + next.distance, exact: next.exact };
            let list = &mut lists[next.list as usize];
            let covered =
                |known: &Waiting| known.piece == waiting.piece && (!known.exact || *known == waiting);
            if !list.iter().rev().any(covered) {
                list.push(waiting);
                promoted.push(next.list);
            }
        }
    }
}
