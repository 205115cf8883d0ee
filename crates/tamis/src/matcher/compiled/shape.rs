//! How do the expressions of a set hang together?

use std::collections::BTreeMap;
use std::sync::Arc;

use super::term::{TermId, Terms};

/// What a set of expressions consists of once equal parts are one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    /// Predicates, conjunctions and disjunctions.
    pub nodes: usize,
    /// From conjunctions and disjunctions to their operands.
    pub edges: usize,
    /// How often nodes are used: by expressions, and as operands.
    pub uses: usize,
    /// By attribute: its predicates, those in both signs twice.
    pub predicates: BTreeMap<Arc<str>, usize>,
    /// Patterns without a literal that an automaton could look for: they are tried wherever they are asked for.
    pub unfiltered_patterns: usize,
    /// Expressions and shared parts of expressions that are checked on every event, or on every event with a
    /// certain attribute, because all that they ask for is negated or an unfiltered pattern.
    pub unselective: usize,
}

impl Shape {
    /// How often a node is used on average; 0 where there is none.
    pub fn sharing(&self) -> f64 {
        if self.nodes == 0 { 0.0 } else { self.uses as f64 / self.nodes as f64 }
    }

    /// Adds the figures of another set; what both have counts twice.
    pub(crate) fn add(&mut self, other: Shape) {
        self.nodes += other.nodes;
        self.edges += other.edges;
        self.uses += other.uses;
        self.unfiltered_patterns += other.unfiltered_patterns;
        self.unselective += other.unselective;
        for (attribute, predicates) in other.predicates {
            *self.predicates.entry(attribute).or_default() += predicates;
        }
    }
}

/// How often each term is used by the expressions that have these terms, and by their parts.
pub(super) fn count_uses(terms: &Terms, roots: &[TermId]) -> Vec<u32> {
    let mut uses = vec![0u32; terms.len()];
    for &root in roots.iter().filter(|&&root| root != TermId::MAX) {
        uses[root as usize] += 1;
    }
    // Operands have smaller numbers, so going down settles a term's uses before its operands'.
    for term in (0..terms.len()).rev() {
        if uses[term] > 0 {
            for &operand in terms.get(term as TermId).operands() {
                uses[operand as usize] += 1;
            }
        }
    }
    uses
}

/// The figures that are kept: nodes, edges and uses; and by attribute, from 1 on, its predicates.
pub(super) fn count_nodes(terms: &Terms, uses: &[u32]) -> ([u64; 3], Vec<u32>) {
    let (mut nodes, mut edges) = (0, 0);
    let mut predicates = vec![0; terms.names().len()];
    for (term, _) in uses.iter().enumerate().filter(|(_, uses)| **uses > 0) {
        let term = terms.get(term as TermId);
        nodes += 1;
        edges += term.operands().len() as u64;
        if term.is_literal() {
            predicates[term.attribute() as usize - 1] += 1;
        }
    }
    ([nodes, edges, uses.iter().map(|&uses| u64::from(uses)).sum()], predicates)
}
