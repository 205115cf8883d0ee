//! Input made to exhaust time or memory is answered in linear work, or refused with both numbers.

use tamis::{Algorithm, Error, Index, Limits, Missing, Subscription, parse};

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
    let opened = Index::open(&folder, limits, Algorithm::Auto, true).unwrap();
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
