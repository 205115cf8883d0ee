//! Which predicate is next?
//!
//! A predicate is a term, an operator and its operands. A condition with several operators becomes several
//! predicates.

use super::{Parser, TRUTHS};
use crate::error::{Error, Result};
use crate::expression::keywords::{OPERATOR_KEYWORDS, RESERVED, may_mean};
use crate::expression::lex::{Lexer, Token, TokenKind};
use crate::expression::predicate::{Operand, Operator, Predicate, Takes};
use crate::expression::term::{Comparison, Function, Term, lower};
use crate::expression::tree::Connective;
use crate::limits;
use crate::value::{ConstantType, Value};

/// Operators that are spelled with keywords.
#[derive(Clone, Copy)]
enum KeywordOperator {
    Plain(Operator),
    /// `ilike`
    WithoutCase,
}

impl Parser<'_> {
    /// Parses a predicate or a constant; returns a term without an operator.
    pub(super) fn predicate(&mut self) -> Result<Option<Term>> {
        limits::check("operators and predicates", "nodes", self.assembler.len() + 1, self.limits.nodes)?;
        let start = self.token;
        match start.kind {
            TokenKind::Name if !may_mean(self.token_text()) => {
                if self.plain(start)? {
                    return Ok(None);
                }
            }
            TokenKind::Name => {
                let name = self.token_text();
                for (keyword, value) in [("true", true), ("false", false)] {
                    if name.eq_ignore_ascii_case(keyword) {
                        self.advance()?;
                        if self.comparison().is_some() || self.is_sameness() {
                            return self.asked(start, Term::Constant(Value::Boolean(value)));
                        }
                        self.assembler.constant(value);
                        return Ok(None);
                    }
                }
                if name.eq_ignore_ascii_case("null") {
                    let before = self.lexer.position();
                    self.advance()?;
                    if self.is_sameness() {
                        let negated = self.take_sameness()?;
                        return self.same(start, None, negated).map(|()| None);
                    }
                    self.lexer.restart(before);
                    self.token = start;
                }
                let name = self.token_text();
                if RESERVED.iter().any(|keyword| name.eq_ignore_ascii_case(keyword)) {
                    return Err(self.unexpected(
                        "a predicate, `not` or `(` (an attribute named like a keyword takes double quotes)",
                    ));
                }
                if self.call(start)? {
                    return Ok(None);
                }
            }
            TokenKind::QuotedName
            | TokenKind::Number
            | TokenKind::String
            | TokenKind::Minus
            | TokenKind::Plus => {}
            TokenKind::End if self.assembler.len() == 0 && self.frames.is_empty() => {
                return Err(self.unexpected("an expression"));
            }
            _ => return Err(self.unexpected("a predicate, `not` or `(`")),
        }
        let term = self.term()?;
        self.asked(start, term)
    }

    /// The comparison at this position.
    pub(super) fn comparison(&self) -> Option<(Operator, bool)> {
        match self.token.kind {
            TokenKind::Equal => Some((Operator::Equal, false)),
            TokenKind::NotEqual => Some((Operator::Equal, true)),
            TokenKind::Less => Some((Operator::Less, false)),
            TokenKind::AtMost => Some((Operator::AtMost, false)),
            TokenKind::Greater => Some((Operator::Greater, false)),
            TokenKind::AtLeast => Some((Operator::AtLeast, false)),
            _ => None,
        }
    }

    /// Parses the test of a term; returns the term if there is none.
    pub(super) fn asked(&mut self, start: Token, term: Term) -> Result<Option<Term>> {
        if let Some((operator, negated)) = self.comparison() {
            self.advance()?;
            let right = self.term()?;
            return self.compare(start, term, operator, negated, right).map(|()| None);
        }
        if self.is_sameness() {
            let negated = self.take_sameness()?;
            return self.same(start, Some(term), negated).map(|()| None);
        }
        if self.token.kind != TokenKind::Name {
            return Ok(Some(term));
        }
        if self.at_keyword("is") {
            let (token, position) = (self.token, self.lexer.position());
            self.advance()?;
            let negated = self.take_keyword("not")?;
            if self.take_keyword("null")? {
                return self
                    .ask(start, &term, Operator::IsNull, negated, Operand::Nothing, &[])
                    .map(|()| None);
            }
            if self.take_keyword("unknown")? {
                let predicate = Predicate::unknown(term, negated, self.limits)
                    .map_err(|error| self.locate(start, error))?;
                self.assembler.predicate(predicate);
                return Ok(None);
            }
            if TRUTHS.iter().any(|keyword| self.at_keyword(keyword)) {
                self.lexer.restart(position);
                self.token = token;
                return Ok(Some(term));
            }
            return Err(self.after_is(negated));
        }
        let negated = self.take_keyword("not")?;
        if let Some(operator) = self.take_operator()? {
            return self.keyword_operator(start, term, operator, negated).map(|()| None);
        }
        if negated {
            let keywords = OPERATOR_KEYWORDS.map(|(keyword, ..)| keyword);
            return Err(
                self.expected_keyword("`in`, `between`, `like` or another operator after `not`", &keywords)
            );
        }
        Ok(Some(term))
    }

    /// Emits a comparison of two terms; one or both may be constants.
    pub(super) fn compare(
        &mut self,
        start: Token,
        left: Term,
        operator: Operator,
        negated: bool,
        right: Term,
    ) -> Result<()> {
        match (left.settled(), right.settled()) {
            (left @ Term::Constant(_), right @ Term::Constant(_)) => {
                let comparison = Comparison::from_spelling(operator.spelling(false));
                let compared =
                    comparison.map(|comparison| Function::Compare(comparison).fold(&[left, right]));
                let Some(Some(Value::Boolean(holds))) = compared else {
                    let message = "a predicate tests a term that is not a constant";
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
            TokenKind::Caret => {
                Err(self.unexpected("no weight: it follows a constant or a set, never a term"))
            }
            _ => Ok(()),
        }
    }

    /// Whether `<=>` or `is [not] distinct` is next.
    pub(super) fn is_sameness(&self) -> bool {
        let mut lexer = Lexer::at(self.text, self.token.end);
        let mut next = || lexer.next().map_or("", |token| &self.text[token.range()]);
        self.token.kind == TokenKind::Same
            || self.at_keyword("is")
                && match next() {
                    name if name.eq_ignore_ascii_case("not") => next().eq_ignore_ascii_case("distinct"),
                    name => name.eq_ignore_ascii_case("distinct"),
                }
    }

    /// Parses `<=>` or `is [not] distinct from`; returns whether it is negated.
    pub(super) fn take_sameness(&mut self) -> Result<bool> {
        if self.token.kind == TokenKind::Same {
            self.advance()?;
            return Ok(false);
        }
        self.advance()?;
        let negated = self.take_keyword("not")?;
        self.advance()?;
        if !self.take_keyword("from")? {
            return Err(self.expected_keyword("`from`", &["from"]));
        }
        Ok(!negated)
    }

    /// Parses the right side of `<=>`, which is true for two nulls and never unknown. `null` is not a term.
    pub(super) fn same(&mut self, start: Token, left: Option<Term>, negated: bool) -> Result<()> {
        let right = if self.take_keyword("null")? { None } else { Some(self.term()?.settled()) };
        let (left, right) = match (left.map(Term::settled), right) {
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

    /// Parses an operator that is spelled with keywords, if there is one.
    fn take_operator(&mut self) -> Result<Option<KeywordOperator>> {
        let Some(&(_, second, spelling)) =
            OPERATOR_KEYWORDS.iter().find(|(keyword, ..)| self.at_keyword(keyword))
        else {
            return Ok(None);
        };
        self.advance()?;
        if let Some(second) = second
            && !self.take_keyword(second)?
        {
            return Err(self.expected_keyword(&format!("`{second}`"), &[second]));
        }
        let operator =
            Operator::from_spelling(spelling).map(|(operator, _)| KeywordOperator::Plain(operator));
        Ok(Some(operator.unwrap_or(KeywordOperator::WithoutCase)))
    }

    fn keyword_operator(
        &mut self,
        start: Token,
        term: Term,
        keyword_operator: KeywordOperator,
        negated: bool,
    ) -> Result<()> {
        let (operator, term) = match keyword_operator {
            KeywordOperator::Plain(operator) => (operator, term),
            KeywordOperator::WithoutCase => {
                let term = Term::call(Function::Lower, vec![term], self.limits);
                (Operator::Like, term.map_err(|error| self.locate(start, error))?)
            }
        };
        match operator {
            operator if operator.takes() == Takes::Set => {
                let (values, weights) = self.set()?;
                self.ask(start, &term, operator, negated, Operand::Set(values), &weights)
            }
            Operator::Between => {
                let low = self.term()?;
                if self.token.kind != TokenKind::And && !self.at_keyword("and") {
                    return Err(self.expected_keyword("`and` between the two ends", &["and"]));
                }
                self.advance()?;
                let high = self.term()?;
                self.between(start, term, negated, low, high)
            }
            Operator::Like | Operator::Matches => {
                let place = self.token;
                let Term::Constant(mut value) = self.term()?.settled() else {
                    let expected = "a string in single quotes, not a term";
                    return Err(self.error_at(place, self.describe(place), expected, None));
                };
                if operator == Operator::Like && self.take_keyword("escape")? {
                    value = self.escape(place, &value)?;
                }
                if let (KeywordOperator::WithoutCase, Value::String(pattern)) = (keyword_operator, &value) {
                    value = Value::String(lower(pattern).into());
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
        match (term.settled(), low.settled(), high.settled()) {
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

    /// Parses the character after `escape`, and returns the pattern with backslashes instead of it.
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
                    let expected = "`%`, `_` or the escape character itself after every escape character";
                    return Err(self.error_at(place, self.describe(place), expected, None));
                }
            }
        }
        Ok(Value::String(written.into()))
    }

    fn set(&mut self) -> Result<(Vec<Value>, Vec<f64>)> {
        let (mut values, mut weights) = (Vec::new(), Vec::new());
        if let Some(constant_type @ ConstantType::Cidr) = self.constant_type() {
            // `a in cidr '10.0.0.0/8'` needs no parentheses.
            values.push(self.typed_value(constant_type)?);
            weights.extend(self.weight()?);
            return Ok((values, weights));
        }
        self.expect(TokenKind::Open, "`(` and the values of the set")?;
        if self.token.kind == TokenKind::Close {
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
                TokenKind::Comma => self.advance()?,
                TokenKind::Close => break,
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
        if matches!(place.kind, TokenKind::String | TokenKind::Number) && self.lexer.is_before_separator() {
            return self.value();
        }
        match self.term()?.settled() {
            Term::Constant(value) => Ok(value),
            _ => {
                let expected = "a value; a set holds no attributes: write `a = b or a = c`";
                Err(self.error_at(place, self.describe(place), expected, None))
            }
        }
    }

    /// Emits a predicate whose operand may have a weight.
    pub(super) fn weighed(
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

    pub(super) fn ask(
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
}
