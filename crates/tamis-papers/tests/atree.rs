//! The A-Tree equals `scan` with every combination of its optimisations, while expressions are
//! added and removed.

#[path = "../../tamis/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::Attributes;
use tamis::expression::normalise;
use tamis::matcher::{Matcher, Scan, Scratch, Slot};
use tamis::value::TimeZone;
use tamis::{Event, Expression, Limits, Missing, parse};
use tamis_papers::{ATree, ATreeOptions};

const MODES: [Missing; 2] = [Missing::Unknown, Missing::False];

fn all_options() -> impl Iterator<Item = ATreeOptions> {
    (0..64).map(|bits| ATreeOptions {
        reorganise: bits & 1 > 0,
        self_adjust: bits & 2 > 0,
        propagation_on_demand: bits & 4 > 0,
        share: bits & 8 == 0,
        binary: bits & 16 > 0,
        zero_suppression: bits & 32 == 0,
    })
}

/// Expressions over few predicates, so that their parts are often equal or contained in each other.
fn crowded() -> impl Strategy<Value = Expression> {
    let leaf =
        select(vec!["a", "b", "c", "d", "a = 1", "not a", "not b", "c is null", "exists(d)", "missing(d)"])
            .prop_map(|text| parse(text, &Limits::default()).unwrap());
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 2..6).prop_map(|children| Expression::all(&children)),
            4 => vec(inner.clone(), 2..6).prop_map(|children| Expression::any(&children)),
            1 => inner.clone().prop_map(|child| Expression::negate(&child)),
            1 => (inner.clone(), inner).prop_map(|(left, right)| Expression::xor(&left, &right)),
        ]
    })
}

fn crowded_event() -> impl Strategy<Value = String> {
    let value = select(vec!["true", "true", "false", "1", "null", "[]", "[true, 1]"]);
    vec(prop::option::weighted(0.8, value), 4).prop_map(|values| {
        let named = ["a", "b", "c", "d"].iter().zip(values);
        let fields: Vec<_> =
            named.filter_map(|(name, value)| Some(format!("\"{name}\": {}", value?))).collect();
        format!("{{{}}}", fields.join(", "))
    })
}

#[derive(Debug, Clone)]
enum Change {
    Insert(Slot, Expression),
    Remove(Slot),
    /// Inserts and removes again, which must change nothing.
    Visit(Expression),
    Match(String),
    Adapt,
}

fn changes(
    expression: impl Strategy<Value = Expression> + Clone + 'static,
    event: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        6 => (0..20u32, expression.clone()).prop_map(|(slot, expression)| Change::Insert(slot, expression)),
        3 => (0..20u32).prop_map(Change::Remove),
        2 => expression.prop_map(Change::Visit),
        4 => event.prop_map(Change::Match),
        1 => Just(Change::Adapt),
    ];
    vec(change, 1..40)
}

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).unwrap();
    event
}

fn compare(changes: &[Change], options: ATreeOptions, missing: Missing) -> Result<(), TestCaseError> {
    let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
    let mut atree = ATree::new(missing, options);
    let mut model: BTreeMap<Slot, Expression> = BTreeMap::new();
    let mut scratch = Scratch::default();
    for change in changes {
        match change {
            Change::Insert(slot, expression) => {
                atree.insert(*slot, &normalise(expression), &attributes);
                model.insert(*slot, expression.clone());
            }
            Change::Remove(slot) => {
                prop_assert_eq!(atree.remove(*slot), model.remove(slot).is_some());
            }
            Change::Visit(expression) => {
                let before = atree.stats();
                atree.insert(99, &normalise(expression), &attributes);
                prop_assert_eq!(atree.validate(), Ok(()));
                prop_assert!(atree.remove(99));
                prop_assert_eq!(atree.stats(), before);
            }
            Change::Adapt => atree.adapt(),
            Change::Match(json) => {
                let scan = Scan::new(model.values(), &attributes, missing);
                let event = decode(json, &attributes);
                let (mut expected, mut found) = (Vec::new(), Vec::new());
                scan.matches(&event, &mut scratch, &mut expected);
                let slots: Vec<Slot> = model.keys().copied().collect();
                let expected: Vec<Slot> =
                    expected.into_iter().map(|position| slots[position as usize]).collect();
                atree.matches(&event, &mut scratch, &mut found);
                prop_assert_eq!(found, expected, "{} with {:?}", json, options);
            }
        }
        prop_assert_eq!(atree.validate(), Ok(()));
        prop_assert_eq!(atree.len(), model.len());
    }
    for slot in model.keys() {
        prop_assert!(atree.remove(*slot));
        prop_assert_eq!(atree.validate(), Ok(()));
    }
    prop_assert_eq!(atree.stats().nodes, 0);
    Ok(())
}

proptest! {
    #[test]
    fn equals_scan(changes in changes(common::expression().boxed(), common::event())) {
        for (options, missing) in all_options().flat_map(|options| MODES.map(|missing| (options, missing))) {
            compare(&changes, options, missing)?;
        }
    }

    #[test]
    fn equals_scan_where_much_is_shared(changes in changes(crowded().boxed(), crowded_event())) {
        for (options, missing) in all_options().flat_map(|options| MODES.map(|missing| (options, missing))) {
            compare(&changes, options, missing)?;
        }
    }

    #[test]
    fn compiled_equals_scan(
        expressions in vec(prop_oneof![common::expression(), crowded()], 0..40),
        events in vec(prop_oneof![common::event(), crowded_event()], 1..5),
    ) {
        for missing in MODES {
            let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
            let scan = Scan::new(&expressions, &attributes, missing);
            let atree = ATree::compile(&expressions, &attributes, missing, ATreeOptions::default());
            prop_assert_eq!(atree.validate(), Ok(()));
            prop_assert_eq!(atree.name(), "atree");
            let mut scratch = Scratch::default();
            for json in &events {
                let event = decode(json, &attributes);
                let (mut expected, mut found) = (vec![7], vec![7]);
                scan.matches(&event, &mut scratch, &mut expected);
                atree.matches(&event, &mut scratch, &mut found);
                prop_assert_eq!(&found, &expected);
            }
        }
    }
}

/// More sharing gives fewer edges and the same matches.
#[test]
fn optimisations_save_edges() {
    let attributes = Attributes::default();
    let texts: Vec<String> = (2..12)
        .rev()
        .chain(12..24)
        .map(|count| (0..count).map(|i| format!("p{i} = {}", i % 3)).collect::<Vec<_>>().join(" and "))
        .collect();
    let expressions: Vec<_> = texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect();
    let edges = |reorganise, self_adjust| {
        let options = ATreeOptions { reorganise, self_adjust, ..ATreeOptions::default() };
        ATree::compile(&expressions, &attributes, Missing::Unknown, options).stats().edges
    };
    let (plain, both) = (edges(false, false), edges(true, true));
    let (reorganised, adjusted) = (edges(true, false), edges(false, true));
    assert!(both < reorganised && reorganised < plain, "{both} {reorganised} {plain}");
    assert!(both < adjusted && adjusted < plain, "{both} {adjusted} {plain}");
}
