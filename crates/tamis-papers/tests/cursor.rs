//! A cursor of the K-index finds what `scan` finds, from any slot on.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::Attributes;
use tamis::matcher::extend::Cursor;
use tamis::matcher::{Matcher, Scan, Scratch, Slot};
use tamis::value::TimeZone;
use tamis::{Event, Expression, Limits, Missing, parse};
use tamis_papers::{KIndex, KIndexOptions};

/// Conjunctions of few predicates, so that many hold, of several sizes. Without a positive predicate the size is 0
/// or that of its guards.
fn conjunction() -> impl Strategy<Value = String> {
    let predicate = select(vec![
        "a = 1",
        "a in (1, 2)",
        "a in (2, 3)",
        "b = 1",
        "b != 2",
        "b not in (3, 4)",
        "c",
        "not c",
        "missing(d)",
        "d is null",
    ]);
    vec(predicate, 1..6).prop_map(|predicates| predicates.join(" and "))
}

/// Up to four conjunctions, often of equal size; rarely always true, or never; or too large to be split.
fn expression() -> impl Strategy<Value = Expression> {
    let text = prop_oneof![
        20 => vec(conjunction(), 1..5).prop_map(|all| all.join(" or ")),
        1 => select(vec!["true", "false", "a = 1 and not a = 1"]).prop_map(str::to_owned),
        1 => vec(conjunction(), 5..8).prop_map(|all| format!("({})", all.join(") xor ("))),
    ];
    text.prop_map(|text| parse(&text, &Limits::default()).unwrap())
}

fn event() -> impl Strategy<Value = String> {
    let value = select(vec!["1", "2", "3", "true", "null", "[]", "[1, 2]", "[true, 3]"]);
    vec(prop::option::weighted(0.8, value), 4).prop_map(|values| {
        let named = ["a", "b", "c", "d"].iter().zip(values);
        let fields: Vec<_> =
            named.filter_map(|(name, value)| Some(format!("\"{name}\": {}", value?))).collect();
        format!("{{{}}}", fields.join(", "))
    })
}

/// How much more is asked for than before: the same again, the next slot, one further on, or one far behind.
fn steps() -> impl Strategy<Value = Vec<Slot>> {
    vec(prop_oneof![2 => Just(0), 4 => Just(1), 4 => 2..9u32, 1 => 9..120u32], 1..60)
}

proptest! {
    #[test]
    fn equals_scan_from_any_slot_on(
        expressions in vec(expression(), 0..200),
        events in vec(event(), 1..4),
        steps in vec(steps(), 1..4),
        skipping in any::<bool>(),
    ) {
        for (missing, share) in [
            (Missing::Unknown, false), (Missing::False, false), (Missing::Unknown, true), (Missing::False, true),
        ] {
            let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
            let scan = Scan::new(&expressions, &attributes, missing);
            let index = KIndex::new(&expressions, &attributes, missing, KIndexOptions { share, normal_form: 100 });
            let mut scratch = Scratch::default();
            scratch.set_skipping(skipping);
            for json in &events {
                let mut event = Event::default();
                event.decode_json(json.as_bytes(), &attributes, &Limits::default()).unwrap();
                let mut expected = Vec::new();
                scan.matches(&event, &mut scratch, &mut expected);
                for steps in &steps {
                    let mut cursor = index.cursor(&event, &mut scratch);
                    let mut least = 0;
                    for step in steps {
                        let next = expected.iter().copied().find(|&slot| slot >= least);
                        prop_assert_eq!(cursor.next(least), next, "from {} on {}", least, json);
                        least += step;
                    }
                }
                // One after the other, to the end.
                let mut cursor = index.cursor(&event, &mut scratch);
                let mut found: Vec<Slot> = Vec::new();
                while let Some(slot) = cursor.next(found.last().map_or(0, |last| last + 1)) {
                    found.push(slot);
                }
                prop_assert_eq!(&found, &expected, "on {}", json);
            }
        }
    }
}
