//! A fast path for plain tags and text.
//!
//! Most of a document is tags and text without references. They are read here, in one pass that
//! finds the ends of names, tags and texts as it goes. Everything else, including errors, is left
//! to the event-based reader, which reads it again from its start.

use super::super::attributes::Written;
use super::super::dtd::Dtd;
use super::Session;
use crate::characters::is_space;
use crate::error::Result;
use crate::error::check_limit as check;

impl<'s> Session<'s> {
    /// Reads tags and text inside the root element, from `start` on. Returns the position of the
    /// first other markup or reference, or `end`.
    pub(super) fn plain_content<'t>(
        &mut self,
        start: usize,
        end: usize,
        dtd: &'t Dtd,
        attributes: &mut Vec<Written<'t>>,
    ) -> Result<usize>
    where
        's: 't,
    {
        let text = &self.text[..end];
        let bytes = text.as_bytes();
        let mut at = start;
        if self.document.lines.is_some() {
            return Ok(at);
        }
        while let Some(open) = self.document.reading.open.last() {
            let Some(&first) = bytes.get(at) else { break };
            if first != b'<' {
                let length = memchr::memchr2(b'<', b'&', &bytes[at..]).unwrap_or(end - at);
                let found = &text[at..at + length];
                if self.has_section_end
                    && let Some(section_end) = memchr::memmem::find(found.as_bytes(), b"]]>")
                {
                    return self.fail(at + section_end, "`]]>` stands in text");
                }
                self.document.push_text(found);
                at += length;
                if bytes.get(at) != Some(&b'<') {
                    break;
                }
                continue;
            }
            if bytes.get(at + 1) == Some(&b'/') {
                let name = &self.document.names.name(self.document.node(open.node).name).qualified;
                let behind = at + 2 + name.len();
                if bytes.get(behind) != Some(&b'>') || bytes[at + 2..behind] != *name.as_bytes() {
                    break;
                }
                self.document.close();
                at = behind + 1;
                continue;
            }
            attributes.clear();
            let Some(tag) = plain_start_tag(text, at, attributes) else { break };
            let depth = self.document.reading.open.len();
            self.open_element(tag.name, dtd, at, attributes)?;
            check("nesting of a document", "document_depth", depth + 1, self.limits.document_depth)?;
            if tag.is_empty {
                self.document.close();
            }
            at = tag.end;
        }
        Ok(at)
    }
}

/// A start tag, with its attributes split.
struct PlainTag<'t> {
    name: &'t str,
    is_empty: bool,
    /// The position after its `>`.
    end: usize,
}

/// The start tag at a position; `None` for other markup, or if anything in it is unusual.
fn plain_start_tag<'t>(
    text: &'t str,
    place: usize,
    attributes: &mut Vec<Written<'t>>,
) -> Option<PlainTag<'t>> {
    let bytes = text.as_bytes();
    let name_from = |start: usize| {
        let length = bytes[start..].iter().position(|byte| !is_name_byte(*byte))?;
        (length > 0).then(|| &text[start..start + length])
    };
    let space_from =
        |start: usize| bytes[start..].iter().position(|byte| !is_space(*byte)).map(|length| start + length);
    let name = name_from(place + 1)?;
    let mut at = place + 1 + name.len();
    loop {
        let next = space_from(at)?;
        match bytes[next] {
            b'>' => return Some(PlainTag { name, is_empty: false, end: next + 1 }),
            b'/' if bytes.get(next + 1) == Some(&b'>') => {
                return Some(PlainTag { name, is_empty: true, end: next + 2 });
            }
            _ if next == at => return None,
            _ => {}
        }
        let attribute = name_from(next)?;
        at = space_from(next + attribute.len())?;
        if bytes[at] != b'=' {
            return None;
        }
        at = space_from(at + 1)?;
        let quote = bytes[at];
        if !matches!(quote, b'"' | b'\'') {
            return None;
        }
        let length = memchr::memchr2(quote, b'<', &bytes[at + 1..])?;
        if bytes[at + 1 + length] != quote {
            return None;
        }
        let value = &text[at + 1..at + 1 + length];
        attributes.push(Written { name: attribute, value, tokenised: false });
        at += length + 2;
    }
}

/// Whether a byte may be part of a name. Bytes of non-ASCII characters are accepted, since names
/// are checked when they first occur.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':') || byte >= 0x80
}
