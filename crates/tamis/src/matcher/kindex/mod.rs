//! The K-index of Whang et al. 2009 (section 3): expressions by the conjunctions of their disjunctive form.
//!
//! An expression that is in no such form is brought into it. Where that would take more literals
//! than [`KIndexOptions::normal_form`] allows, the expression is evaluated on every event instead; an
//! [`Index`](crate::Index) refuses it before.

mod cursor;

#[cfg(test)]
mod tests;

pub use cursor::Cursor;

use super::conjunction::{ConjunctionBuilder, ConjunctionIndex};
use super::{Matcher, Scan, Scratch, Slot};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, Outer, distribute, normalise};
use crate::limits::Limits;
use crate::truth::Missing;

/// How a [`KIndex`] is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KIndexOptions {
    /// Equal conjunctions of several expressions are one. Without, conjunctions stand in the order of
    /// their slots, and a [`Cursor`] skips over what it is not asked for.
    pub share: bool,
    /// The most literals that the disjunctive form of an expression may have.
    pub normal_form: usize,
}

impl Default for KIndexOptions {
    fn default() -> Self {
        KIndexOptions { share: true, normal_form: Limits::default().normal_form }
    }
}

/// Expressions by their conjunctions.
#[derive(Debug)]
pub struct KIndex {
    conjunctions: ConjunctionIndex,
    share: bool,
    /// Where the slots of each conjunction begin.
    starts: Vec<u32>,
    slots: Vec<Slot>,
    /// By slot: its first conjunction, where conjunctions are not shared.
    firsts: Vec<u32>,
    /// The slots of expressions that are evaluated, and a scan over them.
    scanned: Vec<Slot>,
    scan: Scan,
}

impl KIndex {
    /// Compiles expressions, whose slots are their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        options: KIndexOptions,
    ) -> KIndex {
        let mut builder = ConjunctionBuilder::new(attributes, missing, options.share);
        let (mut pairs, mut firsts) = (Vec::new(), Vec::new());
        let (mut scanned, mut refused) = (Vec::new(), Vec::new());
        let mut conjunctions = 0;
        for (slot, expression) in (0..).zip(expressions) {
            firsts.push(conjunctions);
            let form = normalise(expression);
            let Ok(parts) = distribute(&form, Outer::Or, options.normal_form) else {
                scanned.push(slot);
                refused.push(expression);
                continue;
            };
            let literals = builder.literals(&form);
            for part in parts {
                let factors = part.iter().map(|term| (literals[term.literal as usize], term.times));
                let conjunction = builder.insert(factors.collect());
                conjunctions = conjunctions.max(conjunction + 1);
                pairs.push((conjunction, slot));
            }
        }
        firsts.push(conjunctions);
        pairs.sort_unstable();
        pairs.dedup();
        let mut starts = vec![0u32; conjunctions as usize + 1];
        pairs.iter().for_each(|(conjunction, _)| starts[*conjunction as usize + 1] += 1);
        for conjunction in 1..starts.len() {
            starts[conjunction] += starts[conjunction - 1];
        }
        KIndex {
            conjunctions: builder.finish(|_| 1.0),
            share: options.share,
            starts,
            slots: pairs.into_iter().map(|(_, slot)| slot).collect(),
            firsts: if options.share { Vec::new() } else { firsts },
            scanned,
            scan: Scan::new(refused, attributes, missing),
        }
    }

    fn slots_of(&self, conjunction: u32) -> &[Slot] {
        let conjunction = conjunction as usize;
        &self.slots[self.starts[conjunction] as usize..self.starts[conjunction + 1] as usize]
    }

    /// Appends the slots of the expressions that are evaluated and true, ascending.
    fn scan(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        if !self.scanned.is_empty() {
            let first = found.len();
            self.scan.matches(event, scratch, found);
            found[first..].iter_mut().for_each(|position| *position = self.scanned[*position as usize]);
        }
    }

    /// How many distinct conjunctions there are.
    pub fn conjunctions(&self) -> usize {
        self.conjunctions.len()
    }
}

impl Matcher for KIndex {
    fn name(&self) -> &'static str {
        "kindex"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        self.scan(event, scratch, found);
        self.conjunctions.find(event, &mut scratch.conjunction, |conjunction| {
            found.extend_from_slice(self.slots_of(conjunction));
        });
        super::ascending(found, first);
    }

    fn predicates(&self) -> usize {
        self.conjunctions.postings().keys() + self.scan.predicates()
    }

    fn bytes(&self) -> usize {
        let words = self.starts.len() + self.slots.len() + self.firsts.len() + self.scanned.len();
        self.conjunctions.postings().bytes() + 4 * words + self.scan.bytes()
    }
}
