//! Random expressions and events over few attributes and values, so that they meet.
#![allow(dead_code, reason = "each test uses some of it")]

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::{Attributes, Presence};
use tamis::expression::{Operand, Operator, Predicate, TruthTest};
use tamis::value::{ConstantType, Value, ValueRef};
use tamis::{Event, Expression, Limits};

pub const ATTRIBUTES: [&str; 7] = ["a", "b", "c", "d", "u.v", "u.w", "not a \"plain\" name"];
const STRINGS: [&str; 10] = ["", "a", "ab", "abc", "b%_", "it's", "ü", "üb", "\\", "zz\n\u{1f980}"];
const PATTERNS: [&str; 8] = ["%", "a%", "%b", "%b%", "_", "a_c", "b\\%\\_", ""];
/// Typed constants that are near each other, and ordered among those of their kind.
const TIMES: [(&str, &str); 9] = [
    ("timestamp", "2026-01-02T00:00Z"),
    ("timestamp", "2026-01-02T00:00:00.000000001Z"),
    ("timestamp", "2026-01-02 00:00"),
    ("timestamp", "2026-01-02 05:00"),
    ("timestamp", "0001-01-01T00:00Z"),
    ("timestamp", "9999-12-31T23:59:59.999999999Z"),
    ("date", "2026-01-02"),
    ("date", "2024-02-29"),
    ("date", "9999-12-31"),
];
const SPANS: [(&str, &str); 4] =
    [("interval", "7 day"), ("interval", "-1 second"), ("interval", "1 nanosecond"), ("interval", "0 day")];
const ADDRESSES: [(&str, &str); 5] =
    [("ip", "10.0.0.1"), ("ip", "10.255.255.255"), ("ip", "11.0.0.0"), ("ip", "::1"), ("ip", "2001:db8::")];
const VERSIONS: [(&str, &str); 5] = [
    ("version", "2.9.0"),
    ("version", "2.10.0"),
    ("version", "2.10.0-rc.1"),
    ("version", "v2"),
    ("version", "0-0"),
];
const NETWORKS: [(&str, &str); 4] =
    [("cidr", "10.0.0.0/8"), ("cidr", "10.0.0.0/30"), ("cidr", "::/64"), ("cidr", "10.0.0.1/32")];
const DECIMALS: [&str; 6] = [
    "0.10000000000000000001",
    "18446744073709551615",
    "-1e-400",
    "1.00000000000000000001e300",
    "1.00000000000000000001",
    "0.1",
];

const REGEXES: [&str; 5] = ["^a", "b$", "^[ab]+$", "(?i)Ü", ""];

fn number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-1..4i64).prop_map(Value::Integer),
        2 => select(vec![0.5, 1.5, -0.25, 1e300, 9.1e18, 9.3e18, 2.5e-10])
            .prop_map(|number: f64| Value::number(number).unwrap()),
        1 => select(vec![i64::MIN, i64::MAX, 1 << 53, (1 << 53) + 1]).prop_map(Value::Integer),
        1 => select(&DECIMALS).prop_map(|text| tamis::value::read_number(text).unwrap().to_value()),
    ]
}

fn constant((keyword, text): (&str, &str)) -> Value {
    ConstantType::from_keyword(keyword).unwrap().read(text).unwrap()
}

/// Two values of one type that JSON does not know.
fn typed_pair() -> impl Strategy<Value = (Value, Value)> {
    fn pair(constants: &'static [(&'static str, &'static str)]) -> impl Strategy<Value = (Value, Value)> {
        (select(constants), select(constants)).prop_map(|(low, high)| (constant(low), constant(high)))
    }
    prop_oneof![2 => pair(&TIMES), 1 => pair(&SPANS), 1 => pair(&ADDRESSES), 1 => pair(&VERSIONS)]
}

fn typed() -> impl Strategy<Value = Value> {
    typed_pair().prop_map(|(value, _)| value)
}

fn string() -> impl Strategy<Value = Value> {
    select(&STRINGS).prop_map(Value::from)
}

fn plain_value() -> impl Strategy<Value = Value> {
    prop_oneof![7 => number(), 1 => any::<bool>().prop_map(Value::Boolean), 4 => string()]
}

pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![3 => plain_value(), 1 => typed()]
}

fn member() -> impl Strategy<Value = Value> {
    prop_oneof![8 => value(), 1 => select(&NETWORKS).prop_map(constant)]
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
        3 => (prop_oneof![number(), string(), typed()], select(orderings))
            .prop_map(|(value, operator)| (operator, Operand::One(value))),
        3 => vec(member(), 0..5).prop_map(|mut values| {
            // A value that stands twice could be given two weights.
            values.sort();
            values.dedup();
            (Operator::In, Operand::Set(values))
        }),
        1 => (number(), number()).prop_map(|(low, high)| (Operator::Between, Operand::Range(low, high))),
        1 => typed_pair().prop_map(|(low, high)| (Operator::Between, Operand::Range(low, high))),
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
            2 => inner.clone().prop_map(|child| Expression::negate(&child)),
            4 => vec(inner.clone(), 1..5).prop_map(|children| Expression::all(&children)),
            4 => vec(inner.clone(), 1..5).prop_map(|children| Expression::any(&children)),
            1 => (inner.clone(), inner.clone()).prop_map(|(left, right)| Expression::xor(&left, &right)),
            1 => (inner.clone(), inner.clone()).prop_map(|(left, right)| Expression::xnor(&left, &right)),
            1 => (inner, select(&TruthTest::ALL)).prop_map(|(child, (test, _))| {
                Expression::is(&child, test).unwrap()
            }),
        ]
    })
}

/// The JSON of a value; that of a type which JSON does not know is marked, for [`decode`] to find.
fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => serde_json::json!(&**text).to_string(),
        other => match other.as_ref().as_typed_constant() {
            Some(_) => serde_json::json!(format!("{MARK}{other}")).to_string(),
            None => other.to_string(),
        },
    }
}

/// Before the constant of a value that JSON does not know.
const MARK: char = '\u{1}';

fn json_value(scalar: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = String> {
    let scalar = scalar.prop_map(|value| json_text(&value)).boxed();
    let null = || Just("null".to_owned());
    prop_oneof![
        6 => scalar.clone(),
        1 => null(),
        3 => vec(prop_oneof![8 => scalar, 1 => null()], 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
    ]
}

/// An event as JSON: some of the attributes, `u.v` and `u.w` sometimes nested in `u`.
pub fn event() -> impl Strategy<Value = String> {
    event_of(plain_value())
}

/// An event with values of all types, to be read by [`decode`].
pub fn typed_event() -> impl Strategy<Value = String> {
    event_of(value())
}

fn event_of(value: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = String> {
    let fields = vec(prop::option::weighted(0.7, json_value(value)), ATTRIBUTES.len());
    (fields, any::<bool>()).prop_map(|(fields, nested)| {
        let (mut members, mut inside) = (Vec::new(), Vec::new());
        for (name, value) in ATTRIBUTES.iter().zip(fields) {
            let Some(value) = value else { continue };
            match name.split_once('.') {
                Some((_, inner)) if nested => inside.push(format!("{}: {value}", serde_json::json!(inner))),
                _ => members.push(format!("{}: {value}", serde_json::json!(name))),
            }
        }
        if !inside.is_empty() {
            members.push(format!("\"u\": {{{}}}", inside.join(", ")));
        }
        format!("{{{}}}", members.join(", "))
    })
}

/// Reads an event, with the values that are marked.
pub fn decode(json: &str, attributes: &Attributes) -> Event {
    let limits = Limits::default();
    let (mut read, mut event) = (Event::default(), Event::default());
    read.decode_json(json.as_bytes(), attributes, &limits).unwrap();
    for (attribute, presence) in read.iter() {
        // Terms are computed again, from the values that were marked.
        if attributes.name(attribute).is_some_and(|name| name.starts_with('\u{1}')) {
            continue;
        }
        event.begin(attribute);
        match presence {
            Presence::Missing => {}
            Presence::Null => event.null(),
            Presence::Values(values) => {
                for value in values {
                    let marked = match value {
                        ValueRef::String(text) => text.strip_prefix(MARK),
                        _ => None,
                    };
                    let Some(text) = marked else {
                        event.push(value, &limits).unwrap();
                        continue;
                    };
                    let expression = tamis::parse(&format!("x = {text}"), &limits).unwrap();
                    let predicate = expression.predicates().next().unwrap().clone();
                    let tamis::expression::Test::Equal(value) = predicate.test() else { panic!("{text}") };
                    let zone = attributes.time_zone();
                    let value = match value {
                        Value::Local(local) => Value::Timestamp(zone.moment(*local)),
                        other => other.clone(),
                    };
                    event.push(value.as_ref(), &limits).unwrap();
                }
            }
        }
    }
    event.finish(attributes).unwrap();
    event
}
