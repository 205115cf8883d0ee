//! Splitting the attributes of a start tag.

use crate::characters::is_space;

/// An attribute as written; references in its value are not resolved yet.
#[derive(Debug, Clone, Copy)]
pub struct Written<'t> {
    pub name: &'t str,
    pub value: &'t str,
    /// Whether white space in the value collapses, according to its declared type.
    pub tokenised: bool,
}

/// Splits the text after a tag's name. The error is an offset and a message.
pub fn split<'t>(raw: &'t str, attributes: &mut Vec<Written<'t>>) -> Result<(), (usize, &'static str)> {
    let bytes = raw.as_bytes();
    let skip = |mut at: usize| {
        while at < bytes.len() && is_space(bytes[at]) {
            at += 1;
        }
        at
    };
    let mut at = 0;
    loop {
        let start = skip(at);
        if start == bytes.len() {
            return Ok(());
        }
        if start == at {
            return Err((at, "white space is expected before an attribute"));
        }
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'=' && !is_space(bytes[end]) {
            end += 1;
        }
        at = skip(end);
        if bytes.get(at) != Some(&b'=') {
            return Err((start, "an attribute without `=`"));
        }
        at = skip(at + 1);
        let Some(quote) = bytes.get(at).copied().filter(|quote| matches!(quote, b'"' | b'\'')) else {
            return Err((at, "an attribute's value without quotes"));
        };
        let Some(length) = memchr::memchr(quote, &bytes[at + 1..]) else {
            return Err((at, "an attribute's value without its closing quote"));
        };
        let value = &raw[at + 1..at + 1 + length];
        if let Some(less) = memchr::memchr(b'<', value.as_bytes()) {
            return Err((at + 1 + less, "`<` inside an attribute's value"));
        }
        attributes.push(Written { name: &raw[start..end], value, tokenised: false });
        at += length + 2;
    }
}
