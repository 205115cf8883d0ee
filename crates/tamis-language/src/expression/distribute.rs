//! What are the clauses of the disjunctive, or the conjunctive, form of an expression?
//!
//! `and` is distributed over `or` for the disjunctive form, `or` over `and` for the conjunctive one.
//! That can explode, so the size of the result is computed first, in time linear in the normal form,
//! and compared with what is allowed. An expression that has the form already is never refused.

use super::normalise::{NormalForm, NormalNode};
use crate::error::Result;
use crate::limits;

/// Which operator is the outer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outer {
    /// The disjunctive form, whose clauses are conjunctions.
    Or,
    /// The conjunctive form, whose clauses are disjunctions.
    And,
}

/// A signed predicate of a clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClausePredicate {
    /// The position of the signed predicate in the normal form.
    pub predicate: u32,
    /// How often it counts towards the score: `(a or b) and (a or c)` counts `a` twice where it is
    /// chosen in both. Always 1 in the conjunctive form, which counts its best signed predicate.
    pub times: u32,
}

/// The clauses of a form, each sorted and without repetition of a signed predicate. Of the disjunctive form,
/// `true` is one clause without signed predicates and `false` has no clauses; the other way round for the other.
pub type Clauses = Vec<Box<[ClausePredicate]>>;

/// Brings a normal form into disjunctive or conjunctive form, unless that takes more than `most`
/// signed predicates.
pub fn distribute(form: &NormalForm, outer: Outer, most: usize) -> Result<Clauses> {
    let nodes = form.nodes();
    check_size(form, outer, most)?;
    let mut clauses: Vec<Clauses> = Vec::with_capacity(nodes.len());
    for (position, node) in (0..).zip(nodes) {
        let made = match (node, outer) {
            (NormalNode::Constant(value), _) => match *value == (outer == Outer::Or) {
                true => vec![Box::default()],
                false => Vec::new(),
            },
            (NormalNode::Predicate(_), _) => vec![[ClausePredicate { predicate: position, times: 1 }].into()],
            (NormalNode::Or(children), Outer::Or) | (NormalNode::And(children), Outer::And) => {
                let all = children.iter().flat_map(|&child| clauses[child as usize].iter().cloned());
                distinct(all.collect(), outer)
            }
            (NormalNode::And(children), Outer::Or) | (NormalNode::Or(children), Outer::And) => {
                // Predicates are in every clause. Joined one by one, many of them would take quadratic time.
                let (predicates, others): (Vec<u32>, Vec<u32>) =
                    children.iter().partition(|&&child| is_predicate(nodes, child));
                let signed = |&predicate: &u32| ClausePredicate { predicate, times: 1 };
                let common: Vec<ClausePredicate> = predicates.iter().map(signed).collect();
                let common: Clauses = vec![union(&common, &[], outer)];
                others.iter().fold(common, |product, &child| {
                    let choices = &clauses[child as usize];
                    let pairs =
                        product.iter().flat_map(|clause| choices.iter().map(move |choice| (clause, choice)));
                    distinct(pairs.map(|(clause, choice)| union(clause, choice, outer)).collect(), outer)
                })
            }
        };
        clauses.push(made);
    }
    Ok(clauses.pop().unwrap_or_default())
}

/// Fails if the form would take more than `most` signed predicates.
pub fn check_size(form: &NormalForm, outer: Outer, most: usize) -> Result<()> {
    if is_in_form(form, outer) {
        return Ok(());
    }
    // The number of clauses, and of signed predicates in all of them; a product saturates, never wraps.
    let mut sizes: Vec<(f64, f64)> = Vec::with_capacity(form.nodes().len());
    for node in form.nodes() {
        let size = match (node, outer) {
            (NormalNode::Constant(_), _) => (1.0, 0.0),
            (NormalNode::Predicate(_), _) => (1.0, 1.0),
            (NormalNode::Or(children), Outer::Or) | (NormalNode::And(children), Outer::And) => {
                let sizes = children.iter().map(|&child| sizes[child as usize]);
                sizes.fold((0.0, 0.0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
            }
            (NormalNode::And(children), Outer::Or) | (NormalNode::Or(children), Outer::And) => {
                let sizes = children.iter().map(|&child| sizes[child as usize]);
                sizes.fold((1.0, 0.0), |(clauses, signed_predicates), size| {
                    (clauses * size.0, signed_predicates * size.0 + clauses * size.1)
                })
            }
        };
        sizes.push((size.0.min(f64::MAX), size.1.min(f64::MAX)));
    }
    let signed_predicates = sizes.last().map_or(0.0, |size| size.1);
    let what = match outer {
        Outer::Or => "predicates of an expression in disjunctive normal form",
        Outer::And => "predicates of an expression in conjunctive normal form",
    };
    // Positions are 32-bit numbers, whatever the limits say.
    limits::check(what, "normal_form", signed_predicates as usize, most.min(1 << 28))
}

/// Whether the clauses are there already.
pub fn is_in_form(form: &NormalForm, outer: Outer) -> bool {
    let nodes = form.nodes();
    let (above, below) = match (nodes.last(), outer) {
        (Some(NormalNode::Or(children)), Outer::Or) | (Some(NormalNode::And(children)), Outer::And) => {
            (&children[..], true)
        }
        (Some(NormalNode::And(children)), Outer::Or) | (Some(NormalNode::Or(children)), Outer::And) => {
            (&children[..], false)
        }
        _ => return true,
    };
    above.iter().all(|child| match &nodes[*child as usize] {
        NormalNode::And(children) if outer == Outer::Or && below => {
            children.iter().all(|&child| is_predicate(nodes, child))
        }
        NormalNode::Or(children) if outer == Outer::And && below => {
            children.iter().all(|&child| is_predicate(nodes, child))
        }
        _ => is_predicate(nodes, *child),
    })
}

fn is_predicate(nodes: &[NormalNode], node: u32) -> bool {
    matches!(nodes[node as usize], NormalNode::Predicate(_))
}

/// Conjunctions without repetition: the best of equal ones is any of them. Clauses add up, and stay.
fn distinct(mut clauses: Clauses, outer: Outer) -> Clauses {
    if outer == Outer::Or {
        clauses.sort_unstable();
        clauses.dedup();
    }
    clauses
}

/// The signed predicates of both clauses, in order.
fn union(left: &[ClausePredicate], right: &[ClausePredicate], outer: Outer) -> Box<[ClausePredicate]> {
    let mut all: Vec<ClausePredicate> = Vec::with_capacity(left.len() + right.len());
    all.extend_from_slice(left);
    all.extend_from_slice(right);
    all.sort_unstable_by_key(|term| term.predicate);
    all.dedup_by(|next, kept| {
        let same = next.predicate == kept.predicate;
        if same && outer == Outer::Or {
            kept.times = kept.times.saturating_add(next.times);
        }
        same
    });
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::normalise;
    use crate::{Limits, parse};
    use tamis_base::Error;

    fn clauses(text: &str, outer: Outer) -> Vec<String> {
        let form = normalise(&parse(text, &Limits::default()).unwrap());
        let name = |chosen: &ClausePredicate| match &form.nodes()[chosen.predicate as usize] {
            NormalNode::Predicate(signed) => {
                let sign = if signed.negated { "-" } else { "" };
                let times = if chosen.times > 1 { chosen.times.to_string() } else { String::new() };
                format!("{times}{sign}{}", signed.attribute)
            }
            other => panic!("{other:?}"),
        };
        let clauses = distribute(&form, outer, 1000).unwrap();
        let mut clauses: Vec<String> =
            clauses.iter().map(|clause| clause.iter().map(name).collect::<Vec<_>>().concat()).collect();
        clauses.sort();
        clauses
    }

    #[test]
    fn both_forms() {
        assert_eq!(clauses("a and (b or c)", Outer::Or), ["ab", "ac"]);
        assert_eq!(clauses("a and (b or c)", Outer::And), ["a", "bc"]);
        assert_eq!(clauses("a or b and not c", Outer::Or), ["a", "b-c"]);
        assert_eq!(clauses("a or b and not c", Outer::And), ["a-c", "ab"]);
        assert_eq!(clauses("(a or b) and (a or c)", Outer::Or), ["2a", "ab", "ac", "bc"]);
        assert_eq!(clauses("(a and b) or (a and c)", Outer::And), ["a", "ab", "ac", "bc"]);
        assert_eq!(clauses("true", Outer::Or), [""]);
        assert_eq!(clauses("true", Outer::And), [""; 0]);
        assert_eq!(clauses("false", Outer::Or), [""; 0]);
        assert_eq!(clauses("false", Outer::And), [""]);
    }

    /// Quadratic work would take minutes here.
    #[test]
    fn many_predicates_are_one_clause() {
        let names: Vec<String> = (0..50_000).map(|number| format!("a{number}")).collect();
        for (connective, outer) in [(" and ", Outer::Or), (" or ", Outer::And)] {
            let form = normalise(&parse(&names.join(connective), &Limits::default()).unwrap());
            let clauses = distribute(&form, outer, 10).unwrap();
            assert_eq!((clauses.len(), clauses[0].len()), (1, names.len()));
            assert!(clauses[0].is_sorted_by(|a, b| a.predicate < b.predicate));
        }
        // With others, in whatever order they are written.
        assert_eq!(clauses("(x or y) and a and b and (a or c)", Outer::Or), ["2abx", "2aby", "abcx", "abcy"]);
        assert_eq!(clauses("x and y or a or b or a and c", Outer::And), ["abcx", "abcy", "abx", "aby"]);
    }

    #[test]
    fn what_would_explode_is_refused_with_both_numbers() {
        let clauses: Vec<_> = (0..40).map(|i| format!("(a{i} or b{i})")).collect();
        let form = normalise(&parse(&clauses.join(" and "), &Limits::default()).unwrap());
        assert_eq!(distribute(&form, Outer::And, 10).unwrap().len(), 40);
        let refused = distribute(&form, Outer::Or, 1000).unwrap_err();
        let found = 40 << 40;
        assert!(matches!(refused, Error::Limit { found: f, allowed: 1000, .. } if f == found), "{refused}");
    }
}
