//! *xml*: path queries and documents of one document type (Diao et al. 2003, section 4.2).
//!
//! Three DTDs written for this project have the numbers of elements and attributes of the paper's
//! Table 1, and recursive elements: *news*, *auction* and *bibliography*. Any other DTD can be used
//! too. Documents and queries follow the parameters of its Table 2. A query is a walk down from the
//! root. Its length is drawn from 1 to the greatest depth, and it ends early at an element without
//! children. As in the paper, the maximum number of values of an element or attribute, 1 to 20, and
//! the probability of an attribute are drawn once.
//!
//! Departures: one rule, which preserves the meaning, replaces the paper's three rules that rewrite
//! redundant queries. A `//` before a `*` moves behind it, so that `//*/*/a` becomes `/*/*//a`, and
//! is dropped at the end. Value tests compare attributes; for elements without attributes their
//! text, and for elements without text their position.

mod choices;
mod distinct;
mod document;
mod dtd;
mod places;
mod query;
mod schema;
mod statistics;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use tamis::{Expression, Limits, Missing, parse};

pub use statistics::XmlStatistics;

use super::random::{Random, scramble};
use super::statistics::Figure;
use super::{Parameters, Workload, kind, within};
use distinct::Chosen;
use schema::Schema;

/// The maximum depth, and the maximum number of value tests in a query.
const MOST: u32 = 32;
/// The most values that an element or an attribute takes.
const VALUES: u32 = 20;

/// The built-in document types: name, DTD, and the paper's greatest depth and repetitions.
const SCHEMAS: [(&str, &str, u32, u32); 3] = [
    ("news", include_str!("news.dtd"), 6, 3),
    ("auction", include_str!("auction.dtd"), 8, 2),
    ("bibliography", include_str!("bibliography.dtd"), 8, 5),
];

/// The parameters of the workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XmlParameters {
    /// The seed of all random choices.
    pub seed: u64,
    /// `news`, `auction` or `bibliography`.
    pub schema: String,
    /// The path of another DTD.
    pub dtd: Option<String>,
    /// The root element; by default the first element that no other may contain.
    pub root: Option<String>,
    /// D: the maximum depth of documents and queries; 6 for `news` and 8 for others by default.
    pub depth: Option<u32>,
    /// W: the probability of `*` at a step.
    pub wildcard: f64,
    /// DS: the probability of `//` at a step.
    pub descendant: f64,
    /// P: the number of value tests in a query.
    pub predicates: u32,
    /// NP: the number of nested paths in a query.
    pub nested: u32,
    /// Whether all queries differ.
    pub distinct: bool,
    /// Whether they also differ before steps are replaced by `*` and `//` (section 4.5); only with
    /// `distinct`.
    pub distinct_paths: bool,
    /// RP: the most repetitions of an element; by default 3, for `auction` 2 and for `bibliography`
    /// 5.
    pub repeats: Option<u32>,
    /// The maximum number of elements in a document; beyond it, elements get no more children.
    pub elements: u32,
}

impl Default for XmlParameters {
    fn default() -> Self {
        XmlParameters {
            seed: 0,
            schema: "news".into(),
            dtd: None,
            root: None,
            depth: None,
            wildcard: 0.2,
            descendant: 0.2,
            predicates: 0,
            nested: 0,
            distinct: true,
            distinct_paths: false,
            repeats: None,
            elements: 1_000_000,
        }
    }
}

/// The workload *xml*.
#[derive(Debug)]
pub struct Xml {
    parameters: XmlParameters,
    queries: u64,
    schema: Schema,
    depth: u32,
    repeats: u32,
    /// Per element, its number of values and the frequency of its attributes.
    elements: Vec<Values>,
    /// The queries, if they must be distinct.
    chosen: Option<Chosen>,
}

#[derive(Debug)]
struct Values {
    own: u32,
    /// The probability of each attribute, and its number of values.
    attributes: Vec<(f64, u32)>,
}

impl Xml {
    /// The workload with `queries` queries (Q). Distinct queries are chosen here.
    pub fn new(parameters: XmlParameters, queries: u64) -> Result<Xml, String> {
        parameters.check()?;
        let (schema, depth, repeats) = parameters.schema()?;
        let elements = (schema.elements.iter().zip(0..))
            .map(|(element, number)| {
                let random = &mut Random::new(parameters.seed, kind::VALUE, number);
                let own = random.between(1, VALUES);
                let attribute = |_: &_| {
                    let probability = (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
                    (probability, random.between(1, VALUES))
                };
                Values { own, attributes: element.attributes.iter().map(attribute).collect() }
            })
            .collect();
        let mut workload = Xml { parameters, queries, schema, depth, repeats, elements, chosen: None };
        if workload.parameters.distinct {
            workload.chosen = Some(workload.choose()?);
        }
        Ok(workload)
    }

    /// The number of queries.
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// The parameters of this workload.
    pub fn parameters(&self) -> &XmlParameters {
        &self.parameters
    }

    /// Appends query `number`. Distinct queries repeat from the first after the last.
    pub fn write_query(&self, number: u64, text: &mut String) {
        let chosen = self.chosen.as_ref().and_then(|chosen| self.write_chosen(chosen, number, text));
        if chosen.is_none() {
            self.write_draw(number, text);
        }
    }
}

impl Workload for Xml {
    fn name(&self) -> &'static str {
        "xml"
    }

    fn missing(&self) -> Missing {
        Missing::Unknown
    }

    fn as_xml(&self) -> Option<&Xml> {
        Some(self)
    }

    /// Under the names of [`XmlStatistics::figures`].
    fn requested(&self) -> Vec<Figure> {
        let (asked, documents) = (&self.parameters, self.schema.expected(self.depth, self.repeats));
        let mut figures = vec![
            Figure::new("queries", self.queries as f64),
            Figure::new("predicates per query", asked.predicates.into()),
            Figure::new("nested paths per query", asked.nested.into()),
        ];
        // No lengths are expected for distinct queries: they are longer, and their steps differ
        // more.
        if asked.distinct {
            figures.push(Figure::new("distinct queries", self.queries as f64));
        } else {
            figures.extend(self.expected_queries());
        }
        if documents.elements < f64::from(asked.elements) / 100.0 {
            figures.push(Figure::new("elements per document", documents.elements));
            figures.push(Figure::new("depth of leaves", documents.depth));
        }
        figures
    }

    /// Appends an XPath expression.
    fn write_expression(&self, number: u64, text: &mut String) {
        self.write_query(number, text);
    }

    /// Appends an XML document. Returns its number of elements.
    fn write_event(&self, number: u64, text: &mut String) -> usize {
        self.write_document(number, text)
    }

    fn expression(&self, number: u64) -> Expression {
        let text = format!("xpath('{}')", self.expression_text(number));
        parse(&text, &Limits::none()).expect("a workload writes valid expressions")
    }
}

impl Parameters for XmlParameters {
    fn check(&self) -> Result<(), String> {
        within("depth", self.depth.unwrap_or(1), 1, MOST)?;
        within("repeats", self.repeats.unwrap_or(1), 1, 1000)?;
        within("wildcard", self.wildcard, 0.0, 1.0)?;
        within("descendant", self.descendant, 0.0, 1.0)?;
        within("predicates", self.predicates, 0, MOST)?;
        within("nested", self.nested, 0, MOST)
    }
}

impl XmlParameters {
    /// The document type, the greatest depth and the repetitions.
    fn schema(&self) -> Result<(Schema, u32, u32), String> {
        let known = SCHEMAS.iter().find(|(name, ..)| *name == self.schema);
        let (schema, depth, repeats) = match (&self.dtd, known) {
            (None, Some((_, text, depth, repeats))) => {
                (dtd::read(text, self.root.as_deref())?, *depth, *repeats)
            }
            (None, None) => {
                let names = SCHEMAS.map(|(name, ..)| name).join(", ");
                return Err(format!(
                    "unknown schema {:?}; known: {names}; or give the path of a DTD as `dtd`",
                    self.schema
                ));
            }
            (Some(file), _) => {
                let text =
                    std::fs::read_to_string(file).map_err(|error| format!("cannot read {file}: {error}"))?;
                let schema = dtd::read(&text, self.root.as_deref());
                (schema.map_err(|error| format!("{file}: {error}"))?, 8, 3)
            }
        };
        let (depth, repeats) = (self.depth.unwrap_or(depth), self.repeats.unwrap_or(repeats));
        if self.nested > 0 && (depth < 2 || schema.children[schema.root as usize].is_empty()) {
            return Err("nested paths need a `depth` of 2 and a root that may contain elements".into());
        }
        Ok((schema, depth, repeats))
    }
}

/// A hash that is the same on every machine.
fn hash(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(text.len() as u64, |hash, part| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        scramble(hash.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ u64::from_le_bytes(word))
    })
}
