//! Prints the statistics of a workload next to the requested ones, the speed of the generator, and
//! a few items.
//!
//! ```console
//! $ workload abe-gen 100000        # statistics
//! $ workload abe-gen 100000 200    # and how many expressions each of 200 events matches
//! $ workload xml 100000 schema=auction predicates=1
//! ```

use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value;
use tamis_lab::workload::{Beside, NAMES, Named, Statistics, XML, XmlStatistics, beside, configure};

fn main() -> ExitCode {
    // Parameters as on the command line of `tamis lab generate`: a value that is not JSON is a
    // string.
    let (given, arguments): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.contains('='));
    let value = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let given: Named = (given.iter().filter_map(|argument| argument.split_once('=')))
        .map(|(name, text)| (name.to_owned(), value(text)))
        .collect();
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(name), Some(expressions)) = (arguments.first(), number(1)) else {
        let names = NAMES.join(", ");
        eprintln!(
            "usage: workload NAME EXPRESSIONS [EVENTS] [PARAMETER=VALUE ...]\nwhere NAME is one of {names}, {XML}"
        );
        return ExitCode::from(2);
    };
    let begun = Instant::now();
    let workload = match configure(name, expressions, &given) {
        Ok(workload) => workload,
        Err(error) => {
            eprintln!("{error}, after {:.3} s", begun.elapsed().as_secs_f64());
            return ExitCode::from(2);
        }
    };
    let made = begun.elapsed().as_secs_f64();
    for item in 0..3.min(expressions) {
        println!("{}\n{}", workload.expression_text(item), workload.event(item));
    }

    let begun = Instant::now();
    let mut text = String::new();
    let mut bytes = 0;
    for item in 0..expressions {
        text.clear();
        workload.write_expression(item, &mut text);
        bytes += text.len();
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!("\n{:.0} expressions/s as text, {bytes} bytes", expressions as f64 / seconds);
    println!(
        "{:.0} with the {made:.3} s that making the workload took",
        expressions as f64 / (made + seconds)
    );

    let mut levels = Vec::new();
    let figures = match (workload.as_xml(), number(2)) {
        (Some(xml), events) => {
            XmlStatistics::measure(xml, 0..expressions, 0..events.unwrap_or(1000)).figures()
        }
        (None, events) => {
            let statistics = match events {
                Some(events) => Statistics::measure_matches(&*workload, 0..expressions, 0..events),
                None => Statistics::measure(&*workload, 0..expressions, 0..1000),
            };
            levels.clone_from(&statistics.levels);
            statistics.figures()
        }
    };
    println!("\n{:42}{:>14}{:>14}", "", "measured", "requested");
    let number = |value: Option<f64>| value.map(|value| format!("{value:.3}")).unwrap_or_default();
    for Beside { name, requested, measured } in beside(figures, workload.requested()) {
        println!("{name:42}{:>14}{:>14}", number(measured), number(requested));
    }
    if !levels.is_empty() {
        println!("\n{:42}{:>14}{:>14}", "level", "occurrences", "different");
    }
    for (position, level) in levels.iter().enumerate() {
        println!("{:<42}{:>14}{:>14}", position + 1, level.occurrences, level.distinct());
    }
    ExitCode::SUCCESS
}
