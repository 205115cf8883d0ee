//! The worked examples of Whang et al. 2009, section 4.

use super::*;
use crate::testing::{Best, decode, read, run};
use tamis::rank::{ScoreScratch, Scores};

/// Figure 7, with the weights of Figure 8.
const EXPRESSIONS: [&str; 6] = [
    "(A = 1^0.1 or B = 1^0.3) and (C = 1^0.2 or D = 1^2.1)",
    "(A = 1^0.3 or C = 2^2.5) and (B = 1^0.5 or D = 1^2.5)",
    "(A = 1^0.3 or B = 1^0.3) and (C = 2^2.7 or D = 1^1.7)",
    "(A = 1^0.1 or B = 1^0.5) and (A in (1^0.1, 2^0.1) or D = 1^1.9)",
    "(A = 1^0.1 or B = 1^0.7) and (C not in (1, 2) or D != 1 or E = 1^3.9)",
    "A != 1 or B = 1^0.1",
];

fn build(texts: &[&str], attributes: &Attributes, missing: Missing) -> Cnf {
    Cnf::new(&read(texts), attributes, missing, 1000)
}

/// Expressions that the events below do not match, to obtain the bounds of Figure 8.
const BOUNDS: &str =
    "A = 1^0.5 and A = 2^1 and B = 1^1.5 and C = 1^2.5 and C = 2^3 and D = 1^3.5 and E = 1^4.5 and F = 1";

#[test]
fn figure_8() {
    let attributes = Attributes::default();
    for (name, number) in ["A", "B", "C", "D", "E"].into_iter().zip(0..) {
        assert_eq!(attributes.intern(&name.into()), number);
    }
    let texts: Vec<&str> = EXPRESSIONS.into_iter().chain([BOUNDS]).collect();
    let mut lists = build(&texts, &attributes, Missing::False).postings.describe(|slot| slot + 1);
    lists.retain(|list| !list.starts_with('8'));
    // A key with its bound, then entries of an id, a sign, the number of the clause (of the negated
    // predicate with `not in`) and a weight. Clauses are numbered in their canonical order.
    let expected = [
        "0 0 1 0.5: (6, not in, 0, 0)",
        "0 1 1 1.5: (6, in, 0, 0.1)",
        "0 Z 0: (6, in, -1, 0)",
        "1 0 1 0.5: (5, in, 0, 0.1)",
        "1 1 1 1.5: (5, in, 0, 0.7)",
        "1 2 1 2.5: (5, not in, 0, 0)",
        "1 2 2 3: (5, not in, 0, 0)",
        "1 3 1 3.5: (5, not in, 1, 0)",
        "1 4 1 4.5: (5, in, 1, 3.9)",
        "2 0 1 0.5: (1, in, 0, 0.1) (2, in, 0, 0.3) (3, in, 0, 0.3) (4, in, 0, 0.1)",
        "2 0 1 0.5: (4, in, 1, 0.1)",
        "2 0 2 1: (4, in, 1, 0.1)",
        "2 1 1 1.5: (1, in, 0, 0.3) (2, in, 1, 0.5) (3, in, 0, 0.3) (4, in, 0, 0.5)",
        "2 2 1 2.5: (1, in, 1, 0.2)",
        "2 2 2 3: (2, in, 0, 2.5) (3, in, 1, 2.7)",
        "2 3 1 3.5: (1, in, 1, 2.1) (2, in, 1, 2.5) (3, in, 1, 1.7) (4, in, 1, 1.9)",
    ];
    assert_eq!(lists, expected);
}

#[test]
fn figure_13() {
    let attributes = Attributes::default();
    let texts: Vec<&str> = EXPRESSIONS.into_iter().chain([BOUNDS]).collect();
    let index = build(&texts, &attributes, Missing::False);
    let scores = Scores::new(&read(&texts), &attributes, Missing::False);
    let event = decode(r#"{"A": 1, "C": 2}"#, &attributes);
    let mut weights = EventWeights::default();
    weights.set(&attributes, "A", None, 0.1).unwrap();
    weights.set(&attributes, "C", None, 0.9).unwrap();
    let rank = |pruning: Pruning| {
        let mut scratch = Scratch::default();
        scratch.set_pruning(pruning);
        let mut best = Best::new(&scores, &event, &weights);
        index.rank(&event, &weights, &mut scratch, &mut best);
        let scored = best.scored.clone();
        let (slot, score) = best.best();
        assert_eq!(slot, 2, "c3");
        assert!((score - 2.46).abs() < 1e-12);
        (scored, scratch.take_counters().candidates)
    };
    // c4 is skipped because its score is at most 0.1; c5 and c6 because theirs are lower.
    assert_eq!(rank(Pruning::Paper), (vec![2], 2));
    assert_eq!(rank(Pruning::Tight), (vec![2], 2));
    assert_eq!(rank(Pruning::None), (vec![2, 3, 4], 5));
    let scored = scores.score(3, &event, &weights, &mut {
        let mut scratch = ScoreScratch::default();
        scores.begin(&event, &mut scratch);
        scratch
    });
    // The bound of c4 in the paper is 0.1, computed from bounds of 0.5; its own weights give 0.02.
    assert!((scored.unwrap() - 0.02).abs() < 1e-12);
}

/// Records the visited slots, with this number as the threshold.
struct Above(f64, Vec<Slot>);

impl Visit for Above {
    fn visit(&mut self, slot: Slot) {
        self.1.push(slot);
    }

    fn threshold(&self, _: Slot) -> f64 {
        self.0
    }
}

#[test]
fn the_bound_of_c4_is_a_tenth() {
    let attributes = Attributes::default();
    let texts: Vec<&str> = EXPRESSIONS.into_iter().chain([BOUNDS]).collect();
    let index = build(&texts, &attributes, Missing::False);
    let event = decode(r#"{"A": 1, "C": 2}"#, &attributes);
    let mut weights = EventWeights::default();
    weights.set(&attributes, "A", None, 0.1).unwrap();
    weights.set(&attributes, "C", None, 0.9).unwrap();
    let is_visited = |threshold: f64| {
        let mut scratch = Scratch::default();
        scratch.set_pruning(Pruning::Paper);
        let mut visited = Above(threshold, Vec::new());
        index.rank(&event, &weights, &mut scratch, &mut visited);
        visited.1.contains(&3)
    };
    assert!(is_visited(0.1 - 1e-9));
    assert!(!is_visited(0.1 + 1e-9));
}

#[test]
fn figure_9() {
    let attributes = Attributes::default();
    let index = build(&EXPRESSIONS, &attributes, Missing::False);
    let (found, counters) = run(&index, r#"{"A": 1, "C": 2}"#, &attributes);
    // c3, c4 and c5, counted from 0. The second clause of c5 holds because D is missing.
    assert_eq!(found, [2, 3, 4]);
    // The lists of Figure 9: three for K = 2, two for K = 1, two for K = 0.
    assert_eq!(counters.lists, 7);
    // c2, c3, c4 for K = 2, where c1 is skipped; c5; c6.
    assert_eq!(counters.candidates, 5);
}

#[test]
fn a_violated_predicate_counts_once() {
    let attributes = Attributes::default();
    let texts = ["a not in (1, 2) or b != 1", "(a not in (1, 2) or b = 1) and c = 1"];
    for missing in [Missing::Unknown, Missing::False] {
        let index = build(&texts, &attributes, missing);
        let found = |json: &str| run(&index, json, &attributes).0;
        // Two values violate the first predicate; the second predicate holds.
        assert_eq!(found(r#"{"a": [1, 2], "b": 2, "c": 1}"#), [0]);
        assert_eq!(found(r#"{"a": [1, 2], "b": [1, 2], "c": 1}"#), [1]);
        assert_eq!(found(r#"{"a": 3, "b": 1, "c": 1}"#), [0, 1]);
        let absent = if missing == Missing::False { &[0, 1][..] } else { &[] };
        assert_eq!(found(r#"{"c": 1}"#), absent);
    }
}

#[test]
fn constants() {
    let attributes = Attributes::default();
    let index = build(&["true", "false", "a or true"], &attributes, Missing::Unknown);
    assert_eq!(run(&index, "{}", &attributes).0, [0, 2]);
}
