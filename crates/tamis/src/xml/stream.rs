//! What is certain about a document of which more is to come?
//!
//! A document that comes in pieces is read as far as its tags are whole. A filter that some path
//! satisfies stays satisfied whatever follows, and is told at once; what depends on all of a document
//! (counts, negations, nested paths) is decided at its end. Only the default engine tells early.

use std::sync::Arc;

use super::document::{Progress, check_size, decode, is_utf8, normalise};
use super::filter::Filter;
use super::segment::Early;
use super::snapshot::{FilterScratch, FilterSnapshot, FilterSubscription};
use crate::error::{Error, Result};

/// A document that is matched while it arrives.
#[derive(Debug)]
pub struct FilterStream {
    filter: Arc<Filter>,
    snapshot: Arc<FilterSnapshot>,
    scratch: FilterScratch,
    progress: Progress,
    early: Vec<Early>,
    /// All bytes so far.
    bytes: Vec<u8>,
    /// How many of them are in `text`.
    decoded: usize,
    text: String,
    scan: Scan,
    /// Whether the bytes are UTF-8, once that is known; others are decoded in the end.
    utf8: Option<bool>,
    /// What was wrong, once something was.
    failure: Option<Error>,
}

impl FilterStream {
    /// Begins a document that is matched against the filters of this moment.
    pub fn new(filter: Arc<Filter>) -> FilterStream {
        let snapshot = filter.snapshot();
        let mut scratch = filter.take_scratch();
        let progress = scratch.document.begin(filter.limits());
        let early = snapshot.begin_early(&mut scratch, filter.limits());
        FilterStream {
            filter,
            snapshot,
            scratch,
            progress,
            early,
            bytes: Vec::new(),
            decoded: 0,
            text: String::new(),
            scan: Scan::default(),
            utf8: None,
            failure: None,
        }
    }

    /// Takes the next piece, and calls `found` with the subscriptions that it makes certain.
    ///
    /// An error is the last word about a document: it says the same however much follows.
    pub fn feed(&mut self, piece: &[u8], found: impl FnMut(&Arc<FilterSubscription>)) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let read = self.read(piece);
        self.failure = read.as_ref().err().cloned();
        read?;
        self.snapshot.tell_early(&mut self.scratch, &mut self.early, found);
        Ok(())
    }

    fn read(&mut self, piece: &[u8]) -> Result<()> {
        check_size(self.bytes.len() + piece.len(), self.filter.limits())?;
        self.bytes.extend_from_slice(piece);
        if self.utf8.is_none() {
            self.utf8 = is_utf8(&self.bytes);
        }
        if self.utf8 != Some(true) {
            return Ok(());
        }
        self.decode()?;
        let end = self.scan.advance(&self.text);
        let limits = self.filter.limits();
        self.scratch.document.read_on(&mut self.progress, &self.text, end, false, limits)
    }

    /// Ends the document, and calls `found` with all subscriptions that it satisfies, in insertion
    /// order.
    pub fn close(mut self, found: impl FnMut(&Arc<FilterSubscription>)) -> Result<()> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let limits = self.filter.limits();
        let text = decode(&self.bytes)?;
        let end = text.len();
        let document = &mut self.scratch.document;
        document.read_on(&mut self.progress, &text, end, true, limits)?;
        let matched = self.snapshot.matches(&mut self.scratch, limits, None, found);
        self.filter.give_scratch(self.scratch);
        matched
    }

    /// Decodes what has arrived in whole characters; line ends that may go on wait.
    fn decode(&mut self) -> Result<()> {
        if self.decoded == 0 && self.bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.decoded = 3;
        }
        let new = &self.bytes[self.decoded..];
        let whole = match std::str::from_utf8(new) {
            Ok(text) => text,
            // Decoding everything says where.
            Err(error) if error.error_len().is_some() => return decode(&self.bytes).map(|_| ()),
            Err(error) => std::str::from_utf8(&new[..error.valid_up_to()]).unwrap_or_default(),
        };
        let whole = whole.strip_suffix('\r').unwrap_or(whole);
        match normalise(whole.into()) {
            Ok(text) => self.text.push_str(&text),
            Err(_) => return decode(&self.bytes).map(|_| ()),
        }
        self.decoded += whole.len();
        Ok(())
    }
}

/// Up to where a text is made of whole tags, comments, sections, instructions and declarations.
#[derive(Debug, Default)]
struct Scan {
    /// Behind the last of them.
    end: usize,
    /// Up to where there is no `<` behind that.
    searched: usize,
    /// How long the text must be before looking again is worth while: what has not ended is gone over
    /// only when there is half as much again of it.
    wanted: usize,
}

/// Markup that goes on for less than this is looked at again with every piece.
const SHORT: usize = 4096;

impl Scan {
    fn advance(&mut self, text: &str) -> usize {
        if text.len() < self.wanted {
            return self.end;
        }
        loop {
            let from = self.searched.max(self.end);
            let Some(open) = memchr::memchr(b'<', &text.as_bytes()[from..]) else {
                self.searched = text.len();
                break;
            };
            let open = from + open;
            match markup_length(&text[open..]) {
                Some(length) => self.end = open + length,
                None => {
                    self.searched = open;
                    let unfinished = text.len() - open;
                    self.wanted = if unfinished < SHORT { 0 } else { text.len() + unfinished / 2 };
                    break;
                }
            }
        }
        self.end
    }
}

/// The length of the markup that a text begins with; `None` where it has not ended.
fn markup_length(text: &str) -> Option<usize> {
    for (begin, end) in [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")] {
        if text.starts_with(begin) {
            let inside = memchr::memmem::find(&text.as_bytes()[begin.len()..], end.as_bytes())?;
            return Some(begin.len() + inside + end.len());
        }
        if begin.starts_with(text) {
            return None;
        }
    }
    if text.starts_with("<!") { declaration_length(text) } else { tag_length(text.as_bytes()) }
}

/// A tag ends with the first `>` that stands in no attribute's value.
fn tag_length(tag: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr3(b'>', b'"', b'\'', &tag[at..])?;
        if tag[at] == b'>' {
            return Some(at + 1);
        }
        at += 2 + memchr::memchr(tag[at], &tag[at + 1..])?;
    }
}

/// A document type declaration ends with the `>` that stands outside of its brackets and quotes, and
/// outside of the comments and instructions within.
fn declaration_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (1, 1_usize);
    while depth > 0 {
        let byte = *bytes.get(at)?;
        match byte {
            b'"' | b'\'' => at += 1 + memchr::memchr(byte, &bytes[at + 1..])?,
            b'<' if matches!(bytes.get(at + 1..at + 2)?, b"?") || bytes[at..].starts_with(b"<!--") => {
                at += markup_length(&text[at..])? - 1;
            }
            b'<' if b"<!--".starts_with(&bytes[at..]) => return None,
            b'<' | b'[' => depth += 1,
            b'>' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::{Engine, Limits};

    #[test]
    fn whole_markup_is_found_however_it_arrives() {
        let text = "<?xml version='1.0'?><!DOCTYPE a [<!-- ]> ' --><?p ]>?><!ENTITY e '>]'>]><a b='>' c=\"<'>\">\
                    x<![CDATA[<]]>y<!-- <a> --><b/></a>";
        let ends: Vec<&str> = (0..=text.len())
            .filter(|length| text.is_char_boundary(*length))
            .map(|length| &text[..Scan::default().advance(&text[..length])])
            .collect();
        let mut distinct = ends.clone();
        distinct.dedup();
        let last = ["<?xml version='1.0'?>", "]>", "\"<'>\">", "]]>", " -->", "<b/>", "</a>"];
        assert_eq!(distinct[0], "");
        assert_eq!(distinct.len(), last.len() + 1, "{distinct:?}");
        for (found, expected) in distinct[1..].iter().zip(last) {
            assert!(found.ends_with(expected), "{found} {expected}");
        }
    }

    #[test]
    fn pieces_of_any_size_give_what_the_whole_gives() {
        let filter = Arc::new(Filter::new(Engine::Auto, Limits::default()));
        let queries =
            ["//b", "//b[@x = '1']/c", "//c[. = 'y']", "not(//d)", "count(//b) = 2", "//d", "/a[. = 'y\n']"];
        for (id, query) in (0..).zip(queries) {
            filter.add(i64::into(id), query, &[]).unwrap();
        }
        let document = "\u{FEFF}<?xml version='1.0'?>\r\n<a><!-- c --><b x='1'><c>y</c></b>\r\n<b/></a>";
        let expected = filter.match_bytes(document.as_bytes()).unwrap();
        for size in 1..document.len() {
            let mut stream = FilterStream::new(filter.clone());
            let (mut early, mut all) = (Vec::new(), Vec::new());
            for piece in document.as_bytes().chunks(size) {
                stream.feed(piece, |subscription| early.push(subscription.id().clone())).unwrap();
            }
            stream.close(|subscription| all.push(subscription.id().clone())).unwrap();
            assert_eq!(all, expected);
            assert!(early.iter().all(|id| all.contains(id)), "{early:?}");
            assert_eq!(early, [0.into(), 1.into(), 2.into(), 6.into()]);
        }
    }
}
