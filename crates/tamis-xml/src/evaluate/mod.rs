//! Does a document satisfy an expression?
//!
//! This is the reference for every engine: XPath 1.0's `boolean(expression)` with the document node
//! as context. Steps are applied to whole node sets at once, and predicates inside predicates are
//! evaluated once per node, so the time is polynomial in the document (after Gottlob, Koch and
//! Pichler 2005, "Efficient algorithms for processing XPath queries"). Operands that are the same
//! for every context node are evaluated once. All work spends units of a [`Meter`] and stops when
//! it is exhausted.

mod axis;
mod compare;
mod constant;
mod function;
mod path;
mod satisfy;
mod value;

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::document::{Document, NodeIndex, NodeKind};
use super::meter::{Meter, Metered};
use super::xpath::{NodeId, Operation, XPath, XPathKind};
pub use compare::compare_string;
use constant::{Constant, Operand};
use value::Value;
pub use value::{number_and_cost, to_number};

/// The maximum number of results cached during one evaluation.
const MEMORY: usize = 1 << 19;

/// A larger cache is freed after an evaluation.
const KEPT: usize = 1 << 14;

/// Whether a document satisfies an expression.
pub fn is_true(
    xpath: &XPath,
    document: &Document,
    scratch: &mut EvaluationScratch,
    meter: &mut Meter,
) -> Metered<bool> {
    meter.begin_filter();
    let truth = Evaluation::new(xpath, document, scratch, meter).boolean(xpath.root(), DOCUMENT)?;
    meter.end_filter();
    Ok(truth)
}

/// Working memory of [`is_true`].
#[derive(Debug, Default)]
pub struct EvaluationScratch {
    /// Results of predicates by node, and by position and size if they matter.
    answers: HashMap<(NodeId, NodeIndex, u32, u32), bool, ahash::RandomState>,
    marks: axis::Marks,
    /// For every node of the expression, its known results as a predicate.
    known: Vec<satisfy::KnownResults>,
}

impl EvaluationScratch {
    fn start(&mut self, xpath: &XPath) {
        self.answers.clear();
        if self.answers.capacity() > KEPT {
            self.answers = HashMap::default();
        }
        self.known.clear();
        self.known.resize(xpath.len(), satisfy::KnownResults::Tried(0));
    }
}

/// Evaluates the parts of an expression whose context is the document node.
pub struct Explainer<'e> {
    xpath: &'e XPath,
    document: &'e Document,
    scratch: EvaluationScratch,
    meter: &'e mut Meter,
}

impl<'e> Explainer<'e> {
    pub fn new(xpath: &'e XPath, document: &'e Document, meter: &'e mut Meter) -> Self {
        meter.begin_filter();
        Explainer { xpath, document, scratch: EvaluationScratch::default(), meter }
    }

    fn evaluation(&mut self) -> Evaluation<'_> {
        Evaluation::new(self.xpath, self.document, &mut self.scratch, self.meter)
    }

    /// Whether a part is true.
    pub fn truth(&mut self, id: NodeId) -> Metered<bool> {
        self.evaluation().boolean(id, DOCUMENT)
    }

    /// How many nodes each step of a path selects, up to the first that selects none.
    pub fn selected(&mut self, id: NodeId) -> Metered<Vec<usize>> {
        let mut counts = Vec::new();
        let xpath = self.xpath;
        if let XPathKind::Path(path) = &xpath.node(id).kind {
            self.evaluation().path_counting(path, DOCUMENT, |count| counts.push(count))?;
        }
        Ok(counts)
    }

    /// The nodes of an expression of type node-set.
    pub fn nodes(&mut self, id: NodeId) -> Metered<Vec<NodeIndex>> {
        self.evaluation().nodes(id, DOCUMENT)
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
    meter: &'e mut Meter,
    /// Operands that are the same for every context node, by their node in the expression.
    constants: HashMap<NodeId, Rc<Constant<'e>>, ahash::RandomState>,
    /// The number of predicates around the current expression.
    nesting: u32,
}

impl<'e> Evaluation<'e> {
    fn new(
        xpath: &'e XPath,
        document: &'e Document,
        scratch: &'e mut EvaluationScratch,
        meter: &'e mut Meter,
    ) -> Self {
        scratch.start(xpath);
        Evaluation { xpath, document, scratch, meter, constants: HashMap::default(), nesting: 0 }
    }

    fn value(&mut self, id: NodeId, context: Context) -> Metered<Value<'e>> {
        let xpath = self.xpath;
        Ok(match &xpath.node(id).kind {
            XPathKind::Or(_) | XPathKind::And(_) | XPathKind::Compare(..) => {
                Value::Boolean(self.boolean(id, context)?)
            }
            XPathKind::Arithmetic(..) | XPathKind::Negate(_) | XPathKind::Number(_) => {
                Value::Number(self.number(id, context)?)
            }
            XPathKind::String(text) => Value::String(Cow::Borrowed(text)),
            XPathKind::Union(_) | XPathKind::Path(_) => Value::Nodes(self.nodes(id, context)?),
            XPathKind::Call(function, arguments) => self.call(*function, arguments, context)?,
        })
    }

    fn boolean(&mut self, id: NodeId, context: Context) -> Metered<bool> {
        self.meter.spend(1)?;
        if let Some(constant) = self.constant(id, context)? {
            return Ok(constant.value.boolean());
        }
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            XPathKind::Or(operands) | XPathKind::Union(operands) => {
                for operand in operands {
                    if self.boolean(*operand, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            XPathKind::And(operands) => {
                for operand in operands {
                    if !self.boolean(*operand, context)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            XPathKind::Compare(comparison, left, right) => {
                let left = self.operand(*left, context)?;
                let held = left.value().bytes();
                self.meter.hold(held)?;
                let right = self.operand(*right, context)?;
                self.meter.release(held);
                self.compare(*comparison, &left, &right)
            }
            _ => Ok(self.value(id, context)?.boolean()),
        }
    }

    fn number(&mut self, id: NodeId, context: Context) -> Metered<f64> {
        self.meter.spend(1)?;
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            XPathKind::Number(number) => Ok(*number),
            XPathKind::Negate(operand) => Ok(-self.number(*operand, context)?),
            XPathKind::Arithmetic(first, rest) => {
                let mut result = self.number(*first, context)?;
                for (operation, operand) in rest {
                    let operand = self.number(*operand, context)?;
                    result = match operation {
                        Operation::Add => result + operand,
                        Operation::Subtract => result - operand,
                        Operation::Multiply => result * operand,
                        Operation::Divide => result / operand,
                        Operation::Modulo => result % operand,
                    };
                }
                Ok(result)
            }
            _ => {
                let operand = self.operand(id, context)?;
                let (number, cost) = operand.value().number(self.document);
                self.meter.spend(cost)?;
                Ok(number)
            }
        }
    }

    fn string(&mut self, id: NodeId, context: Context) -> Metered<Cow<'e, str>> {
        self.meter.spend(1)?;
        match self.operand(id, context)? {
            Operand::Value(value) => Ok(value.string(self.document)),
            Operand::Constant(constant) => {
                let copied = match &constant.value {
                    Value::String(Cow::Owned(text)) => text.len(),
                    _ => 0,
                };
                self.meter.spend(copied / 16)?;
                Ok(match &constant.value {
                    Value::Nodes(nodes) => Value::first_string(nodes, self.document).into(),
                    other => other.clone().string(self.document),
                })
            }
        }
    }

    /// The nodes of an expression of type node-set, in document order, without duplicates.
    fn nodes(&mut self, id: NodeId, context: Context) -> Metered<Vec<NodeIndex>> {
        let xpath = self.xpath;
        match &xpath.node(id).kind {
            XPathKind::Path(path) => self.path(path, context),
            XPathKind::Union(operands) => {
                let mut nodes = Vec::new();
                for operand in operands {
                    nodes.append(&mut self.nodes(*operand, context)?);
                    self.meter.spend(nodes.len())?;
                    // Operands may select the same nodes, so remove duplicates as they accumulate.
                    nodes.sort_unstable();
                    nodes.dedup();
                }
                Ok(nodes)
            }
            // The parser assigns the type node-set to no other expression, except id().
            XPathKind::Call(function, arguments) => match self.call(*function, arguments, context)? {
                Value::Nodes(nodes) => Ok(nodes),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    fn kind(&self, node: NodeIndex) -> NodeKind {
        self.document.node(node).kind
    }
}
