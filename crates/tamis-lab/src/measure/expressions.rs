//! Building matchers of Boolean expressions.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tamis::event::Attributes;
use tamis::{Event, Expression, Limits, Missing};

use super::clock::Pace;
use super::{Built, SIZE, Spec, engine, options, others, ranking};
use crate::comparator::COMPARATORS;
use crate::workload::{Figure, Named, Statistics, Workload, configure, named};

/// The first of the events used to estimate probabilities; none of these is measured.
pub(super) const STATISTICS: u64 = 1 << 40;

/// The input for building a matcher.
pub(super) struct Setting<'a> {
    pub workload: &'a dyn Workload,
    pub expressions: Vec<Expression>,
    pub missing: Missing,
    pub events: u64,
}

impl Setting<'_> {
    /// A table of all attributes that the expressions test.
    pub fn attributes(&self) -> Attributes {
        let attributes = Attributes::default();
        for predicate in self.expressions.iter().flat_map(Expression::predicates) {
            attributes.intern(predicate.attribute());
        }
        attributes
    }

    /// Decodes `count` events starting with `first`.
    pub fn decode(&self, first: u64, count: u64, attributes: &Attributes) -> Vec<Event> {
        let decode = |number| {
            let mut event = Event::default();
            event
                .decode_json(self.workload.event(number).as_bytes(), attributes, &Limits::none())
                .expect("a workload writes valid events");
            event
        };
        (first..first + count).map(decode).collect()
    }

    /// The events to match.
    pub fn measured(&self, attributes: &Attributes) -> Vec<Event> {
        self.decode(0, self.events, attributes)
    }
}

/// Every matcher with its options.
pub(super) fn matchers() -> Map<String, Value> {
    fn row(options: &impl Serialize) -> Value {
        json!({"options": named(options)})
    }
    let mut all = Map::new();
    for name in engine::NAMES {
        all.insert(name.to_owned(), json!({"options": options::options(name)}));
    }
    for (name, _) in COMPARATORS {
        all.insert(name.to_owned(), row(&others::ComparatorOptions::default()));
    }
    for name in others::REFERENCES {
        all.insert(name.to_owned(), json!({"options": {}}));
    }
    all
}

/// Removes the number of expressions from the parameters and returns it.
pub(super) fn size(parameters: &mut Named) -> Result<u64, String> {
    match parameters.remove("size") {
        None => Ok(SIZE),
        Some(size) => size
            .as_u64()
            .filter(|&size| (1..1 << 31).contains(&size))
            .ok_or_else(|| format!("size must be from 1 to {}, not {size}", (1u32 << 31) - 1)),
    }
}

/// Builds the matcher for a cell.
pub(super) fn build(spec: &Spec, pace: &Pace) -> Result<Built, String> {
    let mut parameters = spec.parameters.clone();
    let size = size(&mut parameters)?;
    let workload = configure(&spec.workload, size, &parameters)?;
    if !matchers().contains_key(&spec.matcher) {
        let known: Vec<String> = matchers().into_iter().map(|(name, _)| name).collect();
        return Err(format!("unknown matcher {:?}; known: {}", spec.matcher, known.join(", ")));
    }
    let expressions: Vec<Expression> = (0..size).map(|number| workload.expression(number)).collect();
    let statistics = Statistics::observe_all(&*workload, &expressions, 0..1000);
    let statistics = beside(&statistics, &*workload);
    let events = pace.events.max(pace.sample) as u64;
    let setting = Setting { missing: workload.missing(), workload: &*workload, expressions, events };
    let built = if others::REFERENCES.contains(&&*spec.matcher) {
        others::reference(&spec.matcher, &spec.options, &setting, size as u32)?
    } else if COMPARATORS.iter().any(|(name, _)| *name == spec.matcher) {
        others::comparator(&spec.matcher, &spec.options, setting)?
    } else if let Some(top) = ranking::asked(&spec.matcher, &spec.options)? {
        ranking::build(&spec.matcher, top, setting)?
    } else {
        engine::build(&spec.matcher, &spec.options, setting)?
    };
    Ok(Built { statistics, expressions: size, ..built })
}

/// The requested figures next to the measured ones.
pub(super) fn beside(statistics: &Statistics, workload: &dyn Workload) -> Map<String, Value> {
    let requested = workload.requested().into_iter();
    let requested = requested.map(|figure| (figure.name.to_owned(), json!(figure.value)));
    table(statistics.figures(), requested.collect())
}

/// The measured figures next to the requested ones.
pub(super) fn table(figures: Vec<Figure>, mut requested: Named) -> Map<String, Value> {
    let mut all = Map::new();
    for figure in figures {
        let asked = requested.remove(figure.name).unwrap_or_default();
        all.insert(figure.name.to_owned(), json!({"requested": asked, "measured": figure.value}));
    }
    for (name, asked) in requested {
        all.insert(name, json!({"requested": asked, "measured": null}));
    }
    all
}

/// The message for a matcher that cannot express a workload.
pub(super) fn cannot(reason: impl std::fmt::Display) -> String {
    format!("cannot express: {reason}")
}
