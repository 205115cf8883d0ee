//! How fast is the engine, compared with matchers that only support conjunctions?
//!
//! ```console
//! $ engine conjunctive 100000               # every matcher that supports the workload
//! $ engine dense 100000 counting compact    # only these
//! ```
//!
//! Every matcher runs in a separate process, so that memory is measured separately. Before any time
//! is reported, its match counts on a sample of events must equal those of the oracle. Events are
//! decoded in advance: the times are for matching only.

use std::ops::Range;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use tamis::index::{FoundIds, MatchScratch, WrittenSubscription};
use tamis::matcher::Evaluation;
use tamis::{Event, Index, Limits};
use tamis_lab::reference::{Access, Compact, Corpus, Counting, Probabilities, Reference, ReferenceScratch};
use tamis_lab::workload::{Conjunctive, NAMES, Pair, Workload, by_name, count_matches};

/// Events per pass.
const EVENTS: u64 = 1024;

/// Events on which match counts are compared.
const SAMPLE: u64 = 20;

/// Events from which the references estimate probabilities; none of these is measured.
const STATISTICS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 200;

/// A matcher runs repeatedly for about this time, but at least [`PASSES`] times.
const BUDGET: Duration = Duration::from_secs(5);
const PASSES: usize = 3;

/// Matches events, by their numbers, and returns how many expressions they satisfy.
type Match = Box<dyn FnMut(Range<usize>) -> u64>;

/// A matcher that was built for a workload.
struct Built {
    seconds: f64,
    /// Resident memory added by building.
    bytes: u64,
    matches: Match,
}

/// One row of the table: a name and a function that builds the matcher, if it supports the
/// workload.
struct Contender {
    name: &'static str,
    build: fn(&Setting) -> Option<Built>,
}

/// All matchers. To measure another matcher of the engine, add a line here and a function below.
const CONTENDERS: [Contender; 6] = [
    Contender { name: "counting", build: |setting| reference(setting, |corpus, _| Counting::new(corpus)) },
    Contender { name: "access", build: |setting| reference(setting, Access::new) },
    Contender { name: "compact", build: |setting| reference(setting, Compact::new) },
    Contender { name: "index", build: |setting| index(setting, None) },
    Contender { name: "events", build: |setting| index(setting, Some(Evaluation::Events)) },
    Contender { name: "blocks", build: |setting| index(setting, Some(Evaluation::Blocks)) },
];

/// The workload to measure.
struct Setting {
    workload: String,
    expressions: u32,
}

impl Setting {
    fn workload(&self) -> Option<Box<dyn Workload>> {
        by_name(&self.workload, self.expressions.into())
    }

    /// The workload in the form that the references support.
    fn conjunctive(&self) -> Option<Conjunctive> {
        match self.workload.as_str() {
            "conjunctive" => Some(Conjunctive::sparse()),
            "dense" => Some(Conjunctive::dense()),
            _ => None,
        }
    }
}

fn reference<R: Reference + 'static>(
    setting: &Setting,
    build: impl FnOnce(&Corpus, &Probabilities) -> R,
) -> Option<Built> {
    let workload = setting.conjunctive()?;
    let draw = |number| {
        let mut pairs = Vec::new();
        workload.draw_event(number, &mut pairs);
        pairs
    };
    let corpus = Corpus::generate(&workload, setting.expressions);
    let sample: Vec<Vec<Pair>> = STATISTICS.map(draw).collect();
    let events: Vec<Vec<Pair>> = (0..EVENTS).map(draw).collect();
    let (before, begun) = (resident(), Instant::now());
    let probabilities = Probabilities::sample(&corpus, sample.iter().map(Vec::as_slice));
    let matcher = build(&corpus, &probabilities);
    let seconds = begun.elapsed().as_secs_f64();
    drop(probabilities);
    let bytes = resident().saturating_sub(before);
    let (mut scratch, mut found) = (ReferenceScratch::default(), Vec::new());
    let matches = Box::new(move |range: Range<usize>| {
        let count = |event: &Vec<Pair>| {
            found.clear();
            matcher.matches(event, &mut scratch, &mut found);
            found.len() as u64
        };
        events[range].iter().map(count).sum()
    });
    Some(Built { seconds, bytes, matches })
}

/// The engine as users have it: its default matcher, built from text, matching single events or
/// batches with this evaluation. Memory includes the expressions kept by the subscriptions.
fn index(setting: &Setting, batch: Option<Evaluation>) -> Option<Built> {
    let workload = setting.workload()?;
    let written =
        |number: u32| WrittenSubscription::new(i64::from(number), workload.expression_text(number.into()));
    let written: Vec<WrittenSubscription> = (0..setting.expressions).map(written).collect();
    let (before, begun) = (resident(), Instant::now());
    let index = Index::new(workload.missing(), Limits::default());
    index.add_written(written).expect("a workload writes valid expressions");
    let seconds = begun.elapsed().as_secs_f64();
    let bytes = resident().saturating_sub(before);
    // As in use: segments compiled without seeing events are compiled again once events have been
    // seen.
    let first = index.snapshot();
    let mut scratch = MatchScratch::default();
    for number in STATISTICS.start..STATISTICS.start + 256 {
        let mut event = Event::default();
        event
            .decode_json(workload.event(number).as_bytes(), first.attributes(), index.limits())
            .expect("a workload writes valid events");
        first.matches(&event, &mut scratch, |_| ()).expect("the index is in memory");
    }
    index.settle();
    let snapshot = index.snapshot();
    let stats = snapshot.stats();
    let per_expression = |bytes: usize| bytes / setting.expressions.max(1) as usize;
    eprintln!(
        "index: {} B/expr to match, {} B/expr of subscriptions, {} segments",
        per_expression(stats.matching_bytes),
        per_expression(stats.subscription_bytes),
        stats.segments
    );
    let decode = |number| {
        let mut event = Event::default();
        event
            .decode_json(workload.event(number).as_bytes(), snapshot.attributes(), index.limits())
            .expect("a workload writes valid events");
        event
    };
    let events: Vec<Event> = (0..EVENTS).map(decode).collect();
    scratch.set_evaluation(batch.unwrap_or_default());
    let matches = Box::new(move |range: Range<usize>| {
        let mut count = 0;
        let matched = match batch {
            Some(_) => snapshot.matches_many(&events[range], &mut scratch, |_, _| count += 1),
            None => events[range].iter().try_for_each(|event| {
                let found = snapshot.ids_selected(event, None, &mut scratch)?;
                count += match &found {
                    FoundIds::Integers(ids) => ids.len() as u64,
                    FoundIds::Any(ids) => ids.len() as u64,
                };
                scratch.reuse(found);
                Ok(())
            }),
        };
        matched.expect("the index is in memory");
        count
    });
    Some(Built { seconds, bytes, matches })
}

/// The resident memory of the process in bytes; 0 if the system does not report it.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes =
        line.and_then(|line| line.split_whitespace().next()).and_then(|text| text.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}

/// Builds a matcher, compares its match counts with the expected ones, measures it and prints its
/// row.
fn measure(contender: &Contender, setting: &Setting, wanted: &[u64]) -> Result<(), String> {
    let Some(Built { seconds, bytes, mut matches }) = (contender.build)(setting) else {
        println!("{:10}  does not support this workload", contender.name);
        return Ok(());
    };
    let begun = Instant::now();
    for (event, &wanted) in wanted.iter().enumerate() {
        let found = matches(event..event + 1);
        if found != wanted {
            return Err(format!("{}: {found} matches on event {event}, not {wanted}", contender.name));
        }
    }
    let (found, all) = (matches(0..wanted.len()), wanted.iter().sum::<u64>());
    if found != all {
        return Err(format!("{}: {found} matches on the sample, expected {all}", contender.name));
    }
    // Slow matchers get fewer events per pass. Estimate from the sample, for a total of four times
    // the budget.
    let each = begun.elapsed().as_secs_f64() / (2 * wanted.len().max(1)) as f64;
    let events = (4.0 * BUDGET.as_secs_f64() / PASSES as f64 / each) as usize;
    let events = events.clamp(SAMPLE as usize, EVENTS as usize);
    let (mut passes, mut found) = (Vec::new(), 0);
    let begun = Instant::now();
    while passes.len() < PASSES || begun.elapsed() < BUDGET {
        let pass = Instant::now();
        found = matches(0..events);
        passes.push(pass.elapsed().as_secs_f64() * 1e6 / events as f64);
    }
    passes.sort_by(f64::total_cmp);
    println!(
        "{:10}{:>10.2}{:>12.1}{:>12.0}{:>14.1}{:>14.1}{:>10}{:>16.1}",
        contender.name,
        seconds,
        bytes as f64 / 1e6,
        bytes as f64 / f64::from(setting.expressions.max(1)),
        passes[0],
        passes[passes.len() / 2],
        format!("{}x{}", passes.len(), events),
        found as f64 / events as f64,
    );
    Ok(())
}

/// Runs one matcher in a separate process.
fn run(contender: &Contender, setting: &Setting, wanted: &str) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let expressions = setting.expressions.to_string();
    let status = Command::new(program)
        .args([ALONE, contender.name, &setting.workload, &expressions, wanted])
        .status()
        .map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", contender.name)) }
}

/// The first argument of a process that runs one matcher.
const ALONE: &str = "--alone";

fn contender(name: &str) -> Result<&'static Contender, String> {
    CONTENDERS.iter().find(|contender| contender.name == name).ok_or_else(|| {
        let names: Vec<_> = CONTENDERS.iter().map(|contender| contender.name).collect();
        format!("unknown matcher {name:?}; known: {}", names.join(", "))
    })
}

fn start(arguments: &[String]) -> Result<(), String> {
    let usage = || {
        format!(
            "usage: engine WORKLOAD EXPRESSIONS [MATCHER ...]\nwhere WORKLOAD is one of {}",
            NAMES.join(", ")
        )
    };
    let setting = |workload: &String, expressions: &String| {
        let expressions = expressions.parse().map_err(|_| usage())?;
        Ok::<_, String>(Setting { workload: workload.clone(), expressions })
    };
    match arguments {
        [alone, name, workload, expressions, wanted] if alone == ALONE => {
            let wanted: Result<Vec<u64>, _> = wanted.split(',').map(str::parse).collect();
            measure(contender(name)?, &setting(workload, expressions)?, &wanted.map_err(|_| usage())?)
        }
        [workload, expressions, names @ ..] => {
            let setting = setting(workload, expressions)?;
            let source = setting.workload().ok_or_else(usage)?;
            let chosen: Vec<&Contender> = match names {
                [] => CONTENDERS.iter().collect(),
                names => names.iter().map(|name| contender(name)).collect::<Result<_, _>>()?,
            };
            let wanted = count_matches(&*source, 0..setting.expressions.into(), 0..SAMPLE);
            let wanted: Vec<String> = wanted.iter().map(u64::to_string).collect();
            println!("{workload}, {expressions} expressions");
            println!(
                "{:10}{:>10}{:>12}{:>12}{:>14}{:>14}{:>10}{:>16}",
                "matcher", "build s", "MB", "B/expr", "best us/event", "median us", "passes", "matches/event"
            );
            chosen.iter().try_for_each(|contender| run(contender, &setting, &wanted.join(",")))
        }
        _ => Err(usage()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
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

    const SETTING: fn() -> Setting = || Setting { workload: "conjunctive".to_owned(), expressions: 2000 };

    fn wanted(setting: &Setting) -> Vec<u64> {
        count_matches(&*setting.workload().unwrap(), 0..setting.expressions.into(), 0..SAMPLE)
    }

    #[test]
    fn every_contender_counts_like_the_oracle() {
        let setting = SETTING();
        let wanted = wanted(&setting);
        assert!(wanted.iter().sum::<u64>() > 0);
        for contender in &CONTENDERS {
            let mut built = (contender.build)(&setting).unwrap();
            let found: Vec<u64> =
                (0..SAMPLE as usize).map(|event| (built.matches)(event..event + 1)).collect();
            assert_eq!(found, wanted, "{}", contender.name);
        }
    }

    #[test]
    fn a_wrong_matcher_gets_no_time() {
        let wrong = Contender {
            name: "wrong",
            build: |setting| {
                let mut built = index(setting, None)?;
                let matches = Box::new(move |range: Range<usize>| {
                    let wrong = u64::from(range.contains(&7));
                    (built.matches)(range) + wrong
                });
                Some(Built { seconds: 0.0, bytes: 0, matches })
            },
        };
        let setting = SETTING();
        let message = measure(&wrong, &setting, &wanted(&setting)).unwrap_err();
        assert!(message.contains("on event 7"), "{message}");
    }

    #[test]
    fn references_do_not_know_trees() {
        let setting = Setting { workload: "abe-gen".to_owned(), expressions: 10 };
        for contender in &CONTENDERS[..3] {
            assert!((contender.build)(&setting).is_none());
        }
    }

    #[test]
    fn arguments_are_checked() {
        let start = |arguments: &[&str]| {
            start(&arguments.iter().map(|&argument| argument.to_owned()).collect::<Vec<_>>())
        };
        assert!(start(&[]).unwrap_err().starts_with("usage"));
        assert!(start(&["conjunctive", "many"]).unwrap_err().starts_with("usage"));
        assert!(start(&["nothing", "10"]).unwrap_err().starts_with("usage"));
        assert!(
            start(&["dense", "10", "fast"])
                .unwrap_err()
                .contains("counting, access, compact, index, events, blocks")
        );
    }
}
