//! Which terms are computed, and from what?

use std::collections::HashMap;
use std::sync::Arc;

use super::AttributeId;
use crate::expression::Function;
use crate::value::Value;

/// The terms of an index or graph, made ready to be computed.
#[derive(Debug, Clone, Default)]
pub(in crate::event) struct Program {
    terms: HashMap<AttributeId, Arc<Computation>, ahash::RandomState>,
    /// The terms that are computed from an attribute, if it is the first thing they need.
    dependents: HashMap<AttributeId, Vec<AttributeId>, ahash::RandomState>,
    /// Terms that every event has.
    always: Vec<AttributeId>,
    /// The values of the whole event, if they are used; the decoder reads them.
    values: Option<AttributeId>,
    /// The expressions about elements of lists.
    asked: HashMap<AttributeId, Asked, ahash::RandomState>,
}

/// How a term is computed.
#[derive(Debug)]
pub(in crate::event) struct Computation {
    pub function: Function,
    pub arguments: Box<[Argument]>,
}

#[derive(Debug)]
pub(in crate::event) enum Argument {
    Attribute(AttributeId),
    Constant(Value),
}

impl Computation {
    /// The attributes that it reads.
    pub fn arguments(&self) -> impl Iterator<Item = AttributeId> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Attribute(attribute) => Some(*attribute),
            Argument::Constant(_) => None,
        })
    }
}

impl Program {
    pub fn len(&self) -> usize {
        self.terms.len() + usize::from(self.values.is_some())
    }

    pub fn contains(&self, term: AttributeId) -> bool {
        self.terms.contains_key(&term) || self.values == Some(term)
    }

    /// Terms that every event has.
    pub fn always(&self) -> &[AttributeId] {
        &self.always
    }

    /// The terms that may have a value if an attribute has one.
    pub fn dependents(&self, attribute: AttributeId) -> Option<&Vec<AttributeId>> {
        self.dependents.get(&attribute)
    }

    /// How a term is computed.
    pub fn computation(&self, term: AttributeId) -> Option<&Arc<Computation>> {
        self.terms.get(&term)
    }

    /// Whether a term may depend on the moment of evaluation. What is asked of elements may.
    pub fn asks_now(&self) -> bool {
        !self.asked.is_empty() || self.terms.values().any(|computation| computation.function.asks_now())
    }

    /// The values of the whole event, if they are used.
    pub fn values(&self) -> Option<AttributeId> {
        self.values
    }

    /// The expressions about elements of lists.
    pub fn asked(&self) -> &HashMap<AttributeId, Asked, ahash::RandomState> {
        &self.asked
    }

    /// Adds an attribute whose values are the expressions that elements of a list satisfy.
    pub fn ask(&mut self, list: AttributeId, attribute: AttributeId, all: bool) {
        let asked = self.asked.entry(list).or_default();
        *(if all { &mut asked.all } else { &mut asked.any }) = Some(attribute);
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.asked.is_empty()
    }

    /// Whether a term depends on the type of an attribute, whatever its values.
    pub fn asks_shape(&self, attribute: AttributeId) -> bool {
        self.dependents.contains_key(&attribute)
    }

    /// Whether a term distinguishes a null from a missing attribute: the type of a null is `null`.
    #[cfg(feature = "arrow")]
    pub fn asks_null(&self, attribute: AttributeId) -> bool {
        let is_type = |term: &AttributeId| {
            self.terms.get(term).is_some_and(|computation| computation.function == Function::Type)
        };
        self.dependents.get(&attribute).is_some_and(|dependents| dependents.iter().any(is_type))
    }

    /// Adds a term whose arguments were added before.
    pub fn insert(&mut self, term: AttributeId, computation: Arc<Computation>) {
        if computation.function == Function::Values {
            self.values = Some(term);
            return;
        }
        let any = matches!(computation.function, Function::Coalesce);
        // A term that needs all of its arguments waits for the first.
        let needed = computation.arguments().take(if any { usize::MAX } else { 1 });
        let mut waits = false;
        for argument in needed {
            let dependents = self.dependents.entry(argument).or_default();
            if !dependents.contains(&term) {
                dependents.push(term);
            }
            waits = true;
        }
        // A constant has a value whatever the event.
        let constant =
            || computation.arguments.iter().any(|argument| matches!(argument, Argument::Constant(_)));
        if !waits || computation.function == Function::IsUnknown || any && constant() {
            self.always.push(term);
        }
        self.terms.insert(term, computation);
    }
}

/// The attributes whose values are the expressions that some element, and all elements, of a list satisfy.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::event) struct Asked {
    pub any: Option<AttributeId>,
    pub all: Option<AttributeId>,
}
