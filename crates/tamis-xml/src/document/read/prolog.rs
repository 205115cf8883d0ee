//! What is allowed before and after the root element?

use quick_xml::events::Event;

use super::super::attributes::split;
use super::super::dtd::Dtd;
use super::{Frame, Session};
use crate::characters::is_space;
use crate::error::Result;

const DOCTYPE: &str = "<!DOCTYPE";

/// The content before the root element.
#[derive(Debug, Default)]
pub struct Prolog {
    /// The document type declaration, once read.
    pub dtd: Option<Dtd>,
    pub declaration: Declaration,
}

/// The content of an XML declaration.
#[derive(Debug, Default)]
pub struct Declaration {
    /// Whether the version is later than XML 1.0.
    pub is_later: bool,
    /// Whether the document is declared standalone.
    standalone: bool,
}

impl<'s> Session<'s> {
    /// Reads up to the root element, whose start tag is the next event of the returned frame.
    /// `None` if the root element does not start before `end`.
    pub(super) fn prolog(&mut self, prolog: &mut Prolog, end: usize) -> Result<Option<Frame<'s>>> {
        let text = self.text;
        let mut frame = Frame::new(&text[self.base..end], "", 0);
        loop {
            let before = frame.reader.clone();
            let start = self.base + frame.position();
            if text[start..end].starts_with("<!D") {
                // quick-xml only guesses the end of the declaration, so find it here.
                self.base = start + self.document_type(prolog, &text[start..end], start)?;
                frame = Frame::new(&text[self.base..end], "", 0);
                continue;
            }
            match self.next(&mut frame, start)? {
                Event::Decl(declaration) => {
                    if start != 0 {
                        return self.fail(start, "an XML declaration is allowed only at the very beginning");
                    }
                    match check_declaration(&declaration) {
                        Ok(declaration) => prolog.declaration = declaration,
                        Err(message) => return self.fail(start, message),
                    }
                }
                Event::Start(_) | Event::Empty(_) => {
                    frame.reader = before;
                    return Ok(Some(frame));
                }
                Event::Eof if !self.last => return Ok(None),
                Event::Eof => return self.fail(self.text.len(), "a document without an element"),
                event => self.outside(&event, start)?,
            }
        }
    }

    /// Reads a document type declaration and returns its length.
    fn document_type(&mut self, prolog: &mut Prolog, text: &str, start: usize) -> Result<usize> {
        if prolog.dtd.is_some() {
            return self.fail(start, "a second document type declaration");
        }
        let spaced = |rest: &str| rest.starts_with(|c: char| c.is_ascii_whitespace());
        let Some(content) = text.strip_prefix(DOCTYPE).filter(|rest| spaced(rest)) else {
            return self.fail(start, "`<!DOCTYPE` and a name are expected here");
        };
        match Dtd::read(content, prolog.declaration.standalone, self.limits) {
            Ok((dtd, length)) => {
                prolog.dtd = Some(dtd);
                Ok(DOCTYPE.len() + length)
            }
            Err((at, fault)) => self.fault(start + DOCTYPE.len() + at, fault),
        }
    }

    /// Handles content before or after the root element.
    pub(super) fn outside(&mut self, event: &Event<'_>, start: usize) -> Result<()> {
        self.count_lines(start);
        match event {
            Event::Text(text) if text.bytes().all(is_space) => Ok(()),
            Event::Comment(content) => self.comment(content, start),
            Event::PI(content) => self.instruction(content, start),
            Event::Text(text) => {
                let at = text.bytes().take_while(|byte| is_space(*byte)).count();
                self.fail(start + at, "text outside the root element")
            }
            Event::End(_) => self.fail(start, "an end tag without its start tag"),
            Event::Start(_) | Event::Empty(_) => self.fail(start, "a second root element"),
            Event::Decl(_) => self.fail(start, "an XML declaration is allowed only at the very beginning"),
            Event::DocType(_) if self.document.nodes.len() == 1 => {
                self.fail(start, "`<!DOCTYPE` and a name are expected here")
            }
            Event::DocType(_) => {
                self.fail(start, "a document type declaration must come before the root element")
            }
            Event::CData(_) | Event::GeneralRef(_) | Event::Eof => {
                self.fail(start, "character data outside the root element")
            }
        }
    }
}

/// Checks `version`, `encoding` and `standalone` of an XML declaration, in this order. Documents of
/// any version are read by the rules of XML 1.0 (5th edition, 2.8).
fn check_declaration(content: &str) -> std::result::Result<Declaration, &'static str> {
    let mut attributes = Vec::new();
    split(content.strip_prefix("xml").unwrap_or(content), &mut attributes).map_err(|(_, message)| message)?;
    let mut rest = attributes.as_slice();
    let mut declaration = Declaration::default();
    let digits = |text: &str| {
        text.strip_prefix("1.")
            .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()))
    };
    match rest.first() {
        Some(first) if first.name == "version" && digits(first.value) => {
            declaration.is_later = first.value != "1.0";
            rest = &rest[1..];
        }
        _ => return Err("an XML declaration begins with its version, 1.0"),
    }
    if let Some(first) = rest.first().filter(|first| first.name == "encoding") {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        if !first.value.starts_with(|c: char| c.is_ascii_alphabetic()) || !first.value.bytes().all(allowed) {
            return Err("an XML declaration with an improper encoding");
        }
        rest = &rest[1..];
    }
    if let Some(first) = rest.first().filter(|first| first.name == "standalone") {
        declaration.standalone = first.value == "yes";
        if !matches!(first.value, "yes" | "no") {
            return Err("an XML declaration is standalone `yes` or `no`");
        }
        rest = &rest[1..];
    }
    if rest.is_empty() {
        Ok(declaration)
    } else {
        Err("an XML declaration with more than version, encoding and standalone")
    }
}
