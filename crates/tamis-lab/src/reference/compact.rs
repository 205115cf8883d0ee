//! Compact: access predicates, laid out in the order of access.
//!
//! The entries of an access key are stored contiguously. The most selective residual predicate is
//! in the entry itself, so most candidates are rejected without leaving the list. The others are
//! stored separately, close to those of neighbouring entries. Within a list, entries with the same
//! attribute and value are adjacent, so that the processor predicts the branches well.

use super::{Corpus, NOWHERE, Predicate, Probabilities, Reference, ReferenceScratch, Residuals, lists_of};
use crate::workload::Pair;

/// The number of values of the inline predicate that fit into an entry.
const INLINE: usize = 7;

/// Flags of an entry, above the number of its expression.
const SHARED: u32 = 1 << 31;
const NEGATED: u32 = 1 << 30;
const EXPRESSION: u32 = NEGATED - 1;

/// For an entry without residuals beyond the inline one.
const NONE: u32 = u32::MAX;

/// One conjunction under one key: 24 bytes.
#[derive(Debug, Clone, Copy)]
struct Entry {
    /// The expression's number, with flags for several conjunctions and for a negated inline
    /// predicate.
    expression: u32,
    /// The position of the other residuals.
    others: u32,
    /// The inline predicate's attribute.
    attribute: u16,
    /// Its values; the last is repeated to fill the array.
    values: [u16; INLINE],
}

/// Finds each conjunction through one predicate, in sequential entries.
#[derive(Debug)]
pub struct Compact {
    attributes: usize,
    values_per_attribute: usize,
    /// Per key, the start of its entries; the last list has conjunctions to examine for every
    /// event.
    starts: Vec<u32>,
    entries: Vec<Entry>,
    /// At each position the number of other residuals, followed by them.
    others: Residuals,
}

impl Compact {
    /// Compiles the expressions.
    ///
    /// # Panics
    ///
    /// Panics if there are more than 2^30 expressions.
    pub fn new(corpus: &Corpus, probabilities: &Probabilities) -> Compact {
        assert!(corpus.expressions <= EXPRESSION as usize, "{} expressions", corpus.expressions);
        let always = corpus.keys();
        let mut starts = vec![0u32; always + 2];
        // The predicates of every conjunction in the order of access.
        let mut arranged = corpus.predicates.clone();
        let mut conjunctions = Vec::with_capacity(corpus.conjunctions.len());
        let mut start = 0;
        for &(end, expression) in &corpus.conjunctions {
            let predicates = &mut arranged[start..end as usize];
            let positive = probabilities.arrange(predicates, corpus);
            // Store the other residuals near the most frequent key.
            let mut home = (always, f32::MIN);
            if positive {
                for &value in corpus.values(&predicates[0]) {
                    let key = corpus.key(predicates[0].attribute, value);
                    starts[key] += 1;
                    if probabilities.keys[key] > home.1 {
                        home = (key, probabilities.keys[key]);
                    }
                }
            } else {
                starts[always] += 1;
            }
            conjunctions.push(Conjunction {
                expression,
                start: start as u32,
                end,
                home: home.0 as u32,
                positive,
            });
            start = end as usize;
        }
        for at in 1..conjunctions.len() {
            if conjunctions[at - 1].expression & EXPRESSION == conjunctions[at].expression {
                conjunctions[at - 1].expression |= SHARED;
                conjunctions[at].expression |= SHARED;
            }
        }
        super::accumulate(&mut starts);

        // Sorted by home and then by inline attribute and values, which is the order of the lists.
        let inline = |conjunction: &Conjunction| {
            let first = conjunction.start as usize + usize::from(conjunction.positive);
            arranged[first..conjunction.end as usize].first()
        };
        conjunctions.sort_by_cached_key(|conjunction| {
            let predicate = inline(conjunction);
            let order = predicate.map(|predicate| {
                (predicate.attribute, predicate.negated, corpus.values(predicate).first().copied())
            });
            (conjunction.home, order, conjunction.expression & EXPRESSION)
        });
        let mut next = starts.clone();
        let blank = Entry { expression: 0, others: NONE, attribute: 0, values: [0; INLINE] };
        let mut entries = vec![blank; starts[always + 1] as usize];
        let mut others = Residuals::default();
        for conjunction in &conjunctions {
            let predicates = &arranged[conjunction.start as usize..conjunction.end as usize];
            let (access, residuals) = predicates.split_at(usize::from(conjunction.positive));
            let entry = entry(conjunction.expression, residuals, corpus, &mut others);
            let mut place = |key: usize| {
                entries[next[key] as usize] = entry;
                next[key] += 1;
            };
            match access.first() {
                None => place(always),
                Some(access) => {
                    corpus
                        .values(access)
                        .iter()
                        .for_each(|&value| place(corpus.key(access.attribute, value)));
                }
            }
        }
        for run in starts.windows(2) {
            entries[run[0] as usize..run[1] as usize].sort_by_key(|entry| {
                (entry.attribute, entry.expression & NEGATED, entry.values[0], entry.others)
            });
        }
        others.words.shrink_to_fit();
        Compact {
            attributes: corpus.attributes,
            values_per_attribute: corpus.values_per_attribute,
            starts,
            entries,
            others,
        }
    }

    fn run(&self, key: usize) -> &[Entry] {
        &self.entries[self.starts[key] as usize..self.starts[key + 1] as usize]
    }
}

/// A conjunction to be laid out.
#[derive(Debug)]
struct Conjunction {
    expression: u32,
    start: u32,
    end: u32,
    home: u32,
    positive: bool,
}

/// The entry of a conjunction with these residuals. Those that do not fit go to `others`.
fn entry(expression: u32, residuals: &[Predicate], corpus: &Corpus, others: &mut Residuals) -> Entry {
    // Without an inline predicate, use a test that always passes.
    let mut entry =
        Entry { expression: expression | NEGATED, others: NONE, attribute: 0, values: [NOWHERE; INLINE] };
    let mut apart = residuals;
    if let Some((first, rest)) = residuals.split_first() {
        let values = corpus.values(first);
        if (1..=INLINE).contains(&values.len()) {
            entry.expression = expression | if first.negated { NEGATED } else { 0 };
            entry.attribute = first.attribute;
            entry.values = std::array::from_fn(|at| values[at.min(values.len() - 1)]);
            apart = rest;
        }
    }
    if !apart.is_empty() {
        entry.others = others.words.len() as u32;
        others.words.push(apart.len() as u16);
        apart.iter().for_each(|predicate| others.push(predicate, corpus));
    }
    entry
}

impl Reference for Compact {
    fn name(&self) -> &'static str {
        "compact"
    }

    fn bytes(&self) -> usize {
        4 * self.starts.len() + size_of::<Entry>() * self.entries.len() + 2 * self.others.words.len()
    }

    fn matches(&self, event: &[Pair], scratch: &mut ReferenceScratch, found: &mut Vec<u32>) {
        let before = found.len();
        scratch.enter(event, self.attributes);
        for key in lists_of(event, self.values_per_attribute, &self.starts) {
            for entry in self.run(key) {
                let value = scratch.values[usize::from(entry.attribute)];
                let hit = entry.values.iter().fold(false, |hit, &member| hit | (member == value));
                if hit == (entry.expression & NEGATED != 0) {
                    continue;
                }
                if entry.others != NONE {
                    let others = entry.others as usize;
                    if !self.others.hold(others + 1, self.others.words[others], &scratch.values) {
                        continue;
                    }
                }
                let expression = entry.expression & EXPRESSION;
                if entry.expression & SHARED == 0 || scratch.is_new(expression) {
                    found.push(expression);
                }
            }
        }
        scratch.leave(event);
        scratch.forget(&found[before..]);
    }
}
