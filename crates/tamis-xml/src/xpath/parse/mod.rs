//! Parsing an expression from its text.
//!
//! Precedence climbing over the tokens. The parser recurses at most [`DEPTH`] deep, and so does
//! all code that walks an expression afterwards.

mod path;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::lex::{Spanned, Token, lex};
use super::{Comparison, Function, NodeId, Operation, Type, Variable, XPath, XPathKind, XPathNode};
use crate::Limits;
use crate::characters::is_ncname;
use crate::error::check_limit as check;
use crate::error::{Error, Result};

/// The maximum nesting depth. It is fixed, so that recursive walks need no explicit stack.
const DEPTH: usize = 200;

pub fn parse(
    text: &str,
    namespaces: &[(&str, &str)],
    variables: &[(&str, Variable)],
    limits: &Limits,
) -> Result<XPath> {
    check("bytes of an XPath expression", "xpath", text.len(), limits.xpath)?;
    for (prefix, name) in namespaces {
        if prefix.is_empty() {
            let message = "a namespace needs a prefix: in XPath 1.0, a name without one is in no namespace";
            return Err(Error::expression(message));
        } else if !is_ncname(prefix) || name.is_empty() {
            return Err(Error::expression(format!("{prefix:?}: {name:?} binds a prefix to no namespace")));
        }
    }
    let namespaces: Arc<[_]> =
        namespaces.iter().map(|&(prefix, name)| (Arc::from(prefix), Arc::from(name))).collect();
    let variables: Arc<[_]> =
        variables.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect();
    let tokens = lex(text)?;
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        namespaces: &namespaces,
        variables: &variables,
        nodes: Vec::new(),
        depths: Vec::new(),
    };
    let root = parser.expression(0, 0)?;
    if *parser.peek() != Token::End {
        return Err(parser.unexpected("an operator or the end of the text"));
    }
    let nodes = parser.nodes.into();
    Ok(XPath { text: text.into(), namespaces, variables, nodes, root })
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Spanned<'t>>,
    at: usize,
    namespaces: &'t [(Arc<str>, Arc<str>)],
    variables: &'t [(Arc<str>, Variable)],
    nodes: Vec<XPathNode>,
    /// The depth of the tree below each node.
    depths: Vec<usize>,
}

enum Infix {
    Or,
    And,
    Compare(Comparison),
    Arithmetic(Operation),
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at].0
    }

    fn peek_after(&self, distance: usize) -> &Token<'t> {
        &self.tokens[(self.at + distance).min(self.tokens.len() - 1)].0
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{symbol}`"))),
        }
    }

    fn unexpected(&self, expected: &str) -> Error {
        self.error(self.at, self.peek().shown(), expected.to_owned(), None)
    }

    fn error(&self, token: usize, found: String, expected: String, suggestion: Option<&str>) -> Error {
        Error::syntax(self.text, self.tokens[token].1.clone(), found, expected, suggestion)
    }

    /// Adds a node that starts at token `first` and ends before the current token.
    fn push(
        &mut self,
        first: usize,
        kind: XPathKind,
        result: Type,
        children: &[NodeId],
        positional: bool,
    ) -> Result<NodeId> {
        let any =
            |test: fn(&XPathNode) -> bool| children.iter().any(|child| test(&self.nodes[*child as usize]));
        let positional = positional || any(|child| child.positional);
        let contextual = any(|child| child.contextual);
        let depth = 1 + children.iter().map(|child| self.depths[*child as usize]).max().unwrap_or(0);
        if depth > DEPTH {
            return Err(self.too_deep(first));
        }
        let range = (self.tokens[first].1.start as u32, self.tokens[self.at - 1].1.end as u32);
        self.nodes.push(XPathNode { kind, result, positional, contextual, range });
        self.depths.push(depth);
        Ok(self.nodes.len() as NodeId - 1)
    }

    fn too_deep(&self, token: usize) -> Error {
        let found = self.tokens[token].0.shown();
        self.error(token, found, format!("an expression that nests at most {DEPTH} levels"), None)
    }

    fn result(&self, node: NodeId) -> Type {
        self.nodes[node as usize].result
    }

    /// Parses operators that bind at least as tightly as `precedence`.
    fn expression(&mut self, precedence: u8, depth: usize) -> Result<NodeId> {
        if depth > DEPTH {
            return Err(self.too_deep(self.at));
        }
        let first = self.at;
        let mut left = self.unary(depth)?;
        // The last sum or product in this loop, and its precedence. Further operands of the kind are
        // appended to it.
        let mut chain = None;
        while let Some((found, operator)) = self.infix().filter(|(found, _)| *found >= precedence) {
            self.at += 1;
            let right = self.expression(found + 1, depth + 1)?;
            let children = [left, right];
            left = match operator {
                Infix::Or | Infix::And => self.connective(first, operator, left, right)?,
                Infix::Compare(comparison) => self.push(
                    first,
                    XPathKind::Compare(comparison, left, right),
                    Type::Boolean,
                    &children,
                    false,
                )?,
                Infix::Arithmetic(operation) => {
                    let chained = chain == Some((found, left));
                    let node = self.arithmetic(first, operation, left, right, chained)?;
                    chain = Some((found, node));
                    node
                }
            };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(u8, Infix)> {
        let Token::Symbol(symbol) = self.peek() else { return None };
        Some(match *symbol {
            "or" => (0, Infix::Or),
            "and" => (1, Infix::And),
            "=" => (2, Infix::Compare(Comparison::Equal)),
            "!=" => (2, Infix::Compare(Comparison::NotEqual)),
            "<" => (3, Infix::Compare(Comparison::Less)),
            "<=" => (3, Infix::Compare(Comparison::LessOrEqual)),
            ">" => (3, Infix::Compare(Comparison::Greater)),
            ">=" => (3, Infix::Compare(Comparison::GreaterOrEqual)),
            "+" => (4, Infix::Arithmetic(Operation::Add)),
            "-" => (4, Infix::Arithmetic(Operation::Subtract)),
            "*" => (5, Infix::Arithmetic(Operation::Multiply)),
            "div" => (5, Infix::Arithmetic(Operation::Divide)),
            "mod" => (5, Infix::Arithmetic(Operation::Modulo)),
            _ => return None,
        })
    }

    /// `and` and `or` take any number of operands, so that a long chain is not a deep tree.
    fn connective(&mut self, first: usize, operator: Infix, left: NodeId, right: NodeId) -> Result<NodeId> {
        let same = self.nodes[left as usize].range.0 == self.tokens[first].1.start as u32;
        let joined = match (&operator, &mut self.nodes[left as usize].kind) {
            (Infix::Or, XPathKind::Or(operands)) | (Infix::And, XPathKind::And(operands)) if same => {
                operands.push(right);
                true
            }
            _ => false,
        };
        if joined {
            return self.extend(first, left, right);
        }
        let operands = vec![left, right];
        let kind =
            if matches!(operator, Infix::Or) { XPathKind::Or(operands) } else { XPathKind::And(operands) };
        self.push(first, kind, Type::Boolean, &[left, right], false)
    }

    /// Sums and products also take any number of operands. `chained` if the left side is one to
    /// extend.
    fn arithmetic(
        &mut self,
        first: usize,
        operation: Operation,
        left: NodeId,
        right: NodeId,
        chained: bool,
    ) -> Result<NodeId> {
        if chained && let XPathKind::Arithmetic(_, rest) = &mut self.nodes[left as usize].kind {
            rest.push((operation, right));
            return self.extend(first, left, right);
        }
        let kind = XPathKind::Arithmetic(left, vec![(operation, right)]);
        self.push(first, kind, Type::Number, &[left, right], false)
    }

    /// Extends the end of a node to cover an added operand.
    fn extend(&mut self, first: usize, node: NodeId, operand: NodeId) -> Result<NodeId> {
        let end = self.tokens[self.at - 1].1.end as u32;
        let added = &self.nodes[operand as usize];
        let (positional, contextual) = (added.positional, added.contextual);
        let extended = &mut self.nodes[node as usize];
        extended.range.1 = end;
        extended.positional |= positional;
        extended.contextual |= contextual;
        let deepest = self.depths[node as usize].max(self.depths[operand as usize] + 1);
        if deepest > DEPTH {
            return Err(self.too_deep(first));
        }
        self.depths[node as usize] = deepest;
        Ok(node)
    }

    fn unary(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let mut minus = 0;
        while self.take("-") {
            minus += 1;
        }
        let mut node = self.union(depth)?;
        // An even number of signs still converts the operand to a number.
        let times = if minus > 0 { 2 - minus % 2 } else { 0 };
        for _ in 0..times {
            node = self.push(first, XPathKind::Negate(node), Type::Number, &[node], false)?;
        }
        Ok(node)
    }

    fn union(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let node = self.path(depth)?;
        if !self.is("|") {
            return Ok(node);
        }
        let mut operands = vec![node];
        self.expect_nodes(node, first, "`|`")?;
        while self.take("|") {
            let start = self.at;
            let operand = self.path(depth)?;
            self.expect_nodes(operand, start, "`|`")?;
            operands.push(operand);
        }
        let children = operands.clone();
        self.push(first, XPathKind::Union(operands), Type::Nodes, &children, false)
    }

    fn expect_nodes(&self, node: NodeId, token: usize, taker: &str) -> Result<()> {
        match self.result(node) {
            Type::Nodes => Ok(()),
            other => {
                let expected = format!("a node-set for {taker}");
                Err(self.error(token, other.name().to_owned(), expected, None))
            }
        }
    }

    /// Replaces a variable by its value.
    fn variable(&mut self, name: &str) -> Result<NodeId> {
        let first = self.at;
        let Some((_, value)) = self.variables.iter().find(|(known, _)| **known == *name) else {
            let found = format!("the unknown variable `${name}`");
            return Err(self.error(first, found, "a variable given in `variables`".into(), None));
        };
        let (kind, result) = match value {
            Variable::String(text) => (XPathKind::String(text.clone()), Type::String),
            Variable::Number(number) => (XPathKind::Number(*number), Type::Number),
            Variable::Boolean(true) => (XPathKind::Call(Function::True, [].into()), Type::Boolean),
            Variable::Boolean(false) => (XPathKind::Call(Function::False, [].into()), Type::Boolean),
        };
        self.at += 1;
        self.push(first, kind, result, &[], false)
    }
}
