//! What is a regular expression of the language, and does a text match it?
//!
//! A [`RegularExpression`] is validated and its compiled size estimated when it is made; neither compiles anything. It
//! is compiled by the first search and kept in a cache with a bound on its bytes (see `cache`), so that reading,
//! adding and merging expressions cost no more than their text. Equal regular expressions share one entry of the cache
//! for as long as one of them lives.

mod cache;
mod size;
mod trim;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::error::shorten;
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
use crate::value::ValueRef;
use cache::Cell;

/// The maximum size of a compiled regular expression, whatever the limits.
const MOST: usize = 256 << 20;

/// A regular expression; two are equal if their texts are.
#[derive(Debug, Clone)]
pub struct RegularExpression(Arc<Cell>);

impl RegularExpression {
    /// Validates a regular expression. Its time and memory are linear in the text.
    pub fn new(text: Arc<str>, limits: &Limits) -> Result<RegularExpression> {
        if let Some(cell) = cache::find(&text) {
            let regex = RegularExpression(cell);
            regex.check(limits)?;
            return Ok(regex);
        }
        match size::of_text(&text, limits.pattern.min(MOST)) {
            Ok(size) => {
                check_size(size, limits)?;
                Ok(RegularExpression(cache::intern(text, size)))
            }
            Err(reason) => Err(Error::expression(format!(
                "{} is not a regular expression: {reason}",
                ValueRef::String(&shorten(&text)),
            ))),
        }
    }

    /// The text it was made from.
    pub fn text(&self) -> &Arc<str> {
        self.0.text()
    }

    /// About how many bytes its compiled form takes.
    pub fn size(&self) -> usize {
        self.0.size()
    }

    /// Fails if its compiled form exceeds the limit.
    pub(super) fn check(&self, limits: &Limits) -> Result<()> {
        check_size(self.size(), limits)
    }

    /// Whether the regular expression is found anywhere in `text`; takes linear time.
    #[inline]
    pub fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// Identifies its cache entry, which equal live regular expressions share.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }
}

fn check_size(bytes: usize, limits: &Limits) -> Result<()> {
    limits::check("bytes of a compiled regular expression", "pattern", bytes, limits.pattern.min(MOST))
}

/// The bytes of the distinct regular expressions among these. Duplicates are only searched for if the sum exceeds
/// `most`.
pub fn total_size<'a>(regexes: impl Iterator<Item = &'a RegularExpression> + Clone, most: usize) -> usize {
    let sum = regexes.clone().map(RegularExpression::size).fold(0, usize::saturating_add);
    if sum <= most {
        return sum;
    }
    let mut distinct: Vec<(usize, usize)> = regexes.map(|regex| (regex.address(), regex.size())).collect();
    distinct.sort_unstable();
    distinct.dedup();
    distinct.iter().map(|&(_, size)| size).fold(0, usize::saturating_add)
}

impl PartialEq for RegularExpression {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address() || self.text() == other.text()
    }
}

impl Eq for RegularExpression {}

impl PartialOrd for RegularExpression {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RegularExpression {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text().cmp(other.text())
    }
}

impl Hash for RegularExpression {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text().hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(text: &str) -> Result<RegularExpression> {
        RegularExpression::new(text.into(), &Limits::default())
    }

    #[test]
    fn equal_regular_expressions_are_one() {
        let one = regex("equal_regular_expressions_are_one").unwrap();
        let other = regex("equal_regular_expressions_are_one").unwrap();
        assert_eq!(one.address(), other.address());
        assert!(one.is_match("x equal_regular_expressions_are_one x") && !other.is_match("equal"));
        assert_eq!(total_size([&one, &other].into_iter(), 0), one.size());
    }

    #[test]
    fn what_ends_a_regular_expression_costs_little() {
        let long = regex(r"-k\s\w{1,64}(?:\s?(?:-p|-s))?").unwrap();
        assert!(long.size() < 100_000, "{}", long.size());
        assert!(
            long.is_match("svchost -k netsvcs -p") && !long.is_match("svchost -k ") && !long.is_match("k x")
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        let error = regex("a(b").unwrap_err().to_string();
        assert_eq!(error, "'a(b' is not a regular expression: unclosed group");
        assert!(regex(r"(?-u)\xff").unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn sizes_are_bounded_before_anything_is_compiled() {
        for text in [r"\w{1000}", r"((a{1000}){1000}){1000}", &"x".repeat(1 << 20), &r"\w".repeat(30_000)] {
            match regex(text) {
                Err(Error::Limit { name: "pattern", found, allowed, .. }) => assert!(found > allowed),
                other => panic!("{:?}", other.map(|regex| regex.size())),
            }
            // Without limits, a regular expression still cannot ask for more memory than there is.
            let unlimited = RegularExpression::new(r"((a{1000}){1000}){1000}".into(), &Limits::none());
            assert!(matches!(unlimited, Err(Error::Limit { .. })));
        }
    }
}
