//! Which structural paths does a document contain, and at which elements?
//!
//! Engines differ in how they find paths. `segment` handles the paths that were reached in the same
//! way for all engines.

mod candidates;
mod hybrid;
mod memo;
mod nfa;
mod xfilter;
mod yfilter;

use std::fmt::Debug;

use super::document::{Document, NodeIndex};
use super::symbols::{Labels, PathId, Symbols};
pub use hybrid::Hybrid;
pub use memo::{Hit, LabelPath, Memo, PathUse, ROOT, SetId};
pub use nfa::Nfa;
pub use xfilter::XFilter;
pub use yfilter::YFilter;

/// The engines. All give the same results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Engine {
    /// A shared automaton whose state sets are cached across documents, and an index over the
    /// tested values.
    #[default]
    Auto,
    /// The shared automaton of Diao et al. 2003, 3.2. Values are tested when a path is complete,
    /// the most selective tests first (5.2, selection postponed).
    YFilter,
    /// The same, with the tests in the order in which they are written.
    YFilterUnsorted,
    /// The same automaton; values are tested as soon as their step is reached (5.1, inline).
    YFilterInline,
    /// Sequences of names are shared, the `*` and `//` between them are not (3.3).
    Hybrid,
    /// One machine per path, with list balance (3.1).
    XFilter,
    /// Evaluates every filter on every document; the reference for the others.
    Scan,
}

const ALL: [Engine; 7] = [
    Engine::Auto,
    Engine::YFilter,
    Engine::YFilterUnsorted,
    Engine::YFilterInline,
    Engine::Hybrid,
    Engine::XFilter,
    Engine::Scan,
];

impl Engine {
    /// The engine with this name.
    pub fn find(name: &str) -> Option<Engine> {
        ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// The names of all engines.
    pub fn names() -> Vec<&'static str> {
        ALL.iter().map(|engine| engine.name()).collect()
    }

    /// The engine's name.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::YFilter => "yfilter",
            Engine::YFilterUnsorted => "yfilter-unsorted",
            Engine::YFilterInline => "yfilter-inline",
            Engine::Hybrid => "hybrid",
            Engine::XFilter => "xfilter",
            Engine::Scan => "scan",
        }
    }
}

/// Receives the paths that are found while a document is walked.
pub trait Sink {
    /// Called when an element completes a path. `labels` gives the label of any node.
    fn reach(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels);
}

/// An algorithm that finds the paths of a document, compiled for a set of distinct paths.
pub trait Structure: Debug + Send + Sync {
    /// Calls the sink with every element that completes a path.
    fn walk(&self, document: &Document, symbols: &Symbols, scratch: &mut WalkScratch, sink: &mut dyn Sink);

    /// The number of states, or of path pieces.
    fn states(&self) -> usize;
}

/// Working memory of [`Structure::walk`].
#[derive(Debug, Default)]
pub struct WalkScratch {
    pub labels: Labels,
    /// The number of states or path pieces that the elements of a document led to.
    pub transitions: u64,
    /// For every open element, its end.
    open: Vec<NodeIndex>,
    states: Vec<nfa::StateId>,
    starts: Vec<usize>,
    candidates: candidates::CandidateScratch,
}
