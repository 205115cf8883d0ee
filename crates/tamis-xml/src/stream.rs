//! Which filters are certain while a document is still arriving?
//!
//! A document that arrives in pieces is read as far as its tags are complete. A filter that a path
//! satisfies remains satisfied whatever follows, so it is reported at once. Filters that depend on
//! the whole document (counts, negations, nested paths) are decided at its end. Only the default
//! engine reports filters early.

use std::sync::Arc;

use super::document::{ReadProgress, check_size, decode, is_utf8, normalise};
use super::filter::Filter;
use super::scan::Scan;
use super::segment::Early;
use super::snapshot::{FilterScratch, FilterSnapshot, FilterSubscription};
use crate::error::{Error, Result};

/// A document that is matched while it arrives.
#[derive(Debug)]
pub struct FilterStream {
    filter: Arc<Filter>,
    snapshot: Arc<FilterSnapshot>,
    scratch: FilterScratch,
    progress: ReadProgress,
    early: Vec<Early>,
    /// All bytes so far.
    bytes: Vec<u8>,
    /// The number of them that are decoded into `text`.
    decoded: usize,
    text: String,
    scan: Scan,
    /// Whether the bytes are UTF-8, once known. Other encodings are decoded at the end.
    utf8: Option<bool>,
    /// The first error.
    failure: Option<Error>,
}

impl FilterStream {
    /// Starts a document, which is matched against the current filters.
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

    /// Takes the next piece, and calls `found` with the subscriptions that have become certain.
    ///
    /// After an error, further calls return the same error.
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

    /// Decodes the complete characters received so far. Holds back a line end that may continue.
    fn decode(&mut self) -> Result<()> {
        if self.decoded == 0 && self.bytes.starts_with(&[0xEF, 0xBB, 0xBF]) {
            self.decoded = 3;
        }
        let new = &self.bytes[self.decoded..];
        let whole = match std::str::from_utf8(new) {
            Ok(text) => text,
            // Decode everything again to report the position.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Engine, Limits};

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
