//! How do expressions become a compiled matcher?
//!
//! Expressions are split into subexpressions, and the probability that each subexpression is true is estimated. Every
//! expression is entered under some of its predicates, and the rest of it becomes a residual. A conjunction or
//! disjunction that several others use becomes a node, which is evaluated at most once per event.

pub(super) mod access;
pub(super) mod estimate;
pub(super) mod ir;
pub(super) mod layout;
pub(super) mod lower;
mod numbers;
pub(super) mod residual;
pub(super) mod stats;

use super::Compiled;
use super::columns::bits::Bits;
use super::columns::keys::Keys;
use super::columns::opcodes::MOST_ATTRIBUTES;
use super::columns::patterns::Patterns;
use super::columns::ranges::{Bounds, Intervals};
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, FlatExpression, FlatNode, Normaliser, resolve};
use crate::matcher::{Scan, Slot};
use crate::truth::Missing;
use crate::value::TimeZone;
use estimate::Estimates;
use ir::{Ir, SubexpressionId, Tag};
use lower::{Lowering, NO_NODE, Sets};
use stats::{ExpressionStats, count_subexpressions, count_uses};

/// Expressions that are deeper than this are evaluated by a scan, which needs no recursion.
pub(in crate::matcher::compiled) const MOST_DEPTH: u32 = 64;

/// Collects expressions for a compiled matcher; an expression is not kept after it has been split.
#[derive(Debug, Default)]
pub(crate) struct CompiledBuilder {
    ir: Ir,
    /// The subexpression of each expression.
    roots: Vec<SubexpressionId>,
    normaliser: Normaliser,
    /// The predicates of an expression, and the subexpressions that wait for their connective; kept for their memory.
    predicates: Vec<SubexpressionId>,
    open: Vec<SubexpressionId>,
    time_zone: TimeZone,
}

impl CompiledBuilder {
    pub fn new(time_zone: TimeZone) -> CompiledBuilder {
        CompiledBuilder { time_zone, ..CompiledBuilder::default() }
    }

    /// Makes room for about so many expressions.
    pub fn reserve(&mut self, expressions: usize) {
        self.ir.reserve(expressions);
    }

    /// Splits an expression into subexpressions; its slot is the number of expressions before it.
    pub fn push(&mut self, expression: &Expression) {
        let resolved = resolve(expression, &self.time_zone);
        self.roots.push(self.normaliser.build(&resolved, &mut self.ir));
    }

    /// As [`CompiledBuilder::push`], for an expression that is resolved.
    pub fn push_resolved(&mut self, resolved: &Expression) {
        self.roots.push(self.normaliser.build(resolved, &mut self.ir));
    }

    /// As [`CompiledBuilder::push`], for an expression that was read without a tree.
    pub fn push_flat(&mut self, expression: &FlatExpression) {
        self.open.clear();
        self.predicates.clear();
        self.ir.flat_predicates(expression, &mut self.predicates);
        let mut predicates = self.predicates.iter();
        for node in expression.nodes() {
            let (conjunction, count) = match node {
                FlatNode::Predicate(_) => {
                    self.open.extend(predicates.next());
                    continue;
                }
                FlatNode::And(count) => (true, *count),
                FlatNode::Or(count) => (false, *count),
            };
            let first = self.open.len() - count as usize;
            let joined = self.normaliser.join(conjunction, &self.open[first..], &mut self.ir);
            self.open.truncate(first);
            self.open.push(joined);
        }
        self.roots.extend(self.open.pop());
    }

    /// What the expressions consist of.
    pub fn stats(&self) -> ExpressionStats {
        let ([subexpressions, edges, uses], predicates) =
            count_subexpressions(&self.ir, &count_uses(&self.ir, &self.roots));
        let predicates = self.ir.names().iter().cloned().zip(predicates);
        ExpressionStats {
            subexpressions: subexpressions as usize,
            edges: edges as usize,
            uses: uses as usize,
            predicates: predicates.map(|(name, count)| (name, count as usize)).collect(),
            // The papers' matchers do not report these.
            unfiltered_patterns: 0,
            unselective: 0,
        }
    }

    /// Compiles the collected expressions. `sample` shows what events look like, and `expression` returns the
    /// expression of a slot again, for the few that are too deep to compile.
    pub fn finish(
        self,
        attributes: &Attributes,
        missing: Missing,
        sample: &[Event],
        expression: impl Fn(Slot) -> Result<Expression>,
    ) -> Result<Compiled> {
        let CompiledBuilder { ir, mut roots, .. } = self;
        let mut local: Vec<u32> = Vec::new();
        for (name, number) in ir.names().iter().zip(1..) {
            let attribute = attributes.intern(name) as usize;
            local.resize(local.len().max(attribute + 1), 0);
            local[attribute] = number;
        }
        let mut depths: Vec<u32> = Vec::with_capacity(ir.len());
        for subexpression in 0..ir.len() {
            let children = ir.get(subexpression as SubexpressionId).children();
            depths.push(children.iter().map(|&child| depths[child as usize] + 1).max().unwrap_or(0));
        }
        let mut deep: Vec<Slot> = Vec::new();
        let too_many = ir.names().len() >= MOST_ATTRIBUTES;
        for (root, slot) in roots.iter_mut().zip(0..) {
            if depths[*root as usize] > MOST_DEPTH || too_many {
                deep.push(slot);
                *root = SubexpressionId::MAX;
            }
        }
        let scanned = deep.iter().map(|&slot| expression(slot)).collect::<Result<Vec<_>>>()?;
        let scan = Scan::new(&scanned, attributes, missing);
        let compiled = compile(ir, &roots, deep, scan, local, missing, sample);
        compiled.patterns.check()?;
        if compiled.words().iter().any(|column| column.len() > u32::MAX as usize) {
            return Err(Error::expression(
                "there are too many expressions at once; add them in several calls",
            ));
        }
        Ok(compiled)
    }
}

/// Compiles the subexpressions; `deep` has the slots without a subexpression, and `local` this matcher's numbers of
/// the attributes.
fn compile(
    ir: Ir,
    roots: &[SubexpressionId],
    deep: Vec<Slot>,
    scan: Scan,
    local: Vec<u32>,
    missing: Missing,
    sample: &[Event],
) -> Compiled {
    let uses = count_uses(&ir, roots);
    let stats = count_subexpressions(&ir, &uses);
    let count = ir.names().len();
    let patterns = Patterns::new(&ir.patterns, count + 1);
    let bounds = Bounds::new(&ir.bounds.list, count);
    let estimates = Estimates::new(&ir, &uses, &patterns, &bounds, sample, &local);
    let mut key_uses = vec![0u32; ir.keys.list.len()];
    for (subexpression, &uses) in uses.iter().enumerate() {
        let subexpression = ir.get(subexpression as SubexpressionId);
        if subexpression.tag == Tag::Keys {
            subexpression.payload().iter().for_each(|&key| key_uses[key as usize] += uses);
        }
    }
    let (keys, key_numbers) = Keys::new(&ir.keys.list, &key_uses, count);
    let attribute_words = (0..=count as u32).map(|attribute| {
        let of = keys.of(attribute);
        (of.start, of.len() as u32, bounds.ranks(attribute))
    });
    let mut lowering = Lowering {
        missing,
        key_numbers,
        bits: Bits::new(attribute_words),
        bounds,
        stats,
        chances: vec![0.0; ir.len()],
        costs: vec![0.0; ir.len()],
        nodes: vec![NO_NODE; ir.len()],
        node_subexpressions: Vec::new(),
        levels: Vec::new(),
        asks_nodes: Vec::new(),
        entries: Vec::new(),
        program: Vec::new(),
        words: Vec::new(),
        others: Vec::new(),
        ahead: Vec::new(),
        sets: Sets::default(),
        intervals: Intervals::default(),
        sampled: sample.len(),
        patterns,
        keys,
        ir,
    };
    lowering.estimate(&estimates);
    lowering.number_nodes(&uses);
    lowering.finish(roots, deep, scan, local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    #[test]
    fn expressions_without_a_tree_have_the_same_subexpressions() {
        let texts = [
            "a = 'x'",
            "a in ('x') and b in (3, 1, 2)",
            "b in (1, 2, 3) and a = 'x' and a = 'x'",
            "(a != 'y' or b not in (1, 2)) and (c between 1 and 5 or c between 4 and 4) or d > 'm'",
            "c = 4 or c not between 1 and 5",
            "a in ('y', 'x', 'z') and (b <= 1 and (b >= 1 and b < 9))",
            "b = 'x' or a in ('x', 'z', 'y')",
        ];
        let limits = Limits::default();
        let [mut trees, mut flat, mut mixed] = std::array::from_fn(|_| CompiledBuilder::default());
        let mut read = FlatExpression::default();
        for text in texts {
            let tree = parse(text, &limits).unwrap();
            assert!(read.read(text, &limits), "{text}");
            trees.push(&tree);
            flat.push_flat(&read);
            mixed.push_flat(&read);
            mixed.push(&tree);
            assert_eq!(mixed.roots[mixed.roots.len() - 2], mixed.roots[mixed.roots.len() - 1], "{text}");
        }
        // Without a tree, the predicates of an expression are numbered before its connectives.
        let written = |builder: &CompiledBuilder| {
            let mut written: Vec<String> = Vec::new();
            for number in 0..builder.ir.len() {
                let subexpression = builder.ir.get(number as SubexpressionId);
                written.push(match subexpression.tag {
                    Tag::And | Tag::Or => {
                        let children = subexpression.children().iter().map(|&child| &written[child as usize]);
                        let mut children: Vec<&String> = children.collect();
                        children.sort();
                        format!("{:?} {children:?}", subexpression.tag)
                    }
                    _ => format!("{subexpression:?}"),
                });
            }
            let roots: Vec<String> =
                builder.roots.iter().map(|&root| written[root as usize].clone()).collect();
            written.sort();
            let ir = &builder.ir;
            (roots, written, ir.names().to_vec(), ir.keys.list.clone(), ir.bounds.list.clone())
        };
        assert_eq!(written(&flat), written(&trees));
        assert_eq!(written(&mixed).1, written(&trees).1);
    }

    #[test]
    fn values_are_found_by_their_attribute_and_content() {
        let mut builder = CompiledBuilder::default();
        let long = "x".repeat(40);
        for number in 0..2000 {
            let text = format!("a{} in ('v{number}', '{long}{number}', {number})", number % 7);
            builder.push(&parse(&text, &Limits::default()).unwrap());
        }
        let keys = &builder.ir.keys;
        assert_eq!(keys.list.len(), 6000);
        for (number, (attribute, value)) in (0..).zip(&keys.list) {
            assert_eq!(keys.find(*attribute, value.as_ref()), Some(number));
            assert_eq!(keys.find(attribute + 7, value.as_ref()), None);
        }
        for absent in ["v2000", "", &format!("{long}2000")] {
            assert_eq!(keys.find(1, crate::value::ValueRef::String(absent)), None);
        }
    }
}
