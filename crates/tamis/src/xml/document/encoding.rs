//! Which characters do a document's bytes stand for?
//!
//! A byte order mark decides, then the declaration, then UTF-8. What is not UTF-8 is rewritten as
//! UTF-8; line ends are normalised, and characters that XML forbids are found here, once for all.

use std::borrow::Cow;

use super::Place;
use crate::error::{Error, Result};
use crate::xml::characters::{is_allowed, is_space};

/// What windows-1252 has where Latin-1 has controls; the gaps stay controls.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// A document's text, without byte order mark and with line ends normalised.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    let fail = |message: String| Err(Error::Document { line: 1, column: 1, message });
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => {
            match declared(rest) {
                None | Some("utf-8" | "utf8") => {}
                Some(other) => {
                    return fail(format!("the byte order mark says UTF-8, the declaration {other}"));
                }
            }
            utf8(rest)?
        }
        [0x00, 0x00, 0xFE, 0xFF, ..] | [0xFF, 0xFE, 0x00, 0x00, ..] => {
            return fail("the encoding UTF-32 is not supported".to_owned());
        }
        [0xFE, 0xFF, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xFF, 0xFE, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0x00, b'<', ..] => utf16(bytes, u16::from_be_bytes)?,
        [b'<', 0x00, ..] => utf16(bytes, u16::from_le_bytes)?,
        _ => match declared(bytes) {
            None | Some("utf-8" | "utf8") => utf8(bytes)?,
            Some("us-ascii" | "ascii") => match bytes.iter().position(|byte| !byte.is_ascii()) {
                None => utf8(bytes)?,
                Some(at) => {
                    let text = String::from_utf8_lossy(&bytes[..at]);
                    return Err(
                        Place::end(&text).error("a byte that is not ASCII, as the declaration promised")
                    );
                }
            },
            Some("iso-8859-1" | "latin-1" | "latin1") => {
                Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect())
            }
            Some("windows-1252" | "cp1252") => Cow::Owned(
                bytes
                    .iter()
                    .map(|&byte| match byte {
                        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
                        _ => char::from(byte),
                    })
                    .collect(),
            ),
            Some("utf-16" | "utf-16le" | "utf-16be") => {
                return fail("the declaration says UTF-16, the bytes are not".to_owned());
            }
            Some(other) => {
                let known = "UTF-8, UTF-16, ISO-8859-1, windows-1252 and US-ASCII";
                return fail(format!("the encoding {other:?} is not supported; {known} are"));
            }
        },
    };
    normalise(text)
}

/// Whether bytes that begin a document say that it is UTF-8; `None` where they are too few to say.
pub fn is_utf8(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] | [_] | [0xEF, 0xBB] => None,
        [0xEF, 0xBB, 0xBF, ..] => Some(true),
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0x00, ..] | [_, 0x00, ..] => Some(false),
        _ if !b"<?xml".starts_with(&bytes[..bytes.len().min(5)]) => Some(true),
        _ if bytes.len() < 205 && !bytes.contains(&b'>') => None,
        _ => Some(matches!(declared(bytes), None | Some("utf-8" | "utf8"))),
    }
}

/// Text that is decoded already, as [`decode`] gives it; its declaration of an encoding means nothing.
pub fn normalise(text: Cow<'_, str>) -> Result<Cow<'_, str>> {
    let bytes = text.as_bytes();
    // A fold without branches runs at the speed of memory, and finds all but two noncharacters.
    let control = |byte: u8| (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    let suspicious = bytes.iter().fold(false, |found, &byte| found | control(byte) | (byte == 0xEF));
    if suspicious && let Some((at, c)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let message = format!("the character U+{:04X}, which XML does not allow", u32::from(c));
        return Err(Place { text: &text, offset: at }.error(&message));
    }
    if memchr::memchr(b'\r', bytes).is_none() {
        return Ok(text);
    }
    let mut normalised = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
        normalised.push_str(&rest[..at]);
        normalised.push('\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    normalised.push_str(rest);
    Ok(Cow::Owned(normalised))
}

fn utf8(bytes: &[u8]) -> Result<Cow<'_, str>> {
    std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|error| {
        let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        Place::end(&valid).error("bytes that are not UTF-8")
    })
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(pairs.iter().map(|pair| read(*pair))) {
        match unit {
            Ok(c) => text.push(c),
            Err(_) => return Err(Place::end(&text).error("a surrogate without its other half")),
        }
    }
    if !odd.is_empty() {
        return Err(Place::end(&text).error("half a UTF-16 character"));
    }
    match declared(text.as_bytes()) {
        None | Some("utf-16" | "utf-16le" | "utf-16be") => Ok(Cow::Owned(text)),
        Some(other) => {
            let message = format!("the bytes are UTF-16, the declaration says {other}");
            Err(Error::Document { line: 1, column: 1, message })
        }
    }
}

/// The encoding that the declaration names, where it is one of the known ones in lower case.
fn declared(bytes: &[u8]) -> Option<&str> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.len().min(200)];
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let name = &value[1..1 + memchr::memchr(quote, &value[1..])?];
    debug_assert!(!is_space(quote));
    let known = [
        "utf-8",
        "utf8",
        "utf-16",
        "utf-16le",
        "utf-16be",
        "iso-8859-1",
        "latin-1",
        "latin1",
        "windows-1252",
        "cp1252",
        "us-ascii",
        "ascii",
    ];
    let known = known.into_iter().find(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    known.or_else(|| std::str::from_utf8(name).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16_bytes(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(order).collect()
    }

    #[test]
    fn encodings_are_recognised() {
        let text = "<?xml version='1.0' encoding='UTF-16'?><a>ä€😀</a>";
        let with_mark = format!("\u{FEFF}{text}");
        for bytes in [
            utf16_bytes(&with_mark, u16::to_le_bytes),
            utf16_bytes(&with_mark, u16::to_be_bytes),
            utf16_bytes(text, u16::to_le_bytes),
            utf16_bytes(text, u16::to_be_bytes),
        ] {
            assert_eq!(decode(&bytes).unwrap(), text);
        }
        assert_eq!(decode("\u{FEFF}<a>ä</a>".as_bytes()).unwrap(), "<a>ä</a>");
        let latin = b"<?xml version=\"1.0\" encoding = \"ISO-8859-1\"?><a>\xE4</a>";
        assert!(decode(latin).unwrap().ends_with("<a>ä</a>"));
        let windows = b"<?xml version='1.0' encoding='Windows-1252'?><a>\x80\xE4</a>";
        assert!(decode(windows).unwrap().ends_with("<a>€ä</a>"));
    }

    #[test]
    fn what_is_not_text_is_an_error_with_a_place() {
        for (bytes, expected) in [
            (&b"<a>\n\xFF</a>"[..], "line 2, column 1"),
            (b"<a>\x01</a>", "U+0001"),
            ("<a>\u{FFFE}</a>".as_bytes(), "U+FFFE"),
            (b"<?xml version='1.0' encoding='EBCDIC'?><a/>", "\"EBCDIC\" is not supported"),
            (b"<?xml version='1.0' encoding='ascii'?><a>\xE4</a>", "not ASCII"),
            (b"<?xml version='1.0' encoding='utf-16'?><a/>", "says UTF-16"),
            (b"\xFF\xFE<\x00a", "half a UTF-16"),
            (b"\xFF\xFE\x00\xD8\x00\x00", "surrogate"),
            (b"\xFF\xFE\x00\x00", "UTF-32"),
        ] {
            let error = decode(bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn line_ends_become_newlines() {
        assert_eq!(decode(b"a\r\nb\rc\n\r\r\n").unwrap(), "a\nb\nc\n\n\n");
    }
}
