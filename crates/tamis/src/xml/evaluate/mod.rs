//! Is an expression true of a document?
//!
//! The definition that every engine is measured against: XPath 1.0's `boolean(expression)` with the
//! document node as context. Steps are taken from whole sets of nodes at once, and predicates inside
//! predicates are answered once per node, so that the time is polynomial in the document (after
//! Gottlob, Koch and Pichler 2005, "Efficient algorithms for processing XPath queries").

mod axis;
mod compare;
mod function;
mod satisfy;
mod value;

use std::borrow::Cow;
use std::collections::HashMap;

use super::document::{Document, NodeIndex, NodeKind};
use super::xpath::{Kind, NodeId, Operation, Path, Start, Step, Type, XPath};
use axis::Resolved;
pub use compare::compare_string;
use value::Value;
pub use value::to_number;

/// How many answers are remembered in one evaluation; beyond, they are found again.
const MEMORY: usize = 1 << 20;

/// Whether an expression is true of a document.
pub fn is_true(xpath: &XPath, document: &Document, scratch: &mut EvaluationScratch) -> bool {
    scratch.start(xpath);
    let mut evaluation = Evaluation { xpath, document, scratch, nesting: 0 };
    evaluation.boolean(xpath.root(), DOCUMENT)
}

/// Working memory of [`is_true`].
#[derive(Debug, Default)]
pub struct EvaluationScratch {
    /// Predicates answered before, by node, and position and size where they matter.
    answers: HashMap<(NodeId, NodeIndex, u32, u32), bool, ahash::RandomState>,
    marks: axis::Marks,
    /// Of every node of the expression, what is known of it as a predicate.
    known: Vec<satisfy::Known>,
}

impl EvaluationScratch {
    fn start(&mut self, xpath: &XPath) {
        self.answers.clear();
        self.known.clear();
        self.known.resize(xpath.len(), satisfy::Known::Tried(0));
    }
}

/// Answers about the parts of an expression that speak of the document node.
pub struct Explainer<'e> {
    xpath: &'e XPath,
    document: &'e Document,
    scratch: EvaluationScratch,
}

impl<'e> Explainer<'e> {
    pub fn new(xpath: &'e XPath, document: &'e Document) -> Self {
        Explainer { xpath, document, scratch: EvaluationScratch::default() }
    }

    fn evaluation(&mut self) -> Evaluation<'_> {
        self.scratch.start(self.xpath);
        Evaluation { xpath: self.xpath, document: self.document, scratch: &mut self.scratch, nesting: 0 }
    }

    /// Whether a part is true.
    pub fn truth(&mut self, id: NodeId) -> bool {
        self.evaluation().boolean(id, DOCUMENT)
    }

    /// How many nodes each step of a path selects, up to the first that selects none.
    pub fn selected(&mut self, id: NodeId) -> Vec<usize> {
        let mut counts = Vec::new();
        let xpath = self.xpath;
        if let Kind::Path(path) = &xpath.node(id).kind {
            self.evaluation().path_counting(path, DOCUMENT, |count| counts.push(count));
        }
        counts
    }
}

/// The context of a whole expression.
const DOCUMENT: Context = Context { node: 0, position: 1, size: 1 };

#[derive(Debug, Clone, Copy)]
struct Context {
    node: NodeIndex,
    position: u32,
    size: u32,
}

struct Evaluation<'e> {
    xpath: &'e XPath,
    document: &'e Document,
    scratch: &'e mut EvaluationScratch,
    /// How many predicates enclose what is being evaluated.
    nesting: u32,
}

impl<'e> Evaluation<'e> {
    fn value(&mut self, id: NodeId, context: Context) -> Value<'e> {
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            Kind::Or(_) | Kind::And(_) | Kind::Compare(..) => Value::Boolean(self.boolean(id, context)),
            Kind::Arithmetic(..) | Kind::Negate(_) | Kind::Number(_) => {
                Value::Number(self.number(id, context))
            }
            Kind::Literal(text) => Value::String(Cow::Borrowed(text)),
            Kind::Union(_) | Kind::Path(_) => Value::Nodes(self.nodes(id, context)),
            Kind::Call(function, arguments) => self.call(*function, arguments, context),
        }
    }

    fn boolean(&mut self, id: NodeId, context: Context) -> bool {
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            Kind::Or(operands) => operands.iter().any(|operand| self.boolean(*operand, context)),
            Kind::And(operands) => operands.iter().all(|operand| self.boolean(*operand, context)),
            Kind::Compare(comparison, left, right) => {
                let left = self.value(*left, context);
                let right = self.value(*right, context);
                compare::compare(*comparison, &left, &right, self.document)
            }
            Kind::Union(operands) => operands.iter().any(|operand| self.boolean(*operand, context)),
            _ => self.value(id, context).boolean(),
        }
    }

    fn number(&mut self, id: NodeId, context: Context) -> f64 {
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            Kind::Number(number) => *number,
            Kind::Negate(operand) => -self.number(*operand, context),
            Kind::Arithmetic(operation, left, right) => {
                let (left, right) = (self.number(*left, context), self.number(*right, context));
                match operation {
                    Operation::Add => left + right,
                    Operation::Subtract => left - right,
                    Operation::Multiply => left * right,
                    Operation::Divide => left / right,
                    Operation::Modulo => left % right,
                }
            }
            _ => self.value(id, context).number(self.document),
        }
    }

    fn string(&mut self, id: NodeId, context: Context) -> Cow<'e, str> {
        self.value(id, context).string(self.document)
    }

    /// The nodes of an expression that is a node-set, in document order, each once.
    fn nodes(&mut self, id: NodeId, context: Context) -> Vec<NodeIndex> {
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            Kind::Path(path) => self.path(path, context),
            Kind::Union(operands) => {
                let mut nodes = Vec::new();
                for operand in operands {
                    nodes.append(&mut self.nodes(*operand, context));
                }
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
            // The parser gives no other expression the type of a node-set.
            _ => Vec::new(),
        }
    }

    fn path(&mut self, path: &Path, context: Context) -> Vec<NodeIndex> {
        self.path_counting(path, context, |_| {})
    }

    /// The nodes of a path; `count` is told how many each step selects.
    fn path_counting(
        &mut self,
        path: &Path,
        context: Context,
        mut count: impl FnMut(usize),
    ) -> Vec<NodeIndex> {
        let mut nodes = match &path.start {
            Start::Root => vec![0],
            Start::Context => vec![context.node],
            Start::Nodes(inner, predicates) => {
                let mut nodes = self.nodes(*inner, context);
                for predicate in predicates {
                    self.filter(*predicate, &mut nodes);
                }
                nodes
            }
        };
        for step in &path.steps {
            if nodes.is_empty() {
                break;
            }
            nodes = self.step(step, nodes);
            count(nodes.len());
        }
        nodes
    }

    fn step(&mut self, step: &Step, contexts: Vec<NodeIndex>) -> Vec<NodeIndex> {
        let test = Resolved::new(&step.test, step.axis, self.document);
        if matches!(test, Resolved::Nothing) {
            return Vec::new();
        }
        let counts = step.predicates.iter().any(|predicate| self.counts(*predicate));
        if !counts || contexts.len() == 1 && !step.axis.is_reverse() {
            let mut nodes =
                axis::from_set(self.document, step.axis, &test, &contexts, &mut self.scratch.marks);
            for predicate in &step.predicates {
                self.filter(*predicate, &mut nodes);
            }
            return nodes;
        }
        // Positions count along the axis from each context node.
        let first = match step.predicates.first().map(|first| &self.xpath.node(*first).kind) {
            Some(Kind::Number(number)) => *number as usize,
            _ => usize::MAX,
        };
        let mut found = Vec::new();
        let mut nodes = Vec::new();
        for context in contexts {
            nodes.clear();
            axis::from_node(self.document, step.axis, &test, context, first, &mut nodes);
            for predicate in &step.predicates {
                self.filter(*predicate, &mut nodes);
            }
            found.append(&mut nodes);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Whether a predicate depends on positions.
    fn counts(&self, predicate: NodeId) -> bool {
        let node = self.xpath.node(predicate);
        node.positional || node.result == Type::Number
    }

    /// Keeps the nodes that satisfy a predicate, each at its position.
    fn filter(&mut self, predicate: NodeId, nodes: &mut Vec<NodeIndex>) {
        if let Kind::Number(number) = self.xpath.node(predicate).kind {
            let at = if number >= 1.0 && number.fract() == 0.0 { number as usize } else { 0 };
            match at.checked_sub(1).and_then(|at| nodes.get(at)) {
                Some(&node) => {
                    nodes.clear();
                    nodes.push(node);
                }
                None => nodes.clear(),
            }
            return;
        }
        let size = nodes.len() as u32;
        let mut position = 0;
        nodes.retain(|&node| {
            position += 1;
            self.holds(predicate, Context { node, position, size })
        });
    }

    fn holds(&mut self, predicate: NodeId, context: Context) -> bool {
        let counts = self.counts(predicate);
        if !counts && let Some(answer) = self.satisfies(predicate, context.node) {
            return answer;
        }
        let key = match counts {
            true => (predicate, context.node, context.position, context.size),
            false => (predicate, context.node, 0, 0),
        };
        let nested = self.nesting > 0;
        if nested && let Some(&answer) = self.scratch.answers.get(&key) {
            return answer;
        }
        self.nesting += 1;
        let answer = match self.xpath.node(predicate).result {
            Type::Number => self.number(predicate, context) == f64::from(context.position),
            _ => self.boolean(predicate, context),
        };
        self.nesting -= 1;
        if nested && self.scratch.answers.len() < MEMORY {
            self.scratch.answers.insert(key, answer);
        }
        answer
    }

    fn kind(&self, node: NodeIndex) -> NodeKind {
        self.document.node(node).kind
    }
}
