//! Counting: every pair of the event increments the conjunctions that contain it, and those with a
//! complete count match.
//!
//! Conjunctions are numbered in blocks whose counters fit into the L1 cache. The postings of a key
//! are stored contiguously, two bytes each, in the order of the blocks.

use super::{Corpus, Reference, ReferenceScratch};
use crate::workload::Pair;

/// Conjunctions per block. Their numbers take 15 bits of a posting; the last bit is the sign.
const BLOCK: usize = 1 << 15;

/// A counter with this bit is complete.
const COMPLETE: u8 = 0x80;

/// A negative posting caps the counter at this value: too low for 63 positive predicates to
/// complete it or to overflow it.
const LEFT: u8 = 0x3f;

/// Counts the predicates that an event makes true.
#[derive(Debug)]
pub struct Counting {
    values_per_attribute: usize,
    blocks: usize,
    /// By key and block, the start of the postings, with one more entry at the end of every key.
    starts: Vec<u32>,
    /// The conjunction within its block, and whether its predicate is negated.
    postings: Vec<u16>,
    /// The initial value of each counter: below complete by the number of positive predicates.
    initial: Vec<u8>,
    /// The expression of every conjunction, ascending.
    expressions: Vec<u32>,
}

impl Counting {
    /// Compiles the expressions.
    ///
    /// # Panics
    ///
    /// Panics if a conjunction has more than 63 predicates.
    pub fn new(corpus: &Corpus) -> Counting {
        let blocks = corpus.conjunctions.len().div_ceil(BLOCK);
        let mut starts = vec![0u32; corpus.keys() * (blocks + 1) + 1];
        let mut initial = vec![0u8; blocks * BLOCK];
        let mut expressions = Vec::with_capacity(corpus.conjunctions.len());
        for (number, (expression, predicates)) in corpus.conjunctions().enumerate() {
            let positive = predicates.iter().filter(|predicate| !predicate.negated).count();
            assert!(
                predicates.len() <= usize::from(LEFT),
                "{} predicates in a conjunction",
                predicates.len()
            );
            initial[number] = COMPLETE - positive as u8;
            expressions.push(expression);
            for predicate in predicates {
                for &value in corpus.values(predicate) {
                    starts[corpus.key(predicate.attribute, value) * (blocks + 1) + number / BLOCK] += 1;
                }
            }
        }
        super::accumulate(&mut starts);
        let mut postings = vec![0u16; starts[starts.len() - 1] as usize];
        // While filling, each start is the position of the next posting. It ends up as the start of
        // the next list.
        for (number, (_, predicates)) in corpus.conjunctions().enumerate() {
            for predicate in predicates {
                for &value in corpus.values(predicate) {
                    let key = corpus.key(predicate.attribute, value);
                    let next = &mut starts[key * (blocks + 1) + number / BLOCK];
                    postings[*next as usize] =
                        (number % BLOCK) as u16 | if predicate.negated { BLOCK as u16 } else { 0 };
                    *next += 1;
                }
            }
        }
        starts.rotate_right(1);
        starts[0] = 0;
        Counting {
            values_per_attribute: corpus.values_per_attribute,
            blocks,
            starts,
            postings,
            initial,
            expressions,
        }
    }
}

impl Reference for Counting {
    fn name(&self) -> &'static str {
        "counting"
    }

    fn bytes(&self) -> usize {
        4 * (self.starts.len() + self.expressions.len()) + 2 * self.postings.len() + self.initial.len()
    }

    fn matches(&self, event: &[Pair], scratch: &mut ReferenceScratch, found: &mut Vec<u32>) {
        let key = |pair: &Pair| {
            (usize::from(pair.attribute) * self.values_per_attribute + usize::from(pair.value))
                * (self.blocks + 1)
        };
        scratch.lists.clear();
        scratch.lists.extend(event.iter().map(key));
        scratch.counters.resize(BLOCK, 0);
        let counters: &mut [u8; BLOCK] =
            scratch.counters.as_mut_slice().try_into().expect("one counter per conjunction of a block");
        let mut last = None;
        for block in 0..self.blocks {
            let first = block * BLOCK;
            counters.copy_from_slice(&self.initial[first..first + BLOCK]);
            for &list in &scratch.lists {
                let range = self.starts[list + block] as usize..self.starts[list + block + 1] as usize;
                for &posting in &self.postings[range] {
                    let negated = (posting >> 15) as u8;
                    let counter = &mut counters[usize::from(posting) % BLOCK];
                    *counter = counter.wrapping_add(1 - negated) & (0xff >> (2 * negated));
                }
            }
            for (part, bytes) in counters.chunks_exact(64).enumerate() {
                if bytes.iter().fold(0, |any, byte| any | byte) & COMPLETE == 0 {
                    continue;
                }
                for (offset, byte) in bytes.iter().enumerate() {
                    if byte & COMPLETE != 0 {
                        let expression = self.expressions[first + part * 64 + offset];
                        if last.replace(expression) != Some(expression) {
                            found.push(expression);
                        }
                    }
                }
            }
        }
    }
}
