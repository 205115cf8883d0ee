//! Which valid node comes next?
//!
//! The papers' `getNextEntity`: an index that returns the valid nodes for an event in the order of
//! their numbers, and can skip.

use super::snapshot::GraphSnapshot;
use super::tail::Patches;
use crate::csr;
use crate::event::Event;
use crate::matcher::{self, Scratch};

/// Valid nodes in ascending order.
pub(super) trait Cursor {
    /// The first valid node whose number is at least this one; the argument never decreases.
    fn next(&mut self, at_least: u32) -> Option<u32>;
}

/// The valid nodes of a graph: those the matcher finds, those without an expression, and those that
/// changed since the graph was compiled, which were asked before.
pub(super) struct GraphCursor<'a> {
    index: Box<dyn matcher::extend::Cursor + 'a>,
    /// The nodes of the index's slots, and how many of them have been passed.
    constrained: &'a [u32],
    passed: usize,
    free: ListCursor<'a>,
    changed: ListCursor<'a>,
    patches: &'a Patches,
}

impl<'a> GraphCursor<'a> {
    /// `changed` has the valid ones among the nodes with a patch, ascending.
    pub fn new(
        snapshot: &'a GraphSnapshot,
        event: &Event,
        changed: &'a [u32],
        scratch: &'a mut Scratch,
    ) -> Self {
        let segment = &snapshot.segment;
        GraphCursor {
            index: segment.skipping(snapshot.skipping, &snapshot.attributes).cursor(event, scratch),
            constrained: &segment.constrained,
            passed: 0,
            free: ListCursor::new(&segment.free),
            changed: ListCursor::new(changed),
            patches: &snapshot.tail.patches,
        }
    }

    fn next_constrained(&mut self, at_least: u32) -> Option<u32> {
        let mut rest = ListCursor::new(&self.constrained[self.passed..]);
        rest.next(at_least)?;
        self.passed = self.constrained.len() - rest.rest.len();
        loop {
            let slot = self.index.next(self.passed as u32)? as usize;
            let node = self.constrained[slot];
            if !self.patches.contains_key(&node) {
                self.passed = slot;
                return Some(node);
            }
            self.passed = slot + 1;
        }
    }

    fn next_free(&mut self, mut at_least: u32) -> Option<u32> {
        loop {
            let node = self.free.next(at_least)?;
            if !self.patches.contains_key(&node) {
                return Some(node);
            }
            at_least = node + 1;
        }
    }
}

impl Cursor for GraphCursor<'_> {
    fn next(&mut self, at_least: u32) -> Option<u32> {
        let found = [self.next_constrained(at_least), self.next_free(at_least), self.changed.next(at_least)];
        found.into_iter().flatten().min()
    }
}

/// A list that is already there.
#[derive(Debug)]
pub(super) struct ListCursor<'a> {
    rest: &'a [u32],
}

impl<'a> ListCursor<'a> {
    pub fn new(ascending: &'a [u32]) -> Self {
        ListCursor { rest: ascending }
    }
}

impl Cursor for ListCursor<'_> {
    fn next(&mut self, at_least: u32) -> Option<u32> {
        self.rest = &self.rest[csr::gallop(self.rest, at_least).0..];
        self.rest.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_skipped_through() {
        let list: Vec<u32> = (0..1000).map(|number| 3 * number).collect();
        for step in [1, 2, 3, 7, 100, 5000] {
            let mut cursor = ListCursor::new(&list);
            for at_least in (0u32..4000).step_by(step) {
                let wanted = at_least.next_multiple_of(3);
                assert_eq!(cursor.next(at_least), (wanted < 3000).then_some(wanted));
            }
        }
        assert_eq!(ListCursor::new(&[]).next(0), None);
    }
}
