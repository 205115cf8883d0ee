//! Which other values does a value imply?
//!
//! A hierarchy defines which values are above the values of an attribute: California is in the US, 14 February is in
//! February. An event with a value also has all values above it (Whang et al. 2009, section 2.3), so that `geo =
//! 'US'` is true in California, for every matcher alike.

use std::collections::HashMap;
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::value::{Value, ValueRef};

/// The maximum number of values above another; an event can grow by this factor.
const MOST_ABOVE: usize = 256;

/// The values above those of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Hierarchy {
    /// Values with those directly above them.
    Tree(Tree),
    /// Dates written as `2008-02-14` or `2008-02-14T12:30`, which are below their day, month and year.
    Dates,
}

/// Values with those above them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    pairs: Vec<(Value, Value)>,
    /// All values above a value, the nearest first.
    above: HashMap<Value, Arc<[Value]>, ahash::RandomState>,
}

impl Hierarchy {
    /// A hierarchy from pairs of a value and one directly above it. A value may have several above it, but not
    /// itself.
    pub fn tree(pairs: impl IntoIterator<Item = (Value, Value)>) -> Result<Hierarchy> {
        let pairs: Vec<(Value, Value)> = pairs.into_iter().collect();
        let mut parents: HashMap<&Value, Vec<&Value>, ahash::RandomState> = HashMap::default();
        for (value, parent) in &pairs {
            let known = parents.entry(value).or_default();
            if !known.contains(&parent) {
                known.push(parent);
            }
        }
        let mut above = HashMap::default();
        for &value in parents.keys() {
            let mut all: Vec<Value> = Vec::new();
            let mut generation = parents[value].clone();
            while !generation.is_empty() {
                let mut next = Vec::new();
                for parent in generation {
                    if parent == value || all.len() > MOST_ABOVE {
                        let reason = match parent == value {
                            true => "is above itself".to_owned(),
                            false => format!("has more than {MOST_ABOVE} values above it"),
                        };
                        return Err(Error::expression(format!("in the hierarchy, {value} {reason}")));
                    }
                    if !all.contains(parent) {
                        all.push(parent.clone());
                        next.extend(parents.get(parent).into_iter().flatten().copied());
                    }
                }
                generation = next;
            }
            above.insert(value.clone(), all.into());
        }
        Ok(Hierarchy::Tree(Tree { pairs, above }))
    }

    /// The pairs it was made from.
    pub fn pairs(&self) -> &[(Value, Value)] {
        match self {
            Hierarchy::Tree(tree) => &tree.pairs,
            Hierarchy::Dates => &[],
        }
    }

    /// Calls `found` with every value above `value`.
    pub(super) fn above(&self, value: ValueRef<'_>, mut found: impl FnMut(ValueRef<'_>)) {
        match (self, value) {
            (Hierarchy::Tree(tree), value) => {
                // Few values are looked up per event, and only of attributes with a hierarchy.
                if let Some(above) = tree.above.get(&value.to_value()) {
                    above.iter().for_each(|value| found(value.as_ref()));
                }
            }
            (Hierarchy::Dates, ValueRef::String(text)) => {
                for end in date_prefixes(text) {
                    found(ValueRef::String(&text[..end]));
                }
            }
            (Hierarchy::Dates, _) => {}
        }
    }
}

/// Where the day, the month and the year of a date end, unless they are the whole text.
fn date_prefixes(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let is_date = |length: usize| {
        bytes.get(..length).is_some_and(|bytes| {
            bytes.iter().enumerate().all(|(position, byte)| match position {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            })
        })
    };
    let longest = [10, 7]
        .into_iter()
        .find(|&length| is_date(length) && matches!(bytes.get(length), None | Some(b'T' | b' ')));
    let length = text.len();
    [10, 7, 4].into_iter().filter(move |&end| longest.is_some_and(|longest| end <= longest) && end < length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn above(hierarchy: &Hierarchy, value: &str) -> Vec<String> {
        let mut all = Vec::new();
        hierarchy.above(ValueRef::String(value), |value| all.push(value.to_string()));
        all
    }

    #[test]
    fn trees() {
        let pair = |value: &str, parent: &str| (Value::from(value), Value::from(parent));
        let geo = Hierarchy::tree([
            pair("LA", "CA"),
            pair("CA", "US"),
            pair("US", "world"),
            pair("CA", "pacific"),
            pair("pacific", "world"),
        ])
        .unwrap();
        assert_eq!(above(&geo, "LA"), ["'CA'", "'US'", "'pacific'", "'world'"]);
        assert_eq!(above(&geo, "world"), [""; 0]);
        assert_eq!(above(&geo, "Paris"), [""; 0]);
        let refused = Hierarchy::tree([pair("a", "b"), pair("b", "c"), pair("c", "a")]).unwrap_err();
        assert!(refused.to_string().contains("is above itself"));
        let chain = (0..400i64).map(|number| (Value::Integer(number), Value::Integer(number + 1)));
        assert!(Hierarchy::tree(chain).unwrap_err().to_string().contains("256 values above"));
    }

    #[test]
    fn dates() {
        let dates = |text: &str| above(&Hierarchy::Dates, text);
        assert_eq!(dates("2008-02-14T12:30"), ["'2008-02-14'", "'2008-02'", "'2008'"]);
        assert_eq!(dates("2008-02-14"), ["'2008-02'", "'2008'"]);
        assert_eq!(dates("2008-02"), ["'2008'"]);
        for text in ["2008", "", "2008-2-14", "yesterday", "2008-02-14x", "200é-02-14"] {
            assert_eq!(dates(text), [""; 0], "{text}");
        }
    }
}
