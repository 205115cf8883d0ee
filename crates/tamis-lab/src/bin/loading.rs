//! How many expressions does an index read and compile per second?
//!
//! ```console
//! $ loading conjunctive 200000       # three times, and parsing alone
//! ```
//!
//! Expressions are texts beforehand, as users hand them over. Every index must hold all of them afterwards. What
//! `parse` takes is on one thread, `add_written` uses all processors.

use std::process::ExitCode;
use std::time::Instant;

use tamis::index::WrittenSubscription;
use tamis::{Index, Limits, parse};
use tamis_lab::workload::{NAMES, by_name};

/// How often everything is repeated.
const REPEATED: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count, ..] = &arguments[..] else {
        eprintln!("usage: loading WORKLOAD EXPRESSIONS [REPEATED]; workloads are {}", NAMES.join(", "));
        return ExitCode::FAILURE;
    };
    let Some((workload, count)) =
        count.parse().ok().and_then(|count: u64| Some((by_name(name, count)?, count)))
    else {
        eprintln!("no workload {name} of {count} expressions; workloads are {}", NAMES.join(", "));
        return ExitCode::FAILURE;
    };
    let repeated = arguments.get(2).and_then(|repeated| repeated.parse().ok()).unwrap_or(REPEATED);
    let texts: Vec<String> = (0..count).map(|number| workload.expression_text(number)).collect();
    let limits = Limits::default();
    let rate = |begun: Instant| count as f64 / begun.elapsed().as_secs_f64();
    for _ in 0..repeated {
        let begun = Instant::now();
        let nodes: usize =
            texts.iter().map(|text| parse(text, &limits).expect("it can be read").nodes().len()).sum();
        let parsed = rate(begun);
        let written: Vec<WrittenSubscription> = (0i64..)
            .zip(&texts)
            .map(|(number, text)| WrittenSubscription::new(number, text.clone()))
            .collect();
        let index = Index::new(workload.missing(), limits.clone());
        let begun = Instant::now();
        index.add_written(written).expect("it can be added");
        let added = rate(begun);
        assert_eq!(index.snapshot().len() as u64, count);
        println!("{name} {count}: parse {parsed:9.0}/s, add_written {added:9.0}/s ({nodes} nodes)");
        index.settle();
    }
    ExitCode::SUCCESS
}
