//! What is an XPath expression?
//!
//! An XPath 1.0 expression is an arena of nodes, built by `parse`. Variables are replaced by their values,
//! so the type of every node is known after parsing. This module knows nothing of documents or engines.

mod function;
mod lex;
mod parse;

use std::fmt;
use std::sync::Arc;

pub use function::Function;

use crate::Limits;
use crate::error::Result;

/// Position of a node in its expression's arena.
pub type NodeId = u32;

/// An XPath 1.0 expression with the namespaces of its prefixes.
#[derive(Clone)]
pub struct XPath {
    text: Arc<str>,
    namespaces: Arc<[(Arc<str>, Arc<str>)]>,
    variables: Arc<[(Arc<str>, Variable)]>,
    nodes: Arc<[XPathNode]>,
    root: NodeId,
}

impl XPath {
    /// Parses an expression; `namespaces` maps its prefixes to namespace names.
    ///
    /// ```
    /// use tamis_xml::{Limits, XPath};
    ///
    /// let limits = Limits::default();
    /// assert!(XPath::parse("//product[@id]/price[. < 300]", &[], &limits).is_ok());
    /// let error = XPath::parse("//product[", &[], &limits).unwrap_err();
    /// assert!(error.to_string().starts_with("line 1, column 11: expected an expression"));
    /// ```
    pub fn parse(text: &str, namespaces: &[(&str, &str)], limits: &Limits) -> Result<XPath> {
        parse::parse(text, namespaces, &[], limits)
    }

    /// Parses an expression and replaces its variables by the given values.
    ///
    /// ```
    /// use tamis_xml::{Limits, Variable, XPath};
    ///
    /// let most = [("most", Variable::Number(300.0))];
    /// assert!(XPath::parse_with("//price[. < $most]", &[], &most, &Limits::default()).is_ok());
    /// ```
    pub fn parse_with(
        text: &str,
        namespaces: &[(&str, &str)],
        variables: &[(&str, Variable)],
        limits: &Limits,
    ) -> Result<XPath> {
        parse::parse(text, namespaces, variables, limits)
    }

    /// The expression as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prefixes and their namespaces.
    pub fn namespaces(&self) -> &[(Arc<str>, Arc<str>)] {
        &self.namespaces
    }

    /// Variables and their values.
    pub fn variables(&self) -> &[(Arc<str>, Variable)] {
        &self.variables
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn root(&self) -> NodeId {
        self.root
    }

    pub(super) fn node(&self, id: NodeId) -> &XPathNode {
        &self.nodes[id as usize]
    }
}

impl fmt::Display for XPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for XPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "XPath({:?})", self.text)
    }
}

/// The value of a variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Variable {
    /// A string.
    String(Arc<str>),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
}

/// The four types of XPath 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Nodes,
    Boolean,
    Number,
    String,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Type::Nodes => "a node-set",
            Type::Boolean => "a boolean",
            Type::Number => "a number",
            Type::String => "a string",
        }
    }
}

/// One node of an expression.
#[derive(Debug, Clone)]
pub struct XPathNode {
    pub kind: XPathKind,
    pub result: Type,
    /// Whether the value depends on the position or the size of the context.
    pub positional: bool,
    /// Whether the value depends on the context node.
    pub contextual: bool,
    /// Start and end of the node's text, for explanations.
    pub range: (u32, u32),
}

#[derive(Debug, Clone)]
pub enum XPathKind {
    Or(Vec<NodeId>),
    And(Vec<NodeId>),
    Compare(Comparison, NodeId, NodeId),
    /// An operand and the operations on it, from left to right. A flat list, so that a long sum is
    /// not a deep tree.
    Arithmetic(NodeId, Vec<(Operation, NodeId)>),
    Negate(NodeId),
    Union(Vec<NodeId>),
    String(Arc<str>),
    Number(f64),
    Call(Function, Box<[NodeId]>),
    Path(Path),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    /// The comparison with its operands swapped.
    pub fn mirrored(self) -> Comparison {
        match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            same => same,
        }
    }

    pub fn numbers(self, left: f64, right: f64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A location path: its start and its steps.
#[derive(Debug, Clone)]
pub struct Path {
    pub start: Start,
    pub steps: Box<[Step]>,
}

#[derive(Debug, Clone)]
pub enum Start {
    /// The document node.
    Root,
    /// The context node.
    Context,
    /// The nodes of an expression that satisfy the predicates, in document order.
    Nodes(NodeId, Box<[NodeId]>),
}

#[derive(Debug, Clone)]
pub struct Step {
    pub axis: Axis,
    pub test: NodeTest,
    pub predicates: Box<[NodeId]>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    Child,
    Descendant,
    DescendantOrSelf,
    Itself,
    Attribute,
    Parent,
    Ancestor,
    AncestorOrSelf,
    FollowingSibling,
    PrecedingSibling,
    Following,
    Preceding,
}

impl Axis {
    /// Whether positions count in reverse document order.
    pub fn is_reverse(self) -> bool {
        matches!(
            self,
            Axis::Parent | Axis::Ancestor | Axis::AncestorOrSelf | Axis::PrecedingSibling | Axis::Preceding
        )
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NodeTest {
    /// A name; an empty namespace means none.
    Name {
        namespace: Arc<str>,
        local: Arc<str>,
    },
    /// Any name of a namespace.
    Namespace(Arc<str>),
    /// Any node of the axis' principal type.
    Any,
    /// Any node.
    Node,
    Text,
    Comment,
    Instruction(Option<Arc<str>>),
}
