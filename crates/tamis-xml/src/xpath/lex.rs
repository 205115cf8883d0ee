//! Splitting an expression into tokens.

use std::ops::Range;

use crate::characters::{is_name, is_name_start};
use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Token<'t> {
    /// A prefix and a name; the prefix may be empty.
    Name(&'t str, &'t str),
    /// `prefix:*`
    AnyOf(&'t str),
    /// `*` as a name test.
    Any,
    String(&'t str),
    Number(f64),
    /// `$name`
    Variable(&'t str),
    /// An operator, or punctuation.
    Symbol(&'static str),
    End,
}

pub type Spanned<'t> = (Token<'t>, Range<usize>);

/// Longer symbols first, so that `//` is not read as two `/`.
const SYMBOLS: [&str; 20] = [
    "//", "::", "..", "!=", "<=", ">=", "/", "|", "+", "-", "=", "<", ">", "(", ")", "[", "]", ".", "@", ",",
];

/// The tokens of a text, the last being [`Token::End`].
pub fn lex(text: &str) -> Result<Vec<Spanned<'_>>> {
    let mut tokens: Vec<Spanned<'_>> = Vec::with_capacity(text.len() / 3 + 2);
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if matches!(first, ' ' | '\t' | '\r' | '\n') {
            at += 1;
            continue;
        }
        // XPath 1.0, 3.7: after an operand, `*` and names are operators.
        let after_operand = tokens.last().is_some_and(|(token, _)| match token {
            Token::Symbol(symbol) => matches!(*symbol, ")" | "]" | "." | ".."),
            _ => true,
        });
        let (token, length) = match first {
            '0'..='9' => number(rest),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => number(rest),
            '"' | '\'' => {
                let Some(length) = rest[1..].find(first) else {
                    let found = "the end of the text".to_owned();
                    let expected = format!("a closing {first} for the string that begins here");
                    return Err(Error::syntax(text, at..at + 1, found, expected, None));
                };
                (Token::String(&rest[1..1 + length]), length + 2)
            }
            '*' if after_operand => (Token::Symbol("*"), 1),
            '*' => (Token::Any, 1),
            '$' => {
                let qualified = |c: char| !is_name(c);
                let length = rest[1..].find(qualified).unwrap_or(rest.len() - 1);
                if !rest[1..].starts_with(is_name_start) {
                    let found = "`$`".to_owned();
                    return Err(Error::syntax(text, at..at + 1, found, "a variable's name".into(), None));
                }
                (Token::Variable(&rest[1..1 + length]), 1 + length)
            }
            _ if is_name_start(first) => name(text, at, after_operand)?,
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Token::Symbol(symbol), symbol.len()),
                None => {
                    let found = format!("`{first}`");
                    let expected = "XPath 1.0".to_owned();
                    return Err(Error::syntax(text, at..at + first.len_utf8(), found, expected, None));
                }
            },
        };
        tokens.push((token, at..at + length));
        at += length;
    }
    tokens.push((Token::End, at..at));
    Ok(tokens)
}

fn number(rest: &str) -> (Token<'_>, usize) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + digits(&rest[length + 1..]);
    }
    // Digits with at most one point are also valid for Rust's parser.
    (Token::Number(rest[..length].parse().unwrap_or(f64::NAN)), length)
}

fn name(text: &str, at: usize, after_operand: bool) -> Result<(Token<'_>, usize)> {
    let rest = &text[at..];
    let ncname = |text: &str| text.find(|c: char| !is_name(c) || c == ':').unwrap_or(text.len());
    let first = ncname(rest);
    if after_operand {
        let operators = ["and", "or", "div", "mod"];
        return match operators.iter().find(|operator| **operator == &rest[..first]) {
            Some(operator) => Ok((Token::Symbol(operator), first)),
            None => {
                let found = format!("`{}`", &rest[..first]);
                let expected = "an operator or the end of the text".to_owned();
                Err(Error::syntax(text, at..at + first, found, expected, None))
            }
        };
    }
    let after = &rest[first..];
    if after.starts_with("::") || !after.starts_with(':') {
        return Ok((Token::Name("", &rest[..first]), first));
    }
    if after[1..].starts_with('*') {
        return Ok((Token::AnyOf(&rest[..first]), first + 2));
    }
    if after[1..].starts_with(|c: char| is_name_start(c) && c != ':') {
        let second = ncname(&after[1..]);
        return Ok((Token::Name(&rest[..first], &after[1..1 + second]), first + 1 + second));
    }
    let place = at + first + 1;
    let found = text[place..].chars().next().map_or("the end of the text".into(), |c| format!("`{c}`"));
    Err(Error::syntax(text, place..place, found, "a name after the prefix".into(), None))
}

impl Token<'_> {
    /// The token as shown in messages.
    pub fn shown(&self) -> String {
        match self {
            Token::Name("", local) => format!("`{local}`"),
            Token::Name(prefix, local) => format!("`{prefix}:{local}`"),
            Token::AnyOf(prefix) => format!("`{prefix}:*`"),
            Token::Any => "`*`".into(),
            Token::String(_) => "a string".into(),
            Token::Number(_) => "a number".into(),
            Token::Variable(name) => format!("`${name}`"),
            Token::Symbol(symbol) => format!("`{symbol}`"),
            Token::End => "the end of the text".into(),
        }
    }
}
