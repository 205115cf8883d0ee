//! How fast is a matcher that only supports conjunctions?
//!
//! Three matchers for disjunctions of conjunctions of set predicates, in which negated predicates
//! hold if the attribute is missing. Attributes and values are small numbers, an event is encoded
//! already and has at most one value per attribute, and nothing changes after building. The engine,
//! which supports arbitrary expressions over all types and concurrent changes, is measured against
//! them.
//!
//! | reference | idea |
//! |---|---|
//! | [`Counting`] | every pair of the event increments the conjunctions that contain it |
//! | [`Access`] | a conjunction is examined only if its most selective predicate holds |
//! | [`Compact`] | the same, laid out in the order of access |

mod access;
mod compact;
mod counting;

pub use access::Access;
pub use compact::Compact;
pub use counting::Counting;

use crate::workload::{Conjunctive, Disjunction, Pair};

/// A matcher that only supports conjunctions.
pub trait Reference: Send + Sync {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// The number of bytes that matching reads.
    fn bytes(&self) -> usize;

    /// Appends the numbers of the expressions that an event satisfies, each once, in any order.
    fn matches(&self, event: &[Pair], scratch: &mut ReferenceScratch, found: &mut Vec<u32>);
}

/// The positions of the lists of an event, in a table with one list per pair. The last list has
/// conjunctions to examine for every event.
fn lists_of(event: &[Pair], values_per_attribute: usize, starts: &[u32]) -> impl Iterator<Item = usize> {
    let keys = event
        .iter()
        .map(move |pair| usize::from(pair.attribute) * values_per_attribute + usize::from(pair.value));
    keys.chain([starts.len() - 2])
}

/// Working memory of a match; works with any reference.
#[derive(Debug, Default)]
pub struct ReferenceScratch {
    /// The event's value of every attribute, [`ABSENT`] between events.
    values: Vec<u16>,
    /// One bit per expression, clear between events.
    seen: Vec<u64>,
    counters: Vec<u8>,
    lists: Vec<usize>,
}

/// The value of an attribute that an event lacks. Attributes have fewer values than this.
const ABSENT: u16 = u16::MAX;

/// A value that no attribute has and that differs from [`ABSENT`].
const NOWHERE: u16 = ABSENT - 1;

impl ReferenceScratch {
    fn enter(&mut self, event: &[Pair], attributes: usize) {
        if self.values.len() < attributes {
            self.values.resize(attributes, ABSENT);
        }
        event.iter().for_each(|pair| self.values[usize::from(pair.attribute)] = pair.value);
    }

    fn leave(&mut self, event: &[Pair]) {
        event.iter().for_each(|pair| self.values[usize::from(pair.attribute)] = ABSENT);
    }

    /// Marks an expression as seen. Returns whether it was not before.
    fn is_new(&mut self, expression: u32) -> bool {
        let word = expression as usize / 64;
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let bit = 1 << (expression % 64);
        let new = self.seen[word] & bit == 0;
        self.seen[word] |= bit;
        new
    }

    /// Clears the bits of the found expressions.
    fn forget(&mut self, found: &[u32]) {
        for &expression in found {
            if let Some(word) = self.seen.get_mut(expression as usize / 64) {
                *word = 0;
            }
        }
    }
}

/// One predicate of a [`Corpus`].
#[derive(Debug, Clone, Copy)]
struct Predicate {
    attribute: u16,
    negated: bool,
    start: u32,
    end: u32,
}

/// The expressions to compile, in flat arrays.
#[derive(Debug, Default)]
pub struct Corpus {
    attributes: usize,
    values_per_attribute: usize,
    predicates: Vec<Predicate>,
    values: Vec<u16>,
    /// Per conjunction, the end of its predicates and its expression.
    conjunctions: Vec<(u32, u32)>,
    expressions: usize,
}

impl Corpus {
    /// The first expressions of a workload.
    ///
    /// # Panics
    ///
    /// Panics if attributes have 2^15 values or more.
    pub fn generate(workload: &Conjunctive, expressions: u32) -> Corpus {
        let parameters = workload.parameters();
        assert!(parameters.values < NEGATED, "{} values", parameters.values);
        let mut corpus = Corpus {
            attributes: parameters.attributes.into(),
            values_per_attribute: parameters.values.into(),
            expressions: expressions as usize,
            ..Default::default()
        };
        let mut disjunction = Disjunction::default();
        for expression in 0..expressions {
            workload.draw_expression(expression.into(), &mut disjunction);
            for conjunction in disjunction.conjunctions() {
                for predicate in conjunction {
                    let start = corpus.values.len() as u32;
                    corpus.values.extend_from_slice(disjunction.values(predicate));
                    corpus.predicates.push(Predicate {
                        attribute: predicate.attribute,
                        negated: predicate.negated,
                        start,
                        end: corpus.values.len() as u32,
                    });
                }
                corpus.conjunctions.push((corpus.predicates.len() as u32, expression));
            }
        }
        corpus
    }

    /// Every conjunction with its expression.
    fn conjunctions(&self) -> impl Iterator<Item = (u32, &[Predicate])> {
        let mut start = 0;
        self.conjunctions.iter().map(move |&(end, expression)| {
            let predicates = &self.predicates[start..end as usize];
            start = end as usize;
            (expression, predicates)
        })
    }

    fn values(&self, predicate: &Predicate) -> &[u16] {
        &self.values[predicate.start as usize..predicate.end as usize]
    }

    /// The number of an (attribute, value) pair.
    fn key(&self, attribute: u16, value: u16) -> usize {
        usize::from(attribute) * self.values_per_attribute + usize::from(value)
    }

    fn keys(&self) -> usize {
        self.attributes * self.values_per_attribute
    }
}

/// The frequency of each (attribute, value) pair in a sample of events.
#[derive(Debug)]
pub struct Probabilities {
    keys: Vec<f32>,
}

impl Probabilities {
    /// Probabilities from a sample of events. Unseen pairs get a small probability, so that of two
    /// sets of unseen values the smaller is less likely.
    pub fn sample<'a>(corpus: &Corpus, events: impl ExactSizeIterator<Item = &'a [Pair]>) -> Probabilities {
        let weight = 1.0 / events.len().max(1) as f32;
        let mut keys = vec![weight / 20.0; corpus.keys()];
        for pair in events.flatten() {
            keys[corpus.key(pair.attribute, pair.value)] += weight;
        }
        Probabilities { keys }
    }

    fn of(&self, predicate: &Predicate, corpus: &Corpus) -> f32 {
        let values = corpus.values(predicate).iter();
        let positive: f32 = values.map(|&value| self.keys[corpus.key(predicate.attribute, value)]).sum();
        if predicate.negated { 1.0 - positive } else { positive }
    }

    /// Sorts the predicates by order of access: first the positive one least likely to hold, if
    /// there is one, then the others by ascending probability. Returns whether there is a positive
    /// one.
    fn arrange(&self, predicates: &mut [Predicate], corpus: &Corpus) -> bool {
        predicates.sort_by(|one, other| self.of(one, corpus).total_cmp(&self.of(other, corpus)));
        let access = predicates.iter().position(|predicate| !predicate.negated);
        if let Some(access) = access {
            predicates[..=access].rotate_right(1);
        }
        access.is_some()
    }
}

/// Residual predicates, stored contiguously: attribute, number of values and sign, values.
#[derive(Debug, Default)]
struct Residuals {
    words: Vec<u16>,
}

/// Flags a negated predicate, in the number of values, which is always smaller.
const NEGATED: u16 = 1 << 15;

impl Residuals {
    fn push(&mut self, predicate: &Predicate, corpus: &Corpus) {
        let values = corpus.values(predicate);
        let sign = if predicate.negated { NEGATED } else { 0 };
        self.words.extend([predicate.attribute, values.len() as u16 | sign]);
        self.words.extend_from_slice(values);
    }

    /// Whether `count` predicates from `position` hold.
    fn hold(&self, mut position: usize, count: u16, event: &[u16]) -> bool {
        for _ in 0..count {
            let &[attribute, header] = &self.words[position..position + 2] else { return false };
            let end = position + 2 + usize::from(header & !NEGATED);
            let value = event[usize::from(attribute)];
            let hit = self.words[position + 2..end].contains(&value);
            if hit == (header & NEGATED != 0) {
                return false;
            }
            position = end;
        }
        true
    }
}

/// Turns counts into starts: `starts[key]` is the number of entries of `key` before, and their
/// start afterwards; the last element is the end.
fn accumulate(starts: &mut [u32]) {
    let mut total = 0;
    for start in starts {
        let count = *start;
        *start = total;
        total += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{ConjunctiveParameters, Workload};
    use tamis::event::Attributes;
    use tamis::matcher::{Matcher, Scan, Scratch};
    use tamis::{Event, Limits};

    /// All references over the first expressions, with statistics of other events than those
    /// matched.
    fn references(workload: &Conjunctive, expressions: u32) -> Vec<Box<dyn Reference>> {
        let corpus = Corpus::generate(workload, expressions);
        let sample: Vec<Vec<Pair>> = (10_000..10_200).map(|number| event(workload, number)).collect();
        let probabilities = Probabilities::sample(&corpus, sample.iter().map(Vec::as_slice));
        vec![
            Box::new(Counting::new(&corpus)),
            Box::new(Access::new(&corpus, &probabilities)),
            Box::new(Compact::new(&corpus, &probabilities)),
        ]
    }

    fn event(workload: &Conjunctive, number: u64) -> Vec<Pair> {
        let mut pairs = Vec::new();
        workload.draw_event(number, &mut pairs);
        pairs
    }

    fn assert_equal_to_scan(workload: &Conjunctive, expressions: u32, events: u64) {
        let parsed: Vec<_> = (0..expressions).map(|number| workload.expression(number.into())).collect();
        let attributes = Attributes::default();
        let scan = Scan::new(&parsed, &attributes, workload.missing());
        let references = references(workload, expressions);
        let (mut decoded, mut scratch) = (Event::default(), Scratch::default());
        let mut reference_scratch = ReferenceScratch::default();
        let mut total = 0;
        for number in 0..events {
            let json = workload.event(number);
            decoded.decode_json(json.as_bytes(), &attributes, &Limits::default()).unwrap();
            let (mut wanted, mut found) = (Vec::new(), Vec::new());
            scan.matches(&decoded, &mut scratch, &mut wanted);
            total += wanted.len();
            for reference in &references {
                found.clear();
                reference.matches(&event(workload, number), &mut reference_scratch, &mut found);
                found.sort_unstable();
                assert_eq!(found, wanted, "{} on event {number}", reference.name());
            }
        }
        assert!(total as u64 > events, "{total} matches");
    }

    #[test]
    fn references_equal_scan() {
        assert_equal_to_scan(&Conjunctive::sparse(), 2_000, 200);
        assert_equal_to_scan(&Conjunctive::dense(), 2_000, 200);
    }

    #[test]
    fn references_equal_scan_on_other_shapes() {
        let small =
            ConjunctiveParameters { attributes: 5, values: 6, event_attributes: 3, ..Default::default() };
        let shapes = [
            ConjunctiveParameters { negated: 0.9, ..small.clone() },
            ConjunctiveParameters { predicates: (1, 1), set: (1, 2), ..small.clone() },
            ConjunctiveParameters { set: (4, 6), ..small.clone() },
            ConjunctiveParameters { values: 40, set: (6, 20), value_exponent: 0.0, ..small.clone() },
            ConjunctiveParameters { conjunctions: vec![0.0, 0.0, 0.0, 1.0], predicates: (1, 3), ..small },
        ];
        for parameters in shapes {
            assert_equal_to_scan(&Conjunctive::new(parameters), 500, 200);
        }
    }

    #[test]
    fn counters_of_several_blocks() {
        let parameters = ConjunctiveParameters { attributes: 10, values: 5, ..Default::default() };
        assert_equal_to_scan(&Conjunctive::new(parameters), 50_000, 5);
    }

    #[test]
    fn nothing_matches_nothing() {
        for reference in references(&Conjunctive::sparse(), 0) {
            let mut found = Vec::new();
            reference.matches(
                &event(&Conjunctive::sparse(), 0),
                &mut ReferenceScratch::default(),
                &mut found,
            );
            assert!(found.is_empty(), "{found:?}");
        }
    }
}
