//! Choosing queries that are all distinct.
//!
//! Queries without value tests and nested paths are sampled without replacement. Drawing 100,000
//! such queries until each is new takes 5,000,000 draws for `auction` and 23,000,000 for
//! `bibliography`. Value tests and nested paths make repetitions rare enough for plain drawing:
//! with one test, 270,000 draws for `news` and 720,000 for `bibliography`; with one nested path at
//! most 190,000. Very large document types are also drawn, because their places would take too much
//! memory. The distribution is the same either way.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::super::kind;
use super::super::random::Random;
use super::choices::Choices;
use super::places::Places;
use super::query::Steps;
use super::{Xml, hash};

/// The maximum number of draws per distinct query.
const DRAWS: u64 = 500;
/// The maximum number of (element, possible child) pairs for sampling without replacement. With
/// 100,000 pairs (1,000 elements with 100 children each), 100,000 queries took 149 MB; with 550,000
/// pairs, 2.2 GB.
const PAIRS: usize = 100_000;
/// The maximum number of choices kept in memory, at 24 bytes each.
const REMEMBERED: usize = 1 << 31;

/// The chosen queries.
#[derive(Debug)]
pub enum Chosen {
    /// As the numbers of their draws.
    Draws(Vec<u32>),
    /// As concatenated texts, with the end of each.
    Texts(String, Vec<u64>),
}

/// Hashes of the texts seen so far. A collision only skips a query.
#[derive(Debug, Default)]
struct Seen(HashSet<u64, BuildHasherDefault<Same>>);

impl Seen {
    /// Adds a text. Returns whether it is new.
    fn insert(&mut self, text: &str) -> bool {
        self.0.insert(hash(text))
    }
}

/// A hasher for values that are hashes already.
#[derive(Debug, Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

impl Xml {
    /// Chooses distinct queries, as many as the workload has.
    pub(super) fn choose(&self) -> Result<Chosen, String> {
        let asked = &self.parameters;
        let pairs: usize = self.schema.children.iter().map(|children| children.len()).sum();
        let many = asked.predicates + asked.nested > 0 || pairs > PAIRS;
        match many && !asked.distinct_paths {
            true => self.choose_draws(),
            false => self.choose_paths(),
        }
    }

    /// Samples texts without replacement; with `distinct_paths` walks, of which those with new
    /// texts are kept.
    fn choose_paths(&self) -> Result<Chosen, String> {
        let asked = &self.parameters;
        let (wildcard, descendant) = match asked.distinct_paths {
            true => (0.0, 0.0),
            false => (asked.wildcard, asked.descendant),
        };
        let mut places = Places::new(&self.schema, self.depth, wildcard, descendant);
        let mut choices = Choices::new(Random::new(asked.seed, kind::EXPRESSION, 0));
        let (mut texts, mut ends, mut steps) = (String::new(), Vec::new(), Steps::default());
        let mut seen = Seen::default();
        for draw in 0.. {
            if ends.len() as u64 == self.queries {
                break;
            }
            if choices.used_up() {
                return Err(self.too_few(ends.len(), &format!("come of all {draw} possible paths")));
            }
            if choices.remembered() > REMEMBERED {
                return Err(self.too_few(ends.len(), &format!("fit into {REMEMBERED} choices")));
            }
            let length = places.choose(&mut choices, &mut steps);
            choices.end();
            let (steps, start) = (&mut steps[..length], texts.len());
            if asked.distinct_paths {
                self.write_walk(steps, draw, &mut texts);
                if !seen.insert(&texts[start..]) {
                    texts.truncate(start);
                    continue;
                }
            } else {
                steps.iter().for_each(|step| self.write_step(step, &mut texts));
            }
            ends.push(texts.len() as u64);
        }
        Ok(Chosen::Texts(texts, ends))
    }

    /// Draws queries and keeps those with new texts.
    fn choose_draws(&self) -> Result<Chosen, String> {
        let draws = self.queries.saturating_mul(DRAWS).saturating_add(10_000).min(u64::from(u32::MAX));
        let (mut chosen, mut seen, mut text) = (Vec::new(), Seen::default(), String::new());
        for draw in 0..draws as u32 {
            if chosen.len() as u64 == self.queries {
                break;
            }
            text.clear();
            self.write_draw(draw.into(), &mut text);
            if seen.insert(&text) {
                chosen.push(draw);
            }
        }
        match (chosen.len() as u64) < self.queries {
            true => Err(self.too_few(chosen.len(), &format!("came of {draws} draws"))),
            false => Ok(Chosen::Draws(chosen)),
        }
    }

    fn too_few(&self, found: usize, why: &str) -> String {
        format!(
            "only {found} distinct queries {why}, but {} are requested: a greater `depth`, `wildcard` or \
             `descendant` gives more, and without `distinct` any number is possible",
            self.queries
        )
    }

    /// Appends a chosen query, if any were chosen; after the last comes the first again.
    pub(super) fn write_chosen(&self, chosen: &Chosen, number: u64, text: &mut String) -> Option<()> {
        match chosen {
            Chosen::Draws(draws) => {
                let draw = draws[number.checked_rem(draws.len() as u64)? as usize];
                self.write_draw(draw.into(), text);
            }
            Chosen::Texts(texts, ends) => {
                let at = number.checked_rem(ends.len() as u64)? as usize;
                let start = if at == 0 { 0 } else { ends[at - 1] };
                text.push_str(&texts[start as usize..ends[at] as usize]);
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::super::read;
    use super::super::{XmlParameters, XmlStatistics, dtd};
    use super::*;

    /// A document type whose elements behind `*` are distinguished by the next step, and a
    /// recursive one.
    const FORK: &str = "<!ELEMENT a (b | c)><!ELEMENT b (d)><!ELEMENT c EMPTY><!ELEMENT d EMPTY>";
    const LOOP: &str = "<!ELEMENT a (a)>";

    /// A workload over this document type, with no query chosen.
    fn workload(text: &str, given: XmlParameters) -> Xml {
        let mut workload = Xml::new(given, 0).unwrap();
        workload.schema = dtd::read(text, None).unwrap();
        workload
    }

    fn texts(workload: &Xml, chosen: &Chosen) -> Vec<String> {
        let text = |number| {
            let mut text = String::new();
            workload.write_chosen(chosen, number, &mut text).unwrap();
            text
        };
        (0..workload.queries).map(text).collect()
    }

    /// All distinct queries, by both ways of choosing.
    fn all(workload: &mut Xml) -> BTreeSet<String> {
        workload.queries = 1_000_000;
        let error = workload.choose().unwrap_err();
        assert!(error.contains("possible paths, but 1000000 are requested"), "{error}");
        workload.queries = error.split(' ').nth(1).unwrap().parse().unwrap();
        let texts = texts(workload, &workload.choose().unwrap());
        let distinct: BTreeSet<String> = texts.iter().cloned().collect();
        assert_eq!(distinct.len(), texts.len());
        distinct
    }

    #[test]
    fn all_queries_are_found_and_no_other() {
        let given = |depth| XmlParameters { depth: Some(depth), ..Default::default() };
        let found = all(&mut workload(LOOP, given(2)));
        let by_hand =
            ["/a", "//a", "/*", "/a/a", "/a//a", "/a/*", "//a/a", "//a//a", "//a/*", "/*/a", "/*//a", "/*/*"];
        assert_eq!(found, by_hand.map(String::from).into());
        assert_eq!(all(&mut workload(LOOP, given(5))).len(), 3 + 9 + 27 + 81 + 243);
        // `a`; then `b`, `c` or `*`; then `d` or `*` after `b` and `*`.
        assert_eq!(all(&mut workload(FORK, given(3))).len(), 3 + 3 * 5 + 3 * 3 * 3);
        for (wildcard, descendant, count) in [(0.0, 0.0, 4), (1.0, 0.5, 3), (0.0, 1.0, 4), (0.5, 0.0, 16)] {
            let given = XmlParameters { wildcard, descendant, ..given(3) };
            assert_eq!(all(&mut workload(FORK, given)).len(), count, "{wildcard} {descendant}");
        }
        // Drawing finds the same queries.
        let mut fork = workload(FORK, given(3));
        fork.queries = 45;
        let drawn = texts(&fork, &fork.choose_draws().unwrap());
        assert_eq!(all(&mut fork), drawn.into_iter().collect());
    }

    #[test]
    fn all_walks_are_found_and_no_other() {
        for wildcard in [0.0, 0.3] {
            for seed in 0..20 {
                let given = XmlParameters { seed, wildcard, distinct_paths: true, ..Default::default() };
                let found = all(&mut workload(FORK, given)).len();
                // There are four walks; with `*`, some of their queries are equal.
                assert!(found <= 4 && (wildcard > 0.0 || found == 4), "{found}");
            }
        }
    }

    #[test]
    fn queries_are_distinct_whatever_is_asked() {
        for given in [
            r#"{}"#,
            r#"{"depth": 32}"#,
            r#"{"schema": "auction", "depth": 32, "wildcard": 0.9, "descendant": 1.0}"#,
            r#"{"schema": "bibliography", "wildcard": 1e-300, "descendant": 0.5}"#,
            r#"{"schema": "auction", "predicates": 1}"#,
            r#"{"schema": "auction", "nested": 2}"#,
            r#"{"schema": "auction", "distinct_paths": true, "predicates": 1}"#,
        ] {
            let given = serde_json::from_str(given).unwrap();
            let given = read("parameter", XmlParameters::default(), &given).unwrap();
            let workload = Xml::new(given.clone(), 300).unwrap();
            let found = texts(&workload, workload.chosen.as_ref().unwrap());
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), 300, "{given:?}");
            // The queries do not depend on their number, nor on the run.
            let few = Xml::new(given.clone(), 100).unwrap();
            assert_eq!(texts(&few, few.chosen.as_ref().unwrap()), found[..100]);
            let other = Xml::new(XmlParameters { seed: 1, ..given }, 100).unwrap();
            assert_ne!(texts(&other, other.chosen.as_ref().unwrap()), found[..100]);
        }
    }

    #[test]
    fn queries_of_a_large_document_type_are_drawn() {
        let text: String = (0..400).map(|number| format!("<!ELEMENT e{number} ANY>")).collect();
        let mut workload = workload(&text, XmlParameters::default());
        workload.queries = 1000;
        let chosen = workload.choose().unwrap();
        assert!(matches!(chosen, Chosen::Draws(_)));
        assert_eq!(texts(&workload, &chosen).iter().collect::<BTreeSet<_>>().len(), 1000);
    }

    type Way = fn(&Xml) -> Result<Chosen, String>;

    /// Compares over many seeds how often two ways of choosing make each text query `number`.
    fn assert_alike(workload: &mut Xml, number: usize, ways: [Way; 2]) {
        let seeds = 20_000;
        workload.queries = number as u64 + 1;
        let mut counts: BTreeMap<String, [f64; 2]> = BTreeMap::new();
        for seed in 0..seeds {
            for (way, choose) in ways.iter().enumerate() {
                // Different seeds, so that the samples are independent.
                workload.parameters.seed = 2 * seed + way as u64;
                let text = texts(workload, &choose(workload).unwrap()).remove(number);
                counts.entry(text).or_default()[way] += 1.0;
            }
        }
        // Chi-squared test of two samples, leaving out rare texts.
        let usual = counts.values().filter(|[one, other]| one + other >= 20.0);
        let distances = usual.map(|[one, other]| (one - other) * (one - other) / (one + other));
        let (sum, count) = distances.fold((0.0, 0.0), |(sum, count), next| (sum + next, count + 1.0));
        assert!(count > 3.0 && sum < count + 4.0 * f64::sqrt(2.0 * count), "{sum} of {count}");
    }

    #[test]
    fn queries_are_as_likely_as_when_drawn_until_they_are_new() {
        let given = XmlParameters { depth: Some(3), wildcard: 0.4, descendant: 0.3, ..Default::default() };
        for number in [0, 1, 6, 30] {
            assert_alike(&mut workload(FORK, given.clone()), number, [Xml::choose_paths, Xml::choose_draws]);
        }
        let mut news = Xml::new(XmlParameters { depth: Some(2), ..given.clone() }, 0).unwrap();
        assert_alike(&mut news, 5, [Xml::choose_paths, Xml::choose_draws]);
    }

    #[test]
    fn walks_are_as_likely_as_when_drawn_until_they_are_new() {
        fn draw_walks(workload: &Xml) -> Result<Chosen, String> {
            let (mut walks, mut seen, mut chosen) = (BTreeSet::new(), Seen::default(), Vec::new());
            for draw in 0u32.. {
                let (mut steps, mut text) = (Steps::default(), String::new());
                let length = workload.walk(draw.into(), &mut steps);
                let walk: Vec<u32> = steps[..length].iter().map(|step| step.element).collect();
                workload.write_draw(draw.into(), &mut text);
                if walks.insert(walk) && seen.insert(&text) {
                    chosen.push(draw);
                }
                if chosen.len() as u64 == workload.queries {
                    break;
                }
            }
            Ok(Chosen::Draws(chosen))
        }
        let given = XmlParameters { depth: Some(3), distinct_paths: true, ..Default::default() };
        assert_alike(&mut Xml::new(given, 0).unwrap(), 3, [Xml::choose_paths, draw_walks]);
    }

    #[test]
    fn statistics_are_those_of_drawing_until_queries_are_new() {
        for schema in ["news", "auction", "bibliography"] {
            let mut workload =
                Xml::new(XmlParameters { schema: schema.into(), ..Default::default() }, 2000).unwrap();
            let chosen = XmlStatistics::measure(&workload, 0..2000, 0..0).figures();
            workload.chosen = Some(workload.choose_draws().unwrap());
            let drawn = XmlStatistics::measure(&workload, 0..2000, 0..0).figures();
            for (chosen, drawn) in chosen.iter().zip(&drawn) {
                let near = chosen.value == drawn.value || (chosen.value / drawn.value - 1.0).abs() < 0.05;
                assert!(near, "{schema}: {chosen:?}, not {drawn:?}");
            }
        }
    }
}
