//! How does a predicate query an event's document?
//!
//! `xpath('//price[. < 300]')` is an ordinary equality on a hidden attribute whose values
//! are the XPaths that the document satisfies. So the code that shares, compiles, stores and
//! matches predicates need not know of documents. Neither text, nor the JSON form, nor an event
//! can name that attribute.

use std::fmt::Write;

use super::names::{SATISFIED, is_satisfied};
use super::predicate::{Operand, Operator, Predicate, Test};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::value::Value;
#[cfg(feature = "xml")]
use crate::xml::{self, XPath, is_ncname};

/// Stands between an expression, its prefixes and their namespaces; no document can hold it.
const SEPARATOR: char = '\0';

/// An XPath expression with its namespaces, as one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct XPathKey<'a>(&'a str);

impl<'a> XPathKey<'a> {
    /// Such a text, as [`whole`](XPathKey::whole) gives it.
    #[cfg(feature = "xml")]
    pub fn new(text: &'a str) -> XPathKey<'a> {
        XPathKey(text)
    }

    /// The expression.
    pub fn text(self) -> &'a str {
        self.0.split(SEPARATOR).next().unwrap_or_default()
    }

    /// Its prefixes, sorted, with their namespaces.
    pub fn namespaces(self) -> Vec<(&'a str, &'a str)> {
        let parts: Vec<&str> = self.0.split(SEPARATOR).skip(1).collect();
        parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
    }

    /// The whole as one text.
    #[cfg(feature = "xml")]
    pub fn whole(self) -> &'a str {
        self.0
    }

    /// The expression, read.
    #[cfg(feature = "xml")]
    pub fn read(self, limits: &xml::Limits) -> Result<XPath> {
        XPath::parse(self.text(), &self.namespaces(), limits)
    }

    /// Fails if it cannot be parsed.
    #[cfg(feature = "xml")]
    fn check(self, limits: &Limits) -> Result<()> {
        self.read(&limits.xml).map(|_| ())
    }

    /// Fails: documents are not supported.
    #[cfg(not(feature = "xml"))]
    fn check(self, _: &Limits) -> Result<()> {
        Err(Error::expression(
            "`xpath` needs the feature `xml` of the crate `tamis`, which this build is without",
        ))
    }
}

/// Whether a prefix is a name; without XML, it is refused later.
#[cfg(not(feature = "xml"))]
fn is_ncname(_: &str) -> bool {
    true
}

impl Predicate {
    /// Whether an event's document satisfies an XPath expression; `weights` is empty, or holds the
    /// weight of a match.
    pub fn xpath(
        text: &str,
        namespaces: &[(&str, &str)],
        weights: &[f64],
        limits: &Limits,
    ) -> Result<Predicate> {
        let mut namespaces = namespaces.to_vec();
        namespaces.sort_unstable();
        if let Some(pair) = namespaces.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::expression(format!("the prefix `{}` is declared twice", pair[0].0)));
        }
        let mut key = text.to_owned();
        for (prefix, namespace) in &namespaces {
            if !is_ncname(prefix) || namespace.is_empty() {
                let message = format!("`{prefix}` = {namespace:?} declares no prefix of a namespace");
                return Err(Error::expression(message));
            }
            let _ = write!(key, "{SEPARATOR}{prefix}{SEPARATOR}{namespace}");
        }
        if key.matches(SEPARATOR).count() != 2 * namespaces.len() {
            return Err(Error::expression("an XPath expression cannot contain the character U+0000"));
        }
        XPathKey(&key).check(limits)?;
        let operand = Operand::One(Value::String(key.into()));
        Predicate::with_unchecked_name(SATISFIED, Operator::Equal, false, operand, weights, limits)
    }

    /// The XPath expression of the predicate, if it has one.
    pub fn as_xpath(&self) -> Option<XPathKey<'_>> {
        match self.test() {
            Test::Equal(Value::String(key)) if is_satisfied(self.attribute()) => Some(XPathKey(key)),
            _ => None,
        }
    }
}

#[cfg(all(test, not(feature = "xml")))]
mod tests {
    use crate::{Limits, parse};

    #[test]
    fn without_xml_documents_cannot_be_asked_about() {
        let error = parse("a = 1 or xpath('//b')", &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("feature `xml`"), "{error}");
    }
}
