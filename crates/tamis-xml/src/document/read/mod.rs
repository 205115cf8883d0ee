//! How is a document read from its text?
//!
//! quick-xml splits the text into tags, text and the rest. This module checks what quick-xml does
//! not: names, attributes, end tags, references, entities and comments, the places where they are
//! allowed, and that there is one root element. A document that is not well formed or exceeds a
//! limit is an error.

mod build;
mod plain;
mod prolog;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::dtd::{Dtd, ENTITY_DEPTH, Fault, character, predefined, resolve, too_deep};
use super::names::{NO_NAMESPACE, NamespaceId, PrefixId};
use super::{Document, DocumentNode, NodeIndex, NodeKind, TextPosition};
use crate::Limits;
use crate::characters::{is_ncname, is_space};
use crate::error::check_limit as check;
use crate::error::{Error, Result};
use crate::limits::UndeclaredEntities;
use prolog::Prolog;

/// Offsets and positions are 32-bit.
const LARGEST: usize = 1 << 30;

pub fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
    check("bytes of a document", "document", bytes, limits.document.min(LARGEST))
}

/// Scratch memory of the reader, reused across documents.
#[derive(Debug, Default)]
pub struct Reading {
    pub(super) open: Vec<OpenElement>,
    /// The last child of the document so far, or 0.
    last: NodeIndex,
    /// For every prefix, its namespaces, innermost last.
    pub(super) bindings: Vec<Vec<NamespaceId>>,
    /// The prefixes bound by open elements, in order.
    pub(super) bound: Vec<PrefixId>,
    /// The line of the current markup, from 1, if lines are recorded.
    line: u32,
    /// The position up to which lines have been counted.
    counted: usize,
}

/// An element whose end tag has not been read yet.
#[derive(Debug)]
pub(super) struct OpenElement {
    pub node: NodeIndex,
    /// The number of prefixes bound outside.
    pub bound: usize,
    /// The last child so far, or 0.
    pub last: NodeIndex,
}

/// The progress of reading a document.
#[derive(Debug)]
pub struct ReadProgress {
    /// The position in the text.
    offset: usize,
    prolog: Prolog,
    /// Whether the root element has begun.
    rooted: bool,
    /// The number of names known before the document.
    names: usize,
    /// The number of bytes that entities may still expand to.
    budget: usize,
}

pub fn read(document: &mut Document, text: &str, limits: &Limits) -> Result<()> {
    let mut progress = begin(document, limits);
    read_up_to(document, &mut progress, text, text.len(), true, limits)
}

/// Prepares for a document.
pub fn begin(document: &mut Document, limits: &Limits) -> ReadProgress {
    if document.names.len() > limits.names {
        document.names.clear();
    }
    read_nothing(document);
    let names = document.names.len();
    ReadProgress { offset: 0, prolog: Prolog::default(), rooted: false, names, budget: limits.expansion }
}

/// Continues up to `end`. The text may grow afterwards, unless this is the `last` call. The part
/// before `end` consists of complete tags and the text between them.
pub fn read_up_to(
    document: &mut Document,
    progress: &mut ReadProgress,
    text: &str,
    end: usize,
    last: bool,
    limits: &Limits,
) -> Result<()> {
    check_size(text.len(), limits)?;
    let read = &text.as_bytes()[progress.offset..end];
    let has_section_end = memchr::memmem::find(read, b"]]>").is_some();
    let mut session = Session {
        document,
        limits,
        text,
        base: progress.offset,
        last,
        names: progress.names,
        budget: progress.budget,
        has_section_end,
    };
    let result = session.document(progress, end);
    progress.offset = end;
    progress.budget = session.budget;
    if result.is_err() {
        document.nodes.clear();
    }
    match result {
        Err(Error::Document { line, column, message }) if progress.prolog.declaration.is_later => {
            let message = format!("{message}; XML 1.1 and later are read by the rules of XML 1.0");
            Err(Error::Document { line, column, message })
        }
        result => result,
    }
}

/// Removes all nodes except the document node.
pub fn read_nothing(document: &mut Document) {
    document.nodes.clear();
    document.text.clear();
    document.values.clear();
    document.elements.take();
    document.normalized.take();
    document.identified.clear();
    let reading = &mut document.reading;
    reading.open.clear();
    reading.last = 0;
    (reading.line, reading.counted) = (1, 0);
    if let Some(lines) = &mut document.lines {
        lines.clear();
    }
    reading.bound.clear();
    reading.bindings.iter_mut().for_each(Vec::clear);
    document.push(NodeKind::Document, 0, (0, 0));
}

/// A text being read: that of the document, or the replacement text of an entity.
struct Frame<'t> {
    reader: Reader<&'t [u8]>,
    /// The entity's name; empty for the document.
    name: &'t str,
    /// The number of elements open at the start of the text.
    open: usize,
}

impl<'t> Frame<'t> {
    fn new(text: &'t str, name: &'t str, open: usize) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        // End tags are checked here against the nodes, because entities may contain them.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        Frame { reader, name, open }
    }

    fn position(&self) -> usize {
        self.reader.buffer_position() as usize
    }
}

/// The byte order marks at the start of a text. They are characters there, but quick-xml would drop
/// them.
fn leading_marks(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches('\u{FEFF}').len()]
}

pub(super) struct Session<'s> {
    pub document: &'s mut Document,
    pub limits: &'s Limits,
    pub text: &'s str,
    /// The position in the text at which this call started.
    base: usize,
    /// Whether no more text follows.
    last: bool,
    /// The number of names known before the document.
    pub names: usize,
    /// The number of bytes that entities may still expand to.
    pub budget: usize,
    /// Whether `]]>` occurs anywhere in the text.
    pub has_section_end: bool,
}

impl<'s> Session<'s> {
    fn document(&mut self, progress: &mut ReadProgress, end: usize) -> Result<()> {
        let text = self.text;
        let marks = leading_marks(&text[self.base..end]);
        if !marks.is_empty() {
            if self.document.reading.open.is_empty() {
                return self.fail(self.base, "text outside the root element");
            }
            self.document.push_text(marks);
            self.base += marks.len();
        }
        let frame = match progress.rooted {
            true => Frame::new(&text[self.base..end], "", 0),
            false => match self.prolog(&mut progress.prolog, end)? {
                Some(frame) => frame,
                None => return Ok(()),
            },
        };
        let dtd = progress.prolog.dtd.get_or_insert_default();
        self.content(frame, dtd, end, &mut progress.rooted)?;
        let nodes = self.document.nodes.len() as NodeIndex;
        let text = self.document.text.len() as u32;
        let root = &mut self.document.nodes[0];
        root.end = nodes;
        root.value = (0, text);
        Ok(())
    }

    /// Records the line of a position, if lines are recorded.
    pub(super) fn count_lines(&mut self, place: usize) {
        let reading = &mut self.document.reading;
        if self.document.lines.is_some() && place > reading.counted {
            let passed = &self.text.as_bytes()[reading.counted..place];
            reading.line += memchr::memchr_iter(b'\n', passed).count() as u32;
            reading.counted = place;
        }
    }

    pub(super) fn fail<T>(&self, offset: usize, message: &str) -> Result<T> {
        Err(TextPosition { text: self.text, offset }.error(message))
    }

    pub(super) fn fault<T>(&self, offset: usize, fault: Fault) -> Result<T> {
        match fault {
            Fault::Malformed(message) => self.fail(offset, &message),
            Fault::Expansion => {
                let allowed = self.limits.expansion;
                let what = "bytes that entities expand to";
                Err(Error::Limit { what, name: "expansion", found: allowed.saturating_add(1), allowed })
            }
        }
    }

    fn next<'t>(&self, frame: &mut Frame<'t>, offset: usize) -> Result<Event<'t>> {
        let event = frame.reader.read_event();
        event.or_else(|error| {
            let inside = frame.reader.error_position() as usize;
            let offset = if frame.name.is_empty() { self.base + inside } else { offset };
            self.fail(offset, &error.to_string())
        })
    }

    /// Reads the root element and the content after it, up to `end`.
    fn content<'t>(&mut self, main: Frame<'t>, dtd: &'t Dtd, end: usize, rooted: &mut bool) -> Result<()>
    where
        's: 't,
    {
        let mut frames: Vec<Frame<'t>> = vec![main];
        let mut attributes = Vec::new();
        let mut plain_attributes = Vec::new();
        // The position in the document's own text. Errors in an entity are reported at its
        // reference.
        let mut place = 0;
        while let Some(frame) = frames.last_mut() {
            if frame.name.is_empty() {
                place = self.base + frame.position();
                let read = self.plain_content(place, end, dtd, &mut plain_attributes)?;
                if read > place {
                    // A new reader would drop the byte order mark. It can only occur after the root
                    // element.
                    if self.text[read..end].starts_with('\u{FEFF}') {
                        return self.fail(read, "text outside the root element");
                    }
                    frame.reader = Frame::new(&self.text[read..end], "", 0).reader;
                    (self.base, place) = (read, read);
                }
            }
            let start = place;
            let event = self.next(frame, start)?;
            self.count_lines(start);
            let depth = self.document.reading.open.len();
            if depth == 0
                && frame.name.is_empty()
                && (*rooted || !matches!(event, Event::Start(_) | Event::Empty(_)))
            {
                if matches!(event, Event::Eof) {
                    return Ok(());
                }
                self.outside(&event, start)?;
                continue;
            }
            match event {
                Event::Start(tag) => {
                    *rooted = true;
                    self.start_tag(&tag, dtd, start, &mut attributes)?;
                    check("nesting of a document", "document_depth", depth + 1, self.limits.document_depth)?;
                }
                Event::Empty(tag) => {
                    *rooted = true;
                    self.start_tag(&tag, dtd, start, &mut attributes)?;
                    check("nesting of a document", "document_depth", depth + 1, self.limits.document_depth)?;
                    self.document.close();
                }
                Event::End(tag) => {
                    if depth == frame.open {
                        return self.fail(start, "an end tag without its start tag");
                    }
                    self.end_tag(tag.name().as_ref(), start)?;
                }
                Event::Text(text) => {
                    let checked = self.has_section_end || !frame.name.is_empty();
                    if checked && let Some(at) = memchr::memmem::find(text.as_bytes(), b"]]>") {
                        return self.fail(start + at, "`]]>` stands in text");
                    }
                    self.document.push_text(&text);
                }
                Event::CData(text) => self.document.push_text(&text),
                Event::Comment(content) => self.comment(&content, start)?,
                Event::PI(content) => self.instruction(&content, start)?,
                Event::GeneralRef(reference) => {
                    let Cow::Borrowed(name) = reference.into_inner() else { continue };
                    if let Some(c) = self.reference(name, start)? {
                        self.document.push_text(c.encode_utf8(&mut [0; 4]));
                        continue;
                    }
                    let replacement = match resolve(name, dtd, &mut self.budget) {
                        Ok(Some(text)) => text,
                        Ok(None) => {
                            if dtd.undeclared == UndeclaredEntities::Keep {
                                self.document.push_text(&format!("&{name};"));
                            }
                            continue;
                        }
                        Err(fault) => return self.fault(start, fault),
                    };
                    if frames.len() > ENTITY_DEPTH || frames.iter().any(|frame| frame.name == name) {
                        return self.fail(start, &too_deep(name));
                    }
                    let marks = leading_marks(replacement);
                    self.document.push_text(marks);
                    frames.push(Frame::new(&replacement[marks.len()..], name, depth));
                }
                Event::Eof if frame.name.is_empty() && !self.last => return Ok(()),
                Event::Eof if frame.name.is_empty() => {
                    let open = self.document.reading.open.last().map_or(0, |open| open.node);
                    let name = self.document.names.name(self.document.node(open).name).qualified.clone();
                    return self.fail(self.text.len(), &format!("the element `{name}` is not closed"));
                }
                Event::Eof => {
                    if depth != frame.open {
                        let message = format!("the entity `{}` does not close what it opens", frame.name);
                        return self.fail(start, &message);
                    }
                    frames.pop();
                }
                Event::Decl(_) => {
                    return self.fail(start, "an XML declaration is allowed only at the very beginning");
                }
                Event::DocType(_) => {
                    return self.fail(start, "a document type declaration must come before the root element");
                }
            }
        }
        Ok(())
    }

    /// The character that a reference denotes; `None` for a declared entity.
    fn reference(&self, name: &str, start: usize) -> Result<Option<char>> {
        match name.strip_prefix('#') {
            Some(number) => match character(number) {
                Ok(c) => Ok(Some(c)),
                Err(message) => self.fail(start, &message),
            },
            None => Ok(predefined(name)),
        }
    }

    fn comment(&mut self, content: &str, start: usize) -> Result<()> {
        if content.ends_with('-') || memchr::memmem::find(content.as_bytes(), b"--").is_some() {
            return self.fail(start, "`--` inside a comment");
        }
        self.document.push_value(NodeKind::Comment, 0, content);
        Ok(())
    }

    fn instruction(&mut self, content: &str, start: usize) -> Result<()> {
        let end = content.bytes().position(is_space).unwrap_or(content.len());
        let (target, value) = content.split_at(end);
        if !is_ncname(target) || target.eq_ignore_ascii_case("xml") {
            return self.fail(start, "a processing instruction without a proper target");
        }
        let value = value.trim_start_matches([' ', '\t', '\n', '\r']);
        let name = self.document.names.read(target, |_| Ok::<_, Error>(NO_NAMESPACE), |_| Ok(()))?;
        self.check_names()?;
        self.document.push_value(NodeKind::Instruction, name, value);
        Ok(())
    }

    pub(super) fn check_names(&self) -> Result<()> {
        let used = self.document.names.len() - self.names;
        check("distinct names of a document", "names", used, self.limits.names)
    }

    fn end_tag(&mut self, found: &str, start: usize) -> Result<()> {
        let open = self.document.reading.open.last().map_or(0, |open| open.node);
        let expected = &self.document.names.name(self.document.node(open).name).qualified;
        if **expected != *found {
            let shown: String = found.chars().take(60).collect();
            let message = format!("the end tag `</{shown}>` where `</{expected}>` is expected");
            return self.fail(start, &message);
        }
        self.document.close();
        Ok(())
    }
}
