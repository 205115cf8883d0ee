//! Every comparator equals `scan`.

#[path = "../../tamis/tests/common/mod.rs"]
mod common;

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use tamis::event::Attributes;
use tamis::expression::{Node, normalise, resolve};
use tamis::matcher::{Matcher, Scan, Scratch};
use tamis::value::TimeZone;
use tamis::{Event, Expression, Limits, Missing, parse};
use tamis_lab::comparator::{COMPARATORS, Comparator, Input, Work};
use tamis_lab::workload::{NAMES, by_name};

const MODES: [Missing; 2] = [Missing::Unknown, Missing::False];

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::none()).unwrap();
    event
}

fn parsed(texts: &[&str]) -> Vec<Expression> {
    texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect()
}

proptest! {
    #[test]
    fn every_comparator_equals_scan(
        expressions in vec(common::expression(), 0..30),
        sample in vec(common::event(), 0..3),
        events in vec(common::event(), 1..6),
    ) {
        // Comparators support only the predicates of the papers, so leave out typed operands and
        // truth tests, which are on terms.
        let zone = TimeZone::default();
        let mut expressions = expressions;
        expressions.retain(|expression| matches!(resolve(expression, &zone), Cow::Borrowed(_)));
        expressions.retain(|expression| !expression.nodes().iter().any(|node| matches!(node, Node::Is(_))));
        for missing in MODES {
            let attributes = Attributes::default();
            let scan = Scan::new(&expressions, &attributes, missing);
            let sample: Vec<Event> = sample.iter().map(|json| decode(json, &attributes)).collect();
            let (mut work, mut scratch) = (Work::default(), Scratch::default());
            for (name, build) in COMPARATORS {
                // Leave out the expressions that a comparator refuses; the results for the others
                // must be right.
                let mut expressions = expressions.clone();
                let mut slots: Vec<u32> = (0..expressions.len() as u32).collect();
                let comparator = loop {
                    let input = Input {
                        expressions: &expressions,
                        attributes: &attributes,
                        missing,
                        sample: &sample,
                        most: 2000,
                    };
                    match build(&input) {
                        Ok(comparator) => break comparator,
                        Err(refused) => {
                            prop_assert!(refused.found > refused.allowed, "{refused}");
                            expressions.remove(refused.slot as usize);
                            slots.remove(refused.slot as usize);
                        }
                    }
                };
                prop_assert_eq!(comparator.name(), name);
                for json in &events {
                    let event = decode(json, &attributes);
                    let (mut expected, mut found) = (Vec::new(), Vec::new());
                    scan.matches(&event, &mut scratch, &mut expected);
                    comparator.matches(&event, &mut work, &mut found);
                    expected.retain(|slot| slots.contains(slot));
                    let found: Vec<u32> = found.iter().map(|&slot| slots[slot as usize]).collect();
                    prop_assert_eq!(found, expected, "{} on {}", name, json);
                }
            }
        }
    }
}

fn build(name: &str, expressions: &[Expression], attributes: &Attributes) -> Box<dyn Comparator> {
    let input = Input { expressions, attributes, missing: Missing::False, sample: &[], most: 10_000 };
    COMPARATORS.iter().find(|(other, _)| *other == name).unwrap().1(&input).unwrap()
}

#[test]
fn every_comparator_equals_scan_on_every_workload() {
    for workload in NAMES {
        let workload = by_name(workload, 10_000).unwrap();
        let attributes = Attributes::default();
        let expressions: Vec<Expression> = (0..1000)
            .map(|number| workload.expression(number))
            .filter(|expression| expression.predicates().count() < 30)
            .collect();
        let missing = workload.missing();
        let scan = Scan::new(&expressions, &attributes, missing);
        let event = |number| decode(&workload.event(number), &attributes);
        let sample: Vec<Event> = (1000..1050).map(event).collect();
        let (mut work, mut scratch) = (Work::default(), Scratch::default());
        let input = Input {
            expressions: &expressions,
            attributes: &attributes,
            missing,
            sample: &sample,
            most: 100_000,
        };
        for (name, build) in COMPARATORS {
            let comparator = build(&input).unwrap_or_else(|refused| panic!("{name}: {refused}"));
            for number in 0..20 {
                let (mut expected, mut found) = (vec![7], vec![7]);
                scan.matches(&event(number), &mut scratch, &mut expected);
                comparator.matches(&event(number), &mut work, &mut found);
                assert_eq!(found, expected, "{name} on event {number} of {}", workload.name());
            }
        }
    }
}

#[test]
fn sift_reads_every_entry_of_the_lists_of_an_event() {
    let attributes = Attributes::default();
    let expressions =
        parsed(&["a = 1 and b = 2", "a in (1, 2) and b != 2 or c = 3", "a = 1 and d = 4", "e != 5"]);
    let sift = build("sift", &expressions, &attributes);
    let (mut work, mut found) = (Work::default(), Vec::new());
    sift.matches(&decode(r#"{"a": 1, "b": 2}"#, &attributes), &mut work, &mut found);
    assert_eq!(found, [0, 3]);
    let counters = work.take_counters();
    // Two for `a = 1`, one for `a in (1, 2)`, two for `b = 2`.
    assert_eq!(counters.entries, 5);
    assert_eq!(work.take_counters(), Default::default());
}

#[test]
fn propagation_looks_at_what_its_access_predicate_leads_to() {
    let attributes = Attributes::default();
    let expressions = parsed(&["a = 1 and b in (1, 2, 3)", "a = 2 and b in (1, 2, 3)", "a = 3 and b = 1"]);
    let propagation = build("propagation", &expressions, &attributes);
    let (mut work, mut found) = (Work::default(), Vec::new());
    propagation.matches(&decode(r#"{"a": 2, "b": 2}"#, &attributes), &mut work, &mut found);
    assert_eq!(found, [1]);
    assert_eq!(work.take_counters().candidates, 1);
}

#[test]
fn bop_evaluates_what_has_enough_predicates() {
    // The example of Ji & Jacobsen 2021, section 2.2: three predicates are necessary but not always
    // sufficient.
    let attributes = Attributes::default();
    let expressions = parsed(&["(p1 or p2 or p3) and p4 and (p5 or p6)"]);
    let bop = build("bop", &expressions, &attributes);
    let mut work = Work::default();
    for (json, candidates, matches) in [
        (r#"{"p1": true, "p4": true}"#, 0, 0),
        (r#"{"p1": true, "p2": true, "p3": true}"#, 1, 0),
        (r#"{"p1": true, "p4": true, "p6": true}"#, 1, 1),
    ] {
        let mut found = Vec::new();
        bop.matches(&decode(json, &attributes), &mut work, &mut found);
        assert_eq!((work.take_counters().candidates, found.len()), (candidates, matches), "{json}");
    }
}

#[test]
fn translation_has_the_conjunctions_of_the_paper() {
    // The same expression has six conjunctions; equal ones are stored once.
    let text = "(p1 or p2 or p3) and p4 and (p5 or p6)";
    let attributes = Attributes::default();
    let translation = build("translation", &parsed(&[text, text]), &attributes);
    let (mut work, mut found) = (Work::default(), Vec::new());
    let all = r#"{"p1": true, "p2": true, "p3": true, "p4": true, "p5": true, "p6": true}"#;
    translation.matches(&decode(all, &attributes), &mut work, &mut found);
    assert_eq!(found, [0, 1]);
    assert_eq!(work.take_counters().candidates, 6);
}

#[test]
fn what_would_explode_is_refused_with_both_numbers() {
    let clauses: Vec<_> = (0..40).map(|number| format!("(a{number} or b{number})")).collect();
    let xors: Vec<_> = (0..60).map(|number| format!("a{number}")).collect();
    let attributes = Attributes::default();
    let expressions =
        [clauses.join(" and "), xors.join(" xor ")].map(|text| parse(&text, &Limits::none()).unwrap());
    assert!(expressions.iter().all(|expression| normalise(expression).nodes().len() < 1000));
    let mut refusals = 0;
    for (name, build) in COMPARATORS {
        for expression in &expressions {
            let input = Input {
                expressions: std::slice::from_ref(expression),
                attributes: &attributes,
                missing: Missing::Unknown,
                sample: &[],
                most: 1000,
            };
            if let Err(refused) = build(&input) {
                assert!(refused.to_string().contains("and 1000 are allowed"), "{name}: {refused}");
                refusals += 1;
            }
        }
    }
    // Four comparators build conjunctions and refuse both expressions, three walk trees and refuse
    // the second; the decision diagram accepts both.
    assert_eq!(refusals, 4 * 2 + 3);
}
