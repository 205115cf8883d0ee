//! The worked examples of Whang et al. 2009, section 3, and what the cursor promises.

use super::*;
use crate::matcher::Counters;
use crate::parse;

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
    let expressions: Vec<_> =
        texts.iter().map(|text| parse(text.as_ref(), &Limits::default()).unwrap()).collect();
    KIndex::new(&expressions, attributes, missing, KIndexOptions { share, ..KIndexOptions::default() })
}

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).unwrap();
    event
}

fn run(index: &KIndex, json: &str, attributes: &Attributes, skipping: bool) -> (Vec<Slot>, Counters) {
    let mut scratch = Scratch::default();
    scratch.set_skipping(skipping);
    let mut found = Vec::new();
    index.matches(&decode(json, attributes), &mut scratch, &mut found);
    (found, scratch.take_counters())
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
