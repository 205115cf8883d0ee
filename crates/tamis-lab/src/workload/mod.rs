//! The papers' workloads: seeded generators of expressions and events.
//!
//! A workload is a small set of named parameters, which default to the paper's values, and a seed.
//! These and an item's number determine the item: the same bytes on every machine, in any order, on
//! any number of workers. [`Statistics`] measures the generated items, to compare them with the
//! parameters.

mod abe_gen;
mod ads_like;
mod choice;
mod conjunctive;
mod exchange;
mod fontoura;
mod parameters;
mod random;
mod sigma_like;
mod statistics;
mod text;
mod whang;
mod xml;

pub use abe_gen::{AbeGen, AbeGenParameters};
pub use ads_like::{AdsLike, AdsLikeParameters};
pub use conjunctive::{Conjunctive, ConjunctiveParameters, Disjunction, Pair, SetPredicate};
pub use exchange::{Exchange, ExchangeParameters};
pub use fontoura::{Fontoura, FontouraParameters};
pub(crate) use parameters::within;
pub use parameters::{Named, Parameters, named, read};
pub use random::Random;
pub use sigma_like::{SigmaLike, SigmaLikeParameters};
pub use statistics::{Beside, Figure, Level, Statistics, beside, count_matches};
pub(crate) use text::write_number;
pub use whang::{Form, Whang, WhangParameters};
pub use xml::{Xml, XmlParameters, XmlStatistics};

use tamis::{Expression, Limits, Missing, parse};

/// Kinds of items; each kind has its own random streams.
mod kind {
    pub const EXPRESSION: u64 = 1;
    pub const EVENT: u64 = 2;
    pub const PREDICATE: u64 = 3;
    /// A set of values.
    pub const SET: u64 = 4;
    /// The weights of an expression.
    pub const WEIGHT: u64 = 5;
    /// An edge of a graph, and the node at which an event enters it.
    pub const EDGE: u64 = 6;
    pub const SOURCE: u64 = 7;
    /// The values of an element, the wildcards of a query, and its nested paths.
    pub const VALUE: u64 = 8;
    pub const STEP: u64 = 9;
    pub const NESTED: u64 = 10;
    /// A subexpression of a pool. The level is added to this number.
    pub const SUBEXPRESSION: u64 = 16;
}

/// A seeded source of expressions and events.
pub trait Workload: Send + Sync {
    /// The name by which users select it.
    fn name(&self) -> &'static str;

    /// The truth of a predicate whose attribute the event lacks.
    fn missing(&self) -> Missing;

    /// The workload as conjunctions of numbers, if it is one.
    fn as_conjunctive(&self) -> Option<&Conjunctive> {
        None
    }

    /// The workload as documents and queries, if it is one.
    fn as_xml(&self) -> Option<&Xml> {
        None
    }

    /// The workload as a graph, if it is one.
    fn as_graph(&self) -> Option<&Exchange> {
        None
    }

    /// The figures that the parameters imply, under the names that [`Statistics::figures`] uses.
    fn requested(&self) -> Vec<Figure>;

    /// Appends the text of an expression.
    fn write_expression(&self, number: u64, text: &mut String);

    /// Appends an event as one JSON object, or an XML document. Returns its number of pairs or
    /// elements.
    fn write_event(&self, number: u64, json: &mut String) -> usize;

    /// The text of an expression.
    fn expression_text(&self, number: u64) -> String {
        let mut text = String::new();
        self.write_expression(number, &mut text);
        text
    }

    /// Expression `number`, parsed.
    fn expression(&self, number: u64) -> Expression {
        parse(&self.expression_text(number), &Limits::none()).expect("a workload writes valid expressions")
    }

    /// Event `number` as JSON.
    fn event(&self, number: u64) -> String {
        let mut json = String::new();
        self.write_event(number, &mut json);
        json
    }
}

/// The workload whose expressions are XPath and whose events are XML documents.
pub const XML: &str = "xml";

/// The workloads whose events are JSON.
pub const NAMES: [&str; 9] = [
    "conjunctive",
    "dense",
    "abe-gen",
    "ads-like",
    "whang",
    "whang-cnf",
    "fontoura",
    "exchange",
    "sigma-like",
];

/// The workload `name` with its defaults for this number of expressions.
pub fn by_name(name: &str, expressions: u64) -> Option<Box<dyn Workload>> {
    configure(name, expressions, &Named::new()).ok()
}

/// The workload `name` with its defaults for this number of expressions, overridden by `given`.
pub fn configure(name: &str, expressions: u64, given: &Named) -> Result<Box<dyn Workload>, String> {
    fn with<P: Parameters, W: Workload + 'static>(
        defaults: P,
        given: &Named,
        make: fn(P) -> W,
    ) -> Result<Box<dyn Workload>, String> {
        Ok(Box::new(make(read("parameter", defaults, given)?)))
    }
    match name {
        "conjunctive" => with(ConjunctiveParameters::default(), given, Conjunctive::new),
        "dense" => with(ConjunctiveParameters::dense(), given, Conjunctive::new_dense),
        "abe-gen" => with(AbeGenParameters::sized(expressions), given, AbeGen::new),
        "ads-like" => with(AdsLikeParameters::sized(expressions), given, AdsLike::new),
        "whang" => with(WhangParameters::default(), given, Whang::new),
        "whang-cnf" => with(WhangParameters::conjunctive(), given, Whang::new),
        "fontoura" => with(FontouraParameters::default(), given, Fontoura::new),
        "exchange" => with(ExchangeParameters::default(), given, Exchange::new),
        "sigma-like" => with(SigmaLikeParameters::sized(expressions), given, SigmaLike::new),
        XML => Ok(Box::new(Xml::new(read("parameter", XmlParameters::default(), given)?, expressions)?)),
        _ => Err(format!("unknown workload {name:?}; known: {}, {XML}", NAMES.join(", "))),
    }
}

/// The workload `name` with this seed and with parameters given as JSON.
pub fn seeded(
    name: &str,
    expressions: u64,
    seed: u64,
    parameters: &str,
) -> Result<Box<dyn Workload>, String> {
    let given: Named = serde_json::from_str(parameters)
        .map_err(|error| format!("the parameters must be a JSON object such as {{\"seed\": 1}}: {error}"))?;
    let mut all = Named::new();
    all.insert("seed".to_owned(), seed.into());
    all.extend(given);
    configure(name, expressions, &all)
}

/// The parameters of a workload, with their defaults for this number of expressions.
pub fn named_defaults(name: &str, expressions: u64) -> Option<Named> {
    Some(match name {
        "conjunctive" => named(&ConjunctiveParameters::default()),
        "dense" => named(&ConjunctiveParameters::dense()),
        "abe-gen" => named(&AbeGenParameters::sized(expressions)),
        "ads-like" => named(&AdsLikeParameters::sized(expressions)),
        "whang" => named(&WhangParameters::default()),
        "whang-cnf" => named(&WhangParameters::conjunctive()),
        "fontoura" => named(&FontouraParameters::default()),
        "exchange" => named(&ExchangeParameters::default()),
        "sigma-like" => named(&SigmaLikeParameters::sized(expressions)),
        XML => named(&XmlParameters::default()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a over the first 1000 expressions and events.
    fn fingerprint(workload: &dyn Workload) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for number in 0..1000 {
            for text in [workload.expression_text(number), workload.event(number)] {
                for byte in text.bytes().chain([b'\n']) {
                    hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
                }
            }
        }
        hash
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let golden = [
            "conjunctive 6e74e55b307490d1",
            "dense d315073ec3c2ec2b",
            "abe-gen 03e739872266c6e4",
            "ads-like e5cb07d8dab166d6",
            "whang d4ec11f37dde0251",
            "whang-cnf 61cb65d160420bc5",
            "fontoura 4512c240298bd475",
            "exchange 7c0daf80a05a587e",
            "sigma-like b66ea8b25f283a6f",
            "xml db219a6580658bd1",
        ];
        let found = NAMES.into_iter().chain([XML]).map(|name| {
            let workload = by_name(name, 100_000).unwrap();
            format!("{name} {:016x}", fingerprint(&*workload))
        });
        let found: Vec<String> = found.collect();
        assert_eq!(found, golden);
        let given = serde_json::from_str(r#"{"months": 12, "weighted": true, "seed": 3}"#).unwrap();
        let workload = configure("whang", 10, &given).unwrap();
        assert_eq!(format!("{:016x}", fingerprint(&*workload)), "8593b18eff25101e");
        let given = serde_json::from_str(r#"{"distinct": false, "predicates": 2, "nested": 1}"#).unwrap();
        let workload = configure(XML, 10, &given).unwrap();
        assert_eq!(format!("{:016x}", fingerprint(&*workload)), "5214f1bd6350c091");
    }

    #[test]
    fn workers_may_share_a_workload() {
        for name in NAMES.into_iter().chain([XML]) {
            let workload = by_name(name, 1000).unwrap();
            let items = |part: u64, parts: u64| {
                let numbers = (part..1000).step_by(parts as usize);
                let pairs = numbers
                    .map(|number| (number, workload.expression_text(number) + &workload.event(number)));
                pairs.collect::<Vec<_>>()
            };
            let alone = items(0, 1);
            for workers in [2, 3, 7] {
                let items = &items;
                let mut together = std::thread::scope(|scope| {
                    let parts: Vec<_> =
                        (0..workers).map(|worker| scope.spawn(move || items(worker, workers))).collect();
                    parts.into_iter().flat_map(|part| part.join().unwrap()).collect::<Vec<_>>()
                });
                together.sort();
                assert_eq!(together, alone, "{name}, {workers} workers");
            }
        }
    }

    #[test]
    fn another_seed_gives_other_bytes() {
        let seeded = |seed| Conjunctive::new(ConjunctiveParameters { seed, ..Default::default() });
        assert_ne!(seeded(1).expression_text(0), seeded(2).expression_text(0));
        assert_ne!(seeded(1).event(0), seeded(2).event(0));
    }

    #[test]
    fn an_item_does_not_depend_on_the_others() {
        for name in NAMES.into_iter().chain([XML]) {
            let workload = by_name(name, 100_000).unwrap();
            let (mut text, mut json, mut ends) = (String::new(), String::new(), vec![(0, 0)]);
            for number in 0..1000 {
                workload.write_expression(number, &mut text);
                workload.write_event(number, &mut json);
                ends.push((text.len(), json.len()));
            }
            let alone = by_name(name, 100_000).unwrap();
            for number in [500, 999, 0] {
                let (start, end) = (ends[number], ends[number + 1]);
                assert_eq!(alone.event(number as u64), json[start.1..end.1]);
                assert_eq!(alone.expression_text(number as u64), text[start.0..end.0]);
            }
        }
    }

    #[test]
    fn every_text_reads_back_and_every_event_decodes() {
        for name in NAMES {
            let workload = by_name(name, 100_000).unwrap();
            let attributes = tamis::event::Attributes::default();
            let mut event = tamis::Event::default();
            for number in 0..500 {
                let expression = workload.expression(number);
                assert_eq!(parse(&expression.to_string(), &Limits::none()).unwrap(), expression);
                expression.check(&Limits::default()).unwrap();
                expression.predicates().for_each(|predicate| {
                    attributes.intern(predicate.attribute());
                });
                event
                    .decode_json(workload.event(number).as_bytes(), &attributes, &Limits::default())
                    .unwrap();
            }
        }
    }

    #[test]
    fn unknown_names_are_refused() {
        assert!(by_name("Conjunctive", 1).is_none());
    }
}
