//! Results on a sample, and the time per event.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::workload::write_number;

/// A matcher with the events that it is measured on.
pub(super) trait Subject {
    /// The number of events.
    fn events(&self) -> usize;

    /// Appends the numbers of the event's matches, each once, in any order.
    fn matches(&mut self, event: usize, found: &mut Vec<u32>);

    /// Returns the counters and resets them.
    fn take_counters(&mut self) -> Vec<(&'static str, u64)>;

    /// Runs only the separately timed part of matching an event and returns its name, if there is
    /// such a part.
    fn part(&mut self, _event: usize) -> Option<&'static str> {
        None
    }

    /// Finds the first match of an event. Returns whether there is one, or `None` if that cannot be
    /// measured.
    fn first(&mut self, _event: usize) -> Option<bool> {
        None
    }
}

/// The extent of a measurement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// Events per repetition; fewer if they would take too long.
    pub events: usize,
    /// Events whose match counts are reported one by one.
    pub sample: usize,
    /// The number of repetitions.
    pub repetitions: usize,
    /// The approximate time for all repetitions, in seconds. At least one is made.
    pub seconds: f64,
}

/// 64-bit FNV-1a over the numbers of each event's matches: ascending decimal numbers, each followed
/// by a comma, with a line feed after each event.
struct Digest(u64);

impl Digest {
    fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, matches: &[u32], text: &mut String) {
        text.clear();
        for &number in matches {
            write_number(number, text);
            text.push(',');
        }
        text.push('\n');
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// Matches and times, in microseconds.
pub(super) struct Found {
    counts: Vec<u64>,
    digest: String,
    /// Mean per event.
    pub matches: f64,
    events: usize,
    repetitions: usize,
    /// Mean per event, in the fastest repetition.
    best: f64,
    /// Of single events in that repetition.
    median: f64,
    p99: f64,
    first: Option<f64>,
    counters: BTreeMap<&'static str, f64>,
}

impl Found {
    pub fn to_json(&self) -> Map<String, Value> {
        let all = json!({
            "counts": self.counts,
            "digest": self.digest,
            "matches": self.matches,
            "events": self.events,
            "repetitions": self.repetitions,
            "best_us": self.best,
            "median_us": self.median,
            "p99_us": self.p99,
            "counters": self.counters,
        });
        let mut all = match all {
            Value::Object(all) => all,
            other => unreachable!("an object is an object: {other}"),
        };
        if let Some(first) = self.first {
            all.insert("first_us".to_owned(), json!(first));
        }
        all
    }
}

/// Matches the sample, then repeatedly all events.
pub(super) fn run(subject: &mut dyn Subject, pace: &Pace) -> Found {
    let available = subject.events();
    let sample = pace.sample.min(available);
    let (mut counts, mut digest, mut found) = (Vec::with_capacity(sample), Digest::new(), Vec::new());
    let mut text = String::new();
    let mut spent = Vec::with_capacity(sample);
    for event in 0..sample {
        found.clear();
        let begun = Instant::now();
        subject.matches(event, &mut found);
        spent.push(begun.elapsed());
        found.sort_unstable();
        counts.push(found.len() as u64);
        digest.add(&found, &mut text);
    }
    // Use the median: the first event is not typical, because caches are cold.
    spent.sort_unstable();
    let each = spent.get(sample / 2).copied().unwrap_or_default().as_secs_f64();
    let affordable = pace.seconds / pace.repetitions as f64 / each.max(1e-9);
    let events = (affordable as usize).clamp(sample.min(pace.events), pace.events).min(available);

    subject.take_counters();
    let (mut counters, mut matches, mut first) = (BTreeMap::<&'static str, f64>::new(), 0u64, None);
    let (mut best, mut times, mut repetitions) = (Duration::MAX, Vec::new(), 0);
    let begun = Instant::now();
    while repetitions < pace.repetitions && (repetitions == 0 || begun.elapsed().as_secs_f64() < pace.seconds)
    {
        let mut all = Vec::with_capacity(events);
        let pass = Instant::now();
        let mut last = pass;
        for event in 0..events {
            found.clear();
            subject.matches(event, &mut found);
            let now = Instant::now();
            all.push(now - last);
            last = now;
            matches += found.len() as u64;
        }
        let spent = last - pass;
        if repetitions == 0 {
            let per_event = |total: u64| total as f64 / events.max(1) as f64;
            counters =
                subject.take_counters().into_iter().map(|(name, total)| (name, per_event(total))).collect();
        }
        if spent < best {
            (best, times) = (spent, all);
        }
        repetitions += 1;
        first = faster(first, time_first(subject, events));
        if let Some((name, time)) = time_part(subject, events) {
            let least = counters.entry(name).or_insert(time);
            *least = time.min(*least);
        }
    }
    times.sort_unstable();
    let microseconds = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |part: f64| times.get(((times.len() as f64 * part) as usize).min(times.len().max(1) - 1));
    Found {
        counts,
        digest: format!("{:016x}", digest.0),
        matches: matches as f64 / (events.max(1) * repetitions) as f64,
        events,
        repetitions,
        best: microseconds(best) / events.max(1) as f64,
        median: microseconds(at(0.5).copied().unwrap_or_default()),
        p99: microseconds(at(0.99).copied().unwrap_or_default()),
        first,
        counters,
    }
}

fn faster(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// Mean microseconds per event of the separately timed part.
fn time_part(subject: &mut dyn Subject, events: usize) -> Option<(&'static str, f64)> {
    let begun = Instant::now();
    let mut name = None;
    for event in 0..events {
        name = Some(subject.part(event)?);
    }
    name.map(|name| (name, begun.elapsed().as_secs_f64() * 1e6 / events as f64))
}

/// Mean microseconds to the first match, over the events that have one.
fn time_first(subject: &mut dyn Subject, events: usize) -> Option<f64> {
    let (mut spent, mut answered) = (Duration::ZERO, 0u32);
    for event in 0..events {
        let begun = Instant::now();
        if subject.first(event)? {
            spent += begun.elapsed();
            answered += 1;
        }
    }
    (answered > 0).then(|| spent.as_secs_f64() * 1e6 / f64::from(answered))
}
