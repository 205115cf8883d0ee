//! Which expression does a text write down?
//!
//! A hand-written operator-precedence parser over one explicit stack: linear in the text, and as
//! deep as the limits allow. Precedence, tightest first: `not`, `and`, `xor`/`xnor`, `or`.

use std::sync::Arc;

use super::elements::Quantifier;
use super::lex::{Kind, Lexer, Token};
use super::predicate::{Operand, Operator, Predicate};
use super::term::{Comparison, Function, Term, Type};
use super::tree::{Assembler, Connective, Expression, TruthTest};
use super::words::may_mean;
use crate::error::{Error, Result, SyntaxError};
use crate::limits::{self, Limits};
use crate::truth::Truth;
use crate::value::{LiteralKind, Value, ValueRef, read_number};

/// Words that are never attributes unless quoted.
pub(super) const RESERVED: [&str; 12] =
    ["and", "or", "not", "xor", "xnor", "in", "between", "like", "is", "null", "true", "false"];
/// Words that are keywords only where the grammar asks for them.
pub(super) const CONTEXTUAL: [&str; 9] =
    ["starts", "ends", "with", "contains", "matches", "exists", "missing", "xpath", "it"];

/// Predicates that are written as functions of a term and what to look for in it.
pub(super) const TWO_ARGUMENTS: [&str; 4] = ["startswith", "endswith", "contains", "array_contains"];

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
    let mut parser = Parser::begin(text, limits, lexer, token);
    parser.expression()?;
    let expression = parser.assembler.finish();
    expression.check(limits)?;
    Ok(expression)
}

/// Reads an expression about the elements of a list.
pub(super) fn parse_inside(text: &str, limits: &Limits) -> Result<Expression> {
    let mut lexer = Lexer::new(text);
    let token = lexer.next()?;
    let mut parser = Parser::begin(text, limits, lexer, token).inside_list();
    parser.expression()?;
    Ok(parser.assembler.finish())
}

/// What is waiting for an operand.
enum Frame {
    /// An open parenthesis.
    Group(Token),
    Not,
    /// A connective with the number of operands it has so far.
    Chain(Connective, u32),
}

/// Operators that are spelled with words.
#[derive(Clone, Copy)]
enum Worded {
    Plain(Operator),
    /// `ilike`
    WithoutCase,
}

/// What stands behind `is` besides `null`.
const TRUTHS: [&str; 3] = ["true", "false", "unknown"];

pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) limits: &'a Limits,
    pub(super) lexer: Lexer<'a>,
    /// The token to be read next.
    pub(super) token: Token,
    /// How deep the term being read is nested.
    pub(super) term_depth: usize,
    /// Whether `it` is the element of a list.
    pub(super) in_list: bool,
    pub(super) assembler: Assembler,
    frames: Vec<Frame>,
    /// How many lists' elements the expression being read is about.
    pub(super) lists: usize,
}

fn precedence(connective: Connective) -> u8 {
    match connective {
        Connective::Or => 0,
        Connective::Xor | Connective::Xnor => 1,
        Connective::And => 2,
    }
}

impl<'a> Parser<'a> {
    /// A parser whose first token was read.
    pub(super) fn begin(text: &'a str, limits: &'a Limits, lexer: Lexer<'a>, token: Token) -> Parser<'a> {
        let (assembler, frames) = (Assembler::default(), Vec::new());
        Parser { text, limits, lexer, token, term_depth: 0, in_list: false, assembler, frames, lists: 0 }
    }

    /// This parser, for what is asked of an element of a list.
    pub(super) fn inside_list(mut self) -> Parser<'a> {
        self.in_list = true;
        self
    }
}

impl Parser<'_> {
    /// Reads an expression up to the end of the text, or up to the `)` that ends one about elements.
    pub(super) fn expression(&mut self) -> Result<()> {
        loop {
            self.operand()?;
            loop {
                while self.is_word("is") {
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
                    Kind::Close => {
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
                    Kind::Semicolon if self.lists == 0 => {
                        self.advance()?;
                        if self.token.kind != Kind::End {
                            return Err(self.unexpected("the end of the text after `;`"));
                        }
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
                _ => break,
            }
            self.advance()?;
        }
        let start = self.token;
        let mut bare = self.predicate()?;
        // A term that is alone in parentheses may be an operand of a longer one: `(a + b) * 2 > 3`.
        while let Some(term) = bare {
            let closes =
                self.token.kind == Kind::Close && matches!(self.frames.last(), Some(Frame::Group(_)));
            if !closes {
                return self.bare(start, &term);
            }
            let group = self.frames.pop();
            let after = self.token;
            self.advance()?;
            if self.continues_term() {
                let term = self.term_from(term, 1)?;
                bare = self.asked(start, term)?;
            } else if matches!(self.token.kind, Kind::Close) {
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
        const WORDS: [&str; 10] =
            ["in", "between", "like", "ilike", "rlike", "regexp", "starts", "ends", "contains", "matches"];
        match self.token.kind {
            Kind::Plus | Kind::Minus | Kind::Star | Kind::Slash | Kind::Percent | Kind::Same => true,
            Kind::Equal | Kind::NotEqual | Kind::Less | Kind::AtMost | Kind::Greater | Kind::AtLeast => true,
            Kind::Number => self.text[self.token.range()].starts_with(['-', '+']),
            Kind::Word => {
                WORDS.iter().any(|word| self.is_word(word)) || self.is_word("is") || self.is_word("not")
            }
            _ => false,
        }
    }

    /// A term without an operator, which is true where it has the value `true`.
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

    /// Reads a predicate or a constant; returns a term that no operator follows.
    fn predicate(&mut self) -> Result<Option<Term>> {
        limits::check("operators and predicates", "nodes", self.assembler.len() + 1, self.limits.nodes)?;
        let start = self.token;
        match start.kind {
            Kind::Word if !may_mean(self.word()) => {}
            Kind::Word => {
                let word = self.word();
                for (name, value) in [("true", true), ("false", false)] {
                    if word.eq_ignore_ascii_case(name) {
                        self.advance()?;
                        if self.comparison().is_some() || self.is_sameness() {
                            return self.asked(start, Term::Constant(Value::Boolean(value)));
                        }
                        self.assembler.constant(value);
                        return Ok(None);
                    }
                }
                if word.eq_ignore_ascii_case("null") {
                    let before = self.lexer.position();
                    self.advance()?;
                    if self.is_sameness() {
                        let negated = self.take_sameness()?;
                        return self.same(start, None, negated).map(|()| None);
                    }
                    self.lexer.restart(before);
                    self.token = start;
                }
                let word = self.word();
                if RESERVED.iter().any(|keyword| word.eq_ignore_ascii_case(keyword)) {
                    return Err(self.unexpected(
                        "a predicate, `not` or `(` (an attribute named like a keyword takes double quotes)",
                    ));
                }
                if self.question(start)? {
                    return Ok(None);
                }
            }
            Kind::QuotedName | Kind::Number | Kind::String | Kind::Minus | Kind::Plus => {}
            Kind::End if self.assembler.len() == 0 && self.frames.is_empty() => {
                return Err(self.unexpected("an expression"));
            }
            _ => return Err(self.unexpected("a predicate, `not` or `(`")),
        }
        let term = self.term()?;
        self.asked(start, term)
    }

    /// Reads a predicate that is written as a function, if one stands here.
    fn question(&mut self, start: Token) -> Result<bool> {
        const OPERATORS: [Operator; 4] =
            [Operator::StartsWith, Operator::EndsWith, Operator::Contains, Operator::Equal];
        let word = &self.text[start.range()];
        let is = |name: &str| word.eq_ignore_ascii_case(name);
        let two = TWO_ARGUMENTS.into_iter().zip(OPERATORS).find(|(name, _)| is(name));
        let quantifier = Quantifier::from_name(word);
        if two.is_none()
            && quantifier.is_none()
            && !["exists", "missing", "xpath"].iter().any(|name| is(name))
        {
            return Ok(false);
        }
        let before = self.lexer.position();
        self.advance()?;
        if self.token.kind != Kind::Open {
            self.lexer.restart(before);
            self.token = start;
            return Ok(false);
        }
        if is("xpath") {
            if self.in_list {
                return Err(self.error_at(start, "`xpath`".into(), "a question about the element", None));
            }
            self.xpath(start)?;
        } else if let Some(quantifier) = quantifier {
            self.elements(start, quantifier)?;
        } else if let Some((_, operator)) = two {
            self.advance()?;
            let left = self.term()?;
            self.expect(Kind::Comma, "`,` and what to look for")?;
            let right = self.term()?;
            self.expect(Kind::Close, "an operator or `)`")?;
            self.compare(start, left, operator, false, right)?;
        } else {
            self.advance()?;
            let place = self.token;
            let term = self.term()?;
            if term.is_constant() {
                return Err(self.error_at(place, self.describe(place), "the name of an attribute", None));
            }
            self.expect(Kind::Close, "`)`")?;
            self.ask(start, &term, Operator::Exists, is("missing"), Operand::Nothing, &[])?;
        }
        Ok(true)
    }

    /// Reads the list and what is asked of its elements.
    fn elements(&mut self, start: Token, quantifier: Quantifier) -> Result<()> {
        self.advance()?;
        let place = self.token;
        let Term::Attribute(list) = self.term()? else {
            return Err(self.error_at(place, self.describe(place), "the name of a list", None));
        };
        self.expect(Kind::Comma, "`,` and what is asked of the elements")?;
        let allowed = self.limits.element_depth.min(super::elements::DEEPEST);
        limits::check("nesting of `any`, `all` and `none`", "element_depth", self.lists + 1, allowed)?;
        let outer = (std::mem::take(&mut self.assembler), std::mem::take(&mut self.frames), self.in_list);
        self.in_list = true;
        self.lists += 1;
        self.expression()?;
        self.lists -= 1;
        let inner = std::mem::take(&mut self.assembler).finish();
        (self.assembler, self.frames, self.in_list) = outer;
        if self.token.kind != Kind::Close {
            return Err(self.error_at(
                start,
                "the end of the text".into(),
                "`)` for the list that opens here",
                None,
            ));
        }
        self.advance()?;
        let weight = match quantifier {
            Quantifier::None => None,
            _ => self.weight()?,
        };
        let predicate = Predicate::elements(quantifier, &list, &inner, weight.as_slice(), self.limits)
            .map_err(|error| self.locate(start, error))?;
        self.assembler.predicate(predicate);
        Ok(())
    }

    /// The comparison that stands here.
    fn comparison(&self) -> Option<(Operator, bool)> {
        match self.token.kind {
            Kind::Equal => Some((Operator::Equal, false)),
            Kind::NotEqual => Some((Operator::Equal, true)),
            Kind::Less => Some((Operator::Less, false)),
            Kind::AtMost => Some((Operator::AtMost, false)),
            Kind::Greater => Some((Operator::Greater, false)),
            Kind::AtLeast => Some((Operator::AtLeast, false)),
            _ => None,
        }
    }

    /// Reads what is asked of a term; returns the term where nothing is.
    fn asked(&mut self, start: Token, term: Term) -> Result<Option<Term>> {
        if let Some((operator, negated)) = self.comparison() {
            self.advance()?;
            let right = self.term()?;
            return self.compare(start, term, operator, negated, right).map(|()| None);
        }
        if self.is_sameness() {
            let negated = self.take_sameness()?;
            return self.same(start, Some(term), negated).map(|()| None);
        }
        if self.token.kind != Kind::Word {
            return Ok(Some(term));
        }
        if self.is_word("is") {
            let (token, position) = (self.token, self.lexer.position());
            self.advance()?;
            let negated = self.take_word("not")?;
            if self.take_word("null")? {
                return self
                    .ask(start, &term, Operator::IsNull, negated, Operand::Nothing, &[])
                    .map(|()| None);
            }
            if self.take_word("unknown")? {
                let predicate = Predicate::unknown(term, negated, self.limits)
                    .map_err(|error| self.locate(start, error))?;
                self.assembler.predicate(predicate);
                return Ok(None);
            }
            if TRUTHS.iter().any(|word| self.is_word(word)) {
                self.lexer.restart(position);
                self.token = token;
                return Ok(Some(term));
            }
            return Err(self.after_is(negated));
        }
        let negated = self.take_word("not")?;
        if let Some(operator) = self.take_operator()? {
            return self.worded(start, term, operator, negated).map(|()| None);
        }
        if negated {
            let words = ["in", "between", "like", "ilike", "starts", "ends", "contains", "matches"];
            return Err(
                self.unexpected_word("`in`, `between`, `like` or another operator after `not`", &words)
            );
        }
        Ok(Some(term))
    }

    fn after_is(&self, negated: bool) -> Error {
        let not = if negated { "" } else { " or `not`" };
        let expected = format!("`null`, `true`, `false`, `unknown`, `distinct from`{not}");
        self.unexpected_word(&expected, &["null", "not", "true", "false", "unknown", "distinct"])
    }

    /// Reads `is [not] true`, `false` or `unknown` behind a complete operand.
    fn truth_test(&mut self) -> Result<()> {
        self.advance()?;
        let negated = self.take_word("not")?;
        let Some(word) = TRUTHS.iter().position(|word| self.is_word(word)) else {
            return Err(self.after_is(negated));
        };
        let place = self.token;
        self.advance()?;
        let truth = [Truth::True, Truth::False, Truth::Unknown][word];
        let tested = self.assembler.is(TruthTest::new(truth, negated));
        tested.map_err(|error| self.locate(place, error))?;
        limits::check("operators and predicates", "nodes", self.assembler.len(), self.limits.nodes)
    }

    /// Emits a comparison of two terms, of which one or both may be constants.
    fn compare(
        &mut self,
        start: Token,
        left: Term,
        operator: Operator,
        negated: bool,
        right: Term,
    ) -> Result<()> {
        match (left, right) {
            (left @ Term::Constant(_), right @ Term::Constant(_)) => {
                let comparison = Comparison::from_spelling(operator.spelling(false));
                let compared =
                    comparison.map(|comparison| Function::Compare(comparison).fold(&[left, right]));
                let Some(Some(Value::Boolean(holds))) = compared else {
                    let message = "a predicate asks about a term that is no constant";
                    return Err(self.locate(start, Error::expression(message)));
                };
                self.assembler.constant(holds != negated);
                Ok(())
            }
            (left, Term::Constant(right)) => {
                self.weighed(start, &left, operator, negated, Operand::One(right))
            }
            (Term::Constant(left), right) if operator.flipped().is_some() => {
                let operator = operator.flipped().unwrap_or(operator);
                self.refuse_weight()?;
                self.ask(start, &right, operator, negated, Operand::One(left), &[])
            }
            (left, right) => {
                let Some(comparison) = Comparison::from_spelling(operator.spelling(false)) else {
                    let message = format!("`{}` takes a constant, not a term", operator.spelling(negated));
                    return Err(self.locate(start, Error::expression(message)));
                };
                self.refuse_weight()?;
                let predicate = Predicate::comparison(left, comparison, negated, right, self.limits)
                    .map_err(|error| self.locate(start, error))?;
                self.assembler.predicate(predicate);
                Ok(())
            }
        }
    }

    fn refuse_weight(&self) -> Result<()> {
        match self.token.kind {
            Kind::Caret => Err(self.unexpected("no weight: it follows a constant or a set, never a term")),
            _ => Ok(()),
        }
    }

    /// Whether `<=>` or `is [not] distinct` stands here.
    fn is_sameness(&self) -> bool {
        let mut lexer = Lexer::at(self.text, self.token.end);
        let mut next = || lexer.next().map_or("", |token| &self.text[token.range()]);
        self.token.kind == Kind::Same
            || self.is_word("is")
                && match next() {
                    word if word.eq_ignore_ascii_case("not") => next().eq_ignore_ascii_case("distinct"),
                    word => word.eq_ignore_ascii_case("distinct"),
                }
    }

    /// Reads `<=>` or `is [not] distinct from`, and says whether it asks for a difference.
    fn take_sameness(&mut self) -> Result<bool> {
        if self.token.kind == Kind::Same {
            self.advance()?;
            return Ok(false);
        }
        self.advance()?;
        let negated = self.take_word("not")?;
        self.advance()?;
        if !self.take_word("from")? {
            return Err(self.unexpected_word("`from`", &["from"]));
        }
        Ok(!negated)
    }

    /// Reads the right side of `<=>`, which is true of two nulls, and never unknown. `null` is no term.
    fn same(&mut self, start: Token, left: Option<Term>, negated: bool) -> Result<()> {
        let right = if self.take_word("null")? { None } else { Some(self.term()?) };
        let (left, right) = match (left, right) {
            (None, right) => (right, None),
            (Some(left @ Term::Constant(_)), Some(right)) => (Some(right), Some(left)),
            (left, right) => (left, right),
        };
        self.refuse_weight()?;
        let Some(left) = left else {
            self.assembler.constant(!negated);
            return Ok(());
        };
        match right {
            None if left.is_constant() => self.assembler.constant(false),
            None => self.ask(start, &left, Operator::IsNull, false, Operand::Nothing, &[])?,
            Some(right @ Term::Constant(_)) if left.is_constant() => {
                self.compare(start, left, Operator::Equal, false, right)?;
            }
            Some(right @ Term::Constant(_)) => {
                self.ask(start, &left, Operator::IsNull, true, Operand::Nothing, &[])?;
                self.compare(start, left, Operator::Equal, false, right)?;
                self.assembler.connect(Connective::And, 2);
            }
            Some(right) => {
                self.ask(start, &left, Operator::IsNull, false, Operand::Nothing, &[])?;
                self.ask(start, &right, Operator::IsNull, false, Operand::Nothing, &[])?;
                self.assembler.connect(Connective::And, 2);
                self.ask(start, &left, Operator::IsNull, true, Operand::Nothing, &[])?;
                self.ask(start, &right, Operator::IsNull, true, Operand::Nothing, &[])?;
                self.compare(start, left, Operator::Equal, false, right)?;
                self.assembler.connect(Connective::And, 3);
                self.assembler.connect(Connective::Or, 2);
            }
        }
        if negated {
            self.assembler.not();
        }
        Ok(())
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
    fn take_operator(&mut self) -> Result<Option<Worded>> {
        use Worded::{Plain, WithoutCase};
        const WORDS: [(&str, Worded); 10] = [
            ("in", Plain(Operator::In)),
            ("between", Plain(Operator::Between)),
            ("like", Plain(Operator::Like)),
            ("ilike", WithoutCase),
            ("starts", Plain(Operator::StartsWith)),
            ("ends", Plain(Operator::EndsWith)),
            ("contains", Plain(Operator::Contains)),
            ("matches", Plain(Operator::Matches)),
            ("rlike", Plain(Operator::Matches)),
            ("regexp", Plain(Operator::Matches)),
        ];
        let Some(&(_, operator)) = WORDS.iter().find(|(word, _)| self.is_word(word)) else {
            return Ok(None);
        };
        self.advance()?;
        if matches!(operator, Plain(Operator::StartsWith | Operator::EndsWith)) && !self.take_word("with")? {
            return Err(self.unexpected_word("`with`", &["with"]));
        }
        Ok(Some(operator))
    }

    fn worded(&mut self, start: Token, term: Term, worded: Worded, negated: bool) -> Result<()> {
        let (operator, term) = match worded {
            Worded::Plain(operator) => (operator, term),
            Worded::WithoutCase => {
                let term = Term::call(Function::Lower, vec![term], self.limits);
                (Operator::Like, term.map_err(|error| self.locate(start, error))?)
            }
        };
        match operator {
            Operator::In => {
                let (values, weights) = self.set()?;
                self.ask(start, &term, operator, negated, Operand::Set(values), &weights)
            }
            Operator::Between => {
                let low = self.term()?;
                if self.token.kind != Kind::And && !self.is_word("and") {
                    return Err(self.unexpected_word("`and` between the two ends", &["and"]));
                }
                self.advance()?;
                let high = self.term()?;
                self.between(start, term, negated, low, high)
            }
            Operator::Like | Operator::Matches => {
                let place = self.token;
                let Term::Constant(mut value) = self.term()? else {
                    let expected = "a string in single quotes, not a term";
                    return Err(self.error_at(place, self.describe(place), expected, None));
                };
                if operator == Operator::Like && self.take_word("escape")? {
                    value = self.escape(place, &value)?;
                }
                if let (Worded::WithoutCase, Value::String(pattern)) = (worded, &value) {
                    value = Value::String(super::term::lower(pattern).into());
                }
                self.weighed(start, &term, operator, negated, Operand::One(value))
            }
            _ => {
                let right = self.term()?;
                self.compare(start, term, operator, negated, right)
            }
        }
    }

    /// Emits `between`; with a term it is two comparisons.
    fn between(&mut self, start: Token, term: Term, negated: bool, low: Term, high: Term) -> Result<()> {
        match (term, low, high) {
            (term, Term::Constant(low), Term::Constant(high)) if !term.is_constant() => {
                self.weighed(start, &term, Operator::Between, negated, Operand::Range(low, high))
            }
            (term, low, high) => {
                self.compare(start, term.clone(), Operator::AtLeast, false, low)?;
                self.compare(start, term, Operator::AtMost, false, high)?;
                self.assembler.connect(Connective::And, 2);
                if negated {
                    self.assembler.not();
                }
                Ok(())
            }
        }
    }

    /// Reads the character behind `escape`, and gives the pattern with backslashes in its place.
    fn escape(&mut self, place: Token, pattern: &Value) -> Result<Value> {
        let token = self.token;
        let escape = self.string("one character in single quotes")?;
        let mut characters = escape.chars();
        let (escape, rest) = (characters.next(), characters.next());
        let (None, Value::String(pattern)) = (rest, pattern) else {
            return Err(self.error_at(token, self.describe(token), "one character in single quotes", None));
        };
        let mut written = String::with_capacity(pattern.len());
        let mut pattern = pattern.chars();
        while let Some(character) = pattern.next() {
            if Some(character) != escape {
                written.push_str(if character == '\\' { "\\\\" } else { "" });
                written.extend((character != '\\').then_some(character));
                continue;
            }
            match pattern.next() {
                Some(next) if matches!(next, '%' | '_' | '\\') || Some(next) == escape => {
                    written.push_str(if matches!(next, '%' | '_' | '\\') { "\\" } else { "" });
                    written.push(next);
                }
                _ => {
                    let expected = "`%`, `_` or the escape character itself behind every escape character";
                    return Err(self.error_at(place, self.describe(place), expected, None));
                }
            }
        }
        Ok(Value::String(written.into()))
    }

    fn set(&mut self) -> Result<(Vec<Value>, Vec<f64>)> {
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        if let Some(kind @ LiteralKind::Cidr) = self.literal_kind() {
            // `a in cidr '10.0.0.0/8'` needs no parentheses.
            values.push(self.typed_value(kind)?);
            weights.extend(self.weight()?);
            return Ok((values, weights));
        }
        self.expect(Kind::Open, "`(` and the values of the set")?;
        if self.token.kind == Kind::Close {
            self.advance()?;
            return Ok((values, weights));
        }
        loop {
            values.push(self.set_value()?);
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

    /// A value of a set: a constant, or a term of constants.
    fn set_value(&mut self) -> Result<Value> {
        let place = self.token;
        match self.term()? {
            Term::Constant(value) => Ok(value),
            _ => {
                let expected = "a value; a set holds no attributes: write `a = b or a = c`";
                Err(self.error_at(place, self.describe(place), expected, None))
            }
        }
    }

    fn describe(&self, token: Token) -> String {
        token.describe(self.text)
    }

    /// Emits a predicate whose operand a weight may follow.
    fn weighed(
        &mut self,
        start: Token,
        term: &Term,
        operator: Operator,
        negated: bool,
        operand: Operand,
    ) -> Result<()> {
        match self.weight()? {
            None => self.ask(start, term, operator, negated, operand, &[]),
            Some(weight) => self.ask(start, term, operator, negated, operand, &[weight]),
        }
    }

    fn ask(
        &mut self,
        start: Token,
        term: &Term,
        operator: Operator,
        negated: bool,
        operand: Operand,
        weights: &[f64],
    ) -> Result<()> {
        let predicate = Predicate::on(term, operator, negated, operand, weights, self.limits)
            .map_err(|error| self.locate(start, error))?;
        self.assembler.predicate(predicate);
        Ok(())
    }

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
            Kind::QuotedName => self.token.unquoted(self.text).into(),
            Kind::Word if !RESERVED.iter().any(|keyword| self.is_word(keyword)) => self.word().into(),
            _ => return Err(self.unexpected("the name of an attribute")),
        };
        self.advance()?;
        Ok(name)
    }

    pub(super) fn weight(&mut self) -> Result<Option<f64>> {
        if self.token.kind != Kind::Caret {
            return Ok(None);
        }
        if self.in_list {
            return Err(self.unexpected("no weight: what is asked of an element has none"));
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

    /// Reads a literal that begins with a word, such as `date '2026-01-02'`, if one stands here.
    pub(super) fn literal(&mut self) -> Result<Option<Value>> {
        match self.literal_kind() {
            Some(kind) => self.typed_value(kind).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn value(&mut self) -> Result<Value> {
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
                if let Some(kind) = self.literal_kind() {
                    return self.typed_value(kind);
                }
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

    /// The kind of the typed literal that begins here, which is a word and a string.
    fn literal_kind(&self) -> Option<LiteralKind> {
        if self.token.kind != Kind::Word {
            return None;
        }
        let kind = LiteralKind::from_word(self.word())?;
        let next = Lexer::at(self.text, self.token.end).next();
        next.is_ok_and(|token| token.kind == Kind::String).then_some(kind)
    }

    /// Reads a literal such as `date '2026-01-02'` or `interval '7' day`, whose word stands here.
    fn typed_value(&mut self, kind: LiteralKind) -> Result<Value> {
        let start = self.token;
        self.advance()?;
        let mut text = self.token.unquoted(self.text).into_owned();
        self.advance()?;
        if kind == LiteralKind::Interval && !text.trim().contains([' ', '\t']) {
            if self.token.kind != Kind::Word {
                return Err(self.unexpected("a unit such as `day`, `hour`, `minute` or `second`"));
            }
            text = format!("{text} {}", self.word());
            self.advance()?;
        }
        kind.read(&text).map_err(|reason| self.locate(start, Error::expression(reason)))
    }

    pub(super) fn advance(&mut self) -> Result<()> {
        self.token = self.lexer.next()?;
        Ok(())
    }

    pub(super) fn word(&self) -> &str {
        &self.text[self.token.range()]
    }

    pub(super) fn is_word(&self, keyword: &str) -> bool {
        self.token.kind == Kind::Word && self.word().eq_ignore_ascii_case(keyword)
    }

    pub(super) fn take_word(&mut self, keyword: &str) -> Result<bool> {
        let found = self.is_word(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect(&mut self, kind: Kind, expected: &str) -> Result<()> {
        if self.token.kind != kind {
            return Err(self.unexpected(expected));
        }
        self.advance()
    }

    pub(super) fn unexpected(&self, expected: &str) -> Error {
        self.error_at(self.token, self.token.describe(self.text), expected, None)
    }

    /// An error where one of `keywords` may have been meant.
    pub(super) fn unexpected_word(&self, expected: &str, keywords: &[&'static str]) -> Error {
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

/// The keyword that `word` is most likely a misspelling of.
pub(super) fn nearest(word: &str, keywords: &[&'static str]) -> Option<&'static str> {
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
    read_number(text).map(ValueRef::to_value)
}
