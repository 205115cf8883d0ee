//! The index finds the same predicates as evaluating each on the event, also while predicates are
//! added and removed.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::Limits;
use tamis::Truth;
use tamis::event::Attributes;
use tamis::expression::{Operand, Operator, Predicate};
use tamis::value::Value;

#[path = "../../../tamis/tests/common/mod.rs"]
mod common;

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).unwrap();
    event
}

/// Predicates with many overlapping texts and close numbers.
fn crowded() -> impl Strategy<Value = Predicate> {
    let operand = prop_oneof![
        (-20..20i64, 0..10i64).prop_map(|(low, length)| (
            Operator::Between,
            Operand::Range(Value::from(low), Value::from(low + length))
        )),
        ("[ab]{0,3}", "[ab]{0,3}").prop_map(|(low, high)| (
            Operator::Between,
            Operand::Range(low.as_str().into(), high.as_str().into())
        )),
        ("[ab]{0,4}", select(vec![Operator::StartsWith, Operator::EndsWith, Operator::Contains]))
            .prop_map(|(text, operator)| (operator, Operand::One(text.as_str().into()))),
        "[ab%_]{0,5}".prop_map(|text| (Operator::Like, Operand::One(text.as_str().into()))),
        "(\\^|\\.\\*|)[ab]{0,3}(\\(a\\|ba\\)|b\\+|\\[ab\\]|\\(\\?i:Ab\\)|)(\\$|)"
            .prop_map(|text| (Operator::Matches, Operand::One(text.as_str().into()))),
        vec(-20..20i64, 0..6)
            .prop_map(|values| (Operator::In, Operand::Set(values.into_iter().map(Value::from).collect()))),
    ];
    (select(vec!["a", "b"]), operand).prop_map(|(attribute, (operator, operand))| {
        Predicate::new(attribute, operator, false, operand, &[], &Limits::default()).unwrap()
    })
}

fn crowded_event() -> impl Strategy<Value = String> {
    let value = || {
        prop_oneof![
            (-21..31i64).prop_map(|number| number.to_string()),
            "[abAB]{0,8}".prop_map(|text| format!("\"{text}\"")),
        ]
    };
    (vec(value(), 0..4), value()).prop_map(|(a, b)| format!("{{\"a\": [{}], \"b\": {b}}}", a.join(", ")))
}

/// Applies changes to an index, and compares it with evaluating every predicate.
fn compare(changes: &[(Predicate, bool)], events: &[String]) -> Result<(), TestCaseError> {
    let attributes = Attributes::default();
    let mut index = PredicateIndex::default();
    // One entry per use.
    let mut model: Vec<(PredicateId, AttributeId, Test)> = Vec::new();
    for (position, (predicate, adds)) in changes.iter().enumerate() {
        if *adds || model.is_empty() {
            let attribute = attributes.intern(predicate.attribute());
            let id = index.insert(attribute, predicate.test());
            prop_assert_eq!(index.attribute(id), attribute);
            prop_assert_eq!(index.test(id), predicate.test());
            model.push((id, attribute, predicate.test().clone()));
        } else {
            let (id, ..) = model.swap_remove(position * 7 % model.len());
            index.remove(id);
        }
    }
    let mut distinct = model.clone();
    distinct.sort_unstable();
    distinct.dedup();
    prop_assert_eq!(index.len(), distinct.len());
    let mut scratch = PredicateScratch::default();
    for json in events {
        let event = decode(json, &attributes);
        index.satisfied(&event, &mut scratch);
        let mut found = scratch.found().to_vec();
        found.sort_unstable();
        let truth = |attribute, test: &Test, missing| Check::new(test).truth(event.get(attribute), missing);
        let expected: Vec<PredicateId> = distinct
            .iter()
            .filter(|(_, attribute, test)| truth(*attribute, test, Missing::Unknown) == Truth::True)
            .map(|(id, ..)| *id)
            .collect();
        prop_assert_eq!(&found, &expected, "{}", json);
        for (id, attribute, test) in &distinct {
            for missing in [Missing::Unknown, Missing::False] {
                let truth = truth(*attribute, test, missing);
                prop_assert_eq!(index.is_true(*id, false, missing, &scratch), truth == Truth::True);
                prop_assert_eq!(index.is_true(*id, true, missing, &scratch), !truth == Truth::True);
            }
        }
    }
    for (id, ..) in model {
        index.remove(id);
    }
    prop_assert_eq!(index.len(), 0);
    index.satisfied(&decode(&events[0], &attributes), &mut scratch);
    prop_assert!(scratch.found().is_empty());
    Ok(())
}

proptest! {
    #[test]
    fn equals_trying_every_predicate(
        changes in vec((common::predicate(), prop::bool::weighted(0.7)), 0..60),
        events in vec(common::event(), 1..4),
    ) {
        compare(&changes, &events)?;
    }

    #[test]
    fn equals_trying_every_crowded_predicate(
        changes in vec((crowded(), prop::bool::weighted(0.75)), 0..300),
        events in vec(crowded_event(), 1..6),
    ) {
        compare(&changes, &events)?;
    }
}

/// Large sets and many ranges on one attribute, some of which are removed.
#[test]
fn sizes_that_are_ordinary() {
    let attributes = Attributes::default();
    let number = attributes.intern(&"number".into());
    let mut index = PredicateIndex::default();
    let set = |start: i64| Test::In((start..start + 20_000).map(Value::from).collect());
    let sets: Vec<_> = (0..20).map(|start| index.insert(number, &set(start * 1000))).collect();
    let range = |low: i64| Test::Between(low.into(), (low + 10).into());
    let ranges: Vec<_> = (0..20_000).map(|low| index.insert(number, &range(low))).collect();
    for (position, id) in ranges.iter().enumerate() {
        if position % 3 > 0 {
            index.remove(*id);
        }
    }
    index.remove(sets[7]);
    let mut scratch = PredicateScratch::default();
    let event = decode(r#"{"number": 9000}"#, &attributes);
    index.satisfied(&event, &mut scratch);
    let mut found = scratch.found().to_vec();
    found.sort_unstable();
    let mut expected: Vec<_> = (0..10).filter(|&set| set != 7).map(|set| sets[set]).collect();
    expected.extend((8990..=9000).filter(|low| low % 3 == 0).map(|low| ranges[low]));
    expected.sort_unstable();
    assert_eq!(found, expected);
}
