//! For any bytes, decoding returns, and accepted input is encoded to the same bytes.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tamis::expression::binary::{NameTableBuilder, decode, encode};
use tamis::{Limits, parse};

/// A table with names of every kind: attributes, terms, lists and documents.
static NAMES: LazyLock<NameTableBuilder> = LazyLock::new(|| {
    let text = "a = 1 and lower(a) = 'x' and a + b > 3 and a < b and any(c, it = 1) and all(c, d = 2) and xpath('//e')";
    let mut names = NameTableBuilder::default();
    encode(&parse(text, &Limits::default()).unwrap(), &mut names, &mut Vec::new());
    names
});

fuzz_target!(|bytes: &[u8]| {
    if let Some(expression) = decode(bytes, NAMES.table()) {
        let mut again = Vec::new();
        encode(&expression, &mut NAMES.clone(), &mut again);
        assert_eq!(again, bytes);
    }
});
