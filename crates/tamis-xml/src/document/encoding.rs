//! Which characters do a document's bytes encode?
//!
//! A byte order mark decides, then the declaration; the default is UTF-8. Other encodings are converted to
//! UTF-8. Line ends are normalised, and characters that XML forbids are rejected here.

use std::borrow::Cow;

use encoding_rs::{
    DecoderResult, Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_874, WINDOWS_1252, WINDOWS_1254,
    X_USER_DEFINED,
};

use super::TextPosition;
use crate::characters::is_allowed;
use crate::error::{Error, Result};

/// A document's text, without byte order mark and with line ends normalised.
pub fn decode(bytes: &[u8]) -> Result<Cow<'_, str>> {
    let text = match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => {
            if let Some(other) = declared(rest).filter(|label| !is_utf8_label(label)) {
                return fail(format!("the byte order mark says UTF-8, the declaration {other}"));
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
            None => utf8(bytes)?,
            Some(label) if is_utf8_label(label) => utf8(bytes)?,
            Some(label) => labelled(bytes, label)?,
        },
    };
    normalise(text)
}

fn fail<T>(message: String) -> Result<T> {
    Err(Error::Document { line: 1, column: 1, message })
}

fn is_utf8_label(label: &str) -> bool {
    Encoding::for_label(label.as_bytes()) == Some(UTF_8)
}

/// Decodes bytes in the encoding that their declaration names. Names are those of the WHATWG
/// standard, except that it treats US-ASCII and three parts of ISO 8859 as Windows code pages, and
/// XML processors do not.
fn labelled<'b>(bytes: &'b [u8], label: &str) -> Result<Cow<'b, str>> {
    let lower = label.to_ascii_lowercase();
    if matches!(&*lower, "us-ascii" | "ascii" | "ansi_x3.4-1968") {
        return match bytes.iter().position(|byte| !byte.is_ascii()) {
            None => utf8(bytes),
            Some(at) => {
                let text = String::from_utf8_lossy(&bytes[..at]);
                Err(TextPosition::end(&text).error("a byte that is not ASCII, as the declaration promised"))
            }
        };
    }
    let known = if lower == "latin-1" { "iso-8859-1" } else { &*lower };
    let encoding = match Encoding::for_label(known.as_bytes()) {
        Some(found) if found == UTF_16LE || found == UTF_16BE => {
            return fail("the declaration says UTF-16, the bytes are not".to_owned());
        }
        Some(found) if found != REPLACEMENT && found != X_USER_DEFINED => found,
        _ => return fail(format!("the encoding {label:?} is not supported")),
    };
    let windows = ["windows-", "cp1", "x-cp", "dos-"].iter().any(|prefix| known.starts_with(prefix));
    if !windows && [WINDOWS_1252, WINDOWS_1254, WINDOWS_874].contains(&encoding) {
        return iso8859(bytes, encoding);
    }
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(0));
    match decoder.decode_to_string_without_replacement(bytes, &mut text, true).0 {
        DecoderResult::InputEmpty => Ok(Cow::Owned(text)),
        _ => Err(TextPosition::end(&text).error(&format!("bytes that are not {}", encoding.name()))),
    }
}

/// Decodes a part of ISO 8859 that differs from a Windows code page only in the controls U+0080 to
/// U+009F.
fn iso8859<'b>(bytes: &[u8], windows: &'static Encoding) -> Result<Cow<'b, str>> {
    let mut table = ['\0'; 128];
    for (entry, byte) in table.iter_mut().zip(0x80_u8..=0xFF) {
        let single = [byte];
        let decoded = windows.decode_without_bom_handling(&single).0;
        *entry = if byte < 0xA0 { char::from(byte) } else { decoded.chars().next().unwrap_or('\0') };
    }
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 8);
    for &byte in bytes {
        let c = if byte < 0x80 { char::from(byte) } else { table[usize::from(byte - 0x80)] };
        if c == char::REPLACEMENT_CHARACTER {
            return Err(TextPosition::end(&text).error("a byte that its encoding does not define"));
        }
        text.push(c);
    }
    Ok(Cow::Owned(text))
}

/// Whether the first bytes of a document show that it is UTF-8; `None` if there are too few.
pub fn is_utf8(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] | [_] | [0xEF, 0xBB] => None,
        [0xEF, 0xBB, 0xBF, ..] => Some(true),
        [0xFE, 0xFF, ..] | [0xFF, 0xFE, ..] | [0x00, ..] | [_, 0x00, ..] => Some(false),
        _ if !b"<?xml".starts_with(&bytes[..bytes.len().min(5)]) => Some(true),
        _ if bytes.len() < 205 && !bytes.contains(&b'>') => None,
        _ => Some(declared(bytes).is_none_or(is_utf8_label)),
    }
}

/// Normalises text that is decoded already, as [`decode`] does. An encoding that it declares is
/// ignored.
pub fn normalise(text: Cow<'_, str>) -> Result<Cow<'_, str>> {
    let bytes = text.as_bytes();
    // A fold without branches runs at memory speed, and finds everything except two noncharacters.
    let control = |byte: u8| (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    let suspicious = bytes.iter().fold(false, |found, &byte| found | control(byte) | (byte == 0xEF));
    if suspicious && let Some((at, c)) = text.char_indices().find(|(_, c)| !is_allowed(*c)) {
        let message = format!("the character U+{:04X}, which XML does not allow", u32::from(c));
        return Err(TextPosition { text: &text, offset: at }.error(&message));
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
        TextPosition::end(&valid).error("bytes that are not UTF-8")
    })
}

fn utf16(bytes: &[u8], read: fn([u8; 2]) -> u16) -> Result<Cow<'_, str>> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    for unit in char::decode_utf16(pairs.iter().map(|pair| read(*pair))) {
        match unit {
            Ok(c) => text.push(c),
            Err(_) => return Err(TextPosition::end(&text).error("a surrogate without its other half")),
        }
    }
    if !odd.is_empty() {
        return Err(TextPosition::end(&text).error("half a UTF-16 character"));
    }
    let is_utf16 = |label: &&str| matches!(Encoding::for_label(label.as_bytes()), Some(found) if found == UTF_16LE || found == UTF_16BE);
    match declared(text.as_bytes()) {
        None => Ok(Cow::Owned(text)),
        Some(label) if is_utf16(&label) => Ok(Cow::Owned(text)),
        Some(other) => {
            let message = format!("the bytes are UTF-16, the declaration says {other}");
            Err(Error::Document { line: 1, column: 1, message })
        }
    }
}

/// The encoding that the declaration names, as it is written.
fn declared(bytes: &[u8]) -> Option<&str> {
    let declaration = bytes.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..declaration.len().min(200)];
    let declaration = &declaration[..memchr::memchr(b'>', declaration)?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + 8..].trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let quote = *value.first().filter(|quote| matches!(quote, b'"' | b'\''))?;
    let name = &value[1..1 + memchr::memchr(quote, &value[1..])?];
    std::str::from_utf8(name).ok()
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
        for (label, bytes, expected) in [
            ("iso-8859-1", &b"\x80\xE4"[..], "\u{80}ä"),
            ("L1", b"\xE4", "ä"),
            ("ISO-8859-9", b"\x80\xFD", "\u{80}ı"),
            ("windows-1254", b"\x80\xFD", "€ı"),
            ("ISO-8859-2", b"\xB1", "ą"),
            ("iso-8859-15", b"\xA4", "€"),
            ("KOI8-R", b"\xC1", "а"),
            ("Shift_JIS", b"\x82\xA0", "あ"),
            ("EUC-JP", b"\xA4\xA2", "あ"),
            ("GB18030", b"\xC4\xE3", "你"),
            ("Big5", b"\xA7\x41", "你"),
        ] {
            let declared = format!("<?xml version='1.0' encoding='{label}'?><a>");
            let content = [declared.as_bytes(), bytes, b"</a>"].concat();
            assert_eq!(decode(&content).unwrap(), format!("{declared}{expected}</a>"), "{label}");
        }
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
