//! Which token comes next, and which value, name or error is it?
//!
//! What the parsers of terms and of expressions have in common.

use std::sync::Arc;

use super::keywords::{RESERVED, nearest};
use super::lex::{Lexer, Token, TokenKind};
use super::recent::shared;
use crate::error::{Error, Result, SyntaxError};
use crate::limits::Limits;
use crate::value::{ConstantType, Value, ValueRef, read_number};

/// A text that is being read, and the token that comes next.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) lexer: Lexer<'a>,
    /// The token to be read next.
    pub(super) token: Token,
    /// How deep the term being read is nested.
    pub(super) term_depth: usize,
    /// Whether `it` is the element of a list.
    pub(super) in_list: bool,
}

impl<'a> Reader<'a> {
    /// Reads the first token of a text.
    pub(super) fn begin(text: &'a str, limits: &'a Limits) -> Result<Reader<'a>> {
        let mut lexer = Lexer::new(text);
        let token = lexer.next()?;
        Ok(Reader { text, limits, lexer, token, term_depth: 0, in_list: false })
    }

    /// This reader, for a condition on an element of a list.
    pub(super) fn inside_list(mut self) -> Reader<'a> {
        self.in_list = true;
        self
    }
}

impl Reader<'_> {
    /// Adds the place of the predicate to an error about what it means.
    pub(super) fn locate(&self, start: Token, error: Error) -> Error {
        match error {
            Error::Expression(message) => {
                let place = self.error_at(start, String::new(), "", None);
                let Error::Syntax(place) = place else { unreachable!("error_at makes syntax errors") };
                let SyntaxError { line, column, excerpt: [shown, mark], .. } = *place;
                Error::Expression(format!("line {line}, column {column}: {message}\n  {shown}\n  {mark}"))
            }
            other => other,
        }
    }

    pub(super) fn name(&mut self) -> Result<Arc<str>> {
        let name: Arc<str> = match self.token.kind {
            TokenKind::QuotedName => self.token.unquoted(self.text).into(),
            TokenKind::Name if !RESERVED.iter().any(|keyword| self.at_keyword(keyword)) => {
                self.token_text().into()
            }
            _ => return Err(self.unexpected("the name of an attribute")),
        };
        self.advance()?;
        Ok(name)
    }

    pub(super) fn weight(&mut self) -> Result<Option<f64>> {
        if self.token.kind != TokenKind::Caret {
            return Ok(None);
        }
        if self.in_list {
            return Err(self.unexpected("no weight: a condition on an element has none"));
        }
        self.advance()?;
        if self.token.kind != TokenKind::Number {
            return Err(self.unexpected("a weight, which is a number of at least 0"));
        }
        let weight = self.text[self.token.range()].parse::<f64>();
        let weight = weight.map_err(|_| self.unexpected("a weight, which is a number of at least 0"))?;
        self.advance()?;
        Ok(Some(weight))
    }

    /// Reads a constant that begins with a keyword, such as `date '2026-01-02'`, if there is one here.
    pub(super) fn typed_constant(&mut self) -> Result<Option<Value>> {
        match self.constant_type() {
            Some(constant_type) => self.typed_value(constant_type).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value> {
        let text = &self.text[self.token.range()];
        let value = match self.token.kind {
            TokenKind::String => Value::String(shared(&self.token.unquoted(self.text))),
            TokenKind::Number => {
                number(text).map_err(|reason| self.locate(self.token, Error::expression(reason)))?
            }
            TokenKind::Name if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
            TokenKind::Name if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
            TokenKind::Name if text.eq_ignore_ascii_case("null") => {
                return Err(self.unexpected(
                    "a value; `null` is not one, and nothing equals it: write `is null` or `is not null`",
                ));
            }
            TokenKind::Name => {
                if let Some(constant_type) = self.constant_type() {
                    return self.typed_value(constant_type);
                }
                return Err(
                    self.expected_keyword("a value; a string takes single quotes", &["true", "false"])
                );
            }
            TokenKind::QuotedName => {
                return Err(
                    self.unexpected("a value; a string takes single quotes, double quotes make a name")
                );
            }
            _ => return Err(self.unexpected("a value: a string, a number, `true` or `false`")),
        };
        self.advance()?;
        Ok(value)
    }

    /// The type of the typed constant that begins here, which is a keyword and a string.
    pub(super) fn constant_type(&self) -> Option<ConstantType> {
        if self.token.kind != TokenKind::Name {
            return None;
        }
        let constant_type = ConstantType::from_keyword(self.token_text())?;
        let next = Lexer::at(self.text, self.token.end).next();
        next.is_ok_and(|token| token.kind == TokenKind::String).then_some(constant_type)
    }

    /// Reads a typed constant such as `date '2026-01-02'` or `interval '7' day`, whose keyword is next.
    pub(super) fn typed_value(&mut self, constant_type: ConstantType) -> Result<Value> {
        let start = self.token;
        self.advance()?;
        let mut text = self.token.unquoted(self.text).into_owned();
        self.advance()?;
        if constant_type == ConstantType::Interval && !text.trim().contains([' ', '\t']) {
            if self.token.kind != TokenKind::Name {
                return Err(self.unexpected("a unit such as `day`, `hour`, `minute` or `second`"));
            }
            text = format!("{text} {}", self.token_text());
            self.advance()?;
        }
        constant_type.read(&text).map_err(|reason| self.locate(start, Error::expression(reason)))
    }

    pub(super) fn string(&mut self, expected: &str) -> Result<String> {
        if self.token.kind != TokenKind::String {
            return Err(self.unexpected(expected));
        }
        let text = self.token.unquoted(self.text).into_owned();
        self.advance()?;
        Ok(text)
    }

    /// An error in the text of a string, at its place in the whole text.
    pub(super) fn inside(&self, quoted: Token, error: SyntaxError) -> Error {
        let start = quoted.start_of(self.text, error.offset);
        let width = error.excerpt[1].trim_start().chars().count();
        let marked = self.text[start..quoted.end - 1].char_indices().nth(width);
        let end = marked.map_or(quoted.end - 1, |(length, _)| start + length);
        Error::syntax(self.text, start..end, error.found, error.expected, error.suggestion.as_deref())
    }

    pub(super) fn describe(&self, token: Token) -> String {
        token.describe(self.text)
    }

    pub(super) fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    pub(super) fn token_text(&self) -> &str {
        &self.text[self.token.range()]
    }

    pub(super) fn at_keyword(&self, keyword: &str) -> bool {
        self.token.kind == TokenKind::Name && self.token_text().eq_ignore_ascii_case(keyword)
    }

    pub(super) fn take_keyword(&mut self, keyword: &str) -> Result<bool> {
        let found = self.at_keyword(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, kind: TokenKind, expected: &str) -> Result<()> {
        if self.token.kind != kind {
            return Err(self.unexpected(expected));
        }
        self.advance()
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        self.error_at(self.token, self.token.describe(self.text), expected, None)
    }

    /// An error where one of `keywords` may have been meant.
    pub(super) fn expected_keyword(&self, expected: &str, keywords: &[&'static str]) -> Error {
        let suggestion =
            if self.token.kind == TokenKind::Name { nearest(self.token_text(), keywords) } else { None };
        self.error_at(self.token, self.token.describe(self.text), expected, suggestion)
    }

    pub(super) fn error_at(
        &self,
        token: Token,
        found: String,
        expected: &str,
        suggestion: Option<&str>,
    ) -> Error {
        Error::syntax(self.text, token.range(), found, expected.to_owned(), suggestion)
    }
}

/// The value of a number's text.
pub(crate) fn number(text: &str) -> std::result::Result<Value, String> {
    read_number(text).map(ValueRef::to_value)
}
