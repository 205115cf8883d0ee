//! For any text, parsing returns, and accepted expressions survive printing, JSON and normalising.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tamis::expression::{from_json, normalise, to_json};
use tamis::{Expression, Limits, parse};

fn check(expression: &Expression, limits: &Limits) {
    assert_eq!(&parse(&expression.to_string(), limits).unwrap(), expression);
    assert_eq!(&from_json(&to_json(expression), limits).unwrap(), expression);
    assert!(normalise(expression).nodes().len() <= 6 * expression.nodes().len());
}

fuzz_target!(|text: &str| {
    let limits = Limits::default();
    if let Ok(expression) = parse(text, &limits) {
        check(&expression, &limits);
    }
    if let Ok(expression) = from_json(text, &limits) {
        check(&expression, &limits);
    }
});
