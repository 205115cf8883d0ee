//! What `check` finds, and that it is never wrong about what holds for all events.

#[path = "../../tamis/tests/common/mod.rs"]
mod common;

use std::sync::atomic::AtomicBool;

use common::decode;
use proptest::collection::vec;
use proptest::prelude::*;
use tamis::index::MatchScratch;
use tamis::{Event, Expression, Id, Index, Limits, Missing, parse};
use tamis_lint::{Finding, FindingKind, LintOptions, Sample, check};

fn index<'a>(expressions: impl IntoIterator<Item = &'a Expression>, missing: Missing) -> Index {
    let index = Index::new(missing, Limits::default());
    for (id, expression) in (0..).zip(expressions) {
        index.add(Id::Integer(id), expression.clone(), None).unwrap();
    }
    index
}

fn lint(index: &Index, sample: &Sample, options: &LintOptions) -> Vec<Finding> {
    check(&index.snapshot(), index.missing(), sample, options, &AtomicBool::new(false)).unwrap()
}

fn texts(texts: &[&str]) -> Vec<Expression> {
    texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect()
}

fn sample(index: &Index, events: &[&str]) -> Sample {
    let (mut sample, snapshot) = (Sample::default(), index.snapshot());
    let mut event = Event::default();
    for json in events {
        event.decode_json(json.as_bytes(), snapshot.attributes(), index.limits()).unwrap();
        sample.see(&event);
        sample.see_json(json.as_bytes(), index.limits());
    }
    sample
}

/// What is found about some expressions: kinds, the numbers of the expressions, and where.
fn found(expressions: &[&str], events: &[&str]) -> Vec<(&'static str, Vec<i64>, String)> {
    let index = index(&texts(expressions), Missing::Unknown);
    let sample = sample(&index, events);
    let numbers = |finding: &Finding| {
        let ids = finding.subscriptions.iter().map(|id| match id {
            Id::Integer(number) => *number,
            Id::String(_) => panic!("no number"),
        });
        ids.collect()
    };
    let findings = lint(&index, &sample, &LintOptions::default());
    findings.iter().map(|finding| (finding.kind.name(), numbers(finding), finding.message.clone())).collect()
}

fn kinds(expressions: &[&str], events: &[&str]) -> Vec<(&'static str, Vec<i64>)> {
    found(expressions, events).into_iter().map(|(kind, numbers, _)| (kind, numbers)).collect()
}

#[test]
fn types_inside_of_lists_are_compared_with_what_elements_have() {
    let event = r#"{"items": [{"price": "9", "at": "2026-01-02", "n": 1, "sub": [{"sku": 7}]}, {"n": true}],
                    "tags": ["a", "b"], "none": [{"x": null}]}"#;
    for (expression, wrong) in [
        ("any(items, price > 5)", Some("`items.price` is compared with a number, but is a string")),
        ("any(items, price = '9' and n = 1)", None),
        ("all(items, n = true)", None),
        (
            "none(items, n contains 'x')",
            Some("`items.n` is compared with a string, but is a boolean or a number"),
        ),
        ("any(items, at > timestamp '2026-01-01 00:00:00Z')", None),
        ("any(items, n > timestamp '2026-01-01 00:00:00Z')", Some("`items.n` is compared with a time")),
        ("any(items, n in (cidr '10.0.0.0/8'))", Some("`items.n` is compared with an address")),
        (
            "any(items, any(sub, sku = 'a'))",
            Some("`items.sub.sku` is compared with a string, but is a number"),
        ),
        ("any(tags, it = 3)", Some("`tags` is compared with a number, but is a string")),
        ("any(tags, it = 'a')", None),
        ("any(items, lower(price) = '9')", None),
        ("any(none, x = 1)", None),
    ] {
        let found = found(&[expression], &[event]);
        let types: Vec<&str> =
            found.iter().filter(|one| one.0 == "unseen-type").map(|one| one.2.as_str()).collect();
        match wrong {
            None => assert!(types.is_empty(), "{expression}: {types:?}"),
            Some(wrong) => {
                assert!(types.len() == 1 && types[0].starts_with(wrong), "{expression}: {found:?}")
            }
        }
    }
}

proptest! {
    // A case checks and matches many expressions.
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.div_ceil(4)))]

    #[test]
    fn what_is_said_of_expressions_holds_on_all_events(
        expressions in vec(common::expression(), 1..16),
        joined in vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..5), 0..8),
        events in vec(common::typed_event(), 8),
    ) {
        // Some expressions are made of others, so that they have to do with each other.
        let mut expressions = expressions;
        for (one, other, how) in joined {
            let (one, other) = (one.get(&expressions).clone(), other.get(&expressions).clone());
            expressions.push(match how {
                0 => Expression::all([&one, &other]),
                1 => Expression::any([&one, &other]),
                2 => Expression::all([&one, &Expression::negate(&other)]),
                3 => Expression::any([&one, &Expression::negate(&one)]),
                _ => Expression::negate(&Expression::negate(&one)),
            });
        }
        for missing in [Missing::Unknown, Missing::False] {
            let index = index(&expressions, missing);
            let findings = lint(&index, &Sample::default(), &LintOptions::default());
            let snapshot = index.snapshot();
            let mut scratch = MatchScratch::default();
            for json in events.iter().map(String::as_str).chain(["{}"]) {
                let event = decode(json, snapshot.attributes());
                let mut matched = Vec::new();
                snapshot.matches(&event, &mut scratch, |id| matched.push(id.to_id())).unwrap();
                for finding in &findings {
                    let held: Vec<bool> = finding.subscriptions.iter().map(|id| matched.contains(id)).collect();
                    let right = match finding.kind {
                        FindingKind::Never => held == [false],
                        FindingKind::Always => held == [true],
                        FindingKind::Equal => held.iter().all(|one| *one == held[0]),
                        FindingKind::Subsumed => !held[0] || held.iter().all(|one| *one),
                        FindingKind::Bound | FindingKind::QuotedName | FindingKind::EmptyRange => true,
                        _ => false,
                    };
                    let told: Vec<String> = finding.subscriptions.iter().map(|id| {
                        snapshot.get(id).unwrap().unwrap().expression.to_string()
                    }).collect();
                    prop_assert!(right, "{:?} {} on {json}: {held:?}: {told:#?}", finding.kind, finding.message);
                }
            }
        }
    }
}

#[test]
fn attributes_that_were_never_seen() {
    let events = [r#"{"country": "FR", "user": {"age": 3}, "items": [{"price": 3}], "gone": null}"#];
    let all = found(
        &[
            "Country = 'FR' and age > 3",
            "contry = 'FR' or gone = 1 or exists(user)",
            "any(items, price > 2 and sku = 'x') and items.price > 1",
            "lower(Country) = 'fr'",
        ],
        &events,
    );
    let expected = [
        ("unseen-attribute", vec![0, 3], "none of 1 events has `Country`; did you mean `country`?"),
        ("unseen-attribute", vec![0], "none of 1 events has `age`; did you mean `user.age`?"),
        ("unseen-attribute", vec![1], "none of 1 events has `contry`; did you mean `country`?"),
        ("unseen-attribute", vec![2], "none of 1 events has `items.sku`"),
    ];
    assert_eq!(all, expected.map(|(kind, ids, message)| (kind, ids, message.to_owned())));
    assert!(kinds(&["a = 1"], &[]).is_empty(), "without a sample, nothing is known");
}

#[test]
fn types_that_were_never_seen() {
    let events = [
        r#"{"n": 3, "s": "x", "d": "2026-01-02", "b": true, "m": [1, "x"], "v": "no version at all"}"#,
        r#"{"n": 4.5, "s": "y"}"#,
    ];
    for (text, message) in [
        ("n = '3'", "`n` is compared with a string, but is a number in all 2 events that have it"),
        (
            "s",
            "`s` is compared with `true` or `false`, but is a string in all 2 events that have it; a name alone asks whether it is true, and `||` is `or`: texts are joined with `concat`",
        ),
        ("n like '3%'", "`n` is compared with a string, but is a number in all 2 events that have it"),
        (
            "n > timestamp '2026-01-02'",
            "`n` is compared with a time, but is a number in all 2 events that have it",
        ),
        (
            "v > version '1'",
            "`v` is compared with a version, but is a string in all 1 events that have it, and none of its texts can be read as one",
        ),
        ("s in (1, 'x')", "`s` is compared with a number, but is a string in all 2 events that have it"),
        (
            "length(s) = '1'",
            "`length(s)` is compared with a string, but is a number in all 2 events that have it",
        ),
        ("lower(n) = 'x'", "`lower(n)` has no value in the sample: `n` is a number"),
        ("n < s", "`n` is a number and `s` is a string in the sample, which are never compared"),
    ] {
        let all = found(&[text], &events);
        assert_eq!(all, [("unseen-type", vec![0], message.to_owned())], "{text}");
    }
    let fine = [
        "n = 3",
        "d > timestamp '2026-01-01'",
        "b",
        "m = 'x' and m = 1",
        "s < d",
        "n is null",
        "not exists(s)",
    ];
    assert_eq!(kinds(&fine, &events), []);
}

#[test]
fn texts_that_look_like_something_else() {
    for text in [
        "a > '2026-01-02 05:00:00'",
        "a between '2026-01-02' and 'z'",
        "a < '1/2/2026'",
        "a >= '10'",
        "a >= '-1.5e3'",
        "a >= '2.10.0'",
        "lower(a) > '2026-01-02'",
    ] {
        assert_eq!(kinds(&[text], &[]), [("text-order", vec![0])], "{text}");
    }
    for text in [
        "a = '10.0.0.0/8'",
        "a in ('x', '2001:db8::/32')",
        "a not in ('10.0.0.0/8')",
        "any(hosts, ip = '10.0.0.0/8')",
    ] {
        assert_eq!(kinds(&[text], &[]), [("text-network", vec![0])], "{text}");
    }
    let fine = [
        "a in (cidr '10.0.0.0/8')",
        "a = '10.0.0.1'",
        "a = '1/8'",
        "a = '10.0.0.1/8'", // no network: bits behind the prefix
        "a starts with '10.0.0.0/8'",
        "a = '2026-01-02'",
        "a > 'x'",
        "a > date '2026-01-02'",
        "a < 'a.b.c'",
        "a > '1-2'",
        "a like '2026-%'",
    ];
    for text in fine {
        assert_eq!(kinds(&[text], &[]), [], "{text}");
    }
}

#[test]
fn texts_of_another_case() {
    for (text, message) in [
        ("lower(a) = 'ACME'", "`lower(a)` never equals 'ACME', which is not in lower case: write 'acme'"),
        ("lower(a) != 'Acme'", "`lower(a)` never equals 'Acme', which is not in lower case: write 'acme'"),
        ("upper(a) = 'acme'", "`upper(a)` never equals 'acme', which is not in upper case: write 'ACME'"),
        (
            "lower(a) in ('A', 'b', 'C', 3, 'D')",
            "`lower(a)` never equals 'A', which is not in lower case: write 'a', and so for 2 more values of the set",
        ),
        ("lower(a) like 'AC%'", "`lower(a)` is never like 'AC%', which is not in lower case: write 'ac%'"),
        ("lower(a) contains 'É'", "`lower(a)` never contains 'É', which is not in lower case: write 'é'"),
        (
            "lower(a) starts with 'A'",
            "`lower(a)` never starts with 'A', which is not in lower case: write 'a'",
        ),
        ("lower(a) ends with 'A'", "`lower(a)` never ends with 'A', which is not in lower case: write 'a'"),
        ("trim(upper(a)) = 'x'", "`trim(upper(a))` never equals 'x', which is not in upper case: write 'X'"),
        (
            "b = 1 or any(c, lower(it) = 'X')",
            "`lower(it)` never equals 'X', which is not in lower case: write 'x'",
        ),
    ] {
        assert_eq!(found(&[text], &[]), [("text-case", vec![0], message.to_owned())], "{text}");
    }
    let fine = [
        "lower(a) = 'acme'",
        "upper(a) = 'ACME'",
        "lower(a) in ('a', 3)",
        "lower(a) ilike 'ACME'",
        "a ilike 'ACME%'",
        "lower(a) > 'ACME'",
        "lower(a) matches '[A-Z]'",
        "upper(a) = 'ß1'",
        "length(lower(a)) = 3",
        "concat(lower(a), 'X') = 'aX'",
        "lower(a) = b",
        "a = 'ACME'",
    ];
    for text in fine {
        assert_eq!(kinds(&[text], &[]), [], "{text}");
    }
    let several = ["lower(a) = 'X'", "b and lower(a) = 'X'"];
    assert_eq!(kinds(&several, &[])[0], ("text-case", vec![0, 1]));
}

#[test]
fn names_that_contain_operators() {
    for text in ["\"a > 5\" = 1", "\"price * qty\" > 3", "\"a=1\" = 2", "\"x in y\"", "\"lower(a)\" = 'x'"] {
        assert_eq!(kinds(&[text], &[]), [("quoted-name", vec![0])], "{text}");
    }
    let fine = ["\"user-agent\" = 'x'", "\"a/b\" = 1", "\"shoe size\" = 3", "\"in\" = 1"];
    assert_eq!(kinds(&fine, &[]), []);
    assert_eq!(kinds(&["\"a > 5\" = 1"], &[r#"{"a > 5": 1}"#]), [], "an event has that name");
}

#[test]
fn never_always_equal_and_subsumed() {
    let all = kinds(
        &[
            "a = 1 and a != 1",
            "a is null or a is not null",
            "a = 1 and b > 5",
            "b > 5 and (a in (1))",
            "a in (1, 2) and b > 3",
            "a = 1^3 and b > 5",
            "b > 3 and a = 7",
            "b >= 5 and b between 2 and 9",
            "not (a != 1 or not b > 5) and b > 1",
        ],
        &[],
    );
    assert_eq!(
        all,
        [
            ("never", vec![0]),
            ("always", vec![1]),
            ("equal", vec![2, 3, 5]),
            ("equal", vec![2, 8]),
            ("subsumed", vec![2, 4]),
            ("subsumed", vec![8, 4]),
        ]
    );
}

#[test]
fn findings_say_where() {
    let index = index(&texts(&["é = 'é' and (b > '10' or c = 1)"]), Missing::Unknown);
    let sample = sample(&index, &[r#"{"é": "x", "b": "y"}"#]);
    let findings = lint(&index, &sample, &LintOptions::default());
    let places: Vec<_> = findings.iter().map(|found| (found.attribute.as_deref(), found.position)).collect();
    assert_eq!(places, [(Some("c"), Some(25)), (Some("b"), Some(13))]);
}

#[test]
fn work_is_bounded_and_says_so() {
    // Every rule asks about one attribute, so that all pairs could be related.
    let rules: Vec<Expression> =
        (0..400).flat_map(|number| texts(&[&format!("a > {number} and not b like '{number}_'")])).collect();
    let index = index(&rules, Missing::Unknown);
    let options = LintOptions { comparisons: 1_000, ..LintOptions::default() };
    let findings = lint(&index, &Sample::default(), &options);
    let bound = findings.iter().find(|finding| finding.kind == FindingKind::Bound).unwrap();
    assert!(bound.message.contains("1000 pairs"), "{}", bound.message);

    let options = LintOptions { findings: 3, ..LintOptions::default() };
    let unsatisfiable = vec![parse("a in ()", &Limits::default()).unwrap(); 10];
    let findings = lint(&self::index(&unsatisfiable, Missing::Unknown), &Sample::default(), &options);
    assert_eq!(findings.len(), 4);
    assert!(findings[3].message.contains("8 more findings than the 3"), "{}", findings[3].message);

    let clauses: Vec<String> = (0..40).map(|number| format!("(a{number} = 1 or b{number} = 1)")).collect();
    let large = texts(&[&clauses.join(" and ")]);
    let findings = lint(&self::index(&large, Missing::Unknown), &Sample::default(), &LintOptions::default());
    assert!(findings[0].message.contains("1 expressions are too large"), "{}", findings[0].message);

    let stop = AtomicBool::new(true);
    let stopped = check(&index.snapshot(), Missing::Unknown, &Sample::default(), &options, &stop);
    assert!(matches!(stopped, Err(tamis::Error::Cancelled)));
}

#[test]
fn a_text_among_times_is_found() {
    let events = [r#"{"placed": "2025-12-31T10:00:00Z"}"#, r#"{"placed": "2026-02-01"}"#];
    for text in ["placed > '1 January 2026'", "placed between 'Jan 1, 2026' and 'Mar 1, 2026'"] {
        assert_eq!(kinds(&[text], &events), [("text-order", vec![0])]);
    }
    // Ordinary texts may be ordered.
    assert_eq!(kinds(&["name > 'm'"], &[r#"{"name": "anna"}"#]), []);
}

#[test]
fn constants_without_a_value_are_found() {
    let events = [r#"{"placed": "2025-12-31T10:00:00Z"}"#];
    assert_eq!(kinds(&["placed > now() - 7"], &events), [("unseen-type", vec![0])]);
    assert_eq!(kinds(&["placed > now() - interval '7' day"], &events), []);
}
