//! How does the time to match, build, change and open an index grow with its number of patterns?
//!
//! ```console
//! $ patterns                    # every kind of pattern: 1,000, 10,000 and 100,000 of it
//! $ patterns contains regex     # only these
//! ```
//!
//! All patterns test one attribute. Every text matches the same number of patterns, however many
//! there are, so the time per event should hardly grow. Match counts are compared with those of a
//! scan before any time is reported. `bare` is the automaton of the `aho-corasick` crate over the
//! same literals and texts.

use std::ops::Range;
use std::process::ExitCode;
use std::time::Instant;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use tamis::event::Attributes;
use tamis::index::{Algorithm, MatchScratch, Snapshot, WrittenSubscription};
use tamis::matcher::{Matcher, Scan, Scratch};
use tamis::storage::OpenOptions;
use tamis::{Event, Expression, IdRef, Index, Limits, Missing, parse};
use tamis_lab::workload::Random;

const SEED: u64 = 16;
const COUNTS: [u32; 3] = [1_000, 10_000, 100_000];
/// Text lengths, and the number of patterns that each text matches.
const TEXTS: [(usize, usize); 2] = [(60, 1), (1000, 4)];
const EVENTS: u64 = 500;
const PASSES: usize = 9;
/// The number of events timed together.
const CHUNK: usize = 10;
/// The number of common words that texts consist of, besides those of the patterns.
const COMMON: u32 = 1_000;
/// The number of events checked by a scan, and of the patterns it checks.
const JUDGED: usize = 20;
const JUDGES: u32 = 2_000;
/// The number of patterns added one by one.
const INSERTS: u32 = 2_000;

/// A kind of pattern.
struct PatternKind {
    name: &'static str,
    /// The maximum growth of the time from the fewest patterns to the most.
    growth: f64,
    expression: fn(&str, &str) -> String,
    /// A text that matches, from the two words of a pattern.
    witness: fn(&str, &str) -> String,
}

const KINDS: [PatternKind; 5] = [
    PatternKind {
        name: "prefix",
        growth: 2.0,
        expression: |word, _| format!("t starts with '{word}'"),
        witness: |word, _| word.to_owned(),
    },
    PatternKind {
        name: "suffix",
        growth: 2.0,
        expression: |word, _| format!("t ends with '{word}'"),
        witness: |word, _| word.to_owned(),
    },
    PatternKind {
        name: "contains",
        growth: 2.0,
        expression: |word, _| format!("t contains '{word}'"),
        witness: |word, _| word.to_owned(),
    },
    PatternKind {
        name: "like",
        growth: 4.0,
        expression: |word, other| format!("t like '%{word}%{other}%'"),
        witness: |word, other| format!("{word}{other}"),
    },
    PatternKind {
        name: "regex",
        growth: 4.0,
        expression: |word, other| format!("t matches '{word}[0-9]+{other}'"),
        witness: |word, other| format!("{word}7{other}"),
    },
];

/// The two words of a pattern: random letters, long enough not to occur by chance.
fn words(number: u32) -> (String, String) {
    let mut random = Random::new(SEED, 1, number.into());
    let mut word = |shortest: u32| -> String {
        let length = random.between(shortest, shortest + 6);
        (0..length).map(|_| char::from(b'a' + random.below(26) as u8)).collect()
    };
    (word(8), word(4))
}

/// A text of this length that matches the given number of patterns, or as many as fit at its start
/// or end.
fn text(kind: &PatternKind, patterns: u32, number: u64, (length, matches): (usize, usize)) -> String {
    let mut random = Random::new(SEED, 2, number);
    let mut filler = |length: usize| -> String {
        let mut text = String::new();
        while text.len() < length {
            let mut word = Random::new(SEED, 4, random.below(COMMON).into());
            let letters = word.between(3, 9);
            text.extend((0..letters).map(|_| char::from(b'a' + word.below(26) as u8)));
            text.push(' ');
        }
        text.truncate(length);
        text
    };
    let mut chosen = Random::new(SEED, 3, number);
    let mut witness = || {
        let (word, other) = words(chosen.below(patterns));
        (kind.witness)(&word, &other)
    };
    match kind.name {
        "prefix" => {
            let word = witness();
            let rest = filler(length - word.len());
            word + &rest
        }
        "suffix" => {
            let word = witness();
            filler(length - word.len()) + &word
        }
        _ => {
            let witnesses: Vec<String> = (0..matches).map(|_| witness()).collect();
            let rest = length.saturating_sub(witnesses.iter().map(String::len).sum()) / (matches + 1);
            witnesses.iter().map(|witness| filler(rest) + witness).collect::<String>() + &filler(rest)
        }
    }
}

fn decode(text: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    let json = format!("{{\"t\": \"{text}\"}}");
    event.decode_json(json.as_bytes(), attributes, &Limits::default()).expect("an event of letters");
    event
}

/// Microseconds per event. Takes the minimum over several passes for each chunk of events, to
/// reduce the noise from other processes.
fn best(events: usize, chunk: usize, mut pass: impl FnMut(Range<usize>)) -> f64 {
    let mut chunks = vec![f64::INFINITY; events.div_ceil(chunk)];
    for _ in 0..PASSES {
        for (least, start) in chunks.iter_mut().zip((0..events).step_by(chunk)) {
            let begun = Instant::now();
            pass(start..events.min(start + chunk));
            *least = least.min(begun.elapsed().as_secs_f64());
        }
    }
    chunks.iter().sum::<f64>() * 1e6 / events as f64
}

/// The index, and the seconds that building took: wall-clock and processor time.
fn build(kind: &PatternKind, patterns: u32) -> (Index, f64, Option<f64>) {
    let written = |number: u32| {
        let (word, other) = words(number);
        WrittenSubscription::new(i64::from(number), (kind.expression)(&word, &other))
    };
    let written: Vec<WrittenSubscription> = (0..patterns).map(written).collect();
    let limits = Limits { index_patterns: usize::MAX, ..Limits::default() };
    let (begun, used) = (Instant::now(), processor_seconds());
    let index = Index::new(Missing::Unknown, limits);
    index.add_written(written).expect("the patterns are valid");
    index.settle();
    let used = processor_seconds().zip(used).map(|(now, before)| now - before);
    (index, begun.elapsed().as_secs_f64(), used)
}

/// The processor time used by this process, including threads that ended, if the system reports it.
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ').skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    // In ticks of 10 ms.
    Some((user + system) / 100.0)
}

/// Fails if, on some of the events, a scan of some of the patterns finds other matches than the
/// index.
fn judge(kind: &PatternKind, patterns: u32, snapshot: &Snapshot, texts: &[String]) -> Result<(), String> {
    let step = (patterns / JUDGES).max(1);
    let mut numbers: Vec<u32> = (0..patterns).step_by(step as usize).collect();
    let mut found: Vec<Vec<u32>> = Vec::new();
    let mut scratch = MatchScratch::default();
    for text in &texts[..JUDGED] {
        let mut slots = Vec::new();
        let event = decode(text, snapshot.attributes());
        snapshot
            .matches(&event, &mut scratch, |id| {
                if let IdRef::Integer(number) = id {
                    slots.extend(u32::try_from(number));
                }
            })
            .map_err(|error| error.to_string())?;
        numbers.extend(&slots);
        found.push(slots);
    }
    numbers.sort_unstable();
    numbers.dedup();
    let expression = |&number: &u32| {
        let (word, other) = words(number);
        parse(&(kind.expression)(&word, &other), &Limits::default()).map_err(|error| error.to_string())
    };
    let expressions = numbers.iter().map(expression).collect::<Result<Vec<Expression>, _>>()?;
    let attributes = Attributes::default();
    let scan = Scan::new(&expressions, &attributes, Missing::Unknown);
    let mut scratch = Scratch::default();
    for (text, found) in texts.iter().zip(found) {
        let mut slots = Vec::new();
        scan.matches(&decode(text, &attributes), &mut scratch, &mut slots);
        let expected: Vec<u32> = slots.iter().map(|&slot| numbers[slot as usize]).collect();
        let found: Vec<u32> =
            found.into_iter().filter(|number| numbers.binary_search(number).is_ok()).collect();
        if found != expected || found.is_empty() {
            return Err(format!("{}: {found:?} match, not {expected:?}: {text}", kind.name));
        }
    }
    Ok(())
}

/// Runs a public automaton over the texts. Returns the microseconds per text.
fn bare(patterns: u32, texts: &[String]) -> Result<f64, String> {
    let words: Vec<String> = (0..patterns).map(|number| words(number).0).collect();
    let automaton =
        NFA::builder().match_kind(MatchKind::Standard).build(&words).map_err(|error| error.to_string())?;
    let mut found = 0u64;
    Ok(best(texts.len(), CHUNK, |chunk| {
        for text in &texts[chunk] {
            let Ok(mut state) = automaton.start_state(Anchored::No) else { return };
            for &byte in text.as_bytes() {
                state = automaton.next_state(Anchored::No, state, byte);
                found += u64::from(automaton.is_special(state) && automaton.is_match(state));
            }
        }
        std::hint::black_box(found);
    }))
}

/// Adds patterns one by one. Returns the median and the maximum time, in microseconds.
fn insert(kind: &PatternKind, index: &Index, patterns: u32) -> Result<(f64, f64), String> {
    let mut times = Vec::new();
    for number in patterns..patterns + INSERTS {
        let (word, other) = words(number);
        let text = (kind.expression)(&word, &other);
        let begun = Instant::now();
        let expression = parse(&text, index.limits()).map_err(|error| error.to_string())?;
        index.add(i64::from(number).into(), expression, None).map_err(|error| error.to_string())?;
        times.push(begun.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    Ok((times[times.len() / 2], times[times.len() - 1]))
}

/// Saves an index and opens it with verification. Returns the time in milliseconds.
fn open(index: &Index) -> Result<f64, String> {
    let folder = std::env::temp_dir().join(format!("tamis-patterns-{}", std::process::id()));
    index.save(&folder).map_err(|error| error.to_string())?;
    let mut least = f64::INFINITY;
    for _ in 0..3 {
        let begun = Instant::now();
        let opened = Index::open(&folder, index.limits().clone(), Algorithm::Auto, OpenOptions::default());
        least = least.min(begun.elapsed().as_secs_f64() * 1e3);
        opened.map_err(|error| error.to_string())?;
    }
    std::fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(least)
}

fn measure(kind: &PatternKind) -> Result<(), String> {
    let mut first = [0.0; TEXTS.len()];
    for patterns in COUNTS {
        let (index, seconds, used) = build(kind, patterns);
        let used = used.map_or(String::new(), |used| format!("{used:.2}"));
        let snapshot = index.snapshot();
        let text_bytes: usize = (0..patterns)
            .map(|number| {
                let (word, other) = words(number);
                (kind.expression)(&word, &other).len() - "t contains ''".len()
            })
            .sum();
        let beside = (snapshot.stats().matching_bytes - text_bytes) / patterns as usize;
        for (setting, &(length, matches)) in TEXTS.iter().enumerate() {
            let texts: Vec<String> =
                (0..EVENTS).map(|number| text(kind, patterns, number, (length, matches))).collect();
            judge(kind, patterns, &snapshot, &texts)?;
            let events: Vec<Event> = texts.iter().map(|text| decode(text, snapshot.attributes())).collect();
            let (mut scratch, mut count) = (MatchScratch::default(), 0);
            let single = best(events.len(), CHUNK, |chunk| {
                for event in &events[chunk] {
                    count += snapshot.count(event, &mut scratch).expect("the index is in memory");
                }
            });
            let mut together = 0;
            let batch = best(events.len(), events.len(), |chunk| {
                snapshot
                    .matches_many(&events[chunk], &mut scratch, |_, _| together += 1)
                    .expect("the index is in memory");
            });
            if together != count {
                return Err(format!("{}: {together} matches in a batch, {count} one by one", kind.name));
            }
            if patterns == COUNTS[0] {
                first[setting] = single;
            }
            let bare = match kind.name {
                "contains" => format!("{:.1}", single / bare(patterns, &texts)?),
                _ => String::new(),
            };
            println!(
                "{:10}{patterns:>9}{length:>7}{single:>12.2}{batch:>12.2}{:>10.1}{:>9.2}{bare:>9}{beside:>11}{seconds:>10.2}{used:>8}",
                kind.name,
                count as f64 / (PASSES * events.len()) as f64,
                single / first[setting],
            );
        }
        if patterns == COUNTS[COUNTS.len() - 1] {
            let opened = open(&index)?;
            drop(snapshot);
            let (median, worst) = insert(kind, &index, patterns)?;
            println!(
                "{:10}growth at most {}; open verified {opened:.1} ms; insert: median {median:.1} us, worst {:.1} ms",
                kind.name,
                kind.growth,
                worst / 1e3
            );
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = names.iter().find(|name| KINDS.iter().all(|kind| kind.name != **name)) {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        eprintln!("unknown patterns {unknown:?}; known: {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    println!(
        "{:10}{:>9}{:>7}{:>12}{:>12}{:>10}{:>9}{:>9}{:>11}{:>10}{:>8}",
        "kind",
        "patterns",
        "bytes",
        "us/event",
        "batch us",
        "matches",
        "growth",
        "x bare",
        "B/pattern",
        "build s",
        "CPU s"
    );
    for kind in KINDS.iter().filter(|kind| names.is_empty() || names.iter().any(|name| name == kind.name)) {
        if let Err(message) = measure(kind) {
            eprintln!("{message}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
