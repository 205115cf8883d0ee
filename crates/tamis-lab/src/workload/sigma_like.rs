//! *sigma-like*: log detections with the shape of public Sigma rule collections.
//!
//! A rule tests the category of an event and one or two selections, and often excludes known good
//! events by filters. A selection tests one to three fields. For each field the text must end with,
//! start with or contain one of several values, or contain all of them. Filters are negated groups
//! of the same kind. A few rules use keywords (found anywhere in the event), `like` patterns or
//! regular expressions. A rule has about ten predicates, most of them substrings of a handful of
//! fields, and an event matches few rules. Case is ignored.
//!
//! Programs follow a Zipf law in rules and events. Most words in rules are rare: each belongs to
//! one rule, and an event contains two such words. The others are common words of events. Events
//! also have fields that no rule tests.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use tamis::Missing;

use super::choice::Choice;
use super::parameters::{Parameters, exponent, within};
use super::random::Random;
use super::statistics::Figure;
use super::{Workload, kind};

/// Kinds of events: number, probability, and the field that its rules test most besides `Image`.
const KINDS: [(u32, f64, &str); 4] = [
    (1, 0.5, "CommandLine"),
    (11, 0.2, "TargetFilename"),
    (13, 0.15, "TargetObject"),
    (7, 0.15, "ImageLoaded"),
];
/// The term that keywords are tested on.
const ANYWHERE: &str = "values()";
/// The number of rare words per rule.
const OWN: u32 = 8;

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SigmaLikeParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// The number of rules whose words occur in events.
    pub rules: u32,
    /// The number of programs.
    pub programs: u32,
    /// The exponent of the Zipf law of programs.
    pub program_exponent: f64,
    /// The number of common words.
    pub words: u32,
    /// The fraction of values that are common words.
    pub common: f64,
    /// The fraction of rules with filters.
    pub filtered: f64,
    /// The number of words in a command line; other fields have half as many.
    pub length: u32,
}

impl SigmaLikeParameters {
    /// The parameters for this number of rules.
    pub fn sized(rules: u64) -> SigmaLikeParameters {
        SigmaLikeParameters {
            seed: 0,
            rules: rules.clamp(1, u64::from(u32::MAX / OWN)) as u32,
            programs: 400,
            program_exponent: 1.0,
            words: 5_000,
            common: 0.02,
            filtered: 0.45,
            length: 16,
        }
    }
}

impl Parameters for SigmaLikeParameters {
    fn check(&self) -> Result<(), String> {
        within("rules", self.rules, 1, u32::MAX / OWN)?;
        within("programs", self.programs, 1, 1 << 20)?;
        exponent("program_exponent", self.program_exponent)?;
        within("words", self.words, 1, 1 << 20)?;
        within("common", self.common, 0.0, 1.0)?;
        within("filtered", self.filtered, 0.0, 1.0)?;
        within("length", self.length, 1, 1 << 10)
    }
}

/// The workload *sigma-like*.
#[derive(Debug)]
pub struct SigmaLike {
    parameters: SigmaLikeParameters,
    kinds: Choice,
    programs: Choice,
    words: Choice,
    /// The number of values in a group.
    values: Choice,
}

impl SigmaLike {
    /// The workload with these parameters.
    pub fn new(parameters: SigmaLikeParameters) -> SigmaLike {
        SigmaLike {
            kinds: Choice::weighted(&KINDS.map(|(_, weight, _)| weight)),
            programs: Choice::zipf(parameters.programs, parameters.program_exponent),
            words: Choice::zipf(parameters.words, 1.0),
            values: Choice::zipf(24, 1.5),
            parameters,
        }
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &SigmaLikeParameters {
        &self.parameters
    }

    /// A pseudorandom word, determined by its kind and number.
    fn word(&self, of: u64, number: u64) -> String {
        let mut random = Random::new(self.parameters.seed, of, number);
        let length = random.between(4, 11);
        (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
    }

    fn program(&self, random: &mut Random) -> String {
        self.word(kind::SET, self.programs.draw(random).into())
    }

    fn common_word(&self, random: &mut Random) -> String {
        self.word(kind::VALUE, self.words.draw(random).into())
    }

    /// A rare word of this rule.
    fn own_word(&self, rule: u64, number: u32) -> String {
        self.word(kind::PREDICATE, rule * u64::from(OWN) + u64::from(number))
    }

    /// A word for a rule to test.
    fn wanted(&self, rule: u64, random: &mut Random) -> String {
        if random.chance(self.parameters.common) {
            self.common_word(random)
        } else {
            self.own_word(rule, random.below(OWN))
        }
    }

    /// Writes a test of one field: a group of alternatives, or of values that must all occur.
    fn write_group(&self, rule: u64, field: &str, random: &mut Random, text: &mut String) {
        let count = self.values.draw(random) + 1;
        let image = field.ends_with("Image");
        let all = !image && count > 1 && random.chance(0.25);
        let count = if all { count.min(3) } else { count };
        text.push('(');
        for value in 0..count {
            if value > 0 {
                text.push_str(if all { " and " } else { " or " });
            }
            let written = match random.below(if image { 10 } else { 100 }) {
                _ if image && value > 0 => {
                    write!(text, "lower({field}) ends with '\\{}.exe'", self.program(random))
                }
                0 if image => write!(text, "lower({field}) starts with 'c:\\{}\\'", self.common_word(random)),
                _ if image => write!(text, "lower({field}) ends with '\\{}.exe'", self.program(random)),
                0..10 => write!(text, "lower({field}) ends with '{}'", self.wanted(rule, random)),
                10..14 => {
                    write!(
                        text,
                        "lower({field}) like '%{}%{}%'",
                        self.wanted(rule, random),
                        self.common_word(random)
                    )
                }
                14..16 => write!(text, "lower({field}) matches '{}[ -]*[0-9]'", self.wanted(rule, random)),
                16..60 => write!(text, "lower({field}) contains ' {}'", self.wanted(rule, random)),
                _ => write!(text, "lower({field}) contains '{}'", self.wanted(rule, random)),
            };
            written.unwrap_or_default();
        }
        text.push(')');
    }

    fn write_selection(&self, rule: u64, field: &str, random: &mut Random, text: &mut String) {
        text.push('(');
        self.write_group(rule, field, random, text);
        if random.chance(0.6) {
            text.push_str(" and ");
            self.write_group(rule, "Image", random, text);
        }
        if field == "CommandLine" && random.chance(0.3) {
            text.push_str(" and ");
            self.write_group(rule, "ParentImage", random, text);
        }
        text.push(')');
    }

    /// Writes `count` words with `rare` among them; some start with a capital letter.
    fn write_words(&self, count: u32, rare: &str, random: &mut Random, json: &mut String) {
        let place = random.below(count);
        for position in 0..count {
            if position > 0 {
                json.push(' ');
            }
            write_capital(&self.common_word(random), random.chance(0.3), json);
            if position == place {
                json.push(' ');
                json.push_str(rare);
            }
            if random.chance(0.1) {
                json.push_str(" 42");
            }
        }
    }

    fn write_path(&self, random: &mut Random, json: &mut String) {
        json.push_str("C:");
        for _ in 0..2 {
            json.push_str("\\\\");
            write_capital(&self.common_word(random), true, json);
        }
        write!(json, "\\\\{}.exe", self.program(random)).unwrap_or_default();
    }
}

/// Writes a word, with a capital letter if `capital`.
fn write_capital(word: &str, capital: bool, json: &mut String) {
    let (first, rest) = word.split_at(1);
    json.push_str(&if capital { first.to_ascii_uppercase() } else { first.to_owned() });
    json.push_str(rest);
}

impl Workload for SigmaLike {
    fn name(&self) -> &'static str {
        "sigma-like"
    }

    fn missing(&self) -> Missing {
        Missing::False
    }

    fn requested(&self) -> Vec<Figure> {
        Vec::new()
    }

    fn write_expression(&self, number: u64, text: &mut String) {
        let random = &mut Random::new(self.parameters.seed, kind::EXPRESSION, number);
        if random.chance(0.03) {
            return self.write_group(number, ANYWHERE, random, text);
        }
        let (kind, _, field) = KINDS[self.kinds.draw(random) as usize];
        write!(text, "EventID = {kind} and (").unwrap_or_default();
        self.write_selection(number, field, random, text);
        if random.chance(0.3) {
            text.push_str(" or ");
            self.write_selection(number, field, random, text);
        }
        text.push(')');
        if random.chance(self.parameters.filtered) {
            for filter in ["Image", field] {
                text.push_str(" and not ");
                self.write_group(number, filter, random, text);
                if random.chance(0.5) {
                    break;
                }
            }
        }
    }

    fn write_event(&self, number: u64, json: &mut String) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EVENT, number);
        let (kind, _, field) = KINDS[self.kinds.draw(random) as usize];
        let mut rare = || {
            let rule = random.below(self.parameters.rules);
            self.own_word(rule.into(), random.below(OWN))
        };
        let (first, second) = (rare(), rare());
        let (process, parent) = (random.below(1 << 16), random.below(1 << 16));
        write!(
            json,
            "{{\"EventID\":{kind},\"Channel\":\"Operational\",\"Computer\":\"host-{}\",",
            process % 97
        )
        .and_then(|()| {
            write!(json, "\"UtcTime\":\"2026-11-16 09:{:02}:{:02}.123\",", process % 60, parent % 60)
        })
        .and_then(|()| {
            write!(json, "\"ProcessGuid\":\"{{4b1b6f5a-{process:04x}-{parent:04x}-0000-001000000000}}\",")
        })
        .and_then(|()| write!(json, "\"ProcessId\":{process},\"ParentProcessId\":{parent},\"Image\":\""))
        .unwrap_or_default();
        self.write_path(random, json);
        json.push_str("\",\"ParentImage\":\"");
        self.write_path(random, json);
        write!(json, "\",\"User\":\"EXAMPLE\\\\user{}\",\"{field}\":\"", parent % 31).unwrap_or_default();
        self.write_words(self.parameters.length, &first, random, json);
        json.push_str("\",\"Message\":\"");
        self.write_words(self.parameters.length.div_ceil(2), &second, random, json);
        json.push_str("\"}");
        12
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistics::Statistics;
    use super::*;

    #[test]
    fn rules_have_the_shape_of_public_ones() {
        let workload = SigmaLike::new(SigmaLikeParameters::sized(2_000));
        let (mut predicates, mut negated, mut patterns) = (0, 0, 0);
        for number in 0..2_000 {
            let expression = workload.expression(number);
            predicates += expression.predicates().count();
            negated += usize::from(expression.to_string().contains("not "));
            let equalities = expression.predicates().filter(|predicate| predicate.spelling() == "=");
            patterns += expression.predicates().count() - equalities.count();
        }
        assert!((8..=14).contains(&(predicates / 2_000)), "{predicates}");
        assert!((800..=1_000).contains(&negated), "{negated}");
        assert!(patterns * 10 > predicates * 8, "{patterns} of {predicates}");
        let statistics = Statistics::measure_matches(&workload, 0..2_000, 0..100);
        let matches = statistics.matches.unwrap_or(0);
        assert!((20..2_000).contains(&matches), "{matches}");
    }
}
