//! `dewey` and `interval` equal `scan`, with and without common subexpressions evaluated once.

#[path = "../../tamis/tests/common/mod.rs"]
mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::Attributes;
use tamis::matcher::{Matcher, Scan, Scratch};
use tamis::value::TimeZone;
use tamis::{Event, Expression, Limits, Missing, parse};
use tamis_papers::{Dewey, Interval, IntervalOptions};

/// Expressions over few conjunctions, so that they have many parts in common.
fn crowded() -> impl Strategy<Value = Expression> {
    let leaf =
        select(vec!["a", "b", "c = 1 and a", "c = 2 and d", "not a", "d in (1, 2)", "missing(d)", "true"])
            .prop_map(|text| parse(text, &Limits::default()).unwrap());
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            4 => vec(inner.clone(), 2..5).prop_map(|children| Expression::all(&children)),
            4 => vec(inner.clone(), 2..5).prop_map(|children| Expression::any(&children)),
            1 => inner.clone().prop_map(|child| Expression::negate(&child)),
            1 => (inner.clone(), inner).prop_map(|(left, right)| Expression::xor(&left, &right)),
        ]
    })
}

fn crowded_event() -> impl Strategy<Value = String> {
    let value = select(vec!["true", "false", "1", "2", "null", "[]", "[true, 1]", "[1, 2]"]);
    vec(prop::option::weighted(0.8, value), 4).prop_map(|values| {
        let named = ["a", "b", "c", "d"].iter().zip(values);
        let fields: Vec<_> =
            named.filter_map(|(name, value)| Some(format!("\"{name}\": {}", value?))).collect();
        format!("{{{}}}", fields.join(", "))
    })
}

fn compare(expressions: &[Expression], events: &[String]) -> Result<(), TestCaseError> {
    for missing in [Missing::Unknown, Missing::False] {
        let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
        let scan = Scan::new(expressions, &attributes, missing);
        let dewey = Dewey::new(expressions, &attributes, missing);
        let [alone, once] = [false, true].map(|common_subexpressions| {
            Interval::new(expressions, &attributes, missing, IntervalOptions { common_subexpressions })
        });
        // Use one scratch for all, to notice state that one match leaves for the next.
        let mut scratch = Scratch::default();
        for json in events {
            let mut event = Event::default();
            event.decode_json(json.as_bytes(), &attributes, &Limits::default()).unwrap();
            let mut expected = vec![7];
            scan.matches(&event, &mut scratch, &mut expected);
            let matchers: [&dyn Matcher; 3] = [&dewey, &alone, &once];
            for matcher in matchers {
                scratch.take_counters();
                let mut found = vec![7];
                matcher.matches(&event, &mut scratch, &mut found);
                prop_assert_eq!(&found, &expected, "{} on {}", matcher.name(), json);
                let counters = scratch.take_counters();
                if matcher.name() == "interval" {
                    prop_assert!(counters.probes <= 2 * counters.leaves, "{:?}", counters);
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn equal_scan(expressions in vec(common::expression(), 0..20), events in vec(common::event(), 1..5)) {
        compare(&expressions, &events)?;
    }

    #[test]
    fn equal_scan_where_much_is_shared(expressions in vec(crowded(), 0..30), events in vec(crowded_event(), 1..5)) {
        compare(&expressions, &events)?;
    }
}
