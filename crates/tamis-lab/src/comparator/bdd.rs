//! BDD (Campailla et al. 2001): all expressions as one reduced ordered binary decision diagram.
//!
//! Every predicate is a variable, in the order in which a walk over the expressions first meets it.
//! Equal nodes are stored once, so subexpressions that expressions share are decided once per
//! event: a walk from a root stops at a node whose value is known.

use std::collections::HashMap;

use tamis::Event;
use tamis::expression::{NormalForm, NormalNode, SignedPredicate, normalise};
use tamis::matcher::Slot;

use super::predicates::{Basic, Predicates};
use super::{Comparator, Input, Refused, Work};

const FALSE: u32 = 0;
const TRUE: u32 = 1;

/// The maximum number of variables of one expression; the recursion that joins two diagrams goes as
/// deep.
const MOST_VARIABLES: usize = 2000;

/// All expressions together may have this many times the nodes allowed for one.
const ALL: usize = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Decision {
    variable: u32,
    low: u32,
    high: u32,
}

/// One decision diagram.
#[derive(Debug)]
pub struct Bdd {
    predicates: Predicates,
    /// The first two nodes are the constants.
    nodes: Vec<Decision>,
    roots: Vec<u32>,
}

#[derive(Debug)]
struct Builder {
    nodes: Vec<Decision>,
    numbers: HashMap<Decision, u32>,
    /// Results of joining pairs of nodes, for the expression being built.
    joined: HashMap<(bool, u32, u32), u32>,
}

impl Builder {
    fn node(&mut self, decision: Decision) -> u32 {
        if decision.low == decision.high {
            return decision.low;
        }
        let next = self.nodes.len() as u32;
        let number = *self.numbers.entry(decision).or_insert(next);
        if number == next {
            self.nodes.push(decision);
        }
        number
    }

    fn basic(&mut self, basic: Basic) -> u32 {
        let (low, high) = if basic.negated() { (TRUE, FALSE) } else { (FALSE, TRUE) };
        self.node(Decision { variable: basic.predicate(), low, high })
    }

    /// The conjunction or disjunction of two diagrams; `None` if there are too many nodes.
    fn join(&mut self, and: bool, one: u32, other: u32, most: usize) -> Option<u32> {
        let (neutral, decisive) = if and { (TRUE, FALSE) } else { (FALSE, TRUE) };
        if one == decisive || other == decisive {
            return Some(decisive);
        }
        if one == neutral || one == other {
            return Some(other);
        }
        if other == neutral {
            return Some(one);
        }
        let key = (and, one.min(other), one.max(other));
        if let Some(&known) = self.joined.get(&key) {
            return Some(known);
        }
        if self.nodes.len() > most {
            return None;
        }
        let (left, right) = (self.nodes[one as usize], self.nodes[other as usize]);
        let variable = left.variable.min(right.variable);
        let below = |number: u32, node: Decision| {
            if node.variable == variable { (node.low, node.high) } else { (number, number) }
        };
        let ((left_low, left_high), (right_low, right_high)) = (below(one, left), below(other, right));
        let low = self.join(and, left_low, right_low, most)?;
        let high = self.join(and, left_high, right_high, most)?;
        let result = self.node(Decision { variable, low, high });
        self.joined.insert(key, result);
        Some(result)
    }
}

impl Bdd {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Bdd, Refused> {
        let mut predicates = Predicates::default();
        let answer = Decision { variable: u32::MAX, low: 0, high: 0 };
        let mut builder = Builder { nodes: vec![answer; 2], numbers: HashMap::new(), joined: HashMap::new() };
        let most = input.most.saturating_mul(ALL).min(u32::MAX as usize);
        let mut roots = Vec::with_capacity(input.expressions.len());
        for (slot, expression) in (0..).zip(input.expressions) {
            let variables = expression.predicates().count();
            if variables > MOST_VARIABLES {
                let what = "variables of a decision diagram";
                return Err(Refused { slot, what, found: variables, allowed: MOST_VARIABLES });
            }
            builder.joined.clear();
            let root = Self::expression(expression, &mut builder, &mut predicates, input, most);
            roots.push(root.ok_or(Refused {
                slot,
                what: "nodes of the decision diagram up to this expression",
                found: builder.nodes.len(),
                allowed: most,
            })?);
        }
        Ok(Bdd { predicates, nodes: builder.nodes, roots })
    }

    fn expression(
        expression: &tamis::Expression,
        builder: &mut Builder,
        predicates: &mut Predicates,
        input: &Input<'_>,
        most: usize,
    ) -> Option<u32> {
        let form = normalise(expression);
        number_variables(&form, predicates, input);
        let mut built: Vec<u32> = Vec::with_capacity(form.nodes().len());
        for node in form.nodes() {
            let (and, children): (bool, Vec<u32>) = match node {
                NormalNode::Constant(value) => (*value, Vec::new()),
                NormalNode::Predicate(signed) => {
                    let mut basics = Vec::new();
                    predicates.intern(signed, input.attributes, input.missing, &mut basics);
                    (true, basics.into_iter().map(|basic| builder.basic(basic)).collect())
                }
                NormalNode::And(children) => {
                    (true, children.iter().map(|&child| built[child as usize]).collect())
                }
                NormalNode::Or(children) => {
                    (false, children.iter().map(|&child| built[child as usize]).collect())
                }
            };
            let empty = if and { TRUE } else { FALSE };
            built.push(children.into_iter().try_fold(empty, |all, next| builder.join(and, all, next, most))?);
        }
        built.pop()
    }

    /// The number of nodes, including the constants.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }
}

/// Numbers the predicates from left to right. The predicates of one child are then close
/// together, and so are a predicate and the test that its attribute has a value, which the negation
/// may need.
fn number_variables(form: &NormalForm, predicates: &mut Predicates, input: &Input<'_>) {
    let mut met = vec![false; form.nodes().len()];
    let mut open = vec![form.nodes().len() as u32 - 1];
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut met[node as usize], true) {
            continue;
        }
        match &form.nodes()[node as usize] {
            NormalNode::And(children) | NormalNode::Or(children) => open.extend(children.iter().rev()),
            NormalNode::Predicate(signed) => {
                let either = SignedPredicate { negated: true, ..signed.clone() };
                predicates.intern(&either, input.attributes, input.missing, &mut Vec::new());
            }
            NormalNode::Constant(_) => {}
        }
    }
}

/// The truth of a node during a match, if it is known.
const KNOWN_FALSE: u8 = 1;
const KNOWN_TRUE: u8 = 2;

impl Comparator for Bdd {
    fn name(&self) -> &'static str {
        "bdd"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let Work { held, known, path, counters, .. } = work;
        self.predicates.find(event, held);
        known.clear();
        known.resize(self.nodes.len(), 0);
        (known[FALSE as usize], known[TRUE as usize]) = (KNOWN_FALSE, KNOWN_TRUE);
        for (slot, &root) in (0..).zip(&self.roots) {
            path.clear();
            let mut at = root;
            while known[at as usize] == 0 {
                path.push(at);
                let Decision { variable, low, high } = self.nodes[at as usize];
                at = if held.contains(variable) { high } else { low };
            }
            counters.nodes += path.len() as u64;
            let answer = known[at as usize];
            path.iter().for_each(|&passed| known[passed as usize] = answer);
            if answer == KNOWN_TRUE {
                found.push(slot);
            }
        }
        counters.candidates += self.roots.len() as u64;
    }

    fn bytes(&self) -> usize {
        self.predicates.bytes() + size_of::<Decision>() * self.nodes.len() + 4 * self.roots.len()
    }
}
