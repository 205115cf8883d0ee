//! Up to which position does a growing text consist of complete markup?
//!
//! The scan stops at the end of the text and resumes there, so no byte is read twice, however
//! small the pieces are and however long a comment, a tag or a text is.

/// How far a text has been scanned.
#[derive(Debug, Default)]
pub struct Scan {
    /// The end of the last complete markup.
    end: usize,
    /// The first byte that has not been read.
    at: usize,
    inside: Inside,
    /// How many brackets are open in a document type declaration; 0 outside.
    depth: usize,
}

#[derive(Debug, Default, Clone, Copy)]
enum Inside {
    #[default]
    Text,
    Tag,
    Declaration,
    /// A value in these quotes, in a tag or a declaration.
    Quoted(u8),
    /// One of [`PAIRS`].
    Paired(usize),
}

/// Markup with fixed start and end delimiters and arbitrary content.
const PAIRS: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<?", b"?>"), (b"<![CDATA[", b"]]>")];

/// Only the first two pairs may occur in a document type declaration.
const IN_DECLARATION: usize = 2;

impl Scan {
    /// Continues to the end of a text that extends the one of the previous call. Returns the end of
    /// the last complete markup.
    pub fn advance(&mut self, text: &str) -> usize {
        let bytes = text.as_bytes();
        while self.step(bytes).is_some() {}
        self.end
    }

    /// Continues by one piece of markup; `None` if the text ends before it.
    fn step(&mut self, bytes: &[u8]) -> Option<()> {
        let rest = &bytes[self.at..];
        match self.inside {
            Inside::Text => {
                let Some(open) = memchr::memchr(b'<', rest) else {
                    self.at = bytes.len();
                    return None;
                };
                self.at += open;
                self.open(&rest[open..], PAIRS.len())?;
            }
            Inside::Tag => {
                let Some(found) = memchr::memchr3(b'>', b'"', b'\'', rest) else {
                    self.at = bytes.len();
                    return None;
                };
                self.at += found + 1;
                match rest[found] {
                    b'>' => self.close(),
                    quote => self.inside = Inside::Quoted(quote),
                }
            }
            Inside::Quoted(quote) => {
                let Some(found) = memchr::memchr(quote, rest) else {
                    self.at = bytes.len();
                    return None;
                };
                self.at += found + 1;
                self.inside = if self.depth > 0 { Inside::Declaration } else { Inside::Tag };
            }
            Inside::Paired(pair) => {
                let (_, end) = PAIRS[pair];
                let Some(found) = memchr::memmem::find(rest, end) else {
                    // Part of the end delimiter may be there already.
                    self.at = self.at.max(bytes.len().saturating_sub(end.len() - 1));
                    return None;
                };
                self.at += found + end.len();
                if self.depth > 0 { self.inside = Inside::Declaration } else { self.close() }
            }
            Inside::Declaration => {
                let is_mark = |byte: &u8| matches!(byte, b'<' | b'>' | b'[' | b']' | b'"' | b'\'');
                let Some(found) = rest.iter().position(is_mark) else {
                    self.at = bytes.len();
                    return None;
                };
                self.at += found;
                match rest[found] {
                    b'<' => self.open(&rest[found..], IN_DECLARATION)?,
                    b'[' => {
                        self.depth += 1;
                        self.at += 1;
                    }
                    quote @ (b'"' | b'\'') => {
                        self.inside = Inside::Quoted(quote);
                        self.at += 1;
                    }
                    _ => {
                        self.depth -= 1;
                        self.at += 1;
                        if self.depth == 0 {
                            self.close();
                        }
                    }
                }
            }
        }
        Some(())
    }

    /// Determines what a `<` opens; `None` if that needs more text.
    fn open(&mut self, rest: &[u8], pairs: usize) -> Option<()> {
        for (pair, (begin, _)) in PAIRS[..pairs].iter().enumerate() {
            if rest.starts_with(begin) {
                self.inside = Inside::Paired(pair);
                self.at += begin.len();
                return Some(());
            }
            if begin.starts_with(rest) {
                return None;
            }
        }
        self.at += 1;
        if self.depth > 0 || rest.starts_with(b"<!") {
            self.inside = Inside::Declaration;
            self.depth += 1;
        } else {
            self.inside = Inside::Tag;
        }
        Some(())
    }

    fn close(&mut self) {
        self.inside = Inside::Text;
        self.end = self.at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "<?xml version='1.0'?><!DOCTYPE a [<!-- ]> ' --><?p ]>?><!ENTITY e '>]'>]><a b='>' \
                        c=\"<'>\">x<![CDATA[<]]>y<!-- <a> --><b/><!--></a>--></a>";

    #[test]
    fn whole_markup_is_found_however_it_arrives() {
        let mut growing = Scan::default();
        let mut ends: Vec<&str> = Vec::new();
        for length in 0..=TEXT.len() {
            let whole = &TEXT[..Scan::default().advance(&TEXT[..length])];
            assert_eq!(&TEXT[..growing.advance(&TEXT[..length])], whole);
            ends.push(whole);
        }
        ends.dedup();
        let last =
            ["<?xml version='1.0'?>", "]>", "\"<'>\">", "]]>", "<a> -->", "<b/>", "</a>-->", "--></a>"];
        assert_eq!(ends[0], "");
        assert_eq!(ends.len(), last.len() + 1, "{ends:?}");
        for (found, expected) in ends[1..].iter().zip(last) {
            assert!(found.ends_with(expected), "{found} {expected}");
        }
    }

    #[test]
    fn markup_is_found_where_it_ends_however_long_it_is() {
        for (begin, end) in
            [("<!--", "-->"), ("<?p ", "?>"), ("<![CDATA[", "]]>"), ("<a b='", "'>"), ("", "<b>")]
        {
            let mut scan = Scan::default();
            let mut text = begin.to_owned();
            for _ in 0..1000 {
                text.push_str("0123456789");
                assert_eq!(scan.advance(&text), 0);
                // Everything has been read, except for a possible start of the end delimiter.
                assert!(text.len() - scan.at <= 2);
            }
            text.push_str(end);
            assert_eq!(scan.advance(&text), text.len());
        }
    }
}
