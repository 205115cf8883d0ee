//! Patterns: every matcher finds what a scan finds, in work that does not depend on their number.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::Attributes;
use tamis::expression::{Operand, Operator, Predicate};
use tamis::matcher::{Compiled, Counters, Evaluation, Matcher, Scan, Scratch, Slot};
use tamis::{Event, Expression, Limits, Missing, parse};
use tamis_papers::{ATree, ATreeOptions, Cnf, Dewey, Interval, IntervalOptions, KIndex, KIndexOptions};

fn mentioned(expressions: &[Expression]) -> Attributes {
    let attributes = Attributes::default();
    for predicate in expressions.iter().flat_map(Expression::predicates) {
        attributes.intern(predicate.attribute());
    }
    attributes
}

fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).unwrap();
    event
}

fn matches(matcher: &dyn Matcher, event: &Event, scratch: &mut Scratch) -> Vec<Slot> {
    let mut found = Vec::new();
    matcher.matches(event, scratch, &mut found);
    found
}

/// Short texts of few characters, which overlap, and texts of any characters.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let few = vec(select(vec!["a", "b", "ab", "%", "_", "\\", "ü", "\u{1f980}"]), 0..longest);
    let any = vec(any::<char>(), 0..longest.min(4)).prop_map(String::from_iter);
    prop_oneof![8 => few.prop_map(|parts| parts.concat()), 1 => any]
}

/// A text whose last backslash has something to escape.
fn like() -> impl Strategy<Value = String> {
    text(6).prop_map(|text| match text.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 {
        0 => text,
        _ => text + "%",
    })
}

fn regex() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => select(vec!["a", "b", "ab", "ü", "%", "^", "$", ".", ".*", "[ab]", "a*", "(?:ab)+", r"\b", r"\w", r"\\"])
            .prop_map(str::to_owned),
        1 => (text(3), text(3)).prop_map(|(a, b)| format!("({}|{})", plain(&a), plain(&b))),
        1 => text(3).prop_map(|text| format!("(?i:{})", plain(&text))),
    ];
    vec(part, 0..5).prop_map(|parts| parts.concat())
}

/// A regular expression that is found where the text is.
fn plain(text: &str) -> String {
    text.chars().map(|character| format!("\\x{{{:x}}}", u32::from(character))).collect()
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let operation = prop_oneof![
        (
            select(vec![Operator::StartsWith, Operator::EndsWith, Operator::Contains, Operator::Equal]),
            text(5)
        ),
        like().prop_map(|pattern| (Operator::Like, pattern)),
        regex().prop_map(|pattern| (Operator::Matches, pattern)),
    ];
    (select(vec!["s", "t"]), operation, any::<bool>()).prop_map(|(attribute, (operator, text), negated)| {
        let operand = Operand::One(text.as_str().into());
        Predicate::new(attribute, operator, negated, operand, &[], &Limits::default()).unwrap()
    })
}

fn expression() -> impl Strategy<Value = Expression> {
    predicate().prop_map(Expression::from).prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|child| Expression::negate(&child)),
            3 => vec(inner.clone(), 1..4).prop_map(|children| Expression::all(&children)),
            3 => vec(inner, 1..4).prop_map(|children| Expression::any(&children)),
        ]
    })
}

fn event() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        8 => text(12).prop_map(serde_json::Value::from),
        1 => Just(serde_json::json!(1)),
        1 => Just(serde_json::Value::Null),
    ];
    let value = prop_oneof![3 => scalar.clone(), 1 => vec(scalar, 0..4).prop_map(serde_json::Value::from)];
    vec(prop::option::weighted(0.9, value), 2).prop_map(|values| {
        let fields = ["s", "t"].into_iter().zip(values);
        let fields = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        serde_json::Value::Object(fields.collect()).to_string()
    })
}

/// Cases are small: where others run ten thousand, as in `make fuzz`, a hundred thousand are run.
fn cases() -> u32 {
    let cases = ProptestConfig::default().cases;
    if cases > 1000 { 10 * cases } else { cases }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn every_matcher_agrees_with_scan(
        expressions in vec(expression(), 1..12),
        sampled in vec(event(), 0..3),
        events in vec(event(), 1..5),
        unknown in any::<bool>(),
    ) {
        let missing = if unknown { Missing::Unknown } else { Missing::False };
        let attributes = mentioned(&expressions);
        let sample: Vec<Event> = sampled.iter().map(|json| decode(json, &attributes)).collect();
        let scan = Scan::new(&expressions, &attributes, missing);
        let compiled = Compiled::new(&expressions, &attributes, missing, &sample).unwrap();
        let atree = ATree::compile(&expressions, &attributes, missing, ATreeOptions::default());
        let options = KIndexOptions { normal_form: 200, ..KIndexOptions::default() };
        let kindex = KIndex::new(&expressions, &attributes, missing, options);
        let cnf = Cnf::new(&expressions, &attributes, missing, 200);
        let dewey = Dewey::new(&expressions, &attributes, missing);
        let interval = Interval::new(&expressions, &attributes, missing, IntervalOptions::default());
        let matchers: [&dyn Matcher; 6] = [&compiled, &atree, &kindex, &cnf, &dewey, &interval];
        let mut scratch = Scratch::default();
        let events: Vec<Event> = events.iter().map(|json| decode(json, &attributes)).collect();
        let answers: Vec<Vec<Slot>> = events.iter().map(|event| matches(&scan, event, &mut scratch)).collect();
        for (event, expected) in events.iter().zip(&answers) {
            for matcher in matchers {
                let found = matches(matcher, event, &mut scratch);
                prop_assert_eq!(&found, expected, "{} on {:?}", matcher.name(), event);
            }
        }
        scratch.set_evaluation(Evaluation::Blocks);
        let (mut found, mut ends) = (Vec::new(), Vec::new());
        compiled.matches_many(&events, &mut scratch, &mut found, &mut ends, &|| false);
        prop_assert_eq!(found, answers.concat());
    }
}

/// Compiles expressions; returns what an event matches and what that took, one by one and in a batch.
fn run(texts: &[String], json: &str) -> (Vec<Slot>, Counters) {
    let expressions: Vec<Expression> =
        texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect();
    let attributes = mentioned(&expressions);
    let compiled = Compiled::new(&expressions, &attributes, Missing::Unknown, &[]).unwrap();
    let event = decode(json, &attributes);
    let mut scratch = Scratch::default();
    let found = matches(&compiled, &event, &mut scratch);
    let counters = scratch.take_counters();
    scratch.set_evaluation(Evaluation::Blocks);
    let (mut together, mut ends) = (Vec::new(), Vec::new());
    compiled.matches_many(&[event], &mut scratch, &mut together, &mut ends, &|| false);
    assert_eq!(together, found);
    assert_eq!(scratch.take_counters(), counters);
    (found, counters)
}

#[test]
fn only_what_a_text_holds_is_looked_at() {
    let texts: Vec<String> = (0..1000)
        .map(|number| match number % 5 {
            0 => format!("t starts with 'p{number:04}'"),
            1 => format!("t ends with 's{number:04}'"),
            2 => format!("t contains 'c{number:04}'"),
            3 => format!("t like '%l{number:04}%x%'"),
            _ => format!("t matches 'r{number:04}[0-9]+x'"),
        })
        .collect();
    let event = r#"{"t": "p0005 c0012 l0018x l0023 r00241x r0029x s0031"}"#;
    let (found, counters) = run(&texts, event);
    assert_eq!(found, [5, 12, 18, 23, 24, 31]);
    // The `like`s and regular expressions whose literals are there, and no other: `r0029x` has the literal, but no digit.
    assert_eq!((counters.tried, counters.lists), (4, 6));
}

#[test]
fn candidates_of_residual_checks_are_tried_only_when_asked_for() {
    let texts: Vec<String> = (0..100)
        .map(|number| format!("k = {number} and t matches 'error [0-9]{{{}}}'", number % 5))
        .collect();
    let (found, counters) = run(&texts, r#"{"k": 3, "t": "error 1234"}"#);
    assert_eq!((found, counters.tried), (vec![3], 1));
    let (found, counters) = run(&texts, r#"{"k": 3, "t": "warning 1234"}"#);
    assert_eq!((found, counters.tried), (vec![], 0));
}

#[test]
fn patterns_that_literals_decide_are_never_tried() {
    let texts = ["t matches 'error|warning'", "t matches '^error'", "t matches 'x$'", "not t matches 'y'"];
    let texts = texts.map(str::to_owned);
    let (found, counters) = run(&texts, r#"{"t": "error: x"}"#);
    assert_eq!((found, counters.tried), (vec![0, 1, 2, 3], 0));
}

#[test]
fn overlapping_patterns_are_found_in_a_long_text() {
    let texts: Vec<String> =
        (1..=2000).map(|length| format!("t contains '{}'", "a".repeat(length))).collect();
    let text = "a".repeat(1500) + "b" + &"a".repeat(1 << 20);
    let (found, counters) = run(&texts, &format!("{{\"t\": \"{text}\"}}"));
    assert_eq!(found.len(), 2000);
    assert_eq!((counters.lists, counters.tried), (2000, 0));
    let (found, _) = run(&texts, &format!("{{\"t\": \"{}\"}}", "ab".repeat(1 << 19)));
    assert_eq!(found, [0]);
}

#[test]
fn values_of_a_list_are_searched_each_by_itself() {
    let texts =
        ["t like 'a%b'", "t matches 'c.*d'", "t contains 'bc'", "not t like '%a%b%'"].map(str::to_owned);
    // No value begins with a and ends in b, and none has c before d.
    let (found, _) = run(&texts, r#"{"t": ["a", "b", "d c", 7, "c"]}"#);
    assert_eq!(found, [3]);
    let (found, _) = run(&texts, r#"{"t": ["d c", "c d", "a", "ab"]}"#);
    assert_eq!(found, [0, 1]);
}
