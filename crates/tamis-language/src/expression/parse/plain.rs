//! Is the next predicate of the most frequent kind, which can be read without tokens?
//!
//! Most predicates compare an attribute with strings or numbers: `state in ('CA', 'OR')`, `age >= 18`. They are read
//! here byte by byte, which takes less than half as long. Whatever is unusual or wrong, such as a doubled quote, a weight, a
//! comment or arithmetic, is left to the rest of the parser, which starts again at the attribute; so only it reports
//! syntax errors.

use super::Parser;
use crate::error::Result;
use crate::expression::lex::Token;
use crate::expression::predicate::{Operand, Operator, Predicate};
use crate::expression::reader::number;
use crate::expression::recent::shared;
use crate::value::Value;

/// Integers of more digits may not fit.
const MOST_DIGITS: usize = 18;

/// A position in a text, behind what was read so far.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    position: usize,
}

/// A value as it is written.
pub(super) enum PlainConstant<'a> {
    /// Without its quotes.
    Text(&'a str),
    /// A sign or none, digits, and perhaps a fraction.
    Number(&'a str),
}

impl Parser<'_> {
    /// Parses a predicate on the attribute that is the next token, if it is a plain one.
    pub(super) fn plain(&mut self, start: Token) -> Result<bool> {
        let mut cursor = Cursor::at(self.text, start.end);
        cursor.skip_blanks();
        let Some((operator, negated)) = cursor.operator() else { return Ok(false) };
        let operand = match operator {
            Operator::In => {
                let mut values = Vec::with_capacity(4);
                loop {
                    cursor.skip_blanks();
                    let Some(value) = cursor.value() else { return Ok(false) };
                    values.push(value);
                    if values.len() > self.limits.set {
                        return Ok(false);
                    }
                    cursor.skip_blanks();
                    match cursor.next() {
                        Some(b',') => cursor.position += 1,
                        Some(b')') => break cursor.position += 1,
                        _ => return Ok(false),
                    }
                }
                Operand::Set(values)
            }
            Operator::Between => {
                let Some(low) = cursor.value() else { return Ok(false) };
                cursor.skip_blanks();
                if !cursor.take_keyword(b"and") {
                    return Ok(false);
                }
                match cursor.last_value() {
                    Some(high) => Operand::Range(low, high),
                    None => return Ok(false),
                }
            }
            _ => match cursor.last_value() {
                Some(value) => Operand::One(value),
                None => return Ok(false),
            },
        };
        let name = shared(&self.text[start.range()]);
        self.lexer.restart(cursor.position);
        self.advance()?;
        let predicate = Predicate::new(name, operator, negated, operand, &[], self.limits)
            .map_err(|error| self.locate(start, error))?;
        self.assembler.predicate(predicate);
        Ok(true)
    }
}

impl<'a> Cursor<'a> {
    pub fn at(text: &'a str, position: usize) -> Cursor<'a> {
        Cursor { text, position }
    }

    /// What was not read yet.
    pub fn rest(self) -> &'a str {
        &self.text[self.position..]
    }

    /// So many bytes later.
    pub fn behind(self, length: usize) -> Cursor<'a> {
        Cursor { position: self.position + length, ..self }
    }

    #[inline]
    pub fn next(self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// Goes behind the next byte, which is an ASCII character.
    pub fn skip_byte(&mut self) {
        self.position += 1;
    }

    #[inline]
    pub fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.next() {
            self.position += 1;
        }
    }

    /// Takes a connective, behind which there is a blank or a parenthesis.
    pub fn take_connective(&mut self, keyword: &[u8]) -> bool {
        let rest = &self.text.as_bytes()[self.position..];
        let taken = rest.get(..keyword.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(keyword))
            && matches!(rest.get(keyword.len()), Some(b' ' | b'\t' | b'\n' | b'\r' | b'('));
        self.position += if taken { keyword.len() } else { 0 };
        taken
    }

    /// Takes a keyword and the blanks behind it, of which there is at least one.
    pub fn take_keyword(&mut self, keyword: &[u8]) -> bool {
        let rest = &self.text.as_bytes()[self.position..];
        let taken = rest.get(..keyword.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(keyword))
            && matches!(rest.get(keyword.len()), Some(b' ' | b'\t' | b'\n' | b'\r'));
        if taken {
            self.position += keyword.len() + 1;
            self.skip_blanks();
        }
        taken
    }

    /// Takes an operator, with what stands between it and its first value.
    pub fn operator(&mut self) -> Option<(Operator, bool)> {
        let rest = &self.text.as_bytes()[self.position..];
        let (operator, negated, length) = match *rest {
            [b'=', b'=', ..] => return None,
            [b'=', ..] => (Operator::Equal, false, 1),
            [b'!', b'=', ..] | [b'<', b'>', ..] => (Operator::Equal, true, 2),
            [b'<', b'=', b'>', ..] => return None,
            [b'<', b'=', ..] => (Operator::AtMost, false, 2),
            [b'<', ..] => (Operator::Less, false, 1),
            [b'>', b'=', ..] => (Operator::AtLeast, false, 2),
            [b'>', ..] => (Operator::Greater, false, 1),
            [b'b' | b'B', ..] => {
                return self.take_keyword(b"between").then_some((Operator::Between, false));
            }
            [b'i' | b'I' | b'n' | b'N', ..] => {
                let negated = self.take_keyword(b"not");
                if negated && self.take_keyword(b"between") {
                    return Some((Operator::Between, true));
                }
                // A blank is usual before the parenthesis, but not required.
                let set = match self.text.as_bytes()[self.position..] {
                    [b'i' | b'I', b'n' | b'N', b'(', ..] => {
                        self.position += 2;
                        true
                    }
                    _ => self.take_keyword(b"in"),
                };
                if !set || self.next() != Some(b'(') {
                    return None;
                }
                self.position += 1;
                return Some((Operator::In, negated));
            }
            _ => return None,
        };
        self.position += length;
        self.skip_blanks();
        Some((operator, negated))
    }

    /// Takes a value that ends its predicate: nothing behind it can belong to the same term.
    fn last_value(&mut self) -> Option<Value> {
        let value = self.value()?;
        self.skip_blanks();
        matches!(self.next(), None | Some(b')' | b'a'..=b'z' | b'A'..=b'Z')).then_some(value)
    }

    fn value(&mut self) -> Option<Value> {
        match self.constant()? {
            PlainConstant::Text(text) => Some(Value::String(shared(text))),
            PlainConstant::Number(text) => number(text).ok(),
        }
    }

    /// Takes a string without quotes in it, or a number without an exponent.
    #[inline]
    pub fn constant(&mut self) -> Option<PlainConstant<'a>> {
        let rest = &self.text.as_bytes()[self.position..];
        if let [b'\'', inner @ ..] = rest {
            // Most strings are short, so that a loop is faster than a search.
            let length = inner.iter().position(|&byte| byte == b'\'')?;
            if inner.get(length + 1) == Some(&b'\'') {
                return None;
            }
            let start = self.position + 1;
            self.position = start + length + 1;
            return Some(PlainConstant::Text(&self.text[start..start + length]));
        }
        let digits = |from: usize| rest[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let sign = usize::from(rest.first() == Some(&b'-'));
        let whole = digits(sign);
        let mut length = sign + whole;
        if whole == 0 || whole > MOST_DIGITS {
            return None;
        }
        if rest.get(length) == Some(&b'.') {
            let fraction = digits(length + 1);
            length += 1 + fraction;
            if fraction == 0 {
                return None;
            }
        }
        if !matches!(rest.get(length), None | Some(b' ' | b'\t' | b'\n' | b'\r' | b',' | b')')) {
            return None;
        }
        let start = self.position;
        self.position += length;
        Some(PlainConstant::Number(&self.text[start..start + length]))
    }
}

#[cfg(test)]
mod tests {
    use crate::error::Error;
    use crate::{Limits, parse};

    /// A comment behind the attribute leaves the predicate to the rest of the parser.
    #[test]
    fn plain_predicates_mean_what_the_rest_of_the_parser_reads() {
        let tests = [
            "= 1",
            "=1",
            "= 'x'",
            "='x'",
            "= ''",
            "= 'it''s'",
            "== 1",
            "!= -3",
            "<> 3.5",
            "< 1",
            "<= -0",
            "> 007",
            ">=1.50",
            "= +1",
            "= 1e3",
            "= 1.",
            "= .5",
            "= 1.2.3",
            "= 12abc",
            "= 'x",
            "= x",
            "= true",
            "= null",
            "= 'x'^2",
            "= 'x' ^ 2",
            "= 1 + 2",
            "= 1 -2",
            "= 1-2",
            "= 'x' -- no",
            "= 1 /* no */ ^2",
            "= 2026-01-02",
            "= 99999999999999999999",
            "= 999999999999999999",
            "= 'x' , 2",
            "= 1 ;",
            "= 'x';",
            "<=> 1",
            "< > 1",
            "in ('x')",
            "IN('x','y')",
            "in ( 'y' ,\n'x', 'y')",
            "in ()",
            "in (1, 2.5, -3, 'x')",
            "in ('x'^2, 'y')",
            "in ('x', 'y')^2",
            "in ('x') ^ 2",
            "in ('x') /* no */ ^ 2",
            "in ('x',)",
            "in ('x' 'y')",
            "in ('x'",
            "in 'x'",
            "in (true, x)",
            "in (1 + 2, 3)",
            "in (date '2026-01-02')",
            "in (2026-01-02)",
            "in ('it''s', 'x')",
            "not in ('x', 1)",
            "NOT IN (2)",
            "not in('x')",
            "not in ('x')^2",
            "notin ('x')",
            "not between 1 and 2",
            "between 1 and 2",
            "BETWEEN 'a' AND 'b'",
            "between 1 and 'b'",
            "between 2 and 1",
            "between 1and 2",
            "between 1 and2",
            "between 1 and 2^3",
            "between 1 and 2 + 3",
            "between x and 2",
            "between 1, 2",
            "not 3",
            "between 1 and",
            "in",
            "=",
            "inn ('x')",
            "in\u{a0}('x')",
            "= 'x'\u{a0}^2",
            "in ('x')\u{a0}^2",
            "= 'é'",
            "in ('0123456789012345678901234567890', 'é', 'x\n')",
            "< 'x'",
            "< true",
            "is null",
            "like 'x'",
        ];
        let limits = [Limits::default(), Limits { set: 1, ..Limits::default() }];
        for (test, behind) in tests
            .iter()
            .flat_map(|test| ["", " and b = 2", ")", " or", " #", "and b"].map(|behind| (test, behind)))
        {
            for limits in &limits {
                let plain = format!("a        {test}{behind}");
                let other = format!("a /*..*/ {test}{behind}");
                let messages = [&plain, &other].map(|text| match parse(text, limits) {
                    Ok(read) => format!("{read} {:?}", read.nodes()),
                    // What is expected, and what might be meant, depends on the text before it, comments included.
                    Err(Error::Syntax(error)) => format!("{} {}", error.offset, error.found),
                    Err(error) => error.to_string().replace("/*..*/", "      "),
                });
                assert_eq!(messages[0], messages[1], "{plain}");
            }
        }
    }
}
