//! Why does an expression match an event, or not?
//!
//! The explanation mirrors the expression as written: every node with its truth, and every
//! predicate with the event's values of its attribute.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::deadline::Timer;
use crate::error::Result;
use crate::event::{Attributes, Event, Presence};
use crate::expression::{Context, Expression, Node, Predicate, Term, is_hidden, resolve_predicate, shown};
use crate::predicate::Check;
use crate::truth::{Missing, Truth};
use crate::value::{Value, ValueRef};

/// The truth of every node of an expression on one event.
#[derive(Debug, Clone)]
pub struct Explanation {
    expression: Expression,
    /// One per node of the expression, in its order.
    truths: Vec<Truth>,
    /// What the event had for each predicate, in the order of the nodes; nothing for other nodes.
    seen: Vec<Vec<Witness>>,
}

/// An attribute or term, as it is written, and what an event had for it.
type Witness = (Arc<str>, Seen);

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
    /// The number of nodes above it.
    pub depth: usize,
    /// How many operands it has; they follow.
    pub operands: usize,
    /// `and`, `or`, `not`, `xor`, `xnor`, `is true` and the like, or the text of a predicate or constant.
    pub text: String,
    /// Whether the event makes it true.
    pub truth: Truth,
    /// Where the node is a predicate: the attribute or term, as it is written, and what the event had for it. A
    /// comparison of two terms has two, the left one first.
    pub seen: Vec<(Cow<'a, str>, &'a Seen)>,
}

/// Evaluates an expression on an event and keeps every step. Fails only at the event's deadline, if it has one.
pub fn explain(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
) -> Result<Explanation> {
    let mut timer = Timer::new(event.deadline());
    let mut witnesses = Witnesses { event, attributes, known: HashMap::default() };
    let mut truths: Vec<Truth> = Vec::new();
    let mut seen = Vec::new();
    let mut stack: Vec<Truth> = Vec::new();
    for node in expression.nodes() {
        let from = stack.len() - node.operands();
        let (truth, witness) = match node {
            Node::Predicate(predicate) => {
                timer.check()?;
                let truth = truth_of(predicate, event, attributes, missing);
                (truth, witnesses.of(predicate))
            }
            other => (other.combine(&stack[from..]), Vec::new()),
        };
        stack.truncate(from);
        stack.push(truth);
        truths.push(truth);
        seen.push(witness);
    }
    Ok(Explanation { expression: expression.clone(), truths, seen })
}

/// The truth of a predicate, once the time zone is known.
fn truth_of(predicate: &Arc<Predicate>, event: &Event, attributes: &Attributes, missing: Missing) -> Truth {
    let mut parts: Vec<Truth> = Vec::new();
    for part in resolve_predicate(predicate, attributes.time_zone()) {
        let first = parts.len() - part.operands();
        let truth = match &part {
            Node::Predicate(predicate) => {
                let attribute = attributes.find(predicate.attribute());
                let presence = attribute.map_or(Presence::Missing, |attribute| event.get(attribute));
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

/// A term as explanations name it.
fn label(term: &Term) -> Arc<str> {
    match term {
        Term::Attribute(name) if !is_hidden(name) => name.clone(),
        other => shown(&other.name()).into(),
    }
}

/// What an event has for what predicates ask about.
struct Witnesses<'a> {
    event: &'a Event,
    attributes: &'a Attributes,
    /// Many predicates may see one long list, which is kept once.
    known: HashMap<Arc<str>, Seen, ahash::RandomState>,
}

impl Witnesses<'_> {
    fn of(&mut self, predicate: &Predicate) -> Vec<Witness> {
        if let Some((left, _, right)) = predicate.as_comparison() {
            return [left, right].iter().map(|term| (label(term), self.term(term))).collect();
        }
        if predicate.as_xpath().is_none() && predicate.as_elements().is_none() {
            // Whether a term is unknown was said; what it is may be of use.
            let term = predicate.as_unknown().unwrap_or_else(|| predicate.term());
            return vec![(label(&term), self.term(&term))];
        }
        // All that a document or a list satisfies says nothing about one question to it.
        let seen = self.attribute(predicate.attribute());
        if seen != Seen::Missing {
            return Vec::new();
        }
        let what = predicate.as_elements().map_or("document", |elements| elements.list);
        vec![(what.trim_start_matches('\u{1}').into(), seen)]
    }

    /// The values of a term: what depends on no attribute may not be among those of the event.
    fn term(&mut self, term: &Term) -> Seen {
        let zone = Some(self.attributes.time_zone());
        let context = Context { zone, now: Some(self.event.moment()), floating: false };
        match term.value_apart(&context) {
            Some(value) => Seen::Values([value].into()),
            None => self.attribute(&term.name()),
        }
    }

    fn attribute(&mut self, name: &Arc<str>) -> Seen {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let attribute = self.attributes.find(name);
        let seen = match attribute.map_or(Presence::Missing, |attribute| self.event.get(attribute)) {
            Presence::Missing => Seen::Missing,
            Presence::Null => Seen::Null,
            Presence::Values(values) => Seen::Values(values.map(ValueRef::to_value).collect()),
        };
        self.known.insert(name.clone(), seen.clone());
        seen
    }
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
                Node::Is(test) => test.spelling().to_owned(),
            };
            let seen = self.seen[index].iter().map(|(name, seen)| (Cow::Borrowed(&**name), seen)).collect();
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
            for (position, (name, seen)) in step.seen.iter().enumerate() {
                write!(f, "{}{name} is {seen}", if position > 0 { ", " } else { "    -- " })?;
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
