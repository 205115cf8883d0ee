//! Terms through an index: computed, shared, counted, dropped, saved.

use tamis::expression::{from_json, to_json};
use tamis::index::{Algorithm, MatchScratch};
use tamis::rank::EventWeights;
use tamis::storage::OpenOptions;
use tamis::{Event, Id, Index, Limits, Missing, parse};

fn index(texts: &[&str]) -> Index {
    let index = Index::new(Missing::Unknown, Limits::default());
    for (id, text) in (0..).zip(texts) {
        index.add((id as i64).into(), parse(text, index.limits()).unwrap(), None).unwrap();
    }
    index
}

fn matches(index: &Index, event: &str) -> Vec<String> {
    index.match_json(event.as_bytes()).unwrap().iter().map(|id| format!("{id:?}")).collect()
}

#[test]
fn terms_print_and_read_back() {
    for (text, printed) in [
        ("LOWER( name ) = 'x'", "lower(name) = 'x'"),
        ("(a + b) * 2 > 3", "(a + b) * 2 > 3"),
        ("((a)) > 3", "a > 3"),
        ("a + (b * c) > 3", "a + b * c > 3"),
        ("a - (b - c) > -3", "a - (b - c) > -3"),
        ("a -3 > 2", "a - 3 > 2"),
        ("-a < -(-b)", "-a < -(-b)"),
        ("3 < a", "a > 3"),
        ("a > 1 + 2 * 3", "a > 7"),
        ("not (a) > 3 and (b)", "not a > 3 and b = true"),
        ("a between b and 3", "a >= b and a <= 3"),
        ("a not between b and c", "not (a >= b and a <= c)"),
        ("a ilike 'X%_'", "lower(a) like 'x%_'"),
        ("cast(a as INTEGER) = 3", "cast(a as integer) = 3"),
        ("try_cast(a as integer) = 3", "cast(a as integer) = 3"),
        ("a <=> 3", "a is not null and a = 3"),
        ("a is distinct from 3", "not (a is not null and a = 3)"),
        ("a <=> null", "a is null"),
        ("a is unknown", "a is unknown"),
        ("a is not unknown", "a is not unknown"),
        ("(a = 1 or b = 2) is not true", "(a = 1 or b = 2) is not true"),
        ("a is true", "a = true is true"),
        ("not (a < b) IS NOT FALSE", "not a < b is not false"),
        ("(not a < b) is unknown", "(not a < b) is unknown"),
        ("((a = 1) is true) is unknown and b", "a = 1 is true is unknown and b = true"),
        (
            "(a is distinct from b) is unknown",
            "(not (a is null and b is null or a is not null and b is not null and a = b)) is unknown",
        ),
        ("any(x, (it < y) is unknown)", "any(x, it < y is unknown)"),
        ("false <=> flag", "flag is not null and flag = false"),
        ("true is not distinct from flag", "flag is not null and flag = true"),
        ("true is distinct from flag", "not (flag is not null and flag = true)"),
        ("null <=> a", "a is null"),
        ("null is distinct from a", "not a is null"),
        ("null <=> null", "true"),
        ("3 <=> null or null is distinct from 3", "false or not false"),
        ("true is true", "true is true"),
        ("a like '!%x' escape '!'", "a like '\\%x'"),
        ("array_contains(tags, 'x')", "tags = 'x'"),
        ("startswith(a, b)", "a starts with b"),
        ("contains(a, 'x')", "a contains 'x'"),
        ("a rlike 'x' or b regexp 'y'", "a matches 'x' or b matches 'y'"),
        ("`a b` = 1; ", "\"a b\" = 1"),
        ("/* c */ a /* d */ = 1", "a = 1"),
        (
            "date = 'x' and version > 3 and any = 1 and \"it\" = 1 and now = 2",
            "date = 'x' and version > 3 and any = 1 and \"it\" = 1 and now = 2",
        ),
        ("\"lower(name)\" = 1", "\"lower(name)\" = 1"),
        ("a != b and a not contains b", "a != b and a not contains b"),
        ("1 = 1 and a", "true and a = true"),
        ("coalesce(a, false)", "coalesce(a, false) = true"),
        ("exists(lower(a))", "exists(lower(a))"),
        ("lower(a) is null", "lower(a) is null"),
    ] {
        let limits = Limits::default();
        let expression = parse(text, &limits).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(expression.to_string(), printed, "{text}");
        assert_eq!(parse(printed, &limits).unwrap(), expression, "{text}");
        let json = to_json(&expression);
        assert_eq!(from_json(&json, &limits).unwrap_or_else(|error| panic!("{json}: {error}")), expression);
    }
}

/// What `is` asks is written once, however often it is nested.
#[test]
fn truth_tests_stay_as_large_as_they_are() {
    let mut text = "lower(a) = 'x'".to_owned();
    for number in 0..200 {
        text = format!("(({text}) is {}) xor c{number} = 1", ["unknown", "not true"][number % 2]);
    }
    let expression = parse(&text, &Limits::default()).unwrap();
    assert!(expression.to_string().len() <= text.len());
    assert!(tamis::expression::normalise(&expression).nodes().len() <= 20 * expression.nodes().len());
    assert_eq!(parse(&expression.to_string(), &Limits::default()).unwrap(), expression);
    assert!(parse("xpath('//a') is unknown", &Limits::default()).is_err());
    assert!(from_json(r#"{"is true": {"or": [{"xpath": "//a"}, true]}}"#, &Limits::default()).is_err());
    assert!(from_json(r#"{"is maybe": true}"#, &Limits::default()).is_err());
    assert!(from_json(r#"{"is true": true, "not": true}"#, &Limits::default()).is_err());
}

/// Scores of what `is` asks are the same whatever the matcher, and survive saving.
#[test]
fn truth_tests_score_alike() {
    for algorithm in [Algorithm::Auto, Algorithm::Scan, tamis_papers::KINDEX] {
        let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
        for (id, text) in [
            "(a = 1^3) is true",
            "(a = 1^3) is unknown",
            "(a = 1 or b = 2^5) is not unknown",
            "(t > now() - interval '1' day) is unknown",
        ]
        .iter()
        .enumerate()
        {
            index.add(Id::Integer(id as i64), parse(text, index.limits()).unwrap(), None).unwrap();
        }
        let snapshot = index.snapshot();
        let top = |json: &str| {
            let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
            event.decode_json(json.as_bytes(), snapshot.attributes(), index.limits()).unwrap();
            let weights = EventWeights::default();
            let found = snapshot.top(&event, 10, &weights, &mut scratch).unwrap();
            let mut found: Vec<(Id, f64)> = found.iter().map(|(id, score)| (id.to_id(), *score)).collect();
            found.sort_by_key(|(id, _)| format!("{id:?}"));
            found
        };
        let id = Id::Integer;
        assert_eq!(top(r#"{"a": 1, "t": 1}"#), [(id(0), 3.0), (id(2), 1.0)]);
        assert_eq!(top("{}"), [(id(1), 0.0), (id(3), 0.0)]);
        assert_eq!(top(r#"{"b": 2, "t": null}"#), [(id(1), 0.0), (id(2), 5.0), (id(3), 0.0)]);
    }
}

#[test]
fn terms_are_computed() {
    let index = index(&["lower(name) = 'ada'", "price * quantity > 100", "a < b", "size(tags) = 3"]);
    assert_eq!(matches(&index, r#"{"name": "ADA", "price": 3, "quantity": 34}"#).len(), 2);
    assert_eq!(matches(&index, r#"{"name": "Bob", "price": 3, "quantity": 33}"#).len(), 0);
    assert_eq!(matches(&index, r#"{"a": 1, "b": [0, 2], "tags": ["x", null, "y"]}"#).len(), 2);
    assert_eq!(index.snapshot().stats().terms, 4);
    assert_eq!(index.snapshot().stats().attributes, 6);
}

#[test]
fn terms_go_with_their_last_subscription() {
    for algorithm in [Algorithm::Auto, Algorithm::Compiled, Algorithm::Scan] {
        let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
        for id in 0..100i64 {
            let text = if id < 2 { "upper(lower(name)) = 'ADA'" } else { "name = 'ada'" };
            index.add(id.into(), parse(text, index.limits()).unwrap(), None).unwrap();
        }
        assert_eq!(index.snapshot().stats().terms, 2);
        let old = index.snapshot();
        assert!(index.remove(&0.into()));
        assert_eq!(index.snapshot().stats().terms, 2);
        assert!(index.remove(&1.into()));
        assert_eq!(index.snapshot().stats().terms, 0);
        // Who reads an older snapshot still sees the terms it asks about.
        assert_eq!(old.stats().terms, 2);
        index.add(7.into(), parse("upper(lower(name)) = 'ADA'", index.limits()).unwrap(), None).unwrap();
        assert_eq!(index.snapshot().stats().terms, 2);
        assert_eq!(matches(&index, r#"{"name": "Ada"}"#).len(), 1);
    }
}

#[test]
fn terms_are_bounded() {
    let limits = Limits { terms: 3, term_values: 10, term_depth: 5, ..Limits::default() };
    let index = Index::new(Missing::Unknown, limits.clone());
    index
        .add(1.into(), parse("lower(a) = 'x' and upper(b) = 'x' and c < d", &limits).unwrap(), None)
        .unwrap();
    let refused = index.add(2.into(), parse("trim(b) = 'x'", &limits).unwrap(), None).unwrap_err();
    assert!(refused.to_string().contains("terms"), "{refused}");
    assert_eq!((index.snapshot().len(), index.snapshot().stats().terms), (1, 3));
    let event = br#"{"c": [1, 2, 3, 4], "d": [1, 2, 3]}"#;
    assert!(index.match_json(event).unwrap_err().to_string().contains("term_values"));
    assert!(parse("lower(lower(lower(lower(lower(lower(a)))))) = 'x'", &limits).is_err());
    let deep = format!("{}a{} = 1", "abs(".repeat(100_000), ")".repeat(100_000));
    assert!(parse(&deep, &Limits::none()).unwrap_err().to_string().contains("term_depth"));
    let signs = format!("{}a = 1", "- ".repeat(100_000));
    assert!(parse(&signs, &Limits::none()).unwrap_err().to_string().contains("term_depth"));
    let groups = format!("{}a{} + 1 = 1", "(".repeat(400), ")".repeat(400));
    assert_eq!(parse(&groups, &Limits::default()).unwrap().to_string(), "a + 1 = 1");
    let sum = vec!["a"; 100_000].join(" + ");
    assert!(parse(&format!("{sum} = 1"), &Limits::none()).unwrap_err().to_string().contains("term_depth"));
}

#[test]
fn terms_survive_saving() {
    let folder = std::env::temp_dir().join(format!("tamis-terms-{}", std::process::id()));
    let index = Index::new(Missing::Unknown, Limits::default());
    for id in 0..100i64 {
        let text = format!("lower(name) = 'n{id}' and a < b");
        index.add(id.into(), parse(&text, index.limits()).unwrap(), None).unwrap();
    }
    index.settle();
    index.save(&folder).unwrap();
    let opened = Index::open(&folder, Limits::default(), Algorithm::Auto, OpenOptions::default()).unwrap();
    assert_eq!(opened.snapshot().stats().terms, 2);
    assert_eq!(matches(&opened, r#"{"name": "N7", "a": 1, "b": 2}"#).len(), 1);
    (0..100i64).for_each(|id| assert!(opened.remove(&id.into())));
    assert_eq!(opened.snapshot().stats().terms, 0);
}

#[test]
fn a_minus_in_a_name_is_no_subtraction() {
    let refused = parse("user-agent = 'x'", &Limits::default()).unwrap_err();
    assert!(refused.to_string().contains("\"user-agent\""), "{refused}");
    for text in [
        "a ^2 = 1",
        "a < b^2",
        "a = lower(b)^2",
        "foo(a) = 1",
        "a = = 1",
        "\"\u{1}x\" = 1",
        "a + b",
        "lower() = 1",
    ] {
        assert!(parse(text, &Limits::default()).is_err(), "{text}");
    }
    let unknown = parse("regexp_extract(a, 'x') = 'y'", &Limits::default()).unwrap_err().to_string();
    assert!(unknown.contains("there is no function `regexp_extract`"), "{unknown}");
}

#[test]
fn elements_are_asked_one_by_one() {
    let texts = [
        "any(items, price > 3 and colour = 'red')",
        "all(items, price > 3)",
        "none(items, price > 3)",
        "any(tags, it like 'a%' and it like '%z')",
        "any(items, any(parts, name = 'x'))",
        "all(items, type(it) = 'object')",
    ];
    let limits = Limits::default();
    for text in texts {
        let expression = parse(text, &limits).unwrap();
        assert_eq!(expression.to_string(), text);
        assert_eq!(from_json(&to_json(&expression), &limits).unwrap(), expression);
    }
    for algorithm in [Algorithm::Auto, Algorithm::Compiled, Algorithm::Scan, tamis_papers::KINDEX] {
        for missing in [Missing::Unknown, Missing::False] {
            let index = Index::with_algorithm(missing, limits.clone(), algorithm);
            for (id, text) in (0i64..).zip(texts) {
                index.add(id.into(), parse(text, &limits).unwrap(), None).unwrap();
            }
            let found = |event: &str| {
                index
                    .match_json(event.as_bytes())
                    .unwrap()
                    .into_iter()
                    .map(|id| match id {
                        tamis::Id::Integer(id) => id,
                        _ => panic!(),
                    })
                    .collect::<Vec<_>>()
            };
            let lost =
                |ids: &[i64]| if missing == Missing::False { [ids, &[2]].concat() } else { ids.to_vec() };
            assert_eq!(
                found(r#"{"items": [{"price": 4, "colour": "blue"}, {"price": 2, "colour": "red"}]}"#),
                [5]
            );
            assert_eq!(found(r#"{"items": [{"price": 4, "colour": "red"}]}"#), [0, 1, 5]);
            assert_eq!(found(r#"{"items": {"price": 4, "colour": "red"}}"#), [0, 1, 5]);
            assert_eq!(found(r#"{"items": [{"price": 1}, null]}"#), [2]);
            assert_eq!(found(r#"{"items": []}"#), [1, 2, 5]);
            assert_eq!(found(r#"{"items": null}"#), lost(&[]));
            assert_eq!(found(r#"{}"#), lost(&[]));
            assert_eq!(found(r#"{"tags": ["ab", "bz"]}"#), lost(&[]));
            assert_eq!(found(r#"{"tags": ["ab", "abz"]}"#), {
                let mut ids = lost(&[3]);
                ids.sort_unstable();
                ids
            });
            assert_eq!(
                found(r#"{"items": [{"parts": [{"name": "y"}]}, {"parts": [{"name": "x"}]}]}"#),
                [2, 4, 5]
            );
            index.remove(&0.into());
            assert_eq!(found(r#"{"items": [{"price": 4, "colour": "red"}]}"#), [1, 5]);
        }
    }
    for text in [
        "any(items, price > 3^2)",
        "any(items, xpath('//a'))",
        "any(items)",
        "any(items, )",
        "none(a, b)^2",
        "any(3, it)",
    ] {
        assert!(parse(text, &limits).is_err(), "{text}");
    }
    assert_eq!(parse("any(items, true)^2", &limits).unwrap().to_string(), "any(items, true)^2");
    let deep = format!("{}true{}", "any(a, ".repeat(10_000), ")".repeat(10_000));
    assert!(parse(&deep, &Limits::none()).unwrap_err().to_string().contains("element_depth"));
}

/// The truth of expressions on an event, at 2026-01-02 05:00 UTC, in Berlin, by every algorithm.
fn truth(text: &str, json: &str) -> Vec<&'static str> {
    use tamis::Event;
    use tamis::index::MatchScratch;
    use tamis::value::{TimeZone, Timestamp, ValueRef};
    let limits = Limits::default();
    let expression = parse(text, &limits).unwrap_or_else(|error| panic!("{text}: {error}"));
    let printed = expression.to_string();
    assert_eq!(parse(&printed, &limits).unwrap(), expression, "{text}");
    assert_eq!(from_json(&to_json(&expression), &limits).unwrap(), expression, "{text}");
    let zone = TimeZone::named("Europe/Berlin").unwrap();
    let now: Timestamp = zone.moment_of(ValueRef::String("2026-01-02T05:00Z")).unwrap();
    let mut truths = Vec::new();
    for missing in [Missing::Unknown, Missing::False] {
        for algorithm in [
            Algorithm::Scan,
            Algorithm::Compiled,
            tamis_papers::KINDEX,
            tamis_papers::ATREE,
            tamis_papers::DEWEY,
        ] {
            let index = Index::in_zone(missing, limits.clone(), algorithm, zone.clone());
            index.add(1.into(), expression.clone(), None).unwrap();
            let snapshot = index.snapshot();
            let mut event = Event::default();
            event.set_now(Some(now));
            event.decode_json(json.as_bytes(), snapshot.attributes(), &limits).unwrap();
            let explained = index.explain(&expression, &event).unwrap().truth();
            let mut found = false;
            snapshot.matches(&event, &mut MatchScratch::default(), |_| found = true).unwrap();
            assert_eq!(found, explained == tamis::Truth::True, "{text} on {json}, {algorithm:?}");
            if algorithm == Algorithm::Scan {
                truths.push(explained.name());
            }
        }
    }
    truths
}

#[test]
fn times_and_numbers() {
    for (text, json, expected) in [
        ("created > timestamp '2026-01-02 05:00:00'", r#"{"created": "2026-01-02T03:00:00.000Z"}"#, "false"),
        ("created > timestamp '2026-01-02 03:00:00'", r#"{"created": "2026-01-02T03:00:00.000Z"}"#, "true"),
        ("created = date '2026-01-02'", r#"{"created": "2026-01-02T15:00Z"}"#, "false"),
        ("created > date '2026-01-02'", r#"{"created": "2026-01-02T15:00Z"}"#, "true"),
        ("created = date '2026-01-02'", r#"{"created": "2026-01-02"}"#, "true"),
        ("created > date '2026-01-02'", r#"{"created": "soon"}"#, "false"),
        ("not created > date '2026-01-02'", r#"{"created": "soon"}"#, "true"),
        ("created != date '2026-01-02'", r#"{"created": 5}"#, "true"),
        ("t > now() - interval '1' day", r#"{"t": "2026-01-01T06:00Z"}"#, "true"),
        ("t > now() - interval '1' day", r#"{"t": "2026-01-01T04:00Z"}"#, "false"),
        ("not t > now() - interval '1' day", r#"{"t": "abc"}"#, "true"),
        ("t between now() - interval '1' day and now()", r#"{"t": "2026-01-02T04:00Z"}"#, "true"),
        ("now() > t", r#"{"t": "2026-01-02T04:00Z"}"#, "true"),
        (
            "year(t) = 2026 and month(t) = 1 and day(t) = 2 and hour(t) = 6 and minute(t) = 30 and weekday(t) = 5",
            r#"{"t": "2026-01-02T05:30Z"}"#,
            "true",
        ),
        ("date(t) = date '2026-01-03'", r#"{"t": "2026-01-02T23:30Z"}"#, "true"),
        ("t + interval '1' hour = timestamp '2026-01-02 06:30:00Z'", r#"{"t": "2026-01-02T05:30Z"}"#, "true"),
        ("a - t > interval '1' day", r#"{"t": "2026-01-02T05:30Z", "a": "2026-01-04"}"#, "unknown"),
        (
            "cast(a as timestamp) - t > interval '1' day",
            r#"{"t": "2026-01-02T05:30Z", "a": "2026-01-04"}"#,
            "true",
        ),
        ("v >= version '2.9.0'", r#"{"v": "2.10.0"}"#, "true"),
        ("v < version '2.9.0'", r#"{"v": "latest"}"#, "false"),
        ("ip in (cidr '10.0.0.0/8', 'x')", r#"{"ip": "10.1.2.3"}"#, "true"),
        ("ip in (cidr '10.0.0.0/8', 'x')", r#"{"ip": "x"}"#, "true"),
        ("ip not in (cidr '10.0.0.0/8', 'x')", r#"{"ip": "11.0.0.1"}"#, "true"),
        ("a + 0.2 = 0.3", r#"{"a": 0.1}"#, "true"),
        ("a / 3 * 3 = 1", r#"{"a": 1}"#, "false"),
        ("round(a) = 3 and floor(a) = 2 and ceil(a) = 3 and abs(-a) = 2.5", r#"{"a": 2.5}"#, "true"),
        ("a % 3 = -1", r#"{"a": -7}"#, "true"),
        ("a / 0 = 1", r#"{"a": 1}"#, "unknown"),
        ("lower(a) = 'x'", r#"{"a": 1}"#, "unknown"),
        ("a < b", r#"{"a": 1, "b": "x"}"#, "false"),
        ("a != b", r#"{"a": 1, "b": "x"}"#, "true"),
        ("a < b", r#"{"a": 1}"#, "unknown"),
        ("type(a) = 'list' and size(a) = 2", r#"{"a": [1, null]}"#, "true"),
        ("size(a) = 0", r#"{"a": []}"#, "true"),
        ("type(a) = 'null'", r#"{"a": null}"#, "true"),
        ("type(a) = 'object'", r#"{"a": {"b": 1}}"#, "true"),
        ("a is unknown", r#"{}"#, "true"),
        ("(a = 1) is not true", r#"{}"#, "true"),
        ("(a != 1) is not true", r#"{"a": 1}"#, "true"),
        ("a <=> b", r#"{}"#, "true"),
        ("a is distinct from 3", r#"{}"#, "true"),
        ("bucket(u, 100) = 88", r#"{"u": "user-1"}"#, "true"),
        ("cast(a as integer) = 3 and cast(a as string) = '3.7'", r#"{"a": "3.7"}"#, "true"),
        ("any(items, at > timestamp '2026-01-02 00:00:00')", r#"{"items": [{"at": "2026-01-03"}]}"#, "true"),
    ] {
        assert_eq!(truth(text, json)[0], expected, "{text} on {json}");
    }
    for (text, json, expected) in [
        ("a is unknown", r#"{}"#, "false"),
        ("(a = 1) is not true", r#"{}"#, "true"),
        ("(a != 1) is not true", r#"{}"#, "false"),
        ("(a = 1) is unknown", r#"{}"#, "false"),
    ] {
        assert_eq!(truth(text, json)[1], expected, "{text} on {json}");
    }
    assert_eq!(
        parse("t > now() - interval '7' day", &Limits::default()).unwrap().to_string(),
        "t > now() - interval '7' day"
    );
}

#[test]
fn values_are_all_of_an_event() {
    let index = index(&["lower(values()) contains 'error'", "size(values()) = 4", "not values() = 'x'"]);
    assert_eq!(index.snapshot().stats().terms, 3);
    assert_eq!(matches(&index, r#"{"a": "x", "b": [["An ERROR", 1.50, {"c": true}]], "d": null}"#).len(), 2);
    assert_eq!(matches(&index, r#"{"a": [1, 1, "1", NaN, 1e999999], "b": {"error": -0.0}}"#).len(), 2);
    assert_eq!(matches(&index, r#"{"a": [], "b": {}}"#).len(), 0);
    assert!(index.match_json(br#"{"a": "\ud800"}"#).is_err());
    for id in 0..3i64 {
        assert!(index.remove(&id.into()));
    }
    index.add(9.into(), parse("a = 1", index.limits()).unwrap(), None).unwrap();
    assert!(index.snapshot().attributes().asks_values().is_none());
    assert_eq!(matches(&index, r#"{"a": 1}"#).len(), 1);
}

#[test]
fn what_depends_on_now_is_known() {
    let asks = |text: &str| index(&["a = 1", text]).snapshot().asks_now();
    for text in
        ["at < now()", "at > now() - interval '1' day", "hour(now()) > 5", "any(items, until > now())"]
    {
        assert!(asks(text), "{text}");
    }
    for text in ["b = 1", "at < timestamp '2026-01-01T00:00:00Z'", "hour(at) > 5", "lower(name) = 'x'"] {
        assert!(!asks(text), "{text}");
    }
    let index = index(&["at < now()"]);
    assert!(index.remove(&0i64.into()));
    index.add(9.into(), parse("a = 1", index.limits()).unwrap(), None).unwrap();
    assert!(!index.snapshot().asks_now());
}

#[test]
fn values_are_bounded() {
    let index = index(&["values() = 'x'"]);
    let nested = |depth: usize, open: &str, close: &str| {
        format!("{{\"a\": {}1{}}}", open.repeat(depth), close.repeat(depth))
    };
    let deepest = index.limits().event_depth;
    assert!(index.match_json(nested(deepest, "[", "]").as_bytes()).is_ok());
    for (open, close) in [("[", "]"), ("{\"b\": ", "}"), ("[{\"b\": ", "}]")] {
        let refused = index.match_json(nested(deepest + 1, open, close).as_bytes()).unwrap_err();
        assert!(refused.to_string().contains("nesting of an event"), "{refused}");
    }
    let many = format!("{{\"a\": [{}1]}}", "1, ".repeat(index.limits().list));
    let refused = index.match_json(many.as_bytes()).unwrap_err();
    assert!(refused.to_string().contains("values of a list"), "{refused}");
}

#[test]
fn values_are_read_from_arrow() {
    use std::sync::Arc;
    use tamis::Event;
    use tamis::event::ArrowEvents;

    use arrow_array::builder::{Int32Builder, ListBuilder};
    use arrow_array::{ArrayRef, BinaryArray, RecordBatch, StringArray, StructArray};
    use arrow_schema::{DataType, Field};

    let index = index(&["values() = 'x'", "values() = '7'", "size(values()) = 3", "exists(values())"]);
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(7), None]);
    lists.append_null();
    lists.append_value([None]);
    let lists: ArrayRef = Arc::new(lists.finish());
    let inner: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), Some("x"), None]));
    let inner = StructArray::from(vec![(Arc::new(Field::new("c", DataType::Utf8, true)), inner)]);
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("lists", lists, true),
        ("b", Arc::new(inner) as ArrayRef, true),
        ("text", Arc::new(StringArray::from(vec![Some("y"), None, None])) as ArrayRef, true),
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"x"[..]); 3])) as ArrayRef, true),
    ])
    .unwrap();
    let snapshot = index.snapshot();
    let events = ArrowEvents::new(&batch, None, snapshot.attributes()).unwrap();
    let mut event = Event::default();
    for (row, expected) in [(0, 4), (1, 2), (2, 0)] {
        events.decode(row, &mut event, snapshot.attributes(), index.limits()).unwrap();
        let mut found = 0;
        snapshot.matches(&event, &mut Default::default(), |_| found += 1).unwrap();
        assert_eq!(found, expected, "row {row}");
    }
}
