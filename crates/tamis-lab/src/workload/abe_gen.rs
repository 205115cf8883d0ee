//! *abe-gen*: arbitrary Boolean expressions after the generator of Ji & Jacobsen 2021, section 6.1.
//!
//! An expression is a tree grown from its root: every node above the given depth is a random
//! operator, and every node at that depth a predicate. `and` and `or` have the given number of
//! children; the paper's count of 4^4 conjunctions for an expression of depth 3 with 4 children
//! confirms this for both.
//!
//! According to the paper, subexpressions recur by a Zipf law and an exponent of 0 means no
//! recurrence; it does not say how they are drawn. Here the children of a node are drawn by rank
//! from pools: one pool of predicates, and one of subexpressions per height. With the default
//! sizes, predicates are shared 18.35 times and subexpressions below the root 4.33 times, as the
//! paper reports. Pools grow with the number of expressions to keep these ratios. The paper does
//! not name the operators of its predicates, so all operators on ordered values are used. Sharing
//! is measured after flattening `and` below `and`, which removes about a third of the
//! subexpressions.

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{MANY, Parameters, exponent, probabilities, within};
use super::random::Random;
use super::statistics::Figure;
use super::text::Spelling;
use super::{Workload, kind};

/// The parameters of the workload; the defaults are those of Table 3.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AbeGenParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The probabilities of `and`, `or`, `not`, `xor` and `xnor`.
    pub operators: [f64; 5],
    /// The number of nodes from the root to a leaf, both included.
    pub depth: u8,
    /// The number of children of an `and` or `or`.
    pub children: u32,
    /// The exponent of the Zipf law by which predicates and subexpressions recur; 0 for no
    /// recurrence.
    pub exponent: f64,
    /// The number of distinct predicates to draw from.
    pub predicate_pool: u32,
    /// The number of distinct subexpressions to draw from, per height.
    pub subexpression_pool: u32,
    /// The number of attributes.
    pub dimensions: u32,
    /// The exponent of the Zipf law of attributes.
    pub dimension_exponent: f64,
    /// The number of values per attribute; drawn uniformly.
    pub cardinality: u32,
    /// The most values in an `in`; the fewest is 2.
    pub set: u32,
    /// The probabilities of `=`, `in`, `between`, `<=` and `>=`.
    pub comparisons: [f64; 5],
    /// The number of pairs in an event.
    pub event_size: u32,
}

impl Default for AbeGenParameters {
    fn default() -> Self {
        AbeGenParameters::sized(1_000_000)
    }
}

impl AbeGenParameters {
    /// The defaults for this number of expressions, which determines the pool sizes.
    pub fn sized(expressions: u64) -> AbeGenParameters {
        let pool = |per_million: u64| (per_million * expressions / 1_000_000).clamp(16, 1 << 31) as u32;
        AbeGenParameters {
            seed: 0,
            operators: [0.4, 0.4, 0.1, 0.05, 0.05],
            depth: 3,
            children: 4,
            exponent: 0.6,
            predicate_pool: pool(910_000),
            subexpression_pool: pool(590_000),
            dimensions: 1000,
            dimension_exponent: 0.6,
            cardinality: 100,
            set: 5,
            comparisons: [0.1, 0.4, 0.4, 0.05, 0.05],
            event_size: 20,
        }
    }
}

impl Parameters for AbeGenParameters {
    fn check(&self) -> Result<(), String> {
        probabilities("operators", &self.operators)?;
        within("depth", self.depth, 1, 12)?;
        within("children", self.children, 1, 1000)?;
        exponent("exponent", self.exponent)?;
        within("predicate_pool", self.predicate_pool, 1, MANY)?;
        within("subexpression_pool", self.subexpression_pool, 1, MANY)?;
        within("dimensions", self.dimensions, 1, MANY)?;
        exponent("dimension_exponent", self.dimension_exponent)?;
        within("cardinality", self.cardinality, 1, MANY)?;
        within("set", self.set, 2, 10_000)?;
        probabilities("comparisons", &self.comparisons)?;
        within("event_size", self.event_size, 0, 1 << 16)
    }
}

/// The workload *abe-gen*.
#[derive(Debug)]
pub struct AbeGen {
    parameters: AbeGenParameters,
    operators: Choice,
    predicates: Choice,
    subexpressions: Choice,
    dimensions: Choice,
    values: Choice,
    comparisons: Choice,
    spelling: Spelling,
}

impl AbeGen {
    /// The workload with these parameters.
    pub fn new(parameters: AbeGenParameters) -> AbeGen {
        AbeGen {
            operators: Choice::weighted(&parameters.operators),
            predicates: Choice::zipf(parameters.predicate_pool, parameters.exponent),
            subexpressions: Choice::zipf(parameters.subexpression_pool, parameters.exponent),
            dimensions: Choice::zipf(parameters.dimensions, parameters.dimension_exponent),
            values: Choice::zipf(parameters.cardinality, 0.0),
            comparisons: Choice::weighted(&parameters.comparisons),
            spelling: Spelling::numbers(parameters.dimensions as usize, parameters.cardinality as usize),
            parameters,
        }
    }

    /// Writes a node drawn from `random`; a node of `height` 1 is a predicate.
    fn write_node(&self, height: u8, random: &mut Random, drawn: &mut Vec<u32>, text: &mut String) {
        if height <= 1 {
            return self.write_predicate(random, drawn, text);
        }
        let (connective, children) = match self.operators.draw(random) {
            0 => (" and ", self.parameters.children),
            1 => (" or ", self.parameters.children),
            2 => {
                text.push_str("not ");
                ("", 1)
            }
            3 => (" xor ", 2),
            _ => (" xnor ", 2),
        };
        for child in 0..children {
            if child > 0 {
                text.push_str(connective);
            }
            let number = self.draw_child(height - 1, random);
            let kind =
                if height == 2 { kind::PREDICATE } else { kind::SUBEXPRESSION + u64::from(height - 1) };
            let mut random = Random::new(self.parameters.seed, kind, number);
            if height == 2 {
                self.write_predicate(&mut random, drawn, text);
            } else {
                text.push('(');
                self.write_node(height - 1, &mut random, drawn, text);
                text.push(')');
            }
        }
    }

    /// The number of a predicate or subexpression of a pool. Without recurrence, a random number,
    /// so that none repeats.
    fn draw_child(&self, height: u8, random: &mut Random) -> u64 {
        if self.parameters.exponent == 0.0 {
            random.bits()
        } else if height == 1 {
            self.predicates.draw(random).into()
        } else {
            self.subexpressions.draw(random).into()
        }
    }

    fn write_predicate(&self, random: &mut Random, drawn: &mut Vec<u32>, text: &mut String) {
        let number = |value: u32| self.spelling.value(value);
        let attribute = self.dimensions.draw(random);
        text.push_str(self.spelling.attribute(attribute));
        let comparison = self.comparisons.draw(random);
        match comparison {
            1 => {
                let size = random.between(2, self.parameters.set) as usize;
                self.values.draw_distinct(size, random, drawn);
                text.push_str(" in (");
                for (position, &value) in drawn.iter().enumerate() {
                    text.push_str(if position > 0 { ", " } else { "" });
                    text.push_str(number(value));
                }
                text.push(')');
            }
            2 => {
                let (one, other) = (self.values.draw(random), self.values.draw(random));
                text.push_str(" between ");
                text.push_str(number(one.min(other)));
                text.push_str(" and ");
                text.push_str(number(one.max(other)));
            }
            _ => {
                text.push_str([" = ", "", "", " <= ", " >= "][comparison as usize]);
                text.push_str(number(self.values.draw(random)));
            }
        }
    }

    /// The mean number of children per node.
    fn mean_children(&self) -> f64 {
        let asked = &self.parameters;
        let [and, or, not, xor, xnor] = asked.operators;
        ((and + or) * f64::from(asked.children) + not + 2.0 * (xor + xnor)) / (and + or + not + xor + xnor)
    }
}

impl Workload for AbeGen {
    fn name(&self) -> &'static str {
        "abe-gen"
    }

    /// Three-valued logic, as in the paper's Table 2.
    fn missing(&self) -> Missing {
        Missing::Unknown
    }

    fn requested(&self) -> Vec<Figure> {
        let asked = &self.parameters;
        let mut predicates = 1.0;
        (1..asked.depth).for_each(|_| predicates *= self.mean_children());
        let mut figures = vec![
            Figure::new("predicates per expression", predicates),
            Figure::new("attributes", asked.dimensions.into()),
            Figure::new("greatest depth", asked.depth.into()),
            Figure::new("pairs per event", asked.event_size.min(asked.dimensions).into()),
        ];
        let usual = AbeGenParameters {
            seed: asked.seed,
            predicate_pool: asked.predicate_pool,
            subexpression_pool: asked.subexpression_pool,
            ..Default::default()
        };
        if *asked == usual {
            figures.push(Figure::new("sharing of predicates", 18.35));
            figures.push(Figure::new("sharing of subexpressions below the root", 4.33));
        }
        figures
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let mut random = Random::new(self.parameters.seed, kind::EXPRESSION, number);
        self.write_node(self.parameters.depth, &mut random, &mut Vec::new(), text);
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let mut attributes = Vec::new();
        self.dimensions.draw_distinct(self.parameters.event_size as usize, random, &mut attributes);
        json.push('{');
        for &attribute in &attributes {
            self.spelling.write_number_pair(attribute, self.values.draw(random), json);
        }
        json.push('}');
        attributes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{Statistics, assert_as_requested};
    use super::*;

    #[test]
    fn statistics_are_those_requested() {
        let workload = AbeGen::new(AbeGenParameters::sized(100_000));
        assert_eq!(workload.requested().len(), 6);
        assert_as_requested(&workload, 100_000);
    }

    #[test]
    fn parameters_are_obeyed() {
        let parameters = AbeGenParameters {
            depth: 2,
            children: 6,
            exponent: 0.0,
            dimensions: 30,
            event_size: 5,
            operators: [0.5, 0.5, 0.0, 0.0, 0.0],
            ..Default::default()
        };
        let workload = AbeGen::new(parameters);
        assert_as_requested(&workload, 2000);
        let statistics = Statistics::measure(&workload, 0..2000, 0..0);
        assert_eq!(statistics.predicates, (6, 6));
        assert_eq!(statistics.levels[1].distinct(), 2000);
    }

    #[test]
    fn depth_one_is_a_predicate() {
        let workload = AbeGen::new(AbeGenParameters { depth: 1, ..Default::default() });
        assert_eq!(workload.expression(0).nodes().len(), 1);
    }

    #[test]
    fn without_an_exponent_no_subexpression_recurs() {
        let workload = AbeGen::new(AbeGenParameters { exponent: 0.0, ..AbeGenParameters::sized(1000) });
        let statistics = Statistics::measure(&workload, 0..2000, 0..0);
        let negations = 0.02;
        assert!(statistics.levels[1].sharing() < 1.0 + negations, "{statistics}");
    }
}
