//! The oracle: evaluates every expression on every event as written, after resolving the time zone.
//!
//! Nothing is skipped, reordered or normalised, so this matcher depends on as little as
//! possible of the code it checks. A predicate that several expressions share is evaluated once.

use super::{Matcher, Scratch, Slot};
use crate::event::{AttributeId, Attributes, Event};
use crate::expression::{Expression, Node, resolve};
use crate::predicate::{PredicateId, Predicates};
use crate::truth::{Missing, Truth};

/// Evaluates every expression.
#[derive(Debug)]
pub struct Scan {
    missing: Missing,
    predicates: Predicates,
    /// All expressions, one after the other, each in postfix order.
    steps: Vec<Step>,
    /// Where each expression ends in `steps`.
    ends: Vec<usize>,
}

#[derive(Debug)]
enum Step {
    Predicate {
        predicate: PredicateId,
        negated: bool,
    },
    /// A connective or constant.
    Combine(Node),
}

impl Scan {
    /// Compiles expressions, whose slots are their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
    ) -> Scan {
        let mut predicates = Predicates::default();
        let (mut steps, mut ends) = (Vec::new(), Vec::new());
        for expression in expressions {
            let expression = resolve(expression, attributes.time_zone());
            steps.extend(expression.nodes().iter().map(|node| match node {
                Node::Predicate(predicate) => {
                    let attribute = attributes.intern(predicate.attribute());
                    let negated = predicate.negated();
                    Step::Predicate { predicate: predicates.intern(attribute, predicate.test()), negated }
                }
                other => Step::Combine(other.clone()),
            }));
            ends.push(steps.len());
        }
        Scan { missing, predicates, steps, ends }
    }

    fn truth(&self, predicate: PredicateId, event: &Event, scratch: &mut Scratch) -> Truth {
        if let Some(known) = scratch.memo.get(predicate as usize) {
            return known;
        }
        // The predicate may have to examine a long list, or a pattern a long text.
        if scratch.timer.look() {
            return Truth::Unknown;
        }
        let truth = self.predicates.truth(predicate, event, self.missing);
        scratch.memo.set(predicate as usize, truth);
        truth
    }

    /// Like [`Matcher::matches`], within the scratch's remaining time.
    pub(super) fn find(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        scratch.memo.begin(self.predicates.len());
        let mut start = 0;
        for (slot, &end) in self.ends.iter().enumerate() {
            if scratch.timer.spend(end - start) {
                return;
            }
            scratch.stack.clear();
            for step in &self.steps[start..end] {
                let truth = match step {
                    Step::Predicate { predicate, negated } => {
                        let truth = self.truth(*predicate, event, scratch);
                        if *negated { !truth } else { truth }
                    }
                    Step::Combine(node) => {
                        let first = scratch.stack.len() - node.children();
                        let truth = node.combine(&scratch.stack[first..]);
                        scratch.stack.truncate(first);
                        truth
                    }
                };
                scratch.stack.push(truth);
            }
            start = end;
            if scratch.stack.last() == Some(&Truth::True) {
                found.push(slot as Slot);
            }
        }
    }
}

impl Matcher for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        scratch.begin_within(event.deadline());
        self.find(event, scratch, found);
    }

    fn asked_nulls(&self) -> Option<Vec<AttributeId>> {
        Some(self.predicates.asked_nulls().collect())
    }

    fn bytes(&self) -> usize {
        size_of::<Step>() * self.steps.len() + 8 * self.ends.len() + self.predicates.bytes()
    }
}
