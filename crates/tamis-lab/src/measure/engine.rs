//! The engine's matchers.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use tamis::{
    ATree, ATreeOptions, Algorithm, Attributes, Cnf, Compiled, Dewey, Event, Index, Interval,
    IntervalOptions, KIndex, KIndexOptions, Limits, MatchScratch, Matcher, Scan, Scratch, Snapshot,
    Subscription,
};

use super::Built;
use super::clock::Subject;
use super::expressions::{STATISTICS, Setting, cannot};
use super::ranking::RankingOptions;
use crate::workload::{Named, Parameters, named, read};

/// By the names that an index takes.
pub(super) const NAMES: [&str; 8] =
    ["auto", "scan", "compiled", "atree", "kindex", "cnf", "dewey", "interval"];

#[derive(Debug, Serialize, Deserialize)]
struct Plain {
    #[serde(flatten)]
    ranking: RankingOptions,
}

#[derive(Debug, Serialize, Deserialize)]
struct CompiledOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    /// The events that tell it what is likely.
    sample: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct ATreeSwitches {
    #[serde(flatten)]
    ranking: RankingOptions,
    share: bool,
    binary: bool,
    zero_suppression: bool,
    reorganise: bool,
    self_adjust: bool,
    propagation_on_demand: bool,
    /// The events that tell it what is likely.
    sample: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct PostingOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    /// Whether equal conjunctions are one.
    share: bool,
    /// Whether posting lists are skipped through.
    skipping: bool,
    /// The most literals of an expression's normal form.
    normal_form: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct CnfOptions {
    #[serde(flatten)]
    ranking: RankingOptions,
    skipping: bool,
    normal_form: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct IntervalSwitches {
    #[serde(flatten)]
    ranking: RankingOptions,
    common_subexpressions: bool,
}

const SAMPLE: u64 = 200;

impl Default for ATreeSwitches {
    fn default() -> Self {
        let usual = ATreeOptions::default();
        ATreeSwitches {
            ranking: RankingOptions::default(),
            share: usual.share,
            binary: usual.binary,
            zero_suppression: usual.zero_suppression,
            reorganise: usual.reorganise,
            self_adjust: usual.self_adjust,
            propagation_on_demand: usual.propagation_on_demand,
            sample: SAMPLE,
        }
    }
}

impl ATreeSwitches {
    fn options(&self) -> ATreeOptions {
        ATreeOptions {
            share: self.share,
            binary: self.binary,
            zero_suppression: self.zero_suppression,
            reorganise: self.reorganise,
            self_adjust: self.self_adjust,
            propagation_on_demand: self.propagation_on_demand,
        }
    }
}

fn plain() -> Plain {
    Plain { ranking: RankingOptions::default() }
}

fn compiled() -> CompiledOptions {
    CompiledOptions { ranking: RankingOptions::default(), sample: SAMPLE }
}

fn kindex() -> PostingOptions {
    let KIndexOptions { share, normal_form } = KIndexOptions::default();
    PostingOptions { ranking: RankingOptions::default(), share, skipping: true, normal_form }
}

fn cnf() -> CnfOptions {
    let normal_form = Limits::default().normal_form;
    CnfOptions { ranking: RankingOptions::default(), skipping: true, normal_form }
}

fn interval() -> IntervalSwitches {
    let IntervalOptions { common_subexpressions } = IntervalOptions::default();
    IntervalSwitches { ranking: RankingOptions::default(), common_subexpressions }
}

macro_rules! any_value {
    ($($options:ty),*) => {
        $(impl Parameters for $options {
            fn check(&self) -> Result<(), String> {
                self.ranking.check()
            }
        })*
    };
}
any_value!(Plain, CompiledOptions, ATreeSwitches, PostingOptions, CnfOptions, IntervalSwitches);

/// The options of a matcher with their defaults.
pub(super) fn options(name: &str) -> Named {
    match name {
        "compiled" => named(&compiled()),
        "atree" => named(&ATreeSwitches::default()),
        "kindex" => named(&kindex()),
        "cnf" => named(&cnf()),
        "interval" => named(&interval()),
        _ => named(&plain()),
    }
}

/// Builds a matcher that is asked for all matches.
pub(super) fn build(name: &str, given: &Named, setting: Setting<'_>) -> Result<Built, String> {
    let (attributes, missing) = (setting.attributes(), setting.missing);
    let begun = Instant::now();
    let expressions = &setting.expressions;
    let mut skip = true;
    let matcher: Box<dyn Matcher> = match name {
        "auto" => {
            read("option", plain(), given)?;
            return auto(setting);
        }
        "compiled" => {
            let CompiledOptions { sample, .. } = read("option", compiled(), given)?;
            let sample = setting.decode(STATISTICS, sample, &attributes);
            Box::new(Compiled::new(expressions, &attributes, missing, &sample))
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
            let PostingOptions { share, skipping, normal_form, .. } = read("option", kindex(), given)?;
            skip = skipping;
            let options = KIndexOptions { share, normal_form };
            let index = KIndex::new(expressions, &attributes, missing, options);
            check_form(index.scanned(), "disjunctive", normal_form)?;
            Box::new(index)
        }
        "cnf" => {
            let CnfOptions { skipping, normal_form, .. } = read("option", cnf(), given)?;
            skip = skipping;
            let index = Cnf::new(expressions, &attributes, missing, normal_form);
            check_form(index.scanned(), "conjunctive", normal_form)?;
            Box::new(index)
        }
        "interval" => {
            let IntervalSwitches { common_subexpressions, .. } = read("option", interval(), given)?;
            let options = IntervalOptions { common_subexpressions };
            let interval = Interval::new(expressions, &attributes, missing, options);
            return Ok(labelled(begun, interval, Interval::true_conjunctions, &setting, &attributes));
        }
        "dewey" => {
            read("option", plain(), given)?;
            let dewey = Dewey::new(expressions, &attributes, missing);
            return Ok(labelled(begun, dewey, Dewey::true_conjunctions, &setting, &attributes));
        }
        _ => {
            read("option", plain(), given)?;
            Box::new(Scan::new(expressions, &attributes, missing))
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    let mut scratch = Scratch::default();
    scratch.set_skipping(skip);
    let events = setting.measured(&attributes);
    let bytes = matcher.bytes();
    Ok(Built::new(seconds, bytes, Box::new(Direct { matcher, events, scratch })))
}

fn check_form(scanned: usize, form: &str, most: usize) -> Result<(), String> {
    match scanned {
        0 => Ok(()),
        1 => Err(cannot(format!("an expression's {form} form would take more than {most} literals"))),
        _ => Err(cannot(format!(
            "the {form} forms of {scanned} expressions would take more than {most} literals"
        ))),
    }
}

/// A matcher by itself.
struct Direct {
    matcher: Box<dyn Matcher>,
    events: Vec<Event>,
    scratch: Scratch,
}

impl Subject for Direct {
    fn events(&self) -> usize {
        self.events.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        self.matcher.matches(&self.events[event], &mut self.scratch, found);
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        counters(&self.scratch.take_counters())
    }
}

/// A matcher that finds true conjunctions first, which is also timed by itself.
fn labelled<M: Matcher + 'static>(
    begun: Instant,
    matcher: M,
    find: Find<M>,
    setting: &Setting<'_>,
    attributes: &Attributes,
) -> Built {
    let (seconds, bytes) = (begun.elapsed().as_secs_f64(), matcher.bytes());
    let events = setting.measured(attributes);
    let labelled = Labelled { matcher, find, events, scratch: Scratch::default() };
    Built::new(seconds, bytes, Box::new(labelled))
}

type Find<M> = fn(&M, &Event, &mut Scratch) -> usize;

struct Labelled<M> {
    matcher: M,
    find: Find<M>,
    events: Vec<Event>,
    scratch: Scratch,
}

impl<M: Matcher> Subject for Labelled<M> {
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
        std::hint::black_box((self.find)(&self.matcher, &self.events[event], &mut self.scratch));
        Some("index us")
    }
}

/// What was counted, by name; what was not is left out.
pub(super) fn counters(counters: &tamis::Counters) -> Vec<(&'static str, u64)> {
    let tamis::Counters {
        lists,
        entries,
        candidates,
        scored,
        sizes_skipped,
        leaves,
        probes,
        predicates,
        nodes,
    } = *counters;
    let all = [
        ("lists", lists),
        ("entries", entries),
        ("candidates", candidates),
        ("scored", scored),
        ("sizes skipped", sizes_skipped),
        ("leaves", leaves),
        ("probes", probes),
        ("predicates", predicates),
        ("nodes", nodes),
    ];
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// An index that holds the expressions under their numbers.
pub(super) fn index(algorithm: Algorithm, setting: &mut Setting<'_>) -> Result<Index, String> {
    let index = Index::with_algorithm(setting.missing, Limits::default(), algorithm);
    let expressions = std::mem::take(&mut setting.expressions);
    let subscriptions = (0i64..).zip(expressions);
    let subscriptions = subscriptions.map(|(number, expression)| Subscription::new(number, expression));
    index.add_many(subscriptions.collect()).map_err(cannot)?;
    index.settle();
    Ok(index)
}

/// The engine as users hold it. Once events have been seen, what was compiled without them is compiled again.
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
        self.snapshot.matches(&self.events[event], &mut self.scratch, take).expect("nothing is on disk");
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        counters(&self.scratch.take_counters())
    }
}

/// The number of an expression that an index holds, or of a node.
pub(super) fn number(id: tamis::IdRef<'_>) -> u32 {
    match id {
        tamis::IdRef::Integer(number) => number as u32,
        tamis::IdRef::String(text) => unreachable!("what is measured is numbered, not called {text}"),
    }
}
