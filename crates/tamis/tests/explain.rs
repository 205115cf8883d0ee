//! What explanations show of the elements of lists, and of validity.

use tamis::explain::{ElementCounts, ValidityEnd};
use tamis::index::{Subscription, Validity};
use tamis::value::Timestamp;
use tamis::{Event, Id, Index, Limits, Missing, Truth, parse};

/// The explanation of an expression on an event that keeps the elements of its lists.
fn explain(text: &str, json: &str) -> tamis::explain::Explanation {
    let index = Index::new(Missing::Unknown, Limits::default());
    let expression = parse(text, index.limits()).unwrap();
    index.add(Id::Integer(1), expression.clone(), None).unwrap();
    let mut event = Event::default();
    event.keep_elements();
    event.decode_json(json.as_bytes(), index.snapshot().attributes(), index.limits()).unwrap();
    index.explain(&expression, &event).unwrap()
}

/// The lines of an explanation.
fn lines(text: &str, json: &str) -> Vec<String> {
    explain(text, json).to_string().lines().map(str::to_owned).collect()
}

const CART: &str =
    r#"{"items": [{"price": 1, "colour": "red"}, {"price": 5, "colour": "red"}, {"price": 7}]}"#;

#[test]
fn the_elements_that_satisfy_any_are_shown() {
    assert_eq!(
        lines("any(items, price > 3 and colour = 'red')", CART),
        [
            "true     any(items, price > 3 and colour = 'red')    -- 1 of 3 elements satisfies it",
            "true       items[1]: and",
            "true         price > 3    -- price is 5",
            "true         colour = 'red'    -- colour is 'red'",
        ]
    );
    assert_eq!(
        lines("none(items, price > 3) or a", CART),
        [
            "unknown  or",
            "false      none(items, price > 3)    -- 2 of 3 elements satisfy it",
            "true         items[1]: price > 3    -- price is 5",
            "true         items[2]: price > 3    -- price is 7",
            "unknown    a = true    -- a is missing",
        ]
    );
}

#[test]
fn the_elements_that_fail_all_are_shown() {
    assert_eq!(
        lines("all(items, colour = 'red')", CART),
        [
            "false    all(items, colour = 'red')    -- 2 of 3 elements satisfy it",
            "unknown    items[2]: colour = 'red'    -- colour is missing",
        ]
    );
    assert_eq!(
        lines("not all(items, price > 1)", CART)[1..],
        [
            "false      all(items, price > 1)    -- 2 of 3 elements satisfy it",
            "false        items[0]: price > 1    -- price is 1",
        ]
    );
}

#[test]
fn if_no_element_decides_the_first_are_shown() {
    let numbers = r#"{"x": [1, 2, 3, 4, 5]}"#;
    let expected = [
        "false    any(x, it > 9)    -- 0 of 5 elements satisfy it, 3 shown",
        "false      x[0]: it > 9    -- it is 1",
        "false      x[1]: it > 9    -- it is 2",
        "false      x[2]: it > 9    -- it is 3",
    ];
    assert_eq!(lines("any(x, it > 9)", numbers), expected);
    assert_eq!(
        lines("all(x, it > 0)", numbers)[0],
        "true     all(x, it > 0)    -- 5 of 5 elements satisfy it, 3 shown"
    );
    assert_eq!(lines("any(x, it > 9)", r#"{"x": []}"#), ["false    any(x, it > 9)    -- the list is empty"]);
    assert_eq!(lines("any(x, it > 9)", "{}"), ["unknown  any(x, it > 9)    -- x is missing"]);
    assert_eq!(lines("any(x, it > 9)", r#"{"x": 12}"#)[1], "true       x[0]: it > 9    -- it is 12");
}

#[test]
fn lists_in_lists() {
    let orders =
        r#"{"orders": [{"items": [{"price": 1}]}, {"items": [{"price": 2}, {"price": 9}], "total": 11}]}"#;
    assert_eq!(
        lines("any(orders, total is unknown or any(items, price > 3))", orders),
        [
            "true     any(orders, total is unknown or any(items, price > 3))    -- 2 of 2 elements satisfy it",
            "true       orders[0]: or",
            "true         total is unknown    -- total is missing",
            "false        any(items, price > 3)    -- 0 of 1 element satisfies it",
            "false          items[0]: price > 3    -- price is 1",
            "true       orders[1]: or",
            "false        total is unknown    -- total is 11",
            "true         any(items, price > 3)    -- 1 of 2 elements satisfies it",
            "true           items[1]: price > 3    -- price is 9",
        ]
    );
    assert_eq!(
        lines("any(x, any(it, it = 2))", r#"{"x": [[1], [1, 2]]}"#)[1..],
        [
            "true       x[1]: any(it, it = 2)    -- 1 of 2 elements satisfies it",
            "true         it[1]: it = 2    -- it is 2",
        ]
    );
}

#[test]
fn explanations_of_many_lists_are_bounded() {
    let asked: Vec<String> = (0..100).map(|number| format!("any(x, it = {number} + 100)")).collect();
    let explanation = explain(&asked.join(" or "), r#"{"x": [1, 2, 3, 4]}"#);
    let steps = explanation.steps();
    let shown = steps.iter().filter(|step| step.element.is_some()).count();
    assert_eq!(shown, 100, "of all lists");
    let counts: Vec<ElementCounts> = steps.iter().filter_map(|step| step.elements).collect();
    assert_eq!(counts.len(), 34, "three of 33 lists and one of another");
    assert!(counts.iter().all(|counts| (counts.total, counts.satisfied, counts.decisive) == (4, 0, 4)));
    assert_eq!(counts.iter().map(|counts| counts.shown).sum::<usize>(), 100);
    let most = counts.iter().map(|counts| counts.shown).max();
    assert_eq!(most, Some(3));
}

#[test]
fn without_elements_an_explanation_is_shorter() {
    let index = Index::new(Missing::Unknown, Limits::default());
    let expression = parse("any(items, price > 3)", index.limits()).unwrap();
    index.add(Id::Integer(1), expression.clone(), None).unwrap();
    let mut event = Event::default();
    event.decode_json(CART.as_bytes(), index.snapshot().attributes(), index.limits()).unwrap();
    let explanation = index.explain(&expression, &event).unwrap();
    assert_eq!(explanation.to_string(), "true     any(items, price > 3)");
}

#[test]
fn a_subscription_outside_of_its_validity_is_inactive() {
    let index = Index::new(Missing::Unknown, Limits::default());
    let moment = |seconds| Timestamp::new(seconds, 0);
    let validity = Validity { from: moment(10), until: moment(20) };
    let expression = parse("a = 1", index.limits()).unwrap();
    let subscription = Subscription { validity, ..Subscription::new(Id::Integer(1), expression) };
    let mut event = Event::default();
    for (now, end) in [
        (9, Some(ValidityEnd::From(moment(10).unwrap()))),
        (10, None),
        (19, None),
        (20, Some(ValidityEnd::Until(moment(20).unwrap()))),
    ] {
        event.set_now(moment(now));
        index.add(Id::Integer(1), subscription.expression.clone(), None).unwrap();
        event.decode_json(br#"{"a": 1}"#, index.snapshot().attributes(), index.limits()).unwrap();
        let explained = index.explain_subscription(&subscription, &event).unwrap();
        assert_eq!(explained.inactive().map(|inactive| inactive.end), end);
        assert_eq!(explained.truth(), Truth::True);
        assert_eq!(explained.matched(), end.is_none());
        assert_eq!(explained.to_string().lines().count(), if end.is_none() { 1 } else { 2 });
    }
}

#[test]
fn terms_without_a_value_show_what_they_were_computed_from() {
    assert_eq!(
        lines("hour(at) >= 22", r#"{"at": "soon"}"#),
        ["unknown  hour(at) >= 22    -- hour(at) has no value, at is 'soon'"]
    );
    assert_eq!(
        lines("a + b > c", r#"{"a": 1}"#),
        ["unknown  a + b > c    -- a + b has no value, c is missing, a is 1, b is missing"]
    );
    assert_eq!(
        lines("hour(at) = 3", r#"{"at": "2026-01-01T03:00Z"}"#),
        ["true     hour(at) = 3    -- hour(at) is 3"]
    );
}
