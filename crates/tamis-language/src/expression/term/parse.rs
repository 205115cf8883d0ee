//! Which term does a text describe?
//!
//! Precedence climbing; terms nest only as deep as [`DEEPEST`], so recursion is safe.

use super::function::{Comparison, Function, Reading, Type};
use super::print::READING;
use super::{DEEPEST, Term};
use crate::error::{Error, Result};
use crate::expression::keywords::{OPERATOR_KEYWORDS, RESERVED, may_mean, nearest};
use crate::expression::lex::{Token, TokenKind};
use crate::expression::names::{IT, check_name};
use crate::expression::reader::Reader;
use crate::expression::recent::shared;
use crate::limits::{self, Limits};

/// Reads the text behind the mark of a term's name.
pub(super) fn read(text: &str) -> Result<Term> {
    if let Some(rest) = text.strip_prefix(READING) {
        let mut characters = rest.chars();
        let reading = characters.next().and_then(Reading::from_letter);
        let reading = reading.ok_or_else(|| Error::expression("a term's name is damaged"))?;
        let argument = read(characters.as_str())?;
        return Ok(Term::Call(Function::Read(reading), vec![argument]));
    }
    let limits = Limits::none();
    let mut parser = Reader::begin(text, &limits)?.inside_list();
    let left = parser.term()?;
    let comparison = match parser.token.kind {
        TokenKind::Equal => Some(Comparison::Equal),
        TokenKind::Less => Some(Comparison::Less),
        TokenKind::AtMost => Some(Comparison::AtMost),
        TokenKind::Greater => Some(Comparison::Greater),
        TokenKind::AtLeast => Some(Comparison::AtLeast),
        _ => {
            let keywords = OPERATOR_KEYWORDS.iter().find(|(keyword, ..)| parser.at_keyword(keyword));
            let compared = keywords.and_then(|(_, _, spelling)| Comparison::from_spelling(spelling));
            if compared.is_some() && keywords.is_some_and(|(_, second, _)| second.is_some()) {
                parser.advance()?;
            }
            compared
        }
    };
    let mut term = match comparison {
        Some(comparison) => {
            parser.advance()?;
            let right = parser.term()?;
            Term::Call(Function::Compare(comparison), vec![left, right])
        }
        None => left,
    };
    if parser.take_keyword("is")? {
        parser.advance()?;
        term = Term::Call(Function::IsUnknown, vec![term]);
    }
    parser.expect(TokenKind::End, "the end of the text")?;
    Ok(term)
}

impl Reader<'_> {
    /// Reads a term.
    pub(in crate::expression) fn term(&mut self) -> Result<Term> {
        let first = self.unary()?;
        self.term_from(first, 1)
    }

    /// Reads what follows the first argument of a term, as far as it binds tightly enough.
    pub(in crate::expression) fn term_from(&mut self, mut left: Term, least: u8) -> Result<Term> {
        while let Some((function, binds)) = self.infix()? {
            if binds < least {
                break;
            }
            let place = self.token;
            self.advance()?;
            self.deeper()?;
            let first = self.unary()?;
            let right = self.term_from(first, binds + 1)?;
            self.term_depth -= 1;
            left = self.call(place, function, vec![left, right])?;
        }
        Ok(left)
    }

    /// The operator at this position. A sign that was read as part of a number is taken apart.
    fn infix(&mut self) -> Result<Option<(Function, u8)>> {
        let operator = match self.token.kind {
            TokenKind::Plus => "+",
            TokenKind::Minus => "-",
            TokenKind::Star => "*",
            TokenKind::Slash => "/",
            TokenKind::Percent => "%",
            TokenKind::Number if self.text[self.token.range()].starts_with(['-', '+']) => {
                let Token { start, .. } = self.token;
                let kind =
                    if self.text.as_bytes()[start] == b'-' { TokenKind::Minus } else { TokenKind::Plus };
                self.token = Token { kind, start, end: start + 1 };
                self.lexer.restart(start + 1);
                if kind == TokenKind::Minus { "-" } else { "+" }
            }
            _ => return Ok(None),
        };
        if operator == "-" {
            self.check_spaces()?;
        }
        let function = Function::from_infix(operator);
        Ok(function.and_then(|function| function.infix().map(|(_, binds)| (function, binds))))
    }

    /// Refuses `user-agent`, which is no subtraction.
    fn check_spaces(&self) -> Result<()> {
        let Token { start, end, .. } = self.token;
        let part_of_name =
            |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '-');
        let name_before: usize =
            self.text[..start].chars().rev().take_while(|c| part_of_name(*c)).map(char::len_utf8).sum();
        let name_after: usize =
            self.text[end..].chars().take_while(|c| part_of_name(*c)).map(char::len_utf8).sum();
        let before = &self.text[start - name_before..start];
        // `)-x` and `3-x` are no names.
        if name_after == 0 || before.is_empty() || before.starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(());
        }
        let name = &self.text[start - name_before..end + name_after];
        let quoted = format!("\"{}\"", crate::expression::shorten(name));
        let expected = "spaces around a minus sign, or double quotes around a name that contains one";
        let place = Token { start: start - name_before, end: end + name_after, ..self.token };
        Err(self.error_at(place, format!("`{}`", crate::expression::shorten(name)), expected, Some(&quoted)))
    }

    fn deeper(&mut self) -> Result<()> {
        self.term_depth += 1;
        let allowed = self.limits.term_depth.min(DEEPEST);
        limits::check("nesting of a term", "term_depth", self.term_depth, allowed)
    }

    /// Reads signs, then one argument.
    fn unary(&mut self) -> Result<Term> {
        let place = self.token;
        match self.token.kind {
            TokenKind::Minus => {
                self.advance()?;
                self.deeper()?;
                let term = self.unary()?;
                self.term_depth -= 1;
                self.call(place, Function::Negate, vec![term])
            }
            TokenKind::Plus => {
                self.advance()?;
                self.deeper()?;
                let term = self.unary()?;
                self.term_depth -= 1;
                Ok(term)
            }
            TokenKind::Open => {
                self.advance()?;
                self.deeper()?;
                let term = self.term()?;
                self.term_depth -= 1;
                self.expect(TokenKind::Close, "an operator or `)`")?;
                Ok(term)
            }
            _ => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Term> {
        let place = self.token;
        match place.kind {
            TokenKind::QuotedName => {
                let name = shared(&place.unquoted(self.text));
                check_name(&name, self.limits).map_err(|error| self.locate(place, error))?;
                self.advance()?;
                Ok(Term::Attribute(name))
            }
            TokenKind::Name => {
                if may_mean(self.token_text())
                    && let Some(term) = self.keyword_constant()?
                {
                    return Ok(term);
                }
                self.advance()?;
                if self.token.kind == TokenKind::Open {
                    return self.function(place);
                }
                let name = &self.text[place.range()];
                if self.in_list && name.eq_ignore_ascii_case("it") {
                    return Ok(Term::Attribute(IT.into()));
                }
                Ok(Term::Attribute(shared(name)))
            }
            TokenKind::Number => {
                self.check_date()?;
                self.value().map(Term::Constant)
            }
            _ => self.value().map(Term::Constant),
        }
    }

    /// Refuses `2026-01-02` and `2026-01-02T10:00:00Z`, which nobody means as a subtraction.
    fn check_date(&self) -> Result<()> {
        let sign = usize::from(self.text[self.token.range()].starts_with(['-', '+']));
        let start = self.token.start + sign;
        let Some((length, keyword)) = date_length(&self.text[start..]) else { return Ok(()) };
        let place = Token { start, end: start + length, ..self.token };
        let written = &self.text[place.range()];
        // The constant wants two digits for the month and the day.
        let mut parts = written.splitn(3, '-');
        let mut part = || parts.next().unwrap_or_default();
        let (year, month, day) = (part(), part(), part());
        let short = day.bytes().take_while(u8::is_ascii_digit).count() == 1;
        let constant = format!("{keyword} '{year}-{month:0>2}-{}{day}'", if short { "0" } else { "" });
        let expected = "a time as a typed constant, or spaces around the minus signs of a subtraction";
        Err(self.error_at(place, format!("`{written}`"), expected, Some(&constant)))
    }

    /// Reads a constant that begins with a keyword, if there is one here.
    fn keyword_constant(&mut self) -> Result<Option<Term>> {
        let name = self.token_text();
        let constant = ["true", "false", "null"].iter().any(|known| name.eq_ignore_ascii_case(known));
        if constant {
            return self.value().map(|value| Some(Term::Constant(value)));
        }
        if RESERVED.iter().any(|keyword| name.eq_ignore_ascii_case(keyword)) {
            return Err(self.unexpected(
                "a value, an attribute or a function (an attribute named like a keyword takes double quotes)",
            ));
        }
        Ok(self.typed_constant()?.map(Term::Constant))
    }

    /// Reads the arguments of the function whose name was just read.
    fn function(&mut self, place: Token) -> Result<Term> {
        let name = &self.text[place.range()];
        if name.eq_ignore_ascii_case("cast") || name.eq_ignore_ascii_case("try_cast") {
            return self.cast(place);
        }
        let Some(function) = Function::from_name(name) else {
            return Err(self.no_function(place));
        };
        self.advance()?;
        self.deeper()?;
        let mut arguments = Vec::new();
        if self.token.kind != TokenKind::Close {
            loop {
                arguments.push(self.term()?);
                match self.token.kind {
                    TokenKind::Comma => self.advance()?,
                    TokenKind::Close => break,
                    _ => return Err(self.unexpected("an operator, `,` or `)`")),
                }
            }
        }
        self.advance()?;
        self.term_depth -= 1;
        self.call(place, function, arguments)
    }

    /// Reads `(term as type)`.
    fn cast(&mut self, place: Token) -> Result<Term> {
        self.advance()?;
        self.deeper()?;
        let term = self.term()?;
        self.term_depth -= 1;
        if !self.take_keyword("as")? {
            return Err(self.unexpected("`as` and a type"));
        }
        let to = if self.token.kind == TokenKind::Name { Type::from_name(self.token_text()) } else { None };
        let Some(to) = to else {
            return Err(self.unexpected(&format!("a type: {}", Type::names())));
        };
        self.advance()?;
        self.expect(TokenKind::Close, "`)`")?;
        self.call(place, Function::Cast(to), vec![term])
    }

    fn call(&self, place: Token, function: Function, arguments: Vec<Term>) -> Result<Term> {
        Term::call(function, arguments, self.limits).map_err(|error| self.locate(place, error))
    }

    /// An error for a name with parentheses that is no function.
    fn no_function(&self, place: Token) -> Error {
        let name = &self.text[place.range()];
        let shown = crate::expression::shorten(name);
        let names = Function::names();
        let known: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let suggestion = nearest(name, &names);
        let expected = format!("a function; there is no function `{shown}`; known are {}", known.join(", "));
        self.error_at(place, format!("`{shown}`"), &expected, suggestion)
    }
}

/// The length of the date or timestamp that a text begins with, and the keyword of its constant. A date is written
/// `YYYY-MM-DD`, without spaces; the month and the day may have one digit.
fn date_length(text: &str) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits(0) != 4 {
        return None;
    }
    let mut length = 4;
    for _ in 0..2 {
        if bytes.get(length) != Some(&b'-') {
            return None;
        }
        let count = digits(length + 1);
        if !(1..=2).contains(&count) {
            return None;
        }
        length += 1 + count;
    }
    match bytes.get(length) {
        Some(b'T' | b't' | b' ') => {
            let hour = digits(length + 1);
            if hour > 0 && bytes.get(length + 1 + hour) == Some(&b':') {
                let part =
                    |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b':' | b'.' | b'+' | b'-');
                let time = bytes[length + 1..].iter().take_while(part).count();
                return Some((length + 1 + time, "timestamp"));
            }
            (bytes[length] == b' ').then_some((length, "date"))
        }
        // Part of another number, or of a name.
        _ if text[length..].starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.')) => None,
        _ => Some((length, "date")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_without_quotes() {
        for (text, expected) in [
            ("2026-01-02", Some((10, "date"))),
            ("2026-1-2)", Some((8, "date"))),
            ("2026-99-99 and b", Some((10, "date"))),
            ("2026-01-02-03", Some((10, "date"))),
            ("2026-01-02T10:00:00Z or b", Some((20, "timestamp"))),
            ("2026-01-02 10:00:00.5+01:00,", Some((27, "timestamp"))),
            ("2026-01-02t1:00", Some((15, "timestamp"))),
            ("2026-01-02\u{a0}", Some((10, "date"))),
            ("2026-01", None),
            ("2026 - 01 - 02", None),
            ("2026-01 -02", None),
            ("202-01-02", None),
            ("12026-01-02", None),
            ("2026-001-02", None),
            ("2026-01-002", None),
            ("2026-01-02.5", None),
            ("2026-01-a", None),
            ("2026-01-", None),
            ("2026.0-01-02", None),
            ("2026-01-02é", None),
        ] {
            assert_eq!(date_length(text), expected, "{text}");
        }
    }
}
