//! *whang* and *whang-cnf*: advertisers' contracts in disjunctive and conjunctive normal form, after the
//! data of Whang et al. 2009, section 7, and its Table 1.
//!
//! A *group* is a conjunction of a DNF expression or a disjunction of a CNF expression. Attributes,
//! and the sets of values tested on them, are drawn by frequency; a group may copy part of the
//! previous group. The month controls the selectivity: every conjunction tests the month of its
//! expression, and a CNF expression has one more disjunction that tests the month alone. This
//! follows from the paper's averages of 3.65 predicates per conjunction and 2.65 per disjunction.
//!
//! Where the paper leaves something open or contradicts itself:
//!
//! - It gives exponents 3, 2.5 and 2 for averages of 1.6, 2.3 and 3.5 groups. Zipf laws over 1 to
//!   20 have these averages at exponents smaller by 0.5. The exponent here is that of the law.
//! - The frequencies of its contracts are private. Here they follow Zipf laws, chosen so that an
//!   expression matches with the probability of its Figures 15 to 17, 11.91 %, if all expressions
//!   test the same month. A CNF expression then matches far more often than the 5.16 % of its Figure
//!   18, since a tenth of the predicates are negated and hold if the attribute is missing; with nine months it
//!   matches that often. The number of equal conjunctions is then about what the paper's 35 MB for a
//!   million expressions imply.
//! - The bound of a key is the inverse of its frequency in 1000 events, scaled so that a key that
//!   occurs in 100 of them has bound 0.1, as in the paper's example.

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{MANY, Parameters, exponent, probabilities, within};
use super::random::Random;
use super::statistics::{Figure, MATCH_PROBABILITY};
use super::text::{Spelling, write_number, write_thousandths};
use super::{Workload, kind};

/// The numbers of values per attribute, used in rotation.
const CARDINALITIES: [u32; 6] = [6, 20, 3, 50, 12, 100];

/// The most values in a set.
const LARGEST_SET: u32 = 4;

/// The number of events in which keys are counted, for the bounds of weights.
const COUNTED: u64 = 1000;

/// Disjunctive or conjunctive normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Disjunctions of conjunctions.
    Disjunctive,
    /// Conjunctions of disjunctions.
    Conjunctive,
}

/// The parameters of the workload; the defaults are those of Table 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WhangParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The normal form.
    pub form: Form,
    /// The exponent of the Zipf law of the number of groups.
    pub exponent: f64,
    /// The most groups in an expression.
    pub groups: u32,
    /// The probabilities of 1, 2, 3 ... predicates in a group, not counting the month.
    pub predicates: Vec<f64>,
    /// The number of attributes, including the month.
    pub attributes: u32,
    /// The exponent of the Zipf law of attributes in expressions.
    pub attribute_exponent: f64,
    /// The number of distinct sets per attribute.
    pub sets: u32,
    /// The exponent of the Zipf law of these sets.
    pub set_exponent: f64,
    /// The exponent of the Zipf law of values, in sets and in events.
    pub value_exponent: f64,
    /// The fraction of predicates that are negated, not counting months.
    pub negated: f64,
    /// The fraction of predicates copied from the previous group, if any are.
    pub copied: f64,
    /// The probability that a group copies predicates.
    pub copying: f64,
    /// The number of distinct months in expressions and events, 1 to 12. With fewer months, more
    /// expressions match.
    pub months: u32,
    /// The number of pairs in an event, including the month.
    pub pairs: u32,
    /// The exponent of the Zipf law of attributes in events.
    pub event_exponent: f64,
    /// Whether the values of sets carry weights.
    pub weighted: bool,
}

impl Default for WhangParameters {
    fn default() -> Self {
        WhangParameters {
            seed: 0,
            form: Form::Disjunctive,
            exponent: 2.0,
            groups: 20,
            predicates: vec![0.08, 0.4, 0.36, 0.12, 0.03, 0.01],
            attributes: 1461,
            attribute_exponent: 1.5,
            sets: 8,
            set_exponent: 2.0,
            value_exponent: 0.32,
            negated: 0.1,
            copied: 0.5,
            copying: 0.5,
            months: 1,
            pairs: 91,
            event_exponent: 1.0,
            weighted: false,
        }
    }
}

impl WhangParameters {
    /// The defaults of *whang-cnf*.
    pub fn conjunctive() -> WhangParameters {
        WhangParameters { form: Form::Conjunctive, months: 9, ..Default::default() }
    }

    /// The defaults of the form, and the match probability they give.
    fn usual(form: Form) -> (WhangParameters, f64) {
        match form {
            Form::Disjunctive => (WhangParameters::default(), 0.1191),
            Form::Conjunctive => (WhangParameters::conjunctive(), 0.0516),
        }
    }
}

impl Parameters for WhangParameters {
    fn check(&self) -> Result<(), String> {
        exponent("exponent", self.exponent)?;
        within("groups", self.groups, 1, 10_000)?;
        probabilities("predicates", &self.predicates)?;
        // The attributes of a group are distinct.
        within("attributes", self.attributes, self.predicates.len() as u32 + 1, MANY)?;
        exponent("attribute_exponent", self.attribute_exponent)?;
        within("sets", self.sets, 1, MANY)?;
        exponent("set_exponent", self.set_exponent)?;
        exponent("value_exponent", self.value_exponent)?;
        within("negated", self.negated, 0.0, 1.0)?;
        within("copied", self.copied, 0.0, 1.0)?;
        within("copying", self.copying, 0.0, 1.0)?;
        within("months", self.months, 1, 12)?;
        within("pairs", self.pairs, 1, 1 << 16)?;
        exponent("event_exponent", self.event_exponent)
    }
}

/// The workloads *whang* and *whang-cnf*.
#[derive(Debug)]
pub struct Whang {
    parameters: WhangParameters,
    groups: Choice,
    predicates: Choice,
    /// All attributes but the month, which comes after them.
    attributes: Choice,
    event_attributes: Choice,
    sets: Choice,
    /// By cardinality.
    values: Vec<Choice>,
    spelling: Spelling,
    /// Upper bounds of the weights, in thousandths: per attribute and value, and for the months.
    bounds: Vec<Vec<u32>>,
}

/// A predicate of a group.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    attribute: u32,
    set: u32,
    negated: bool,
}

impl Whang {
    /// The workload with these parameters.
    pub fn new(parameters: WhangParameters) -> Whang {
        let others = parameters.attributes.saturating_sub(1).max(1);
        let values = CARDINALITIES.iter().map(|&count| Choice::zipf(count, parameters.value_exponent));
        let mut workload = Whang {
            groups: Choice::zipf(parameters.groups, parameters.exponent),
            predicates: Choice::weighted(&parameters.predicates),
            attributes: Choice::zipf(others, parameters.attribute_exponent),
            event_attributes: Choice::zipf(others, parameters.event_exponent),
            sets: Choice::zipf(parameters.sets, parameters.set_exponent),
            values: values.collect(),
            spelling: Spelling::new(others as usize, CARDINALITIES.into_iter().max().unwrap_or(1) as usize),
            bounds: Vec::new(),
            parameters,
        };
        if workload.parameters.weighted {
            workload.bounds = workload.count_bounds(others);
        }
        workload
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &WhangParameters {
        &self.parameters
    }

    fn count_bounds(&self, others: u32) -> Vec<Vec<u32>> {
        let cardinality = |attribute: u32| CARDINALITIES[attribute as usize % CARDINALITIES.len()];
        let mut counts: Vec<Vec<u32>> =
            (0..others).map(|attribute| vec![0; cardinality(attribute) as usize]).collect();
        counts.push(vec![0; 12]);
        for number in 0..COUNTED {
            self.draw_event(number, |attribute, value| counts[attribute as usize][value as usize] += 1);
        }
        counts.iter_mut().flatten().for_each(|count| *count = 10_000 / (*count).max(1));
        counts
    }

    fn month(&self) -> u32 {
        self.parameters.attributes.saturating_sub(1).max(1)
    }

    /// The value with this popularity rank; the most popular value differs by attribute.
    fn value(&self, attribute: u32, rank: u32) -> u32 {
        (rank + attribute) % CARDINALITIES[attribute as usize % CARDINALITIES.len()]
    }

    /// Draws the pairs of an event. The month comes last and is counted from 0.
    fn draw_event(&self, number: u64, mut pair: impl FnMut(u32, u32)) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let mut attributes = Vec::new();
        let others = self.parameters.pairs.saturating_sub(1) as usize;
        self.event_attributes.draw_distinct(others, random, &mut attributes);
        for &attribute in &attributes {
            let values = &self.values[attribute as usize % CARDINALITIES.len()];
            pair(attribute, self.value(attribute, values.draw(random)));
        }
        pair(self.month(), random.below(self.parameters.months));
        attributes.len() + 1
    }

    /// Replaces a group by the next one of the expression.
    fn draw_group(&self, first: bool, random: &mut Random, group: &mut Vec<Drawn>) {
        let size = self.predicates.draw(random) as usize + 1;
        if first || !random.chance(self.parameters.copying) {
            group.clear();
        } else {
            // Round a fractional count up with the probability of its fraction.
            let portion = group.len() as f64 * self.parameters.copied;
            let kept = portion as usize + usize::from(random.chance(portion.fract()));
            let dropped = random.below(group.len() as u32) as usize;
            group.rotate_left(dropped);
            group.truncate(kept.min(size));
        }
        while group.len() < size {
            let attribute = self.attributes.draw(random);
            if group.iter().any(|predicate| predicate.attribute == attribute) {
                continue;
            }
            let (set, negated) = (self.sets.draw(random), random.chance(self.parameters.negated));
            group.push(Drawn { attribute, set, negated });
        }
    }

    fn write_predicate(&self, drawn: Drawn, weights: &mut Random, values: &mut Vec<u32>, text: &mut String) {
        let Drawn { attribute, set, negated } = drawn;
        let item = u64::from(attribute) << 32 | u64::from(set);
        let random = &mut Random::new(self.parameters.seed, kind::SET, item);
        let which = attribute as usize % CARDINALITIES.len();
        let size = random.between(1, LARGEST_SET.min(CARDINALITIES[which] / 2).max(1));
        self.values[which].draw_distinct(size as usize, random, values);
        values.iter_mut().for_each(|rank| *rank = self.value(attribute, *rank));
        match self.bounds.get(attribute as usize) {
            Some(bounds) if !negated => self.spelling.write_weighted(
                attribute,
                values.iter().map(|&value| (value, weight(bounds[value as usize], weights))),
                text,
            ),
            _ => self.spelling.write_set(attribute, negated, values, text),
        }
    }

    fn write_month(&self, month: u32, weights: &mut Random, text: &mut String) {
        text.push_str("month = ");
        write_number(month + 1, text);
        if let Some(bounds) = self.bounds.get(self.month() as usize) {
            text.push('^');
            write_thousandths(weight(bounds[month as usize], weights), text);
        }
    }

    /// The mean number of groups in an expression, not counting the month's.
    fn mean_groups(&self) -> f64 {
        self.groups.mean() + 1.0
    }
}

/// A weight near four fifths of its bound, both in thousandths. Normally distributed with a
/// variance of a twentieth of the bound; approximated by the sum of twelve uniform numbers.
fn weight(bound: u32, random: &mut Random) -> u32 {
    let bound = f64::from(bound) / 1000.0;
    let sum: f64 = (0..12).map(|_| (random.bits() >> 32) as f64 / 4_294_967_296.0).sum();
    let weight = 0.8 * bound + (sum - 6.0) * (0.05 * bound).sqrt();
    (weight.clamp(0.0, bound) * 1000.0) as u32
}

impl Workload for Whang {
    fn name(&self) -> &'static str {
        match self.parameters.form {
            Form::Disjunctive => "whang",
            Form::Conjunctive => "whang-cnf",
        }
    }

    /// A negated predicate holds if the attribute is missing, as the paper's algorithms assume.
    fn missing(&self) -> Missing {
        Missing::False
    }

    fn requested(&self) -> Vec<Figure> {
        let asked = &self.parameters;
        let in_group = self.predicates.mean() + 1.0;
        let drawn = self.mean_groups() * in_group;
        let months = match asked.form {
            Form::Disjunctive => self.mean_groups(),
            Form::Conjunctive => 1.0,
        };
        let mut figures = vec![
            Figure::new("predicates per expression", drawn + months),
            Figure::new("negated predicates", asked.negated * drawn / (drawn + months)),
            Figure::new("attributes", asked.attributes.into()),
            Figure::new("pairs per event", asked.pairs.min(asked.attributes).into()),
        ];
        let (usual, probability) = WhangParameters::usual(asked.form);
        let months = f64::from(usual.months) / f64::from(asked.months);
        let WhangParameters { seed, months: other, weighted, .. } = *asked;
        if *asked == (WhangParameters { seed, months: other, weighted, ..usual }) {
            figures.push(Figure::new(MATCH_PROBABILITY, probability * months));
        }
        figures
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let random = &mut Random::new(self.parameters.seed, kind::EXPRESSION, number);
        let weights = &mut Random::new(self.parameters.seed, kind::WEIGHT, number);
        let month = random.below(self.parameters.months);
        let (mut group, mut values) = (Vec::new(), Vec::new());
        let disjunctive = self.parameters.form == Form::Disjunctive;
        let (within, between) = if disjunctive { (" and ", " or ") } else { (" or ", " and ") };
        for position in 0..=self.groups.draw(random) {
            if position > 0 {
                text.push_str(between);
            }
            self.draw_group(position == 0, random, &mut group);
            if !disjunctive {
                text.push('(');
            }
            for (position, &drawn) in group.iter().enumerate() {
                if position > 0 {
                    text.push_str(within);
                }
                self.write_predicate(drawn, weights, &mut values, text);
            }
            if disjunctive {
                text.push_str(within);
                self.write_month(month, weights, text);
            } else {
                text.push(')');
            }
        }
        if !disjunctive {
            text.push_str(between);
            self.write_month(month, weights, text);
        }
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        json.push('{');
        let pairs = self.draw_event(number, |attribute, value| {
            if attribute == self.month() {
                json.push_str(if json.ends_with('{') { "\"month\":" } else { ",\"month\":" });
                write_number(value + 1, json);
            } else {
                self.spelling.write_pair(attribute, value, json);
            }
        });
        json.push('}');
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::{Statistics, assert_as_requested, assert_match_probability};
    use super::*;

    #[test]
    fn statistics_are_those_requested() {
        let workload = Whang::new(WhangParameters::default());
        assert_eq!(workload.requested().len(), 5);
        assert_as_requested(&workload, 100_000);
        assert_match_probability(&workload, 5_000, 400);
        let workload = Whang::new(WhangParameters::conjunctive());
        assert_as_requested(&workload, 100_000);
        assert_match_probability(&workload, 4_000, 1_500);
    }

    #[test]
    fn averages_are_those_of_the_paper() {
        let groups = |exponent| Whang::new(WhangParameters { exponent, ..Default::default() }).mean_groups();
        for (exponent, wanted) in [(2.5, 1.6), (2.0, 2.3), (1.5, 3.5)] {
            assert!((groups(exponent) / wanted - 1.0).abs() < 0.03, "{}", groups(exponent));
        }
        let in_group = Whang::new(WhangParameters::conjunctive()).predicates.mean() + 1.0;
        assert!((in_group / 2.65 - 1.0).abs() < 0.01, "{in_group}");
    }

    #[test]
    fn more_months_match_less() {
        let workload = Whang::new(WhangParameters { months: 12, ..Default::default() });
        assert_match_probability_between(&workload, 0.0085, 0.0115);
    }

    fn assert_match_probability_between(workload: &Whang, low: f64, high: f64) {
        let statistics = Statistics::measure_matches(workload, 0..5_000, 0..400);
        let found = statistics.match_probability().unwrap();
        assert!((low..high).contains(&found), "{found}");
    }

    #[test]
    fn conjunctions_recur() {
        let workload = Whang::new(WhangParameters { months: 12, ..Default::default() });
        let statistics = Statistics::measure(&workload, 0..100_000, 0..0);
        assert!(statistics.levels[1].sharing() > 1.5, "{statistics}");
    }

    #[test]
    fn no_attribute_stands_twice_in_a_group() {
        let workload = Whang::new(WhangParameters::default());
        let mut group = Vec::new();
        for number in 0..200 {
            let random = &mut Random::new(1, 1, number);
            for position in 0..20 {
                workload.draw_group(position == 0, random, &mut group);
                let mut attributes: Vec<u32> = group.iter().map(|drawn| drawn.attribute).collect();
                attributes.sort_unstable();
                attributes.dedup();
                assert_eq!(attributes.len(), group.len());
            }
        }
    }

    #[test]
    fn weights_change_nothing_else() {
        let weighted = Whang::new(WhangParameters { weighted: true, ..Default::default() });
        let plain = Whang::new(WhangParameters::default());
        for number in 0..200 {
            let text = weighted.expression_text(number);
            assert!(text.contains('^'), "{text}");
            let mut stripped = String::new();
            let mut inside = false;
            for character in text.chars() {
                inside = character == '^' || inside && (character.is_ascii_digit() || character == '.');
                if !inside {
                    stripped.push(character);
                }
            }
            assert_eq!(stripped, plain.expression_text(number));
            assert_eq!(weighted.event(number), plain.event(number));
        }
    }

    #[test]
    fn weights_lie_below_their_bounds() {
        let random = &mut Random::new(3, 1, 1);
        let weights: Vec<u32> = (0..10_000).map(|_| weight(100, random)).collect();
        assert!(weights.iter().all(|&weight| weight <= 100));
        assert!(weights.iter().any(|&weight| weight < 100));
    }
}
