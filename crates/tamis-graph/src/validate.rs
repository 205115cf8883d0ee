//! Does a file contain a valid graph?
//!
//! A file may be damaged or forged. Everything that a search follows is checked once when the file is opened, in time
//! linear in the graph: nodes and edges are inside the graph, programs lead forward and do not overlap. Searching
//! relies on it.

use super::draft::NONE;
use super::programs::{FAILS, NEGATED, PREDICATE, Programs, STORE};
use super::segment::Segment;
use crate::csr::is_ascending;

impl Segment {
    /// Fails if the columns are not those of a graph, and says which.
    pub fn validate(&self) -> Result<(), &'static str> {
        let (count, ids) = (self.owners.len(), self.nodes.len());
        let all = || 0..count as u32;
        let is_node = |&node: &u32| (node as usize) < count;
        if !(count < NONE as usize
            && self.starts.len() == count + 1
            && is_ascending(&self.starts, self.targets.len())
            && self.targets.iter().all(is_node)
            && self.costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0))
        {
            return Err("the edges are damaged");
        }
        let owned = |node: u32| match self.owners[node as usize] {
            // An edge's node leads to where the edge does.
            NONE => self.row(node).len() == 1,
            owner => self.nodes.get(owner as usize) == Some(&node),
        };
        let at_owner = |(&node, position): (&u32, u32)| self.owners.get(node as usize) == Some(&position);
        if !(ids < NONE as usize && all().all(owned) && self.nodes.iter().zip(0..).all(at_owner)) {
            return Err("the nodes are damaged");
        }
        let first = |node: u32| self.firsts[node as usize];
        let in_order = |node: u32| {
            first(node) <= node
                && first(first(node)) == first(node)
                && self.children(node).iter().all(|&child| first(node) <= first(child))
        };
        // Without cycles every node is a component, and edges lead to greater ones.
        let acyclic =
            |node: u32| first(node) == node && self.children(node).iter().all(|&child| node < child);
        if !(all().all(in_order) && (!self.is_acyclic() || all().all(acyclic))) {
            return Err("the order of the nodes is damaged");
        }
        let has_expression = |node: &u32| self.expressions[*node as usize] != NONE;
        let is_expression = |&number: &u32| number == NONE || (number as usize) < self.expression_count();
        let ascends = |nodes: &[u32]| nodes.iter().all(is_node) && nodes.is_sorted_by(|a, b| a < b);
        if !(self.programs.len() == self.expression_count()
            && self.expressions.iter().all(is_expression)
            && ascends(&self.constrained)
            && self.constrained.iter().all(has_expression)
            && ascends(&self.free))
        {
            return Err("the expressions are damaged");
        }
        self.programs.validate()?;
        self.matcher.validate()
    }
}

impl Programs {
    /// Every step leads forward, and no further than its own program, so that a program takes no longer than
    /// it is.
    fn validate(&self) -> Result<(), &'static str> {
        let begins: Vec<usize> =
            self.entries.iter().filter(|&&entry| entry < FAILS).map(|&entry| entry as usize).collect();
        let ends = begins.iter().skip(1).copied().chain([self.steps.len()]);
        let whole = begins.first().copied().unwrap_or(self.steps.len()) == 0
            && begins.iter().copied().zip(ends).all(|(begin, end)| {
                begin < end
                    && self.steps.get(begin..end).is_some_and(|steps| {
                        steps.iter().zip(begin..).all(|(step, at)| {
                            let leads_on =
                                |next: u32| next >= FAILS || ((at + 1)..end).contains(&(next as usize));
                            let argument = (step.word >> 2) as usize;
                            let known = match step.word & 3 {
                                PREDICATE | NEGATED => argument < self.predicates(),
                                _ => argument < end - begin,
                            };
                            known
                                && leads_on(step.on_true)
                                && (step.word & 3 == STORE || leads_on(step.on_false))
                        })
                    })
            });
        if whole { Ok(()) } else { Err("a program is damaged") }
    }
}
