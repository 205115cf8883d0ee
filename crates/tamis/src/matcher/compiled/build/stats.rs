//! How many subexpressions does a set of expressions have, and how much do they share?

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Compiled;
use super::ir::{Ir, SubexpressionId};

/// The distinct subexpressions of a set of expressions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpressionStats {
    /// Predicates, conjunctions and disjunctions.
    pub subexpressions: usize,
    /// From conjunctions and disjunctions to their children.
    pub edges: usize,
    /// How often subexpressions are used by expressions and as children.
    pub uses: usize,
    /// By attribute: the number of its predicates; one that occurs with both signs counts twice.
    pub predicates: BTreeMap<Arc<str>, usize>,
    /// Patterns without a literal that an automaton could find. They are tried wherever they are used.
    pub unfiltered_patterns: usize,
    /// Expressions and shared subexpressions that are checked on every event, or on every event with a certain
    /// attribute, because they consist only of negations, `exists`, unfiltered
    /// patterns and `true`.
    pub unselective: usize,
}

impl ExpressionStats {
    /// How often a subexpression is used on average; 0 if there are none.
    pub fn sharing(&self) -> f64 {
        if self.subexpressions == 0 { 0.0 } else { self.uses as f64 / self.subexpressions as f64 }
    }

    /// Adds the figures of another set; subexpressions that both have count twice.
    pub(crate) fn add(&mut self, other: ExpressionStats) {
        self.subexpressions += other.subexpressions;
        self.edges += other.edges;
        self.uses += other.uses;
        self.unfiltered_patterns += other.unfiltered_patterns;
        self.unselective += other.unselective;
        for (attribute, predicates) in other.predicates {
            *self.predicates.entry(attribute).or_default() += predicates;
        }
    }
}

impl Compiled {
    /// What the expressions consist of, except those too deep to compile.
    pub(crate) fn stats(&self) -> ExpressionStats {
        let [subexpressions, edges, uses, unfiltered_patterns, unselective] =
            std::array::from_fn(|figure| self.counts[6 + figure] as usize);
        let predicates = self.attribute_predicates.iter().enumerate();
        let predicates = predicates.filter_map(|(attribute, &count)| {
            self.names.get(attribute).map(|name| (name.into(), count as usize))
        });
        ExpressionStats {
            subexpressions,
            edges,
            uses,
            predicates: predicates.collect(),
            unfiltered_patterns,
            unselective,
        }
    }
}

/// How often each subexpression is used, by expressions and as a child.
pub(in crate::matcher::compiled) fn count_uses(ir: &Ir, roots: &[SubexpressionId]) -> Vec<u32> {
    let mut uses = vec![0u32; ir.len()];
    for &root in roots.iter().filter(|&&root| root != SubexpressionId::MAX) {
        uses[root as usize] += 1;
    }
    // Children have smaller numbers, so in descending order the uses of a subexpression are complete before those of its
    // children.
    for subexpression in (0..ir.len()).rev() {
        if uses[subexpression] > 0 {
            for &child in ir.get(subexpression as SubexpressionId).children() {
                uses[child as usize] += 1;
            }
        }
    }
    uses
}

/// The figures that are stored: subexpressions, edges and uses; and by attribute, from 1 on, its predicates.
pub(in crate::matcher::compiled) fn count_subexpressions(ir: &Ir, uses: &[u32]) -> ([u64; 3], Vec<u32>) {
    let (mut count, mut edges) = (0, 0);
    let mut predicates = vec![0; ir.names().len()];
    for (subexpression, _) in uses.iter().enumerate().filter(|(_, uses)| **uses > 0) {
        let subexpression = ir.get(subexpression as SubexpressionId);
        count += 1;
        edges += subexpression.children().len() as u64;
        if subexpression.is_predicate() {
            predicates[subexpression.attribute() as usize - 1] += 1;
        }
    }
    ([count, edges, uses.iter().map(|&uses| u64::from(uses)).sum()], predicates)
}
