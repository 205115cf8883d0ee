//! Input made to exhaust time or memory is answered in linear work, or refused with both numbers.

use tamis::index::{Algorithm, Subscription};
use tamis::storage::OpenOptions;
use tamis::{Error, Index, Limits, Missing, parse};

fn index(limits: Limits) -> Index {
    Index::new(Missing::Unknown, limits)
}

fn add(index: &Index, id: i64, text: &str) -> Result<(), Error> {
    index.add(id.into(), parse(text, index.limits())?, None)
}

/// The limit that was exceeded, with what was found and what is allowed.
fn limit<T>(result: Result<T, Error>) -> (&'static str, usize, usize) {
    match result.err() {
        Some(Error::Limit { name, found, allowed, .. }) => (name, found, allowed),
        other => panic!("not refused by a limit: {other:?}"),
    }
}

/// Alternatives of large regular expressions, all different.
fn large_patterns(count: usize) -> String {
    let patterns: Vec<String> = (0..count).map(|number| format!(r"a matches '\w{{14}}{number}'")).collect();
    patterns.join(" or ")
}

#[test]
fn the_regular_expressions_of_one_expression_are_bounded_together() {
    let (name, found, allowed) = limit(parse(&large_patterns(500), &Limits::default()));
    assert_eq!((name, allowed), ("patterns", 8 << 20));
    assert!(found > allowed);
    let repeated = [r"a matches '\w{14}N'"; 1000].join(" or ");
    assert!(parse(&repeated, &Limits::default()).is_ok());
}

#[test]
fn the_regular_expressions_of_an_index_are_bounded_together() {
    let size = {
        let none = Limits { patterns: 0, ..Limits::default() };
        limit(parse(&large_patterns(1), &none)).1
    };
    let limits = Limits { index_patterns: 2 * size + size / 2, ..Limits::default() };
    let index = index(limits.clone());
    let pattern = |number: usize| format!(r"a matches '\w{{14}}{number}'");
    add(&index, 0, &pattern(0)).unwrap();
    add(&index, 1, &pattern(1)).unwrap();
    let (name, found, allowed) = limit(add(&index, 2, &pattern(2)));
    assert_eq!((name, allowed), ("index_patterns", limits.index_patterns));
    assert!(found > 2 * size);
    // What is there already costs nothing more, and what was refused is not there.
    add(&index, 3, &pattern(1)).unwrap();
    assert_eq!(index.match_json(br#"{"a": "aaaaaaaaaaaaaa1"}"#).unwrap(), [1.into(), 3.into()]);
    assert_eq!(index.match_json(br#"{"a": "aaaaaaaaaaaaaa2"}"#).unwrap(), []);
    // A file counts as well.
    let folder = std::env::temp_dir().join(format!("tamis-hostile-{}", std::process::id()));
    index.save(&folder).unwrap();
    let opened = Index::open(&folder, limits, Algorithm::Auto, OpenOptions::default()).unwrap();
    assert_eq!(limit(add(&opened, 2, &pattern(2))).0, "index_patterns");
    std::fs::remove_dir_all(&folder).unwrap();
    // What is removed makes room once it is merged away.
    index.remove(&0.into());
    index.remove(&1.into());
    index.remove(&3.into());
    index.settle();
    add(&index, 2, &pattern(2)).unwrap();
}

#[test]
fn regular_expressions_of_many_subscriptions_are_bounded_too() {
    let index = index(Limits::default());
    let subscriptions = (0..600).map(|number| {
        let text = format!(r"a matches '\w{{14}}{number}'");
        Subscription::new(number as i64, parse(&text, index.limits()).unwrap())
    });
    let (name, found, allowed) = limit(index.add_many(subscriptions.collect()));
    assert_eq!((name, allowed), ("index_patterns", 128 << 20));
    assert!(found > allowed);
    assert_eq!(index.snapshot().len(), 0);
}

/// Ids that every algorithm finds on an event, which are those that a scan finds.
fn match_all(texts: &[String], json: &[u8]) -> Vec<tamis::Id> {
    let algorithms = [
        Algorithm::Scan,
        Algorithm::Auto,
        Algorithm::Compiled,
        tamis_papers::ATREE,
        tamis_papers::KINDEX,
        tamis_papers::CNF,
        tamis_papers::DEWEY,
        tamis_papers::INTERVAL,
    ];
    let found = algorithms.map(|algorithm| {
        let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
        let subscriptions = texts.iter().zip(0i64..);
        let subscriptions =
            subscriptions.map(|(text, id)| Subscription::new(id, parse(text, index.limits()).unwrap()));
        index.add_many(subscriptions.collect()).unwrap();
        (algorithm, index.match_json(json).unwrap())
    });
    for (algorithm, ids) in &found {
        assert_eq!(ids, &found[0].1, "{algorithm:?} on {}", String::from_utf8_lossy(json));
    }
    let [(_, ids), ..] = found;
    ids
}

fn json_list(attribute: &str, values: impl Iterator<Item = String>) -> Vec<u8> {
    format!("{{\"{attribute}\": [{}]}}", values.collect::<Vec<_>>().join(", ")).into_bytes()
}

#[test]
fn a_list_costs_as_much_as_its_distinct_values_and_what_they_match() {
    let texts: Vec<String> = (0..1000).map(|number| format!("price < {number}")).collect();
    let expressions: Vec<_> = texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect();
    let attributes = tamis::event::Attributes::default();
    let compiled = tamis::matcher::Compiled::new(&expressions, &attributes, Missing::Unknown, &[]).unwrap();
    let repeated = json_list("price", std::iter::repeat_n("0".to_owned(), 100_000));
    let distinct = json_list("price", (0..100_000).map(|number| (number - 100_000).to_string()));
    let spread = json_list("price", (0..100_000).map(|number| (number % 999).to_string()));
    let (mut scratch, mut event) = (tamis::matcher::Scratch::default(), tamis::Event::default());
    for json in [repeated, distinct, spread] {
        let mut found = Vec::new();
        event.decode_json(&json, &attributes, &Limits::default()).unwrap();
        tamis::matcher::Matcher::matches(&compiled, &event, &mut scratch, &mut found);
        assert!(found.len() >= 999);
        // Every range is looked at once, however many values lie in it.
        let counters = scratch.take_counters();
        assert!(counters.lists <= 1001, "{counters:?}");
        assert!(counters.entries <= 1001, "{counters:?}");
    }
}

#[test]
fn long_lists_match_as_short_ones_do() {
    let mut texts: Vec<String> = Vec::new();
    for number in -6..6 {
        texts.push(format!("a < {number}"));
        texts.push(format!("a >= {number} and b"));
        texts.push(format!("not a between {number} and {}", number + 3));
        texts.push(format!("a between {number} and {} or a = 'v{number}'", number + 1));
        texts.push(format!("a in ({number}, 'v{number}', true) and not a > {}", 3 * number));
        texts.push(format!("b or a between 'v{number}' and 'w'"));
        texts.push(format!("a != {number} xor a <= 'v{number}'"));
        texts.push(format!("a starts with 'v-' and a like '%{number}' and a > {number}.5"));
        texts.push(format!(
            "a contains '{number}' and a in ({}) and a < 3",
            (0..20).map(|n| (n * number).to_string()).collect::<Vec<_>>().join(", ")
        ));
    }
    texts.extend(
        (0..40).map(|number| format!("a between {number} and {} and a > {}", number + 2, number - 3)),
    );
    let value = |state: &mut u64| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = (*state >> 33) as i64 % 31 - 15;
        match *state >> 60 {
            0 => "true".to_owned(),
            1..6 => format!("\"v{}\"", number / 3),
            6..8 => format!("{number}.5"),
            _ => number.to_string(),
        }
    };
    let mut state = 7;
    for length in [1, 2, 16, 17, 18, 40, 300] {
        let all: Vec<String> = (0..length).map(|_| value(&mut state)).collect();
        let json = format!("{{\"a\": [{}], \"b\": true}}", all.join(", "));
        match_all(&texts, json.as_bytes());
        // Repetition and order mean nothing.
        let twice: Vec<String> = all.iter().rev().chain(&all).cloned().collect();
        let doubled = format!("{{\"a\": [{}], \"b\": true}}", twice.join(", "));
        assert_eq!(match_all(&texts, json.as_bytes()), match_all(&texts, doubled.as_bytes()));
    }
}

#[test]
fn lists_are_bounded() {
    let index = index(Limits { list: 3, ..Limits::default() });
    add(&index, 1, "a = 1").unwrap();
    assert_eq!(index.match_json(br#"{"a": [1, 1, 1], "b": [1, 2, 3, 4]}"#).unwrap(), [1.into()]);
    assert_eq!(limit(index.match_json(br#"{"a": [1, 1, 1, 1]}"#)), ("list", 4, 3));
}

#[test]
fn names_are_bounded() {
    let limits = Limits::default();
    let quoted = |name: &str| parse(&format!("\"{name}\" = 1"), &limits);
    assert_eq!(limit(quoted(&".".repeat(100_000))).0, "name");
    assert_eq!(limit(quoted(&"n".repeat(1025))), ("name", 1025, 1024));
    assert_eq!(limit(quoted(&".".repeat(100))), ("name_depth", 101, 100));
    assert!(quoted(&"n".repeat(1024)).is_ok());
    let index = index(limits.clone());
    index.add(1.into(), quoted(&".".repeat(99)).unwrap(), None).unwrap();
    assert_eq!(limit(index.set_hierarchy(&"n".repeat(2000), None)).0, "name");
    // A built expression is checked by the index.
    let long = tamis::expression::Predicate::new(
        "n".repeat(5000),
        tamis::expression::Operator::Exists,
        false,
        tamis::expression::Operand::Nothing,
        &[],
        &Limits::none(),
    );
    assert_eq!(limit(index.add(2.into(), long.unwrap().into(), None)).0, "name");
    // Events may have any names.
    let json =
        format!("{{\"{}\": 1, \"{}\": {{\"{}\": 1}}}}", ".".repeat(1 << 20), ".".repeat(5), ".".repeat(93));
    assert_eq!(index.match_json(json.as_bytes()).unwrap(), [1.into()]);
}

#[test]
fn names_go_with_their_last_subscription() {
    for algorithm in [Algorithm::Auto, tamis_papers::KINDEX] {
        let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
        add(&index, -1, "kept.below = 1").unwrap();
        for number in 0..3000 {
            add(&index, number % 10, &format!("name{number}.x = 1 or true")).unwrap();
        }
        index.settle();
        let attributes = index.snapshot().stats().attributes;
        assert!((11..60).contains(&attributes), "{attributes}");
        for number in 0..10 {
            index.remove(&number.into());
        }
        index.settle();
        let snapshot = index.snapshot();
        // A small segment keeps what was removed until half of it is.
        assert!(snapshot.stats().attributes <= 2);
        assert!(snapshot.attributes().names().contains(&"kept.below".into()));
        assert_eq!(index.match_json(br#"{"kept": {"below": 1}, "name7": {"x": 1}}"#).unwrap(), [(-1).into()]);
    }
}

#[test]
fn readers_stay_right_while_names_come_and_go() {
    let index = index(Limits::default());
    add(&index, -1, "fixed = 1 and not missing(other)").unwrap();
    let names: Vec<String> = (0..50).map(|number| format!("\"n{number}\": {number}")).collect();
    let json = format!("{{{}, \"fixed\": 1, \"other\": 2}}", names.join(", "));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..2000 {
                add(&index, round % 3, &format!("n{} = {}", round % 50, round % 50)).unwrap();
                index.remove(&((round + 1) % 3).into());
            }
        });
        while !writer.is_finished() {
            let found = index.match_json(json.as_bytes()).unwrap();
            assert_eq!(found[0], (-1).into());
        }
    });
}

#[test]
fn hierarchies_are_linear_in_a_list() {
    let index = index(Limits::default());
    let pairs =
        (0..50_000i64).map(|city| (tamis::value::Value::Integer(city), tamis::value::Value::from("US")));
    let pairs = pairs.chain([("LA".into(), "CA".into()), ("CA".into(), "US".into())]);
    index.set_hierarchy("geo", Some(tamis::event::Hierarchy::tree(pairs).unwrap())).unwrap();
    add(&index, 1, "geo = 'US'").unwrap();
    add(&index, 2, "geo = 'CA'").unwrap();
    add(&index, 3, "geo = 49999").unwrap();
    let repeated = json_list("geo", std::iter::repeat_n("\"LA\"".to_owned(), 100_000));
    assert_eq!(index.match_json(&repeated).unwrap(), [1.into(), 2.into()]);
    let distinct = json_list("geo", (0..50_000).map(|city| city.to_string()));
    assert_eq!(index.match_json(&distinct).unwrap(), [1.into(), 3.into()]);
    // What hierarchies add is bounded as what an event has.
    let limits = Limits { event_values: 3, ..Limits::default() };
    let small = Index::new(Missing::Unknown, limits);
    let chain = (0..9i64)
        .map(|number| (tamis::value::Value::Integer(number), tamis::value::Value::Integer(number + 1)));
    small.set_hierarchy("a", Some(tamis::event::Hierarchy::tree(chain).unwrap())).unwrap();
    add(&small, 1, "a = 5").unwrap();
    assert_eq!(limit(small.match_json(br#"{"a": 0}"#)).0, "event_values");
    assert_eq!(small.match_json(br#"{"a": 9}"#).unwrap(), []);
}
