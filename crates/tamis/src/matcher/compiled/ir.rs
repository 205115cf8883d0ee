//! Which distinct parts does a set of expressions consist of?
//!
//! Literals, conjunctions and disjunctions are interned as short slices of words in one arena. Equal parts of
//! different expressions are stored once, and no part has an allocation of its own. Identity is the slice itself; the
//! hash only speeds up the lookup.

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;

use crate::expression::{PartKind, Parts, Predicate, Test, simplest};
use crate::value::{Value, ValueRef};

/// The number of a part; the operands of a part have smaller numbers.
pub(super) type PartId = u32;

/// The kind of a part, in its first word.
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
    /// `[tag, part..]`
    And,
    /// `[tag, part..]`
    Or,
}

const TAGS: [Tag; 7] = [Tag::Constant, Tag::Keys, Tag::Range, Tag::Pattern, Tag::Presence, Tag::And, Tag::Or];
const NEGATED: u32 = 1 << 8;

/// The comparisons of a range.
pub(super) const LESS: u32 = 0;
pub(super) const AT_MOST: u32 = 1;
pub(super) const GREATER: u32 = 2;
pub(super) const AT_LEAST: u32 = 3;
pub(super) const BETWEEN: u32 = 4;

/// A part, decoded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'a> {
    pub tag: Tag,
    pub negated: bool,
    words: &'a [u32],
}

impl<'a> Part<'a> {
    /// The attribute of a literal.
    pub fn attribute(self) -> u32 {
        self.words[1]
    }

    /// The words after the attribute of a literal.
    pub fn payload(self) -> &'a [u32] {
        &self.words[2..]
    }

    /// The operands of a conjunction or disjunction.
    pub fn operands(self) -> &'a [PartId] {
        match self.tag {
            Tag::And | Tag::Or => &self.words[1..],
            _ => &[],
        }
    }

    /// Whether it tests an attribute.
    pub fn is_literal(self) -> bool {
        !matches!(self.tag, Tag::Constant | Tag::And | Tag::Or)
    }

    pub fn constant(self) -> bool {
        self.words[1] == 1
    }
}

/// The intermediate representation of a set of expressions: all of their parts, and the values that their
/// literals mention.
#[derive(Debug, Default)]
pub(super) struct Ir {
    words: Vec<u32>,
    ends: Vec<u32>,
    table: HashTable<PartId>,
    hasher: ahash::RandomState,
    /// Attributes by their number in this matcher, which starts at 1.
    names: Vec<Arc<str>>,
    name_numbers: HashMap<Arc<str>, u32, ahash::RandomState>,
    /// Pairs tested for equality.
    pub keys: Values,
    /// Bounds of ranges.
    pub bounds: Values,
    /// All other tests.
    pub patterns: Vec<(u32, Test)>,
    pattern_numbers: HashMap<(u32, Test), u32, ahash::RandomState>,
    /// The words of the part being built; reused to save allocations.
    scratch: Vec<u32>,
}

/// Values of attributes, numbered in the order of their first mention.
#[derive(Debug, Default)]
pub(super) struct Values {
    pub list: Vec<(u32, Value)>,
    table: HashTable<u32>,
    hasher: ahash::RandomState,
}

impl Values {
    fn intern(&mut self, attribute: u32, value: &Value) -> u32 {
        let hash = self.hasher.hash_one((attribute, value.as_ref()));
        let same = |&number: &u32| {
            let (of, known) = &self.list[number as usize];
            *of == attribute && known == value
        };
        if let Some(&number) = self.table.find(hash, same) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push((attribute, value.clone()));
        let (list, hasher) = (&self.list, &self.hasher);
        self.table.insert_unique(hash, number, |&number| {
            let (attribute, value) = &list[number as usize];
            hasher.hash_one((*attribute, value.as_ref()))
        });
        number
    }

    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> Option<u32> {
        let hash = self.hasher.hash_one((attribute, value));
        let same = |&number: &u32| {
            let (of, known) = &self.list[number as usize];
            *of == attribute && known.as_ref() == value
        };
        self.table.find(hash, same).copied()
    }
}

impl Ir {
    /// The names of the attributes, by their number in this matcher minus one.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, part: PartId) -> Part<'_> {
        let end = self.ends[part as usize] as usize;
        let start = if part == 0 { 0 } else { self.ends[part as usize - 1] as usize };
        let words = &self.words[start..end];
        Part { tag: TAGS[(words[0] & 0xff) as usize], negated: words[0] & NEGATED != 0, words }
    }

    fn intern_literal(&mut self, attribute: u32, test: &Test, negated: bool) -> PartId {
        let negated = if negated { NEGATED } else { 0 };
        let head = |tag: Tag| tag as u32 | negated;
        match test {
            Test::Equal(value) => {
                let key = self.keys.intern(attribute, value);
                self.intern(&[head(Tag::Keys), attribute, key])
            }
            Test::In(values) => {
                let mut words = std::mem::take(&mut self.scratch);
                words.clear();
                words.extend([head(Tag::Keys), attribute]);
                words.extend(values.iter().map(|value| self.keys.intern(attribute, value)));
                words[2..].sort_unstable();
                let part = self.intern(&words);
                self.scratch = words;
                part
            }
            Test::Less(value) => self.intern_range(head(Tag::Range), attribute, LESS, value, value),
            Test::AtMost(value) => self.intern_range(head(Tag::Range), attribute, AT_MOST, value, value),
            Test::Greater(value) => self.intern_range(head(Tag::Range), attribute, GREATER, value, value),
            Test::AtLeast(value) => self.intern_range(head(Tag::Range), attribute, AT_LEAST, value, value),
            Test::Between(low, high) => self.intern_range(head(Tag::Range), attribute, BETWEEN, low, high),
            Test::Exists => self.intern(&[head(Tag::Presence), attribute, 0]),
            Test::IsNull => self.intern(&[head(Tag::Presence), attribute, 1]),
            pattern => {
                let number = self.intern_pattern(attribute, pattern);
                self.intern(&[head(Tag::Pattern), attribute, number])
            }
        }
    }

    fn intern_pattern(&mut self, attribute: u32, pattern: &Test) -> u32 {
        let next = self.patterns.len() as u32;
        *self.pattern_numbers.entry((attribute, pattern.clone())).or_insert_with_key(|key| {
            self.patterns.push(key.clone());
            next
        })
    }

    fn intern_range(
        &mut self,
        head: u32,
        attribute: u32,
        comparison: u32,
        low: &Value,
        high: &Value,
    ) -> PartId {
        let low = self.bounds.intern(attribute, low);
        let high = self.bounds.intern(attribute, high);
        self.intern(&[head, attribute, comparison, low, high])
    }

    fn intern_attribute(&mut self, name: &Arc<str>) -> u32 {
        if let Some(&number) = self.name_numbers.get(name) {
            return number;
        }
        self.names.push(name.clone());
        let number = self.names.len() as u32;
        self.name_numbers.insert(name.clone(), number);
        number
    }

    fn intern(&mut self, words: &[u32]) -> PartId {
        let hash = self.hasher.hash_one(words);
        let slice = |part: PartId| {
            let start = if part == 0 { 0 } else { self.ends[part as usize - 1] as usize };
            &self.words[start..self.ends[part as usize] as usize]
        };
        if let Some(&part) = self.table.find(hash, |&part| slice(part) == words) {
            return part;
        }
        let part = self.ends.len() as PartId;
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len() as u32);
        let (all, ends, hasher) = (&self.words, &self.ends, &self.hasher);
        self.table.insert_unique(hash, part, |&part| {
            let start = if part == 0 { 0 } else { ends[part as usize - 1] as usize };
            hasher.hash_one(&all[start..ends[part as usize] as usize])
        });
        part
    }
}

impl Parts for Ir {
    fn constant(&mut self, value: bool) -> u32 {
        self.intern(&[Tag::Constant as u32, u32::from(value)])
    }

    /// Literals that differ only in their weights are one part.
    fn literal(&mut self, predicate: &Predicate, negated: bool) -> u32 {
        let attribute = self.intern_attribute(predicate.attribute());
        self.intern_literal(attribute, &simplest(predicate.test()), negated)
    }

    fn operator(&mut self, conjunction: bool, operands: &[u32]) -> u32 {
        let mut words = std::mem::take(&mut self.scratch);
        words.clear();
        words.push(if conjunction { Tag::And } else { Tag::Or } as u32);
        words.extend_from_slice(operands);
        let part = self.intern(&words);
        self.scratch = words;
        part
    }

    fn kind(&self, part: u32) -> PartKind<'_> {
        let part = self.get(part);
        match part.tag {
            Tag::Constant => PartKind::Constant(part.constant()),
            Tag::And => PartKind::And(part.operands()),
            Tag::Or => PartKind::Or(part.operands()),
            _ => PartKind::Literal,
        }
    }
}
