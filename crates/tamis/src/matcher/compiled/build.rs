//! How do expressions become a compiled matcher?
//!
//! They are taken apart into terms, whose chances are estimated. Every expression is entered under some of
//! its literals, and what else must hold becomes a residual. A conjunction or disjunction that
//! several others use is a node of its own, evaluated at most once per event.

use super::Compiled;
use super::bits::Bits;
use super::estimate::Estimates;
use super::keys::Keys;
use super::lower::{Lowering, NO_NODE, Sets};
use super::patterns::Patterns;
use super::program::MOST_ATTRIBUTES;
use super::ranges::Bounds;
use super::shape::{Shape, count_nodes, count_uses};
use super::term::{Tag, TermId, Terms};
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, Normaliser, resolve};
use crate::matcher::{Scan, Slot};
use crate::truth::Missing;
use crate::value::TimeZone;

/// Expressions with more levels than this are evaluated by a scan, which needs no recursion.
const MOST_LEVELS: u32 = 64;
/// Expressions on their way into a compiled matcher; none is kept once it is taken apart.
#[derive(Debug, Default)]
pub(crate) struct CompiledBuilder {
    terms: Terms,
    /// The term of each expression.
    roots: Vec<TermId>,
    normaliser: Normaliser,
    time_zone: TimeZone,
}

impl CompiledBuilder {
    pub fn new(time_zone: TimeZone) -> CompiledBuilder {
        CompiledBuilder { time_zone, ..CompiledBuilder::default() }
    }

    /// Takes an expression apart; its slot is the number of those before it.
    pub fn push(&mut self, expression: &Expression) {
        self.roots.push(self.normaliser.build(&resolve(expression, &self.time_zone), &mut self.terms));
    }

    /// What the expressions consist of.
    pub fn shape(&self) -> Shape {
        let ([nodes, edges, uses], predicates) =
            count_nodes(&self.terms, &count_uses(&self.terms, &self.roots));
        let predicates = self.terms.names().iter().cloned().zip(predicates);
        Shape {
            nodes: nodes as usize,
            edges: edges as usize,
            uses: uses as usize,
            predicates: predicates.map(|(name, count)| (name, count as usize)).collect(),
            // The matchers of the papers have no such figures.
            unfiltered_patterns: 0,
            unselective: 0,
        }
    }

    /// Compiles what was taken apart; `sample` tells what events are like, and `expression` gives the
    /// expression of a slot again, for the few that are too deep to compile.
    pub fn finish(
        self,
        attributes: &Attributes,
        missing: Missing,
        sample: &[Event],
        expression: impl Fn(Slot) -> Result<Expression>,
    ) -> Result<Compiled> {
        let CompiledBuilder { terms, mut roots, .. } = self;
        let mut local: Vec<u32> = Vec::new();
        for (name, number) in terms.names().iter().zip(1..) {
            let attribute = attributes.intern(name) as usize;
            local.resize(local.len().max(attribute + 1), 0);
            local[attribute] = number;
        }
        let mut levels: Vec<u32> = Vec::with_capacity(terms.len());
        for term in 0..terms.len() {
            let operands = terms.get(term as TermId).operands();
            levels.push(operands.iter().map(|&operand| levels[operand as usize] + 1).max().unwrap_or(0));
        }
        let mut deep: Vec<Slot> = Vec::new();
        let too_many = terms.names().len() >= MOST_ATTRIBUTES;
        for (root, slot) in roots.iter_mut().zip(0..) {
            if levels[*root as usize] > MOST_LEVELS || too_many {
                deep.push(slot);
                *root = TermId::MAX;
            }
        }
        let scanned = deep.iter().map(|&slot| expression(slot)).collect::<Result<Vec<_>>>()?;
        let scan = Scan::new(&scanned, attributes, missing);
        let compiled = compile(terms, &roots, deep, scan, local, missing, sample);
        compiled.patterns.check()?;
        if compiled.words().iter().any(|column| column.len() > u32::MAX as usize) {
            return Err(Error::expression(
                "there are too many expressions at once; add them in several calls",
            ));
        }
        Ok(compiled)
    }
}

/// Compiles terms; `deep` are the slots without a term, and `local` the attributes' numbers here.
fn compile(
    terms: Terms,
    roots: &[TermId],
    deep: Vec<Slot>,
    scan: Scan,
    local: Vec<u32>,
    missing: Missing,
    sample: &[Event],
) -> Compiled {
    let uses = count_uses(&terms, roots);
    let shape = count_nodes(&terms, &uses);
    let count = terms.names().len();
    let patterns = Patterns::new(&terms.patterns, count + 1);
    let estimates = Estimates::new(&terms, &uses, &patterns, sample, &local);
    let mut key_uses = vec![0u32; terms.keys.list.len()];
    for (term, &uses) in uses.iter().enumerate() {
        let term = terms.get(term as TermId);
        if term.tag == Tag::Keys {
            term.payload().iter().for_each(|&key| key_uses[key as usize] += uses);
        }
    }
    let (keys, key_numbers) = Keys::new(&terms.keys.list, &key_uses, count);
    let bounds = Bounds::new(&terms.bounds.list, count);
    let places = (0..=count as u32).map(|attribute| {
        let of = keys.of(attribute);
        (of.start, of.len() as u32, bounds.ranks(attribute))
    });
    let mut lowering = Lowering {
        missing,
        key_numbers,
        bits: Bits::new(places),
        bounds,
        shape,
        chances: vec![0.0; terms.len()],
        costs: vec![0.0; terms.len()],
        nodes: vec![NO_NODE; terms.len()],
        entries: Vec::new(),
        program: Vec::new(),
        sets: Sets::default(),
        intervals: Vec::new(),
        patterns,
        keys,
        terms,
    };
    lowering.estimate(&estimates);
    lowering.number_nodes(&uses);
    lowering.finish(roots, deep, scan, local)
}
