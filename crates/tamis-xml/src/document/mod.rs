//! What does a document contain?
//!
//! A document is an arena of nodes in document order: an element is followed by its attributes,
//! then by its content, and `end` is the end of its content. All character data is in one text, in
//! order, so the string value of an element is a slice of it. This module does not depend on
//! filters.

mod attributes;
mod dtd;
mod encoding;
mod names;
mod normalized;
mod read;
mod tags;

pub use encoding::{decode, is_utf8, normalise};
pub use names::{NameId, Names};
pub use read::{ReadProgress, check_size};

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use crate::Limits;
use crate::error::{Error, Result};

/// Position of a node in document order; the document node is 0.
pub type NodeIndex = u32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    Document,
    Element,
    Attribute,
    Text,
    Comment,
    Instruction,
}

#[derive(Debug, Clone, Copy)]
pub struct DocumentNode {
    pub kind: NodeKind,
    /// The name as written.
    pub name: NameId,
    /// The name as XPath compares it.
    pub expanded: NameId,
    /// The document node is its own parent.
    pub parent: NodeIndex,
    /// The previous sibling, or 0.
    pub previous: NodeIndex,
    /// The first node after this one's attributes and content.
    pub end: NodeIndex,
    /// The number of attributes of an element.
    pub attributes: u32,
    /// Start and end of the string value: in `text` for the document, elements and text, and in
    /// `values` for other nodes.
    value: (u32, u32),
}

/// A document with more memory than this is not kept for reuse.
const LARGE: usize = 16 << 20;

/// A document that has been read.
#[derive(Debug, Default)]
pub struct Document {
    nodes: Vec<DocumentNode>,
    text: String,
    values: String,
    names: Names,
    /// Elements by name, then by position; created on first use.
    elements: OnceLock<Vec<(NameId, NodeIndex)>>,
    /// The text with its white space normalised; created on first use.
    normalized: OnceLock<normalized::Normalized>,
    /// The elements that attributes of type ID identify.
    identified: HashMap<Box<str>, NodeIndex, ahash::RandomState>,
    /// For every node, the line on which it starts, if lines are recorded.
    lines: Option<Vec<u32>>,
    /// Scratch memory of the reader.
    reading: read::Reading,
}

impl Document {
    /// Reads a document from bytes, replacing the previous one.
    pub fn read(&mut self, bytes: &[u8], limits: &Limits) -> Result<()> {
        read::check_size(bytes.len(), limits)?;
        read::read(self, &encoding::decode(bytes)?, limits)
    }

    /// Reads a document from text, replacing the previous one. An encoding that it declares is
    /// ignored.
    pub fn read_text(&mut self, text: &str, limits: &Limits) -> Result<()> {
        read::check_size(text.len(), limits)?;
        let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
        read::read(self, &encoding::normalise(text.into())?, limits)
    }

    /// Prepares to read a document that arrives in pieces, replacing the previous one.
    pub(super) fn begin(&mut self, limits: &Limits) -> ReadProgress {
        read::begin(self, limits)
    }

    /// Continues up to `end` in the text so far, decoded and normalised; the part before `end` consists of complete
    /// tags and the text between them. In the `last` call, everything must be complete.
    pub(super) fn read_on(
        &mut self,
        progress: &mut ReadProgress,
        text: &str,
        end: usize,
        last: bool,
        limits: &Limits,
    ) -> Result<()> {
        read::read_up_to(self, progress, text, end, last, limits)
    }

    /// Whether an element has ended, as far as the document has been read.
    pub(super) fn is_closed(&self, index: NodeIndex) -> bool {
        self.reading.open.binary_search_by_key(&index, |open| open.node).is_err()
    }

    /// Makes this an empty document, in which every path is empty.
    pub(super) fn read_nothing(&mut self) {
        read::read_nothing(self);
    }

    /// Records from now on the lines on which nodes start.
    pub(super) fn record_lines(&mut self) {
        self.lines.get_or_insert_default();
    }

    /// The line on which a node starts, from 1; 0 if it was not recorded.
    pub(super) fn line(&self, index: NodeIndex) -> usize {
        self.lines.as_ref().and_then(|lines| lines.get(index as usize)).map_or(0, |line| *line as usize)
    }

    /// Whether the document is too large to be kept for reuse.
    pub(super) fn is_large(&self) -> bool {
        let texts = self.text.capacity() + self.values.capacity() + self.names.bytes;
        self.nodes.capacity() * size_of::<DocumentNode>() + texts > LARGE
    }

    pub(super) fn nodes(&self) -> &[DocumentNode] {
        &self.nodes
    }

    pub(super) fn node(&self, index: NodeIndex) -> &DocumentNode {
        &self.nodes[index as usize]
    }

    pub(super) fn names(&self) -> &Names {
        &self.names
    }

    /// The elements with a name, as XPath compares names, within a range of nodes.
    pub(super) fn named(&self, name: NameId, range: Range<NodeIndex>) -> impl Iterator<Item = NodeIndex> {
        let elements = self.elements.get_or_init(|| {
            let nodes = self.nodes.iter().zip(0..).filter(|(node, _)| node.kind == NodeKind::Element);
            let mut elements: Vec<_> = nodes.map(|(node, index)| (node.expanded, index)).collect();
            elements.sort_unstable();
            elements
        });
        let start = elements.partition_point(|element| *element < (name, range.start));
        let inside = move |element: &&(NameId, NodeIndex)| **element < (name, range.end);
        elements[start..].iter().take_while(inside).map(|(_, index)| *index)
    }

    /// The string value of a node.
    pub(super) fn string(&self, index: NodeIndex) -> &str {
        let node = self.node(index);
        let (start, end) = (node.value.0 as usize, node.value.1 as usize);
        match node.kind {
            NodeKind::Document | NodeKind::Element | NodeKind::Text => &self.text[start..end],
            NodeKind::Attribute | NodeKind::Comment | NodeKind::Instruction => &self.values[start..end],
        }
    }

    /// The element identified by an attribute of type ID, as declared in the internal subset.
    pub(super) fn identified(&self, id: &str) -> Option<NodeIndex> {
        self.identified.get(id).copied()
    }

    /// The nodes of an element's attributes.
    pub(super) fn attributes(&self, index: NodeIndex) -> Range<NodeIndex> {
        index + 1..index + 1 + self.node(index).attributes
    }

    /// The children of a node in order.
    pub(super) fn children(&self, index: NodeIndex) -> Children<'_> {
        let node = self.node(index);
        let first = index + 1 + node.attributes;
        Children { document: self, next: first, end: node.end.max(first) }
    }
}

pub(super) struct Children<'d> {
    document: &'d Document,
    next: NodeIndex,
    end: NodeIndex,
}

impl Iterator for Children<'_> {
    type Item = NodeIndex;

    fn next(&mut self) -> Option<NodeIndex> {
        let found = self.next;
        (found < self.end).then(|| {
            self.next = self.document.node(found).end;
            found
        })
    }
}

/// A position in a text, for messages.
struct TextPosition<'t> {
    text: &'t str,
    offset: usize,
}

impl<'t> TextPosition<'t> {
    fn end(text: &'t str) -> Self {
        TextPosition { text, offset: text.len() }
    }

    fn error(&self, message: &str) -> Error {
        let mut offset = self.offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Error::Document {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.to_owned(),
        }
    }
}
