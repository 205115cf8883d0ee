//! How long does rsigma take per event, from JSON bytes to the ids of rules?
//!
//! ```console
//! $ cargo run --release -- FOLDER
//! ```
//!
//! The folder holds `rules/` and `events.jsonl`, an object per line with the key `event`. One JSON line per setting: per rule,
//! and with the automaton across rules.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rsigma_eval::Engine;
use rsigma_eval::event::JsonEvent;
use serde_json::{Value, json};

const PASSES: usize = 15;

fn measure(folder: PathBuf) -> Result<(), Box<dyn std::error::Error>> {
    let rules = rsigma_parser::parse_sigma_directory(&folder.join("rules"))?;
    let mut events: Vec<String> = Vec::new();
    for line in std::fs::read_to_string(folder.join("events.jsonl"))?.lines() {
        let line: Value = serde_json::from_str(line)?;
        events.push(line["event"].to_string());
    }
    for automaton in [false, true] {
        let mut engine = Engine::new();
        engine.set_cross_rule_ac(automaton);
        let refused = engine.add_rules(&rules.rules).len();
        let mut found: Vec<BTreeSet<String>> = Vec::new();
        for event in &events {
            let value: Value = serde_json::from_str(event)?;
            let matches = engine.evaluate(&JsonEvent::borrow(&value));
            found.push(matches.into_iter().filter_map(|each| each.header.rule_id).collect());
        }
        let mut best = Duration::MAX;
        for _ in 0..PASSES {
            let begun = Instant::now();
            for event in &events {
                let value: Value = serde_json::from_str(event)?;
                std::hint::black_box(engine.evaluate(&JsonEvent::borrow(&value)));
            }
            best = best.min(begun.elapsed());
        }
        let each = best.as_secs_f64() * 1e6 / events.len().max(1) as f64;
        println!(
            "{}",
            json!({
                "automaton": automaton,
                "rules": rules.rules.len() - refused,
                "refused": refused + rules.errors.len(),
                "us_per_event": each,
                "found": found,
            })
        );
    }
    Ok(())
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: rsigma-peer FOLDER");
        return ExitCode::FAILURE;
    };
    if let Err(error) = measure(folder.into()) {
        eprintln!("rsigma-peer: {error}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
