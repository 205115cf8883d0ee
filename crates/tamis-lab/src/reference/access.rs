//! Access predicates: a conjunction is examined only if its most selective positive predicate
//! holds. Its other predicates are stored with the conjunction and tested then.

use super::{Corpus, Probabilities, Reference, ReferenceScratch, Residuals, lists_of};
use crate::workload::Pair;

/// Finds each conjunction through one predicate.
#[derive(Debug)]
pub struct Access {
    attributes: usize,
    values_per_attribute: usize,
    /// Per key, the start of its postings; the last list has conjunctions to examine for every
    /// event.
    starts: Vec<u32>,
    /// Positions in `conjunctions`.
    postings: Vec<u32>,
    /// At each position a conjunction: the two halves of its expression's number, the number of
    /// residual predicates with a flag whether the expression has other conjunctions, and the
    /// predicates.
    conjunctions: Residuals,
}

/// Flags an expression with several conjunctions.
const SHARED: u16 = 1 << 15;

impl Access {
    /// Compiles the expressions.
    ///
    /// # Panics
    ///
    /// Panics if a conjunction has 2^15 predicates or more.
    pub fn new(corpus: &Corpus, probabilities: &Probabilities) -> Access {
        let always = corpus.keys();
        let mut starts = vec![0u32; always + 2];
        let mut conjunctions = Residuals::default();
        // Per conjunction, its access predicate and its position.
        let mut kept = Vec::with_capacity(corpus.conjunctions.len());
        let mut arranged = Vec::new();
        for (number, (expression, predicates)) in corpus.conjunctions().enumerate() {
            arranged.clear();
            arranged.extend_from_slice(predicates);
            let positive = probabilities.arrange(&mut arranged, corpus);
            let (access, residuals) = arranged.split_at(usize::from(positive));
            kept.push((access.first().copied(), conjunctions.words.len() as u32));
            assert!(residuals.len() < usize::from(SHARED), "{} predicates", residuals.len());
            let neighbours = [number.wrapping_sub(1), number + 1];
            let shared = neighbours
                .iter()
                .any(|&other| corpus.conjunctions.get(other).is_some_and(|other| other.1 == expression));
            let header = residuals.len() as u16 | if shared { SHARED } else { 0 };
            conjunctions.words.extend([expression as u16, (expression >> 16) as u16, header]);
            residuals.iter().for_each(|predicate| conjunctions.push(predicate, corpus));
            match access.first() {
                None => starts[always] += 1,
                Some(access) => {
                    for &value in corpus.values(access) {
                        starts[corpus.key(access.attribute, value)] += 1;
                    }
                }
            }
        }
        super::accumulate(&mut starts);
        let mut next = starts.clone();
        let mut postings = vec![0u32; starts[always + 1] as usize];
        for (access, position) in kept {
            let mut place = |key: usize| {
                postings[next[key] as usize] = position;
                next[key] += 1;
            };
            match access {
                None => place(always),
                Some(access) => {
                    corpus
                        .values(&access)
                        .iter()
                        .for_each(|&value| place(corpus.key(access.attribute, value)));
                }
            }
        }
        Access {
            attributes: corpus.attributes,
            values_per_attribute: corpus.values_per_attribute,
            starts,
            postings,
            conjunctions,
        }
    }
}

impl Reference for Access {
    fn name(&self) -> &'static str {
        "access"
    }

    fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.postings.len()) + 2 * self.conjunctions.words.len()
    }

    fn matches(&self, event: &[Pair], scratch: &mut ReferenceScratch, found: &mut Vec<u32>) {
        let before = found.len();
        scratch.enter(event, self.attributes);
        for key in lists_of(event, self.values_per_attribute, &self.starts) {
            for &posting in &self.postings[self.starts[key] as usize..self.starts[key + 1] as usize] {
                let position = posting as usize;
                let &[low, high, header] = &self.conjunctions.words[position..position + 3] else { continue };
                if self.conjunctions.hold(position + 3, header & !SHARED, &scratch.values) {
                    let expression = u32::from(low) | u32::from(high) << 16;
                    if header & SHARED == 0 || scratch.is_new(expression) {
                        found.push(expression);
                    }
                }
            }
        }
        scratch.leave(event);
        scratch.forget(&found[before..]);
    }
}
