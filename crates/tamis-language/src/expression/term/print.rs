//! How is a term written, so that reading it gives the same term?

use std::fmt;

use super::Term;
use super::function::{Function, Reading};
use crate::expression::keywords::is_keyword;
use crate::expression::lex::name_length;
use crate::expression::names::{MARK, is_hidden, list_of};
use crate::value::write_quoted;

/// The prefix of the text of a reading; it is followed by the reading's letter and the argument.
pub(super) const READING: char = '\u{2}';

/// How tightly unary minus binds, and what needs no parentheses at all.
const UNARY: u8 = 3;
const ATOM: u8 = 4;

/// Prints the canonical text of the term.
impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Attribute(name) => Name(name).fmt(f),
            Term::Constant(value) => value.fmt(f),
            Term::Call(Function::Read(_), arguments) => arguments[0].fmt(f),
            Term::Call(Function::Negate, arguments) => {
                f.write_str("-")?;
                // Two minus signs would begin a comment.
                let minus = matches!(&arguments[0], Term::Call(Function::Negate, _));
                argument(f, &arguments[0], if minus { ATOM } else { UNARY })
            }
            Term::Call(Function::Cast(to), arguments) => {
                write!(f, "cast({} as {})", arguments[0], to.name())
            }
            Term::Call(Function::IsUnknown, arguments) => write!(f, "{} is unknown", arguments[0]),
            Term::Call(Function::Compare(comparison), arguments) => {
                write!(f, "{} {} {}", arguments[0], comparison.spelling(), arguments[1])
            }
            Term::Call(function, arguments) => match function.infix() {
                Some((operator, binds)) => {
                    argument(f, &arguments[0], binds)?;
                    write!(f, " {operator} ")?;
                    argument(f, &arguments[1], binds + 1)
                }
                None => {
                    write!(f, "{}(", function.name())?;
                    for (position, argument) in arguments.iter().enumerate() {
                        write!(f, "{}{argument}", if position > 0 { ", " } else { "" })?;
                    }
                    f.write_str(")")
                }
            },
        }
    }
}

/// Prints an argument, in parentheses where it binds less tightly than needed.
fn argument(f: &mut fmt::Formatter<'_>, term: &Term, needed: u8) -> fmt::Result {
    let binds = match term {
        Term::Call(Function::Negate, _) => UNARY,
        Term::Call(function, _) => function.infix().map_or(ATOM, |(_, binds)| binds),
        _ => ATOM,
    };
    if binds < needed { write!(f, "({term})") } else { write!(f, "{term}") }
}

/// A term with the kinds of readings.
pub(super) struct Whole<'a>(pub &'a Term);

impl fmt::Display for Whole<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Term::Call(Function::Read(reading), _) = self.0 {
            write!(f, "{READING}{}", reading.letter())?;
        }
        self.0.fmt(f)
    }
}

impl Reading {
    const LETTERS: [(Reading, char); 4] =
        [(Reading::Time, 'T'), (Reading::Address, 'A'), (Reading::Version, 'V'), (Reading::SinceNow, 'N')];

    fn letter(self) -> char {
        Reading::LETTERS.iter().find(|(reading, _)| *reading == self).map_or(' ', |(_, letter)| *letter)
    }

    pub(super) fn from_letter(letter: char) -> Option<Reading> {
        Reading::LETTERS.iter().find(|(_, known)| *known == letter).map(|(reading, _)| *reading)
    }
}

/// The name of an attribute as users know it: for a term, its text.
pub fn shown(name: &str) -> String {
    if let Some((_, list)) = list_of(name) {
        return format!("elements of {}", shown(list));
    }
    match name.strip_prefix(MARK) {
        None => Name(name).to_string(),
        Some(text) => match text.strip_prefix(READING) {
            Some(reading) => reading.get(1..).unwrap_or_default().to_owned(),
            None => text.to_owned(),
        },
    }
}

/// An attribute's name, quoted if it must be; of a term, its text.
pub(in crate::expression) struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_hidden(self.0) {
            f.write_str(&shown(self.0))
        } else if name_length(self.0) == self.0.len() && !is_keyword(self.0) {
            f.write_str(self.0)
        } else {
            write_quoted(f, self.0, '"')
        }
    }
}
