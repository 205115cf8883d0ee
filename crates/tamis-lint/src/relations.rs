//! Which expressions never or always hold, are equivalent to others, or imply them?
//!
//! Subscriptions with equal normal forms are equivalent. One is subsumed by another if no case in which it
//! holds can happen together with a case in which the other does not. Not all pairs are compared: a subscription is
//! indexed under one signed predicate that everything it subsumes must be related to, namely the rarest one.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cases::{Case, SignedPredicates, SignedTest};
use super::{Finding, FindingKind, Report};
use crate::error::{Error, Result};
use crate::expression::{Expression, NormalForm, Test, TruthTest, normalise, resolve};
use crate::id::Id;
use crate::index::Subscription;
use crate::truth::{Missing, Truth};
use crate::value::{TimeZone, Value};

/// A larger set is filed by its attribute only.
const SET: usize = 16;
/// How many subscriptions that subsume one are named.
const WIDER: usize = 10;
/// Expressions of more cases are not compared with others.
const CASES: usize = 64;

/// What is known about the subscriptions.
pub(super) struct Relations {
    zone: TimeZone,
    signed_predicates: SignedPredicates,
    hashers: [ahash::RandomState; 2],
    /// The distinct expressions by their normal forms, and where each is in `distinct`.
    forms: HashMap<[u64; 2], usize, ahash::RandomState>,
    distinct: Vec<Distinct>,
    /// Of each, whether it was reported to be equal to another.
    same: Vec<bool>,
    /// How many expressions had too many cases.
    pub skipped: usize,
}

/// An expression that one or several subscriptions have.
struct Distinct {
    ids: Vec<Id>,
    count: usize,
    /// The cases in which it holds.
    holds: Option<Vec<Case>>,
    /// The cases in which it does not.
    fails: Option<Vec<Case>>,
}

impl Distinct {
    /// Whether it can be compared with others: it holds on some events, but not on all.
    fn is_comparable(&self) -> bool {
        let some = |cases: &Option<Vec<Case>>| {
            cases.as_ref().is_some_and(|cases| !cases.is_empty() && cases.len() <= CASES)
        };
        some(&self.holds) && some(&self.fails)
    }
}

/// How one signed predicate of a case relates to others.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    /// It is about an attribute.
    Attribute(u32),
    /// It asks an attribute for a value.
    Value(u32, Value),
}

impl Relations {
    pub fn new(missing: Missing, zone: TimeZone) -> Relations {
        Relations {
            zone,
            signed_predicates: SignedPredicates::new(missing),
            hashers: Default::default(),
            forms: HashMap::default(),
            distinct: Vec::new(),
            same: Vec::new(),
            skipped: 0,
        }
    }

    /// Adds a subscription, and reports whether it can never or always hold.
    pub fn add(&mut self, subscription: &Subscription, report: &mut Report) {
        let Subscription { id, expression, .. } = subscription;
        let expression = expression.without_weights();
        let form = self.normal_form(&expression);
        let key = [self.hashers[0].hash_one(&form), self.hashers[1].hash_one(&form)];
        let known = *self.forms.entry(key).or_insert(self.distinct.len());
        if known == self.distinct.len() {
            let holds = self.signed_predicates.cases(&form);
            // An `xpath` predicate cannot be tested with `is`.
            let fails = Expression::is(&expression, TruthTest::new(Truth::True, true)).ok();
            let fails = fails.map(|fails| self.normal_form(&fails));
            let fails = fails.and_then(|form| self.signed_predicates.cases(&form));
            self.skipped += usize::from(holds.is_none() || fails.is_none());
            self.distinct.push(Distinct { ids: Vec::new(), count: 0, holds, fails });
        }
        let distinct = &mut self.distinct[known];
        distinct.count += 1;
        if distinct.ids.len() < super::NAMED {
            distinct.ids.push(id.clone());
        }
        let is_empty = |cases: &Option<Vec<Case>>| cases.as_ref().is_some_and(Vec::is_empty);
        let (kind, message) = if is_empty(&distinct.holds) {
            (FindingKind::Never, "no event can satisfy this expression")
        } else if is_empty(&distinct.fails) {
            (FindingKind::Always, "every event satisfies this expression")
        } else {
            return;
        };
        if let Some(finding) = report.push(Finding::new(kind, message.to_owned())) {
            finding.concerns(id);
        }
    }

    fn normal_form(&self, expression: &Expression) -> NormalForm {
        normalise(&resolve(expression, &self.zone))
    }

    /// Compares the subscriptions with each other until this many pairs of signed predicates have been examined; returns
    /// whether that was enough.
    pub fn compare(&mut self, most: u64, stop: &AtomicBool, report: &mut Report) -> Result<bool> {
        for Distinct { ids, count, .. } in self.distinct.iter().filter(|distinct| distinct.count > 1) {
            let message = format!("these {count} subscriptions ask the same");
            if let Some(finding) = report.push(Finding::new(FindingKind::Equal, message)) {
                finding.subscriptions.clone_from(ids);
                finding.count = *count;
            }
        }
        let probes: Vec<Vec<Key>> = self.distinct.iter().map(|distinct| self.probes(distinct)).collect();
        let filed = self.filed(&probes);
        self.same = vec![false; self.distinct.len()];
        let mut work = 0u64;
        let mut seen = vec![u32::MAX; self.distinct.len()];
        for (narrow, keys) in probes.iter().enumerate() {
            let mut wider: Vec<usize> = Vec::new();
            let mut same: Vec<usize> = Vec::new();
            for wide in keys.iter().filter_map(|key| filed.get(key)).flatten().map(|wide| *wide as usize) {
                if wide == narrow || std::mem::replace(&mut seen[wide], narrow as u32) == narrow as u32 {
                    continue;
                }
                work += 1;
                if work > most {
                    self.report_wider(narrow, &same, &wider, report);
                    return Ok(false);
                }
                if !self.implies(narrow, wide, &mut work) {
                    continue;
                }
                let both = self.implies(wide, narrow, &mut work);
                (if both { &mut same } else { &mut wider }).push(wide);
                if wider.len() >= WIDER {
                    break;
                }
            }
            self.report_wider(narrow, &same, &wider, report);
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Cancelled);
            }
        }
        Ok(true)
    }

    fn report_wider(&mut self, narrow: usize, same: &[usize], wider: &[usize], report: &mut Report) {
        let all = &self.distinct;
        let first = |distinct: usize| all[distinct].ids[0].clone();
        // Expressions that are equal in another form are reported once.
        if !same.is_empty() && !self.same[narrow] {
            same.iter().for_each(|other| self.same[*other] = true);
            let ids: Vec<Id> = std::iter::once(narrow).chain(same.iter().copied()).map(first).collect();
            let message = format!("these {} subscriptions ask the same, in other words", ids.len());
            if let Some(finding) = report.push(Finding::new(FindingKind::Equal, message)) {
                finding.count = ids.len();
                finding.subscriptions = ids;
            }
        }
        if wider.is_empty() {
            return;
        }
        let message = match wider.len() {
            1 => "every event that satisfies the first satisfies the second, too".to_owned(),
            others => format!("every event that satisfies the first satisfies the {others} others, too"),
        };
        if let Some(finding) = report.push(Finding::new(FindingKind::Subsumed, message)) {
            finding.subscriptions = std::iter::once(narrow).chain(wider.iter().copied()).map(first).collect();
            finding.count = finding.subscriptions.len();
        }
    }

    /// Whether one expression holds wherever another does.
    fn implies(&self, narrow: usize, wide: usize, work: &mut u64) -> bool {
        let (Some(holds), Some(fails)) = (&self.distinct[narrow].holds, &self.distinct[wide].fails) else {
            return false;
        };
        fails.iter().all(|fails| {
            holds.iter().all(|holds| {
                let signed_predicates = (holds.len() + fails.len()) as u64;
                *work += signed_predicates * signed_predicates;
                !self.signed_predicates.can_happen_together(holds, fails)
            })
        })
    }

    /// The keys of what may subsume an expression: all of its cases have to do with it, so the first will do.
    fn probes(&self, distinct: &Distinct) -> Vec<Key> {
        let mut keys = Vec::new();
        let cases = distinct.holds.as_ref().filter(|_| distinct.is_comparable());
        for &signed in cases.iter().flat_map(|cases| cases[0].iter()) {
            let signed = self.signed_predicates.get(signed);
            keys.push(Key::Attribute(signed.presence));
            match signed.test.as_ref().map(|prepared| &prepared.test) {
                Some(Test::Equal(value)) if !signed.negated => {
                    keys.push(Key::Value(signed.values, value.clone()));
                }
                Some(Test::In(values)) if !signed.negated => {
                    keys.extend(values.first().map(|value| Key::Value(signed.values, value.clone())));
                }
                _ => {}
            }
        }
        keys.sort_unstable_by_key(|key| matches!(key, Key::Attribute(_)));
        keys
    }

    /// Files every expression under the keys of one of the cases in which it does not hold: the one that the fewest
    /// others need.
    fn filed(&self, probes: &[Vec<Key>]) -> HashMap<Key, Vec<u32>, ahash::RandomState> {
        let mut asked: HashMap<&Key, usize, ahash::RandomState> = HashMap::default();
        probes.iter().flatten().for_each(|key| *asked.entry(key).or_default() += 1);
        let mut filed: HashMap<Key, Vec<u32>, _> = HashMap::default();
        for (number, distinct) in self.distinct.iter().enumerate() {
            let cases = distinct.fails.as_ref().filter(|_| distinct.is_comparable());
            let keys = cases.iter().flat_map(|cases| cases.iter()).map(|case| {
                let keys: Vec<Key> =
                    case.iter().flat_map(|signed| keys_of(self.signed_predicates.get(*signed))).collect();
                (keys.iter().map(|key| asked.get(key).copied().unwrap_or(0)).sum::<usize>(), keys)
            });
            for key in keys.min_by_key(|(asked, _)| *asked).map(|(_, keys)| keys).unwrap_or_default() {
                let numbers: &mut Vec<u32> = filed.entry(key).or_default();
                if numbers.last() != Some(&(number as u32)) {
                    numbers.push(number as u32);
                }
            }
        }
        filed
    }
}

/// The keys under which a signed predicate is filed that must be contradicted.
fn keys_of(signed: &SignedTest) -> Vec<Key> {
    match signed.test.as_ref().map(|prepared| &prepared.test) {
        Some(Test::Equal(value)) if signed.negated => vec![Key::Value(signed.values, value.clone())],
        Some(Test::In(values)) if signed.negated && values.len() <= SET => {
            values.iter().map(|value| Key::Value(signed.values, value.clone())).collect()
        }
        _ => vec![Key::Attribute(signed.presence)],
    }
}
