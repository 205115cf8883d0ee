//! In which cases does an expression hold, and in which not?
//!
//! A case is a set of signed predicates that hold together. An expression holds if one of its cases does: they are the
//! conjunctions of its disjunctive normal form. The cases in which it does not hold are those of `is not true`, which
//! also cover attributes without a value. A case that contradicts itself cannot happen and is left out. Whether two
//! cases can happen together decides whether one expression implies another.
//!
//! Attributes may be lists, so a signed predicate holds if *some* value passes: `a > 5 and a < 3` can hold. Its
//! negation holds if no value passes. So a contradiction is a value that must and must not be present, or an
//! attribute that must and must not have a value.

use std::collections::HashMap;
use std::sync::Arc;

use super::implication::PreparedTest;
use crate::expression::distribute::{Outer, distribute};
use crate::expression::{Function, NormalForm, NormalNode, SignedPredicate, Term, Test};
use crate::truth::Missing;
use crate::value::Value;

/// How many signed predicates the cases of one expression may have.
const MOST: usize = 1_000;

/// What an event may have for an attribute, as bits.
const VALUES: u8 = 1;
const NULL: u8 = 2;
const MISSING: u8 = 4;

/// The number of a signed predicate in its [`SignedPredicates`].
pub(super) type SignedPredicateId = u32;
/// Signed predicates that hold together, ascending.
pub(super) type Case = Box<[SignedPredicateId]>;

/// A signed predicate, taken apart.
#[derive(Debug)]
pub(super) struct SignedTest {
    /// The attribute whose values it is about.
    pub values: u32,
    /// The attribute that must have a value or not.
    pub presence: u32,
    /// What the event may have for that.
    allowed: u8,
    pub negated: bool,
    /// The test of the values, if any.
    pub test: Option<PreparedTest>,
}

/// The distinct signed predicates of many expressions, whatever their weights.
#[derive(Debug)]
pub(super) struct SignedPredicates {
    missing: Missing,
    names: HashMap<Arc<str>, u32, ahash::RandomState>,
    numbers: HashMap<(Arc<str>, Test, bool), SignedPredicateId, ahash::RandomState>,
    known: Vec<SignedTest>,
}

impl SignedPredicates {
    pub fn new(missing: Missing) -> SignedPredicates {
        SignedPredicates {
            missing,
            names: HashMap::default(),
            numbers: HashMap::default(),
            known: Vec::new(),
        }
    }

    pub fn get(&self, signed: SignedPredicateId) -> &SignedTest {
        &self.known[signed as usize]
    }

    /// The cases in which a normal form holds; `None` if there are too many.
    pub fn cases(&mut self, form: &NormalForm) -> Option<Vec<Case>> {
        let clauses = distribute(form, Outer::Or, MOST).ok()?;
        if clauses.iter().map(|clause| clause.len()).sum::<usize>() > MOST {
            return None;
        }
        let mut cases: Vec<Case> = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let mut case: Vec<SignedPredicateId> = Vec::with_capacity(clause.len());
            for term in &clause {
                if let NormalNode::Predicate(signed) = &form.nodes()[term.predicate as usize] {
                    case.push(self.intern(signed));
                }
            }
            case.sort_unstable();
            case.dedup();
            if self.can_happen(&case) {
                cases.push(case.into());
            }
        }
        cases.sort_unstable_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        cases.dedup();
        Some(cases)
    }

    fn intern(&mut self, signed: &SignedPredicate) -> SignedPredicateId {
        let key = (signed.attribute.clone(), signed.test.clone(), signed.negated);
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let known = self.take_apart(signed);
        let number = self.known.len() as SignedPredicateId;
        self.known.push(known);
        self.numbers.insert(key, number);
        number
    }

    fn name(&mut self, name: Arc<str>) -> u32 {
        let next = self.names.len() as u32;
        *self.names.entry(name).or_insert(next)
    }

    fn take_apart(&mut self, signed: &SignedPredicate) -> SignedTest {
        let values = self.name(signed.attribute.clone());
        let known =
            |presence, allowed, test| SignedTest { values, presence, allowed, negated: signed.negated, test };
        let sign = |holds: u8, fails: u8| if signed.negated { fails } else { holds };
        match &signed.test {
            Test::Exists => return known(values, sign(VALUES | NULL, MISSING), None),
            Test::IsNull => return known(values, sign(NULL | MISSING, VALUES), None),
            _ => {}
        }
        let presence = match Term::from_name(&signed.attribute) {
            Ok(Term::Call(Function::IsUnknown, arguments))
                if signed.test == Test::Equal(Value::Boolean(true)) =>
            {
                let presence = self.name(arguments[0].name());
                let allowed = match self.missing {
                    Missing::Unknown => sign(NULL | MISSING, VALUES),
                    Missing::False => sign(0, VALUES | NULL | MISSING),
                };
                return known(presence, allowed, None);
            }
            // A reading has a value wherever its argument has one.
            Ok(Term::Call(Function::Read(_), arguments)) => self.name(arguments[0].name()),
            _ => values,
        };
        let fails = match self.missing {
            Missing::Unknown => VALUES,
            Missing::False => VALUES | NULL | MISSING,
        };
        known(presence, sign(VALUES, fails), Some(PreparedTest::new(signed.test.clone())))
    }

    /// Whether signed predicates do not contradict each other, as far as is known.
    fn can_happen(&self, case: &[SignedPredicateId]) -> bool {
        let all = || case.iter().map(|&signed| self.get(signed));
        all().all(|one| self.is_possible_beside(one, all()))
    }

    /// Whether two possible cases can happen together, as far as is known.
    pub fn can_happen_together(&self, left: &[SignedPredicateId], right: &[SignedPredicateId]) -> bool {
        let all = || left.iter().chain(right).map(|&signed| self.get(signed));
        all().all(|one| self.is_possible_beside(one, all()))
    }

    fn is_possible_beside<'a>(
        &self,
        one: &SignedTest,
        all: impl Iterator<Item = &'a SignedTest> + Clone,
    ) -> bool {
        let allowed = all
            .clone()
            .filter(|other| other.presence == one.presence)
            .fold(VALUES | NULL | MISSING, |allowed, other| allowed & other.allowed);
        let Some(test) = one.test.as_ref().filter(|_| !one.negated) else { return allowed != 0 };
        let refused = all
            .filter(|other| other.negated && other.values == one.values)
            .filter_map(|other| other.test.as_ref());
        allowed & VALUES != 0 && !test.is_covered(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Expression, TruthTest};
    use crate::expression::{normalise, resolve};
    use crate::truth::Truth;
    use crate::value::TimeZone;
    use tamis::{Limits, parse};

    /// Whether an expression can hold, and whether it can fail to.
    fn possible(text: &str, missing: Missing) -> (bool, bool) {
        let expression = parse(text, &Limits::default()).unwrap();
        let not_true = Expression::is(&expression, TruthTest::new(Truth::True, true)).unwrap();
        let mut signed_predicates = SignedPredicates::new(missing);
        let mut can = |expression: &Expression| {
            let form = normalise(&resolve(expression, &TimeZone::default()));
            !signed_predicates.cases(&form).unwrap().is_empty()
        };
        (can(&expression), can(&not_true))
    }

    #[test]
    fn what_can_never_or_always_hold() {
        for (text, unknown, missing_false) in [
            ("a = 1", (true, true), (true, true)),
            ("a = 1 and a != 1", (false, true), (false, true)),
            ("a > 5 and not a > 3", (false, true), (false, true)),
            ("a > 5 and a < 3", (true, true), (true, true)),
            ("a in (1, 2) and a != 1 and a != 2", (false, true), (false, true)),
            ("a in ()", (false, true), (false, true)),
            ("a between 5 and 3", (false, true), (false, true)),
            ("missing(a) and a = 1", (false, true), (false, true)),
            ("missing(a) and a != 1", (false, true), (true, true)),
            ("a is null and exists(a)", (true, true), (true, true)),
            ("a is null and a is not null", (false, true), (false, true)),
            ("a is null or a is not null", (true, false), (true, false)),
            ("exists(a) or missing(a)", (true, false), (true, false)),
            ("a = 1 or a != 1", (true, true), (true, false)),
            ("a = 1 or a != 1 or a is unknown", (true, false), (true, false)),
            ("(a = 1) is true or (a = 1) is not true", (true, false), (true, false)),
            ("(a > timestamp '2026-01-02') is unknown and a is not null", (false, true), (false, true)),
            ("true", (true, false), (true, false)),
            ("false", (false, true), (false, true)),
            ("a = 1 and (b = 2 and b != 2 or a != 1)", (false, true), (false, true)),
            ("any(x, a = 1) and none(x, a = 1)", (false, true), (false, true)),
        ] {
            assert_eq!(possible(text, Missing::Unknown), unknown, "{text}");
            assert_eq!(
                possible(text, Missing::False),
                missing_false,
                "{text} where what is missing is false"
            );
        }
    }
}
