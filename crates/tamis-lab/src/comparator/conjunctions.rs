//! Disjunctive normal forms of expressions.

use tamis::expression::{NormalForm, NormalNode, normalise};
use tamis::matcher::Slot;

use super::predicates::{Basic, Predicates};
use super::{Input, Refused};

/// The conjunctions of all expressions, without contradictory ones.
#[derive(Debug, Default)]
pub(super) struct Conjunctions {
    pub predicates: Predicates,
    /// Sorted and without repetition.
    pub all: Vec<Box<[Basic]>>,
    /// The expression of each conjunction.
    pub slots: Vec<Slot>,
}

impl Conjunctions {
    /// Brings every expression into disjunctive normal form. As in the papers, equal conjunctions
    /// are not merged.
    pub fn new(input: &Input<'_>) -> Result<Conjunctions, Refused> {
        let mut result = Conjunctions::default();
        for (slot, expression) in (0..).zip(input.expressions) {
            let form = normalise(expression);
            check_size(slot, &form, input.most)?;
            let conjunctions = expand(&form, |signed, basics| {
                result.predicates.intern(signed, input.attributes, input.missing, basics);
            });
            result.slots.resize(result.slots.len() + conjunctions.len(), slot);
            result.all.extend(conjunctions);
        }
        Ok(result)
    }
}

/// Refuses a form if some part of it has too many conjunctions.
pub(super) fn check_size(slot: Slot, form: &NormalForm, most: usize) -> Result<(), Refused> {
    let mut sizes: Vec<usize> = Vec::with_capacity(form.nodes().len());
    for node in form.nodes() {
        let size = match node {
            NormalNode::Constant(_) | NormalNode::Predicate(_) => 1,
            NormalNode::Or(children) => {
                children.iter().map(|&child| sizes[child as usize]).fold(0, usize::saturating_add)
            }
            NormalNode::And(children) => {
                children.iter().map(|&child| sizes[child as usize]).fold(1, usize::saturating_mul)
            }
        };
        if size > most {
            return Err(Refused { slot, what: "conjunctions", found: size, allowed: most });
        }
        sizes.push(size);
    }
    Ok(())
}

/// The conjunctions of a form.
fn expand(
    form: &NormalForm,
    mut basics: impl FnMut(&tamis::expression::SignedPredicate, &mut Vec<Basic>),
) -> Vec<Box<[Basic]>> {
    let mut parts: Vec<Vec<Box<[Basic]>>> = Vec::with_capacity(form.nodes().len());
    for node in form.nodes() {
        let mut made: Vec<Box<[Basic]>> = Vec::new();
        match node {
            NormalNode::Constant(value) => made.extend(value.then(Box::default)),
            NormalNode::Predicate(signed) => {
                let mut all = Vec::new();
                basics(signed, &mut all);
                made.extend(conjunction(all));
            }
            NormalNode::Or(children) => {
                made.extend(children.iter().flat_map(|&child| parts[child as usize].iter().cloned()));
            }
            NormalNode::And(children) => {
                made.push(Box::default());
                for &child in children {
                    let choices = &parts[child as usize];
                    let pairs = made.iter().flat_map(|part| choices.iter().map(move |choice| (part, choice)));
                    made = pairs
                        .filter_map(|(part, choice)| {
                            conjunction(part.iter().chain(choice).copied().collect())
                        })
                        .collect();
                }
            }
        }
        parts.push(made);
    }
    parts.pop().unwrap_or_default()
}

/// Sorts a conjunction; `None` if it contradicts itself.
fn conjunction(mut all: Vec<Basic>) -> Option<Box<[Basic]>> {
    all.sort_unstable();
    all.dedup();
    let contradicts = all.windows(2).any(|pair| pair[0].opposite() == pair[1]);
    (!contradicts).then(|| all.into())
}
