//! The engine's matchers.

use std::time::Instant;

use tamis::event::Attributes;
use tamis::index::{Algorithm, MatchScratch, Snapshot, Subscription};
use tamis::matcher::{Compiled, Matcher, Scan, Scratch};
use tamis::{Event, Index, Limits};
use tamis_papers::{ATree, Cnf, Dewey, Interval, IntervalOptions, KIndex, KIndexOptions};

use super::Built;
use super::clock::Subject;
use super::expressions::{STATISTICS, Setting, cannot};
use super::options::{ATreeSwitches, CnfOptions, CompiledOptions, IntervalSwitches, Plain, PostingOptions};
use crate::workload::{Named, read};

/// The names that `Index` accepts.
pub(super) const NAMES: [&str; 8] =
    ["auto", "scan", "compiled", "atree", "kindex", "cnf", "dewey", "interval"];

/// Builds a matcher that finds all matches.
pub(super) fn build(name: &str, given: &Named, setting: Setting<'_>) -> Result<Built, String> {
    let (attributes, missing) = (setting.attributes(), setting.missing);
    let begun = Instant::now();
    let expressions = &setting.expressions;
    let mut skip = true;
    let matcher: Box<dyn Matcher> = match name {
        "auto" => {
            read("option", Plain::default(), given)?;
            return auto(setting);
        }
        "compiled" => {
            let CompiledOptions { sample, .. } = read("option", CompiledOptions::default(), given)?;
            let sample = setting.decode(STATISTICS, sample, &attributes);
            let compiled = Compiled::new(expressions, &attributes, missing, &sample);
            Box::new(compiled.map_err(|error| error.to_string())?)
        }
        "atree" => {
            let switches = read("option", ATreeSwitches::default(), given)?;
            let mut atree = ATree::compile(expressions, &attributes, missing, switches.options());
            let (mut scratch, mut found) = (Scratch::default(), Vec::new());
            for event in setting.decode(STATISTICS, switches.sample, &attributes) {
                found.clear();
                atree.matches(&event, &mut scratch, &mut found);
            }
            atree.adapt();
            Box::new(atree)
        }
        "kindex" => {
            let PostingOptions { share, skipping, normal_form, .. } =
                read("option", PostingOptions::default(), given)?;
            skip = skipping;
            let options = KIndexOptions { share, normal_form };
            let index = KIndex::new(expressions, &attributes, missing, options);
            check_form(index.scanned(), "disjunctive", normal_form)?;
            Box::new(index)
        }
        "cnf" => {
            let CnfOptions { skipping, normal_form, .. } = read("option", CnfOptions::default(), given)?;
            skip = skipping;
            let index = Cnf::new(expressions, &attributes, missing, normal_form);
            check_form(index.scanned(), "conjunctive", normal_form)?;
            Box::new(index)
        }
        "interval" => {
            let IntervalSwitches { common_subexpressions, .. } =
                read("option", IntervalSwitches::default(), given)?;
            let options = IntervalOptions { common_subexpressions };
            let interval = Box::new(Interval::new(expressions, &attributes, missing, options));
            let find: Find<Interval> = Interval::true_conjunctions;
            return Ok(direct(begun, interval, Some(find), Scratch::default(), &setting, &attributes));
        }
        "dewey" => {
            read("option", Plain::default(), given)?;
            let dewey = Box::new(Dewey::new(expressions, &attributes, missing));
            let find: Find<Dewey> = Dewey::true_conjunctions;
            return Ok(direct(begun, dewey, Some(find), Scratch::default(), &setting, &attributes));
        }
        _ => {
            read("option", Plain::default(), given)?;
            Box::new(Scan::new(expressions, &attributes, missing))
        }
    };
    let mut scratch = Scratch::default();
    scratch.set_skipping(skip);
    Ok(direct(begun, matcher, None, scratch, &setting, &attributes))
}

fn check_form(scanned: usize, form: &str, most: usize) -> Result<(), String> {
    match scanned {
        0 => Ok(()),
        1 => Err(cannot(format!("an expression's {form} form would take more than {most} predicates"))),
        _ => Err(cannot(format!(
            "the {form} forms of {scanned} expressions would take more than {most} predicates"
        ))),
    }
}

/// The part of matching that finds true predicates before it examines expressions. Returns their
/// number.
type Find<M> = fn(&M, &Event, &mut Scratch) -> usize;

/// Wraps a matcher and its events for measuring.
fn direct<M: Matcher + ?Sized + 'static>(
    begun: Instant,
    matcher: Box<M>,
    find: Option<Find<M>>,
    scratch: Scratch,
    setting: &Setting<'_>,
    attributes: &Attributes,
) -> Built {
    let (seconds, bytes) = (begun.elapsed().as_secs_f64(), matcher.bytes());
    let events = setting.measured(attributes);
    Built::new(seconds, bytes, Box::new(Direct { matcher, find, events, scratch }))
}

/// A matcher without an index around it.
struct Direct<M: ?Sized> {
    matcher: Box<M>,
    /// A part of matching that is also timed separately.
    find: Option<Find<M>>,
    events: Vec<Event>,
    scratch: Scratch,
}

impl<M: Matcher + ?Sized> Subject for Direct<M> {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        self.matcher.matches(&self.events[event], &mut self.scratch, found);
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        counters(&self.scratch.take_counters())
    }

    fn part(&mut self, event: usize) -> Option<&'static str> {
        std::hint::black_box(self.find?(&self.matcher, &self.events[event], &mut self.scratch));
        Some("index us")
    }
}

/// The nonzero counters, by name.
pub(super) fn counters(counters: &tamis::matcher::Counters) -> Vec<(&'static str, u64)> {
    counters.by_name().into_iter().filter(|(_, count)| *count > 0).collect()
}

/// An index of the expressions, with their numbers as ids.
pub(super) fn index(algorithm: Algorithm, setting: &mut Setting<'_>) -> Result<Index, String> {
    let index = Index::with_algorithm(setting.missing, Limits::default(), algorithm);
    let expressions = std::mem::take(&mut setting.expressions);
    let subscriptions = (0i64..).zip(expressions);
    let subscriptions = subscriptions.map(|(number, expression)| Subscription::new(number, expression));
    index.add_many(subscriptions.collect()).map_err(cannot)?;
    index.settle();
    Ok(index)
}

/// The engine as users have it. Segments compiled without seeing events are compiled again once
/// events have been seen.
fn auto(mut setting: Setting<'_>) -> Result<Built, String> {
    let begun = Instant::now();
    let index = index(Algorithm::Auto, &mut setting)?;
    let seconds = begun.elapsed().as_secs_f64();
    let mut scratch = MatchScratch::default();
    let snapshot = index.snapshot();
    for event in setting.decode(STATISTICS, 256, snapshot.attributes()) {
        snapshot.matches(&event, &mut scratch, |_| ()).map_err(|error| error.to_string())?;
    }
    drop(index.snapshot());
    index.settle();
    let snapshot = index.snapshot();
    let bytes = snapshot.stats().matching_bytes;
    let events = setting.measured(snapshot.attributes());
    Ok(Built::new(seconds, bytes, Box::new(Held { snapshot, events, scratch })))
}

/// An index.
struct Held {
    snapshot: std::sync::Arc<Snapshot>,
    events: Vec<Event>,
    scratch: MatchScratch,
}

impl Subject for Held {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        let take = |id: tamis::IdRef<'_>| found.push(number(id));
        self.snapshot.matches(&self.events[event], &mut self.scratch, take).expect("the index is in memory");
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        counters(&self.scratch.take_counters())
    }
}

/// The number of an expression or node, from its id.
pub(super) fn number(id: tamis::IdRef<'_>) -> u32 {
    match id {
        tamis::IdRef::Integer(number) => number as u32,
        tamis::IdRef::String(text) => unreachable!("measured items have numeric ids, not {text}"),
    }
}
