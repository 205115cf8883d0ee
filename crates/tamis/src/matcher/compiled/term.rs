//! Which parts do a set of expressions consist of, each part once?
//!
//! Literals, conjunctions and disjunctions are interned as short runs of words in one arena, so
//! that equal parts of different expressions are one term and no term has an allocation of its own.
//! Identity is the run itself; the hash only speeds the lookup.

use std::collections::HashMap;

use hashbrown::HashTable;

use crate::event::{AttributeId, Attributes};
use crate::expression::{Literal, NormalForm, NormalNode, Test};
use crate::value::{Value, ValueRef};

/// The number of a term; the operands of a term have smaller numbers.
pub(super) type TermId = u32;

/// What the first word of a term says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    /// `[tag, constant]`
    Constant,
    /// `[tag, attribute, key..]`: some value is one of the keys.
    Keys,
    /// `[tag, attribute, comparison, bound, bound]`
    Range,
    /// `[tag, attribute, pattern]`
    Pattern,
    /// `[tag, attribute, 0 for exists or 1 for is null]`
    Presence,
    /// `[tag, term..]`
    And,
    /// `[tag, term..]`
    Or,
}

const TAGS: [Tag; 7] = [Tag::Constant, Tag::Keys, Tag::Range, Tag::Pattern, Tag::Presence, Tag::And, Tag::Or];
const NEGATED: u32 = 1 << 8;

/// The comparisons of a range term.
pub(super) const LESS: u32 = 0;
pub(super) const AT_MOST: u32 = 1;
pub(super) const GREATER: u32 = 2;
pub(super) const AT_LEAST: u32 = 3;
pub(super) const BETWEEN: u32 = 4;

/// A term, taken apart.
#[derive(Debug, Clone, Copy)]
pub(super) struct Term<'a> {
    pub tag: Tag,
    pub negated: bool,
    words: &'a [u32],
}

impl<'a> Term<'a> {
    /// The attribute of a literal.
    pub fn attribute(self) -> u32 {
        self.words[1]
    }

    /// What follows the attribute of a literal.
    pub fn payload(self) -> &'a [u32] {
        &self.words[2..]
    }

    /// The operands of a conjunction or disjunction.
    pub fn operands(self) -> &'a [TermId] {
        match self.tag {
            Tag::And | Tag::Or => &self.words[1..],
            _ => &[],
        }
    }

    pub fn constant(self) -> bool {
        self.words[1] == 1
    }
}

/// All terms of a set of expressions, and the values their literals mention.
#[derive(Debug, Default)]
pub(super) struct Terms {
    words: Vec<u32>,
    ends: Vec<u32>,
    table: HashTable<TermId>,
    hasher: ahash::RandomState,
    /// Attributes of the index by their number here, which begins at 1.
    pub attributes: Vec<AttributeId>,
    attribute_numbers: HashMap<AttributeId, u32, ahash::RandomState>,
    /// Pairs that equality asks about.
    pub keys: Values,
    /// Ends of ranges.
    pub bounds: Values,
    /// Tests that are neither.
    pub patterns: Vec<(u32, Test)>,
    pattern_numbers: HashMap<(u32, Test), u32, ahash::RandomState>,
}

/// Values of attributes, numbered in the order of their first mention.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub list: Vec<(u32, Value)>,
    numbers: HashMap<(u32, Value), u32, ahash::RandomState>,
}

impl Values {
    fn intern(&mut self, attribute: u32, value: &Value) -> u32 {
        let next = self.list.len() as u32;
        *self.numbers.entry((attribute, value.clone())).or_insert_with_key(|key| {
            self.list.push(key.clone());
            next
        })
    }

    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> Option<u32> {
        self.numbers.get(&(attribute, value.to_value())).copied()
    }
}

impl Terms {
    /// The number here of an attribute of the index.
    pub fn attribute(&self, attribute: AttributeId) -> Option<u32> {
        self.attribute_numbers.get(&attribute).copied()
    }

    /// How many terms are literals.
    pub fn literals(&self) -> usize {
        (0..self.len() as TermId)
            .filter(|&term| !matches!(self.get(term).tag, Tag::Constant | Tag::And | Tag::Or))
            .count()
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, term: TermId) -> Term<'_> {
        let end = self.ends[term as usize] as usize;
        let start = if term == 0 { 0 } else { self.ends[term as usize - 1] as usize };
        let words = &self.words[start..end];
        Term { tag: TAGS[(words[0] & 0xff) as usize], negated: words[0] & NEGATED != 0, words }
    }

    /// The term of a normal form's root. `scratch` is kept for its memory.
    pub fn intern_form(
        &mut self,
        form: &NormalForm,
        attributes: &Attributes,
        scratch: &mut Vec<TermId>,
    ) -> TermId {
        scratch.clear();
        for node in form.nodes() {
            let term = match node {
                NormalNode::Constant(value) => self.intern(&[Tag::Constant as u32, u32::from(*value)]),
                NormalNode::Literal(literal) => self.intern_literal(literal, attributes),
                NormalNode::And(children) | NormalNode::Or(children) => {
                    let tag = if matches!(node, NormalNode::And(_)) { Tag::And } else { Tag::Or };
                    let mut operands = Vec::with_capacity(children.len() + 1);
                    for &child in children {
                        let child = scratch[child as usize];
                        match self.get(child) {
                            same if same.tag == tag => operands.extend_from_slice(same.operands()),
                            _ => operands.push(child),
                        }
                    }
                    // Literals that differ in their weights alone are one term, which can make
                    // operands equal, and leave a single one, that the normal form keeps apart.
                    operands.sort_unstable();
                    operands.dedup();
                    match operands[..] {
                        [single] => single,
                        _ => {
                            operands.insert(0, tag as u32);
                            self.intern(&operands)
                        }
                    }
                }
            };
            scratch.push(term);
        }
        scratch[scratch.len() - 1]
    }

    fn intern_literal(&mut self, literal: &Literal, attributes: &Attributes) -> TermId {
        let attribute = self.intern_attribute(attributes.intern(&literal.attribute));
        let negated = if literal.negated { NEGATED } else { 0 };
        let head = |tag: Tag| tag as u32 | negated;
        match &literal.test {
            Test::Equal(value) => {
                let key = self.keys.intern(attribute, value);
                self.intern(&[head(Tag::Keys), attribute, key])
            }
            Test::In(values) => {
                let mut words = Vec::with_capacity(values.len() + 2);
                words.extend([head(Tag::Keys), attribute]);
                words.extend(values.iter().map(|value| self.keys.intern(attribute, value)));
                words[2..].sort_unstable();
                self.intern(&words)
            }
            Test::Less(value) => self.intern_range(head(Tag::Range), attribute, LESS, value, value),
            Test::AtMost(value) => self.intern_range(head(Tag::Range), attribute, AT_MOST, value, value),
            Test::Greater(value) => self.intern_range(head(Tag::Range), attribute, GREATER, value, value),
            Test::AtLeast(value) => self.intern_range(head(Tag::Range), attribute, AT_LEAST, value, value),
            Test::Between(low, high) => self.intern_range(head(Tag::Range), attribute, BETWEEN, low, high),
            Test::Exists => self.intern(&[head(Tag::Presence), attribute, 0]),
            Test::IsNull => self.intern(&[head(Tag::Presence), attribute, 1]),
            pattern => {
                let next = self.patterns.len() as u32;
                let number =
                    *self.pattern_numbers.entry((attribute, pattern.clone())).or_insert_with_key(|key| {
                        self.patterns.push(key.clone());
                        next
                    });
                self.intern(&[head(Tag::Pattern), attribute, number])
            }
        }
    }

    fn intern_range(
        &mut self,
        head: u32,
        attribute: u32,
        comparison: u32,
        low: &Value,
        high: &Value,
    ) -> TermId {
        let low = self.bounds.intern(attribute, low);
        let high = self.bounds.intern(attribute, high);
        self.intern(&[head, attribute, comparison, low, high])
    }

    pub fn intern_attribute(&mut self, attribute: AttributeId) -> u32 {
        let next = self.attributes.len() as u32 + 1;
        *self.attribute_numbers.entry(attribute).or_insert_with(|| {
            self.attributes.push(attribute);
            next
        })
    }

    fn intern(&mut self, words: &[u32]) -> TermId {
        let hash = self.hasher.hash_one(words);
        let run = |term: TermId| {
            let start = if term == 0 { 0 } else { self.ends[term as usize - 1] as usize };
            &self.words[start..self.ends[term as usize] as usize]
        };
        if let Some(&term) = self.table.find(hash, |&term| run(term) == words) {
            return term;
        }
        let term = self.ends.len() as TermId;
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len() as u32);
        let (all, ends, hasher) = (&self.words, &self.ends, &self.hasher);
        self.table.insert_unique(hash, term, |&term| {
            let start = if term == 0 { 0 } else { ends[term as usize - 1] as usize };
            hasher.hash_one(&all[start..ends[term as usize] as usize])
        });
        term
    }
}
