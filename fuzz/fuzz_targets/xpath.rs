//! For any expression and document, matching ends within its budget: with a result on which all ways of
//! evaluating agree, or at a limit. The bytes before the first zero byte are the expression.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tamis::Error;
use tamis::xml::{Engine, Filter, Input, Limits, Variable, XPath};

const WORK: usize = 2_000_000;

fn filter(engine: &str) -> Filter {
    let limits = Limits {
        filter_work: WORK,
        document_work: WORK,
        filter_memory: 1 << 22,
        expansion: 1 << 16,
        ..Limits::default()
    };
    Filter::new(Engine::find(engine).unwrap(), limits)
}

static FILTERS: LazyLock<[Filter; 2]> = LazyLock::new(|| ["auto", "scan"].map(filter));

/// A document with many positions, siblings and levels, for input without a document.
static DOCUMENT: LazyLock<String> = LazyLock::new(|| {
    let row = "<a x='1'><b>2</b> c <b y='3'><a>4<c/></a></b><!--d--></a>";
    format!("<r>{}{}{}</r>", "<a>".repeat(40), row.repeat(60), "</a>".repeat(40))
});

fuzz_target!(|data: &[u8]| {
    let (text, document) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, DOCUMENT.as_bytes()),
    };
    let text = String::from_utf8_lossy(text);
    let variables = [("n", Variable::Number(2.0)), ("s", Variable::String("b".into()))];
    let Ok(xpath) = XPath::parse_with(&text, &[("p", "urn:p")], &variables, &Limits::default()) else {
        return;
    };
    let results = FILTERS.each_ref().map(|filter| {
        filter
            .add_many(vec![tamis::xml::FilterSubscription::new(1.into(), xpath.clone())])
            .expect("a filter that was read");
        let result = filter.match_bytes(document);
        if result.is_ok() {
            let work = filter.work(&filter.snapshot(), Input::Bytes(document)).unwrap();
            assert!(work.units <= WORK as u64 + 1);
        }
        let selected = filter.select(&filter.snapshot(), Input::Bytes(document), None);
        if let (Ok(ids), Ok(selected)) = (&result, &selected) {
            assert_eq!(ids.len(), selected.len());
        }
        filter.remove(&1.into());
        result
    });
    let limited = |result: &Result<_, Error>| match result {
        Err(Error::Filter { cause, .. }) => matches!(**cause, Error::Limit { .. }),
        Err(Error::Limit { .. }) => true,
        _ => false,
    };
    // One way may need less work than the other.
    if !results.iter().any(limited) {
        assert_eq!(results[0], results[1]);
    }
});
