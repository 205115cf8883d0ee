//! Which expression does a text describe?
//!
//! A hand-written operator-precedence parser with one explicit stack: linear in the text, and as deep as the limits
//! allow. Precedence, tightest first: `not`, `and`, `xor`/`xnor`, `or`. This file connects children; `predicate`
//! parses one, `plain` the most frequent ones, and `call` those that are written as functions. `flat` reads
//! expressions that consist of plain predicates without making a tree.

mod call;
mod elements;
mod flat;
mod plain;
mod predicate;

use std::ops::{Deref, DerefMut};

pub use elements::read_inner;
pub use flat::{FlatExpression, FlatNode, FlatPredicate, FlatValue, ShortText};

use super::keywords::{OPERATOR_KEYWORDS, nearest};
use super::lex::{Token, TokenKind};
use super::predicate::{Operand, Operator};
use super::reader::Reader;
use super::term::{Function, Term, Type};
use super::tree::{Assembler, Connective, Expression, TruthTest};
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
use crate::truth::Truth;
use crate::value::Value;

/// Parses an expression.
///
/// ```
/// let limits = tamis_language::Limits::default();
/// let expression = tamis_language::parse("age >= 18 AND NOT state IN ('CA', 'OR')", &limits)?;
/// assert_eq!(expression.to_string(), "age >= 18 and not state in ('CA', 'OR')");
/// # Ok::<(), tamis_base::Error>(())
/// ```
pub fn parse(text: &str, limits: &Limits) -> Result<Expression> {
    limits::check("bytes of an expression's text", "text", text.len(), limits.text)?;
    let mut parser = Parser::new(Reader::begin(text, limits)?);
    parser.expression()?;
    let expression = parser.assembler.finish();
    expression.check(limits)?;
    Ok(expression)
}

/// What waits for a child.
enum Frame {
    /// An open parenthesis.
    Group(Token),
    Not,
    /// A connective with the number of children it has so far.
    Chain(Connective, u32),
}

/// The keywords after `is`, except `null`.
const TRUTHS: [&str; 3] = ["true", "false", "unknown"];

struct Parser<'a> {
    reader: Reader<'a>,
    assembler: Assembler,
    frames: Vec<Frame>,
    /// How many lists enclose the expression being parsed.
    lists: usize,
}

impl<'a> Deref for Parser<'a> {
    type Target = Reader<'a>;

    fn deref(&self) -> &Reader<'a> {
        &self.reader
    }
}

impl<'a> DerefMut for Parser<'a> {
    fn deref_mut(&mut self) -> &mut Reader<'a> {
        &mut self.reader
    }
}

fn precedence(connective: Connective) -> u8 {
    match connective {
        Connective::Or => 0,
        Connective::Xor | Connective::Xnor => 1,
        Connective::And => 2,
    }
}

impl<'a> Parser<'a> {
    fn new(reader: Reader<'a>) -> Parser<'a> {
        // A predicate takes some 24 bytes or more; most expressions have few of them.
        let assembler = Assembler::with_capacity((reader.text.len() / 24 + 2).min(32));
        Parser { reader, assembler, frames: Vec::with_capacity(4), lists: 0 }
    }
}

impl Parser<'_> {
    /// Parses an expression up to the end of the text, or up to the `)` that ends a condition on elements.
    fn expression(&mut self) -> Result<()> {
        loop {
            self.child()?;
            loop {
                while self.at_keyword("is") {
                    self.truth_test()?;
                }
                while let Some(Frame::Not) = self.frames.last() {
                    self.frames.pop();
                    self.assembler.not();
                }
                if let Some(connective) = self.connective() {
                    self.advance()?;
                    self.chain(connective)?;
                    break;
                }
                match self.token.kind {
                    TokenKind::Close => {
                        self.close_chains(0);
                        match self.frames.pop() {
                            Some(Frame::Group(_)) => self.advance()?,
                            _ if self.lists > 0 => return Ok(()),
                            _ => {
                                return Err(
                                    self.unexpected("`and`, `or`, `xor`, `xnor` or the end of the text")
                                );
                            }
                        }
                    }
                    TokenKind::Semicolon if self.lists == 0 => {
                        self.advance()?;
                        if self.token.kind != TokenKind::End {
                            return Err(self.unexpected("the end of the text after `;`"));
                        }
                    }
                    TokenKind::End => {
                        self.close_chains(0);
                        return match self.frames.pop() {
                            None => Ok(()),
                            Some(Frame::Group(open)) => Err(self.error_at(
                                open,
                                "the end of the text".into(),
                                "`)` for the `(` that opens here",
                                None,
                            )),
                            Some(_) => unreachable!("chains and negations are closed"),
                        };
                    }
                    _ => return Err(self.unexpected_after_operand()),
                }
            }
        }
    }

    /// Parses any `not` and `(`, then one predicate or constant.
    fn child(&mut self) -> Result<()> {
        loop {
            match self.token.kind {
                TokenKind::Open => self.push(Frame::Group(self.token))?,
                TokenKind::Not => self.push(Frame::Not)?,
                TokenKind::Name if self.at_keyword("not") => self.push(Frame::Not)?,
                _ => break,
            }
            self.advance()?;
        }
        let start = self.token;
        let mut bare = self.predicate()?;
        // A term alone in parentheses may be an operand of a larger one: `(a + b) * 2 > 3`.
        while let Some(term) = bare {
            let closes =
                self.token.kind == TokenKind::Close && matches!(self.frames.last(), Some(Frame::Group(_)));
            if !closes {
                return self.bare(start, &term);
            }
            let group = self.frames.pop();
            let after = self.token;
            self.advance()?;
            if self.continues_term() {
                let term = self.term_from(term, 1)?;
                bare = self.asked(start, term)?;
            } else if matches!(self.token.kind, TokenKind::Close) {
                bare = Some(term);
            } else {
                self.frames.extend(group);
                self.lexer.restart(after.start);
                self.advance()?;
                return self.bare(start, &term);
            }
        }
        Ok(())
    }

    /// Whether what follows belongs to the term before it.
    fn continues_term(&self) -> bool {
        match self.token.kind {
            TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::Slash
            | TokenKind::Percent
            | TokenKind::Same => true,
            TokenKind::Equal
            | TokenKind::NotEqual
            | TokenKind::Less
            | TokenKind::AtMost
            | TokenKind::Greater
            | TokenKind::AtLeast => true,
            TokenKind::Number => self.text[self.token.range()].starts_with(['-', '+']),
            TokenKind::Name => {
                OPERATOR_KEYWORDS.iter().any(|(keyword, ..)| self.at_keyword(keyword))
                    || self.at_keyword("is")
                    || self.at_keyword("not")
            }
            _ => false,
        }
    }

    /// A term without an operator, which is true if it has the value `true`.
    fn bare(&mut self, start: Token, term: &Term) -> Result<()> {
        match term {
            Term::Attribute(_) | Term::Call(Function::Coalesce | Function::Cast(Type::Boolean), _) => {
                self.ask(start, term, Operator::Equal, false, Operand::One(Value::Boolean(true)), &[])
            }
            _ => Err(self.unexpected("an operator such as `=`, `in` or `between` after the term")),
        }
    }

    fn push(&mut self, frame: Frame) -> Result<()> {
        self.frames.push(frame);
        limits::check("nesting of an expression", "depth", self.frames.len(), self.limits.depth)
    }

    /// Gives the child just completed to `connective`, closing what binds more tightly.
    fn chain(&mut self, connective: Connective) -> Result<()> {
        self.close_chains(precedence(connective) + 1);
        match (connective, self.frames.last_mut()) {
            (Connective::And | Connective::Or, Some(Frame::Chain(same, count))) if *same == connective => {
                *count += self.assembler.absorb(connective);
                Ok(())
            }
            _ => {
                self.close_chains(precedence(connective));
                let count = self.assembler.absorb(connective);
                self.push(Frame::Chain(connective, count))
            }
        }
    }

    /// Completes the chains on top of the stack that have at least the given precedence.
    fn close_chains(&mut self, lowest: u8) {
        while let Some(&Frame::Chain(connective, count)) = self.frames.last() {
            if precedence(connective) < lowest {
                return;
            }
            self.frames.pop();
            let count = count + self.assembler.absorb(connective);
            self.assembler.connect(connective, count);
        }
    }

    fn connective(&self) -> Option<Connective> {
        match self.token.kind {
            TokenKind::And => Some(Connective::And),
            TokenKind::Or => Some(Connective::Or),
            TokenKind::Name => {
                let keyword = self.token_text();
                if keyword.eq_ignore_ascii_case("and") {
                    Some(Connective::And)
                } else if keyword.eq_ignore_ascii_case("or") {
                    Some(Connective::Or)
                } else if keyword.eq_ignore_ascii_case("xor") {
                    Some(Connective::Xor)
                } else if keyword.eq_ignore_ascii_case("xnor") {
                    Some(Connective::Xnor)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    /// Parses `is [not] true`, `false` or `unknown` after a complete child.
    fn truth_test(&mut self) -> Result<()> {
        self.advance()?;
        let negated = self.take_keyword("not")?;
        let Some(keyword) = TRUTHS.iter().position(|keyword| self.at_keyword(keyword)) else {
            return Err(self.after_is(negated));
        };
        let place = self.token;
        self.advance()?;
        let truth = [Truth::True, Truth::False, Truth::Unknown][keyword];
        let tested = self.assembler.is(TruthTest::new(truth, negated));
        tested.map_err(|error| self.locate(place, error))?;
        limits::check("operators and predicates", "nodes", self.assembler.len(), self.limits.nodes)
    }

    fn after_is(&self, negated: bool) -> Error {
        let not = if negated { "" } else { " or `not`" };
        let expected = format!("`null`, `true`, `false`, `unknown`, `distinct from`{not}");
        self.expected_keyword(&expected, &["null", "not", "true", "false", "unknown", "distinct"])
    }

    /// An error after a complete child, which may have been meant as the attribute of a predicate
    /// (`age betwen 3 and 4`) or as a misspelt keyword itself (`nto a = 1`, `exits(a)`).
    fn unexpected_after_operand(&self) -> Error {
        let before = self.text[..self.token.start].trim_end();
        let previous = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        let bare = self.assembler.ends_in_bare_attribute(previous);
        let mut keywords = vec!["and", "or", "xor", "xnor"];
        let expected = if bare {
            keywords.extend(OPERATOR_KEYWORDS.map(|(keyword, ..)| keyword));
            keywords.extend(["is", "not"]);
            "an operator such as `=`, `in` or `between`, or `and`, `or`, `xor`, `xnor`"
        } else if self.token.kind == TokenKind::Comma && previous.ends_with(|c: char| c.is_ascii_digit()) {
            "`and`, `or`, `xor`, `xnor` or the end of the text (the digits of a number have no separators)"
        } else {
            "`and`, `or`, `xor`, `xnor` or the end of the text"
        };
        let mut suggestion = match self.token.kind {
            TokenKind::Name => nearest(self.token_text(), &keywords),
            _ => None,
        };
        if suggestion.is_none() && bare {
            suggestion = match self.token.kind {
                TokenKind::Open => nearest(previous, &["exists", "missing", "not", "xpath"]),
                _ => nearest(previous, &["not"]),
            };
        }
        self.error_at(self.token, self.token.describe(self.text), expected, suggestion)
    }
}
