//! How fast are rules over times and decimals, beside the same rules over integers?
//!
//! ```console
//! $ values 100000
//! ```
//!
//! Every rule asks for a range of one attribute and a value of another; an event has ten of each. The
//! kinds take turns, so that what disturbs one disturbs all, and the best of several turns counts.
//! All kinds must find the same number of matches before a time is reported.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use tamis::{Event, Index, Limits, MatchScratch, Missing, Snapshot, Value, WrittenSubscription, read_number};

/// Attributes of each of the two sorts, and the values they have.
const ATTRIBUTES: u64 = 10;
const VALUES: u64 = 100_000;

/// Events per turn, and turns.
const EVENTS: u64 = 500;
const TURNS: usize = 9;

/// A kind of values: the literal of a number, which keeps the order of numbers.
struct Kind {
    name: &'static str,
    literal: fn(u64) -> String,
}

const KINDS: [Kind; 6] = [
    Kind { name: "integers", literal: |number| number.to_string() },
    Kind {
        name: "timestamps",
        literal: |number| {
            let (day, second) = (number / 86_400 + 1, number % 86_400);
            let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
            format!("timestamp '2026-01-{day:02} {hour:02}:{minute:02}:{second:02}Z'")
        },
    },
    Kind { name: "decimals", literal: |number| format!("{}.{:02}", number / 100, number % 100) },
    Kind { name: "decimals of 24 digits", literal: |number| format!("123456789012345678.{number:06}") },
    Kind { name: "intervals", literal: |number| format!("interval '{number}' second") },
    Kind {
        name: "addresses",
        literal: |number| format!("ip '10.{}.{}.{}'", number >> 16, number >> 8 & 255, number & 255),
    },
];

/// A number that looks random, from two.
fn mixed(seed: u64, number: u64) -> u64 {
    let mut mixed = (seed << 32 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}

fn rule(kind: &Kind, number: u64) -> String {
    let pick = |seed: u64, below: u64| mixed(seed, number) % below;
    let low = pick(1, VALUES - 100);
    let (ranged, equal) = (pick(2, ATTRIBUTES), pick(3, ATTRIBUTES));
    // Few values of the second attribute, so that some rules hold.
    let (low, high) = ((kind.literal)(low), (kind.literal)(low + 99));
    format!("a{ranged} between {low} and {high} and b{equal} = {}", (kind.literal)(pick(4, 50)))
}

fn value(literal: &str) -> Value {
    if let Ok(number) = read_number(literal) {
        return number.to_value();
    }
    let expression = tamis::parse(&format!("x = {literal}"), &Limits::none()).expect("a literal");
    match expression.predicates().next().map(|predicate| predicate.test().clone()) {
        Some(tamis::Test::Equal(value)) => value,
        other => unreachable!("{other:?}"),
    }
}

fn events(kind: &Kind, snapshot: &Snapshot) -> Vec<Event> {
    let limits = Limits::none();
    let attributes = snapshot.attributes();
    let event = |number: u64| {
        let mut event = Event::default();
        for attribute in 0..ATTRIBUTES {
            let seed = number * ATTRIBUTES + attribute;
            for (sort, below) in [("a", VALUES), ("b", 50)] {
                let value = value(&(kind.literal)(mixed(seed, below) % below));
                event.begin(attributes.intern(&format!("{sort}{attribute}").into()));
                event.push(value.as_ref(), &limits).expect("no limit");
            }
        }
        event.finish(attributes).expect("every attribute once");
        event
    };
    (0..EVENTS).map(event).collect()
}

struct Measured {
    kind: &'static Kind,
    index: Index,
    events: Vec<Event>,
    best: Duration,
    matches: u64,
}

fn main() -> ExitCode {
    let rules = std::env::args().nth(1).map_or(Ok(100_000), |text| text.parse::<u64>());
    let Ok(rules) = rules else {
        eprintln!("usage: values [RULES]");
        return ExitCode::FAILURE;
    };
    let mut all: Vec<Measured> = KINDS
        .iter()
        .map(|kind| {
            let index = Index::new(Missing::Unknown, Limits::none());
            let written =
                (0..rules).map(|number| WrittenSubscription::new(number as i64, rule(kind, number)));
            index.add_written(written.collect()).expect("rules of this binary");
            index.settle();
            let events = events(kind, &index.snapshot());
            Measured { kind, index, events, best: Duration::MAX, matches: 0 }
        })
        .collect();
    let mut scratch = MatchScratch::default();
    for _ in 0..TURNS {
        for measured in &mut all {
            let snapshot = measured.index.snapshot();
            measured.matches = 0;
            let started = Instant::now();
            for event in &measured.events {
                snapshot.matches(event, &mut scratch, |_| measured.matches += 1).expect("nothing on disk");
            }
            measured.best = measured.best.min(started.elapsed());
        }
    }
    let (matches, integers) = (all[0].matches, all[0].best);
    println!("{rules} rules, {EVENTS} events, {matches} matches");
    println!("{:<24} {:>12} {:>10}", "values", "us/event", "x integers");
    for measured in &all {
        if measured.matches != matches {
            eprintln!("{} find {} matches", measured.kind.name, measured.matches);
            return ExitCode::FAILURE;
        }
        let micros = measured.best.as_secs_f64() * 1e6 / EVENTS as f64;
        let ratio = measured.best.as_secs_f64() / integers.as_secs_f64();
        println!("{:<24} {micros:>12.2} {ratio:>10.2}", measured.kind.name);
    }
    ExitCode::SUCCESS
}
