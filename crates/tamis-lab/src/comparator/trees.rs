//! Evaluating one expression from its root.
//!
//! As in the papers' scans, trees are walked from the top, children are skipped once their operator
//! is decided, and every predicate on the way is evaluated on the event.

use std::collections::HashMap;

use tamis::event::AttributeId;
use tamis::expression::{NormalForm, NormalNode, Test, normalise};
use tamis::matcher::Check;
use tamis::matcher::Slot;
use tamis::{Event, Missing, Truth};

use super::{Counters, Input, Refused};

/// The maximum depth of a tree.
const DEEPEST: usize = 1000;

/// The trees of all expressions.
#[derive(Debug)]
pub(super) struct Trees {
    missing: Missing,
    nodes: Vec<Tree>,
    roots: Vec<u32>,
    checks: Vec<(AttributeId, Check)>,
}

#[derive(Debug)]
enum Tree {
    Constant(bool),
    Predicate { check: u32, negated: bool },
    And(Box<[u32]>),
    Or(Box<[u32]>),
}

/// Assigns equal predicates the same number.
#[derive(Debug, Default)]
struct Distinct {
    numbers: HashMap<(AttributeId, Test), u32>,
}

impl Distinct {
    fn number(&mut self, attribute: AttributeId, test: &Test, checks: &mut Vec<(AttributeId, Check)>) -> u32 {
        *self.numbers.entry((attribute, test.clone())).or_insert_with(|| {
            checks.push((attribute, Check::new(test)));
            checks.len() as u32 - 1
        })
    }
}

impl Trees {
    pub fn new(input: &Input<'_>) -> Result<Trees, Refused> {
        let mut trees = Trees {
            missing: input.missing,
            nodes: Vec::new(),
            roots: Vec::with_capacity(input.expressions.len()),
            checks: Vec::new(),
        };
        let mut distinct = Distinct::default();
        for (slot, expression) in (0..).zip(input.expressions) {
            let form = normalise(expression);
            check_shape(slot, &form, input.most)?;
            let first = trees.nodes.len() as u32;
            let shift = |children: &[u32]| children.iter().map(|child| first + child).collect();
            for node in form.nodes() {
                let tree = match node {
                    NormalNode::Constant(value) => Tree::Constant(*value),
                    NormalNode::And(children) => Tree::And(shift(children)),
                    NormalNode::Or(children) => Tree::Or(shift(children)),
                    NormalNode::Predicate(signed) => {
                        let attribute = input.attributes.intern(&signed.attribute);
                        let check = distinct.number(attribute, &signed.test, &mut trees.checks);
                        Tree::Predicate { check, negated: signed.negated }
                    }
                };
                trees.nodes.push(tree);
            }
            trees.roots.push(trees.nodes.len() as u32 - 1);
        }
        Ok(trees)
    }

    /// Appends the candidates that are true, ascending.
    pub fn evaluate<'a>(
        &self,
        candidates: impl Iterator<Item = &'a Slot>,
        event: &Event,
        counters: &mut Counters,
        found: &mut Vec<Slot>,
    ) {
        let first = found.len();
        for &slot in candidates {
            counters.candidates += 1;
            if self.is_true(slot, event, &mut counters.nodes) {
                found.push(slot);
            }
        }
        ascending(found, first);
    }

    pub fn len(&self) -> usize {
        self.roots.len()
    }

    /// Whether an expression is true.
    pub fn is_true(&self, slot: Slot, event: &Event, evaluated: &mut u64) -> bool {
        self.holds(self.roots[slot as usize], event, evaluated)
    }

    fn holds(&self, node: u32, event: &Event, evaluated: &mut u64) -> bool {
        *evaluated += 1;
        match &self.nodes[node as usize] {
            Tree::Constant(value) => *value,
            Tree::Predicate { check, negated } => {
                let (attribute, check) = &self.checks[*check as usize];
                let truth = check.truth(event.get(*attribute), self.missing);
                truth == if *negated { Truth::False } else { Truth::True }
            }
            Tree::And(children) => children.iter().all(|&child| self.holds(child, event, evaluated)),
            Tree::Or(children) => children.iter().any(|&child| self.holds(child, event, evaluated)),
        }
    }

    pub fn bytes(&self) -> usize {
        let children = |tree: &Tree| match tree {
            Tree::And(children) | Tree::Or(children) => 4 * children.len(),
            _ => 0,
        };
        self.nodes.iter().map(|tree| size_of::<Tree>() + children(tree)).sum::<usize>()
            + 4 * self.roots.len()
            + size_of::<(AttributeId, Check)>() * self.checks.len()
    }
}

/// Fails if a form is too deep, or too large as a tree, where shared parts count as often as they
/// are used.
pub(super) fn check_shape(slot: Slot, form: &NormalForm, most: usize) -> Result<(), Refused> {
    let (mut sizes, mut depths): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for node in form.nodes() {
        let (mut size, mut depth) = (1usize, 1);
        if let NormalNode::And(children) | NormalNode::Or(children) = node {
            for &child in children {
                size = size.saturating_add(sizes[child as usize]);
                depth = depth.max(depths[child as usize] + 1);
            }
        }
        sizes.push(size);
        depths.push(depth);
    }
    let refused = |what, found, allowed| Err(Refused { slot, what, found, allowed });
    match (sizes.last(), depths.last()) {
        (Some(&size), _) if size > most => refused("nodes as a tree", size, most),
        (_, Some(&depth)) if depth > DEEPEST => refused("levels", depth, DEEPEST),
        _ => Ok(()),
    }
}

/// Sorts the slots from `first` on and removes duplicates.
pub(super) fn ascending(found: &mut Vec<Slot>, first: usize) {
    found[first..].sort_unstable();
    let mut last = None;
    let mut kept = first;
    for position in first..found.len() {
        let slot = found[position];
        if last.replace(slot) != Some(slot) {
            found[kept] = slot;
            kept += 1;
        }
    }
    found.truncate(kept);
}
