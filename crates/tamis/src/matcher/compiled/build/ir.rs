//! Which distinct subexpressions does a set of expressions consist of?
//!
//! Predicates, conjunctions and disjunctions are interned as short slices of words in one arena. Equal subexpressions of
//! different expressions are stored once, and no subexpression has an allocation of its own. Identity is the slice
//! itself; the hash only speeds up the lookup.

use std::collections::HashMap;
use std::sync::Arc;

use hashbrown::HashTable;

use super::super::columns::ranges::{AT_LEAST, AT_MOST, BETWEEN, GREATER, LESS};
use crate::expression::{Predicate, RecentNumbers, SubexpressionKind, Subexpressions, Test, simplest};
use crate::value::{Value, ValueRef};

/// The number of a subexpression; the children of a subexpression have smaller numbers.
pub(in crate::matcher::compiled) type SubexpressionId = u32;

/// The kind of a subexpression, in its first word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::matcher::compiled) enum Tag {
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
    /// `[tag, subexpression..]`
    And,
    /// `[tag, subexpression..]`
    Or,
}

const TAGS: [Tag; 7] = [Tag::Constant, Tag::Keys, Tag::Range, Tag::Pattern, Tag::Presence, Tag::And, Tag::Or];
const NEGATED: u32 = 1 << 8;

/// A subexpression, decoded.
#[derive(Debug, Clone, Copy)]
pub(in crate::matcher::compiled) struct Subexpression<'a> {
    pub tag: Tag,
    pub negated: bool,
    words: &'a [u32],
}

impl<'a> Subexpression<'a> {
    /// The attribute of a predicate.
    pub fn attribute(self) -> u32 {
        self.words[1]
    }

    /// The words after the attribute of a predicate.
    pub fn payload(self) -> &'a [u32] {
        &self.words[2..]
    }

    /// The children of a conjunction or disjunction.
    pub fn children(self) -> &'a [SubexpressionId] {
        match self.tag {
            Tag::And | Tag::Or => &self.words[1..],
            _ => &[],
        }
    }

    /// Whether it tests an attribute.
    pub fn is_predicate(self) -> bool {
        !matches!(self.tag, Tag::Constant | Tag::And | Tag::Or)
    }

    pub fn constant(self) -> bool {
        self.words[1] == 1
    }
}

/// The intermediate representation of a set of expressions: all of their subexpressions, and the values that their
/// predicates mention.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Ir {
    words: Vec<u32>,
    ends: Vec<u32>,
    table: HashTable<Hashed>,
    hasher: WordHasher,
    /// Attributes by their number in this matcher, which starts at 1.
    names: Vec<Arc<str>>,
    name_numbers: HashMap<Arc<str>, u32, ahash::RandomState>,
    recent_names: RecentNumbers,
    /// Pairs tested for equality.
    pub keys: Values,
    /// Bounds of ranges.
    pub bounds: Values,
    /// All other tests.
    pub patterns: Vec<(u32, Test)>,
    pattern_numbers: HashMap<(u32, Test), u32, ahash::RandomState>,
    /// The words of the subexpression being built; reused to save allocations.
    scratch: Vec<u32>,
}

/// Values of attributes, numbered in the order of their first mention.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Values {
    pub list: Vec<(u32, Value)>,
    table: HashTable<Hashed>,
    hasher: WordHasher,
    /// Texts that were interned lately; empty while there are few values.
    recent: Vec<RecentText>,
}

/// A text of an attribute: where it is in memory, and its number. The list owns this text, so that no other text can
/// be there.
#[derive(Debug, Clone, Copy, Default)]
struct RecentText {
    address: usize,
    attribute: u32,
    number: u32,
}

impl Values {
    /// How many recent texts are kept: 128 kB.
    const RECENT: usize = 8192;
    /// Fewer values are not worth that.
    const FEW: usize = 1024;

    /// The number of a value, which is new or known. Values repeat, and those that were read from texts are mostly one
    /// allocation (`expression::recent`), which is found without hashing and comparing it.
    fn intern(&mut self, attribute: u32, value: &Value) -> u32 {
        let Value::String(text) = value else { return self.intern_any(attribute, value) };
        let address = Arc::as_ptr(text).cast::<u8>().addr();
        let place = (address >> 4 ^ (attribute as usize).wrapping_mul(0x9e37_79b1)) % Values::RECENT;
        if let Some(recent) = self.recent.get(place)
            && (recent.address, recent.attribute) == (address, attribute)
        {
            return recent.number;
        }
        let number = self.intern_any(attribute, value);
        if self.recent.is_empty() && self.list.len() >= Values::FEW {
            self.recent.resize(Values::RECENT, RecentText::default());
        }
        let owned = matches!(&self.list[number as usize].1, Value::String(known) if Arc::ptr_eq(known, text));
        if let Some(recent) = self.recent.get_mut(place).filter(|_| owned) {
            *recent = RecentText { address, attribute, number };
        }
        number
    }

    fn intern_any(&mut self, attribute: u32, value: &Value) -> u32 {
        let hash = self.hasher.value(attribute, value.as_ref());
        let same = |entry: &Hashed| {
            entry.hash == hash && {
                let (of, known) = &self.list[entry.number as usize];
                *of == attribute && known == value
            }
        };
        if let Some(entry) = self.table.find(spread(hash), same) {
            return entry.number;
        }
        let number = self.list.len() as u32;
        self.list.push((attribute, value.clone()));
        self.table.insert_unique(spread(hash), Hashed { hash, number }, |entry| spread(entry.hash));
        number
    }

    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> Option<u32> {
        let hash = self.hasher.value(attribute, value);
        let same = |entry: &Hashed| {
            entry.hash == hash && {
                let (of, known) = &self.list[entry.number as usize];
                *of == attribute && known.as_ref() == value
            }
        };
        self.table.find(spread(hash), same).map(|entry| entry.number)
    }
}

/// An entry of a table. The hash is kept beside the number, so that neither a table that grows nor a lookup of what is
/// not there reads what the numbers stand for.
#[derive(Debug, Clone, Copy)]
struct Hashed {
    hash: u32,
    number: u32,
}

/// A hash as tables take it, which use its first and its last bits.
fn spread(hash: u32) -> u64 {
    u64::from(hash) | u64::from(hash) << 32
}

/// Hashes words and values with random keys, so that nobody can write expressions that collide.
#[derive(Debug)]
struct WordHasher {
    keys: [u64; 2],
    others: ahash::RandomState,
}

impl Default for WordHasher {
    fn default() -> Self {
        let others = ahash::RandomState::new();
        WordHasher { keys: [0, 1].map(|number: u64| others.hash_one(number) | 1), others }
    }
}

impl WordHasher {
    /// Mixes a word into a hash: both halves of a product.
    fn mix(&self, hash: u64, word: u64) -> u64 {
        let product = u128::from(hash ^ word) * u128::from(self.keys[1]);
        product as u64 ^ (product >> 64) as u64
    }

    fn words(&self, words: &[u32]) -> u32 {
        let (pairs, last) = words.as_chunks::<2>();
        let pairs = pairs.iter().map(|&[low, high]| u64::from(low) | u64::from(high) << 32);
        let last = last.iter().map(|&word| u64::from(word));
        let hash =
            pairs.chain(last).fold(self.keys[0] ^ words.len() as u64, |hash, word| self.mix(hash, word));
        (hash >> 32) as u32
    }

    fn value(&self, attribute: u32, value: ValueRef<'_>) -> u32 {
        let begun = self.mix(self.keys[0], attribute.into());
        let hash = match value {
            ValueRef::Integer(number) => self.mix(begun, number as u64),
            ValueRef::String(text) => {
                let (chunks, rest) = text.as_bytes().as_chunks::<8>();
                let hash =
                    chunks.iter().fold(begun, |hash, chunk| self.mix(hash, u64::from_le_bytes(*chunk)));
                let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
                self.mix(self.mix(hash, rest), !(text.len() as u64))
            }
            other => self.mix(begun, self.others.hash_one(other)),
        };
        (hash >> 32) as u32
    }
}

impl Ir {
    /// Makes room for about so many expressions.
    pub fn reserve(&mut self, expressions: usize) {
        /// Predicates and operators of an expression that no other has.
        const PARTS: usize = 4;
        /// For more, the tables grow as they are filled.
        const MOST: usize = 1 << 18;
        let subexpressions = PARTS * expressions.min(MOST);
        self.table.reserve(subexpressions, |entry| spread(entry.hash));
        self.ends.reserve(subexpressions);
        self.words.reserve(4 * subexpressions);
    }

    /// The names of the attributes, by their number in this matcher minus one.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn get(&self, subexpression: SubexpressionId) -> Subexpression<'_> {
        let end = self.ends[subexpression as usize] as usize;
        let start = if subexpression == 0 { 0 } else { self.ends[subexpression as usize - 1] as usize };
        let words = &self.words[start..end];
        Subexpression { tag: TAGS[(words[0] & 0xff) as usize], negated: words[0] & NEGATED != 0, words }
    }

    fn intern_predicate(&mut self, attribute: u32, test: &Test, negated: bool) -> SubexpressionId {
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
                let subexpression = self.intern(&words);
                self.scratch = words;
                subexpression
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
    ) -> SubexpressionId {
        let low = self.bounds.intern(attribute, low);
        let high = self.bounds.intern(attribute, high);
        self.intern(&[head, attribute, comparison, low, high])
    }

    fn intern_attribute(&mut self, name: &Arc<str>) -> u32 {
        let known = |number: u32| self.names.get(number as usize - 1);
        if let Some(number) = self.recent_names.find(name, known) {
            return number;
        }
        let number = match self.name_numbers.get(name) {
            Some(&number) => number,
            None => {
                self.names.push(name.clone());
                let number = self.names.len() as u32;
                self.name_numbers.insert(name.clone(), number);
                number
            }
        };
        self.recent_names.insert(name, number);
        number
    }

    fn intern(&mut self, words: &[u32]) -> SubexpressionId {
        let hash = self.hasher.words(words);
        let slice = |subexpression: SubexpressionId| {
            let start = if subexpression == 0 { 0 } else { self.ends[subexpression as usize - 1] as usize };
            &self.words[start..self.ends[subexpression as usize] as usize]
        };
        let same = |entry: &Hashed| entry.hash == hash && slice(entry.number) == words;
        if let Some(entry) = self.table.find(spread(hash), same) {
            return entry.number;
        }
        let subexpression = self.ends.len() as SubexpressionId;
        self.words.extend_from_slice(words);
        self.ends.push(self.words.len() as u32);
        self.table
            .insert_unique(spread(hash), Hashed { hash, number: subexpression }, |entry| spread(entry.hash));
        subexpression
    }
}

impl Subexpressions for Ir {
    fn constant(&mut self, value: bool) -> u32 {
        self.intern(&[Tag::Constant as u32, u32::from(value)])
    }

    /// Predicates that differ only in their weights are one subexpression.
    fn predicate(&mut self, predicate: &Predicate, negated: bool) -> u32 {
        let attribute = self.intern_attribute(predicate.attribute());
        self.intern_predicate(attribute, &simplest(predicate.test()), negated)
    }

    fn operator(&mut self, conjunction: bool, children: &[u32]) -> u32 {
        let mut words = std::mem::take(&mut self.scratch);
        words.clear();
        words.push(if conjunction { Tag::And } else { Tag::Or } as u32);
        words.extend_from_slice(children);
        let subexpression = self.intern(&words);
        self.scratch = words;
        subexpression
    }

    fn kind(&self, subexpression: u32) -> SubexpressionKind<'_> {
        let subexpression = self.get(subexpression);
        match subexpression.tag {
            Tag::Constant => SubexpressionKind::Constant(subexpression.constant()),
            Tag::And => SubexpressionKind::And(subexpression.children()),
            Tag::Or => SubexpressionKind::Or(subexpression.children()),
            _ => SubexpressionKind::Predicate,
        }
    }
}
