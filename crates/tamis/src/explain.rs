//! Why does an expression match an event, or not?
//!
//! The explanation mirrors the expression as written: every node with its truth, and every predicate with the event's
//! values of its attribute. `any`, `all` and `none` are followed by a few of the elements that decided, if the event
//! kept them ([`Event::keep_elements`]).

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::deadline::Timer;
use crate::error::Result;
use crate::event::{Attributes, Event, Presence};
use crate::expression::{Context, Expression, Node, Predicate, Quantifier, Term};
use crate::expression::{is_hidden, resolve_predicate, shown};
use crate::predicate::Check;
use crate::truth::{Missing, Truth};
use crate::value::{Timestamp, Value, ValueRef};

/// The truth of every node of an expression on one event.
#[derive(Debug, Clone)]
pub struct Explanation {
    expression: Expression,
    /// One per node of the expression, in its order.
    truths: Vec<Truth>,
    /// The event's values for each predicate, in the order of the nodes; empty for other nodes.
    seen: Vec<Vec<Witness>>,
    /// By the position of a node: the attributes of its terms that have no value.
    arguments: HashMap<usize, Vec<Witness>, ahash::RandomState>,
    /// By the position of a node that tests the elements of a list: how they decided it.
    lists: HashMap<usize, List, ahash::RandomState>,
    /// Where the subscription cannot match, whatever its expression says.
    inactive: Option<Inactive>,
}

/// The end of a subscription's validity that the moment of the event lies beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inactive {
    /// The end.
    pub end: ValidityEnd,
    /// The moment of the event.
    pub now: Timestamp,
}

/// An end of a validity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValidityEnd {
    /// The subscription can match from this moment on.
    From(Timestamp),
    /// It can match before this moment.
    Until(Timestamp),
}

/// The maximum number of elements shown per list, and for all lists of an explanation.
const SHOWN_OF_LIST: usize = 3;
const SHOWN_IN_ALL: usize = 100;

/// The elements of a list that a predicate tests.
#[derive(Debug, Clone)]
struct List {
    name: Arc<str>,
    counts: ElementCounts,
    /// The first of those that decided, with their positions in the list.
    shown: Vec<(usize, Explanation)>,
}

/// How many elements of a list satisfy a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementCounts {
    /// How many there are.
    pub total: usize,
    /// How many satisfy it.
    pub satisfied: usize,
    /// How many decided: those that satisfy an `any`, those that fail an `all`, otherwise all of them.
    pub decisive: usize,
    /// How many of these the explanation shows.
    pub shown: usize,
}

/// An attribute or term, as it is written, and what an event had for it.
type Witness = (Arc<str>, Seen);

/// An event's values of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing: absent, or an empty list.
    Missing,
    /// A null.
    Null,
    /// These values.
    Values(Arc<[Value]>),
}

/// A node of an explanation to be printed, parents before their children.
#[derive(Debug)]
pub struct Step<'a> {
    /// The number of nodes above it.
    pub depth: usize,
    /// How many children it has; they follow.
    pub children: usize,
    /// `and`, `or`, `not`, `xor`, `xnor`, `is true` and the like, or the text of a predicate or constant.
    pub text: String,
    /// Whether the event makes it true.
    pub truth: Truth,
    /// For a predicate: the attribute or term as written, and the event's values of it. A comparison of two terms has
    /// two, the left one first.
    pub seen: Vec<(Cow<'a, str>, &'a Seen)>,
    /// For a predicate on a term that has no value, such as the `hour` of a text that is not a time: the attributes that it is
    /// computed from, and the event's values of them.
    pub arguments: Vec<(Cow<'a, str>, &'a Seen)>,
    /// For a node that tests the elements of a list; the elements that are shown follow, one deeper than it.
    pub elements: Option<ElementCounts>,
    /// For the whole condition on an element: the name of the list, and the element's position in it.
    pub element: Option<(&'a str, usize)>,
}

/// Evaluates an expression on an event and records every step. Fails only at the event's deadline, if it has one.
///
/// It shows the elements that decided only if the event was set to keep them before it was decoded
/// ([`Event::keep_elements`]).
pub fn explain(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
) -> Result<Explanation> {
    explain_some(expression, event, attributes, missing, &mut { SHOWN_IN_ALL })
}

/// Explains with at most `room` elements of lists, and subtracts those that are shown.
fn explain_some(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
    room: &mut usize,
) -> Result<Explanation> {
    let mut witnesses = Witnesses { event, attributes, known: HashMap::default() };
    let (mut truths, mut seen) = (Vec::new(), Vec::new());
    let (mut lists, mut arguments) = (HashMap::default(), HashMap::default());
    evaluate(expression, event, attributes, missing, |predicate, truth| {
        if let Some(predicate) = predicate {
            if let Some(list) = explain_list(predicate, event, attributes, missing, room)? {
                lists.insert(truths.len(), list);
            }
            let found = witnesses.of(predicate);
            if found.iter().any(|(_, seen)| *seen == Seen::Missing) {
                arguments.insert(truths.len(), witnesses.arguments(predicate));
            }
            seen.push(found);
        } else {
            seen.push(Vec::new());
        }
        truths.push(truth);
        Ok(())
    })?;
    Ok(Explanation { expression: expression.clone(), truths, seen, arguments, lists, inactive: None })
}

/// Calls `each` with the truth of every node of an expression, in its order; a predicate comes with it.
fn evaluate(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
    mut each: impl FnMut(Option<&Predicate>, Truth) -> Result<()>,
) -> Result<Truth> {
    let mut timer = Timer::new(event.deadline());
    let mut stack: Vec<Truth> = Vec::new();
    for node in expression.nodes() {
        let from = stack.len() - node.children();
        let (predicate, truth) = match node {
            Node::Predicate(predicate) => {
                timer.check()?;
                (Some(&**predicate), truth_of(predicate, event, attributes, missing))
            }
            other => (None, other.combine(&stack[from..])),
        };
        stack.truncate(from);
        stack.push(truth);
        each(predicate, truth)?;
    }
    Ok(stack.pop().unwrap_or(Truth::Unknown))
}

/// How the elements of a list decided a predicate about them, if the event kept them. `None` once no more elements
/// can be shown, so that only a limited number of lists are evaluated again.
fn explain_list(
    predicate: &Predicate,
    event: &Event,
    attributes: &Attributes,
    missing: Missing,
    room: &mut usize,
) -> Result<Option<List>> {
    let Some(asked) = predicate.as_elements().filter(|_| *room > 0) else { return Ok(None) };
    let list = attributes.find(&asked.list.into());
    let elements = list.and_then(|list| event.elements_of(list));
    let (Some((attributes, elements)), Some(inner)) = (elements, predicate.inner()) else {
        return Ok(None);
    };
    let inner = inner?;
    let mut satisfied = Vec::with_capacity(elements.len());
    for element in elements {
        let truth = evaluate(&inner, element, attributes, missing, |_, _| Ok(()))?;
        satisfied.push(truth == Truth::True);
    }
    // One element decides `any` and `none` by satisfying the condition, `all` by failing it.
    let decides = asked.quantifier != Quantifier::All;
    let decided = satisfied.contains(&decides);
    let decisive = |position: &usize| !decided || satisfied[*position] == decides;
    let most = SHOWN_OF_LIST.min(*room);
    let mut shown = Vec::new();
    for position in (0..elements.len()).filter(decisive).take(most) {
        *room = room.saturating_sub(1);
        let explained = explain_some(&inner, &elements[position], attributes, missing, room)?;
        shown.push((position, explained));
    }
    let counts = ElementCounts {
        total: elements.len(),
        satisfied: satisfied.iter().filter(|satisfied| **satisfied).count(),
        decisive: (0..elements.len()).filter(decisive).count(),
        shown: shown.len(),
    };
    Ok(Some(List { name: list_name(asked.list), counts, shown }))
}

/// The name of a list as users know it.
fn list_name(list: &str) -> Arc<str> {
    list.trim_start_matches('\u{1}').into()
}

/// The truth of a predicate, once the time zone is known.
fn truth_of(predicate: &Arc<Predicate>, event: &Event, attributes: &Attributes, missing: Missing) -> Truth {
    let mut truths: Vec<Truth> = Vec::new();
    for node in resolve_predicate(predicate, attributes.time_zone()) {
        let first = truths.len() - node.children();
        let truth = match &node {
            Node::Predicate(predicate) => {
                let attribute = attributes.find(predicate.attribute());
                let presence = attribute.map_or(Presence::Missing, |attribute| event.get(attribute));
                let truth = Check::new(predicate.test()).truth(presence, missing);
                if predicate.negated() { !truth } else { truth }
            }
            other => other.combine(&truths[first..]),
        };
        truths.truncate(first);
        truths.push(truth);
    }
    truths.pop().unwrap_or(Truth::Unknown)
}

/// A term as explanations name it.
fn label(term: &Term) -> Arc<str> {
    match term {
        Term::Attribute(name) if !is_hidden(name) => name.clone(),
        other => shown(&other.name()).into(),
    }
}

/// The event's values of the attributes that predicates test.
struct Witnesses<'a> {
    event: &'a Event,
    attributes: &'a Attributes,
    /// Several predicates may test one long list, which is kept once.
    known: HashMap<Arc<str>, Seen, ahash::RandomState>,
}

impl Witnesses<'_> {
    fn of(&mut self, predicate: &Predicate) -> Vec<Witness> {
        if let Some((left, _, right)) = predicate.as_comparison() {
            return [left, right].iter().map(|term| (label(term), self.term(term))).collect();
        }
        if predicate.as_xpath().is_none() && predicate.as_elements().is_none() {
            // The truth already shows whether a term is unknown; its value is more useful.
            let term = predicate.as_unknown().unwrap_or_else(|| predicate.term());
            return vec![(label(&term), self.term(&term))];
        }
        // Everything that a document or a list satisfies does not explain a single test of it.
        let seen = self.attribute(predicate.attribute());
        if seen != Seen::Missing {
            return Vec::new();
        }
        let what = predicate.as_elements().map_or("document".into(), |elements| list_name(elements.list));
        vec![(what, seen)]
    }

    /// The values of the attributes of those terms of a predicate that have no value.
    fn arguments(&mut self, predicate: &Predicate) -> Vec<Witness> {
        if predicate.as_xpath().is_some() || predicate.as_elements().is_some() {
            return Vec::new();
        }
        let terms = match predicate.as_comparison() {
            Some((left, _, right)) => vec![left, right],
            None => vec![predicate.as_unknown().unwrap_or_else(|| predicate.term())],
        };
        let mut names: Vec<Arc<str>> = Vec::new();
        let empty: Vec<&Term> = terms.iter().filter(|term| self.term(term) == Seen::Missing).collect();
        if empty.iter().all(|term| !is_hidden(&term.name())) {
            return Vec::new();
        }
        for term in empty {
            term.attributes(&mut |name| {
                if !is_hidden(name) && !names.contains(name) {
                    names.push(name.clone());
                }
            });
        }
        names.into_iter().map(|name| (name.clone(), self.attribute(&name))).collect()
    }

    /// The values of a term. A term without attributes may not be among those of the event.
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

    /// Whether the subscription matches: its expression is true, and it is valid at the moment of the event.
    pub fn matched(&self) -> bool {
        self.truth() == Truth::True && self.inactive.is_none()
    }

    /// Why the subscription cannot match at the moment of the event; `None` if it is valid then.
    pub fn inactive(&self) -> Option<Inactive> {
        self.inactive
    }

    /// The same explanation for a subscription that is not valid at the moment of the event.
    pub(crate) fn with_validity(self, inactive: Option<Inactive>) -> Explanation {
        Explanation { inactive, ..self }
    }

    /// The nodes, parents before their children, children from left to right. The elements of a list follow the node
    /// that tests them.
    pub fn steps(&self) -> Vec<Step<'_>> {
        let mut steps = Vec::with_capacity(self.truths.len());
        self.add_steps(0, None, &mut steps);
        steps
    }

    /// Recursion is safe: the nesting of conditions on elements is limited.
    fn add_steps<'a>(&'a self, above: usize, element: Option<(&'a str, usize)>, steps: &mut Vec<Step<'a>>) {
        let nodes = self.expression.nodes();
        let starts = self.expression.starts();
        let root = nodes.len() - 1;
        let witness = |(name, seen): &'a Witness| (Cow::Borrowed(&**name), seen);
        let mut open = vec![(root, above)];
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
            let list = self.lists.get(&index);
            steps.push(Step {
                depth,
                children: node.children(),
                text,
                truth: self.truths[index],
                seen: self.seen[index].iter().map(witness).collect(),
                arguments: self.arguments.get(&index).into_iter().flatten().map(witness).collect(),
                elements: list.map(|list| list.counts),
                element: element.filter(|_| index == root),
            });
            for (position, explanation) in list.into_iter().flat_map(|list| &list.shown) {
                let name = list.map_or("", |list| &list.name);
                explanation.add_steps(depth + 1, Some((name, *position)), steps);
            }
            for child in self.expression.children_reversed(index, &starts) {
                open.push((child, depth + 1));
            }
        }
    }
}

/// Prints one line per node, indented below the node that uses it. If the subscription is not valid at the moment of
/// the event, a line before them says so.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(inactive) = &self.inactive {
            writeln!(f, "{:<7}  {inactive}", Truth::False.name())?;
        }
        for (line, step) in self.steps().iter().enumerate() {
            if line > 0 {
                f.write_str("\n")?;
            }
            // Without a limit, deep nesting would make the output quadratic.
            let indent = "  ".repeat(step.depth.min(40));
            write!(f, "{:<7}  {indent}", step.truth.name())?;
            if let Some((list, position)) = step.element {
                write!(f, "{list}[{position}]: ")?;
            }
            f.write_str(&step.text)?;
            let is_new =
                |argument: &&(Cow<'_, str>, &Seen)| !step.seen.iter().any(|(name, _)| *name == argument.0);
            let arguments = step.arguments.iter().filter(is_new);
            for (position, (name, seen)) in step.seen.iter().chain(arguments).enumerate() {
                f.write_str(if position > 0 { ", " } else { "    -- " })?;
                let is_term =
                    position < step.seen.len() && !step.arguments.iter().any(|(one, _)| one == name);
                if is_term && !step.arguments.is_empty() && **seen == Seen::Missing {
                    write!(f, "{name} has no value")?;
                } else {
                    write!(f, "{name} is {seen}")?;
                }
            }
            if let Some(counts) = &step.elements {
                write!(f, "    -- {counts}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Inactive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end {
            ValidityEnd::From(moment) => write!(f, "active from {moment}")?,
            ValidityEnd::Until(moment) => write!(f, "active before {moment}")?,
        }
        write!(f, "    -- now is {}", self.now)
    }
}

impl fmt::Display for ElementCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ElementCounts { total, satisfied, decisive, shown } = *self;
        if total == 0 {
            return f.write_str("the list is empty");
        }
        let elements = if total == 1 { "element" } else { "elements" };
        let satisfy = if satisfied == 1 || total == 1 { "satisfies" } else { "satisfy" };
        write!(f, "{satisfied} of {total} {elements} {satisfy} it")?;
        if shown < decisive { write!(f, ", {shown} shown") } else { Ok(()) }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// How many values of a list are shown.
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
