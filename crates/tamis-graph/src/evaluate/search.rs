//! A search as a stream of results.

use std::sync::Arc;

use super::{Run, Strategy};
use crate::error::Result;
use crate::event::Event;
use crate::id::IdRef;
use crate::scratch::{Counts, GraphScratch};
use crate::snapshot::{GraphSnapshot, NodeNumber, damaged};

/// Results found at once after the first.
const MOST_AHEAD: usize = 1024;

/// A search that gives its results one by one, each as soon as it is found.
#[derive(Debug)]
pub struct Search {
    snapshot: Arc<GraphSnapshot>,
    event: Event,
    working: GraphScratch,
    run: Run,
    taken: usize,
    ahead: usize,
    sinks_only: bool,
}

impl GraphSnapshot {
    /// Begins a search from a node, which fails at the event's deadline, if it has one. The event must have been decoded
    /// by this snapshot's attributes.
    pub fn search(
        self: &Arc<Self>,
        event: Event,
        source: NodeNumber,
        strategy: Strategy,
        sinks_only: bool,
    ) -> Result<Search> {
        let mut working = self.pool.take();
        let run = self.guard(&mut working, |working| Run::new(self, &event, source.0, strategy, working))?;
        Ok(Search { snapshot: Arc::clone(self), event, working, run, taken: 0, ahead: 1, sinks_only })
    }

    /// Calls `found` with the id of every node that the event reaches from a source, or every sink. Fails at the
    /// event's deadline, if it has one.
    pub fn matches<'s>(
        &'s self,
        event: &Event,
        source: NodeNumber,
        strategy: Strategy,
        sinks_only: bool,
        working: &mut GraphScratch,
        mut found: impl FnMut(IdRef<'s>),
    ) -> Result<Counts> {
        self.guard(working, |working| {
            Run::new(self, event, source.0, strategy, working).advance(self, event, working, usize::MAX);
        })?;
        working.timer.check()?;
        for &node in &working.results {
            if self.is_wanted(node, sinks_only) {
                found(self.id(node).ok_or_else(damaged)?);
            }
        }
        Ok(working.counts)
    }

    pub(crate) fn is_wanted(&self, node: u32, sinks_only: bool) -> bool {
        self.is_named(node) && (!sinks_only || self.is_sink(node))
    }

    /// Runs what may meet a text that is damaged; everything else was validated when the graph was opened.
    pub(crate) fn guard<T>(
        &self,
        working: &mut GraphScratch,
        run: impl FnOnce(&mut GraphScratch) -> T,
    ) -> Result<T> {
        let result = run(working);
        if self.segment.is_damaged() { Err(damaged()) } else { Ok(result) }
    }
}

impl Search {
    /// The id of the next node that the event reaches.
    pub fn next_id(&mut self) -> Result<Option<IdRef<'_>>> {
        while !self.is_ready() {
            if !self.advance()? {
                return Ok(None);
            }
        }
        self.take().transpose()
    }

    /// Looks for a few more nodes; false if there are none.
    pub fn advance(&mut self) -> Result<bool> {
        if self.run.is_done() {
            return Ok(false);
        }
        let wanted = self.working.results.len() + self.ahead;
        let Search { snapshot, event, working, run, .. } = &mut *self;
        snapshot.guard(working, |working| run.advance(snapshot, event, working, wanted))?;
        self.working.timer.check()?;
        self.ahead = MOST_AHEAD.min(2 * self.ahead);
        Ok(true)
    }

    /// Whether a node has been found and not yet taken.
    pub fn is_ready(&mut self) -> bool {
        while let Some(&node) = self.working.results.get(self.taken) {
            if self.snapshot.is_wanted(node, self.sinks_only) {
                return true;
            }
            self.taken += 1;
        }
        false
    }

    /// The id of a node that was found and not yet taken.
    pub fn take(&mut self) -> Option<Result<IdRef<'_>>> {
        if !self.is_ready() {
            return None;
        }
        self.taken += 1;
        Some(self.snapshot.id(self.working.results[self.taken - 1]).ok_or_else(damaged))
    }

    /// How much was done so far.
    pub fn counts(&self) -> Counts {
        self.working.counts
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.snapshot.pool.give(std::mem::take(&mut self.working));
    }
}
