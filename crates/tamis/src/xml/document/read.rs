//! How is a document read from its text?
//!
//! quick-xml splits the text into tags, text and the rest; what it leaves unchecked is checked here:
//! names, attributes, end tags, references, entities, comments, the places where each may stand, and
//! that one element holds everything. A document is well formed and within its limits, or an error.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::attributes::{Fault, resolve, split, too_deep};
use super::dtd::{Dtd, ENTITY_DEPTH, character, predefined};
use super::names::{NO_NAMESPACE, NamespaceId, PrefixId};
use super::{Document, Node, NodeIndex, NodeKind, Place};
use crate::error::{Error, Result};
use crate::limits::check;
use crate::xml::Limits;
use crate::xml::characters::{is_ncname, is_space};

/// Offsets and positions are 32-bit.
const LARGEST: usize = 1 << 30;

pub fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
    check("bytes of a document", "document", bytes, limits.document.min(LARGEST))
}

/// Working memory of the reader, kept from document to document.
#[derive(Debug, Default)]
pub struct Reading {
    pub(super) open: Vec<Open>,
    /// The last child of the document so far, or 0.
    last: NodeIndex,
    /// Of every prefix, the namespaces it stands for, innermost last.
    pub(super) bindings: Vec<Vec<NamespaceId>>,
    /// The prefixes that open elements have bound, in order.
    pub(super) bound: Vec<PrefixId>,
}

#[derive(Debug)]
pub(super) struct Open {
    pub node: NodeIndex,
    /// How many prefixes were bound outside.
    pub bound: usize,
    /// The last child so far, or 0.
    pub last: NodeIndex,
}

/// How far a document has been read.
#[derive(Debug)]
pub struct Progress {
    /// Where in the text.
    offset: usize,
    /// What stands before the root element says this, once it has been read.
    dtd: Option<Dtd>,
    /// Whether the root element has begun.
    rooted: bool,
    /// How many names were known before.
    names: usize,
    /// What entities may still expand to.
    budget: usize,
}

pub fn read(document: &mut Document, text: &str, limits: &Limits) -> Result<()> {
    let mut progress = begin(document, limits);
    read_up_to(document, &mut progress, text, text.len(), true, limits)
}

/// Prepares for a document.
pub fn begin(document: &mut Document, limits: &Limits) -> Progress {
    if document.names.len() > limits.names {
        document.names.clear();
    }
    read_nothing(document);
    let names = document.names.len();
    Progress { offset: 0, dtd: None, rooted: false, names, budget: limits.expansion }
}

/// Reads on up to `end` in a text of which more may come unless this is the `last` time. What lies
/// before `end` is made of whole tags and the text between them.
pub fn read_up_to(
    document: &mut Document,
    progress: &mut Progress,
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
    result
}

/// Leaves the document node alone.
pub fn read_nothing(document: &mut Document) {
    document.nodes.clear();
    document.text.clear();
    document.values.clear();
    document.elements.take();
    let reading = &mut document.reading;
    reading.open.clear();
    reading.last = 0;
    reading.bound.clear();
    reading.bindings.iter_mut().for_each(Vec::clear);
    document.push(NodeKind::Document, 0, (0, 0));
}

/// A text being read: the document's, or an entity's replacement.
struct Frame<'t> {
    reader: Reader<&'t [u8]>,
    /// The entity's name, empty for the document.
    name: &'t str,
    /// How many elements were open where the text began.
    open: usize,
}

impl<'t> Frame<'t> {
    fn new(text: &'t str, name: &'t str, open: usize) -> Self {
        let mut reader = Reader::from_str(text);
        let config = reader.config_mut();
        // End tags are compared here, against the nodes, across entities.
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        Frame { reader, name, open }
    }

    fn position(&self) -> usize {
        self.reader.buffer_position() as usize
    }
}

/// Byte order marks that begin a text. There they are characters, which quick-xml would drop.
fn leading_marks(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches('\u{FEFF}').len()]
}

pub(super) struct Session<'s> {
    pub document: &'s mut Document,
    pub limits: &'s Limits,
    pub text: &'s str,
    /// Where in the text reading began this time.
    base: usize,
    /// Whether nothing will come behind what is read this time.
    last: bool,
    /// How many names were known before.
    pub names: usize,
    /// What entities may still expand to.
    pub budget: usize,
    /// Whether `]]>` occurs at all.
    pub has_section_end: bool,
}

impl Document {
    pub(super) fn push(&mut self, kind: NodeKind, name: u32, value: (u32, u32)) -> NodeIndex {
        let index = self.nodes.len() as NodeIndex;
        let mut parent = 0;
        let mut last = &mut self.reading.last;
        if let Some(open) = self.reading.open.last_mut() {
            parent = open.node;
            last = &mut open.last;
        }
        let previous = if kind == NodeKind::Attribute { 0 } else { std::mem::replace(last, index) };
        let named = matches!(kind, NodeKind::Element | NodeKind::Attribute | NodeKind::Instruction);
        let expanded = if named { self.names.name(name).expanded } else { 0 };
        self.nodes.push(Node {
            kind,
            name,
            expanded,
            parent,
            previous,
            end: index + 1,
            attributes: 0,
            value,
        });
        index
    }

    fn push_value(&mut self, kind: NodeKind, name: u32, value: &str) {
        let start = self.values.len() as u32;
        self.values.push_str(value);
        self.push(kind, name, (start, self.values.len() as u32));
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let end = self.text.len() as u32;
        let parent = self.reading.open.last().map_or(0, |open| open.node);
        match self.nodes.last_mut() {
            // Character data that no markup divides is one node, however it was written.
            Some(last) if last.kind == NodeKind::Text && last.parent == parent => last.value.1 = end,
            _ => {
                self.push(NodeKind::Text, 0, (start, end));
            }
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.reading.open.pop() {
            let end = self.nodes.len() as NodeIndex;
            let node = &mut self.nodes[open.node as usize];
            node.end = end;
            node.value.1 = self.text.len() as u32;
            while self.reading.bound.len() > open.bound {
                if let Some(prefix) = self.reading.bound.pop() {
                    self.reading.bindings[prefix as usize].pop();
                }
            }
        }
    }
}

impl<'s> Session<'s> {
    fn document(&mut self, progress: &mut Progress, end: usize) -> Result<()> {
        let text = self.text;
        let marks = leading_marks(&text[self.base..end]);
        if !marks.is_empty() {
            if self.document.reading.open.is_empty() {
                return self.fail(self.base, "text outside the root element");
            }
            self.document.push_text(marks);
            self.base += marks.len();
        }
        let mut frame = Frame::new(&text[self.base..end], "", 0);
        if !progress.rooted {
            let arrived = self.prolog(&mut frame, &mut progress.dtd)?;
            if !arrived {
                return Ok(());
            }
        }
        let dtd = progress.dtd.get_or_insert_default();
        self.content(frame, dtd, &mut progress.rooted)?;
        let nodes = self.document.nodes.len() as NodeIndex;
        let text = self.document.text.len() as u32;
        let root = &mut self.document.nodes[0];
        root.end = nodes;
        root.value = (0, text);
        Ok(())
    }

    pub(super) fn fail<T>(&self, offset: usize, message: &str) -> Result<T> {
        Err(Place { text: self.text, offset }.error(message))
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

    /// Reads up to the root element, whose start tag is the next event; whether it is there.
    fn prolog(&mut self, frame: &mut Frame<'s>, dtd: &mut Option<Dtd>) -> Result<bool> {
        loop {
            let before = frame.reader.clone();
            let start = self.base + frame.position();
            match self.next(frame, start)? {
                Event::Decl(declaration) => {
                    if start != 0 {
                        return self.fail(start, "an XML declaration stands only at the very beginning");
                    }
                    if let Err(message) = check_declaration(&declaration) {
                        return self.fail(start, message);
                    }
                }
                Event::DocType(content) => {
                    if dtd.is_some() {
                        return self.fail(start, "a second document type declaration");
                    }
                    let written = &self.text[start..];
                    if !written.starts_with("<!DOCTYPE")
                        || !written[9..].starts_with(|c: char| c.is_ascii_whitespace())
                    {
                        return self.fail(start, "`<!DOCTYPE` and a name are expected here");
                    }
                    let inside = self.base + frame.position() - 1 - content.len();
                    match Dtd::read(&content) {
                        Ok(read) => *dtd = Some(read),
                        Err((at, message)) => return self.fail(inside + at, &message),
                    }
                }
                Event::Start(_) | Event::Empty(_) => {
                    frame.reader = before;
                    return Ok(true);
                }
                Event::Eof if !self.last => return Ok(false),
                Event::Eof => return self.fail(self.text.len(), "a document without an element"),
                event => self.outside(&event, start)?,
            }
        }
    }

    /// What may stand before and behind the root element.
    fn outside(&mut self, event: &Event<'_>, start: usize) -> Result<()> {
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
            Event::Decl(_) => self.fail(start, "an XML declaration stands only at the very beginning"),
            Event::DocType(_) => {
                self.fail(start, "a document type declaration stands before the root element")
            }
            Event::CData(_) | Event::GeneralRef(_) | Event::Eof => {
                self.fail(start, "character data outside the root element")
            }
        }
    }

    /// Reads the root element and what follows it.
    fn content<'t>(&mut self, main: Frame<'t>, dtd: &'t Dtd, rooted: &mut bool) -> Result<()> {
        let mut frames: Vec<Frame<'t>> = vec![main];
        let mut attributes = Vec::new();
        // Where the document's own text is; what an entity holds is reported at its reference.
        let mut place = 0;
        while let Some(frame) = frames.last_mut() {
            if frame.name.is_empty() {
                place = self.base + frame.position();
            }
            let start = place;
            let event = self.next(frame, start)?;
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
                        Ok(text) => text,
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
                    return self.fail(start, "an XML declaration stands only at the very beginning");
                }
                Event::DocType(_) => {
                    return self.fail(start, "a document type declaration stands before the root element");
                }
            }
        }
        Ok(())
    }

    /// The character that a reference stands for; `None` for an entity that must be declared.
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
            return self.fail(start, "`--` stands inside a comment");
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

/// Checks `version`, `encoding` and `standalone` of an XML declaration, in this order.
fn check_declaration(content: &str) -> std::result::Result<(), &'static str> {
    let mut attributes = Vec::new();
    split(content.strip_prefix("xml").unwrap_or(content), &mut attributes).map_err(|(_, message)| message)?;
    let mut rest = attributes.as_slice();
    let digits = |text: &str| {
        text.strip_prefix("1.")
            .is_some_and(|minor| !minor.is_empty() && minor.bytes().all(|b| b.is_ascii_digit()))
    };
    match rest.first() {
        Some(first) if first.name == "version" && digits(first.value) => rest = &rest[1..],
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
        if !matches!(first.value, "yes" | "no") {
            return Err("an XML declaration is standalone `yes` or `no`");
        }
        rest = &rest[1..];
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err("an XML declaration with more than version, encoding and standalone")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document as one line: names, attributes, and text in quotes.
    fn show(text: &str) -> String {
        let mut document = Document::default();
        match document.read(text.as_bytes(), &Limits::default()) {
            Ok(()) => {}
            Err(error) => return error.to_string(),
        }
        let mut shown = String::new();
        for (index, node) in document.nodes().iter().enumerate().skip(1) {
            let string = document.string(index as NodeIndex);
            let name = || document.names().name(node.name);
            let namespace = || document.names().namespace_name(name().namespace);
            shown += &match node.kind {
                NodeKind::Element => format!("<{{{}}}{} ", namespace(), name().local()),
                NodeKind::Attribute => format!("@{{{}}}{}={string:?} ", namespace(), name().local()),
                NodeKind::Text => format!("{string:?} "),
                NodeKind::Comment => format!("#{string:?} "),
                NodeKind::Instruction => format!("?{} {string:?} ", name().qualified),
                NodeKind::Document => "second document".into(),
            };
        }
        shown.replace("{}", "").trim_end().to_owned()
    }

    #[test]
    fn documents_become_nodes() {
        for (text, expected) in [
            ("<a/>", "<a"),
            (
                "<?xml version='1.0'?>\n<!-- c --><a b = '1'\n c=\"2\" ></a ><?p  q ?>\n",
                "#\" c \" <a @b=\"1\" @c=\"2\" ?p \"q \"",
            ),
            ("<a>x<![CDATA[<&]]>y&amp;&#65;&#x42;<b/>z</a>", "<a \"x<&y&AB\" <b \"z\""),
            ("<a b='&lt;&quot;&apos;&#10;\t\n\r\n'/>", "<a @b=\"<\\\"'\\n   \""),
            ("<p:a xmlns:p='u' xmlns='d' p:x='1' y='2'><b/></p:a>", "<{u}a @{u}x=\"1\" @y=\"2\" <{d}b"),
            ("<a xmlns='d'><b xmlns=''/><c/></a>", "<{d}a <b <{d}c"),
            ("<a xml:lang='en'/>", "<a @{http://www.w3.org/XML/1998/namespace}lang=\"en\""),
            ("<!DOCTYPE a [<!ENTITY e 'x<b>y</b>'><!ENTITY f '&e;z'>]><a>&f;</a>", "<a \"x\" <b \"y\" \"z\""),
            ("<!DOCTYPE a [<!ENTITY e 'x&#38;amp;'>]><a b='&e;'>&e;</a>", "<a @b=\"x&\" \"x&\""),
            (
                "<!DOCTYPE a [<!ATTLIST a d CDATA 'v' t NMTOKENS #IMPLIED>]><a t=' x  y '/>",
                "<a @t=\"x y\" @d=\"v\"",
            ),
            ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "<a"),
            ("<é ä='ü'/>", "<é @ä=\"ü\""),
            ("\u{FEFF}<a/>", "<a"),
            ("<!DOCTYPE a [<!ENTITY e '&#xFEFF;'>]><a>&e;x</a>", "<a \"\\u{feff}x\""),
            ("<a><!----><b></b\n></a>", "<a #\"\" <b"),
        ] {
            assert_eq!(show(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_well_formed_is_an_error_with_its_place() {
        for (text, expected) in [
            ("", "line 1, column 1: a document without an element"),
            ("<a>", "line 1, column 4: the element `a` is not closed"),
            ("<a></b>", "line 1, column 4: the end tag `</b>` where `</a>` is expected"),
            ("<a/>\n<b/>", "line 2, column 1: a second root element"),
            ("<a/>x", "line 1, column 5: text outside the root element"),
            ("x<a/>", "line 1, column 1: text outside"),
            ("</a>", "an end tag without its start tag"),
            ("<a/></a>", "an end tag without its start tag"),
            ("<a b='1' b='2'/>", "the attribute `b` is given twice"),
            ("<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>", "given twice"),
            ("<a xmlns:p='u' xmlns:p='v'/>", "declared twice"),
            ("<a b=1/>", "without quotes"),
            ("<a b/>", "without `=`"),
            ("<a b='1'c='2'/>", "white space is expected"),
            ("<a b='<'/>", "`<` stands inside"),
            ("<a b='&x;'/>", "the entity `x` is not declared"),
            ("<a b='&'/>", "a reference without `;`"),
            ("<a>&x;</a>", "the entity `x` is not declared"),
            ("<a>& </a>", "column 4"),
            ("<a>&#0;</a>", "no character"),
            ("<a>&#xD800;</a>", "no character"),
            ("<a>]]></a>", "`]]>` stands in text"),
            ("<a><!-- -- --></a>", "`--` stands inside a comment"),
            ("<a><!-- ---></a>", "`--` stands inside a comment"),
            ("<a><?xml version='1.0'?></a>", "an XML declaration stands only"),
            (" <?xml version='1.0'?><a/>", "an XML declaration stands only"),
            ("<?xml encoding='utf-8'?><a/>", "begins with its version"),
            ("<a><?Xml x?></a>", "proper target"),
            ("<a><? x?></a>", "proper target"),
            ("<p:a/>", "the prefix of `p:a` is not declared"),
            ("<a p:b='1'/>", "the prefix of `p:b` is not declared"),
            ("<a:b:c xmlns:a='u'/>", "is no name"),
            ("<1/>", "`1` is no name"),
            ("< a/>", "without `=`"),
            ("< a='1'/>", "`` is no name"),
            ("<a/ >", "`a/` is no name"),
            ("<a xmlns:p=''/>", "without a namespace"),
            ("<a xmlns:xmlns='u'/>", "reserves"),
            ("<!DOCTYPE a><!DOCTYPE a><a/>", "second document type"),
            ("<a/><!DOCTYPE a>", "before the root"),
            ("<!doctype a><a/>", "`<!DOCTYPE` and a name"),
            ("<!DOCTYPE a [<!ENTITY e '<b>'>]><a>&e;</b></a>", "does not close"),
            ("<!DOCTYPE a [<!ENTITY e '</a>'>]><a>&e;", "without its start tag"),
            ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>", "refers to itself"),
            ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a b='&e;'/>", "refers to itself"),
            ("<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>", "never read"),
            ("<!DOCTYPE a [<!ENTITY e '<'>]><a b='&e;'/>", "brings `<`"),
            ("<![CDATA[x]]><a/>", "character data outside"),
            ("\u{FEFF}\u{FEFF}<a/>", "line 1, column 1: text outside"),
            ("<a", "line 1, column 1"),
            ("<a><![CDATA[x</a>", "column 4"),
            ("<a><!--x</a>", "column 4"),
            ("<a></a x='1'>", "where `</a>` is expected"),
        ] {
            let shown = show(text);
            assert!(shown.contains(expected) && shown.starts_with("line"), "{text}: {shown}");
        }
    }

    #[test]
    fn hostile_documents_end_at_a_limit() {
        let limit = |text: &str, limits: &Limits| match Document::default().read(text.as_bytes(), limits) {
            Err(Error::Limit { name, .. }) => name,
            other => panic!("{other:?}"),
        };
        let default = Limits::default();
        let laughs: String = (1..30)
            .map(|level| format!("<!ENTITY e{level} '{}'>", format!("&e{};", level - 1).repeat(10)))
            .collect();
        let head = format!("<!DOCTYPE a [<!ENTITY e0 'ha'>{laughs}]>");
        assert_eq!(limit(&format!("{head}<a>&e29;</a>"), &default), "expansion");
        assert_eq!(limit(&format!("{head}<a b='&e29;'/>"), &default), "expansion");
        assert_eq!(limit(&"<a>".repeat(1_000_000), &default), "document_depth");
        assert_eq!(limit(&format!("<a b='{}'/>", "x".repeat(40 << 20)), &default), "document");
        let attributes: String = (0..1001).map(|number| format!(" a{number}=''")).collect();
        assert_eq!(limit(&format!("<a{attributes}/>"), &default), "attributes");
        // A short tag that stands for many attributes, or for long ones.
        let defaults: String = (0..1001).map(|number| format!(" a{number} CDATA ''")).collect();
        assert_eq!(limit(&format!("<!DOCTYPE a [<!ATTLIST a{defaults}>]><a/>"), &default), "attributes");
        let long = format!("<!DOCTYPE a [<!ATTLIST b b CDATA '{}'>]>", "x".repeat(1000));
        assert_eq!(limit(&format!("{long}<a>{}</a>", "<b/>".repeat(2000)), &default), "expansion");
        assert!(Document::default().read(format!("{long}<a><b/></a>").as_bytes(), &default).is_ok());
        let names: String = (0..2000).map(|number| format!("<a{number}/>")).collect();
        assert_eq!(limit(&format!("<a>{names}</a>"), &Limits { names: 1000, ..default }), "names");
    }
}
