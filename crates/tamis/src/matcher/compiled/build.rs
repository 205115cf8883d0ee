//! How do expressions become a compiled matcher?
//!
//! Every expression is entered under the literals one of which must be true for it to be true: of
//! a conjunction, those of the operand least likely to be true (the access child of Ji & Jacobsen
//! 2021, section 5.2.2, which the paper picks at random); of a disjunction, those of all operands.
//! What else must hold becomes a block of checks, the least likely first. A conjunction or
//! disjunction that several others use is a node of its own, evaluated at most once per event.

use super::assemble::Parts;
use super::bits::{BitTest, Bits};
use super::estimate::Estimates;
use super::keys::Keys;
use super::program::{self, MOST_ATTRIBUTES, MOST_KEYS, end_block, head};
use super::ranges::{Bounds, Interval};
use super::shape::{Shape, count_nodes, count_uses};
use super::term::{Tag, Term, TermId, Terms};
use super::{Compiled, NO_BLOCK, TARGET_NODE};
use crate::error::{Error, Result};
use crate::event::{Attributes, Event};
use crate::expression::{Expression, Normaliser};
use crate::matcher::{Scan, Slot};
use crate::truth::Missing;

/// Sets with more values than this are entered once, and found through each of their keys.
const MOST_COPIES: usize = 16;
/// Expressions with more levels than this are evaluated by a scan, which needs no recursion.
const MOST_LEVELS: u32 = 64;
/// A term that is no node.
const NO_NODE: u32 = u32::MAX;

/// Expressions on their way into a compiled matcher; none is kept once it is taken apart.
#[derive(Debug, Default)]
pub(crate) struct CompiledBuilder {
    terms: Terms,
    /// The term of each expression.
    roots: Vec<TermId>,
    normaliser: Normaliser,
}

impl CompiledBuilder {
    /// Takes an expression apart; its slot is the number of those before it.
    pub fn push(&mut self, expression: &Expression) {
        self.roots.push(self.normaliser.build(expression, &mut self.terms));
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
    let estimates = Estimates::new(&terms, &uses, sample, &local);
    let count = terms.names().len();
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
        pattern_sources: vec![false; terms.patterns.len()],
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
    fn new(block: u32, target: u32) -> Waiting {
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

pub(super) struct Builder {
    pub missing: Missing,
    pub terms: Terms,
    pub keys: Keys,
    /// The number in `keys` of each key of the terms.
    key_numbers: Vec<u32>,
    pub bounds: Bounds,
    pub bits: Bits,
    /// Nodes, edges and uses; and the predicates of each attribute.
    pub shape: ([u64; 3], Vec<u32>),
    /// The chance that a term is true.
    chances: Vec<f64>,
    /// How often per event a term's entries are looked at.
    costs: Vec<f64>,
    nodes: Vec<u32>,
    pub entries: Vec<(Source, Waiting)>,
    pub program: Vec<u32>,
    pub sets: Sets,
    pub intervals: Vec<Interval>,
    pub pattern_sources: Vec<bool>,
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
                    (chance, if self.is_positive(term) { chance } else { 1.0 + chance })
                }
            };
            self.chances[number] = chance;
            self.costs[number] = cost;
        }
    }

    /// Whether a literal can be true only where a source of its own says so.
    fn is_positive(&self, term: Term<'_>) -> bool {
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

    /// The source that an expression is entered under first.
    fn first_source(&self, mut term: TermId) -> (u32, u32) {
        loop {
            let parts = self.terms.get(term);
            match parts.tag {
                Tag::And => term = self.access(parts.operands()),
                Tag::Or => term = parts.operands()[0],
                Tag::Keys if !parts.negated && !parts.payload().is_empty() => {
                    return (0, self.key_numbers[parts.payload()[0] as usize]);
                }
                Tag::Constant => return (2, 0),
                _ => return (1, parts.attribute()),
            }
        }
    }

    /// The operand of a conjunction that costs least to wait for.
    fn access(&self, operands: &[TermId]) -> TermId {
        let cost = |&&operand: &&TermId| self.costs[operand as usize];
        operands.iter().min_by(|a, b| cost(a).total_cmp(&cost(b))).copied().unwrap_or(0)
    }

    /// Enters a term so that `target` is reached when it and the block at `rest` hold.
    fn enter(&mut self, term: TermId, rest: u32, target: u32) {
        match self.nodes[term as usize] {
            NO_NODE => self.enter_parts(term, rest, target),
            node => self.entries.push((Source::Node(node), Waiting::new(rest, target))),
        }
    }

    fn enter_parts(&mut self, term: TermId, rest: u32, target: u32) {
        let parts = self.terms.get(term);
        match parts.tag {
            Tag::Constant => {
                if parts.constant() {
                    self.entries.push((Source::Always, Waiting::new(rest, target)));
                }
            }
            Tag::Or => {
                for operand in parts.operands().to_vec() {
                    self.enter(operand, rest, target);
                }
            }
            Tag::And => {
                let operands = parts.operands().to_vec();
                let access = self.access(&operands);
                let mut others: Vec<TermId> =
                    operands.into_iter().filter(|&operand| operand != access).collect();
                others.sort_by(|&a, &b| self.chances[a as usize].total_cmp(&self.chances[b as usize]));
                // Where the access is a literal, the least likely of the others are tested in the entry.
                let literal =
                    self.nodes[access as usize] == NO_NODE && self.terms.get(access).operands().is_empty();
                let mut tests = Vec::new();
                let mut position = 0;
                while literal && tests.len() < 2 && position < others.len() {
                    let negated = self.terms.get(others[position]).negated;
                    let test = self.bit_test(others[position]).filter(|_| !negated);
                    tests.extend(test);
                    if test.is_some_and(|test| test.exact) {
                        others.remove(position);
                    } else {
                        position += 1;
                    }
                }
                // What a bit test decides costs least to check.
                others.sort_by_key(|&other| !self.is_bit_test(other));
                let rest = self.block(&others, rest);
                let from = self.entries.len();
                self.enter(access, rest, target);
                for (_, entry) in &mut self.entries[from..] {
                    entry.tests[..tests.len()].copy_from_slice(&tests);
                }
            }
            _ => self.enter_literal(term, rest, target),
        }
    }

    /// Whether a bit test decides a term.
    fn is_bit_test(&self, term: TermId) -> bool {
        !self.terms.get(term).negated && self.bit_test(term).is_some_and(|test| test.exact)
    }

    /// The bit test that a term, or what it negates, passes wherever it is true, if one is worth making.
    fn bit_test(&self, term: TermId) -> Option<BitTest> {
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

    fn enter_literal(&mut self, term: TermId, rest: u32, target: u32) {
        let parts = self.terms.get(term);
        let attribute = parts.attribute();
        if !self.is_positive(parts) {
            // It holds for want of a source: it is looked at whenever it can be true.
            let needs_value = match parts.tag {
                Tag::Presence => false,
                _ => self.missing == Missing::Unknown,
            };
            let source = if needs_value { Source::Attribute(attribute) } else { Source::Always };
            let rest = self.block(&[term], rest);
            self.entries.push((source, Waiting::new(rest, target)));
            return;
        }
        match parts.tag {
            Tag::Keys if parts.payload().len() <= MOST_COPIES => {
                let keys: Vec<u32> =
                    parts.payload().iter().map(|&key| self.key_numbers[key as usize]).collect();
                for key in keys {
                    self.entries.push((Source::Key(key), Waiting::new(rest, target)));
                }
            }
            Tag::Keys => {
                let set = self.set(term);
                self.sets.entered[set as usize] = true;
                self.entries.push((Source::Set(set), Waiting::new(rest, target)));
            }
            Tag::Range => {
                let (first, last) = self.interval(term);
                let source = self.intervals.len() as u32;
                self.intervals.push(Interval { attribute, first, last, source });
                self.entries.push((Source::Range(source), Waiting::new(rest, target)));
            }
            Tag::Pattern => {
                let pattern = parts.payload()[0];
                self.pattern_sources[pattern as usize] = true;
                self.entries.push((Source::Pattern(pattern), Waiting::new(rest, target)));
            }
            Tag::Presence => {
                let rest = self.block(&[term], rest);
                self.entries.push((Source::Attribute(attribute), Waiting::new(rest, target)));
            }
            Tag::Constant | Tag::And | Tag::Or => unreachable!("no literal"),
        }
    }

    /// A block that checks the terms and goes on with the block at `rest`.
    fn block(&mut self, terms: &[TermId], rest: u32) -> u32 {
        if terms.is_empty() {
            return rest;
        }
        let mut words = Vec::new();
        let mut last = 0;
        for &term in terms {
            last = words.len();
            self.check(term, &mut words);
        }
        if rest == NO_BLOCK {
            end_block(&mut words, last);
        } else {
            words.extend([head(program::JUMP, false, 0, 0), rest]);
        }
        let block = self.program.len() as u32;
        self.program.extend(words);
        block
    }

    /// The block that evaluates a node from its operands.
    fn body(&mut self, term: TermId) -> u32 {
        let mut words = Vec::new();
        let mut last = 0;
        let parts = self.terms.get(term);
        if parts.tag == Tag::And {
            let mut operands = parts.operands().to_vec();
            operands.sort_by(|&a, &b| self.chances[a as usize].total_cmp(&self.chances[b as usize]));
            for operand in operands {
                last = words.len();
                self.check(operand, &mut words);
            }
        } else {
            self.alternatives(term, &mut words);
        }
        end_block(&mut words, last);
        let block = self.program.len() as u32;
        self.program.extend(words);
        block
    }

    /// Appends the check that a term is true.
    fn check(&mut self, term: TermId, words: &mut Vec<u32>) {
        if self.nodes[term as usize] != NO_NODE {
            words.extend([head(program::NODE, false, 0, 0), self.nodes[term as usize]]);
            return;
        }
        let parts = self.terms.get(term);
        let negated = parts.negated;
        if let Some(BitTest { word, mask, exact: true }) = self.bit_test(term) {
            let head = head(program::BITS, negated, 0, parts.attribute());
            words.extend([head, word, mask as u32, (mask >> 32) as u32]);
            return;
        }
        match parts.tag {
            Tag::Or => self.alternatives(term, words),
            Tag::Keys if parts.payload().len() <= MOST_KEYS => {
                let keys = parts.payload();
                words.push(head(program::KEYS, negated, keys.len(), parts.attribute()));
                words.extend(keys.iter().map(|&key| self.key_numbers[key as usize]));
            }
            Tag::Keys => {
                let attribute = parts.attribute();
                let set = self.set(term);
                words.extend([head(program::SET, negated, 0, attribute), set]);
            }
            Tag::Range => {
                let attribute = parts.attribute();
                let (first, last) = self.interval(term);
                words.extend([head(program::RANGE, negated, 0, attribute), first, last]);
            }
            Tag::Pattern => {
                words.extend([head(program::PATTERN, negated, 0, parts.attribute()), parts.payload()[0]]);
            }
            Tag::Presence => {
                words.push(head(program::PRESENCE, negated, parts.payload()[0] as usize, parts.attribute()));
            }
            Tag::Constant | Tag::And => unreachable!("folded or flattened"),
        }
    }

    /// Appends the check that some operand of a disjunction is true, the likeliest first.
    fn alternatives(&mut self, term: TermId, words: &mut Vec<u32>) {
        let mut operands = self.terms.get(term).operands().to_vec();
        operands.sort_by(|&a, &b| self.chances[b as usize].total_cmp(&self.chances[a as usize]));
        words.extend([head(program::ANY, false, 0, 0), operands.len() as u32, 0]);
        let start = words.len();
        for operand in operands {
            let length = words.len();
            words.push(0);
            let parts = self.terms.get(operand);
            let mut checks = vec![operand];
            if parts.tag == Tag::And && self.nodes[operand as usize] == NO_NODE {
                checks = parts.operands().to_vec();
                checks.sort_by(|&a, &b| self.chances[a as usize].total_cmp(&self.chances[b as usize]));
            }
            let mut last = words.len();
            for check in checks {
                last = words.len();
                self.check(check, words);
            }
            end_block(words, last);
            words[length] = (words.len() - length - 1) as u32;
        }
        words[start - 1] = (words.len() - start) as u32;
    }

    fn interval(&self, term: TermId) -> (u32, u32) {
        let term = self.terms.get(term);
        let [comparison, low, high] = *term.payload() else { unreachable!("a range has two ends") };
        let value = |bound: u32| &self.terms.bounds.list[bound as usize].1;
        self.bounds.interval(term.attribute(), comparison, value(low), value(high))
    }

    fn set(&mut self, term: TermId) -> u32 {
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
