//! Which distinct subexpressions does a set of expressions consist of?
//!
//! Predicates, conjunctions and disjunctions are interned as short slices of words in one arena. Equal subexpressions of
//! different expressions are stored once, and no subexpression has an allocation of its own. Identity is the slice
//! itself; the hash only speeds up the lookup.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::columns::ranges::{AT_LEAST, AT_MOST, BETWEEN, GREATER, LESS};
use super::numbers::Numbers;
use crate::expression::{
    FlatExpression, FlatNode, FlatPredicate, FlatValue, Operator, Predicate, RecentNumbers, ShortText,
    SubexpressionKind, Subexpressions, Test, simplest,
};
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
    arena: Arena,
    /// The subexpressions except those of `singles`.
    table: Numbers,
    /// By key, the subexpression that tests for it alone, and its negation.
    singles: Vec<[SubexpressionId; 2]>,
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
    staged: Staged,
}

/// Predicates that are about to be looked up.
#[derive(Debug, Default)]
struct Staged {
    words: Vec<u32>,
    /// Where the words of each begin, and their hash.
    predicates: Vec<(usize, u32)>,
}

/// There is no such subexpression.
const NONE: SubexpressionId = SubexpressionId::MAX;

/// The words of all subexpressions, one behind the other.
#[derive(Debug)]
struct Arena {
    words: Vec<u32>,
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
}

impl Default for Arena {
    fn default() -> Self {
        Arena { words: Vec::new(), starts: vec![0] }
    }
}

impl Arena {
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    #[inline]
    fn get(&self, subexpression: SubexpressionId) -> &[u32] {
        let [start, end] = self.starts[subexpression as usize..][..2] else { unreachable!("of two words") };
        &self.words[start as usize..end as usize]
    }

    fn push(&mut self, words: &[u32]) -> SubexpressionId {
        let subexpression = self.len() as SubexpressionId;
        self.words.extend_from_slice(words);
        self.starts.push(self.words.len() as u32);
        subexpression
    }
}

/// Values of attributes, numbered in the order of their first mention.
#[derive(Debug, Default)]
pub(in crate::matcher::compiled) struct Values {
    pub list: Vec<(u32, Value)>,
    texts: Texts,
    /// By attribute, the values that are texts.
    by_attribute: Vec<AttributeTexts>,
    /// The values that are not.
    table: Numbers,
    hasher: WordHasher,
}

impl Values {
    /// The number of a value, which is new or known.
    #[inline]
    fn intern(&mut self, attribute: u32, value: &Value) -> u32 {
        match value {
            Value::String(text) => self.intern_text(attribute, text),
            other => self.intern_other(attribute, other),
        }
    }

    /// A text is numbered first. Texts repeat more often than pairs of an attribute and a text, and the few texts of one
    /// attribute are close to each other in memory.
    fn intern_text(&mut self, attribute: u32, text: &Arc<str>) -> u32 {
        match ShortText::new(text) {
            Some(short) => self.intern_short(attribute, short),
            None => {
                let number = self.texts.intern_long(text, &self.hasher);
                self.intern_numbered(attribute, number)
            }
        }
    }

    #[inline]
    fn intern_short(&mut self, attribute: u32, text: ShortText) -> u32 {
        let number = self.texts.intern_short(text, &self.hasher);
        self.intern_numbered(attribute, number)
    }

    /// The number of a value, given that of its text.
    #[inline]
    fn intern_numbered(&mut self, attribute: u32, text: u32) -> u32 {
        if attribute as usize >= self.by_attribute.len() {
            self.by_attribute.resize_with(attribute as usize + 1, AttributeTexts::default);
        }
        let next = self.list.len() as u32;
        let found = self.by_attribute[attribute as usize].find_or_add(text, next, &self.hasher);
        if found == next {
            self.list.push((attribute, Value::String(self.texts.get(text).clone())));
        }
        found
    }

    #[inline]
    fn intern_flat(&mut self, attribute: u32, value: FlatValue) -> u32 {
        match value {
            FlatValue::Text(text) => self.intern_short(attribute, text),
            FlatValue::Integer(number) => self.intern_other(attribute, &Value::Integer(number)),
        }
    }

    fn intern_other(&mut self, attribute: u32, value: &Value) -> u32 {
        let hash = self.hasher.value(attribute, value.as_ref());
        let next = self.list.len() as u32;
        let number = self.table.find_or_add(hash, next, |number| {
            let (of, known) = &self.list[number as usize];
            *of == attribute && known == value
        });
        if number == next {
            self.list.push((attribute, value.clone()));
        }
        number
    }

    pub fn find(&self, attribute: u32, value: ValueRef<'_>) -> Option<u32> {
        if let ValueRef::String(text) = value {
            let number = self.texts.find(text, &self.hasher)?;
            return self.by_attribute.get(attribute as usize)?.find(number, &self.hasher);
        }
        self.table.find(self.hasher.value(attribute, value), |number| {
            let (of, known) = &self.list[number as usize];
            *of == attribute && known.as_ref() == value
        })
    }
}

/// Distinct texts and their numbers: even ones for short texts, odd ones for others.
#[derive(Debug, Default)]
struct Texts {
    /// Short texts are compared without reading them from where they were allocated.
    short: Vec<ShortText>,
    short_texts: Vec<Arc<str>>,
    short_table: Numbers,
    long: Vec<Arc<str>>,
    long_table: Numbers,
}

impl Texts {
    #[inline]
    fn intern_short(&mut self, text: ShortText, hasher: &WordHasher) -> u32 {
        let next = self.short.len() as u32;
        let is_same = |number: u32| self.short[number as usize] == text;
        let number = self.short_table.find_or_add(hasher.short(text), next, is_same);
        if number == next {
            self.short.push(text);
            self.short_texts.push(text.to_text());
        }
        2 * number
    }

    fn intern_long(&mut self, text: &Arc<str>, hasher: &WordHasher) -> u32 {
        let next = self.long.len() as u32;
        let is_same = |number: u32| self.long[number as usize] == *text;
        let number = self.long_table.find_or_add(hasher.text(text), next, is_same);
        if number == next {
            self.long.push(text.clone());
        }
        2 * number + 1
    }

    fn get(&self, number: u32) -> &Arc<str> {
        let texts = if number.is_multiple_of(2) { &self.short_texts } else { &self.long };
        &texts[number as usize / 2]
    }

    fn find(&self, text: &str, hasher: &WordHasher) -> Option<u32> {
        match ShortText::new(text) {
            Some(short) => {
                let is_same = |number: u32| self.short[number as usize] == short;
                self.short_table.find(hasher.short(short), is_same).map(|number| 2 * number)
            }
            None => {
                let is_same = |number: u32| *self.long[number as usize] == *text;
                self.long_table.find(hasher.text(text), is_same).map(|number| 2 * number + 1)
            }
        }
    }
}

/// The values of one attribute that are texts: the number of each among all values, by the number of its text. Open
/// addressing with linear probing.
#[derive(Debug, Default)]
struct AttributeTexts {
    /// The number of a text plus one, or 0 if the bucket is free; and the number of the value. As many as a power of
    /// two, or none.
    buckets: Vec<(u32, u32)>,
    taken: usize,
}

impl AttributeTexts {
    /// The buckets of the smallest table that is not empty.
    const LEAST: usize = 4;

    #[inline]
    fn find_or_add(&mut self, text: u32, next: u32, hasher: &WordHasher) -> u32 {
        match self.search(text, hasher) {
            Ok(value) => value,
            Err(free) => {
                self.add(free, text, next, hasher);
                next
            }
        }
    }

    fn find(&self, text: u32, hasher: &WordHasher) -> Option<u32> {
        self.search(text, hasher).ok()
    }

    /// The number of the value, or else the bucket where it goes.
    #[inline]
    fn search(&self, text: u32, hasher: &WordHasher) -> Result<u32, usize> {
        let Some(last) = self.buckets.len().checked_sub(1) else { return Err(0) };
        let mut place = hasher.number(text) & last;
        // Some buckets are free.
        loop {
            let (note, value) = self.buckets[place];
            if note == text + 1 {
                return Ok(value);
            }
            if note == 0 {
                return Err(place);
            }
            place = (place + 1) & last;
        }
    }

    fn add(&mut self, free: usize, text: u32, value: u32, hasher: &WordHasher) {
        self.taken += 1;
        // At least a third of the buckets stays free.
        if 3 * self.taken <= 2 * self.buckets.len() {
            self.buckets[free] = (text + 1, value);
            return;
        }
        let grown = vec![(0, 0); (2 * self.buckets.len()).max(AttributeTexts::LEAST)];
        let old = std::mem::replace(&mut self.buckets, grown);
        for bucket in old.into_iter().filter(|bucket| bucket.0 != 0).chain([(text + 1, value)]) {
            if let Err(free) = self.search(bucket.0 - 1, hasher) {
                self.buckets[free] = bucket;
            }
        }
    }
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

    /// A hash of the number of a text.
    #[inline]
    fn number(&self, number: u32) -> usize {
        (self.mix(self.keys[0], number.into()) >> 32) as usize
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
            other => self.mix(begun, self.others.hash_one(other)),
        };
        (hash >> 32) as u32
    }

    #[inline]
    fn short(&self, text: ShortText) -> u32 {
        let [high, low] = text.halves();
        (self.mix(self.mix(self.keys[0], high), low) >> 32) as u32
    }

    fn text(&self, text: &str) -> u32 {
        let (chunks, rest) = text.as_bytes().as_chunks::<8>();
        let chunks = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
        let hash = chunks.fold(self.keys[0], |hash, chunk| self.mix(hash, chunk));
        let rest = rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        (self.mix(self.mix(hash, rest), !(text.len() as u64)) >> 32) as u32
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
        self.table.reserve(subexpressions);
        self.arena.starts.reserve(subexpressions);
        self.arena.words.reserve(4 * subexpressions);
    }

    /// The names of the attributes, by their number in this matcher minus one.
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    pub fn len(&self) -> usize {
        self.arena.len()
    }

    #[inline]
    pub fn get(&self, subexpression: SubexpressionId) -> Subexpression<'_> {
        let words = self.arena.get(subexpression);
        Subexpression { tag: TAGS[(words[0] & 0xff) as usize], negated: words[0] & NEGATED != 0, words }
    }

    fn intern_predicate(&mut self, attribute: u32, test: &Test, negated: bool) -> SubexpressionId {
        let negated = if negated { NEGATED } else { 0 };
        let head = |tag: Tag| tag as u32 | negated;
        match test {
            Test::Equal(value) => self.intern_single(head(Tag::Keys), attribute, value),
            Test::In(values) if values.len() == 1 => {
                self.intern_single(head(Tag::Keys), attribute, &values[0])
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

    /// Appends the subexpressions of the predicates of an expression that was read without a tree, which are those that
    /// [`predicate`](Subexpressions::predicate) returns. All are looked up together, so that the cache misses overlap.
    pub fn flat_predicates(&mut self, expression: &FlatExpression, found: &mut Vec<SubexpressionId>) {
        let mut staged = std::mem::take(&mut self.staged);
        staged.words.clear();
        staged.predicates.clear();
        for node in expression.nodes() {
            let FlatNode::Predicate(predicate) = node else { continue };
            let start = staged.words.len();
            self.stage(predicate, expression.values(predicate), &mut staged.words);
            staged.predicates.push((start, self.hasher.words(&staged.words[start..])));
        }
        let seen = staged.predicates.iter().fold(0, |seen, &(_, hash)| seen ^ self.table.glance(hash));
        std::hint::black_box(seen);
        let ends = staged.predicates.iter().skip(1).map(|&(start, _)| start).chain([staged.words.len()]);
        for (&(start, hash), end) in staged.predicates.iter().zip(ends) {
            let words = &staged.words[start..end];
            found.push(match *words {
                [head, attribute, key] => self.intern_key(head, attribute, key),
                _ => self.intern_hashed(words, hash),
            });
        }
        self.staged = staged;
    }

    /// Appends the words of a predicate: three of them if it tests for one key.
    fn stage(&mut self, predicate: &FlatPredicate, values: &[FlatValue], words: &mut Vec<u32>) {
        let attribute = self.intern_attribute(&predicate.name);
        let negated = if predicate.negated { NEGATED } else { 0 };
        let values = match predicate.operator {
            Operator::Between if values[0] == values[1] => &values[..1],
            _ => values,
        };
        let comparison = match predicate.operator {
            Operator::Less => LESS,
            Operator::AtMost => AT_MOST,
            Operator::Greater => GREATER,
            Operator::AtLeast => AT_LEAST,
            Operator::Between if values.len() == 2 => BETWEEN,
            _ => {
                words.extend([Tag::Keys as u32 | negated, attribute]);
                let first = words.len();
                words.extend(values.iter().map(|&value| self.keys.intern_flat(attribute, value)));
                words[first..].sort_unstable();
                return;
            }
        };
        let ends = [values[0], values[values.len() - 1]];
        let [low, high] = ends.map(|value| self.bounds.intern_flat(attribute, value));
        words.extend([Tag::Range as u32 | negated, attribute, comparison, low, high]);
    }

    /// A test for one key, which is found by the number of the key.
    fn intern_single(&mut self, head: u32, attribute: u32, value: &Value) -> SubexpressionId {
        let key = self.keys.intern(attribute, value);
        self.intern_key(head, attribute, key)
    }

    fn intern_key(&mut self, head: u32, attribute: u32, key: u32) -> SubexpressionId {
        if key as usize >= self.singles.len() {
            self.singles.resize(self.keys.list.len(), [NONE; 2]);
        }
        let single = &mut self.singles[key as usize][usize::from(head & NEGATED != 0)];
        if *single == NONE {
            *single = self.arena.push(&[head, attribute, key]);
        }
        *single
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
        self.intern_hashed(words, self.hasher.words(words))
    }

    fn intern_hashed(&mut self, words: &[u32], hash: u32) -> SubexpressionId {
        let next = self.arena.len() as SubexpressionId;
        let subexpression = self.table.find_or_add(hash, next, |known| self.arena.get(known) == words);
        if subexpression == next {
            self.arena.push(words);
        }
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
