//! Scan with conjunction match (Fontoura et al. 2010, section 5.2): evaluates the expressions that
//! have a true conjunction.
//!
//! The K-index finds the conjunctions at the leaves, as it does for that paper's algorithms. Except
//! for expressions that are always true, no expression is true without one of them.

use std::collections::HashMap;

use tamis::expression::{NormalForm, NormalNode, Predicate, SignedPredicate, Term, normalise};
use tamis::matcher::{Matcher, Slot};
use tamis::{Event, Expression, Limits};
use tamis_papers::{KIndex, KIndexOptions};

use super::trees::Trees;
use super::{Comparator, Input, Lists, Refused, Work};

/// Expressions by the conjunctions at their leaves.
#[derive(Debug)]
pub struct ScanWithConjunctions {
    conjunctions: KIndex,
    /// By conjunction.
    expressions: Lists<Slot>,
    /// Expressions that are always true.
    always: Vec<Slot>,
    trees: Trees,
}

/// Distinct conjunctions of distinct signed predicates.
#[derive(Debug, Default)]
struct Leaves {
    signed_predicates: HashMap<SignedPredicate, u32>,
    numbers: HashMap<Box<[u32]>, u32>,
    conjunctions: Vec<Expression>,
}

impl Leaves {
    fn number(&mut self, leaf: &[&SignedPredicate]) -> u32 {
        let signed_predicates = leaf.iter().map(|&signed| {
            let next = self.signed_predicates.len() as u32;
            *self.signed_predicates.entry(signed.clone()).or_insert(next)
        });
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(signed_predicates.collect()).or_insert(next);
        if number == next {
            self.conjunctions.push(conjunction(leaf));
        }
        number
    }
}

impl ScanWithConjunctions {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<ScanWithConjunctions, Refused> {
        let trees = Trees::new(input)?;
        let mut found = Leaves::default();
        let (mut pairs, mut always) = (Vec::new(), Vec::new());
        for (slot, expression) in (0..).zip(input.expressions) {
            let form = normalise(expression);
            always.extend((form.nodes() == [NormalNode::Constant(true)]).then_some(slot));
            pairs.extend(leaves(&form).iter().map(|leaf| (found.number(leaf), slot)));
        }
        let options = KIndexOptions::default();
        let conjunctions = KIndex::new(&found.conjunctions, input.attributes, input.missing, options);
        let expressions = Lists::new(found.conjunctions.len(), &pairs);
        Ok(ScanWithConjunctions { conjunctions, expressions, always, trees })
    }
}

/// The conjunctions at the leaves: the signed predicates of an `and` together, and others alone.
fn leaves(form: &NormalForm) -> Vec<Vec<&SignedPredicate>> {
    let nodes = form.nodes();
    let predicate = |child: &u32| match &nodes[*child as usize] {
        NormalNode::Predicate(signed) => Some(signed),
        _ => None,
    };
    let mut leaves: Vec<Vec<&SignedPredicate>> = Vec::new();
    for node in nodes {
        match node {
            NormalNode::And(children) => leaves.push(children.iter().filter_map(predicate).collect()),
            NormalNode::Or(children) => {
                leaves.extend(children.iter().filter_map(predicate).map(|one| vec![one]))
            }
            NormalNode::Predicate(only) if nodes.len() == 1 => leaves.push(vec![only]),
            _ => {}
        }
    }
    leaves.retain(|leaf| !leaf.is_empty());
    leaves
}

fn conjunction(signed_predicates: &[&SignedPredicate]) -> Expression {
    let children: Vec<Expression> = signed_predicates.iter().map(|signed| expression(signed)).collect();
    Expression::all(&children)
}

/// A signed predicate as an expression.
fn expression(signed: &SignedPredicate) -> Expression {
    let (operator, operand) = signed.test.parts();
    let operand = operand.to_operand();
    // The attribute may be a term, whose internal name users cannot write.
    let asked = Term::Attribute(signed.attribute.clone());
    let predicate = Predicate::on(&asked, operator, false, operand, &[], &Limits::none());
    let positive = Expression::from(predicate.expect("a predicate of a valid expression"));
    if signed.negated { Expression::negate(&positive) } else { positive }
}

impl Comparator for ScanWithConjunctions {
    fn name(&self) -> &'static str {
        "scan-with-conjunctions"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let Work { seen, slots, scratch, counters, .. } = work;
        slots.clear();
        self.conjunctions.matches(event, scratch, slots);
        counters.entries += scratch.take_counters().entries;
        seen.begin(self.trees.len());
        for &conjunction in slots.iter() {
            self.expressions.of(conjunction).iter().for_each(|&slot| {
                seen.insert(slot);
            });
        }
        self.trees.evaluate(seen.members().iter().chain(&self.always), event, counters, found);
    }

    fn bytes(&self) -> usize {
        let lists = self.expressions.bytes() + 4 * self.always.len();
        self.conjunctions.bytes() + lists + self.trees.bytes()
    }
}
