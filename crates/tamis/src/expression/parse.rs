//! Which expression does a text write down?
//!
//! A hand-written operator-precedence parser over one explicit stack: linear in the text, and as
//! deep as the limits allow. Precedence, tightest first: `not`, `and`, `xor`/`xnor`, `or`.

use std::sync::Arc;

use super::lex::{Kind, Lexer, Token};
use super::predicate::{Operand, Operator, Predicate};
use super::tree::{Assembler, Connective, Expression};
use crate::error::{Error, Result, SyntaxError};
use crate::limits::{self, Limits};
use crate::value::Value;

/// Words that are never attributes unless quoted.
const RESERVED: [&str; 12] =
    ["and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false"];
/// Words that are keywords only where the grammar asks for them.
const CONTEXTUAL: [&str; 8] = ["starts", "ends", "with", "contains", "matches", "exists", "missing", "xpath"];

/// Whether a name must be quoted to be read as an attribute everywhere.
pub(crate) fn is_keyword(word: &str) -> bool {
    RESERVED.iter().chain(&CONTEXTUAL).any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// Reads an expression from text.
///
/// ```
/// let limits = tamis::Limits::default();
/// let expression = tamis::parse("age >= 18 AND NOT state IN ('CA', 'OR')", &limits)?;
/// assert_eq!(expression.to_string(), "age >= 18 and not state in ('CA', 'OR')");
/// # Ok::<(), tamis::Error>(())
/// ```
pub fn parse(text: &str, limits: &Limits) -> Result<Expression> {
    limits::check("bytes of an expression's text", "text", text.len(), limits.text)?;
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser =
        Parser { text, limits, lexer, token, assembler: Assembler::default(), frames: Vec::new() };
    parser.expression()?;
    let expression = parser.assembler.finish();
    expression.check(limits)?;
    Ok(expression)
}

/// What is waiting for an operand.
enum Frame {
    /// An open parenthesis.
    Group(Token),
    Not,
    /// A connective with the number of operands it has so far.
    Chain(Connective, u32),
}

struct Parser<'a> {
    text: &'a str,
    limits: &'a Limits,
    lexer: Lexer<'a>,
    /// The token to be read next.
    token: Token,
    assembler: Assembler,
    frames: Vec<Frame>,
}

fn precedence(connective: Connective) -> u8 {
    match connective {
        Connective::Or => 0,
        Connective::Xor | Connective::Xnor => 1,
        Connective::And => 2,
    }
}

impl Parser<'_> {
    fn expression(&mut self) -> Result<()> {
        loop {
            self.operand()?;
            loop {
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
                    Kind::Close => {
                        self.close_chains(0);
                        let Some(Frame::Group(_)) = self.frames.pop() else {
                            return Err(self.unexpected("`and`, `or`, `xor`, `xnor` or the end of the text"));
                        };
                        self.advance()?;
                    }
                    Kind::End => {
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

    /// Reads `not` and `(` as they come, then one predicate or constant.
    fn operand(&mut self) -> Result<()> {
        loop {
            match self.token.kind {
                Kind::Open => self.push(Frame::Group(self.token))?,
                Kind::Not => self.push(Frame::Not)?,
                Kind::Word if self.is_word("not") => self.push(Frame::Not)?,
                _ => return self.predicate(),
            }
            self.advance()?;
        }
    }

    fn push(&mut self, frame: Frame) -> Result<()> {
        self.frames.push(frame);
        limits::check("nesting of an expression", "depth", self.frames.len(), self.limits.depth)
    }

    /// Gives the operand just completed to `connective`, closing what binds tighter.
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

    /// Completes the chains on top of the stack of at least the given precedence.
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
            Kind::And => Some(Connective::And),
            Kind::Or => Some(Connective::Or),
            Kind::Word => {
                let word = self.word();
                if word.eq_ignore_ascii_case("and") {
                    Some(Connective::And)
                } else if word.eq_ignore_ascii_case("or") {
                    Some(Connective::Or)
                } else if word.eq_ignore_ascii_case("xor") {
                    Some(Connective::Xor)
                } else if word.eq_ignore_ascii_case("xnor") {
                    Some(Connective::Xnor)
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn predicate(&mut self) -> Result<()> {
        limits::check("operators and predicates", "nodes", self.assembler.len() + 1, self.limits.nodes)?;
        let start = self.token;
        let attribute: Arc<str> = match start.kind {
            Kind::QuotedName => start.unquoted(self.text).into(),
            Kind::Word => {
                let word = self.word();
                for (name, value) in [("true", true), ("false", false)] {
                    if word.eq_ignore_ascii_case(name) {
                        self.advance()?;
                        self.assembler.constant(value);
                        return Ok(());
                    }
                }
                if RESERVED.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) {
                    return Err(self.unexpected(
                        "a predicate, `not` or `(` (an attribute named like a keyword takes double quotes)",
                    ));
                }
                word.into()
            }
            Kind::String | Kind::Number => {
                return Err(
                    self.unexpected("a predicate, `not` or `(`; a predicate begins with its attribute")
                );
            }
            Kind::End if self.assembler.len() == 0 && self.frames.is_empty() => {
                return Err(self.unexpected("an expression"));
            }
            _ => return Err(self.unexpected("a predicate, `not` or `(`")),
        };
        self.advance()?;
        if start.kind == Kind::Word && self.token.kind == Kind::Open {
            let word = &self.text[start.range()];
            let negated = word.eq_ignore_ascii_case("missing");
            if negated || word.eq_ignore_ascii_case("exists") {
                self.advance()?;
                let attribute = self.name()?;
                self.expect(Kind::Close, "`)`")?;
                return self.emit(start, attribute, Operator::Exists, negated, Operand::Nothing, &[]);
            }
            if word.eq_ignore_ascii_case("xpath") {
                return self.xpath(start);
            }
        }
        let comparison = match self.token.kind {
            Kind::Equal => Some((Operator::Equal, false)),
            Kind::NotEqual => Some((Operator::Equal, true)),
            Kind::Less => Some((Operator::Less, false)),
            Kind::AtMost => Some((Operator::AtMost, false)),
            Kind::Greater => Some((Operator::Greater, false)),
            Kind::AtLeast => Some((Operator::AtLeast, false)),
            _ => None,
        };
        if let Some((operator, negated)) = comparison {
            self.advance()?;
            let value = self.value()?;
            return self.weighed(start, attribute, operator, negated, Operand::One(value));
        }
        if self.token.kind == Kind::Word {
            if self.is_word("is") {
                self.advance()?;
                let negated = self.take_word("not")?;
                if !self.take_word("null")? {
                    let expected = if negated { "`null`" } else { "`null` or `not null`" };
                    return Err(self.unexpected_word(expected, &["null", "not"]));
                }
                return self.emit(start, attribute, Operator::IsNull, negated, Operand::Nothing, &[]);
            }
            let negated = self.take_word("not")?;
            if let Some(operator) = self.take_operator()? {
                return self.worded(start, attribute, operator, negated);
            }
            if negated {
                let words = ["in", "between", "like", "starts", "ends", "contains", "matches"];
                return Err(
                    self.unexpected_word("`in`, `between`, `like` or another operator after `not`", &words)
                );
            }
        }
        self.emit(start, attribute, Operator::Equal, false, Operand::One(Value::Boolean(true)), &[])
    }

    /// Reads what stands behind `xpath`: an expression, and the namespaces of its prefixes.
    fn xpath(&mut self, start: Token) -> Result<()> {
        self.advance()?;
        let literal = self.token;
        let text = self.string("an XPath expression in single quotes")?;
        let mut namespaces = Vec::new();
        while self.token.kind == Kind::Comma {
            self.advance()?;
            let prefix = self.name()?;
            self.expect(Kind::Equal, "`=` and the namespace that the prefix stands for")?;
            namespaces.push((prefix, self.string("a namespace in single quotes")?));
        }
        self.expect(Kind::Close, "`,` or `)`")?;
        let weight = self.weight()?;
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, namespace)| (&**prefix, &**namespace)).collect();
        let predicate = Predicate::xpath(&text, &namespaces, weight.as_slice(), self.limits);
        let predicate = predicate.map_err(|error| match error {
            Error::Syntax(error) => self.inside(literal, *error),
            other => self.locate(start, other),
        })?;
        self.assembler.predicate(predicate);
        Ok(())
    }

    fn string(&mut self, expected: &str) -> Result<String> {
        if self.token.kind != Kind::String {
            return Err(self.unexpected(expected));
        }
        let text = self.token.unquoted(self.text).into_owned();
        self.advance()?;
        Ok(text)
    }

    /// An error in the text of a string, at its place in the whole text.
    fn inside(&self, literal: Token, error: SyntaxError) -> Error {
        let start = literal.start_of(self.text, error.offset);
        let width = error.excerpt[1].trim_start().chars().count();
        let marked = self.text[start..literal.end - 1].char_indices().nth(width);
        let end = marked.map_or(literal.end - 1, |(length, _)| start + length);
        Error::syntax(self.text, start..end, error.found, error.expected, error.suggestion.as_deref())
    }

    /// Reads an operator that is spelled with words, if one stands here.
    fn take_operator(&mut self) -> Result<Option<Operator>> {
        const WORDS: [(&str, Operator); 7] = [
            ("in", Operator::In),
            ("between", Operator::Between),
            ("like", Operator::Like),
            ("starts", Operator::StartsWith),
            ("ends", Operator::EndsWith),
            ("contains", Operator::Contains),
            ("matches", Operator::Matches),
        ];
        let Some(&(_, operator)) = WORDS.iter().find(|(word, _)| self.is_word(word)) else {
            return Ok(None);
        };
        self.advance()?;
        if matches!(operator, Operator::StartsWith | Operator::EndsWith) && !self.take_word("with")? {
            return Err(self.unexpected_word("`with`", &["with"]));
        }
        Ok(Some(operator))
    }

    fn worded(&mut self, start: Token, attribute: Arc<str>, operator: Operator, negated: bool) -> Result<()> {
        match operator {
            Operator::In => {
                let (values, weights) = self.set()?;
                self.emit(start, attribute, operator, negated, Operand::Set(values), &weights)
            }
            Operator::Between => {
                let low = self.value()?;
                if self.token.kind != Kind::And && !self.is_word("and") {
                    return Err(self.unexpected_word("`and` between the two ends", &["and"]));
                }
                self.advance()?;
                let high = self.value()?;
                self.weighed(start, attribute, operator, negated, Operand::Range(low, high))
            }
            _ => {
                let value = self.value()?;
                self.weighed(start, attribute, operator, negated, Operand::One(value))
            }
        }
    }

    fn set(&mut self) -> Result<(Vec<Value>, Vec<f64>)> {
        self.expect(Kind::Open, "`(` and the values of the set")?;
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        if self.token.kind == Kind::Close {
            self.advance()?;
            return Ok((values, weights));
        }
        loop {
            values.push(self.value()?);
            limits::check("values of a set", "set", values.len(), self.limits.set)?;
            if let Some(weight) = self.weight()? {
                weights.resize(values.len() - 1, 1.0);
                weights.push(weight);
            }
            match self.token.kind {
                Kind::Comma => self.advance()?,
                Kind::Close => break,
                _ => return Err(self.unexpected("`,` or `)`")),
            }
        }
        self.advance()?;
        if !weights.is_empty() {
            weights.resize(values.len(), 1.0);
        }
        Ok((values, weights))
    }

    /// Emits a predicate whose operand a weight may follow.
    fn weighed(
        &mut self,
        start: Token,
        attribute: Arc<str>,
        operator: Operator,
        negated: bool,
        operand: Operand,
    ) -> Result<()> {
        match self.weight()? {
            None => self.emit(start, attribute, operator, negated, operand, &[]),
            Some(weight) => self.emit(start, attribute, operator, negated, operand, &[weight]),
        }
    }

    fn emit(
        &mut self,
        start: Token,
        attribute: Arc<str>,
        operator: Operator,
        negated: bool,
        operand: Operand,
        weights: &[f64],
    ) -> Result<()> {
        let predicate = Predicate::new(attribute, operator, negated, operand, weights, self.limits)
            .map_err(|error| self.locate(start, error))?;
        self.assembler.predicate(predicate);
        Ok(())
    }

    /// Adds the place of the predicate to an error about what it means.
    fn locate(&self, start: Token, error: Error) -> Error {
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

    fn name(&mut self) -> Result<Arc<str>> {
        let name: Arc<str> = match self.token.kind {
            Kind::QuotedName => self.token.unquoted(self.text).into(),
            Kind::Word if !RESERVED.iter().any(|keyword| self.is_word(keyword)) => self.word().into(),
            _ => return Err(self.unexpected("the name of an attribute")),
        };
        self.advance()?;
        Ok(name)
    }

    fn weight(&mut self) -> Result<Option<f64>> {
        if self.token.kind != Kind::Caret {
            return Ok(None);
        }
        self.advance()?;
        if self.token.kind != Kind::Number {
            return Err(self.unexpected("a weight, which is a number of at least 0"));
        }
        let weight = self.text[self.token.range()].parse::<f64>();
        let weight = weight.map_err(|_| self.unexpected("a weight, which is a number of at least 0"))?;
        self.advance()?;
        Ok(Some(weight))
    }

    fn value(&mut self) -> Result<Value> {
        let text = &self.text[self.token.range()];
        let value = match self.token.kind {
            Kind::String => Value::String(self.token.unquoted(self.text).into()),
            Kind::Number => {
                number(text).map_err(|reason| self.locate(self.token, Error::expression(reason)))?
            }
            Kind::Word if text.eq_ignore_ascii_case("true") => Value::Boolean(true),
            Kind::Word if text.eq_ignore_ascii_case("false") => Value::Boolean(false),
            Kind::Word if text.eq_ignore_ascii_case("null") => {
                return Err(self.unexpected(
                    "a value; `null` is none, and nothing equals it: write `is null` or `is not null`",
                ));
            }
            Kind::Word => {
                return Err(self.unexpected_word("a value; a string takes single quotes", &["true", "false"]));
            }
            Kind::QuotedName => {
                return Err(
                    self.unexpected("a value; a string takes single quotes, double quotes make a name")
                );
            }
            _ => return Err(self.unexpected("a value: a string, a number, `true` or `false`")),
        };
        self.advance()?;
        Ok(value)
    }

    fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    fn word(&self) -> &str {
        &self.text[self.token.range()]
    }

    fn is_word(&self, keyword: &str) -> bool {
        self.token.kind == Kind::Word && self.word().eq_ignore_ascii_case(keyword)
    }

    fn take_word(&mut self, keyword: &str) -> Result<bool> {
        let found = self.is_word(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, kind: Kind, expected: &str) -> Result<()> {
        if self.token.kind != kind {
            return Err(self.unexpected(expected));
        }
        self.advance()
    }

    fn unexpected(&self, expected: &str) -> Error {
        self.error_at(self.token, self.token.describe(self.text), expected, None)
    }

    /// An error where one of `keywords` may have been meant.
    fn unexpected_word(&self, expected: &str, keywords: &[&'static str]) -> Error {
        let suggestion = if self.token.kind == Kind::Word { nearest(self.word(), keywords) } else { None };
        self.error_at(self.token, self.token.describe(self.text), expected, suggestion)
    }

    /// An error after a complete operand, which may have been meant as the attribute of a predicate
    /// (`age betwen 3 and 4`) or as a misspelt keyword itself (`nto a = 1`, `exits(a)`).
    fn unexpected_after_operand(&self) -> Error {
        const AFTER_ATTRIBUTE: [&str; 13] = [
            "and", "or", "xor", "xnor", "in", "between", "like", "starts", "ends", "contains", "matches",
            "is", "not",
        ];
        let before = self.text[..self.token.start].trim_end();
        let previous = before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        let bare = self.assembler.ends_in_bare_attribute(previous);
        let (expected, keywords): (_, &[&'static str]) = if bare {
            ("an operator such as `=`, `in` or `between`, or `and`, `or`, `xor`, `xnor`", &AFTER_ATTRIBUTE)
        } else {
            ("`and`, `or`, `xor`, `xnor` or the end of the text", &AFTER_ATTRIBUTE[..4])
        };
        let mut suggestion = match self.token.kind {
            Kind::Word => nearest(self.word(), keywords),
            _ => None,
        };
        if suggestion.is_none() && bare {
            suggestion = match self.token.kind {
                Kind::Open => nearest(previous, &["exists", "missing", "not", "xpath"]),
                _ => nearest(previous, &["not"]),
            };
        }
        self.error_at(self.token, self.token.describe(self.text), expected, suggestion)
    }

    fn error_at(&self, token: Token, found: String, expected: &str, suggestion: Option<&str>) -> Error {
        Error::syntax(self.text, token.range(), found, expected.to_owned(), suggestion)
    }
}

/// The keyword that `word` is most likely a misspelling of.
fn nearest(word: &str, keywords: &[&'static str]) -> Option<&'static str> {
    if word.len() > 16 {
        return None;
    }
    let word = word.to_ascii_lowercase();
    keywords
        .iter()
        .map(|keyword| (strsim::osa_distance(&word, keyword), *keyword))
        .filter(|(distance, keyword)| *distance <= if keyword.len() < 5 { 1 } else { 2 })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, keyword)| keyword)
}

/// The value of a number's text.
pub(crate) fn number(text: &str) -> std::result::Result<Value, String> {
    if !text.contains(['.', 'e', 'E']) {
        return text.parse().map(Value::Integer).map_err(|_| {
            format!(
                "the integer {} does not fit 64 bits (from {} to {})",
                super::predicate::shorten(text),
                i64::MIN,
                i64::MAX
            )
        });
    }
    text.parse::<f64>().ok().and_then(Value::number).ok_or_else(|| {
        format!("the number {} is too large for a 64-bit float", super::predicate::shorten(text))
    })
}
