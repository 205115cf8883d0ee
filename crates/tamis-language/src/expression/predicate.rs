//! What does one predicate of an expression test about one attribute?
//!
//! A predicate is checked when it is made ([`Predicate::new`]), whichever way it was written (text,
//! JSON form, builder), and is in canonical form from then on: sets sorted and without repetition,
//! weights absent if all are 1.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::names::{check_name, is_hidden, is_satisfied};
use super::regular_expression::RegularExpression;
use super::term::{Comparison, Function, Term};
use crate::error::{Error, Result, shorten};
use crate::limits::{self, Limits};
use crate::value::{Value, ValueRef};

/// The operators of the language in their positive form. Their order and number are part of the file format
/// (`binary`): a new one comes last, and changes the version of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operator {
    Equal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Between,
    Like,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    Exists,
    IsNull,
}

/// The kind of operand that an operator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: `exists`, `is null`.
    Nothing,
    /// One value.
    Value,
    /// One value of a type that has an order.
    Ordered,
    /// One string.
    Text,
    /// The two ends of a range.
    Range,
    /// A set of values.
    Set,
}

/// Every operator with its spelling, that of its negation, and what it takes. Orderings have no negation, because
/// `not (a < 3)` is not `a >= 3` on a list.
const OPERATORS: [(Operator, &str, Option<&str>, Takes); 14] = [
    (Operator::Equal, "=", Some("!="), Takes::Value),
    (Operator::Less, "<", None, Takes::Ordered),
    (Operator::AtMost, "<=", None, Takes::Ordered),
    (Operator::Greater, ">", None, Takes::Ordered),
    (Operator::AtLeast, ">=", None, Takes::Ordered),
    (Operator::In, "in", Some("not in"), Takes::Set),
    (Operator::Between, "between", Some("not between"), Takes::Range),
    (Operator::Like, "like", Some("not like"), Takes::Text),
    (Operator::StartsWith, "starts with", Some("not starts with"), Takes::Text),
    (Operator::EndsWith, "ends with", Some("not ends with"), Takes::Text),
    (Operator::Contains, "contains", Some("not contains"), Takes::Text),
    (Operator::Matches, "matches", Some("not matches"), Takes::Text),
    (Operator::Exists, "exists", Some("missing"), Takes::Nothing),
    (Operator::IsNull, "is null", Some("is not null"), Takes::Nothing),
];

impl Operator {
    /// How many operators there are.
    pub(super) const COUNT: usize = OPERATORS.len();

    /// The operator with a number, which is its position among the operators.
    pub(super) fn from_number(number: u8) -> Option<Operator> {
        OPERATORS.get(usize::from(number)).map(|(operator, ..)| *operator)
    }

    /// The operator with this spelling, and whether it is the negated form.
    pub fn from_spelling(spelling: &str) -> Option<(Operator, bool)> {
        OPERATORS.iter().find_map(|&(operator, positive, negative, _)| {
            if positive == spelling {
                Some((operator, false))
            } else if negative == Some(spelling) {
                Some((operator, true))
            } else {
                None
            }
        })
    }

    /// The spelling of the operator or of its negation; an ordering is always spelled positively.
    pub fn spelling(self, negated: bool) -> &'static str {
        let (_, positive, negative, _) = OPERATORS[self as usize];
        if negated { negative.unwrap_or(positive) } else { positive }
    }

    /// The kind of operand that it takes.
    pub fn takes(self) -> Takes {
        OPERATORS[self as usize].3
    }

    /// The comparison that is equivalent with its sides exchanged.
    pub(super) fn flipped(self) -> Option<Operator> {
        match self {
            Operator::Equal => Some(Operator::Equal),
            Operator::Less => Some(Operator::Greater),
            Operator::AtMost => Some(Operator::AtLeast),
            Operator::Greater => Some(Operator::Less),
            Operator::AtLeast => Some(Operator::AtMost),
            _ => None,
        }
    }

    /// Every spelling, for messages.
    pub fn spellings() -> impl Iterator<Item = &'static str> {
        OPERATORS.iter().flat_map(|&(_, positive, negative, _)| Some(positive).into_iter().chain(negative))
    }
}

/// The operand to the right of the operator.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// Nothing: `exists`, `is null`.
    Nothing,
    /// One value.
    One(Value),
    /// The two ends of `between`.
    Range(Value, Value),
    /// The values of a set, in any order.
    Set(Vec<Value>),
}

/// The operand of a test, borrowed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OperandRef<'a> {
    /// Nothing: `exists`, `is null`.
    Nothing,
    /// One value.
    One(&'a Value),
    /// The text of a string, or of a pattern.
    Text(&'a Arc<str>),
    /// The two ends of `between`.
    Range(&'a Value, &'a Value),
    /// The values of a set, sorted.
    Set(&'a [Value]),
}

impl OperandRef<'_> {
    /// The operand by itself.
    pub fn to_operand(self) -> Operand {
        match self {
            OperandRef::Nothing => Operand::Nothing,
            OperandRef::One(value) => Operand::One(value.clone()),
            OperandRef::Text(text) => Operand::One(Value::String(text.clone())),
            OperandRef::Range(low, high) => Operand::Range(low.clone(), high.clone()),
            OperandRef::Set(values) => Operand::Set(values.to_vec()),
        }
    }
}

/// The test of the values of one attribute.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Test {
    Equal(Value),
    Less(Value),
    AtMost(Value),
    Greater(Value),
    AtLeast(Value),
    /// Sorted, without repetition.
    In(Arc<[Value]>),
    Between(Value, Value),
    Like(Arc<str>),
    StartsWith(Arc<str>),
    EndsWith(Arc<str>),
    Contains(Arc<str>),
    Matches(RegularExpression),
    Exists,
    IsNull,
}

impl Test {
    /// The operator, in its positive form, and its operand.
    pub fn parts(&self) -> (Operator, OperandRef<'_>) {
        use OperandRef::{Nothing, One, Range, Set, Text};
        match self {
            Test::Equal(value) => (Operator::Equal, One(value)),
            Test::Less(value) => (Operator::Less, One(value)),
            Test::AtMost(value) => (Operator::AtMost, One(value)),
            Test::Greater(value) => (Operator::Greater, One(value)),
            Test::AtLeast(value) => (Operator::AtLeast, One(value)),
            Test::In(values) => (Operator::In, Set(values)),
            Test::Between(low, high) => (Operator::Between, Range(low, high)),
            Test::Like(text) => (Operator::Like, Text(text)),
            Test::StartsWith(text) => (Operator::StartsWith, Text(text)),
            Test::EndsWith(text) => (Operator::EndsWith, Text(text)),
            Test::Contains(text) => (Operator::Contains, Text(text)),
            Test::Matches(pattern) => (Operator::Matches, Text(pattern.text())),
            Test::Exists => (Operator::Exists, Nothing),
            Test::IsNull => (Operator::IsNull, Nothing),
        }
    }

    /// Whether it looks for a pattern in a text.
    pub fn is_pattern(&self) -> bool {
        matches!(self.parts().1, OperandRef::Text(_))
    }
}

/// One attribute, one test, and its weights.
#[derive(Debug, Clone)]
pub struct Predicate {
    attribute: Arc<str>,
    test: Test,
    negated: bool,
    /// One weight per value of a set, one for any other operand; `None` if all are 1.
    weights: Option<Box<[f64]>>,
}

impl PartialEq for Predicate {
    fn eq(&self, other: &Self) -> bool {
        self.attribute == other.attribute
            && self.test == other.test
            && self.negated == other.negated
            && self.weights == other.weights
    }
}

// Weights are finite, so their equality is an equivalence.
impl Eq for Predicate {}

impl Hash for Predicate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.attribute.hash(state);
        self.test.hash(state);
        self.negated.hash(state);
    }
}

impl Predicate {
    /// Checks the operand against the operator and brings both into canonical form.
    ///
    /// `weights` is empty, or holds one weight per value of a set and one for any other operand.
    pub fn new(
        attribute: impl Into<Arc<str>>,
        operator: Operator,
        negated: bool,
        operand: Operand,
        weights: &[f64],
        limits: &Limits,
    ) -> Result<Predicate> {
        let attribute = attribute.into();
        check_name(&attribute, limits)?;
        if is_satisfied(&attribute) {
            return Err(Error::expression(format!(
                "the attribute `{attribute}` cannot be named; to query a document, write xpath('...')"
            )));
        }
        Predicate::with_unchecked_name(attribute, operator, negated, operand, weights, limits)
    }

    /// A test of a term, checked as [`Predicate::new`] checks it.
    pub fn on(
        term: &Term,
        operator: Operator,
        negated: bool,
        operand: Operand,
        weights: &[f64],
        limits: &Limits,
    ) -> Result<Predicate> {
        match term {
            Term::Attribute(name) if !is_hidden(name) => {
                Predicate::new(name.clone(), operator, negated, operand, weights, limits)
            }
            Term::Constant(_) => Err(Error::expression("a predicate tests a term that is not a constant")),
            other => {
                Predicate::with_unchecked_name(other.name(), operator, negated, operand, weights, limits)
            }
        }
    }

    /// A comparison of two terms, neither of which is a constant.
    pub fn comparison(
        left: Term,
        comparison: Comparison,
        negated: bool,
        right: Term,
        limits: &Limits,
    ) -> Result<Predicate> {
        let term = Term::call(Function::Compare(comparison), vec![left, right], limits)?;
        Predicate::on(&term, Operator::Equal, negated, Operand::One(Value::Boolean(true)), &[], limits)
    }

    /// Whether tests of a term are unknown because it has no value.
    pub fn unknown(term: Term, negated: bool, limits: &Limits) -> Result<Predicate> {
        let term = Term::Call(Function::IsUnknown, vec![term]);
        Predicate::on(&term, Operator::Equal, negated, Operand::One(Value::Boolean(true)), &[], limits)
    }

    /// The two terms that the predicate compares, if it does.
    pub fn as_comparison(&self) -> Option<(Term, Comparison, Term)> {
        if !is_hidden(&self.attribute) || self.test != Test::Equal(Value::Boolean(true)) {
            return None;
        }
        match Term::from_name(&self.attribute) {
            Ok(Term::Call(Function::Compare(comparison), arguments)) => {
                let [left, right] = <[Term; 2]>::try_from(arguments).ok()?;
                Some((left, comparison, right))
            }
            _ => None,
        }
    }

    /// The term that the predicate asks to be unknown, if it does.
    pub fn as_unknown(&self) -> Option<Term> {
        if !is_hidden(&self.attribute) {
            return None;
        }
        match Term::from_name(&self.attribute) {
            Ok(Term::Call(Function::IsUnknown, mut arguments)) => arguments.pop(),
            _ => None,
        }
    }

    /// The predicate that is true if this one is unknown; `None` if it never is. An `xpath` predicate has none
    /// either, and is not tested.
    pub(crate) fn when_unknown(&self) -> Option<Predicate> {
        if matches!(self.test, Test::Exists | Test::IsNull) || self.as_xpath().is_some() {
            return None;
        }
        let term = match (self.as_elements(), self.term()) {
            // An existing list has a size, even if it is 0.
            (Some(elements), _) => Term::Call(Function::Size, vec![elements.term()]),
            (None, Term::Call(Function::IsUnknown, _)) => return None,
            // A reading has a value wherever its argument has one.
            (None, Term::Call(Function::Read(_), mut arguments)) => arguments.swap_remove(0),
            (None, term) => term,
        };
        let attribute = Term::Call(Function::IsUnknown, vec![term]).name();
        let test = Test::Equal(Value::Boolean(true));
        // To have no value scores nothing, as to fail does.
        Some(Predicate { attribute, test, negated: false, weights: Some([0.0].into()) })
    }

    /// The term that the predicate tests.
    pub fn term(&self) -> Term {
        // The names of terms are written by terms.
        Term::from_name(&self.attribute).unwrap_or_else(|_| Term::Attribute(self.attribute.clone()))
    }

    /// The same predicate about another term.
    pub(super) fn about(self, term: &Term) -> Predicate {
        Predicate { attribute: term.name(), ..self }
    }

    /// Calls `found` with the name of every attribute of the event that the predicate is about.
    pub fn attributes(&self, found: &mut impl FnMut(&Arc<str>)) {
        match self.as_elements() {
            Some(elements) => found(&elements.list.into()),
            None => self.term().attributes(&mut |name| found(name)),
        }
    }

    /// Like [`Predicate::new`], but accepts any name as that of the attribute.
    pub(super) fn with_unchecked_name(
        attribute: impl Into<Arc<str>>,
        operator: Operator,
        negated: bool,
        operand: Operand,
        weights: &[f64],
        limits: &Limits,
    ) -> Result<Predicate> {
        let attribute = attribute.into();
        let spelling = operator.spelling(negated);
        if negated && operator.spelling(false) == spelling {
            return Err(Error::expression(format!(
                "`{spelling}` has no negated form; write `not` before it"
            )));
        }
        if !weights.is_empty() {
            check_weights(weights, &operand, spelling, negated)?;
        }
        let mut weights: Box<[f64]> = weights.iter().map(|weight| weight + 0.0).collect();
        let test = match (operator, operand) {
            (Operator::Exists, Operand::Nothing) => Test::Exists,
            (Operator::IsNull, Operand::Nothing) => Test::IsNull,
            (Operator::Equal, Operand::One(Value::Network(network))) => {
                let not = if negated { "not " } else { "" };
                return Err(Error::expression(format!(
                    "a network has many addresses; write `{not}in (cidr '{network}')` instead of `{spelling}`"
                )));
            }
            (Operator::Equal, Operand::One(value)) => Test::Equal(value),
            (Operator::Less, Operand::One(value)) => Test::Less(ordered(value, spelling)?),
            (Operator::AtMost, Operand::One(value)) => Test::AtMost(ordered(value, spelling)?),
            (Operator::Greater, Operand::One(value)) => Test::Greater(ordered(value, spelling)?),
            (Operator::AtLeast, Operand::One(value)) => Test::AtLeast(ordered(value, spelling)?),
            (Operator::Between, Operand::Range(low, high)) => {
                let times = low.family().is_time() && high.family().is_time();
                if !times && low.as_ref().order(high.as_ref()).is_none() {
                    return Err(Error::expression(format!(
                        "`{spelling}` needs two numbers, two strings or two other values of one ordered type, \
                         not {low} and {high}"
                    )));
                }
                Test::Between(low, high)
            }
            (Operator::In, Operand::Set(values)) => {
                limits::check("values of a set", "set", values.len(), limits.set)?;
                Test::In(canonical_set(values, &mut weights)?)
            }
            (Operator::Like, Operand::One(Value::String(text))) => {
                if ends_in_escape(&text) {
                    return Err(Error::expression(format!(
                        "the pattern {} ends in a lone backslash; write two for a backslash",
                        ValueRef::String(&shorten(&text))
                    )));
                }
                check_like(&text, limits)?;
                Test::Like(text)
            }
            (Operator::StartsWith, Operand::One(Value::String(text))) => Test::StartsWith(text),
            (Operator::EndsWith, Operand::One(Value::String(text))) => Test::EndsWith(text),
            (Operator::Contains, Operand::One(Value::String(text))) => Test::Contains(text),
            (Operator::Matches, Operand::One(Value::String(text))) => {
                Test::Matches(RegularExpression::new(text, limits)?)
            }
            (_, operand) => return Err(wrong_operand(operator, spelling, &operand)),
        };
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Ok(Predicate { attribute, test, negated, weights })
    }

    /// The attribute's name.
    #[inline]
    pub fn attribute(&self) -> &Arc<str> {
        &self.attribute
    }

    /// The test of its values.
    #[inline]
    pub fn test(&self) -> &Test {
        &self.test
    }

    /// Whether the predicate is the negation of its test (`!=`, `not in`, `missing` ...).
    #[inline]
    pub fn negated(&self) -> bool {
        self.negated
    }

    /// One weight per value of a set, one for any other operand; `None` if all are 1.
    #[inline]
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// The predicate with other weights, as many as it takes, which are finite and not negative.
    pub(super) fn with_weights(&self, weights: Vec<f64>) -> Predicate {
        let weights = weights.into_iter().map(|weight| weight + 0.0).collect::<Box<[f64]>>();
        let weights = weights.iter().any(|&weight| weight != 1.0).then_some(weights);
        Predicate { weights, ..self.clone() }
    }

    /// A predicate on the same attribute, whose parts are in canonical form.
    pub(super) fn with_test(&self, test: Test, negated: bool, weights: Option<Box<[f64]>>) -> Predicate {
        Predicate { attribute: self.attribute.clone(), test, negated, weights }
    }

    /// The operator in its positive form.
    pub fn operator(&self) -> Operator {
        self.test.parts().0
    }

    /// The operator as it is spelled in text and in the JSON form.
    pub fn spelling(&self) -> &'static str {
        self.operator().spelling(self.negated)
    }
}

fn check_weights(weights: &[f64], operand: &Operand, spelling: &str, negated: bool) -> Result<()> {
    if let Some(weight) = weights.iter().find(|weight| !weight.is_finite() || **weight < 0.0) {
        return Err(Error::expression(format!("the weight {weight} is not a finite number of at least 0")));
    }
    if negated {
        return Err(Error::expression(format!(
            "a weight has no meaning with `{spelling}`: a negated predicate scores 0"
        )));
    }
    let expected = match operand {
        Operand::Nothing => 0,
        Operand::One(_) | Operand::Range(..) => 1,
        Operand::Set(values) => values.len(),
    };
    if weights.len() != expected {
        return Err(Error::expression(format!(
            "`{spelling}` takes {expected} weights here, not {}",
            weights.len()
        )));
    }
    Ok(())
}

fn ordered(value: Value, spelling: &str) -> Result<Value> {
    match value {
        Value::Boolean(value) => Err(Error::expression(format!(
            "`{spelling}` needs a number or a string, not {value}: booleans have no order"
        ))),
        Value::Network(network) => Err(Error::expression(format!(
            "a network has many addresses; write `in (cidr '{network}')` instead of `{spelling}`"
        ))),
        value => Ok(value),
    }
}

/// Sorts the values with their weights and drops repetitions.
fn canonical_set(mut values: Vec<Value>, weights: &mut Box<[f64]>) -> Result<Arc<[Value]>> {
    if weights.is_empty() {
        sort_distinct(&mut values);
        return Ok(values.into());
    }
    let mut weighted: Vec<(Value, f64)> = values.into_iter().zip(weights.iter().copied()).collect();
    weighted.sort_by(|a, b| a.0.cmp(&b.0));
    for pair in weighted.windows(2) {
        if pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1 {
            return Err(Error::expression(format!(
                "the value {} has two weights, {} and {}",
                pair[0].0, pair[0].1, pair[1].1
            )));
        }
    }
    weighted.dedup_by(|a, b| a.0 == b.0);
    let (values, canonical): (Vec<_>, Vec<_>) = weighted.into_iter().unzip();
    *weights = canonical.into();
    Ok(values.into())
}

/// Sorts values and drops repetitions. Most sets are a few strings or a few integers; these are compared by numbers
/// that sort alike.
fn sort_distinct(values: &mut Vec<Value>) {
    const FEW: usize = 16;
    let mut keys = [0; FEW];
    let (texts, integers) = values.iter().fold((0, 0), |(texts, integers), value| match value {
        Value::String(_) => (texts + 1, integers),
        Value::Integer(_) => (texts, integers + 1),
        _ => (texts, integers),
    });
    if values.len() > FEW || texts.max(integers) < values.len() {
        if !values.is_sorted_by(|a, b| a < b) {
            values.sort_unstable();
            values.dedup();
        }
        return;
    }
    let mut repeated = false;
    for next in 0..values.len() {
        keys[next] = match &values[next] {
            Value::String(text) => first_bytes(text.as_bytes()),
            Value::Integer(number) => *number as u64 ^ 1 << 63,
            _ => 0,
        };
        let mut place = next;
        while place > 0 && keys[place - 1] >= keys[place] {
            let order = keys[place - 1].cmp(&keys[place]).then_with(|| values[place - 1].cmp(&values[place]));
            repeated |= order.is_eq();
            if order.is_le() {
                break;
            }
            keys.swap(place - 1, place);
            values.swap(place - 1, place);
            place -= 1;
        }
    }
    if repeated {
        values.dedup();
    }
}

/// The first eight bytes of a text as a number; a shorter text is followed by zeros.
fn first_bytes(bytes: &[u8]) -> u64 {
    match bytes.first_chunk() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            bytes.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)) << (64 - 8 * bytes.len()).min(63)
        }
    }
}

fn wrong_operand(operator: Operator, spelling: &str, operand: &Operand) -> Error {
    let needs = match operator.takes() {
        Takes::Nothing => "no value",
        Takes::Set => "a set of values",
        Takes::Range => "two values",
        Takes::Value | Takes::Ordered => "one value",
        Takes::Text => "one string",
    };
    let given = match operand {
        Operand::Nothing => "none".to_owned(),
        Operand::One(value) => {
            format!("the {} {}", value.as_ref().type_name(), shorten(&value.to_string()))
        }
        Operand::Range(..) => "two values".to_owned(),
        Operand::Set(_) => "a set".to_owned(),
    };
    Error::expression(format!("`{spelling}` takes {needs}, not {given}"))
}

/// Whether the last backslash of a `like` pattern has nothing to escape.
fn ends_in_escape(pattern: &str) -> bool {
    let backslashes = pattern.bytes().rev().take_while(|&byte| byte == b'\\').count();
    backslashes % 2 == 1
}

/// Fails if a part of a `like` pattern is too long to be searched for: one with `_` between other characters.
pub(super) fn check_like(pattern: &str, limits: &Limits) -> Result<()> {
    let (mut longest, mut part) = (0, None);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character == '%' {
            part = None;
            continue;
        }
        // How long it is, from its first other character on, and whether a `_` came since.
        match (&mut part, character) {
            (None, '_') => {}
            (None, _) => part = Some((1, false)),
            (Some((length, mixed)), '_') => (*length, *mixed) = (*length + 1, true),
            (Some((length, mixed)), _) => {
                *length += 1;
                longest = longest.max(if *mixed { *length } else { 0 });
            }
        }
        if character == '\\' {
            characters.next();
        }
    }
    limits::check("characters of a part of a `like` pattern with `_` inside", "like", longest, limits.like)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: Vec<Value>, weights: &[f64]) -> Result<Predicate> {
        Predicate::new("a", Operator::In, false, Operand::Set(values), weights, &Limits::default())
    }

    #[test]
    fn spellings_stand_in_the_order_of_the_operators() {
        for (position, (operator, positive, negative, _)) in OPERATORS.into_iter().enumerate() {
            assert_eq!(operator as usize, position);
            assert_eq!(Operator::from_spelling(positive), Some((operator, false)));
            if let Some(negative) = negative {
                assert_eq!(Operator::from_spelling(negative), Some((operator, true)));
            }
        }
    }

    #[test]
    fn the_parts_of_a_test_make_it_again() {
        let texts = |value: &str| Operand::One(value.into());
        for (operator, .., takes) in OPERATORS {
            let operand = match takes {
                Takes::Nothing => Operand::Nothing,
                Takes::Value => Operand::One(true.into()),
                Takes::Ordered => Operand::One(7.into()),
                Takes::Text => texts("a"),
                Takes::Range => Operand::Range(1.into(), 2.into()),
                Takes::Set => Operand::Set(vec![1.into(), "b".into()]),
            };
            let make = |operand| Predicate::new("a", operator, false, operand, &[], &Limits::default());
            let predicate = make(operand.clone()).unwrap();
            let (of, borrowed) = predicate.test().parts();
            assert_eq!((of, borrowed.to_operand()), (operator, operand));
            // Nothing else fits.
            let other = if takes == Takes::Set { texts("a") } else { Operand::Set(vec![1.into()]) };
            assert!(make(other).is_err(), "{operator:?}");
        }
    }

    #[test]
    fn sets_are_canonical() {
        let predicate = set(vec!["b".into(), 2.into(), "a".into(), 2.into()], &[]).unwrap();
        assert_eq!(predicate.test, Test::In([2.into(), "a".into(), "b".into()].into()));
        assert_eq!(predicate.weights(), None);
        let weighted = set(vec!["b".into(), "a".into(), "b".into()], &[2.0, 1.0, 2.0]).unwrap();
        assert_eq!(weighted.weights(), Some(&[1.0, 2.0][..]));
        assert_eq!(set(vec!["a".into()], &[1.0]).unwrap().weights(), None);
    }

    #[test]
    fn parts_of_like_patterns_are_bounded() {
        let limits = Limits { like: 4, ..Limits::default() };
        for pattern in ["aaaaaa", "____aaaaaa___", "%_a_a%aa_a%", "%a\\_aaaaa%", "a___%b___"] {
            assert!(check_like(pattern, &limits).is_ok(), "{pattern}");
        }
        for pattern in ["aaa_a", "%_a___a%", "%\\_aa_\\_%"] {
            assert!(check_like(pattern, &limits).is_err(), "{pattern}");
        }
    }

    #[test]
    fn weights_are_checked() {
        assert!(set(vec!["a".into(), "a".into()], &[1.0, 2.0]).is_err());
        assert!(set(vec!["a".into()], &[1.0, 2.0]).is_err());
        assert!(set(vec!["a".into()], &[-1.0]).is_err());
        assert!(set(vec!["a".into()], &[f64::NAN]).is_err());
        let negated =
            Predicate::new("a", Operator::Equal, true, Operand::One(1.into()), &[2.0], &Limits::default());
        assert!(negated.is_err());
    }
}
