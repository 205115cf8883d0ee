//! When is an expression true, false or unknown, whatever it would be itself?
//!
//! `E is true` is never unknown. The test is pushed down to the predicates, where it asks whether what
//! they ask about has a value; so there is no new kind of node, and no matcher knows of it.

use super::predicate::{Operator, Predicate};
use super::term::{Function, Term};
use super::tree::{Assembler, Connective, Expression, Node};
use crate::error::{Error, Result};
use crate::limits::{self, Limits};

/// Expressions of more levels are not tested: the test is pushed down recursively.
const DEEPEST: usize = 1000;

/// What an expression is tested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tested {
    True,
    False,
    Unknown,
}

/// An expression that is true where `operand` is as tested, or where it is not, and false elsewhere.
pub(super) fn truth_test(
    operand: &Expression,
    tested: Tested,
    negated: bool,
    limits: &Limits,
) -> Result<Expression> {
    limits::check("nesting of an expression", "depth", operand.depth(), limits.depth.min(DEEPEST))?;
    let mut test = Test { operand, starts: operand.starts(), limits, out: Assembler::default() };
    let root = operand.nodes().len() - 1;
    match tested {
        Tested::True => test.push(root, true)?,
        Tested::False => test.push(root, false)?,
        Tested::Unknown => match &operand.nodes()[root] {
            Node::Predicate(predicate) if !is_certain(predicate) => {
                test.unknown(predicate, negated)?;
                return Ok(test.out.finish());
            }
            _ => {
                for value in [true, false] {
                    test.push(root, value)?;
                    test.out.not();
                }
                test.out.connect(Connective::And, 2);
            }
        },
    }
    if negated {
        test.out.not();
    }
    Ok(test.out.finish())
}

/// Whether a predicate is true or false on every event.
fn is_certain(predicate: &Predicate) -> bool {
    matches!(predicate.operator(), Operator::Exists | Operator::IsNull) || predicate.as_unknown().is_some()
}

struct Test<'a> {
    operand: &'a Expression,
    starts: Vec<u32>,
    limits: &'a Limits,
    out: Assembler,
}

impl Test<'_> {
    /// Writes that the node is true, or that it is false.
    fn push(&mut self, index: usize, value: bool) -> Result<()> {
        limits::check("operators and predicates", "nodes", self.out.len() + 1, self.limits.nodes)?;
        let mut operands: Vec<usize> = self.operand.operands_reversed(index, &self.starts).collect();
        operands.reverse();
        match &self.operand.nodes()[index] {
            Node::Constant(constant) => self.out.constant(*constant == value),
            Node::Not => self.push(operands[0], !value)?,
            node @ (Node::And(_) | Node::Or(_)) => {
                let all = matches!(node, Node::And(_)) == value;
                let connective = if all { Connective::And } else { Connective::Or };
                let mut count = 0;
                for operand in operands {
                    self.push(operand, value)?;
                    count += self.out.absorb(connective);
                }
                self.out.connect(connective, count);
            }
            node @ (Node::Xor | Node::Xnor) => {
                let different = matches!(node, Node::Xor) == value;
                for first in [true, false] {
                    let mut count = 0;
                    for (operand, value) in [(operands[0], first), (operands[1], first != different)] {
                        self.push(operand, value)?;
                        count += self.out.absorb(Connective::And);
                    }
                    self.out.connect(Connective::And, count);
                }
                self.out.connect(Connective::Or, 2);
            }
            Node::Predicate(predicate) => {
                self.out.predicate((**predicate).clone());
                if !value {
                    self.out.not();
                }
                if !is_certain(predicate) {
                    self.unknown(predicate, true)?;
                    self.out.connect(Connective::And, 2);
                }
            }
        }
        Ok(())
    }

    /// Writes that a predicate is unknown, or that it is not.
    fn unknown(&mut self, predicate: &Predicate, negated: bool) -> Result<()> {
        if predicate.as_xpath().is_some() {
            return Err(Error::expression("what `xpath` asks cannot be tested with `is`"));
        }
        if let Some(elements) = predicate.as_elements() {
            // A list that is there has a size, if only 0.
            let size = Term::call(Function::Size, vec![elements.term()], self.limits)?;
            self.out.predicate(Predicate::unknown(size, negated, self.limits)?);
            return Ok(());
        }
        let term = match predicate.term() {
            // A reading has a value wherever its argument has one.
            Term::Call(Function::Read(_), mut arguments) => arguments.swap_remove(0),
            other => other,
        };
        self.out.predicate(Predicate::unknown(term, negated, self.limits)?);
        Ok(())
    }
}
