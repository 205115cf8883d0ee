//! *conjunctive* and *dense*: disjunctions of conjunctions of set predicates, as in advertising
//! contracts.
//!
//! Expressions draw attributes from one Zipf law and values from another, whose most popular value
//! differs by attribute; events use the same laws. *dense* has few attributes, all of which occur
//! in every event, and uniform values. A negated predicate holds if the attribute is missing.
//!
//! The description leaves some choices open, and they determine how many expressions match: other
//! choices gave 9 to 700 matches per event for 100,000 expressions. The choices here give about 245
//! (240 to 253 over six seeds), close to the 274 that others report:
//!
//! - The first predicate of a conjunction is never negated, so no conjunction holds for nearly
//!   every event.
//! - A conjunction may test an attribute twice.
//! - An event has an attribute at most once, drawn by the Zipf law of the expressions.
//! - The values of a set are distinct, and a set of one value is an equality.

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{Parameters, exponent, ordered, probabilities, within};
use super::random::Random;
use super::statistics::Figure;
use super::text::Spelling;
use super::{Workload, kind};

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConjunctiveParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of attributes.
    pub attributes: u16,
    /// The exponent of the Zipf law of attributes, in expressions and in events.
    pub attribute_exponent: f64,
    /// The number of values per attribute.
    pub values: u16,
    /// The exponent of the Zipf law of values; 0 is uniform.
    pub value_exponent: f64,
    /// The probabilities of 1, 2, 3 ... conjunctions.
    pub conjunctions: Vec<f64>,
    /// The fewest and the most predicates in a conjunction; uniform in between.
    pub predicates: (u16, u16),
    /// The fewest and the most values in a set; uniform in between.
    pub set: (u16, u16),
    /// The probability that a predicate is negated, unless it is the first of its conjunction.
    pub negated: f64,
    /// The number of attributes in an event.
    pub event_attributes: u16,
}

impl Default for ConjunctiveParameters {
    fn default() -> Self {
        ConjunctiveParameters {
            seed: 0,
            attributes: 1000,
            attribute_exponent: 1.0,
            values: 100,
            value_exponent: 1.0,
            conjunctions: vec![0.7, 0.2, 0.1],
            predicates: (2, 6),
            set: (1, 5),
            negated: 0.1,
            event_attributes: 20,
        }
    }
}

impl ConjunctiveParameters {
    /// The defaults of *dense*.
    pub fn dense() -> ConjunctiveParameters {
        ConjunctiveParameters { attributes: 20, value_exponent: 0.0, ..Default::default() }
    }
}

impl Parameters for ConjunctiveParameters {
    fn check(&self) -> Result<(), String> {
        within("attributes", self.attributes, 1, u16::MAX)?;
        exponent("attribute_exponent", self.attribute_exponent)?;
        within("values", self.values, 1, (1 << 15) - 1)?;
        exponent("value_exponent", self.value_exponent)?;
        probabilities("conjunctions", &self.conjunctions)?;
        ordered("predicates", self.predicates, 1, 63)?;
        ordered("set", self.set, 1, self.values)?;
        within("negated", self.negated, 0.0, 1.0)?;
        within("event_attributes", self.event_attributes, 0, u16::MAX)
    }
}

/// The workloads *conjunctive* and *dense*.
#[derive(Debug)]
pub struct Conjunctive {
    name: &'static str,
    parameters: ConjunctiveParameters,
    attributes: Choice,
    values: Choice,
    conjunctions: Choice,
    spelling: Spelling,
}

/// An attribute and its value in an event, both by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The attribute's number.
    pub attribute: u16,
    /// The value's number.
    pub value: u16,
}

/// A test whether an attribute is in, or not in, a set of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetPredicate {
    /// The attribute's number.
    pub attribute: u16,
    /// Whether it is `not in`.
    pub negated: bool,
    /// The range of its values in `Disjunction::values`.
    start: u32,
    end: u32,
}

/// A disjunction of conjunctions of set predicates; reused from one expression to the next.
#[derive(Debug, Clone, Default)]
pub struct Disjunction {
    predicates: Vec<SetPredicate>,
    values: Vec<u16>,
    /// Where each conjunction ends in `predicates`.
    ends: Vec<u32>,
    drawn: Vec<u32>,
}

impl Disjunction {
    /// The conjunctions.
    pub fn conjunctions(&self) -> impl Iterator<Item = &[SetPredicate]> + Clone {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let conjunction = &self.predicates[start..end as usize];
            start = end as usize;
            conjunction
        })
    }

    /// The values of a predicate of this disjunction.
    pub fn values(&self, predicate: &SetPredicate) -> &[u16] {
        &self.values[predicate.start as usize..predicate.end as usize]
    }
}

impl Conjunctive {
    /// *conjunctive* with these parameters.
    pub fn new(parameters: ConjunctiveParameters) -> Conjunctive {
        Conjunctive::named("conjunctive", parameters)
    }

    /// *conjunctive* with its defaults.
    pub fn sparse() -> Conjunctive {
        Conjunctive::new(ConjunctiveParameters::default())
    }

    /// *dense* with these parameters.
    pub fn new_dense(parameters: ConjunctiveParameters) -> Conjunctive {
        Conjunctive::named("dense", parameters)
    }

    /// *dense* with its defaults.
    pub fn dense() -> Conjunctive {
        Conjunctive::new_dense(ConjunctiveParameters::dense())
    }

    fn named(name: &'static str, parameters: ConjunctiveParameters) -> Conjunctive {
        Conjunctive {
            name,
            attributes: Choice::zipf(parameters.attributes.into(), parameters.attribute_exponent),
            values: Choice::zipf(parameters.values.into(), parameters.value_exponent),
            conjunctions: Choice::weighted(&parameters.conjunctions),
            spelling: Spelling::new(parameters.attributes.into(), parameters.values.into()),
            parameters,
        }
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &ConjunctiveParameters {
        &self.parameters
    }

    /// The value with this popularity rank; the most popular value differs by attribute.
    fn value(&self, attribute: u32, rank: u32) -> u16 {
        ((rank + attribute) % u32::from(self.parameters.values)) as u16
    }

    /// Replaces `disjunction` by expression `number`.
    pub fn draw_expression(&self, number: u64, disjunction: &mut Disjunction) {
        let random = &mut Random::new(self.parameters.seed, kind::EXPRESSION, number);
        let ConjunctiveParameters { predicates, set, negated, .. } = self.parameters;
        let Disjunction { predicates: all, values, ends, drawn } = disjunction;
        all.clear();
        values.clear();
        ends.clear();
        for _ in 0..=self.conjunctions.draw(random) {
            for position in 0..random.between(predicates.0.into(), predicates.1.into()) {
                let attribute = self.attributes.draw(random);
                let negated = position > 0 && random.chance(negated);
                let start = values.len() as u32;
                let size = random.between(set.0.into(), set.1.into());
                self.values.draw_distinct(size as usize, random, drawn);
                values.extend(drawn.iter().map(|&rank| self.value(attribute, rank)));
                let (attribute, end) = (attribute as u16, values.len() as u32);
                all.push(SetPredicate { attribute, negated, start, end });
            }
            ends.push(all.len() as u32);
        }
    }

    /// Replaces `pairs` by those of event `number`.
    pub fn draw_event(&self, number: u64, pairs: &mut Vec<Pair>) {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let mut drawn = Vec::new();
        self.attributes.draw_distinct(self.parameters.event_attributes.into(), random, &mut drawn);
        pairs.clear();
        pairs.extend(drawn.iter().map(|&attribute| {
            let value = self.value(attribute, self.values.draw(random));
            Pair { attribute: attribute as u16, value }
        }));
    }
}

impl Workload for Conjunctive {
    fn name(&self) -> &'static str {
        self.name
    }

    fn missing(&self) -> Missing {
        Missing::False
    }

    fn as_conjunctive(&self) -> Option<&Conjunctive> {
        Some(self)
    }

    fn requested(&self) -> Vec<Figure> {
        let asked = &self.parameters;
        let total: f64 = asked.conjunctions.iter().sum();
        let conjunctions = asked.conjunctions.iter().zip(1..).map(|(part, count)| part * f64::from(count));
        let middle = |(low, high): (u16, u16)| f64::from(low + high) / 2.0;
        vec![
            Figure::new(
                "predicates per expression",
                conjunctions.sum::<f64>() / total * middle(asked.predicates),
            ),
            Figure::new("values per set", middle(asked.set)),
            Figure::new("negated predicates", asked.negated * (1.0 - 1.0 / middle(asked.predicates))),
            Figure::new("attributes", asked.attributes.into()),
            Figure::new("pairs per event", asked.event_attributes.min(asked.attributes).into()),
        ]
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let mut disjunction = Disjunction::default();
        self.draw_expression(number, &mut disjunction);
        for (position, conjunction) in disjunction.conjunctions().enumerate() {
            if position > 0 {
                text.push_str(" or ");
            }
            for (position, predicate) in conjunction.iter().enumerate() {
                if position > 0 {
                    text.push_str(" and ");
                }
                let values = disjunction.values(predicate);
                self.spelling.write_set(predicate.attribute.into(), predicate.negated, values, text);
            }
        }
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let mut pairs = Vec::new();
        self.draw_event(number, &mut pairs);
        json.push('{');
        for pair in &pairs {
            self.spelling.write_pair(pair.attribute.into(), pair.value.into(), json);
        }
        json.push('}');
        pairs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::assert_as_requested;
    use super::*;

    #[test]
    fn statistics_are_those_requested() {
        assert_as_requested(&Conjunctive::sparse(), 20_000);
        assert_as_requested(&Conjunctive::dense(), 20_000);
    }

    #[test]
    fn structure_and_text_agree() {
        let workload = Conjunctive::sparse();
        let mut disjunction = Disjunction::default();
        for number in 0..200 {
            workload.draw_expression(number, &mut disjunction);
            let expression = workload.expression(number);
            let predicates = disjunction.conjunctions().flatten();
            assert_eq!(expression.predicates().count(), predicates.clone().count());
            for (written, drawn) in expression.predicates().zip(predicates) {
                assert_eq!(&**written.attribute(), format!("a{}", drawn.attribute));
                assert_eq!(written.negated(), drawn.negated);
                let mut values: Vec<tamis::value::Value> = disjunction
                    .values(drawn)
                    .iter()
                    .map(|value| format!("v{value}").as_str().into())
                    .collect();
                values.sort();
                match written.test() {
                    tamis::expression::Test::Equal(value) => assert_eq!(values, std::slice::from_ref(value)),
                    tamis::expression::Test::In(set) => assert_eq!(values, **set),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    #[test]
    fn the_popular_value_differs_by_attribute() {
        let workload = Conjunctive::sparse();
        let (mut counts, mut pairs) = (vec![[0u32; 100]; 2], Vec::new());
        for number in 0..2000 {
            workload.draw_event(number, &mut pairs);
            for pair in pairs.iter().filter(|pair| pair.attribute < 2) {
                counts[usize::from(pair.attribute)][usize::from(pair.value)] += 1;
            }
        }
        let popular = |values: &[u32; 100]| values.iter().zip(0..).max().map(|(_, value)| value);
        assert_eq!((popular(&counts[0]), popular(&counts[1])), (Some(0), Some(1)));
    }
}
