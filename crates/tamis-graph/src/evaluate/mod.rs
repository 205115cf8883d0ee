//! Which nodes does an event reach over valid paths?
//!
//! The evaluators of Broder et al. 2011, section 3, and their baselines. Each
//! is a [`Run`] that can pause and resume, so results stream: [`Run::advance`] returns as
//! soon as it has the requested number of results. Nothing recurses.
//!
//! | strategy | in the paper | driven by |
//! |---|---|---|
//! | `dag` | figure 3 | the index; graphs without cycles |
//! | `dag-skipping` | figure 5 | the index, skipping to the next reachable node |
//! | `general` | figure 6 | the index |
//! | `general-skipping` | figure 8 | the index, skipping to the next reachable component |
//! | `index` | section 3.4 | all valid nodes first, then breadth first |
//! | `bfs` | section 3.4 | breadth first, every reached expression evaluated |
//! | `auto` | | breadth first, until the index is cheaper |
//!
//! Departures: figure 8 as printed lacks the branch in which a child that is not yet valid becomes
//! reachable; the edges of the source are followed once, even if a cycle leads back to it. If there is no
//! topological order, because of cycles or of changes since the graph was compiled, a strategy that needs one
//! behaves like `general`.

mod driven;
mod frontier;
mod search;

pub use search::Search;

use super::cursor::{Cursor, GraphCursor};
use super::scratch::{COMPONENT, GraphScratch, REACHABLE};
use super::snapshot::GraphSnapshot;
use crate::event::Event;
use std::cmp::Reverse;

/// How a search is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Chosen for every event, by estimated cost.
    #[default]
    Auto,
    /// Figure 3.
    Dag,
    /// Figure 5.
    DagSkipping,
    /// Figure 6.
    General,
    /// Figure 8.
    GeneralSkipping,
    /// All valid nodes first, then breadth first.
    Index,
    /// Breadth first, every reached expression evaluated.
    Bfs,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 7] = [
        Strategy::Auto,
        Strategy::Dag,
        Strategy::DagSkipping,
        Strategy::General,
        Strategy::GeneralSkipping,
        Strategy::Index,
        Strategy::Bfs,
    ];

    /// The name by which users select it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Dag => "dag",
            Strategy::DagSkipping => "dag-skipping",
            Strategy::General => "general",
            Strategy::GeneralSkipping => "general-skipping",
            Strategy::Index => "index",
            Strategy::Bfs => "bfs",
        }
    }

    /// The strategy of that name.
    pub fn by_name(name: &str) -> Option<Strategy> {
        Strategy::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// The strategy to use instead if the graph does not have the order that it needs.
    fn on(self, snapshot: &GraphSnapshot) -> Strategy {
        let skipping = matches!(self, Strategy::DagSkipping | Strategy::GeneralSkipping);
        match self {
            Strategy::Dag | Strategy::DagSkipping if !snapshot.is_acyclic() => {
                if skipping {
                    Strategy::GeneralSkipping.on(snapshot)
                } else {
                    Strategy::General
                }
            }
            Strategy::GeneralSkipping if !snapshot.is_ordered() => Strategy::General,
            other => other,
        }
    }
}

/// A search in progress.
#[derive(Debug)]
pub(super) struct Run {
    strategy: Strategy,
    source: u32,
    /// The next number to request from the index, or [`END`].
    skip: u32,
    /// How many results had their edges followed.
    expanded: usize,
    /// The edges still to be followed, of the segment or in `working.children`.
    edges: std::ops::Range<usize>,
    /// Whether those are in `working.children`.
    copied: bool,
    /// Whether the valid nodes are marked.
    indexed: bool,
    done: bool,
}

/// Nothing more is requested from the index.
const END: u32 = u32::MAX;

impl Run {
    /// Begins a search; `working` is its own until it is done.
    pub fn new(
        snapshot: &GraphSnapshot,
        event: &Event,
        source: u32,
        strategy: Strategy,
        working: &mut GraphScratch,
    ) -> Run {
        working.begin(snapshot.numbers(), event);
        working.memo.begin(&snapshot.segment.programs, event);
        let mut run = Run {
            strategy: strategy.on(snapshot),
            source,
            skip: 0,
            expanded: 0,
            edges: 0..0,
            copied: false,
            indexed: false,
            done: false,
        };
        match run.strategy {
            Strategy::Auto | Strategy::Bfs | Strategy::Index => run.open(source, snapshot, working),
            _ => run.begin_driven(snapshot, working),
        }
        run
    }

    /// Continues until there are `wanted` results, or all.
    pub fn advance(
        &mut self,
        snapshot: &GraphSnapshot,
        event: &Event,
        working: &mut GraphScratch,
        wanted: usize,
    ) {
        match self.strategy {
            Strategy::Auto | Strategy::Bfs | Strategy::Index => {
                self.walk(snapshot, event, working, wanted);
            }
            _ => {
                if !std::mem::replace(&mut self.indexed, true) {
                    snapshot.find_changed(event, working);
                }
                let (changed, mut scratch) =
                    (std::mem::take(&mut working.valid), std::mem::take(&mut working.scratch));
                let mut cursor = GraphCursor::new(snapshot, event, &changed, &mut scratch);
                while working.results.len() < wanted && !self.done {
                    if working.timer.spend(1) {
                        break;
                    }
                    self.done = self.step(snapshot, working, &mut cursor).is_none();
                }
                drop(cursor);
                (working.valid, working.scratch) = (changed, scratch);
            }
        }
    }

    pub fn is_done(&self) -> bool {
        self.done
    }
}
