//! Measuring the engines of XML filters. An event is a document, and the time includes reading it.

use std::collections::HashSet;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tamis::Id;
use tamis::xml::{Document, Engine, Filter, FilterSubscription, Input, Limits, XPath};

use super::clock::{Pace, Subject};
use super::expressions::{size, table};
use super::{Built, Spec};
use crate::workload::{Named, Parameters, Workload, Xml, XmlStatistics, configure, named, read};

/// The number of documents whose work is counted; the others are assumed to be similar.
const COUNTED: usize = 50;
/// How often the parts outside the repetitions are timed.
const PASSES: usize = 3;

#[derive(Debug, Default, Serialize, Deserialize)]
struct EngineOptions {
    /// How many further filters to add, time and remove again (Diao et al. 2003, 4.6).
    insertions: u64,
}

impl Parameters for EngineOptions {
    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Every engine with its options.
pub(super) fn matchers() -> Map<String, Value> {
    let options = json!({"options": named(&EngineOptions::default())});
    Engine::names().into_iter().map(|name| (name.to_owned(), options.clone())).collect()
}

/// Builds the filter of a cell.
pub(super) fn build(spec: &Spec, pace: &Pace) -> Result<Built, String> {
    let engine = Engine::find(&spec.matcher).ok_or_else(|| {
        format!("unknown matcher {:?} for documents; known: {}", spec.matcher, Engine::names().join(", "))
    })?;
    let options: EngineOptions = read("option", EngineOptions::default(), &spec.options)?;
    let mut parameters = spec.parameters.clone();
    let size = size(&mut parameters)?;
    let workload = configure(&spec.workload, size + options.insertions, &parameters)?;
    let xml = workload.as_xml().ok_or("the workload has no documents")?;
    let texts: Vec<String> = (0..size).map(|number| workload.expression_text(number)).collect();

    let before = resident();
    let begun = Instant::now();
    let filter = Filter::new(engine, Limits::default());
    filter.add_many(subscriptions(&texts, 0)?).map_err(|error| error.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = resident().saturating_sub(before);

    let further: Vec<String> =
        (size..size + options.insertions).map(|number| workload.expression_text(number)).collect();
    let insertions = Insertions::time(&filter, &further, size)?;
    let navigation = match xml.parameters().distinct {
        true => None,
        false => {
            let distinct: HashSet<&String> = texts.iter().collect();
            let filter = Filter::new(engine, Limits::default());
            filter.add_many(subscriptions(distinct, 0)?).map_err(|error| error.to_string())?;
            Some(filter)
        }
    };
    let documents = (0..pace.events.max(pace.sample) as u64).map(|number| workload.event(number)).collect();
    let subject = Engines { filter, navigation, insertions, documents, seen: 0, begun: false };
    let mut built = Built::new(seconds, bytes, Box::new(subject));
    built.statistics = statistics(xml, size);
    built.expressions = size;
    Ok(built)
}

fn subscriptions(
    texts: impl IntoIterator<Item = impl AsRef<str>>,
    first: u64,
) -> Result<Vec<FilterSubscription>, String> {
    let limits = Limits::default();
    let numbered = texts.into_iter().zip(first as i64..);
    numbered
        .map(|(text, id)| {
            let xpath = XPath::parse(text.as_ref(), &[], &limits).map_err(|error| error.to_string())?;
            Ok(FilterSubscription::new(id.into(), xpath))
        })
        .collect()
}

/// The requested figures next to the measured ones.
fn statistics(xml: &Xml, size: u64) -> Map<String, Value> {
    let mut requested: Named =
        xml.requested().iter().map(|figure| (figure.name.to_owned(), json!(figure.value))).collect();
    // Filters that only serve to time insertions do not count.
    for name in ["queries", "distinct queries"] {
        requested.entry(name).and_modify(|asked| *asked = json!(size as f64));
    }
    table(XmlStatistics::measure(xml, 0..size, 0..1000).figures(), requested)
}

/// Microseconds per added filter.
struct Insertions {
    /// One by one, each visible at once.
    each: f64,
    /// All in one call.
    many: f64,
}

impl Insertions {
    /// Times both ways of adding the filters, and removes them again.
    fn time(filter: &Filter, texts: &[String], first: u64) -> Result<Option<Insertions>, String> {
        if texts.is_empty() {
            return Ok(None);
        }
        let remove = || {
            (first..first + texts.len() as u64).for_each(|id| {
                filter.remove(&Id::from(id as i64));
            });
        };
        let begun = Instant::now();
        for (text, id) in texts.iter().zip(first as i64..) {
            filter.add(id.into(), text, &[]).map_err(|error| error.to_string())?;
        }
        let each = begun.elapsed();
        remove();
        let begun = Instant::now();
        filter.add_many(subscriptions(texts, first)?).map_err(|error| error.to_string())?;
        let many = begun.elapsed();
        remove();
        let per = |time: std::time::Duration| time.as_secs_f64() * 1e6 / texts.len() as f64;
        Ok(Some(Insertions { each: per(each), many: per(many) }))
    }
}

struct Engines {
    filter: Filter,
    /// The same filter with every distinct query once, to time finding paths without reporting all
    /// queries of each (section 4.3.1).
    navigation: Option<Filter>,
    insertions: Option<Insertions>,
    documents: Vec<String>,
    /// Documents matched since the counters were taken; the first ones are counted.
    seen: usize,
    /// Whether the counters were taken before; earlier work does not count.
    begun: bool,
}

impl Subject for Engines {
    fn events(&self) -> usize {
        self.documents.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        self.seen += 1;
        let snapshot = self.filter.snapshot();
        let input = Input::Bytes(self.documents[event].as_bytes());
        let read = self.filter.matches(&snapshot, input, |subscription| match subscription.id() {
            Id::Integer(number) => found.push(*number as u32),
            Id::String(_) => unreachable!("ids are numbers"),
        });
        read.expect("a workload writes valid documents");
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        let seen = std::mem::take(&mut self.seen);
        if !std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        let documents = &self.documents[..seen.min(COUNTED)];
        let snapshot = self.filter.snapshot();
        let (mut transitions, mut paths, mut tested, mut evaluated) = (0, 0, 0, 0);
        for document in documents {
            let work = self.filter.work(&snapshot, Input::Bytes(document.as_bytes()));
            let work = work.expect("a workload writes valid documents");
            transitions += work.transitions;
            paths += work.paths;
            tested += work.tested;
            evaluated += work.evaluated;
        }
        let all = |counted: u64| (counted as f64 * seen as f64 / documents.len().max(1) as f64) as u64;
        let every = |microseconds: f64| (microseconds * seen as f64) as u64;
        let mut document = Document::default();
        let parse = time(documents, |text| {
            document.read(text.as_bytes(), &Limits::default()).expect("a workload writes valid documents");
        });
        let mut counters = vec![
            ("states", (snapshot.states() * seen) as u64),
            ("transitions", all(transitions)),
            ("paths", all(paths)),
            ("tested", all(tested)),
            ("evaluated", all(evaluated)),
            ("parse_us", every(parse)),
        ];
        if let Some(filter) = &self.navigation {
            let snapshot = filter.snapshot();
            let navigation = time(documents, |text| {
                filter
                    .matches(&snapshot, Input::Bytes(text.as_bytes()), |_| {})
                    .expect("a workload writes valid documents");
            });
            counters.push(("navigation_us", every(navigation - parse)));
        }
        if let Some(Insertions { each, many }) = self.insertions {
            counters.extend([("insert_us", every(each)), ("insert_many_us", every(many))]);
        }
        counters
    }
}

/// Microseconds per document, of the fastest pass.
fn time(documents: &[String], mut run: impl FnMut(&str)) -> f64 {
    let pass = |_| {
        let begun = Instant::now();
        documents.iter().for_each(|document| run(document));
        begun.elapsed().as_secs_f64()
    };
    let best = (0..PASSES).map(pass).fold(f64::INFINITY, f64::min);
    best * 1e6 / documents.len().max(1) as f64
}

/// The resident memory of the process in bytes; 0 if the system does not report it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<usize>().ok());
    kibibytes.unwrap_or(0) * 1024
}
