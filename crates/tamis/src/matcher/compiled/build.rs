//! How do expressions become a compiled matcher?
//!
//! They are taken apart into terms, whose chances are estimated. Every expression is entered under some of
//! its literals, and what else must hold becomes a block of checks. A conjunction or disjunction that
//! several others use is a node of its own, evaluated at most once per event.

use super::assemble::Parts;
use super::bits::{BitTest, Bits};
use super::estimate::Estimates;
use super::keys::Keys;
use super::patterns::Patterns;
use super::program::{MOST_ATTRIBUTES, MOST_KEYS};
use super::ranges::{Bounds, Interval};
use super::shape::{Shape, count_nodes, count_uses};
use super::term::{Tag, Term, TermId, Terms};
use super::{Compiled, NO_BLOCK, TARGET_NODE};
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, Normaliser, resolve};
use crate::matcher::{Scan, Slot};
use crate::truth::Missing;
use crate::value::TimeZone;

/// Expressions with more levels than this are evaluated by a scan, which needs no recursion.
const MOST_LEVELS: u32 = 64;
/// Trying a pattern costs about so much more than looking at an entry.
const TRIED: f64 = 8.0;
/// A term that is no node.
pub(super) const NO_NODE: u32 = u32::MAX;

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
    let mut builder = Builder {
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
    builder.estimate(&estimates);
    builder.number_nodes(&uses);
    builder.finish(roots, deep, scan, local)
}

/// What an entry waits for; the kinds are numbered one behind the other once all are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    Key(u32),
    Set(u32),
    /// The number of an interval.
    Range(u32),
    Pattern(u32),
    Attribute(u32),
    Always,
    Node(u32),
}

/// What follows when a source is true.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    /// The bit tests that come first.
    pub tests: [BitTest; 2],
    /// The block of checks that remains.
    pub block: u32,
    /// The slot or node that is then true.
    pub target: u32,
}

impl Waiting {
    pub fn new(block: u32, target: u32) -> Waiting {
        Waiting { tests: [BitTest::NONE; 2], block, target }
    }
}

#[derive(Debug, Default)]
pub(super) struct Sets {
    /// The term of each set, and its keys, ascending.
    pub keys: Vec<Vec<u32>>,
    numbers: std::collections::HashMap<TermId, u32, ahash::RandomState>,
    /// Sets that are entered, and so must be found through their keys.
    pub entered: Vec<bool>,
}

/// Expressions that are compiled; what each is entered under stands in `enter`, what remains to be checked in
/// `check`.
pub(super) struct Builder {
    pub missing: Missing,
    pub terms: Terms,
    pub keys: Keys,
    /// The number in `keys` of each key of the terms.
    pub key_numbers: Vec<u32>,
    pub bounds: Bounds,
    pub bits: Bits,
    /// Nodes, edges and uses; and the predicates of each attribute.
    pub shape: ([u64; 3], Vec<u32>),
    /// The chance that a term is true.
    pub chances: Vec<f64>,
    /// How often per event a term's entries are looked at.
    pub costs: Vec<f64>,
    pub nodes: Vec<u32>,
    pub entries: Vec<(Source, Waiting)>,
    pub program: Vec<u32>,
    pub sets: Sets,
    pub intervals: Vec<Interval>,
    pub patterns: Patterns,
}

impl Builder {
    fn estimate(&mut self, estimates: &Estimates) {
        for number in 0..self.terms.len() {
            let term = self.terms.get(number as TermId);
            let operands = term.operands().iter().map(|&operand| operand as usize);
            let (chance, cost) = match term.tag {
                Tag::Constant => (f64::from(u8::from(term.constant())), 1.0),
                Tag::And => (
                    operands.clone().map(|operand| self.chances[operand]).product(),
                    operands.map(|operand| self.costs[operand]).fold(f64::INFINITY, f64::min),
                ),
                Tag::Or => (
                    1.0 - operands.clone().map(|operand| 1.0 - self.chances[operand]).product::<f64>(),
                    operands.map(|operand| self.costs[operand]).sum(),
                ),
                _ => {
                    let chance = estimates.literal(term);
                    let cost = match term.tag {
                        _ if !self.is_positive(term) => 1.0 + chance,
                        Tag::Pattern => self.pattern_cost(term.payload()[0], chance),
                        _ => chance,
                    };
                    (chance, cost)
                }
            };
            self.chances[number] = chance;
            self.costs[number] = cost;
        }
    }

    /// What it costs per event to wait for a pattern that is true, or a candidate, with a certain chance.
    fn pattern_cost(&self, pattern: u32, chance: f64) -> f64 {
        if self.patterns.is_unfiltered(pattern) {
            // It is tried on every event, which is worse than to look at an entry on every event.
            2.0 + chance
        } else if self.patterns.is_tried(pattern) {
            TRIED * chance
        } else {
            chance
        }
    }

    /// How many expressions and nodes are looked at on every event, or on every event with an attribute.
    pub(super) fn count_unselective(&self) -> u64 {
        let is_unselective = |source: &Source| match *source {
            Source::Always | Source::Attribute(_) => true,
            Source::Pattern(pattern) => self.patterns.is_unfiltered(pattern),
            _ => false,
        };
        let entries = self.entries.iter().filter(|(source, _)| is_unselective(source));
        let mut targets: Vec<u32> = entries.map(|(_, waiting)| waiting.target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets.len() as u64
    }

    /// Whether a literal can be true only where a source of its own says so.
    pub(super) fn is_positive(&self, term: Term<'_>) -> bool {
        match term.tag {
            // `exists` needs the attribute; `missing` and `is null` hold for want of it.
            Tag::Presence => term.payload()[0] == u32::from(term.negated),
            _ => !term.negated,
        }
    }

    fn number_nodes(&mut self, uses: &[u32]) {
        let mut next = 0;
        for (term, &uses) in uses.iter().enumerate() {
            if uses > 1 && !self.terms.get(term as TermId).operands().is_empty() {
                self.nodes[term] = next;
                next += 1;
            }
        }
    }

    fn finish(mut self, roots: &[TermId], deep: Vec<Slot>, scan: Scan, local: Vec<u32>) -> Compiled {
        let mut bodies = Vec::new();
        for term in 0..self.terms.len() as TermId {
            if self.nodes[term as usize] != NO_NODE {
                let target = self.nodes[term as usize] | TARGET_NODE;
                bodies.push(self.body(term));
                self.enter_parts(term, NO_BLOCK, target);
            }
        }
        let mut node_slots: Vec<(u32, Slot)> = Vec::new();
        // Expressions entered under the same source are compiled one behind the other, so that what
        // remains to be checked of them is read in one run.
        let mut order: Vec<Slot> =
            (0..roots.len() as Slot).filter(|&slot| roots[slot as usize] != TermId::MAX).collect();
        order.sort_by_cached_key(|&slot| self.first_source(roots[slot as usize]));
        for slot in order {
            let root = roots[slot as usize];
            match self.nodes[root as usize] {
                NO_NODE => self.enter_parts(root, NO_BLOCK, slot),
                node => node_slots.push((node, slot)),
            }
        }
        Parts { builder: self, bodies, node_slots, slots: roots.len(), deep, scan }.assemble(local)
    }

    /// Whether a bit test decides a term.
    pub(super) fn is_bit_test(&self, term: TermId) -> bool {
        !self.terms.get(term).negated && self.bit_test(term).is_some_and(|test| test.exact)
    }

    /// The bit test that a term, or what it negates, passes wherever it is true, if one is worth making.
    pub(super) fn bit_test(&self, term: TermId) -> Option<BitTest> {
        let literal = self.terms.get(term);
        match literal.tag {
            Tag::Keys if literal.payload().len() <= MOST_KEYS => {
                let keys = literal.payload().iter().map(|&key| self.key_numbers[key as usize]);
                Some(self.bits.of_keys(literal.attribute(), keys))
            }
            Tag::Range => {
                let (first, last) = self.interval(term);
                Some(self.bits.of_ranks(literal.attribute(), first, last))
            }
            _ => None,
        }
    }

    pub(super) fn interval(&self, term: TermId) -> (u32, u32) {
        let term = self.terms.get(term);
        let [comparison, low, high] = *term.payload() else { unreachable!("a range has two ends") };
        let value = |bound: u32| &self.terms.bounds.list[bound as usize].1;
        self.bounds.interval(term.attribute(), comparison, value(low), value(high))
    }

    pub(super) fn set(&mut self, term: TermId) -> u32 {
        // The same keys under either sign are two sets, which costs memory and nothing else.
        let next = self.sets.keys.len() as u32;
        let set = *self.sets.numbers.entry(term).or_insert(next);
        if set == next {
            let keys = self.terms.get(term).payload();
            let mut keys: Vec<u32> = keys.iter().map(|&key| self.key_numbers[key as usize]).collect();
            keys.sort_unstable();
            self.sets.keys.push(keys);
            self.sets.entered.push(false);
        }
        set
    }
}
