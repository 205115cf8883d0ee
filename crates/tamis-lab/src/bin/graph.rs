//! How fast are graph constraints, by strategy, selectivity and size?
//!
//! ```console
//! $ graph                       # selectivity 1/16 to 1, then sizes x1 to x5
//! $ graph grow 100              # x1 beside x100, per reached node
//! $ graph write FOLDER 1/4 1    # the workload as nodes.csv, edges.csv and events.jsonl
//! ```
//!
//! The tables are those of Broder et al. 2011, section 4. Every strategy must find the same number of nodes
//! before any time is reported. Events are decoded beforehand: times are those of searching, in
//! microseconds, the least of several passes over all events.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use tamis::graph::{Batch, Counts, Graph, GraphSnapshot, NodeNumber, Strategy, Working};
use tamis::{Event, Limits, parse};
use tamis_lab::workload::{Exchange, ExchangeParameters, Workload};

/// Events per pass, and passes; the times of the fastest pass are reported.
const EVENTS: u64 = 1000;
const PASSES: usize = 5;

const SELECTIVITIES: [(&str, f64); 5] =
    [("1/16", 1.0 / 16.0), ("1/8", 0.125), ("1/4", 0.25), ("1/2", 0.5), ("1", 1.0)];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let selectivity = |text: &str| SELECTIVITIES.iter().find(|(name, _)| *name == text).map(|found| found.1);
    match arguments[..] {
        [] => {
            println!("by selectivity, x1");
            for (name, selectivity) in SELECTIVITIES {
                report(name, selectivity, 1);
            }
            println!("\nby size, selectivity 1/4");
            for scale in 1..=5 {
                report(&format!("x{scale}"), 0.25, scale);
            }
        }
        ["grow", scale] => {
            let Ok(scale) = scale.parse() else { return usage() };
            let per_node: Vec<f64> = [1, scale].into_iter().map(grow).collect();
            println!("x{scale} takes {:.2} times as long per reached node as x1", per_node[1] / per_node[0]);
        }
        ["write", folder, part, scale] => {
            let (Some(selectivity), Ok(scale)) = (selectivity(part), scale.parse()) else { return usage() };
            let exchange = Exchange::new(ExchangeParameters { scale, selectivity, ..Default::default() });
            if let Err(error) = write(&exchange, Path::new(folder)) {
                eprintln!("{folder}: {error}");
                return ExitCode::FAILURE;
            }
        }
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: graph [grow SCALE | write FOLDER SELECTIVITY SCALE]");
    ExitCode::from(2)
}

fn build(exchange: &Exchange) -> Graph {
    let graph = Graph::new(exchange.missing(), Limits::default());
    let mut batch = Batch::default();
    let mut name = String::new();
    let mut id = |node: u64| {
        name.clear();
        exchange.write_node(node, &mut name);
        name.as_str().into()
    };
    let valid = "what a workload writes is valid";
    for node in 0..exchange.nodes() {
        let expression = exchange.condition(node).map(|text| parse(&text, graph.limits()).expect(valid));
        batch.add_node(id(node), expression, graph.limits()).expect(valid);
    }
    for edge in 0..exchange.edges() {
        let (source, target) = exchange.edge(edge);
        batch.add_edge(id(source), id(target), None, 1.0, graph.limits()).expect(valid);
    }
    graph.add_batch(batch).expect(valid);
    graph
}

/// A workload ready to be searched.
struct Setting {
    snapshot: Arc<GraphSnapshot>,
    queries: Vec<(NodeNumber, Event)>,
}

impl Setting {
    fn new(exchange: &Exchange, events: u64) -> Setting {
        let snapshot = build(exchange).snapshot();
        let query = |number: u64| {
            let source = exchange.node(exchange.source(number)).as_str().into();
            let mut event = Event::default();
            event
                .decode_json(exchange.event(number).as_bytes(), snapshot.attributes(), &Limits::default())
                .expect("what a workload writes can be read");
            (snapshot.find(&source).expect("a publisher is a node"), event)
        };
        let queries = (0..events).map(query).collect();
        Setting { snapshot, queries }
    }

    /// Microseconds per query of the fastest pass, what was found, and what it took.
    fn measure(&self, strategy: Strategy, passes: usize) -> (f64, u64, Counts) {
        let (mut working, mut best) = (Working::default(), f64::INFINITY);
        let (mut found, mut total) = (0, Counts::default());
        for _ in 0..passes {
            (found, total) = (0, Counts::default());
            let begun = Instant::now();
            for (source, event) in &self.queries {
                let counts = self
                    .snapshot
                    .matches(event, *source, strategy, false, &mut working, |_| found += 1)
                    .expect("nothing is on disk");
                total.retrieved += counts.retrieved;
                total.evaluated += counts.evaluated;
                total.edges += counts.edges;
            }
            best = best.min(begun.elapsed().as_secs_f64());
        }
        (best * 1e6 / self.queries.len() as f64, found, total)
    }

    /// Microseconds until the first result, of the queries that have one, in the fastest pass.
    fn measure_first(&self, strategy: Strategy, passes: usize) -> f64 {
        let mut best = f64::INFINITY;
        for _ in 0..passes {
            let (mut spent, mut answered) = (0.0, 0);
            for (source, event) in &self.queries {
                let event = event.clone();
                let begun = Instant::now();
                let search = self.snapshot.search(event, *source, strategy, false);
                let mut search = search.expect("nothing is on disk");
                if search.next_id().expect("nothing is on disk").is_some() {
                    spent += begun.elapsed().as_secs_f64();
                    answered += 1;
                }
            }
            best = best.min(spent / f64::from(answered.max(1)));
        }
        best * 1e6
    }
}

/// Prints the sizes of Tables 2 and 3, and the times of figures 12 to 16.
fn report(name: &str, selectivity: f64, scale: u64) {
    let exchange = Exchange::new(ExchangeParameters { scale, selectivity, ..Default::default() });
    let setting = Setting::new(&exchange, EVENTS);
    let average = |count: usize| count as f64 / EVENTS as f64;
    let (_, found, index) = setting.measure(Strategy::Index, 1);
    let (_, _, bfs) = setting.measure(Strategy::Bfs, 1);
    let (_, _, skipping) = setting.measure(Strategy::GeneralSkipping, 1);
    let (_, _, general) = setting.measure(Strategy::General, 1);
    println!(
        "{name:5} valid {:8.1}  asked {:7.1}  found {:7.1}  edges {:8.1}  retrieved by general {:8.1}, skipping {:8.1}",
        average(index.retrieved),
        average(bfs.evaluated),
        average(found as usize),
        average(bfs.edges),
        average(general.retrieved),
        average(skipping.retrieved),
    );
    assert!(skipping.retrieved <= general.retrieved, "skipping retrieves no more");
    let mut times = Vec::new();
    for strategy in Strategy::ALL {
        let (time, same, counts) = setting.measure(strategy, PASSES);
        assert_eq!(same, found, "{} finds what index finds", strategy.name());
        assert!(counts.edges <= bfs.edges, "{} follows no more edges than bfs", strategy.name());
        times.push((strategy, time, setting.measure_first(strategy, PASSES)));
    }
    let row =
        |values: &dyn Fn(&(Strategy, f64, f64)) -> String| -> String { times.iter().map(values).collect() };
    println!("      {:12}{}", "", row(&|(strategy, ..)| format!("{:>18}", strategy.name())));
    println!("      {:12}{}", "all, us", row(&|(_, all, _)| format!("{all:>18.2}")));
    println!("      {:12}{}", "first, us", row(&|(_, _, first)| format!("{first:>18.2}")));
}

/// Prints how long a reached node takes, in nanoseconds.
fn grow(scale: u64) -> f64 {
    let exchange = Exchange::new(ExchangeParameters { scale, ..Default::default() });
    let begun = Instant::now();
    let setting = Setting::new(&exchange, 200);
    let built = begun.elapsed().as_secs_f64();
    let (time, found, bfs) = setting.measure(Strategy::Auto, 3);
    let reached = (bfs.evaluated + found as usize) as f64 / 200.0;
    println!(
        "x{scale}: {} nodes built in {built:.1} s; {time:.1} us per query, {:.1} found, {reached:.1} reached or found, {:.1} ns each",
        exchange.nodes(),
        found as f64 / 200.0,
        time * 1000.0 / reached
    );
    time * 1000.0 / reached
}

fn write(exchange: &Exchange, folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let open = |name: &str| fs::File::create(folder.join(name)).map(BufWriter::new);
    let mut nodes = open("nodes.csv")?;
    writeln!(nodes, "id,expression")?;
    for node in 0..exchange.nodes() {
        match exchange.condition(node) {
            None => writeln!(nodes, "{},", exchange.node(node))?,
            Some(text) => writeln!(nodes, "{},\"{}\"", exchange.node(node), text.replace('"', "\"\""))?,
        }
    }
    let mut edges = open("edges.csv")?;
    writeln!(edges, "source,target")?;
    for edge in 0..exchange.edges() {
        let (source, target) = exchange.edge(edge);
        writeln!(edges, "{},{}", exchange.node(source), exchange.node(target))?;
    }
    let mut events = open("events.jsonl")?;
    for number in 0..EVENTS {
        let source = exchange.node(exchange.source(number));
        writeln!(events, "{{\"source\": \"{source}\", \"event\": {}}}", exchange.event(number))?;
    }
    nodes.flush()?;
    edges.flush()?;
    events.flush()
}
