//! Which attributes and regular expressions do the expressions of a segment mention?

use std::collections::HashSet;
use std::sync::Arc;

use crate::event::Attributes;
use crate::expression::{Expression, RegularExpression};

/// Regular expressions, each once, and the sum of their sizes.
#[derive(Debug)]
pub(super) struct DistinctRegularExpressions {
    pub list: Box<[RegularExpression]>,
    pub bytes: usize,
}

impl DistinctRegularExpressions {
    pub fn new(list: Vec<RegularExpression>) -> DistinctRegularExpressions {
        let bytes = list.iter().map(RegularExpression::size).fold(0, usize::saturating_add);
        DistinctRegularExpressions { list: list.into(), bytes }
    }
}

/// The distinct attribute names and regular expressions of many expressions. Events are decoded and explained with
/// all of them, even if the matcher needs fewer.
#[derive(Default)]
pub(super) struct Mentioned {
    names: HashSet<Arc<str>, ahash::RandomState>,
    addresses: HashSet<usize, ahash::RandomState>,
    pub regular_expressions: Vec<RegularExpression>,
}

impl Mentioned {
    pub fn add(&mut self, expression: &Expression) {
        for predicate in expression.predicates() {
            if !self.names.contains(predicate.attribute()) {
                self.names.insert(predicate.attribute().clone());
            }
        }
        self.add_regular_expressions(expression);
    }

    /// Adds the names of attributes.
    pub fn add_names<'a>(&mut self, names: impl Iterator<Item = &'a Arc<str>>) {
        self.names.extend(names.cloned());
    }

    /// Adds the regular expressions of an expression alone.
    pub fn add_regular_expressions(&mut self, expression: &Expression) {
        for regex in expression.regular_expressions() {
            if self.addresses.insert(regex.address()) {
                self.regular_expressions.push(regex.clone());
            }
        }
    }

    /// Adds what a resolved expression tests for being true, false or unknown. A matcher may need less of it than an
    /// explanation does.
    pub fn add_tested(&mut self, resolved: &Expression) {
        let unknowns = resolved.names_of_unknowns();
        if !unknowns.is_empty() {
            self.names.extend(resolved.predicates().map(|predicate| predicate.attribute().clone()));
            self.names.extend(unknowns);
        }
    }

    /// Numbers the names, which keeps them for as long as the attributes live.
    pub fn intern(&self, attributes: &Attributes) {
        for name in &self.names {
            attributes.intern(name);
        }
    }
}
