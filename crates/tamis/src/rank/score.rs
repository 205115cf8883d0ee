//! What does an expression score on an event, and what can it score at most?

use std::collections::HashMap;

use super::weights::EventWeights;
use super::{COARSE_SUM, is_coarse};
use crate::deadline::Timer;
use crate::event::{AttributeId, Attributes, Event, Presence};
use crate::expression::{Expression, NormalNode, SignedPredicate, Test, normalise, resolve};
use crate::predicate::Check;
use crate::reusable::Stamped;
use crate::truth::{Missing, Truth};
use crate::value::ValueRef;

/// What is not true scores less than nothing.
const NOT_TRUE: f64 = -1.0;

const CONSTANT: u32 = 0;
const PREDICATE: u32 = 1;
const AND: u32 = 2;
const OR: u32 = 3;

/// Normal forms ready to be scored.
#[derive(Debug)]
pub struct Scores {
    missing: Missing,
    signed_predicates: Vec<Scored>,
    /// All normal forms, one after the other. A node is a head, of a kind and a number, which is the
    /// signed predicate's, or counts the children that follow by their position among the nodes.
    words: Vec<u32>,
    /// Where each expression begins in `words`.
    starts: Vec<u32>,
    /// What each expression can score at most while every weight of the event is 1.
    bounds: Vec<f64>,
}

#[derive(Debug)]
struct Scored {
    attribute: AttributeId,
    check: Check,
    signed: SignedPredicate,
}

/// Working memory of scoring, one per thread.
#[derive(Debug, Default)]
pub struct ScoreScratch {
    /// By signed predicate: its score on the current event.
    memo: Stamped<f64>,
    nodes: Vec<f64>,
    /// How many expressions were scored.
    pub scored: u64,
    /// Tells when to give up.
    pub(crate) timer: Timer,
}

impl Scores {
    /// Prepares expressions, which are called by their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
    ) -> Scores {
        #[expect(clippy::mutable_key_type, reason = "what a pattern caches is no part of its identity")]
        let mut numbers: HashMap<SignedPredicate, u32, ahash::RandomState> = HashMap::default();
        let (mut words, mut starts, mut bounds) = (Vec::new(), vec![0], Vec::new());
        let mut signed_predicates: Vec<Scored> = Vec::new();
        let mut nodes: Vec<f64> = Vec::new();
        for expression in expressions {
            nodes.clear();
            for node in normalise(&resolve(expression, attributes.time_zone())).nodes() {
                let bound = match node {
                    NormalNode::Constant(value) => {
                        words.push(CONSTANT | u32::from(*value) << 2);
                        0.0
                    }
                    NormalNode::Predicate(signed) => {
                        let number = *numbers.entry(signed.clone()).or_insert_with(|| {
                            let attribute = attributes.intern(&signed.attribute);
                            let check = Check::new(&signed.test);
                            signed_predicates.push(Scored { attribute, check, signed: signed.clone() });
                            signed_predicates.len() as u32 - 1
                        });
                        words.push(PREDICATE | number << 2);
                        predicate_bound(signed)
                    }
                    NormalNode::And(children) => {
                        words.push(AND | (children.len() as u32) << 2);
                        words.extend_from_slice(children);
                        children.iter().map(|&child| nodes[child as usize]).fold(0.0, add)
                    }
                    NormalNode::Or(children) => {
                        words.push(OR | (children.len() as u32) << 2);
                        words.extend_from_slice(children);
                        children.iter().map(|&child| nodes[child as usize]).fold(0.0, f64::max)
                    }
                };
                nodes.push(bound);
            }
            bounds.push(nodes.last().copied().unwrap_or(0.0));
            starts.push(words.len() as u32);
        }
        Scores { missing, signed_predicates, words, starts, bounds }
    }

    /// Begins with an event: what was found out about the last one is forgotten.
    pub fn begin(&self, event: &Event, scratch: &mut ScoreScratch) {
        scratch.memo.begin(self.signed_predicates.len());
        scratch.timer = Timer::new(event.deadline());
    }

    /// What an expression scores on the event that was begun with; `None` if it is not true, or the time is up.
    pub fn score(
        &self,
        expression: usize,
        event: &Event,
        weights: &EventWeights,
        scratch: &mut ScoreScratch,
    ) -> Option<f64> {
        scratch.scored += 1;
        scratch.nodes.clear();
        let (mut position, end) = (self.starts[expression] as usize, self.starts[expression + 1] as usize);
        if scratch.timer.spend(end - position) {
            return None;
        }
        while position < end {
            let (kind, number) = (self.words[position] & 3, self.words[position] >> 2);
            position += 1;
            let score = match kind {
                CONSTANT => {
                    if number == 1 {
                        0.0
                    } else {
                        NOT_TRUE
                    }
                }
                PREDICATE => match scratch.memo.get(number as usize) {
                    Some(known) => known,
                    None if scratch.timer.look() => return None,
                    None => {
                        let score =
                            self.signed_predicates[number as usize].score(event, weights, self.missing);
                        scratch.memo.set(number as usize, score);
                        score
                    }
                },
                _ => {
                    let children = &self.words[position..position + number as usize];
                    position += children.len();
                    let mut scores = children.iter().map(|&child| scratch.nodes[child as usize]);
                    match kind {
                        AND => scores.try_fold(0.0, |sum, score| (score >= 0.0).then(|| add(sum, score))),
                        _ => Some(scores.fold(NOT_TRUE, f64::max)),
                    }
                    .unwrap_or(NOT_TRUE)
                }
            };
            scratch.nodes.push(score);
        }
        scratch.nodes.last().copied().filter(|score| *score >= 0.0)
    }

    /// What an expression can score at most while no weight of the event is above 1.
    pub fn bound(&self, expression: usize) -> f64 {
        self.bounds[expression]
    }

    /// Whether sums of the weights are exact.
    pub(crate) fn is_coarse(&self) -> bool {
        let weights = self.signed_predicates.iter().flat_map(|scored| scored.signed.weights.iter().flatten());
        self.bounds.iter().all(|bound| *bound <= COARSE_SUM) && weights.copied().all(is_coarse)
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        4 * (self.words.len() + self.starts.len())
            + 8 * self.bounds.len()
            + size_of::<Scored>() * self.signed_predicates.len()
    }
}

/// Sums stay finite, so that a boost of 0 makes them 0.
fn add(sum: f64, score: f64) -> f64 {
    (sum + score).min(f64::MAX)
}

fn predicate_bound(signed: &SignedPredicate) -> f64 {
    match &signed.weights {
        _ if signed.negated => 0.0,
        None => 1.0,
        Some(weights) => weights.iter().copied().fold(0.0, f64::max),
    }
}

impl Scored {
    fn score(&self, event: &Event, weights: &EventWeights, missing: Missing) -> f64 {
        let Scored { attribute, check, signed } = self;
        let presence = event.get(*attribute);
        if signed.negated {
            return if !check.truth(presence, missing) == Truth::True { 0.0 } else { NOT_TRUE };
        }
        let pair = |value: ValueRef<'_>| weights.of_pair(*attribute, value);
        match (&signed.test, presence) {
            (Test::Exists, Presence::Values(values)) => values.map(pair).fold(0.0, f64::max),
            (Test::Exists, Presence::Null) => weights.of_attribute(*attribute),
            (Test::IsNull, Presence::Null | Presence::Missing) => weights.of_attribute(*attribute),
            (_, Presence::Values(values)) => {
                let satisfying = values.filter(|value| check.holds(*value));
                let scores = satisfying.map(|value| (signed.weight(value) * pair(value)).min(f64::MAX));
                scores.fold(NOT_TRUE, f64::max)
            }
            _ => NOT_TRUE,
        }
    }
}
