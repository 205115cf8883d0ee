//! *fontoura*: alternating trees of `and` and `or` over conjunctions, after the generator of
//! Fontoura et al. 2010, section 5.1.
//!
//! The root is an `and`, the children of an `and` are `or`s and those of an `or` are `and`s, down
//! to conjunctions at the given depth. The paper's probabilities of 1 to 4 children add up to 1 and
//! leave none for stopping early, so all leaves of an expression are at the same depth, drawn from
//! a range. A conjunction has a random size, as many distinct attributes, and one value for each.
//!
//! The paper's contracts and visits are private. Conjunctions here are as large as those of Whang
//! et al. 2009 (2.65 predicates on average), whose contracts come from the same company. Attributes
//! and values follow Zipf laws in expressions and events. The laws are chosen so that an expression
//! of depth 2 matches with the probability of Table 3, 57.97 %, and so that the probabilities for
//! other depths rise and fall as they do there.

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{MANY, Parameters, exponent, ordered, probabilities, within};
use super::random::Random;
use super::statistics::{Figure, MATCH_PROBABILITY};
use super::text::Spelling;
use super::{Workload, kind};

/// The numbers of values per attribute, used in rotation.
const CARDINALITIES: [u32; 5] = [2, 50, 6, 12, 200];

/// A value that no event has.
const NOWHERE: u32 = 200;

/// The parameters of the workload; the defaults are those of the paper.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FontouraParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The fewest and the most operators from the root to a conjunction; uniform in between.
    pub depth: (u8, u8),
    /// The probabilities of 1, 2, 3 ... children.
    pub children: Vec<f64>,
    /// The probabilities of 1, 2, 3 ... predicates in a conjunction.
    pub sizes: Vec<f64>,
    /// The number of attributes.
    pub attributes: u32,
    /// The exponent of the Zipf law of attributes, in expressions and in events.
    pub attribute_exponent: f64,
    /// The exponent of the Zipf law of an attribute's values, in expressions and in events.
    pub value_exponent: f64,
    /// The number of pairs in an event.
    pub pairs: u32,
    /// The fraction of predicates that are negated.
    pub negated: f64,
    /// The fraction of expressions that match no event, which the paper varies in section 5.5. All
    /// conjunctions below the first child of their root test for a value that no event has.
    pub unmatched: f64,
}

impl Default for FontouraParameters {
    fn default() -> Self {
        FontouraParameters {
            seed: 0,
            depth: (2, 2),
            children: vec![0.05, 0.7, 0.2, 0.05],
            sizes: vec![0.08, 0.4, 0.36, 0.12, 0.03, 0.01],
            attributes: 100,
            attribute_exponent: 1.2,
            value_exponent: 5.2,
            pairs: 40,
            negated: 0.0,
            unmatched: 0.0,
        }
    }
}

impl Parameters for FontouraParameters {
    fn check(&self) -> Result<(), String> {
        ordered("depth", self.depth, 0, 12)?;
        probabilities("children", &self.children)?;
        probabilities("sizes", &self.sizes)?;
        within("attributes", self.attributes, 1, MANY)?;
        exponent("attribute_exponent", self.attribute_exponent)?;
        exponent("value_exponent", self.value_exponent)?;
        within("pairs", self.pairs, 0, 1 << 16)?;
        within("negated", self.negated, 0.0, 1.0)?;
        within("unmatched", self.unmatched, 0.0, 1.0)
    }
}

/// State while drawing an expression.
struct Drawing {
    random: Random,
    /// The attributes of a conjunction.
    drawn: Vec<u32>,
}

/// The workload *fontoura*.
#[derive(Debug)]
pub struct Fontoura {
    parameters: FontouraParameters,
    children: Choice,
    sizes: Choice,
    attributes: Choice,
    /// By cardinality.
    values: Vec<Choice>,
    spelling: Spelling,
}

impl Fontoura {
    /// The workload with these parameters.
    pub fn new(parameters: FontouraParameters) -> Fontoura {
        let values = CARDINALITIES.iter().map(|&count| Choice::zipf(count, parameters.value_exponent));
        Fontoura {
            children: Choice::weighted(&parameters.children),
            sizes: Choice::weighted(&parameters.sizes),
            attributes: Choice::zipf(parameters.attributes, parameters.attribute_exponent),
            values: values.collect(),
            spelling: Spelling::new(parameters.attributes as usize, NOWHERE as usize + 1),
            parameters,
        }
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &FontouraParameters {
        &self.parameters
    }

    /// A random value of the attribute; the most popular value differs by attribute.
    fn value(&self, attribute: u32, random: &mut Random) -> u32 {
        let which = attribute as usize % CARDINALITIES.len();
        (self.values[which].draw(random) + attribute) % CARDINALITIES[which]
    }

    /// Writes a node with `depth` operators above its conjunctions. `never` makes it false for
    /// every event.
    fn write_node(&self, depth: u8, and: bool, never: bool, drawing: &mut Drawing, text: &mut String) {
        if depth == 0 {
            return self.write_conjunction(never, drawing, text);
        }
        for child in 0..=self.children.draw(&mut drawing.random) {
            if child > 0 {
                text.push_str(if and { " and " } else { " or " });
            }
            text.push('(');
            // One false child makes an `and` false; an `or` needs all children to be false.
            self.write_node(depth - 1, !and, never && (!and || child == 0), drawing, text);
            text.push(')');
        }
    }

    /// Writes a conjunction; with `never`, one that is false for every event.
    fn write_conjunction(&self, never: bool, drawing: &mut Drawing, text: &mut String) {
        let Drawing { random, drawn } = drawing;
        let size = self.sizes.draw(random) as usize + 1;
        self.attributes.draw_distinct(size, random, drawn);
        for (position, &attribute) in drawn.iter().enumerate() {
            if position > 0 {
                text.push_str(" and ");
            }
            let last = position + 1 == drawn.len();
            let value = if never && last { NOWHERE } else { self.value(attribute, random) };
            let asked = self.parameters.negated;
            let negated = value != NOWHERE && asked > 0.0 && random.chance(asked);
            self.spelling.write_set(attribute, negated, &[value], text);
        }
    }
}

impl Workload for Fontoura {
    fn name(&self) -> &'static str {
        "fontoura"
    }

    fn missing(&self) -> Missing {
        Missing::False
    }

    fn requested(&self) -> Vec<Figure> {
        let asked = &self.parameters;
        let (children, size) = (self.children.mean() + 1.0, self.sizes.mean() + 1.0);
        let mut leaves = 0.0;
        for depth in asked.depth.0..=asked.depth.1 {
            leaves += (0..depth).fold(1.0, |leaves, _| leaves * children);
        }
        leaves /= f64::from(asked.depth.1.saturating_sub(asked.depth.0)) + 1.0;
        let mut figures = vec![
            Figure::new("predicates per expression", leaves * size),
            Figure::new("attributes", asked.attributes.into()),
            Figure::new("pairs per event", asked.pairs.min(asked.attributes).into()),
            Figure::new("negated predicates", asked.negated),
        ];
        let FontouraParameters { seed, unmatched, .. } = *asked;
        if *asked == (FontouraParameters { seed, unmatched, ..Default::default() }) {
            figures.push(Figure::new(MATCH_PROBABILITY, 0.5797 * (1.0 - unmatched)));
        }
        figures
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let random = Random::new(self.parameters.seed, kind::EXPRESSION, number);
        let mut drawing = Drawing { random, drawn: Vec::new() };
        let (least, most) = self.parameters.depth;
        let depth = drawing.random.between(least.into(), most.into()) as u8;
        let unmatched = self.parameters.unmatched;
        let never = unmatched > 0.0 && drawing.random.chance(unmatched);
        self.write_node(depth, true, never, &mut drawing, text);
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let mut attributes = Vec::new();
        self.attributes.draw_distinct(self.parameters.pairs as usize, random, &mut attributes);
        json.push('{');
        for &attribute in &attributes {
            self.spelling.write_pair(attribute, self.value(attribute, random), json);
        }
        json.push('}');
        attributes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{Statistics, assert_as_requested, assert_match_probability};
    use super::*;

    fn of_depth(depth: u8) -> Fontoura {
        Fontoura::new(FontouraParameters { depth: (depth, depth), ..Default::default() })
    }

    #[test]
    fn statistics_are_those_requested() {
        let workload = Fontoura::new(FontouraParameters::default());
        assert_eq!(workload.requested().len(), 5);
        assert_as_requested(&workload, 20_000);
        assert_match_probability(&workload, 2_000, 1_000);
        let mixed = FontouraParameters { depth: (1, 4), negated: 0.2, ..Default::default() };
        assert_as_requested(&Fontoura::new(mixed), 20_000);
    }

    #[test]
    fn a_part_of_the_expressions_matches_nothing() {
        let parameters = FontouraParameters { unmatched: 0.4, ..Default::default() };
        assert_match_probability(&Fontoura::new(parameters), 3_000, 1_000);
        for depth in [0, 1, 3] {
            let parameters = FontouraParameters {
                depth: (depth, depth),
                unmatched: 1.0,
                negated: 0.5,
                ..Default::default()
            };
            let statistics = Statistics::measure_matches(&Fontoura::new(parameters), 0..500, 0..100);
            assert_eq!(statistics.matches, Some(0));
        }
    }

    #[test]
    fn probabilities_go_up_and_down_with_the_depth() {
        let probability = |depth| {
            Statistics::measure_matches(&of_depth(depth), 0..1_000, 0..200).match_probability().unwrap()
        };
        let [one, two, three, four] = [1, 2, 3, 4].map(probability);
        assert!(one < two && three < two && three < four, "{one} {two} {three} {four}");
    }

    #[test]
    fn trees_alternate_down_to_their_depth() {
        // An `and` of conjunctions is flattened, so odd depths lose one level.
        let statistics = |depth| Statistics::measure(&of_depth(depth), 0..1_000, 0..0).depth.1;
        assert_eq!([1, 2, 3, 4].map(statistics), [2, 4, 4, 6]);
    }
}
