//! *ads-like*: targeting expressions of advertisements, after the private data set described by Ji
//! & Jacobsen 2021, section 6.2.
//!
//! Every level has a pool, from predicates at level 1 to the deepest subexpressions at level 9.
//! Everything is drawn from these pools by a Zipf law, whole expressions included, because
//! advertisers reuse their targeting. A subexpression of level `l` joins one of level `l - 1` with
//! further predicates or with a subexpression of level 2. `and` and `or` alternate, so no level is
//! flattened away. The pool sizes make sharing fall from 68.76 at level 1 to 2.88 at level 9, the
//! two ratios in the paper's text; those in between are interpolated geometrically, since the paper
//! gives them only in a figure.
//!
//! The paper contradicts itself on one point: 973,794 distinct predicates, each shared 68.76 times,
//! would make 48 predicates per expression. Here the number of predicates per expression is a
//! parameter, and the number of distinct predicates follows from it and from the sharing.

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{MANY, Parameters, exponent, ordered, probabilities, within};
use super::random::Random;
use super::statistics::{Figure, SHARING};
use super::text::{Spelling, write_number};
use super::{Workload, kind};

/// The deepest level.
pub const LEVELS: usize = 9;

/// The numbers of values per attribute, used in rotation.
const CARDINALITIES: [u32; 6] = [200, 5000, 8, 10_000, 40, 1000];

/// Attributes with at least this many values hold numbers and are tested by ranges; others hold
/// strings.
const NUMERIC: u32 = 5000;

/// The most values in a set.
const LARGEST_SET: usize = 8;

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdsLikeParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of attributes.
    pub attributes: u32,
    /// The exponent of the Zipf law of attributes, in expressions and in events.
    pub attribute_exponent: f64,
    /// The exponent of the Zipf law of an attribute's values.
    pub value_exponent: f64,
    /// The fraction of expressions of depth 2 or more whose root is an `and`.
    pub and: f64,
    /// The probabilities that an expression has depth 1 to 9.
    pub depths: [f64; LEVELS],
    /// The number of distinct predicates to draw from, then of subexpressions per level.
    pub pools: [u32; LEVELS],
    /// The exponent of the Zipf law by which they recur.
    pub exponent: f64,
    /// The probabilities of 2, 3, 4 ... predicates in a subexpression of level 2.
    pub group: Vec<f64>,
    /// The probabilities of 1, 2, 3 ... predicates beside the nested subexpression, at levels above
    /// 2.
    pub further: Vec<f64>,
    /// The probability of a subexpression of level 2 in their place.
    pub further_group: f64,
    /// The most predicates in an expression.
    pub most: u32,
    /// The fraction of predicates that are negated.
    pub negated: f64,
    /// The fewest and the most pairs in an event; uniform in between.
    pub pairs: (u32, u32),
}

impl AdsLikeParameters {
    /// The number of expressions of the paper's data set.
    pub const EXPRESSIONS: u64 = 1_392_196;

    /// The defaults for this number of expressions, which determines the pool sizes.
    pub fn sized(expressions: u64) -> AdsLikeParameters {
        let pool = |full: u64| (full * expressions / Self::EXPRESSIONS).clamp(16, 1 << 31) as u32;
        AdsLikeParameters {
            seed: 0,
            attributes: 122,
            attribute_exponent: 0.8,
            value_exponent: 0.6,
            and: 1.0,
            depths: [0.08, 0.30, 0.27, 0.15, 0.09, 0.05, 0.03, 0.02, 0.01],
            pools: [860_000, 50_000, 40_000, 40_000, 40_000, 35_000, 30_000, 22_000, 18_000].map(pool),
            exponent: 0.8,
            group: vec![0.3, 0.25, 0.2, 0.15, 0.07, 0.03],
            further: vec![
                0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01, 0.01, 0.005, 0.004, 0.004, 0.003,
                0.004,
            ],
            further_group: 0.25,
            most: 56,
            negated: 0.1,
            pairs: (15, 25),
        }
    }
}

impl Default for AdsLikeParameters {
    fn default() -> Self {
        AdsLikeParameters::sized(Self::EXPRESSIONS)
    }
}

impl Parameters for AdsLikeParameters {
    fn check(&self) -> Result<(), String> {
        within("attributes", self.attributes, 1, MANY)?;
        exponent("attribute_exponent", self.attribute_exponent)?;
        exponent("value_exponent", self.value_exponent)?;
        within("and", self.and, 0.0, 1.0)?;
        probabilities("depths", &self.depths)?;
        self.pools.iter().try_for_each(|&pool| within("a pool", pool, 1, MANY))?;
        exponent("exponent", self.exponent)?;
        probabilities("group", &self.group)?;
        probabilities("further", &self.further)?;
        within("further_group", self.further_group, 0.0, 1.0)?;
        within("most", self.most, LEVELS as u32, 10_000)?;
        within("negated", self.negated, 0.0, 1.0)?;
        ordered("pairs", self.pairs, 0, 1 << 16)
    }
}

/// The workload *ads-like*.
#[derive(Debug)]
pub struct AdsLike {
    parameters: AdsLikeParameters,
    depths: Choice,
    /// By level. Above level 1 a pool has half as many ranks as members, because each rank stands
    /// for one `and` and one `or`.
    pools: Vec<Choice>,
    attributes: Choice,
    /// By cardinality.
    values: Vec<Choice>,
    group: Choice,
    further: Choice,
    spelling: Spelling,
}

impl AdsLike {
    /// The workload with these parameters.
    pub fn new(parameters: AdsLikeParameters) -> AdsLike {
        let pools = parameters.pools.iter().enumerate().map(|(below, &size)| {
            let ranks = if below == 0 { size } else { size.div_ceil(2) };
            Choice::zipf(ranks.max(1), parameters.exponent)
        });
        let values = CARDINALITIES.iter().map(|&count| Choice::zipf(count, parameters.value_exponent));
        AdsLike {
            depths: Choice::weighted(&parameters.depths),
            pools: pools.collect(),
            attributes: Choice::zipf(parameters.attributes, parameters.attribute_exponent),
            values: values.collect(),
            group: Choice::weighted(&parameters.group),
            further: Choice::weighted(&parameters.further),
            spelling: Spelling::new(parameters.attributes as usize, NUMERIC as usize),
            parameters,
        }
    }

    fn is_numeric(attribute: u32) -> bool {
        CARDINALITIES[attribute as usize % CARDINALITIES.len()] >= NUMERIC
    }

    /// A random value of the attribute; the most popular value differs by attribute.
    fn value(&self, attribute: u32, random: &mut Random) -> u32 {
        let which = attribute as usize % CARDINALITIES.len();
        (self.values[which].draw(random) + attribute) % CARDINALITIES[which]
    }

    /// Writes predicate `number` of the pool.
    fn write_predicate(&self, number: u32, text: &mut String) {
        let random = &mut Random::new(self.parameters.seed, kind::PREDICATE, number.into());
        let attribute = self.attributes.draw(random);
        let negated = random.chance(self.parameters.negated);
        let cardinality = CARDINALITIES[attribute as usize % CARDINALITIES.len()];
        let first = self.value(attribute, random);
        if !Self::is_numeric(attribute) {
            // Half are equalities. A set has at most a quarter of the attribute's values.
            let size = if random.chance(0.5) {
                1
            } else {
                random.between(2, (cardinality / 4).clamp(2, LARGEST_SET as u32))
            };
            let (mut values, mut count) = ([first; LARGEST_SET], 1);
            for _ in 1..size {
                let value = self.value(attribute, random);
                if !values[..count].contains(&value) {
                    values[count] = value;
                    count += 1;
                }
            }
            return self.spelling.write_set(attribute, negated, &values[..count], text);
        }
        text.push_str(self.spelling.attribute(attribute));
        // Most are ranges over at most 1/50 of the values. Orderings are not negated here: they
        // have no negated form, and a `not` would add a level.
        match random.below(20) {
            0 if !negated => {
                text.push_str(" >= ");
                write_number(first, text);
            }
            1 if !negated => {
                text.push_str(" <= ");
                write_number(first, text);
            }
            _ => {
                text.push_str(if negated { " not between " } else { " between " });
                write_number(first, text);
                text.push_str(" and ");
                write_number(first + random.below(cardinality / 50), text);
            }
        }
    }

    /// Draws a member of a pool above level 1 whose operator is `and`, or `or`. The numbering
    /// alternates the operators, and starts with the other one at each level.
    fn draw_subexpression(&self, level: usize, and: bool, random: &mut Random) -> u32 {
        let rank = self.pools[level - 1].draw(random);
        let even = level.is_multiple_of(2);
        2 * rank + u32::from(and != even)
    }

    fn write_predicates(&self, count: u32, connective: &str, random: &mut Random, text: &mut String) {
        for position in 0..count {
            if position > 0 {
                text.push_str(connective);
            }
            self.write_predicate(self.pools[0].draw(random), text);
        }
    }

    /// Writes member `number` of the pool of a level above 1. Returns its number of predicates.
    fn write_subexpression(&self, level: usize, number: u32, text: &mut String) -> u32 {
        let kind = kind::SUBEXPRESSION + level as u64;
        let random = &mut Random::new(self.parameters.seed, kind, number.into());
        let and = number.is_multiple_of(2) == level.is_multiple_of(2);
        let connective = if and { " and " } else { " or " };
        if level == 2 {
            let count = self.group.draw(random) + 2;
            self.write_predicates(count, connective, random, text);
            return count;
        }
        text.push('(');
        let below = self.draw_subexpression(level - 1, !and, random);
        let count = self.write_subexpression(level - 1, below, text);
        text.push(')');
        text.push_str(connective);
        // Each level above needs room for one more predicate within the maximum.
        let room = self.parameters.most.saturating_sub((LEVELS - level) as u32 + count).max(1);
        let group = self.parameters.group.len() as u32 + 1;
        if random.chance(self.parameters.further_group) && group <= room {
            let beside = self.draw_subexpression(2, !and, random);
            text.push('(');
            let further = self.write_subexpression(2, beside, text);
            text.push(')');
            return count + further;
        }
        let further = (self.further.draw(random) + 1).min(room);
        self.write_predicates(further, connective, random, text);
        count + further
    }
}

impl Workload for AdsLike {
    fn name(&self) -> &'static str {
        "ads-like"
    }

    fn missing(&self) -> Missing {
        Missing::Unknown
    }

    fn requested(&self) -> Vec<Figure> {
        let asked = &self.parameters;
        let mut figures = vec![
            Figure::new("attributes", asked.attributes.into()),
            Figure::new("pairs per event", f64::from(asked.pairs.0 + asked.pairs.1) / 2.0),
            Figure::new("greatest depth", LEVELS as f64),
        ];
        let usual = AdsLikeParameters::default();
        let usual = AdsLikeParameters { seed: asked.seed, ..usual };
        if *asked == (AdsLikeParameters { pools: asked.pools, ..usual.clone() }) {
            figures.push(Figure::new("predicates per expression", 8.0));
        }
        if *asked == usual {
            figures.push(Figure::new(SHARING[0], 68.76));
            figures.push(Figure::new(SHARING[LEVELS - 1], 2.88));
        }
        figures
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let random = &mut Random::new(self.parameters.seed, kind::EXPRESSION, number);
        let level = self.depths.draw(random) as usize + 1;
        if level == 1 {
            self.write_predicates(1, "", random, text);
        } else {
            let and = random.chance(self.parameters.and);
            let member = self.draw_subexpression(level, and, random);
            self.write_subexpression(level, member, text);
        }
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let count = random.between(self.parameters.pairs.0, self.parameters.pairs.1);
        let mut attributes = Vec::new();
        self.attributes.draw_distinct(count as usize, random, &mut attributes);
        json.push('{');
        for &attribute in &attributes {
            let value = self.value(attribute, random);
            if Self::is_numeric(attribute) {
                self.spelling.write_number_pair(attribute, value, json);
            } else {
                self.spelling.write_pair(attribute, value, json);
            }
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
        assert_as_requested(&AdsLike::new(AdsLikeParameters::sized(30_000)), 30_000);
    }

    #[test]
    fn sharing_falls_from_level_to_level() {
        let workload = AdsLike::new(AdsLikeParameters::sized(30_000));
        let statistics = Statistics::measure(&workload, 0..30_000, 0..0);
        assert_eq!(statistics.levels.len(), LEVELS);
        assert_eq!(statistics.depth, (1, LEVELS));
        assert!(statistics.levels.is_sorted_by(|lower, higher| lower.sharing() > higher.sharing()));
    }

    #[test]
    fn the_most_predicates_are_not_exceeded() {
        let parameters = AdsLikeParameters {
            depths: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            further: vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            further_group: 0.0,
            ..AdsLikeParameters::sized(1000)
        };
        let statistics = Statistics::measure(&AdsLike::new(parameters), 0..500, 0..0);
        assert_eq!(statistics.predicates.1, 56);
        assert_eq!(statistics.depth, (9, 9));
    }
}
