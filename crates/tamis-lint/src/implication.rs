//! Does every value that passes one test pass another?
//!
//! `false` means that this is not known. Values of all types are considered, but not lists: a test of a list is a test of
//! its values.

use std::cmp::Ordering;

use crate::expression::Test;
use crate::matcher::extend::Check;
use crate::value::{Family, Value};

/// A test, prepared to be tried on values.
#[derive(Debug)]
pub(super) struct PreparedTest {
    pub test: Test,
    check: Check,
}

impl PreparedTest {
    pub fn new(test: Test) -> PreparedTest {
        PreparedTest { check: Check::new(&test), test }
    }

    /// Whether no value passes.
    pub fn is_empty(&self) -> bool {
        match &self.test {
            Test::In(values) => values.is_empty(),
            Test::Between(low, high) => low.as_ref().order(high.as_ref()) == Some(Ordering::Greater),
            _ => false,
        }
    }

    /// Whether every value that passes passes one of `others`.
    pub fn is_covered<'a>(&self, others: impl Iterator<Item = &'a PreparedTest> + Clone) -> bool {
        let passes = |value: &Value| others.clone().any(|other| other.check.holds(value.as_ref()));
        match &self.test {
            _ if self.is_empty() => true,
            Test::Equal(value) => passes(value),
            Test::In(values) => values.iter().all(passes),
            _ => others.clone().any(|other| implies(&self.test, &other.test)),
        }
    }
}

/// Whether every value that passes the first test, which is not a set, passes the second.
fn implies(test: &Test, other: &Test) -> bool {
    if test == other {
        return true;
    }
    if let (Some(inner), Some(outer)) = (Range::of(test), Range::of(other)) {
        return inner.is_within(&outer);
    }
    // What every string with this property also has.
    match (test, other) {
        (test, Test::StartsWith(any) | Test::EndsWith(any) | Test::Contains(any)) if any.is_empty() => {
            is_about_strings(test)
        }
        (Test::StartsWith(text), Test::StartsWith(shorter)) => text.starts_with(&**shorter),
        (Test::EndsWith(text), Test::EndsWith(shorter)) => text.ends_with(&**shorter),
        (Test::StartsWith(text) | Test::EndsWith(text) | Test::Contains(text), Test::Contains(part)) => {
            text.contains(&**part)
        }
        // A text that begins so is not before it.
        (Test::StartsWith(text), Test::AtLeast(Value::String(low))) => text.as_bytes() >= low.as_bytes(),
        (Test::StartsWith(text), Test::Greater(Value::String(low))) => text.as_bytes() > low.as_bytes(),
        _ => false,
    }
}

fn is_about_strings(test: &Test) -> bool {
    match test {
        Test::Like(_) | Test::StartsWith(_) | Test::EndsWith(_) | Test::Contains(_) | Test::Matches(_) => {
            true
        }
        other => Range::of(other).is_some_and(|range| range.family() == Some(Family::String)),
    }
}

/// The values of one family between two ends; an open end has no value.
struct Range<'a> {
    low: Option<(&'a Value, bool)>,
    high: Option<(&'a Value, bool)>,
}

impl<'a> Range<'a> {
    fn of(test: &'a Test) -> Option<Range<'a>> {
        // Ends have a value, and whether they belong to the range.
        Some(match test {
            Test::Less(value) => Range { low: None, high: Some((value, false)) },
            Test::AtMost(value) => Range { low: None, high: Some((value, true)) },
            Test::Greater(value) => Range { low: Some((value, false)), high: None },
            Test::AtLeast(value) => Range { low: Some((value, true)), high: None },
            Test::Between(low, high) => Range { low: Some((low, true)), high: Some((high, true)) },
            _ => return None,
        })
    }

    fn family(&self) -> Option<Family> {
        self.low.or(self.high).map(|(value, _)| value.family())
    }

    fn is_within(&self, outer: &Range<'_>) -> bool {
        let ends = |inner: Option<(&Value, bool)>, outer: Option<(&Value, bool)>, inside: Ordering| match (
            inner, outer,
        ) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((value, included)), Some((end, allowed))) => match value.as_ref().order(end.as_ref()) {
                Some(Ordering::Equal) => allowed || !included,
                Some(order) => order == inside,
                None => false,
            },
        };
        self.family() == outer.family()
            && ends(self.low, outer.low, Ordering::Greater)
            && ends(self.high, outer.high, Ordering::Less)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::{Limits, parse};

    fn prepared(text: &str) -> PreparedTest {
        let expression = parse(&format!("a {text}"), &Limits::default()).unwrap();
        PreparedTest::new(expression.predicates().next().unwrap().test().clone())
    }

    #[test]
    fn what_follows_from_what() {
        for (test, others, expected) in [
            ("= 5", &["> 3"][..], true),
            ("= 5", &["> 5"], false),
            ("in (1, 2)", &["= 1", "between 2 and 3"], true),
            ("in (1, 2)", &["= 1"], false),
            ("in ()", &[], true),
            ("between 5 and 3", &[], true),
            ("> 5", &[">= 5"], true),
            (">= 5", &["> 5"], false),
            ("> 5", &["> 4.5"], true),
            ("between 2 and 3", &["< 4"], true),
            ("between 2 and 3", &["between 2 and 3.5"], true),
            ("between 1 and 3", &["between 2 and 4"], false),
            ("> 5", &["> 'a'"], false),
            ("> 'b'", &["> 'a'"], true),
            ("starts with 'abc'", &["starts with 'ab'"], true),
            ("starts with 'abc'", &["contains 'b'"], true),
            ("ends with 'abc'", &["contains ''"], true),
            ("like 'a_c%'", &["starts with ''"], true),
            ("starts with 'b'", &["> 'a'"], true),
            ("starts with 'b'", &["> 'b'"], false),
            ("> 'b'", &["contains ''"], true),
            ("> 3", &["contains ''"], false),
            ("= 'abc'", &["matches '^a.c$'"], true),
            ("matches 'a'", &["matches 'a'"], true),
            ("> 3", &["<= 4", "> 4"], false),
        ] {
            let others: Vec<PreparedTest> = others.iter().map(|other| prepared(other)).collect();
            assert_eq!(prepared(test).is_covered(others.iter()), expected, "{test}");
        }
    }
}
