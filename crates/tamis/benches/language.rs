//! How fast are expressions read, printed and normalised, and events decoded? One core.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::{BytesCount, ItemsCount};
use tamis::event::Attributes;
use tamis::expression::normalise;
use tamis::matcher::{Matcher, Scan, Scratch};
use tamis::{Event, Limits, Missing, parse};

const SHAPE: &str =
    "age between 18 and 25 and state in ('CA','NY') and not (gender = 'F' or source like 'espn%')";

fn main() {
    divan::main();
}

#[divan::bench]
fn parse_text(bencher: Bencher) {
    let limits = Limits::default();
    let expression = parse(SHAPE, &limits).unwrap();
    assert_eq!(expression.predicates().count(), 4);
    bencher.counter(ItemsCount::new(1u32)).bench(|| parse(black_box(SHAPE), &limits));
}

#[divan::bench]
fn print_text(bencher: Bencher) {
    let expression = parse(SHAPE, &Limits::default()).unwrap();
    bencher.counter(ItemsCount::new(1u32)).bench(|| black_box(&expression).to_string());
}

#[divan::bench]
fn normal_form(bencher: Bencher) {
    let expression = parse(SHAPE, &Limits::default()).unwrap();
    assert_eq!(normalise(&expression).nodes().len(), 5);
    bencher.counter(ItemsCount::new(1u32)).bench(|| normalise(black_box(&expression)));
}

#[divan::bench]
fn decode_json(bencher: Bencher) {
    let json =
        br#"{"age":21,"state":"CA","gender":"M","source":"bbc.co.uk","ignored":{"a":[1,2,3],"b":"text"},
        "session":"0123456789abcdef","tags":["new","sale"],"price":12.5}"#;
    let (limits, attributes) = (Limits::default(), Attributes::default());
    let expression = parse(SHAPE, &limits).unwrap();
    let scan = Scan::new([&expression], &attributes, Missing::Unknown);
    let mut event = Event::default();
    event.decode_json(json, &attributes, &limits).unwrap();
    let mut found = Vec::new();
    scan.matches(&event, &mut Scratch::default(), &mut found);
    assert_eq!(found, [0]);
    bencher
        .counter(BytesCount::of_slice(json))
        .bench_local(|| event.decode_json(black_box(json), &attributes, &limits));
}
