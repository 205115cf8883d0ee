//! Why does an expression match an event, or not?
//!
//! The explanation mirrors the expression as it was written: every node with its truth, and every
//! predicate with what the event had for its attribute.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::event::{Attributes, Event, Presence};
use crate::expression::{Expression, Node, is_hidden, resolve_predicate, shown};
use crate::predicate::Check;
use crate::truth::{Missing, Truth};
use crate::value::{Value, ValueRef};

/// The truth of every node of an expression on one event.
#[derive(Debug, Clone)]
pub struct Explanation {
    expression: Expression,
    /// One per node of the expression, in its order.
    truths: Vec<Truth>,
    /// What the event had for each predicate, in the order of the nodes; `None` for other nodes.
    seen: Vec<Option<Seen>>,
}

/// What an event had for an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing: absent, or an empty list.
    Missing,
    /// A null.
    Null,
    /// These values.
    Values(Arc<[Value]>),
}

/// A node of an explanation on its way out, parents before their operands.
#[derive(Debug)]
pub struct Step<'a> {
    /// How many nodes stand above it.
    pub depth: usize,
    /// How many operands it has; they follow.
    pub operands: usize,
    /// `and`, `or`, `not`, `xor`, `xnor`, or the text of a predicate or constant.
    pub text: String,
    /// Whether the event makes it true.
    pub truth: Truth,
    /// The attribute or term, as it is written, and what the event had for it, where the node is a predicate.
    pub seen: Option<(Cow<'a, str>, &'a Seen)>,
}

/// Evaluates an expression on an event and keeps every step.
pub fn explain(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
) -> Explanation {
    let mut truths: Vec<Truth> = Vec::new();
    let mut seen = Vec::new();
    let mut stack: Vec<Truth> = Vec::new();
    let mut lists: HashMap<&Arc<str>, Seen, ahash::RandomState> = HashMap::default();
    for node in expression.nodes() {
        let from = stack.len() - node.operands();
        let mut witness = None;
        let truth = match node {
            Node::Predicate(predicate) => {
                let presence = match attributes.find(predicate.attribute()) {
                    Some(attribute) => event.get(attribute),
                    None => Presence::Missing,
                };
                // Many predicates may see one long list, which is kept once.
                let known = lists.entry(predicate.attribute()).or_insert_with(|| match &presence {
                    Presence::Missing => Seen::Missing,
                    Presence::Null => Seen::Null,
                    Presence::Values(values) => {
                        Seen::Values(values.clone().map(ValueRef::to_value).collect())
                    }
                });
                // All that a document satisfies says nothing about one question to it.
                let told = (predicate.as_xpath().is_none() && predicate.as_elements().is_none())
                    || *known == Seen::Missing;
                witness = told.then(|| known.clone());
                let mut parts: Vec<Truth> = Vec::new();
                for part in resolve_predicate(predicate, attributes.time_zone()) {
                    let first = parts.len() - part.operands();
                    let truth = match &part {
                        Node::Predicate(predicate) => {
                            let presence = match attributes.find(predicate.attribute()) {
                                Some(attribute) => event.get(attribute),
                                None => Presence::Missing,
                            };
                            let truth = Check::new(predicate.test()).truth(presence, missing);
                            if predicate.negated() { !truth } else { truth }
                        }
                        other => other.combine(&parts[first..]),
                    };
                    parts.truncate(first);
                    parts.push(truth);
                }
                parts.pop().unwrap_or(Truth::Unknown)
            }
            other => other.combine(&stack[from..]),
        };
        stack.truncate(from);
        stack.push(truth);
        truths.push(truth);
        seen.push(witness);
    }
    Explanation { expression: expression.clone(), truths, seen }
}

impl Explanation {
    /// The truth of the whole expression.
    pub fn truth(&self) -> Truth {
        self.truths[self.truths.len() - 1]
    }

    /// The nodes, parents before their operands, operands from left to right.
    pub fn steps(&self) -> Vec<Step<'_>> {
        let nodes = self.expression.nodes();
        let starts = self.expression.starts();
        let mut steps = Vec::with_capacity(nodes.len());
        let mut open = vec![(nodes.len() - 1, 0)];
        while let Some((index, depth)) = open.pop() {
            let node = &nodes[index];
            let text = match node {
                Node::Constant(value) => value.to_string(),
                Node::Predicate(predicate) => predicate.to_string(),
                Node::Not => "not".to_owned(),
                Node::And(_) => "and".to_owned(),
                Node::Or(_) => "or".to_owned(),
                Node::Xor => "xor".to_owned(),
                Node::Xnor => "xnor".to_owned(),
            };
            let seen = match (node, &self.seen[index]) {
                (Node::Predicate(predicate), Some(seen)) => match predicate.as_xpath() {
                    Some(_) => Some((Cow::Borrowed("document"), seen)),
                    None if predicate.as_elements().is_some() => {
                        let list = predicate.as_elements().map_or("", |elements| elements.list);
                        Some((Cow::Borrowed(list.trim_start_matches('\u{1}')), seen))
                    }
                    None if is_hidden(predicate.attribute()) => {
                        Some((Cow::Owned(shown(predicate.attribute())), seen))
                    }
                    None => Some((Cow::Borrowed(&**predicate.attribute()), seen)),
                },
                _ => None,
            };
            steps.push(Step { depth, operands: node.operands(), text, truth: self.truths[index], seen });
            for operand in self.expression.operands_reversed(index, &starts) {
                open.push((operand, depth + 1));
            }
        }
        steps
    }
}

/// Prints one line per node, indented below the node that uses it.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, step) in self.steps().iter().enumerate() {
            if line > 0 {
                f.write_str("\n")?;
            }
            // Deep nests would make quadratic indentation.
            let indent = "  ".repeat(step.depth.min(40));
            write!(f, "{:<7}  {indent}{}", step.truth.word(), step.text)?;
            if let Some((attribute, seen)) = &step.seen {
                write!(f, "    -- {attribute} is {seen}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Values of a list that are shown.
        const SHOWN: usize = 10;
        match self {
            Seen::Missing => f.write_str("missing"),
            Seen::Null => f.write_str("null"),
            Seen::Values(values) if values.len() == 1 => values[0].fmt(f),
            Seen::Values(values) => {
                f.write_str("[")?;
                for (position, value) in values.iter().take(SHOWN).enumerate() {
                    write!(f, "{}{value}", if position > 0 { ", " } else { "" })?;
                }
                if values.len() > SHOWN {
                    write!(f, ", ... {} in all", values.len())?;
                }
                f.write_str("]")
            }
        }
    }
}
