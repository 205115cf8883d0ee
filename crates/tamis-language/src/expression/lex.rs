//! Which names, keywords, constants and symbols does a text consist of?
//!
//! Tokens are ranges of the text, found one at a time; nothing is copied here but strings with
//! doubled quotes.

use std::borrow::Cow;
use std::ops::Range;

use crate::error::{Error, Result};

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or keyword, dots included.
    Name,
    /// A name in double quotes.
    QuotedName,
    /// A string in single quotes.
    String,
    /// A number with its sign.
    Number,
    Open,
    Close,
    Comma,
    Caret,
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
    /// `&&`
    And,
    /// `||`
    Or,
    /// `!`
    Not,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    /// `<=>`
    Same,
    Semicolon,
    End,
}

/// A token and its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
}

impl Token {
    pub fn range(self) -> Range<usize> {
        self.start..self.end
    }

    /// The text of a quoted name or string, without its quotes.
    pub fn unquoted(self, text: &str) -> Cow<'_, str> {
        let inner = &text[self.start + 1..self.end - 1];
        match self.kind {
            TokenKind::String if inner.contains('\'') => inner.replace("''", "'").into(),
            TokenKind::QuotedName if text.as_bytes()[self.start] == b'`' => inner.replace("``", "`").into(),
            TokenKind::QuotedName if inner.contains('"') => inner.replace("\"\"", "\"").into(),
            _ => inner.into(),
        }
    }

    /// The position in the whole text of an offset into the unquoted text of a string.
    pub fn start_of(self, text: &str, offset: usize) -> usize {
        let mut quotes = text[self.start + 1..self.end - 1].match_indices("''");
        let mut start = self.start + 1 + offset;
        // Every doubled quote before it moves it by one.
        while quotes.next().is_some_and(|(quote, _)| self.start + 1 + quote < start) {
            start += 1;
        }
        start
    }

    /// The token as a message names it.
    pub fn describe(self, text: &str) -> String {
        let shown = crate::error::shorten(&text[self.range()]);
        match self.kind {
            TokenKind::End => "the end of the text".into(),
            TokenKind::String => format!("the string {shown}"),
            TokenKind::Number => format!("the number {shown}"),
            _ => format!("`{shown}`"),
        }
    }
}

pub(crate) struct Lexer<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Lexer { text, position: 0 }
    }

    /// A lexer that continues at a position.
    pub fn at(text: &'a str, position: usize) -> Self {
        Lexer { text, position }
    }

    pub fn next(&mut self) -> Result<Token> {
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        let start = self.position;
        let Some(&first) = bytes.get(start) else {
            return Ok(Token { kind: TokenKind::End, start, end: start });
        };
        let second = bytes.get(start + 1).copied();
        let (kind, length) = match (first, second) {
            (b'(', _) => (TokenKind::Open, 1),
            (b')', _) => (TokenKind::Close, 1),
            (b',', _) => (TokenKind::Comma, 1),
            (b'^', _) => (TokenKind::Caret, 1),
            (b'=', Some(b'=')) => (TokenKind::Equal, 2),
            (b'=', _) => (TokenKind::Equal, 1),
            (b'!', Some(b'=')) => (TokenKind::NotEqual, 2),
            (b'!', _) => (TokenKind::Not, 1),
            (b'<', Some(b'>')) => (TokenKind::NotEqual, 2),
            (b'<', Some(b'=')) if bytes.get(start + 2) == Some(&b'>') => (TokenKind::Same, 3),
            (b'<', Some(b'=')) => (TokenKind::AtMost, 2),
            (b'<', _) => (TokenKind::Less, 1),
            (b'>', Some(b'=')) => (TokenKind::AtLeast, 2),
            (b'>', _) => (TokenKind::Greater, 1),
            (b'&', Some(b'&')) => (TokenKind::And, 2),
            (b'|', Some(b'|')) => (TokenKind::Or, 2),
            (b'\'', _) => (TokenKind::String, self.quoted(b'\'')?),
            (b'"', _) => (TokenKind::QuotedName, self.quoted(b'"')?),
            (b'`', _) => (TokenKind::QuotedName, self.quoted(b'`')?),
            (b'0'..=b'9' | b'.', _) => (TokenKind::Number, self.number()?),
            (b'-' | b'+', Some(b'0'..=b'9' | b'.')) => (TokenKind::Number, self.number()?),
            (b'-', _) => (TokenKind::Minus, 1),
            (b'+', _) => (TokenKind::Plus, 1),
            (b'*', _) => (TokenKind::Star, 1),
            (b'/', Some(b'*')) => return Err(self.open_comment()),
            (b'/', _) => (TokenKind::Slash, 1),
            (b'%', _) => (TokenKind::Percent, 1),
            (b';', _) => (TokenKind::Semicolon, 1),
            _ => match self.name() {
                0 => return Err(self.unknown_character()),
                length => (TokenKind::Name, length),
            },
        };
        self.position = start + length;
        Ok(Token { kind, start, end: self.position })
    }

    /// Continues at a position of the text.
    pub fn restart(&mut self, position: usize) {
        self.position = position;
    }

    /// Where reading continues.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Whether nothing but spaces stands before a `,` or `)`.
    pub fn is_before_separator(&self) -> bool {
        let rest = self.text.as_bytes()[self.position..].iter();
        matches!(rest.copied().find(|byte| *byte != b' '), Some(b',' | b')'))
    }

    fn open_comment(&self) -> Error {
        let range = self.position..self.position + 2;
        let expected = "`*/` for the comment that opens here".into();
        Error::syntax(self.text, range, "the end of the text".into(), expected, None)
    }

    /// White space, comments from `--` to the end of the line, and from `/*` to `*/`.
    fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.position) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.position += 1,
                Some(b'-') if bytes.get(self.position + 1) == Some(&b'-') => {
                    let rest = &bytes[self.position..];
                    self.position += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                Some(b'/') if bytes.get(self.position + 1) == Some(&b'*') => {
                    // One that is never closed stays, to be an error.
                    match memchr::memmem::find(&bytes[self.position + 2..], b"*/") {
                        Some(length) => self.position += length + 4,
                        None => return,
                    }
                }
                Some(0x80..) => match self.text[self.position..].chars().next() {
                    Some(c) if c.is_whitespace() => self.position += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    /// The length of the quoted text at the position, quotes included.
    fn quoted(&self, quote: u8) -> Result<usize> {
        let rest = &self.text.as_bytes()[self.position..];
        let mut length = 1;
        while let Some(found) = memchr::memchr(quote, &rest[length..]) {
            length += found + 1;
            if rest.get(length) != Some(&quote) {
                return Ok(length);
            }
            length += 1;
        }
        let start = self.position;
        Err(Error::syntax(
            self.text,
            start..start + 1,
            "the end of the text".into(),
            format!("a closing quote `{}` for the one that opens here", quote as char),
            None,
        ))
    }

    /// The length of the number at the position: sign, digits, fraction, exponent.
    fn number(&self) -> Result<usize> {
        let rest = &self.text.as_bytes()[self.position..];
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(matches!(rest[0], b'-' | b'+'));
        let mut length = sign + digits(sign);
        let mut count = length - sign;
        if rest.get(length) == Some(&b'.') {
            let fraction = digits(length + 1);
            length += 1 + fraction;
            count = if fraction == 0 { 0 } else { count + fraction };
        }
        if count > 0 && matches!(rest.get(length), Some(b'e' | b'E')) {
            let exponent = length + 1 + usize::from(matches!(rest.get(length + 1), Some(b'-' | b'+')));
            count = digits(exponent);
            length = exponent + count;
        }
        // Characters that follow without a blank belong to it: `12abc` and `1.2.3` are not numbers.
        let tail: usize = self.text[self.position + length..]
            .chars()
            .take_while(|c| c.is_alphanumeric() || matches!(c, '_' | '.'))
            .map(char::len_utf8)
            .sum();
        if count == 0 || tail > 0 {
            let range = self.position..self.position + length + tail;
            let found = format!("`{}`", crate::error::shorten(&self.text[range.clone()]));
            let mut expected = "a number such as `12`, `-3.5` or `1e-9`".to_owned();
            if self.text[range.clone()].bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') {
                expected.push_str(" (the digits of a number have no separators)");
            }
            return Err(Error::syntax(self.text, range, found, expected, None));
        }
        Ok(length)
    }

    /// The length of the name at the position; 0 if there is none.
    fn name(&self) -> usize {
        name_length(&self.text[self.position..])
    }

    fn unknown_character(&self) -> Error {
        let start = self.position;
        let character = self.text[start..].chars().next().unwrap_or_default();
        let (expected, suggestion) = match character {
            '&' => ("an expression", Some("and")),
            '|' => ("an expression", Some("or")),
            '~' => ("an expression", Some("not")),
            '\u{2018}' | '\u{2019}' => ("a string in straight single quotes", None),
            '\u{201c}' | '\u{201d}' => ("a name in straight double quotes", None),
            _ => (
                "an expression; a name with other characters than letters, digits, `_` and `.` takes double quotes",
                None,
            ),
        };
        let range = start..start + character.len_utf8();
        let found = format!("{character:?}");
        Error::syntax(self.text, range, found, expected.into(), suggestion)
    }
}

/// The length of the plain name that `text` begins with: parts of letters, digits and `_` that do
/// not begin with a digit, joined by single dots.
pub(crate) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    loop {
        let mut at = length;
        let begin = at;
        loop {
            match bytes.get(at) {
                Some(b'a'..=b'z' | b'A'..=b'Z' | b'_') => at += 1,
                Some(b'0'..=b'9') if at > begin => at += 1,
                Some(0x80..) => match text[at..].chars().next() {
                    Some(c) if c.is_alphabetic() || (at > begin && c.is_alphanumeric()) => {
                        at += c.len_utf8();
                    }
                    _ => break,
                },
                _ => break,
            }
        }
        if at == begin {
            // Nothing after a dot: the dot does not belong to the name.
            return length.saturating_sub(1);
        }
        if bytes.get(at) != Some(&b'.') {
            return at;
        }
        length = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text);
        let mut kinds = Vec::new();
        loop {
            match lexer.next().unwrap().kind {
                TokenKind::End => return kinds,
                kind => kinds.push(kind),
            }
        }
    }

    #[test]
    fn tokens() {
        use TokenKind::*;
        assert_eq!(kinds("a.b>=-3 -- no\n&&'it''s'^2"), [Name, AtLeast, Number, And, String, Caret, Number]);
        assert_eq!(kinds("\"x \"\" y\"<>.5e-3"), [QuotedName, NotEqual, Number]);
        assert_eq!(kinds("  -- only a comment"), []);
        assert_eq!(kinds("größe.länge\u{a0}= 1"), [Name, Equal, Number]);
        assert_eq!(
            kinds("`a ``b`/* c */ * b - -3 <=> +x;"),
            [QuotedName, Star, Name, Minus, Number, Same, Plus, Name, Semicolon]
        );
    }

    #[test]
    fn names() {
        assert_eq!(name_length("user.geo.state = 1"), 14);
        assert_eq!(name_length("a..b"), 1);
        assert_eq!(name_length("a.1"), 1);
        assert_eq!(name_length("1a"), 0);
        assert_eq!(name_length(""), 0);
    }

    #[test]
    fn bad_tokens_are_errors() {
        for text in
            ["'open", "\"open", "`open", "12abc", "1.2.3", "1.", "/* open", "1e", "#", "\u{1f980}", "&", "."]
        {
            assert!(Lexer::new(text).next().is_err(), "{text}");
        }
    }
}
