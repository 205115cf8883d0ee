//! How much does the event weigh an attribute or a pair?

use std::collections::HashMap;

use super::{check_weight, is_coarse};
use crate::error::Result;
use crate::event::{AttributeId, Attributes};
use crate::expression::shorten;
use crate::value::{Value, ValueRef};

/// The weights that come with an event; one that is not given is 1.
#[derive(Debug, Clone, Default)]
pub struct EventWeights {
    attributes: HashMap<AttributeId, Weighted, ahash::RandomState>,
    /// At least every weight.
    most: f64,
}

/// The weights of one attribute.
#[derive(Debug, Clone, Default)]
struct Weighted {
    /// Of pairs that have none of their own.
    attribute: Option<f64>,
    /// By value, in canonical order.
    pairs: Vec<(Value, f64)>,
}

impl EventWeights {
    /// Weighs an attribute, or, where a value is given, that pair alone. An attribute that no
    /// subscription mentions has no say; a weight that is negative or not finite is an error.
    pub fn set(
        &mut self,
        attributes: &Attributes,
        name: &str,
        value: Option<Value>,
        weight: f64,
    ) -> Result<()> {
        check_weight(&format!("the event's weight of `{}`", shorten(name)), weight)?;
        let Some(attribute) = attributes.mention(name).and_then(|mention| mention.attribute) else {
            return Ok(());
        };
        let weighted = self.attributes.entry(attribute).or_default();
        match value {
            None => weighted.attribute = Some(weight),
            Some(value) => match weighted.position(value.as_ref()) {
                Ok(position) => weighted.pairs[position].1 = weight,
                Err(position) => weighted.pairs.insert(position, (value, weight)),
            },
        }
        self.most = self.most.max(weight);
        Ok(())
    }

    /// The weight of an attribute without a value.
    pub fn of_attribute(&self, attribute: AttributeId) -> f64 {
        self.attributes.get(&attribute).and_then(|weighted| weighted.attribute).unwrap_or(1.0)
    }

    /// The weight of a pair: its own, or that of its attribute, or 1.
    pub fn of_pair(&self, attribute: AttributeId, value: ValueRef<'_>) -> f64 {
        let Some(weighted) = self.attributes.get(&attribute) else { return 1.0 };
        match weighted.position(value) {
            Ok(position) => weighted.pairs[position].1,
            Err(_) => weighted.attribute.unwrap_or(1.0),
        }
    }

    /// At least the weight of every pair of an attribute, and of the attribute itself.
    pub fn most_of(&self, attribute: AttributeId) -> f64 {
        let Some(weighted) = self.attributes.get(&attribute) else { return 1.0 };
        let pairs = weighted.pairs.iter().map(|(_, weight)| *weight);
        pairs.fold(weighted.attribute.unwrap_or(1.0), f64::max)
    }

    /// At least the weight of everything.
    pub fn most(&self) -> f64 {
        self.most.max(1.0)
    }

    /// Whether sums of products with the weights are exact.
    pub fn is_coarse(&self) -> bool {
        self.attributes.values().all(|weighted| {
            let mut pairs = weighted.pairs.iter().map(|(_, weight)| *weight);
            weighted.attribute.is_none_or(is_coarse) && pairs.all(is_coarse)
        })
    }

    /// Whether every weight is 1.
    pub fn is_empty(&self) -> bool {
        self.attributes.is_empty()
    }
}

impl Weighted {
    fn position(&self, value: ValueRef<'_>) -> std::result::Result<usize, usize> {
        self.pairs.binary_search_by(|(known, _)| known.as_ref().canonical_order(value))
    }
}
