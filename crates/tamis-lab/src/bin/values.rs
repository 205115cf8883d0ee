//! How much slower are types, functions and list elements than equivalent rules without them?
//!
//! ```console
//! $ values 100000
//! ```
//!
//! Each table compares workloads with its first row, whose rules and events express the same more
//! simply: values of other types with integers, `lower(name)` with a name that is already lower
//! case, `any(items, ...)` with a separate event for every element. The time is for filling an
//! event and matching it. Workloads take turns, so that disturbances affect all of them, and the
//! fastest turn counts. All must find the same number of matches before a time is reported.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use tamis::event::AttributeId;
use tamis::index::{MatchScratch, Snapshot, WrittenSubscription};
use tamis::value::{Value, read_number};
use tamis::{Event, Id, Index, Limits, Missing};

/// The number of attributes of each of two sorts, and their number of values.
const ATTRIBUTES: u64 = 10;
const VALUES: u64 = 100_000;

/// Events per turn.
const EVENTS: u64 = 500;

/// Elements of a list.
const ELEMENTS: u64 = 10;

/// How the events of a workload are filled.
enum Filled {
    /// From attribute values.
    Values(Vec<(AttributeId, Value)>),
    /// From JSON texts, each matched as a separate event.
    Json(Vec<String>),
}

struct Workload {
    name: String,
    index: Index,
    events: Vec<Filled>,
    best: Duration,
}

impl Workload {
    fn new(name: &str, rules: impl Iterator<Item = String>) -> Workload {
        let index = Index::new(Missing::Unknown, Limits::none());
        let written = rules.zip(0..).map(|(rule, id)| WrittenSubscription::new(id, rule));
        index.add_written(written.collect()).expect("rules of this binary");
        index.settle();
        Workload { name: name.to_owned(), index, events: Vec::new(), best: Duration::MAX }
    }

    fn json(name: &str, rules: impl Iterator<Item = String>, events: Vec<Vec<String>>) -> Workload {
        let events = events.into_iter().map(Filled::Json).collect();
        Workload { events, ..Workload::new(name, rules) }
    }

    /// Matches all events, and calls `found` with the number of each event and each match.
    fn run(&self, event: &mut Event, scratch: &mut MatchScratch, mut found: impl FnMut(usize, Id)) {
        let (snapshot, limits) = (self.index.snapshot(), Limits::none());
        let attributes = snapshot.attributes();
        for (number, filled) in self.events.iter().enumerate() {
            let mut matches = |event: &Event| {
                let matched = snapshot.matches(event, scratch, |id| found(number, id.to_id()));
                matched.expect("nothing on disk");
            };
            match filled {
                Filled::Json(texts) => {
                    for text in texts {
                        event.decode_json(text.as_bytes(), attributes, &limits).expect("JSON of this binary");
                        matches(event);
                    }
                }
                Filled::Values(values) => {
                    event.clear();
                    for (attribute, value) in values {
                        event.begin(*attribute);
                        event.push(value.as_ref(), &limits).expect("no limit");
                    }
                    event.finish(attributes).expect("every attribute once");
                    matches(event);
                }
            }
        }
    }

    /// The number of matching (event, rule) pairs.
    fn matches(&self) -> usize {
        let mut pairs = HashSet::new();
        self.run(&mut Event::default(), &mut MatchScratch::default(), |number, id| {
            pairs.insert((number, id));
        });
        pairs.len()
    }
}

/// Measures workloads relative to the first. Returns false if their matches differ.
fn compare(title: &str, mut all: Vec<Workload>, turns: usize) -> bool {
    let matches = all[0].matches();
    for workload in &all[1..] {
        let other = workload.matches();
        if other != matches {
            eprintln!("{title}: {} find {other} matches, {} find {matches}", workload.name, all[0].name);
            return false;
        }
    }
    let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
    for _ in 0..turns {
        for workload in &mut all {
            let mut count = 0;
            let started = Instant::now();
            workload.run(&mut event, &mut scratch, |_, _| count += 1);
            workload.best = workload.best.min(started.elapsed());
            std::hint::black_box(count);
        }
    }
    let first = all[0].best.as_secs_f64();
    println!("\n{title}: {EVENTS} events, {matches} matches");
    println!("{:<36} {:>12} {:>10}", "", "us/event", "x first");
    for Workload { name, best, .. } in &all {
        let seconds = best.as_secs_f64();
        println!("{name:<36} {:>12.2} {:>10.2}", seconds * 1e6 / EVENTS as f64, seconds / first);
    }
    true
}

/// A pseudorandom number, from two numbers.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut mixed = (seed << 32 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

/// A kind of value: a function from numbers to constants that preserves the order.
struct ValueKind {
    name: &'static str,
    constant: fn(u64) -> String,
}

const KINDS: [ValueKind; 6] = [
    ValueKind { name: "integers", constant: |number| number.to_string() },
    ValueKind {
        name: "timestamps",
        constant: |number| {
            let (day, second) = (number / 86_400 + 1, number % 86_400);
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            format!("timestamp '2026-01-{day:02} {hour:02}:{minute:02}:{second:02}Z'")
        },
    },
    ValueKind { name: "decimals", constant: |number| format!("{}.{:02}", number / 100, number % 100) },
    ValueKind { name: "decimals of 24 digits", constant: |number| format!("123456789012345678.{number:06}") },
    ValueKind { name: "intervals", constant: |number| format!("interval '{number}' second") },
    ValueKind {
        name: "addresses",
        constant: |number| format!("ip '10.{}.{}.{}'", number >> 16, number >> 8 & 255, number & 255),
    },
];

/// A range of one attribute and an equality on another.
fn typed_rule(kind: &ValueKind, number: u64) -> String {
    let pick = |seed: u64, below: u64| mixed(seed, number) % below;
    let low = pick(1, VALUES - 100);
    let (ranged, equal) = (pick(2, ATTRIBUTES), pick(3, ATTRIBUTES));
    // The second attribute has few values, so that some rules hold.
    let (low, high) = ((kind.constant)(low), (kind.constant)(low + 99));
    format!("a{ranged} between {low} and {high} and b{equal} = {}", (kind.constant)(pick(4, 50)))
}

fn value(constant: &str) -> Value {
    if let Ok(number) = read_number(constant) {
        return number.to_value();
    }
    let expression = tamis::parse(&format!("x = {constant}"), &Limits::none()).expect("a constant");
    match expression.predicates().next().map(|predicate| predicate.test().clone()) {
        Some(tamis::expression::Test::Equal(value)) => value,
        other => unreachable!("{other:?}"),
    }
}

fn typed_event(kind: &ValueKind, number: u64, snapshot: &Snapshot) -> Filled {
    let names = (0..ATTRIBUTES).flat_map(|attribute| [("a", attribute, VALUES), ("b", attribute, 50)]);
    let values = names.map(|(sort, attribute, below)| {
        let seed = number * ATTRIBUTES + attribute;
        let name = snapshot.attributes().intern(&format!("{sort}{attribute}").into());
        (name, value(&(kind.constant)(mixed(seed, below) % below)))
    });
    Filled::Values(values.collect())
}

fn typed(kind: &ValueKind, rules: u64) -> Workload {
    let mut workload = Workload::new(kind.name, (0..rules).map(|number| typed_rule(kind, number)));
    let snapshot = workload.index.snapshot();
    workload.events = (0..EVENTS).map(|number| typed_event(kind, number, &snapshot)).collect();
    workload
}

/// A capitalised word of a few syllables.
fn word(number: u64) -> String {
    const SYLLABLES: [&str; 16] =
        ["Ba", "Ce", "Di", "Fo", "Gu", "Ha", "Je", "Ki", "Lo", "Mu", "Na", "Pe", "Qui", "Ro", "Su", "Ta"];
    (0..3).map(|place| SYLLABLES[(number >> (4 * place) & 15) as usize]).collect()
}

/// Names of three words. A rule tests the whole name, or a word at either end or anywhere.
fn named(title: &str, folded: bool, rules: u64) -> Workload {
    let term = if folded { "name" } else { "lower(name)" };
    let fold = |text: String| if folded { text.to_lowercase() } else { text };
    let full = |number: u64| {
        let words: [u64; 3] = std::array::from_fn(|place| mixed(10 + place as u64, number) % 4096);
        words.map(word).join(" ")
    };
    let rule = |number: u64| {
        let one = word(mixed(5, number) % 4096).to_lowercase();
        let test = match number % 4 {
            0 => format!("= '{}'", full(mixed(6, number) % EVENTS).to_lowercase()),
            1 => format!("starts with '{one}'"),
            2 => format!("ends with '{one}'"),
            _ => format!("contains '{one}'"),
        };
        format!("{term} {test} and kind = {}", mixed(7, number) % 20)
    };
    let event = |number: u64| {
        let (name, kind) = (fold(full(number)), mixed(8, number) % 20);
        vec![format!(r#"{{"id": {number}, "name": "{name}", "kind": {kind}}}"#)]
    };
    Workload::json(title, (0..rules).map(rule), (0..EVENTS).map(event).collect())
}

/// Objects with three fields. A rule tests two of them; `values` is the number of values of one.
fn elements(together: bool, values: u64, rules: u64) -> Workload {
    let rule = |number: u64| {
        let (sku, price) = (mixed(1, number) % values, mixed(2, number) % 1000);
        let inner = format!("sku = 's{sku}' and price > {price}");
        if together { format!("any(items, {inner})") } else { inner }
    };
    let object = |number: u64| {
        let (sku, price) = (mixed(3, number) % values, mixed(4, number) % 1000);
        format!(r#"{{"sku": "s{sku}", "price": {price}, "count": {}}}"#, number % 7)
    };
    let event = |number: u64| {
        let objects = (0..ELEMENTS).map(|element| object(number * ELEMENTS + element));
        if !together {
            return objects.collect();
        }
        let mut list = String::from(r#"{"items": ["#);
        for (place, object) in objects.enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(list, "{comma}{object}").expect("a string takes all");
        }
        vec![list + "]}"]
    };
    let name = if together { "any(items, ...)" } else { "every element an event" };
    Workload::json(name, (0..rules).map(rule), (0..EVENTS).map(event).collect())
}

/// The title of a table, and its workloads for a number of rules.
type Table = (&'static str, fn(u64) -> Vec<Workload>);

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let rules = arguments.next().map_or(Ok(100_000), |text| text.parse::<u64>());
    let table = arguments.next();
    let turns = arguments.next().map_or(Ok(30), |text| text.parse::<usize>());
    let (Ok(rules), Ok(turns)) = (rules, turns) else {
        eprintln!("usage: values [RULES [values | text | lists [TURNS]]]");
        return ExitCode::FAILURE;
    };
    println!("{rules} rules");
    let tables: [Table; 4] = [
        ("values", |rules| KINDS.iter().map(|kind| typed(kind, rules)).collect()),
        ("text", |rules| vec![named("name, folded", true, rules), named("lower(name)", false, rules)]),
        ("lists, few matches", |rules| vec![elements(false, 100_000, rules), elements(true, 100_000, rules)]),
        ("lists, many matches", |rules| vec![elements(false, 5_000, rules), elements(true, 5_000, rules)]),
    ];
    let chosen =
        tables.iter().filter(|(name, _)| table.as_deref().is_none_or(|table| name.starts_with(table)));
    let same = chosen.fold(true, |same, (name, workloads)| same & compare(name, workloads(rules), turns));
    if same { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
