//! Every case of `testdata/` through the engine. The same files run through Python.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tamis::event::Attributes;
use tamis::explain::explain;
use tamis::expression::{from_json, to_json};
use tamis::index::{Algorithm, MatchScratch};
use tamis::matcher::{Compiled, Matcher, Scan, Scratch};
use tamis::value::{TimeZone, Timestamp, Value};
use tamis::{Error, Event, Id, Index, Limits, Missing, Truth, parse};
use tamis_papers::{ATree, ATreeOptions, Cnf, Dewey, Interval, IntervalOptions, KIndex, KIndexOptions};

fn testdata(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder)
}

/// Runs `check` on every case of a file and reports all failures together.
fn run(path: &Path, check: impl Fn(&toml::Table) -> Result<(), String>) {
    let content = std::fs::read_to_string(path).unwrap();
    let file: toml::Table = toml::from_str(&content).unwrap();
    let cases = file["case"].as_array().unwrap();
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            let case = case.as_table().unwrap();
            check(case).err().map(|reason| format!("{}: {reason}", text(case, "name")))
        })
        .collect();
    let (failed, all) = (failures.len(), cases.len());
    assert!(failures.is_empty(), "{}: {failed} of {all} cases:\n{}", path.display(), failures.join("\n"));
    assert!(all > 0, "{} has no cases", path.display());
}

fn text<'a>(case: &'a toml::Table, key: &str) -> &'a str {
    case[key].as_str().unwrap()
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found {found:?}, expected {expected:?}")) }
}

/// The truth of a case's expression on its event by explanation, checked against every matcher.
fn truth(case: &toml::Table, missing: Missing) -> Result<Truth, String> {
    judge(text(case, "expression"), zone(case), missing, |attributes, limits| {
        let mut decoded = Event::default();
        decoded.set_now(now(case));
        decoded.decode_json(text(case, "event").as_bytes(), attributes, limits)?;
        Ok(decoded)
    })
}

/// The name of a case's time zone.
fn zone_name(case: &toml::Table) -> &str {
    case.get("time_zone").map_or("UTC", |zone| zone.as_str().unwrap())
}

fn zone(case: &toml::Table) -> TimeZone {
    TimeZone::named(zone_name(case)).unwrap()
}

/// The moment that `now()` is for a case.
fn now(case: &toml::Table) -> Option<Timestamp> {
    let now = format!("timestamp '{}'", case.get("now")?.as_str().unwrap());
    match constant(&now) {
        Some(Value::Timestamp(now)) => Some(now),
        other => panic!("{other:?}"),
    }
}

/// The same for an event that `decode` makes.
fn judge(
    expression: &str,
    zone: TimeZone,
    missing: Missing,
    decode: impl Fn(&Attributes, &Limits) -> tamis::Result<Event>,
) -> Result<Truth, String> {
    let limits = Limits::default();
    let expression = parse(expression, &limits).map_err(|error| error.to_string())?;
    let attributes = Attributes::new(missing, &limits, zone);
    attributes.learn(&expression).map_err(|error| error.to_string())?;
    let scan = Scan::new([&expression], &attributes, missing);
    let compiled = Compiled::new([&expression], &attributes, missing, &[]).unwrap();
    let atree = ATree::compile([&expression], &attributes, missing, ATreeOptions::default());
    let kindex = KIndex::new([&expression], &attributes, missing, KIndexOptions::default());
    let dewey = Dewey::new([&expression], &attributes, missing);
    let interval = Interval::new([&expression], &attributes, missing, IntervalOptions::default());
    let cnf = Cnf::new([&expression], &attributes, missing, Limits::default().normal_form);
    let decoded = decode(&attributes, &limits).map_err(|error| error.to_string())?;
    let truth = explain(&expression, &decoded, &attributes, missing).unwrap().truth();
    let matchers: [&dyn Matcher; 7] = [&scan, &compiled, &atree, &kindex, &cnf, &dewey, &interval];
    for matcher in matchers {
        let mut found = Vec::new();
        matcher.matches(&decoded, &mut Scratch::default(), &mut found);
        expect(matcher.name(), found.len() == 1, truth == Truth::True)?;
    }
    Ok(truth)
}

#[test]
fn semantics() {
    let mut files = 0;
    for entry in std::fs::read_dir(testdata("semantics")).unwrap() {
        files += 1;
        run(&entry.unwrap().path(), |case| {
            for (missing, key) in [(Missing::Unknown, "unknown"), (Missing::False, "false")] {
                let found = truth(case, missing)?;
                expect(key, found.name(), text(case, key))?;
            }
            Ok(())
        });
    }
    assert!(files > 10);
}

#[test]
fn changes() {
    for algorithm in tamis_papers::ALGORITHMS {
        run(&testdata("changes/shared.toml"), |case| {
            let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
            let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
            for (number, step) in (1..).zip(case["steps"].as_array().unwrap()) {
                let step = step.as_table().unwrap();
                if step.contains_key("add") {
                    let expression = parse(text(step, "expression"), index.limits()).unwrap();
                    index.add(text(step, "add").into(), expression, None).unwrap();
                } else if step.contains_key("remove") {
                    assert!(index.remove(&text(step, "remove").into()));
                } else {
                    let snapshot = index.snapshot();
                    let json = text(step, "event").as_bytes();
                    event.decode_json(json, snapshot.attributes(), index.limits()).unwrap();
                    let mut found = Vec::new();
                    snapshot.matches(&event, &mut scratch, |id| found.push(id.to_id())).unwrap();
                    let expected = step["matches"].as_array().unwrap().iter();
                    let expected: Vec<Id> = expected.map(|id| id.as_str().unwrap().into()).collect();
                    expect(&format!("{algorithm:?}, step {number}"), found, expected)?;
                }
            }
            Ok(())
        });
    }
}

#[test]
fn printing_and_json_form() {
    let limits = Limits::default();
    let check = |case: &toml::Table| {
        let expression = parse(text(case, "text"), &limits).map_err(|error| error.to_string())?;
        let printed = expression.to_string();
        expect("print", printed.as_str(), text(case, "print"))?;
        expect("parse(print)", &parse(&printed, &limits).unwrap(), &expression)?;
        let form = to_json(&expression);
        if let Some(wanted) = case.get("json") {
            let json = |text: &str| canonical(serde_json::from_str(text).unwrap());
            expect("json", json(&form), json(wanted.as_str().unwrap()))?;
        }
        let form = case.get("json").map_or(form.as_str(), |wanted| wanted.as_str().unwrap());
        let read = from_json(form, &limits).map_err(|error| error.to_string())?;
        expect("from_json", &read, &expression)
    };
    for file in ["language/print.toml", "language/checked-print.toml"] {
        run(&testdata(file), check);
    }
}

/// JSON with every integer as a float, so that `1` equals `1.0`; large ones keep their digits.
fn canonical(value: serde_json::Value) -> serde_json::Value {
    use serde_json::Value::{Array, Number, Object};
    match value {
        Number(number) => match number.as_f64() {
            Some(float) if float.abs() < 1e15 => serde_json::json!(float),
            _ => Number(number),
        },
        Array(items) => Array(items.into_iter().map(canonical).collect()),
        Object(members) => Object(members.into_iter().map(|(key, value)| (key, canonical(value))).collect()),
        other => other,
    }
}

#[test]
fn language_errors() {
    let check = |case: &toml::Table| {
        let Err(error) = parse(text(case, "text"), &Limits::default()) else {
            return Err("is accepted".to_owned());
        };
        let kind = match &error {
            Error::Syntax(_) => "syntax",
            Error::Expression(_) => "expression",
            Error::Limit { .. } => "limit",
            _ => "other",
        };
        if text(case, "kind") != "any" || !["syntax", "expression"].contains(&kind) {
            expect("kind", kind, text(case, "kind")).map_err(|reason| format!("{reason}: {error}"))?;
        }
        if let Error::Syntax(syntax) = &error {
            for (key, found) in [("line", syntax.line), ("column", syntax.column)] {
                if let Some(expected) = case.get(key) {
                    expect(key, found as i64, expected.as_integer().unwrap())?;
                }
            }
            let expected = case.get("suggestion").map(|suggestion| suggestion.as_str().unwrap());
            if expected.is_some() {
                expect("suggestion", syntax.suggestion.as_deref(), expected)?;
            }
        }
        contains(case, &error)
    };
    for file in ["language/errors.toml", "language/checked-errors.toml"] {
        run(&testdata(file), check);
    }
}

fn contains(case: &toml::Table, error: &Error) -> Result<(), String> {
    match case.get("message").map(|message| message.as_str().unwrap()) {
        Some(part) if !error.to_string().contains(part) => Err(format!("{part:?} is not in: {error}")),
        _ => Ok(()),
    }
}

#[test]
fn event_errors() {
    run(&testdata("events/errors.toml"), |case| {
        let index = tamis::Index::new(Missing::Unknown, Limits::default());
        let expression = parse(text(case, "expression"), index.limits()).unwrap();
        index.add(1.into(), expression, None).unwrap();
        match index.match_json(text(case, "event").as_bytes()) {
            Err(error @ Error::Event(_)) => contains(case, &error),
            Err(other) => Err(format!("another error: {other}")),
            Ok(_) => Err("is accepted".to_owned()),
        }
    });
}

#[test]
fn accepted_events() {
    run(&testdata("events/accepted.toml"), |case| {
        let found = truth(case, Missing::Unknown)?;
        expect("truth", found.name(), text(case, "truth"))
    });
}

#[test]
fn one_index_answers_every_semantic_case() {
    // All expressions of a file in one index per time zone, so that predicates are shared and events see
    // attributes of other cases.
    for entry in std::fs::read_dir(testdata("semantics")).unwrap() {
        let text_of_file = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let file: toml::Table = toml::from_str(&text_of_file).unwrap();
        let cases: Vec<&toml::Table> =
            file["case"].as_array().unwrap().iter().map(|case| case.as_table().unwrap()).collect();
        let zones: BTreeSet<&str> = cases.iter().map(|case| zone_name(case)).collect();
        for zone in zones {
            let cases: Vec<&toml::Table> =
                cases.iter().filter(|case| zone_name(case) == zone).copied().collect();
            for (missing, key) in [(Missing::Unknown, "unknown"), (Missing::False, "false")] {
                one_index_answers(&cases, zone, missing, key);
            }
        }
    }
}

fn one_index_answers(cases: &[&toml::Table], zone: &str, missing: Missing, key: &str) {
    let zone = TimeZone::named(zone).unwrap();
    let index = Index::in_zone(missing, Limits::default(), Algorithm::Auto, zone);
    for (position, case) in cases.iter().enumerate() {
        let expression = parse(text(case, "expression"), index.limits()).unwrap();
        index.add((position as i64).into(), expression, None).unwrap();
    }
    let snapshot = index.snapshot();
    let mut scratch = MatchScratch::default();
    for (position, case) in cases.iter().enumerate() {
        let mut event = Event::default();
        event.set_now(now(case));
        event.decode_json(text(case, "event").as_bytes(), snapshot.attributes(), index.limits()).unwrap();
        let mut found = false;
        snapshot.matches(&event, &mut scratch, |id| found |= id.to_id() == (position as i64).into()).unwrap();
        assert_eq!(found, text(case, key) == "true", "{}, missing={key}", text(case, "name"));
    }
}

/// The value of a constant; `None` for a null.
fn constant(text: &str) -> Option<Value> {
    if text == "null" {
        return None;
    }
    let expression = parse(&format!("x = {text}"), &Limits::default()).unwrap();
    match expression.predicates().next().unwrap().test() {
        tamis::expression::Test::Equal(value) => Some(value.clone()),
        other => panic!("{other:?}"),
    }
}

/// An event whose values are given as constants.
fn typed_event(case: &toml::Table, attributes: &Attributes, limits: &Limits) -> tamis::Result<Event> {
    let mut event = Event::default();
    for (name, given) in case["event"].as_table().unwrap() {
        event.begin(attributes.intern(&name.as_str().into()));
        match given.as_array() {
            None => match constant(given.as_str().unwrap()) {
                Some(value) => event.push(value.as_ref(), limits)?,
                None => event.null(),
            },
            Some(list) => {
                event.list();
                for item in list {
                    match constant(item.as_str().unwrap()) {
                        Some(value) => event.push(value.as_ref(), limits)?,
                        None => event.other_element(),
                    }
                }
            }
        }
    }
    event.finish(attributes)?;
    Ok(event)
}

#[test]
fn values_of_all_types() {
    let mut files = 0;
    for entry in std::fs::read_dir(testdata("values")).unwrap() {
        files += 1;
        run(&entry.unwrap().path(), |case| {
            for (missing, key) in [(Missing::Unknown, "unknown"), (Missing::False, "false")] {
                let found = judge(text(case, "expression"), zone(case), missing, |attributes, limits| {
                    typed_event(case, attributes, limits)
                })?;
                expect(key, found.name(), text(case, key))?;
            }
            Ok(())
        });
    }
    assert!(files >= 5);
}
