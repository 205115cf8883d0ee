//! When do engines without an index over values test them?

use std::collections::HashMap;

use super::answers::Answers;
use super::{Segment, Slot};
use crate::document::{Document, NodeIndex};
use crate::engine::Sink;
use crate::meter::{Exhausted, Meter};
use crate::symbols::{Labels, PathId};
use crate::values::any_value;

/// Tests values when a path is complete (Diao et al. 2003, 5.2) or, for the inline engine, as soon
/// as the step of the test is reached (5.1).
pub struct Postponed<'p> {
    pub segment: &'p Segment,
    pub document: &'p Document,
    pub answers: &'p mut Answers,
    pub passed: &'p mut Passed,
    pub meter: &'p mut Meter,
    /// Set once the meter is exhausted. Nothing is tested after that.
    pub exhausted: Option<Exhausted>,
}

/// By filter and test, the open elements that have passed, innermost last.
pub type Passed = HashMap<(Slot, u32), Vec<NodeIndex>, ahash::RandomState>;

impl Sink for Postponed<'_> {
    fn reach(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels) {
        if self.exhausted.is_some() {
            return;
        }
        let mut cost = 1;
        self.segment.reach(path, self.answers);
        self.test_inline(path, element, labels, &mut cost);
        for &slot in self.segment.postponed.get(path) {
            if self.may_pass(slot, element) {
                self.segment.check(slot, element, self.document, labels, self.answers, &mut cost);
            }
        }
        self.exhausted = self.meter.spend(cost).err();
    }
}

impl Postponed<'_> {
    fn test_inline(&mut self, path: PathId, element: NodeIndex, labels: &mut Labels, cost: &mut usize) {
        let Postponed { segment, document, answers, passed, .. } = self;
        for &[slot, at] in segment.inline.get(path) {
            if answers.matched.is_set(slot) {
                continue;
            }
            let Some(test) = segment.value_filter(slot).map(|filter| &filter.tests[at as usize]) else {
                continue;
            };
            answers.work.tested += 1;
            let passes = |value: &str| test.condition.passes(value, cost);
            if any_value(document, &segment.symbols, labels, element, test.key, passes) {
                passed.entry((slot, at)).or_default().push(element);
            }
        }
    }

    /// Whether open elements have passed every test of a filter. For postponed tests nothing is
    /// known yet, so every filter may pass.
    fn may_pass(&mut self, slot: Slot, element: NodeIndex) -> bool {
        if self.segment.inline.items.is_empty() {
            return true;
        }
        let tests = self.segment.value_filter(slot).map_or(0, |filter| filter.tests.len() as u32);
        (0..tests).all(|at| {
            let Some(elements) = self.passed.get_mut(&(slot, at)) else { return false };
            // Drop elements that have ended.
            while elements.last().is_some_and(|last| self.document.node(*last).end <= element) {
                elements.pop();
            }
            !elements.is_empty()
        })
    }
}
