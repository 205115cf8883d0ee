//! Terms through an index: computed, shared, counted, dropped, saved.

use tamis::{Algorithm, Index, Limits, Missing, OpenOptions, from_json, parse, to_json};

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
        ("(a = 1 or b = 2) is not true", "not (a = 1 and a is not unknown or b = 2 and b is not unknown)"),
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
    for algorithm in [Algorithm::Auto, Algorithm::Compiled, Algorithm::Scan, Algorithm::KIndex] {
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
