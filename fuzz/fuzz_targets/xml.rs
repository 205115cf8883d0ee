//! For any bytes, reading a document returns, and all engines agree on accepted documents. The bytes
//! before the first zero byte are an additional filter.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tamis::xml::{Engine, Filter, Limits};

const FILTERS: [&str; 8] = [
    "//a[@x = 1]//b[. < 3]",
    "/a/*/b[2]",
    "//b/following-sibling::a[last()]",
    "//a[.//b[@y]]/c",
    "not(//c) or count(//a) > 2",
    "//*[contains(text(), 'x')]",
    "//p:a | //@p:x",
    "string-length(//comment()) > string-length(//processing-instruction())",
];

static SMALL: LazyLock<Vec<Filter>> = LazyLock::new(|| {
    let engine = |name: &str| {
        let limits = Limits { document_depth: 100, memory: 50, ..Limits::default() };
        let filter = Filter::new(Engine::find(name).unwrap(), limits);
        for (id, text) in FILTERS.iter().enumerate() {
            filter.add((id as i64).into(), text, &[("p", "urn:p")]).unwrap();
        }
        filter
    };
    Engine::names().into_iter().map(engine).collect()
});

fuzz_target!(|data: &[u8]| {
    let (text, document) = match data.iter().position(|byte| *byte == 0) {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (&[][..], data),
    };
    let text = String::from_utf8_lossy(text);
    let results: Vec<_> = SMALL
        .iter()
        .map(|filter| {
            let added = filter.add((-1).into(), &text, &[]).is_ok();
            let result = filter.match_bytes(document);
            if added {
                filter.remove(&(-1).into());
            }
            result
        })
        .collect();
    for result in &results[1..] {
        assert_eq!(*result, results[0]);
    }
});
