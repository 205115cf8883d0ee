//! What is an expression, as it was written?
//!
//! The tree is stored flat, in postfix order: a node follows its children. Copying, comparing,
//! dropping and evaluating are then loops over a vector, and no depth of nesting can exhaust the
//! stack. `and` and `or` take two or more children and never stand directly below themselves;
//! `xor` and `xnor` take two. This module knows neither text nor events.

use std::borrow::Cow;
use std::sync::Arc;

use super::names::{check_name, is_hidden};
use super::predicate::{Predicate, Test, check_like};
use super::regular_expression::{RegularExpression, total_size};
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
use crate::truth::Truth;
use crate::value::Value;

/// One node of an [`Expression`]; its children precede it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    /// `true` or `false`.
    Constant(bool),
    /// A predicate.
    Predicate(Arc<Predicate>),
    /// The negation of one child.
    Not,
    /// All of two or more children.
    And(u32),
    /// Some of two or more children.
    Or(u32),
    /// Exactly one of two children.
    Xor,
    /// Both or neither of two children.
    Xnor,
    /// Whether one child is true, false or unknown; itself never unknown.
    Is(TruthTest),
}

/// What `is` tests: `is true`, `is not unknown` and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TruthTest {
    /// The truth that is tested for.
    pub truth: Truth,
    /// Whether any other truth will do instead.
    pub negated: bool,
}

impl TruthTest {
    /// Every test, with its spelling in text and in the JSON form.
    pub const ALL: [(TruthTest, &'static str); 6] = [
        (TruthTest::new(Truth::True, false), "is true"),
        (TruthTest::new(Truth::True, true), "is not true"),
        (TruthTest::new(Truth::False, false), "is false"),
        (TruthTest::new(Truth::False, true), "is not false"),
        (TruthTest::new(Truth::Unknown, false), "is unknown"),
        (TruthTest::new(Truth::Unknown, true), "is not unknown"),
    ];

    /// The test for a truth, or for any other.
    pub const fn new(truth: Truth, negated: bool) -> TruthTest {
        TruthTest { truth, negated }
    }

    /// The test with this spelling.
    pub fn from_spelling(spelling: &str) -> Option<TruthTest> {
        TruthTest::ALL.iter().find(|(_, known)| *known == spelling).map(|(test, _)| *test)
    }

    /// Its spelling.
    pub fn spelling(self) -> &'static str {
        TruthTest::ALL.iter().find(|(test, _)| *test == self).map_or("", |(_, spelling)| spelling)
    }

    /// Whether a child of this truth passes.
    #[inline]
    pub fn holds(self, truth: Truth) -> bool {
        (truth == self.truth) != self.negated
    }
}

/// The connectives that join children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Connective {
    And,
    Or,
    Xor,
    Xnor,
}

impl Node {
    /// How many children the node has.
    pub fn children(&self) -> usize {
        match self {
            Node::Constant(_) | Node::Predicate(_) => 0,
            Node::Not | Node::Is(_) => 1,
            Node::Xor | Node::Xnor => 2,
            Node::And(count) | Node::Or(count) => *count as usize,
        }
    }
}

impl Node {
    /// The truth of a connective or constant whose children have these truths. The truth of a predicate depends on an
    /// event, so here it is unknown.
    pub fn combine(&self, children: &[Truth]) -> Truth {
        let children = children.iter().copied();
        match self {
            Node::Not => !children.fold(Truth::False, Truth::or),
            Node::Or(_) => children.fold(Truth::False, Truth::or),
            Node::And(_) => children.fold(Truth::True, Truth::and),
            Node::Xor => children.fold(Truth::False, Truth::xor),
            Node::Xnor => !children.fold(Truth::False, Truth::xor),
            Node::Is(test) => Truth::from(test.holds(children.fold(Truth::False, Truth::or))),
            Node::Constant(value) => Truth::from(*value),
            Node::Predicate(_) => Truth::Unknown,
        }
    }
}

/// A Boolean expression over predicates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Expression {
    nodes: Vec<Node>,
}

impl Expression {
    /// The constant `true` or `false`.
    pub fn constant(value: bool) -> Expression {
        Expression { nodes: vec![Node::Constant(value)] }
    }

    /// An expression of these nodes, which are in postfix order.
    pub(super) fn from_nodes(nodes: Vec<Node>) -> Expression {
        Expression { nodes }
    }

    /// The nodes in postfix order; the last is the root.
    #[inline]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The predicates, from left to right.
    pub fn predicates(&self) -> impl Iterator<Item = &Arc<Predicate>> + Clone {
        self.nodes.iter().filter_map(|node| match node {
            Node::Predicate(predicate) => Some(predicate),
            _ => None,
        })
    }

    /// The expression with other predicates, or rather leaves, in the place of its own.
    pub(super) fn map_predicates(&self, mut map: impl FnMut(&Arc<Predicate>) -> Node) -> Expression {
        let nodes = self.nodes.iter().map(|node| match node {
            Node::Predicate(predicate) => map(predicate),
            other => other.clone(),
        });
        Expression { nodes: nodes.collect() }
    }

    /// The expression without weights.
    pub fn without_weights(&self) -> Cow<'_, Expression> {
        if self.predicates().all(|predicate| predicate.weights().is_none()) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(self.map_predicates(|predicate| {
            Node::Predicate(Arc::new(predicate.with_test(
                predicate.test().clone(),
                predicate.negated(),
                None,
            )))
        }))
    }

    /// The negation of `child`.
    pub fn negate(child: &Expression) -> Expression {
        let mut assembler = Assembler::default();
        assembler.append(child);
        assembler.not();
        assembler.finish()
    }

    /// All of the children; without any, `true`.
    pub fn all<'a>(children: impl IntoIterator<Item = &'a Expression>) -> Expression {
        Expression::join(Connective::And, children, true)
    }

    /// Some of the children; without any, `false`.
    pub fn any<'a>(children: impl IntoIterator<Item = &'a Expression>) -> Expression {
        Expression::join(Connective::Or, children, false)
    }

    fn join<'a>(
        connective: Connective,
        children: impl IntoIterator<Item = &'a Expression>,
        empty: bool,
    ) -> Expression {
        let mut assembler = Assembler::default();
        let mut count = 0;
        for child in children {
            assembler.append(child);
            count += assembler.absorb(connective);
        }
        match count {
            0 => return Expression::constant(empty),
            1 => {}
            _ => assembler.connect(connective, count),
        }
        assembler.finish()
    }

    /// Exactly one of the two.
    pub fn xor(left: &Expression, right: &Expression) -> Expression {
        Expression::pair(Connective::Xor, left, right)
    }

    /// Both or neither of the two.
    pub fn xnor(left: &Expression, right: &Expression) -> Expression {
        Expression::pair(Connective::Xnor, left, right)
    }

    fn pair(connective: Connective, left: &Expression, right: &Expression) -> Expression {
        let mut assembler = Assembler::default();
        assembler.append(left);
        assembler.append(right);
        assembler.connect(connective, 2);
        assembler.finish()
    }

    /// Whether `child` has a truth. What `xpath` asks cannot be tested.
    pub fn is(child: &Expression, test: TruthTest) -> Result<Expression> {
        let mut assembler = Assembler::default();
        assembler.append(child);
        assembler.is(test)?;
        Ok(assembler.finish())
    }

    /// For every predicate below an `is`, the name of the attribute that says whether it is unknown. Matchers use it
    /// in addition to the attributes of the predicates.
    pub fn names_of_unknowns(&self) -> Vec<Arc<str>> {
        let mut names = Vec::new();
        if !self.nodes.iter().any(|node| matches!(node, Node::Is(_))) {
            return names;
        }
        let starts = self.starts();
        // Where the outermost `is` that the node belongs to starts, seen from the last node on.
        let mut start = None;
        for (index, node) in self.nodes.iter().enumerate().rev() {
            match node {
                Node::Is(_) if start.is_none() => start = Some(starts[index] as usize),
                Node::Predicate(predicate) if start.is_some() => {
                    names.extend(predicate.when_unknown().map(|unknown| unknown.attribute().clone()));
                }
                _ => {}
            }
            if start == Some(index) {
                start = None;
            }
        }
        names
    }

    /// The longest way from the root to a leaf, counted in nodes.
    pub fn depth(&self) -> usize {
        let mut depths: Vec<usize> = Vec::new();
        for node in &self.nodes {
            let children = depths.len() - node.children();
            let deepest = depths.drain(children..).max().unwrap_or(0);
            depths.push(deepest + 1);
        }
        depths[0]
    }

    /// Fails when the expression exceeds a limit on its shape.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        limits::check("operators and predicates", "nodes", self.nodes.len(), limits.nodes)?;
        // Depth cannot exceed the number of nodes, so small expressions are not measured.
        if self.nodes.len() > limits.depth {
            limits::check("nesting of an expression", "depth", self.depth(), limits.depth)?;
        }
        for predicate in self.predicates() {
            if predicate.as_xpath().is_none() && !is_hidden(predicate.attribute()) {
                check_name(predicate.attribute(), limits)?;
            }
            match predicate.test() {
                Test::In(values) => limits::check("values of a set", "set", values.len(), limits.set)?,
                Test::Matches(pattern) => pattern.check(limits)?,
                Test::Like(pattern) => check_like(pattern, limits)?,
                _ => {}
            }
        }
        let patterns = total_size(self.regular_expressions(), limits.patterns);
        limits::check("bytes of an expression's regular expressions", "patterns", patterns, limits.patterns)
    }

    /// The regular expressions, from left to right.
    pub fn regular_expressions(&self) -> impl Iterator<Item = &RegularExpression> + Clone {
        self.predicates().filter_map(|predicate| match predicate.test() {
            Test::Matches(pattern) => Some(pattern),
            _ => None,
        })
    }

    /// The children of the outermost connective, first to last.
    pub fn children(&self) -> impl Iterator<Item = Expression> {
        let (starts, last) = (self.starts(), self.nodes.len() - 1);
        let mut children: Vec<usize> = self.children_reversed(last, &starts).collect();
        children.reverse();
        children
            .into_iter()
            .map(move |child| Expression { nodes: self.nodes[starts[child] as usize..=child].to_vec() })
    }

    /// For every node, where its children begin: the index of the first node below it.
    pub fn starts(&self) -> Vec<u32> {
        let mut starts: Vec<u32> = Vec::with_capacity(self.nodes.len());
        let mut open: Vec<u32> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let first = open.len() - node.children();
            let start = open.get(first).copied().unwrap_or(index as u32);
            open.truncate(first);
            open.push(start);
            starts.push(start);
        }
        starts
    }

    /// The children of the node at `index`, from last to first, given [`Expression::starts`].
    pub fn children_reversed<'a>(
        &self,
        index: usize,
        starts: &'a [u32],
    ) -> impl Iterator<Item = usize> + use<'a> {
        let mut next = index;
        (0..self.nodes[index].children()).map(move |_| {
            let child = next - 1;
            next = starts[child] as usize;
            child
        })
    }
}

impl From<Predicate> for Expression {
    fn from(predicate: Predicate) -> Self {
        Expression { nodes: vec![Node::Predicate(Arc::new(predicate))] }
    }
}

/// Puts an expression together in postfix order; used by every reader of expressions.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    nodes: Vec<Node>,
    has_xpath: bool,
}

impl Assembler {
    /// For about this many nodes.
    pub fn with_capacity(nodes: usize) -> Assembler {
        Assembler { nodes: Vec::with_capacity(nodes), has_xpath: false }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether the child completed last is the attribute `name` standing alone, read as `= true`.
    pub fn ends_in_bare_attribute(&self, name: &str) -> bool {
        match self.nodes.iter().rev().find(|node| **node != Node::Not) {
            Some(Node::Predicate(predicate)) => {
                !name.is_empty()
                    && predicate.attribute().ends_with(name)
                    && *predicate.test() == Test::Equal(Value::Boolean(true))
            }
            _ => false,
        }
    }

    pub fn constant(&mut self, value: bool) {
        self.nodes.push(Node::Constant(value));
    }

    pub fn predicate(&mut self, predicate: Predicate) {
        self.has_xpath |= predicate.as_xpath().is_some();
        self.nodes.push(Node::Predicate(Arc::new(predicate)));
    }

    pub fn append(&mut self, expression: &Expression) {
        self.has_xpath |= expression.predicates().any(|predicate| predicate.as_xpath().is_some());
        self.nodes.extend_from_slice(&expression.nodes);
    }

    pub fn not(&mut self) {
        self.nodes.push(Node::Not);
    }

    /// Tests the child completed last.
    pub fn is(&mut self, test: TruthTest) -> Result<()> {
        if self.has_xpath {
            let mut open = 1;
            for node in self.nodes.iter().rev() {
                open = open - 1 + node.children();
                if matches!(node, Node::Predicate(predicate) if predicate.as_xpath().is_some()) {
                    return Err(Error::expression("what `xpath` asks cannot be tested with `is`"));
                }
                if open == 0 {
                    break;
                }
            }
        }
        self.nodes.push(Node::Is(test));
        Ok(())
    }

    /// How many children the child completed last contributes to a `connective` above it: its own
    /// children where it is the same `and` or `or`, whose node is then dropped, and itself otherwise.
    pub fn absorb(&mut self, connective: Connective) -> u32 {
        match (connective, self.nodes.last()) {
            (Connective::And, Some(&Node::And(count))) | (Connective::Or, Some(&Node::Or(count))) => {
                self.nodes.pop();
                count
            }
            _ => 1,
        }
    }

    /// Joins the last `count` children, which were absorbed before.
    pub fn connect(&mut self, connective: Connective, count: u32) {
        self.nodes.push(match connective {
            Connective::And => Node::And(count),
            Connective::Or => Node::Or(count),
            Connective::Xor => Node::Xor,
            Connective::Xnor => Node::Xnor,
        });
    }

    pub fn finish(self) -> Expression {
        Expression { nodes: self.nodes }
    }
}
