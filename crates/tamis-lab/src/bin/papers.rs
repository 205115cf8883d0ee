//! Do the papers' findings hold today?
//!
//! ```console
//! $ papers                          # every experiment, at its size
//! $ papers fontoura-2 10000         # one, with so many expressions
//! $ papers whang-rare 10000 bdd     # with these matchers
//! ```
//!
//! An experiment is a workload, the matchers that a paper compares on it, and what is to be found. Every
//! matcher runs in a process of its own, and its match counts on a sample of events must equal those of the
//! oracle before any time is reported. Events are decoded beforehand.

use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tamis::{
    Algorithm, Attributes, Cnf, Compiled, Dewey, Event, EventWeights, Expression, Index, Interval,
    IntervalOptions, KIndex, KIndexOptions, Limits, MatchScratch, Matcher, Missing, Pruning, Scratch,
    Snapshot, Subscription,
};
use tamis_lab::comparator::{COMPARATORS, Input, Work};
use tamis_lab::measure::weigh;
use tamis_lab::workload::{
    Fontoura, FontouraParameters, Form, Whang, WhangParameters, Workload, count_matches,
};

/// Events per pass, and those on which counts are compared.
const EVENTS: u64 = 200;
const SAMPLE: u64 = 10;

/// Events that tell matchers what is likely, none of which is measured.
const STATISTICS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 200;

/// A matcher is run over and over for about so long, but at least [`PASSES`] times.
const BUDGET: Duration = Duration::from_secs(3);
const PASSES: usize = 3;

/// The most that one expression may grow to for a comparator.
const MOST: usize = 1 << 20;

/// How many a ranking gives.
const BEST: usize = 5;

/// What is compared, and what is to be found.
struct Experiment {
    name: &'static str,
    workload: fn() -> Box<dyn Workload>,
    expressions: u32,
    matchers: &'static [&'static str],
    findings: &'static [Finding],
}

/// One matcher's figure is so many times less than another's.
struct Finding {
    less: &'static str,
    more: &'static str,
    figure: Figure,
    times: f64,
}

#[derive(Clone, Copy)]
enum Figure {
    Time,
    Bytes,
    Entries,
    /// Nodes, cells or scores.
    Evaluated,
}

fn whang(months: u32, form: Form) -> Box<dyn Workload> {
    Box::new(Whang::new(WhangParameters { months, form, ..Default::default() }))
}

fn fontoura(depth: u8) -> Box<dyn Workload> {
    Box::new(Fontoura::new(FontouraParameters { depth: (depth, depth), ..Default::default() }))
}

const EXPERIMENTS: [Experiment; 6] = [
    // Whang et al. 2009, Figure 14, at both ends.
    Experiment {
        name: "whang-rare",
        workload: || whang(12, Form::Disjunctive),
        expressions: 1_000_000,
        matchers: &["kindex", "sift", "propagation", "compiled"],
        findings: &[Finding { less: "kindex", more: "sift", figure: Figure::Entries, times: 5.0 }],
    },
    Experiment {
        name: "whang-frequent",
        workload: || whang(1, Form::Disjunctive),
        expressions: 1_000_000,
        matchers: &["kindex", "sift", "propagation", "compiled"],
        findings: &[],
    },
    // Figure 19: a ranking scores fewer expressions than match, and takes no longer.
    Experiment {
        name: "whang-top",
        workload: || Box::new(Whang::new(WhangParameters { weighted: true, ..Default::default() })),
        expressions: 1_000_000,
        matchers: &["match", "top-all", "top-paper", "top"],
        findings: &[
            Finding { less: "top-paper", more: "top-all", figure: Figure::Evaluated, times: 1.0 },
            Finding { less: "top", more: "top-all", figure: Figure::Evaluated, times: 1.0 },
            Finding { less: "top", more: "match", figure: Figure::Time, times: 1.0 },
        ],
    },
    // Figure 18, and the time to build a million (1.5 hours in section 7).
    Experiment {
        name: "whang-cnf",
        workload: || whang(1, Form::Conjunctive),
        expressions: 1_000_000,
        matchers: &["cnf", "pscan", "interval", "compiled"],
        findings: &[],
    },
    // Fontoura et al. 2010, Table 2 and Figures 8 and 10.
    Experiment {
        name: "fontoura-2",
        workload: || fontoura(2),
        expressions: 200_000,
        matchers: &[
            "interval",
            "interval-common",
            "dewey",
            "dnf-expansion",
            "scan-with-conjunctions",
            "compiled",
        ],
        findings: &[
            Finding { less: "interval", more: "scan-with-conjunctions", figure: Figure::Time, times: 10.0 },
            Finding { less: "interval", more: "dewey", figure: Figure::Time, times: 1.0 },
            Finding { less: "interval", more: "dnf-expansion", figure: Figure::Bytes, times: 10.0 },
        ],
    },
    Experiment {
        name: "fontoura-4",
        workload: || fontoura(4),
        expressions: 20_000,
        matchers: &["interval", "interval-common", "dewey", "bop", "compiled"],
        findings: &[Finding { less: "interval", more: "dewey", figure: Figure::Time, times: 1.0 }],
    },
];

/// How much a matcher did.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    matches: u64,
    entries: u64,
    candidates: u64,
    evaluated: u64,
}

type Run = Box<dyn FnMut(&Event, &EventWeights) -> Done>;

struct Built {
    seconds: f64,
    bytes: usize,
    run: Run,
    /// Whose attributes events are decoded with, where it has its own.
    snapshot: Option<Arc<Snapshot>>,
}

fn matcher<M: Matcher + 'static>(seconds: f64, matcher: M) -> Built {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    let bytes = matcher.bytes();
    let run = Box::new(move |event: &Event, _: &EventWeights| {
        found.clear();
        matcher.matches(event, &mut scratch, &mut found);
        let counters = scratch.take_counters();
        Done {
            matches: found.len() as u64,
            entries: counters.entries,
            candidates: counters.candidates,
            evaluated: counters.probes,
        }
    });
    Built { seconds, bytes, run, snapshot: None }
}

/// Builds a matcher of the engine or a comparator.
fn build(
    name: &str,
    expressions: &[Expression],
    attributes: &Attributes,
    missing: Missing,
    sample: &[Event],
) -> Result<Built, String> {
    let begun = Instant::now();
    let seconds = || begun.elapsed().as_secs_f64();
    let interval = |common_subexpressions| {
        Interval::new(expressions, attributes, missing, IntervalOptions { common_subexpressions })
    };
    Ok(match name {
        "kindex" => {
            let index = KIndex::new(expressions, attributes, missing, KIndexOptions::default());
            matcher(seconds(), index)
        }
        "cnf" => {
            let index = Cnf::new(expressions, attributes, missing, Limits::default().normal_form);
            matcher(seconds(), index)
        }
        "match" | "top-all" | "top-paper" | "top" => ranked(name, expressions, missing, begun)?,
        "dewey" => {
            let dewey = Dewey::new(expressions, attributes, missing);
            matcher(seconds(), dewey)
        }
        "interval" | "interval-common" => {
            let interval = interval(name == "interval-common");
            matcher(seconds(), interval)
        }
        "compiled" => {
            let compiled = Compiled::new(expressions, attributes, missing, sample);
            matcher(seconds(), compiled)
        }
        _ => {
            let known = COMPARATORS.iter().find(|(comparator, _)| *comparator == name);
            let (_, build) = known.ok_or_else(|| format!("there is no matcher {name:?}"))?;
            let input = Input { expressions, attributes, missing, sample, most: MOST };
            let comparator = build(&input).map_err(|refused| refused.to_string())?;
            let (mut work, mut found) = (Work::default(), Vec::new());
            let (seconds, bytes) = (seconds(), comparator.bytes());
            let run = Box::new(move |event: &Event, _: &EventWeights| {
                found.clear();
                comparator.matches(event, &mut work, &mut found);
                let counters = work.take_counters();
                Done {
                    matches: found.len() as u64,
                    entries: counters.entries,
                    candidates: counters.candidates,
                    evaluated: counters.nodes,
                }
            });
            Built { seconds, bytes, run, snapshot: None }
        }
    })
}

/// An index over the K-index, as users hold it, that matches or ranks.
fn ranked(name: &str, expressions: &[Expression], missing: Missing, begun: Instant) -> Result<Built, String> {
    let index = Index::with_algorithm(missing, Limits::default(), Algorithm::KIndex);
    let subscriptions = (0i64..).zip(expressions);
    let subscriptions =
        subscriptions.map(|(number, expression)| Subscription::new(number, expression.clone())).collect();
    index.add_many(subscriptions).map_err(|error| error.to_string())?;
    index.settle();
    let snapshot = index.snapshot();
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = snapshot.stats().matching_bytes;
    let pruning = match name {
        "top-all" => Pruning::None,
        "top-paper" => Pruning::Paper,
        _ => Pruning::Tight,
    };
    let mut scratch = MatchScratch::default();
    scratch.set_pruning(pruning);
    let ranks = name != "match";
    let held = Arc::clone(&snapshot);
    let run = Box::new(move |event: &Event, weights: &EventWeights| {
        let mut matches = 0;
        if ranks {
            let best = snapshot.top(event, BEST, weights, &mut scratch);
            matches = best.expect("nothing is on disk").len() as u64;
        } else {
            snapshot.matches(event, &mut scratch, |_| matches += 1).expect("nothing is on disk");
        }
        let counters = scratch.take_counters();
        Done {
            matches,
            entries: counters.entries,
            candidates: counters.candidates,
            evaluated: counters.scored,
        }
    });
    Ok(Built { seconds, bytes, run, snapshot: Some(held) })
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    build: f64,
    bytes: f64,
    best: f64,
    median: f64,
    entries: f64,
    candidates: f64,
    evaluated: f64,
    matches: f64,
}

impl Row {
    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Time => self.best,
            Figure::Bytes => self.bytes,
            Figure::Entries => self.entries,
            Figure::Evaluated => self.evaluated,
        }
    }

    fn numbers(&self) -> [f64; 8] {
        [
            self.build,
            self.bytes,
            self.best,
            self.median,
            self.entries,
            self.candidates,
            self.evaluated,
            self.matches,
        ]
    }

    fn read(line: &str) -> Option<Row> {
        let numbers: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        let [build, bytes, best, median, entries, candidates, evaluated, matches] = numbers?[..] else {
            return None;
        };
        Some(Row { build, bytes, best, median, entries, candidates, evaluated, matches })
    }
}

/// A matcher whose match counts are right.
struct Checked {
    seconds: f64,
    bytes: usize,
    run: Run,
    events: Vec<(Event, EventWeights)>,
    /// What one event took, about.
    each: f64,
}

impl Checked {
    /// Builds a matcher and compares its counts with those wanted.
    fn new(name: &str, workload: &dyn Workload, expressions: u32, wanted: &[u64]) -> Result<Checked, String> {
        let attributes = Attributes::default();
        let parsed: Vec<Expression> =
            (0..expressions).map(|number| workload.expression(number.into())).collect();
        for predicate in parsed.iter().flat_map(Expression::predicates) {
            attributes.intern(predicate.attribute());
        }
        let decode = |number, attributes: &Attributes| {
            let mut event = Event::default();
            event
                .decode_json(workload.event(number).as_bytes(), attributes, &Limits::none())
                .expect("what a workload writes can be read");
            event
        };
        let sample: Vec<Event> = STATISTICS.map(|number| decode(number, &attributes)).collect();
        let built = build(name, &parsed, &attributes, workload.missing(), &sample)?;
        let Built { seconds, bytes, mut run, snapshot } = built;
        let attributes = snapshot.as_ref().map_or(&attributes, |snapshot| snapshot.attributes());
        let events = (0..EVENTS).map(|number| {
            let event = decode(number, attributes);
            let weights = weigh(&event, number, attributes);
            (event, weights)
        });
        let events: Vec<(Event, EventWeights)> = events.collect();
        let begun = Instant::now();
        for (number, (&wanted, (event, weights))) in wanted.iter().zip(&events).enumerate() {
            let found = run(event, weights).matches;
            let wanted = if name.starts_with("top") { wanted.min(BEST as u64) } else { wanted };
            if found != wanted {
                return Err(format!("{found} matches on event {number}, not {wanted}"));
            }
        }
        let each = begun.elapsed().as_secs_f64() / wanted.len().max(1) as f64;
        Ok(Checked { seconds, bytes, run, events, each })
    }

    fn measure(mut self) -> Row {
        // Slow matchers see fewer events per pass.
        let count = (2.0 * BUDGET.as_secs_f64() / PASSES as f64 / self.each) as usize;
        let count = count.clamp(SAMPLE as usize, self.events.len());
        let (mut passes, mut done) = (Vec::new(), Done::default());
        let begun = Instant::now();
        while passes.len() < PASSES || begun.elapsed() < BUDGET {
            done = Done::default();
            let pass = Instant::now();
            for (event, weights) in &self.events[..count] {
                let more = (self.run)(event, weights);
                done.matches += more.matches;
                done.entries += more.entries;
                done.candidates += more.candidates;
                done.evaluated += more.evaluated;
            }
            passes.push(pass.elapsed().as_secs_f64() * 1e6 / count as f64);
        }
        passes.sort_by(f64::total_cmp);
        let each = |total: u64| total as f64 / count as f64;
        Row {
            build: self.seconds,
            bytes: self.bytes as f64,
            best: passes[0],
            median: passes[passes.len() / 2],
            entries: each(done.entries),
            candidates: each(done.candidates),
            evaluated: each(done.evaluated),
            matches: each(done.matches),
        }
    }
}

/// The first argument of a process that runs one matcher.
const ALONE: &str = "--alone";

/// Runs one matcher in a process of its own.
fn run(experiment: &Experiment, expressions: u32, name: &str, wanted: &str) -> Result<Row, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args([ALONE, experiment.name, &expressions.to_string(), name, wanted])
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let line = String::from_utf8_lossy(&output.stdout);
    Row::read(&line).ok_or_else(|| format!("cannot read {line:?}"))
}

fn compare(experiment: &Experiment, expressions: u32, names: &[&str]) -> Result<(), String> {
    let workload = (experiment.workload)();
    let wanted = count_matches(&*workload, 0..expressions.into(), 0..SAMPLE);
    let wanted: Vec<String> = wanted.iter().map(u64::to_string).collect();
    println!("{}: {}, {expressions} expressions", experiment.name, workload.name());
    println!(
        "{:24}{:>9}{:>9}{:>9}{:>12}{:>12}{:>12}{:>12}{:>12}{:>12}",
        "matcher",
        "build s",
        "MB",
        "B/expr",
        "best us",
        "median us",
        "entries",
        "candidates",
        "evaluated",
        "matches"
    );
    let mut rows: Vec<(&str, Row)> = Vec::new();
    for &name in names {
        match run(experiment, expressions, name, &wanted.join(",")) {
            Err(message) => println!("{name:24}{message}"),
            Ok(row) => {
                let [build, bytes, best, median, entries, candidates, evaluated, matches] = row.numbers();
                println!(
                    "{name:24}{build:>9.2}{:>9.1}{:>9.0}{best:>12.1}{median:>12.1}{entries:>12.0}{candidates:>12.0}{evaluated:>12.0}{matches:>12.1}",
                    bytes / 1e6,
                    bytes / f64::from(expressions.max(1)),
                );
                rows.push((name, row));
            }
        }
    }
    for finding in experiment.findings {
        let row = |name: &str| rows.iter().find(|(other, _)| *other == name).map(|(_, row)| row);
        if let (Some(less), Some(more)) = (row(finding.less), row(finding.more)) {
            println!("{}", describe(finding, less, more));
        }
    }
    println!();
    Ok(())
}

fn describe(finding: &Finding, less: &Row, more: &Row) -> String {
    let what = match finding.figure {
        Figure::Time => "time",
        Figure::Bytes => "bytes",
        Figure::Entries => "entries read",
        Figure::Evaluated => "scores",
    };
    let times = more.figure(finding.figure) / less.figure(finding.figure).max(f64::MIN_POSITIVE);
    let held = if times >= finding.times { "as found" } else { "NOT as found" };
    format!(
        "{held}: {what} of {} over {} are {times:.2}, to be at least {}",
        finding.more, finding.less, finding.times
    )
}

fn experiment(name: &str) -> Result<&'static Experiment, String> {
    EXPERIMENTS.iter().find(|experiment| experiment.name == name).ok_or_else(|| {
        let names: Vec<_> = EXPERIMENTS.iter().map(|experiment| experiment.name).collect();
        format!("there is no experiment {name:?}; there are {}", names.join(", "))
    })
}

fn start(arguments: &[&str]) -> Result<(), String> {
    let number = |text: &str| {
        text.parse::<u32>().map_err(|_| "usage: papers [EXPERIMENT [EXPRESSIONS [MATCHER ...]]]".to_owned())
    };
    match arguments {
        [ALONE, name, expressions, matcher, wanted] => {
            let wanted: Result<Vec<u64>, _> = wanted.split(',').map(str::parse).collect();
            let wanted = wanted.map_err(|error| error.to_string())?;
            let workload = (experiment(name)?.workload)();
            let row = Checked::new(matcher, &*workload, number(expressions)?, &wanted)?.measure();
            println!("{}", row.numbers().map(|number| number.to_string()).join(" "));
            Ok(())
        }
        [] => EXPERIMENTS
            .iter()
            .try_for_each(|experiment| compare(experiment, experiment.expressions, experiment.matchers)),
        [name] => {
            let experiment = experiment(name)?;
            compare(experiment, experiment.expressions, experiment.matchers)
        }
        [name, expressions] => {
            let experiment = experiment(name)?;
            compare(experiment, number(expressions)?, experiment.matchers)
        }
        [name, expressions, matchers @ ..] => compare(experiment(name)?, number(expressions)?, matchers),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_matcher_of_every_experiment_counts_like_the_oracle() {
        for experiment in &EXPERIMENTS {
            let workload = (experiment.workload)();
            let wanted = count_matches(&*workload, 0..500, 0..SAMPLE);
            assert!(wanted.iter().sum::<u64>() > 0);
            for name in experiment.matchers {
                let checked = Checked::new(name, &*workload, 500, &wanted);
                let bytes = checked.map(|checked| checked.bytes);
                assert!(bytes.as_ref().is_ok_and(|bytes| *bytes > 0), "{name}: {bytes:?}");
            }
        }
    }

    #[test]
    fn a_wrong_count_gets_no_time() {
        let workload = fontoura(2);
        let message = Checked::new("interval", &*workload, 100, &[1000]).err().unwrap();
        assert!(message.contains("matches on event 0, not 1000"), "{message}");
    }

    #[test]
    fn rows_and_findings() {
        let row = Row {
            build: 1.5,
            bytes: 10.0,
            best: 2.0,
            median: 3.0,
            entries: 4.0,
            candidates: 5.0,
            evaluated: 6.0,
            matches: 7.0,
        };
        let line = row.numbers().map(|number| number.to_string()).join(" ");
        assert_eq!(Row::read(&line), Some(row.clone()));
        assert_eq!(Row::read("1 2"), None);
        let finding = Finding { less: "a", more: "b", figure: Figure::Entries, times: 5.0 };
        let more = Row { entries: 24.0, ..row.clone() };
        assert!(describe(&finding, &row, &more).contains("as found: entries read of b over a are 6.00"));
        assert!(describe(&finding, &more, &row).starts_with("NOT as found"));
    }

    #[test]
    fn arguments_are_checked() {
        assert!(start(&["nothing"]).unwrap_err().contains("whang-rare, whang-frequent"));
        assert!(start(&["fontoura-2", "many"]).unwrap_err().starts_with("usage"));
    }
}
