//! Which predicates are written as calls of functions, such as `exists`, `any` and `xpath`?

use super::Parser;
use crate::error::{Error, Result};
use crate::expression::elements::{DEEPEST, Quantifier};
use crate::expression::keywords::TWO_ARGUMENTS;
use crate::expression::lex::{Token, TokenKind};
use crate::expression::predicate::{Operand, Operator, Predicate};
use crate::expression::term::Term;
use crate::limits;

impl Parser<'_> {
    /// Parses a predicate that is written as a call, if there is one.
    pub(super) fn call(&mut self, start: Token) -> Result<bool> {
        let name = &self.text[start.range()];
        let is = |function: &str| name.eq_ignore_ascii_case(function);
        let two = TWO_ARGUMENTS.iter().find(|(name, _)| is(name));
        let two = two.and_then(|(_, spelling)| Operator::from_spelling(spelling));
        let quantifier = Quantifier::from_name(name);
        if two.is_none()
            && quantifier.is_none()
            && !["exists", "missing", "xpath"].iter().any(|name| is(name))
        {
            return Ok(false);
        }
        let before = self.lexer.position();
        self.advance()?;
        if self.token.kind != TokenKind::Open {
            self.lexer.restart(before);
            self.token = start;
            return Ok(false);
        }
        if is("xpath") {
            if self.in_list {
                return Err(self.error_at(start, "`xpath`".into(), "a predicate about the element", None));
            }
            self.xpath(start)?;
        } else if let Some(quantifier) = quantifier {
            self.elements(start, quantifier)?;
        } else if let Some((operator, _)) = two {
            self.advance()?;
            let left = self.term()?;
            self.expect(TokenKind::Comma, "`,` and what to look for")?;
            let right = self.term()?;
            self.expect(TokenKind::Close, "an operator or `)`")?;
            self.compare(start, left, operator, false, right)?;
        } else {
            self.advance()?;
            let place = self.token;
            let term = self.term()?.settled();
            if term.is_constant() {
                return Err(self.error_at(place, self.describe(place), "the name of an attribute", None));
            }
            let expected = match self.token.kind {
                TokenKind::Comma => "`)`; `any(list, condition)` tests the elements of a list",
                _ => "`)`",
            };
            self.expect(TokenKind::Close, expected)?;
            self.ask(start, &term, Operator::Exists, is("missing"), Operand::Nothing, &[])?;
        }
        Ok(true)
    }

    /// Parses the list and the condition on its elements.
    fn elements(&mut self, start: Token, quantifier: Quantifier) -> Result<()> {
        self.advance()?;
        let place = self.token;
        let Term::Attribute(list) = self.term()? else {
            return Err(self.error_at(place, self.describe(place), "the name of a list", None));
        };
        self.expect(TokenKind::Comma, "`,` and the condition on the elements")?;
        let allowed = self.limits.element_depth.min(DEEPEST);
        limits::check("nesting of `any`, `all` and `none`", "element_depth", self.lists + 1, allowed)?;
        let outer = (std::mem::take(&mut self.assembler), std::mem::take(&mut self.frames), self.in_list);
        self.in_list = true;
        self.lists += 1;
        self.expression()?;
        self.lists -= 1;
        let inner = std::mem::take(&mut self.assembler).finish();
        (self.assembler, self.frames, self.in_list) = outer;
        if self.token.kind != TokenKind::Close {
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

    /// Parses the arguments of `xpath`: an expression, and the namespaces of its prefixes.
    fn xpath(&mut self, start: Token) -> Result<()> {
        self.advance()?;
        let quoted = self.token;
        let text = self.string("an XPath expression in single quotes")?;
        let mut namespaces = Vec::new();
        while self.token.kind == TokenKind::Comma {
            self.advance()?;
            let prefix = self.name()?;
            self.expect(TokenKind::Equal, "`=` and the namespace of the prefix")?;
            namespaces.push((prefix, self.string("a namespace in single quotes")?));
        }
        self.expect(TokenKind::Close, "`,` or `)`")?;
        let weight = self.weight()?;
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, namespace)| (&**prefix, &**namespace)).collect();
        let predicate = Predicate::xpath(&text, &namespaces, weight.as_slice(), self.limits);
        let predicate = predicate.map_err(|error| match error {
            Error::Syntax(error) => self.inside(quoted, *error),
            other => self.locate(start, other),
        })?;
        self.assembler.predicate(predicate);
        Ok(())
    }
}
