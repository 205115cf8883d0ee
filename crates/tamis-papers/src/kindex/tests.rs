//! The worked examples of Whang et al. 2009, section 3, and properties of the cursor.

use super::*;
use crate::testing::{Best, decode, read};
use tamis::matcher::{Counters, Scan};
use tamis::rank::Scores;

/// Figure 1.
const CONJUNCTIONS: [&str; 6] = [
    "age = 3^0.1 and state = 'NY'^4",
    "age = 3^0.1 and gender = 'F'^0.3",
    "age = 3^0.2 and gender = 'M'^0.5 and state != 'CA'",
    "state = 'CA'^1.5 and gender = 'M'^0.9",
    "age in (3^0.1, 4^0.5)",
    "state not in ('CA', 'NY')",
];

fn build<T: AsRef<str>>(texts: &[T], attributes: &Attributes, missing: Missing, share: bool) -> KIndex {
    KIndex::new(&read(texts), attributes, missing, KIndexOptions { share, ..KIndexOptions::default() })
}

fn run(index: &KIndex, json: &str, attributes: &Attributes, skipping: bool) -> (Vec<Slot>, Counters) {
    let mut scratch = Scratch::default();
    scratch.set_skipping(skipping);
    let mut found = Vec::new();
    index.matches(&decode(json, attributes), &mut scratch, &mut found);
    (found, scratch.take_counters())
}

/// Expressions that the events below do not match, to obtain the bounds of the figures. The paper's
/// bounds are higher than any weight in its figures, and apply to a key for all sizes.
const BOUNDS: &str =
    "age = 3^1 and age = 4^3 and state = 'NY'^5 and state = 'CA'^2 and gender = 'F'^2 and gender = 'M'^1";

#[test]
fn figure_2() {
    let attributes = Attributes::default();
    let names = ["age", "state", "gender"].map(|name| attributes.intern(&name.into()).to_string());
    assert_eq!(names, ["0", "1", "2"]);
    let texts: Vec<&str> = CONJUNCTIONS.into_iter().chain([BOUNDS]).collect();
    let index = build(&texts, &attributes, Missing::False, true);
    let mut lists = index.conjunctions.postings().describe(|id| index.slots_of(id)[0] + 1);
    lists.retain(|list| !list.starts_with('6'));
    // A key with its bound, then entries of an id, a sign, the number of the predicate and a weight.
    let expected = [
        "0 1 'CA' 2: (6, not in, 0, 0)",
        "0 1 'NY' 5: (6, not in, 0, 0)",
        "0 Z 0: (6, in, 0, 0)",
        "1 0 3 1: (5, in, 0, 0.1)",
        "1 0 4 3: (5, in, 0, 0.5)",
        "2 0 3 1: (1, in, 0, 0.1) (2, in, 0, 0.1) (3, in, 0, 0.2)",
        "2 1 'CA' 2: (3, not in, 0, 0) (4, in, 1, 1.5)",
        "2 1 'NY' 5: (1, in, 1, 4)",
        "2 2 'F' 2: (2, in, 1, 0.3)",
        "2 2 'M' 1: (3, in, 1, 0.5) (4, in, 0, 0.9)",
    ];
    assert_eq!(lists, expected);
}

#[test]
fn figures_10_to_12() {
    let attributes = Attributes::default();
    let texts: Vec<&str> = CONJUNCTIONS.into_iter().chain([BOUNDS]).collect();
    let index = build(&texts, &attributes, Missing::False, true);
    let scores = Scores::new(&read(&texts), &attributes, Missing::False);
    let event = decode(r#"{"age": 3, "state": "NY", "gender": "F"}"#, &attributes);
    let mut weights = EventWeights::default();
    for (name, value, weight) in
        [("age", 3.into(), 0.8), ("state", "NY".into(), 1.0), ("gender", "F".into(), 0.9)]
    {
        weights.set(&attributes, name, Some(value), weight).unwrap();
    }
    for pruning in [Pruning::Paper, Pruning::Tight, Pruning::None] {
        let mut scratch = Scratch::default();
        scratch.set_pruning(pruning);
        let mut best = Best::new(&scores, &event, &weights);
        index.rank(&event, &weights, &mut scratch, &mut best);
        let counters = scratch.take_counters();
        let scored = best.scored.len();
        let (slot, score) = best.best();
        assert_eq!(slot, 0, "c1");
        assert!((score - 4.08).abs() < 1e-12);
        if pruning == Pruning::None {
            // c1, c2 and c5 match.
            assert_eq!((counters.candidates, counters.sizes_skipped, scored), (4, 0, 3));
        } else {
            // c2 is skipped because its score is at most 2.6, and K = 1 and K = 0 are skipped as a
            // whole because nothing there scores more than 0.8.
            assert_eq!((counters.candidates, counters.sizes_skipped, scored), (1, 2, 1));
        }
    }
}

#[test]
fn figure_3_to_6() {
    let attributes = Attributes::default();
    let index = build(&CONJUNCTIONS, &attributes, Missing::False, true);
    let event = r#"{"age": 3, "state": "CA", "gender": "M"}"#;
    let (found, counters) = run(&index, event, &attributes, true);
    // c4 and c5, counted from 0.
    assert_eq!(found, [3, 4]);
    // The lists of Figure 3: three for K = 2, one for K = 1, two for K = 0.
    assert_eq!(counters.lists, 6);
    // c3 is a candidate and rejected, c4 and c5 accepted, c6 rejected; c1 and c2 are skipped.
    assert_eq!(counters.candidates, 4);
}

#[test]
fn skipping_reads_fewer_entries() {
    let texts: Vec<String> = (0..2000)
        .map(|number| format!("common = 1 and rare = {} and other = {}", number % 500, number % 7))
        .collect();
    let attributes = Attributes::default();
    let index = build(&texts, &attributes, Missing::Unknown, true);
    let event = r#"{"common": 1, "rare": 77, "other": 0}"#;
    let (found, with) = run(&index, event, &attributes, true);
    let (same, without) = run(&index, event, &attributes, false);
    assert_eq!(found, same);
    assert_eq!(found, [77]);
    assert_eq!(with.candidates, without.candidates);
    assert!(10 * with.entries < without.entries, "{with:?} {without:?}");
}

#[test]
fn the_longest_lists_are_searched() {
    // All 500 distinct conjunctions test `common`, and each tests a different value of `rare`.
    let texts: Vec<String> =
        (0..10_000).map(|number| format!("common = 1 and rare = {}", number % 500)).collect();
    let attributes = Attributes::default();
    let index = build(&texts, &attributes, Missing::Unknown, true);
    let event = r#"{"common": 1, "rare": [1, 2, 3, 77, 400]}"#;
    let (found, counters) = run(&index, event, &attributes, true);
    assert_eq!((found.len(), counters.candidates), (100, 5));
    assert!(counters.entries < 100, "{counters:?}");
}

/// Conjunctions of all sizes, both gathered and walked, with negations, overlapping sets and values
/// in lists, give the right matches.
#[test]
fn all_sizes() {
    let mut seed = 7u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..1500 {
        let size = random(10) + 1;
        let predicates = (0..size).map(|_| {
            let attribute = random(4);
            match random(8) {
                0 => format!("a{attribute} != {}", random(5)),
                1 => format!("a{attribute} not in ({}, {})", random(5), random(5)),
                2 | 3 => format!("a{attribute} in ({}, {}, {})", random(5), random(5), random(5)),
                4 => format!("b{} = 1", random(3)),
                _ => format!("a{attribute} = {}", random(5)),
            }
        });
        texts.push(predicates.collect::<Vec<_>>().join(" and "));
    }
    let attributes = Attributes::default();
    let expressions = read(&texts);
    for missing in [Missing::Unknown, Missing::False] {
        let scan = Scan::new(&expressions, &attributes, missing);
        let index = build(&texts, &attributes, missing, true);
        let mut matched = 0;
        for _ in 0..300 {
            let mut members: Vec<String> = Vec::new();
            for attribute in 0..4 {
                let values: Vec<String> = (0..random(4)).map(|_| random(5).to_string()).collect();
                if !values.is_empty() {
                    members.push(format!("\"a{attribute}\": [{}]", values.join(", ")));
                }
            }
            members.extend((0..3).filter(|_| random(2) == 0).map(|number| format!("\"b{number}\": 1")));
            let json = format!("{{{}}}", members.join(", "));
            let mut expected = Vec::new();
            scan.matches(&decode(&json, &attributes), &mut Scratch::default(), &mut expected);
            for skipping in [true, false] {
                assert_eq!(run(&index, &json, &attributes, skipping).0, expected, "{json}");
            }
            matched += expected.len();
        }
        assert!(matched > 1000, "{matched}");
    }
}

#[test]
fn distinct_predicates_are_counted() {
    let attributes = Attributes::default();
    let texts = ["a in (1, 2) and a in (2, 3)", "a in (1, 2) and b = 1", "a = 1 and not a = 2"];
    for missing in [Missing::Unknown, Missing::False] {
        let index = build(&texts, &attributes, missing, true);
        let found = |json: &str| run(&index, json, &attributes, true).0;
        assert_eq!(found(r#"{"a": 2}"#), [0]);
        assert_eq!(found(r#"{"a": 1}"#), [2]);
        assert_eq!(found(r#"{"a": [1, 3]}"#), [0, 2]);
        assert_eq!(found(r#"{"a": [1, 2]}"#), [0]);
        assert_eq!(found(r#"{"a": [1, 2], "b": 1}"#), [0, 1]);
    }
}

/// Many ranges on one attribute make few keys per event, and give the right matches.
#[test]
fn many_ranges() {
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut texts: Vec<String> = Vec::new();
    for _ in 0..600 {
        let (low, high) = (random(200), random(200));
        let range = match random(6) {
            0 => format!("n < {low}"),
            1 => format!("n >= {low}.5"),
            2 => format!("s > 'k{low}'"),
            3 => format!("n between {low} and {high} and n > {}", random(200)),
            4 => format!("n not between {low} and {high}"),
            _ => format!("n between {low} and {}", low + 20),
        };
        texts.push(match random(3) {
            0 => format!("{range} and m = {}", random(3)),
            1 => format!("{range} or m = {}", random(3)),
            _ => range,
        });
    }
    let attributes = Attributes::default();
    let expressions = read(&texts);
    for missing in [Missing::Unknown, Missing::False] {
        let scan = Scan::new(&expressions, &attributes, missing);
        let kindex = build(&texts, &attributes, missing, true);
        let cnf = crate::Cnf::new(&expressions, &attributes, missing, 1000);
        let mut scratch = Scratch::default();
        for _ in 0..200 {
            let (a, b) = (random(400), random(220));
            let json = match random(4) {
                0 => format!(r#"{{"n": {b}, "m": 1}}"#),
                1 => format!(r#"{{"n": [{b}, {a}.5, "x"], "s": "k{a}"}}"#),
                2 => format!(r#"{{"s": ["k{b}", "k{a}"], "m": [0, 2]}}"#),
                _ => format!(r#"{{"n": {}.0, "s": {b}}}"#, a / 2),
            };
            let event = decode(&json, &attributes);
            let mut expected = Vec::new();
            scan.matches(&event, &mut scratch, &mut expected);
            let matchers: [&dyn Matcher; 2] = [&kindex, &cnf];
            for matcher in matchers {
                let mut found = Vec::new();
                matcher.matches(&event, &mut scratch, &mut found);
                assert_eq!(found, expected, "{} on {json}", matcher.name());
            }
        }
        // About 600 ranges, half of which hold, make about twenty keys.
        scratch.take_counters();
        kindex.matches(&decode(r#"{"n": 100}"#, &attributes), &mut scratch, &mut Vec::new());
        let lists = scratch.take_counters().lists;
        assert!(lists < 60, "{lists}");
    }
}

#[test]
fn equal_conjunctions_are_one() {
    let attributes = Attributes::default();
    let texts = ["a = 1 and b = 2 or c = 3", "b = 2 and a = 1", "c = 3 or d = 4", "b = 2 and a = 1^2"];
    let shared = build(&texts, &attributes, Missing::Unknown, true);
    assert_eq!(shared.conjunctions(), 4);
    let apart = build(&texts, &attributes, Missing::Unknown, false);
    assert_eq!(apart.conjunctions(), 6);
}

#[test]
fn a_cursor_skips() {
    let texts: Vec<String> = (0..4000).map(|number| format!("a = 1 and b = {}", number % 2)).collect();
    let attributes = Attributes::default();
    let index = build(&texts, &attributes, Missing::Unknown, false);
    let event = decode(r#"{"a": 1, "b": 0}"#, &attributes);
    let mut scratch = Scratch::default();
    let mut all = Vec::new();
    index.matches(&event, &mut scratch, &mut all);
    let everything = scratch.take_counters();
    let mut cursor = index.cursor(&event, &mut scratch);
    assert_eq!(cursor.next(0), Some(0));
    assert_eq!(cursor.next(0), Some(0));
    assert_eq!(cursor.next(1), Some(2));
    assert_eq!(cursor.next(1999), Some(2000));
    assert_eq!(cursor.next(3999), None);
    assert_eq!(cursor.next(u32::MAX), None);
    let skipped = scratch.take_counters();
    assert!(20 * skipped.entries < everything.entries, "{skipped:?} {everything:?}");
    let mut walked = Vec::new();
    let mut cursor = index.cursor(&event, &mut scratch);
    while let Some(slot) = cursor.next(walked.last().map_or(0, |last| last + 1)) {
        walked.push(slot);
    }
    assert_eq!(walked, all);
}

#[test]
fn what_would_explode_is_evaluated() {
    let clauses: Vec<_> = (0..30).map(|i| format!("(a{i} or b{i})")).collect();
    let texts = ["a0".to_owned(), clauses.join(" and "), "b0".to_owned()];
    let attributes = Attributes::default();
    let all: Vec<_> = (0..30).map(|i| format!("\"a{i}\": true")).collect();
    let event = format!("{{{}}}", all.join(", "));
    for share in [true, false] {
        let index = build(&texts, &attributes, Missing::Unknown, share);
        assert_eq!(run(&index, &event, &attributes, true).0, [0, 1]);
        let mut scratch = Scratch::default();
        let decoded = decode(&event, &attributes);
        let mut cursor = index.cursor(&decoded, &mut scratch);
        assert_eq!((cursor.next(0), cursor.next(1), cursor.next(2)), (Some(0), Some(1), None));
    }
}
