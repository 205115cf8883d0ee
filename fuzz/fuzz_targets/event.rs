//! For any bytes, decoding an event returns, and accepted events can be matched and explained.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tamis::index::MatchScratch;
use tamis::{Event, Index, Limits, Missing, Truth, parse};

const EXPRESSIONS: [&str; 8] = [
    "a = 1 or a.b > 2.5 or not a.c.d",
    "b in ('x', 2, true) and b not in (3)",
    "c like '%x_' or c starts with 'y' xor c contains 'z'",
    "d matches '^[a-z]+$' or d between 'a' and 'm'",
    "exists(a) and missing(b)",
    "e is null xnor a.b is not null",
    "\"a \"\"quoted\"\" name\" = 1 or f < 0",
    "not (a = 1 and b = 2 or c = 'x')",
];

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let index = Index::new(Missing::Unknown, Limits::default());
    for (id, text) in EXPRESSIONS.iter().enumerate() {
        let expression = parse(text, index.limits()).unwrap();
        index.add((id as i64).into(), expression, None).unwrap();
    }
    index
});

fuzz_target!(|bytes: &[u8]| {
    let snapshot = INDEX.snapshot();
    let mut event = Event::default();
    if event.decode_json(bytes, snapshot.attributes(), INDEX.limits()).is_err() {
        return;
    }
    let mut found = Vec::new();
    snapshot.matches(&event, &mut MatchScratch::default(), |id| found.push(id.to_id())).unwrap();
    for subscription in snapshot.subscriptions() {
        let subscription = subscription.unwrap();
        let truth = INDEX.explain(&subscription.expression, &event).unwrap().truth();
        assert_eq!(found.contains(&subscription.id), truth == Truth::True);
    }
});
