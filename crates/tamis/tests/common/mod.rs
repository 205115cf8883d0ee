//! Random expressions and events over few attributes and values, so that they meet.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::{Expression, Limits, Operand, Operator, Predicate, Value};

pub const ATTRIBUTES: [&str; 7] = ["a", "b", "c", "d", "u.v", "u.w", "not a \"plain\" name"];
const STRINGS: [&str; 10] = ["", "a", "ab", "abc", "b%_", "it's", "ü", "üb", "\\", "zz\n\u{1f980}"];
const PATTERNS: [&str; 8] = ["%", "a%", "%b", "%b%", "_", "a_c", "b\\%\\_", ""];
const REGEXES: [&str; 5] = ["^a", "b$", "^[ab]+$", "(?i)Ü", ""];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-1..4i64).prop_map(Value::Integer),
        2 => select(vec![0.5, 1.5, -0.25, 1e300, 9.1e18, 9.3e18, 2.5e-10])
            .prop_map(|number: f64| Value::number(number).unwrap()),
        1 => select(vec![i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1]).prop_map(Value::Integer),
    ]
}

fn string() -> impl Strategy<Value = Value> {
    select(&STRINGS).prop_map(Value::from)
}

pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![7 => number(), 1 => any::<bool>().prop_map(Value::Boolean), 4 => string()]
}

fn weights(count: usize, weighted: bool) -> impl Strategy<Value = Vec<f64>> {
    let count = if weighted { count } else { 0 };
    vec(select(vec![0.0, 0.5, 1.0, 2.0, 1e20]), count)
}

/// An operator with an operand that suits it, so that no case is thrown away.
fn operation() -> impl Strategy<Value = (Operator, Operand)> {
    let orderings = vec![Operator::Less, Operator::AtMost, Operator::Greater, Operator::AtLeast];
    let parts = vec![Operator::StartsWith, Operator::EndsWith, Operator::Contains];
    prop_oneof![
        2 => value().prop_map(|value| (Operator::Equal, Operand::One(value))),
        3 => (prop_oneof![number(), string()], select(orderings))
            .prop_map(|(value, operator)| (operator, Operand::One(value))),
        3 => vec(value(), 0..5).prop_map(|mut values| {
            // A value that stands twice could be given two weights.
            values.sort();
            values.dedup();
            (Operator::In, Operand::Set(values))
        }),
        1 => (number(), number()).prop_map(|(low, high)| (Operator::Between, Operand::Range(low, high))),
        1 => (string(), string()).prop_map(|(low, high)| (Operator::Between, Operand::Range(low, high))),
        1 => select(&PATTERNS).prop_map(|text| (Operator::Like, Operand::One(text.into()))),
        1 => select(&REGEXES).prop_map(|text| (Operator::Matches, Operand::One(text.into()))),
        2 => (string(), select(parts)).prop_map(|(text, operator)| (operator, Operand::One(text))),
        1 => select(vec![Operator::Exists, Operator::IsNull])
            .prop_map(|operator| (operator, Operand::Nothing)),
    ]
}

pub fn predicate() -> impl Strategy<Value = Predicate> {
    (select(&ATTRIBUTES), operation(), any::<bool>(), prop::bool::weighted(0.2)).prop_flat_map(
        |(attribute, (operator, operand), negated, weighted)| {
            let negated = negated && operator.spelling(true) != operator.spelling(false);
            let count = match &operand {
                Operand::Nothing => 0,
                Operand::One(_) | Operand::Range(..) => 1,
                Operand::Set(values) => values.len(),
            };
            weights(count, weighted && !negated).prop_map(move |weights| {
                Predicate::new(attribute, operator, negated, operand.clone(), &weights, &Limits::default())
                    .unwrap()
            })
        },
    )
}

pub fn expression() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        12 => predicate().prop_map(Expression::from),
        1 => any::<bool>().prop_map(Expression::constant),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            2 => inner.clone().prop_map(|operand| Expression::negate(&operand)),
            4 => vec(inner.clone(), 1..5).prop_map(|operands| Expression::all(&operands)),
            4 => vec(inner.clone(), 1..5).prop_map(|operands| Expression::any(&operands)),
            1 => (inner.clone(), inner.clone()).prop_map(|(left, right)| Expression::xor(&left, &right)),
            1 => (inner.clone(), inner).prop_map(|(left, right)| Expression::xnor(&left, &right)),
        ]
    })
}

fn json_value() -> impl Strategy<Value = serde_json::Value> {
    let scalar = value().prop_map(|value| match value {
        Value::Boolean(value) => serde_json::json!(value),
        Value::Integer(value) => serde_json::json!(value),
        Value::Float(value) => serde_json::json!(value.get()),
        Value::String(text) => serde_json::json!(&*text),
    });
    let scalar = scalar.boxed();
    prop_oneof![
        6 => scalar.clone(),
        1 => Just(serde_json::Value::Null),
        3 => vec(prop_oneof![8 => scalar, 1 => Just(serde_json::Value::Null)], 0..4).prop_map(serde_json::Value::from),
    ]
}

/// An event as JSON: some of the attributes, `u.v` and `u.w` sometimes nested in `u`.
pub fn event() -> impl Strategy<Value = String> {
    let fields = vec(prop::option::weighted(0.7, json_value()), ATTRIBUTES.len());
    (fields, any::<bool>()).prop_map(|(fields, nested)| {
        let mut object = serde_json::Map::new();
        for (name, value) in ATTRIBUTES.iter().zip(fields) {
            let Some(value) = value else { continue };
            match name.split_once('.') {
                Some((outer, inner)) if nested => {
                    let outer = object.entry(outer).or_insert_with(|| serde_json::json!({}));
                    outer.as_object_mut().unwrap().insert(inner.to_owned(), value);
                }
                _ => {
                    object.insert((*name).to_owned(), value);
                }
            }
        }
        serde_json::Value::Object(object).to_string()
    })
}
