//! Measuring the search strategies of graphs.
//!
//! An event is a search from a publisher of *exchange*, and its matches are the nodes that it
//! reaches. The statistics contain the figures of Tables 2 and 3 of Broder et al. 2011: valid
//! nodes, nodes reached and evaluated, nodes found, and edges followed. They do not depend on the
//! strategy.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tamis::{Event, Id, IdRef, Limits, parse};
use tamis_graph::{Batch, Counts, Graph, GraphScratch, GraphSnapshot, NodeNumber, Strategy};

use super::clock::{Pace, Subject};
use super::{Built, Spec, engine, expressions};
use crate::workload::{Exchange, ExchangeParameters, Statistics, Workload, read};

/// Expressions and events on which the selectivity is measured.
const EXPRESSIONS: u64 = 5000;
const EVENTS: u64 = 100;

/// All strategies; none has options.
pub(super) fn matchers() -> Map<String, Value> {
    Strategy::ALL.into_iter().map(|strategy| (strategy.name().to_owned(), json!({"options": {}}))).collect()
}

/// Builds the graph of a cell.
pub(super) fn build(spec: &Spec, pace: &Pace) -> Result<Built, String> {
    let exchange = Exchange::new(read("parameter", ExchangeParameters::default(), &spec.parameters)?);
    let strategy = Strategy::by_name(&spec.matcher).ok_or_else(|| {
        let known: Vec<&str> = Strategy::ALL.iter().map(|strategy| strategy.name()).collect();
        format!("unknown matcher {:?} for graphs; known: {}", spec.matcher, known.join(", "))
    })?;
    if let Some(option) = spec.options.keys().next() {
        return Err(format!("unknown option {option:?}: there are none"));
    }
    let (seconds, snapshot) = compile(&exchange, strategy)?;
    let query = |number: u64| {
        let source = Id::from(exchange.source(number) as i64);
        let mut event = Event::default();
        event
            .decode_json(exchange.event(number).as_bytes(), snapshot.attributes(), &Limits::default())
            .expect("a workload writes valid events");
        (snapshot.find(&source).expect("a publisher is a node"), event)
    };
    let queries = (0..pace.events.max(pace.sample) as u64).map(query).collect();
    let bytes = snapshot.stats().bytes;
    let counts = Counts::default();
    let mut searched = Searched { snapshot, strategy, queries, working: GraphScratch::default(), counts };
    let statistics = searched.statistics(&exchange);
    Ok(Built { statistics, ..Built::new(seconds, bytes, Box::new(searched)) })
}

/// The graph, and the time to compile it in seconds, not counting the parsing of expressions.
fn compile(exchange: &Exchange, strategy: Strategy) -> Result<(f64, Arc<GraphSnapshot>), String> {
    let mut batch = Batch::default();
    let id = |node: u64| Id::from(node as i64);
    let refused = |error: tamis::Error| expressions::cannot(error);
    let graph = Graph::new(exchange.missing(), Limits::default());
    let graph = graph.with_skipping(tamis_papers::SKIPPING).map_err(refused)?;
    for node in 0..exchange.nodes() {
        let text = exchange.condition(node);
        let expression = text.map(|text| parse(&text, graph.limits())).transpose().map_err(refused)?;
        batch.add_node(id(node), expression, graph.limits()).map_err(refused)?;
    }
    for edge in 0..exchange.edges() {
        let (source, target) = exchange.edge(edge);
        batch.add_edge(id(source), id(target), None, 1.0, graph.limits()).map_err(refused)?;
    }
    let begun = Instant::now();
    graph.add_batch(batch).map_err(refused)?;
    let snapshot = graph.snapshot();
    // The strategies build their index of valid nodes on first use. Include that in the build time.
    let source = snapshot.find(&id(0)).expect("a publisher is a node");
    let mut working = GraphScratch::default();
    snapshot.matches(&Event::default(), source, strategy, false, &mut working, |_| ()).map_err(refused)?;
    Ok((begun.elapsed().as_secs_f64(), snapshot))
}

/// A graph and the searches to run on it.
struct Searched {
    snapshot: Arc<GraphSnapshot>,
    strategy: Strategy,
    queries: Vec<(NodeNumber, Event)>,
    working: GraphScratch,
    /// Since the counters were last taken.
    counts: Counts,
}

impl Searched {
    fn search(&mut self, strategy: Strategy, query: usize, found: impl FnMut(IdRef<'_>)) -> Counts {
        let (source, event) = &self.queries[query];
        self.snapshot
            .matches(event, *source, strategy, false, &mut self.working, found)
            .expect("the graph is in memory")
    }

    /// The requested figures next to the measured ones.
    fn statistics(&mut self, exchange: &Exchange) -> Map<String, Value> {
        let conditions = exchange.nodes() - exchange.free();
        let expressions = EXPRESSIONS.min(conditions);
        let mut measured = Statistics::measure(exchange, 0..conditions, 0..EVENTS);
        if conditions > 0 {
            let sample = Statistics::measure_matches(exchange, 0..expressions, 0..EVENTS);
            let part = sample.matches.unwrap_or(0) as f64 / expressions as f64;
            measured.matches = Some((part * conditions as f64).round() as u64);
        }
        let mut all = expressions::beside(&measured, exchange);
        let stats = self.snapshot.stats();
        let (mut found, queries) = (0, self.queries.len());
        let (mut index, mut bfs) = (Counts::default(), Counts::default());
        for query in 0..queries {
            add(&mut index, self.search(Strategy::Index, query, |_| found += 1));
            add(&mut bfs, self.search(Strategy::Bfs, query, |_| ()));
        }
        let average = |count: usize| count as f64 / queries.max(1) as f64;
        for (name, requested, measured) in [
            ("nodes", Some(exchange.nodes()), stats.nodes as f64),
            ("edges", Some(exchange.edges()), stats.edges as f64),
            ("components", None, stats.components as f64),
            ("largest component", None, stats.largest_component as f64),
            ("valid nodes", None, average(index.retrieved)),
            ("asked nodes", None, average(bfs.evaluated)),
            ("found nodes", None, average(found)),
            ("edges followed", None, average(bfs.edges)),
        ] {
            all.insert(name.to_owned(), json!({"requested": requested, "measured": measured}));
        }
        all
    }
}

fn add(total: &mut Counts, more: Counts) {
    total.retrieved += more.retrieved;
    total.evaluated += more.evaluated;
    total.edges += more.edges;
}

impl Subject for Searched {
    fn events(&self) -> usize {
        self.queries.len()
    }

    fn matches(&mut self, event: usize, found: &mut Vec<u32>) {
        let counts = self.search(self.strategy, event, |node| found.push(engine::number(node)));
        add(&mut self.counts, counts);
    }

    fn take_counters(&mut self) -> Vec<(&'static str, u64)> {
        let Counts { retrieved, evaluated, edges } = std::mem::take(&mut self.counts);
        vec![("valid", retrieved as u64), ("asked", evaluated as u64), ("edges", edges as u64)]
    }

    fn first(&mut self, event: usize) -> Option<bool> {
        let (source, event) = &self.queries[event];
        let search = self.snapshot.search(event.clone(), *source, self.strategy, false);
        let mut search = search.expect("the graph is in memory");
        Some(search.next_id().expect("the graph is in memory").is_some())
    }
}
