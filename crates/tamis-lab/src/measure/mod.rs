//! Measuring one matcher on one workload, and checking its results.
//!
//! [`measure`] takes one cell of an experiment as JSON and returns the measurement as JSON, so that
//! every cell can run in a separate process. The result contains digests of the matches on a sample
//! of events, so that cells can be compared for correctness first.
//!
//! | file | the question it answers |
//! |---|---|
//! | `clock` | which matches does it find on the sample, and how long does an event take? |
//! | `expressions` | how is a matcher of Boolean expressions built? |
//! | `graph` | how are the search strategies of graphs measured? |
//! | `engine` | the engine's matchers |
//! | `ranking` | the engine's matchers, ranking |
//! | `others` | comparators and references |
//! | `xml` | the engines of XML filters |

mod clock;
mod engine;
mod expressions;
mod graph;
mod options;
mod others;
mod ranking;
mod xml;

pub use ranking::weigh;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::workload::{NAMES, Named, XML, named_defaults, within};
use clock::{Pace, Subject};

/// The default number of expressions of a workload.
const SIZE: u64 = 100_000;

/// One cell of an experiment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    workload: String,
    #[serde(default)]
    parameters: Named,
    matcher: String,
    #[serde(default)]
    options: Named,
    #[serde(default = "events")]
    events: usize,
    #[serde(default = "sample")]
    sample: usize,
    #[serde(default = "repetitions")]
    repetitions: usize,
    #[serde(default = "seconds")]
    seconds: f64,
}

fn events() -> usize {
    200
}

fn sample() -> usize {
    20
}

fn repetitions() -> usize {
    5
}

fn seconds() -> f64 {
    20.0
}

impl Spec {
    fn pace(&self) -> Result<Pace, String> {
        let Spec { events, sample, repetitions, seconds, .. } = *self;
        for (name, number) in [("events", events), ("sample", sample), ("repetitions", repetitions)] {
            within(name, number, 1, 1_000_000)?;
        }
        within("seconds", seconds, 0.001, 86_400.0)?;
        Ok(Pace { events, sample, repetitions, seconds })
    }
}

/// A matcher that was built for a workload.
struct Built {
    seconds: f64,
    /// The bytes that matching reads.
    bytes: usize,
    subject: Box<dyn Subject>,
    /// Statistics of the workload: the requested and the measured value of each.
    statistics: Map<String, Value>,
    /// The number of expressions that an event is matched with.
    expressions: u64,
}

impl Built {
    fn new(seconds: f64, bytes: usize, subject: Box<dyn Subject>) -> Built {
        Built { seconds, bytes, subject, statistics: Map::new(), expressions: 0 }
    }
}

/// Measures one matcher on one workload.
///
/// ```
/// let spec = r#"{"workload": "fontoura", "parameters": {"size": 100}, "matcher": "interval", "events": 20}"#;
/// let found: serde_json::Value = serde_json::from_str(&tamis_lab::measure::measure(spec)?).unwrap();
/// assert_eq!(found["counts"].as_array().unwrap().len(), 20);
/// # Ok::<(), String>(())
/// ```
pub fn measure(spec: &str) -> Result<String, String> {
    let spec: Spec = serde_json::from_str(spec).map_err(|error| format!("the specification: {error}"))?;
    let pace = spec.pace()?;
    let mut built = match family(&spec.workload) {
        Some("expressions") => expressions::build(&spec, &pace)?,
        Some("xml") => xml::build(&spec, &pace)?,
        Some(_) => graph::build(&spec, &pace)?,
        None => {
            let names = NAMES.join(", ");
            return Err(format!("unknown workload {:?}; known: {names}, {XML}", spec.workload));
        }
    };
    let found = clock::run(&mut *built.subject, &pace);
    let mut result = found.to_json();
    result.insert("build_seconds".to_owned(), json!(built.seconds));
    result.insert("bytes".to_owned(), json!(built.bytes));
    if built.expressions > 0 {
        let measured = found.matches / built.expressions as f64;
        let asked = built.statistics.get("match probability").map(|figure| figure["requested"].clone());
        let figure = json!({"requested": asked, "measured": measured});
        built.statistics.insert("match probability".to_owned(), figure);
    }
    result.insert("statistics".to_owned(), Value::Object(built.statistics));
    Ok(Value::Object(result).to_string())
}

/// Everything that can be measured: workloads with their parameters, and matchers with their
/// options.
pub fn measurable() -> String {
    let mut workloads = Map::new();
    for name in NAMES.into_iter().chain([XML]) {
        let mut parameters = named_defaults(name, SIZE).unwrap_or_default();
        let family = family(name);
        if family != Some("graph") {
            parameters.insert("size".to_owned(), json!(SIZE));
        }
        workloads.insert(name.to_owned(), json!({"family": family, "parameters": parameters}));
    }
    let (expressions, graph, xml) = (expressions::matchers(), graph::matchers(), xml::matchers());
    let matchers = json!({"expressions": expressions, "graph": graph, "xml": xml});
    json!({"workloads": workloads, "matchers": matchers}).to_string()
}

fn family(workload: &str) -> Option<&'static str> {
    match workload {
        "exchange" => Some("graph"),
        XML => Some("xml"),
        name if NAMES.contains(&name) => Some("expressions"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
