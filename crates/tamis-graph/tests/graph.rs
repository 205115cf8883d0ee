//! Every strategy finds what the definition says, on random graphs and through random changes.

#[path = "../../tamis/tests/common/mod.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, any, prop_oneof, proptest};
use proptest::sample::select;
use proptest::strategy::Strategy as Generator;
use tamis::explain::explain;
use tamis::rank::{EventWeights, ScoreScratch, Scores};
use tamis::storage::OpenOptions;
use tamis::{Event, Expression, Id, IdRef, Limits, Missing, Truth, parse};
use tamis_graph::{Batch, Change, Counts, Delivery, Graph, GraphScratch, GraphSnapshot, Ranking, Strategy};

/// The definition: what was added and not removed, and a fixed point over it.
#[derive(Debug, Default, Clone)]
struct Model {
    nodes: BTreeMap<i64, Option<Expression>>,
    edges: Vec<(i64, i64, Option<Expression>, f64)>,
    /// In the order in which nodes were added.
    order: Vec<i64>,
}

impl Model {
    fn apply(&mut self, change: &Change) {
        let number = |id: &Id| match id {
            Id::Integer(number) => *number,
            Id::String(text) => panic!("{text}"),
        };
        match change {
            Change::AddNode { id, expression } => {
                self.ensure(number(id));
                self.nodes.insert(number(id), expression.clone());
            }
            Change::AddEdge { source, target, expression, cost } => {
                let (source, target) = (number(source), number(target));
                self.ensure(source);
                self.ensure(target);
                self.edges.push((source, target, expression.clone(), *cost));
            }
            Change::RemoveNode { id } => {
                let node = number(id);
                self.nodes.remove(&node);
                self.order.retain(|known| *known != node);
                self.edges.retain(|(source, target, ..)| *source != node && *target != node);
            }
            Change::RemoveEdge { source, target } => {
                let ends = (number(source), number(target));
                self.edges.retain(|(source, target, ..)| (*source, *target) != ends);
            }
        }
    }

    fn ensure(&mut self, node: i64) {
        if !self.order.contains(&node) {
            self.nodes.insert(node, None);
            self.order.push(node);
        }
    }

    /// What the cheapest valid path to every node costs.
    fn cheapest(&self, source: i64, takes: impl Fn(&Option<Expression>) -> bool) -> BTreeMap<i64, f64> {
        let open =
            |edge: &&(i64, i64, Option<Expression>, f64)| takes(&edge.2) && takes(&self.nodes[&edge.1]);
        let open: Vec<_> = self.edges.iter().filter(open).collect();
        let mut costs: BTreeMap<i64, f64> = BTreeMap::new();
        loop {
            let before = costs.clone();
            for (from, to, _, cost) in &open {
                let start = if *from == source { Some(0.0) } else { costs.get(from).copied() };
                let Some(start) = start else { continue };
                let known = costs.entry(*to).or_insert(f64::INFINITY);
                *known = known.min(start + cost);
            }
            if costs == before {
                return costs;
            }
        }
    }

    /// The nodes that are reached from a source.
    fn reached(&self, source: i64, takes: impl Fn(&Option<Expression>) -> bool) -> BTreeSet<i64> {
        let open: Vec<(i64, i64)> = self
            .edges
            .iter()
            .filter(|(_, target, expression, _)| takes(expression) && takes(&self.nodes[target]))
            .map(|(source, target, ..)| (*source, *target))
            .collect();
        let mut reached = BTreeSet::new();
        loop {
            let before = reached.len();
            for (from, to) in &open {
                if *from == source || reached.contains(from) {
                    reached.insert(*to);
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    }
}

fn decode(json: &str, snapshot: &GraphSnapshot) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), snapshot.attributes(), &Limits::default()).unwrap();
    event
}

fn run(
    snapshot: &Arc<GraphSnapshot>,
    json: &str,
    source: i64,
    strategy: Strategy,
    sinks: bool,
) -> (Vec<i64>, Counts) {
    let event = decode(json, snapshot);
    let source = snapshot.find(&source.into()).unwrap();
    let mut found = Vec::new();
    let number = |id: IdRef<'_>| match id {
        IdRef::Integer(number) => number,
        IdRef::String(text) => panic!("{text}"),
    };
    let counts = snapshot
        .matches(&event, source, strategy, sinks, &mut GraphScratch::default(), |id| found.push(number(id)))
        .unwrap();
    // The stream gives the same, in the same order.
    let mut search = snapshot.search(event, source, strategy, sinks).unwrap();
    let mut streamed = Vec::new();
    while let Some(id) = search.next_id().unwrap() {
        streamed.push(number(id));
    }
    assert_eq!(streamed, found, "{strategy:?}");
    (found, counts)
}

/// Every strategy, from every node, against the definition.
fn check(graph: &Graph, model: &Model, json: &str, missing: Missing) {
    let snapshot = graph.snapshot();
    let event = decode(json, &snapshot);
    let takes = |expression: &Option<Expression>| {
        expression.as_ref().is_none_or(|expression| {
            explain(expression, &event, snapshot.attributes(), missing).unwrap().truth() == Truth::True
        })
    };
    assert_eq!(snapshot.len(), model.nodes.len());
    let leaving: HashSet<i64> = model.edges.iter().map(|edge| edge.0).collect();
    for &source in model.nodes.keys() {
        let wanted = model.reached(source, takes);
        let sinks: BTreeSet<i64> = wanted.iter().copied().filter(|node| !leaving.contains(node)).collect();
        let (_, bfs) = run(&snapshot, json, source, Strategy::Bfs, false);
        for strategy in Strategy::ALL {
            let (found, counts) = run(&snapshot, json, source, strategy, false);
            let set: BTreeSet<i64> = found.iter().copied().collect();
            assert_eq!(set.len(), found.len(), "{strategy:?} repeats itself");
            assert_eq!(set, wanted, "{strategy:?} from {source} on {json}");
            assert!(counts.edges <= bfs.edges, "{strategy:?} {counts:?} {bfs:?}");
            let found = run(&snapshot, json, source, strategy, true).0;
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sinks, "{strategy:?} from {source}");
        }
        check_top(&snapshot, model, &event, source, takes, missing);
        let retrieved = |strategy| run(&snapshot, json, source, strategy, false).1.retrieved;
        assert!(retrieved(Strategy::GeneralSkipping) <= retrieved(Strategy::General));
        assert!(retrieved(Strategy::DagSkipping) <= retrieved(Strategy::Dag));
    }
}

/// The best, against sorting all that is reached.
fn check_top(
    snapshot: &GraphSnapshot,
    model: &Model,
    event: &Event,
    source: i64,
    takes: impl Fn(&Option<Expression>) -> bool,
    missing: Missing,
) {
    let costs = model.cheapest(source, takes);
    let score = |node: i64| {
        model.nodes[&node].as_ref().map_or(0.0, |expression| {
            let scores = Scores::new([expression], snapshot.attributes(), missing);
            let mut scratch = ScoreScratch::default();
            scores.begin(event, &mut scratch);
            scores.score(0, event, &EventWeights::default(), &mut scratch).unwrap()
        })
    };
    let mut sorted: Vec<(i64, f64, f64)> = model
        .order
        .iter()
        .filter_map(|&node| costs.get(&node).map(|&cost| (node, score(node) - cost, cost)))
        .collect();
    sorted.sort_by(|a, b| b.1.total_cmp(&a.1));
    let number = snapshot.find(&source.into()).unwrap();
    for (most, max_cost) in
        [(100, f64::INFINITY), (3, f64::INFINITY), (1, f64::INFINITY), (100, 2.0), (0, 1.0)]
    {
        let ranking = Ranking { most, max_cost, sinks_only: false };
        let best = snapshot
            .top(event, number, ranking, &EventWeights::default(), &mut GraphScratch::default())
            .unwrap();
        let wanted = sorted.iter().filter(|(.., cost)| *cost <= max_cost).take(most);
        let wanted: Vec<(Id, f64, f64)> =
            wanted.map(|&(node, value, cost)| (node.into(), value, cost)).collect();
        let found: Vec<(Id, f64, f64)> =
            best.iter().map(|delivery| (delivery.id.clone(), delivery.value, delivery.cost)).collect();
        assert_eq!(found, wanted, "from {source}, {most} of at most {max_cost}");
        for Delivery { id, value, score, cost, path } in best {
            assert_eq!(value, score - cost);
            assert_eq!((path.first(), path.last()), (Some(&source.into()), Some(&id)));
            let cheapest = |pair: &[Id]| {
                let edges = model
                    .edges
                    .iter()
                    .filter(|edge| Id::from(edge.0) == pair[0] && Id::from(edge.1) == pair[1]);
                edges.map(|edge| edge.3).fold(f64::INFINITY, f64::min)
            };
            // Some edges may refuse the event, so that the path costs no less than the cheapest ones.
            assert!(path.windows(2).map(cheapest).sum::<f64>() <= cost);
        }
    }
}

const NODES: i64 = 9;

fn condition() -> impl Generator<Value = Option<Expression>> {
    let simple = prop_oneof![Just("a = 1"), Just("a in (1, 2)"), Just("not b = 1"), Just("a < 2 xor b = 1")];
    prop_oneof![
        3 => Just(None),
        3 => simple.prop_map(|text| Some(parse(text, &Limits::none()).unwrap())),
        1 => common::expression().prop_map(Some),
    ]
}

fn edge(cyclic: bool) -> impl Generator<Value = Change> {
    let cost = select(vec![1.0, 1.0, 0.0, 0.5, 2.25]);
    (0..NODES, 0..NODES, condition(), 0..3u8, cost).prop_filter_map(
        "acyclic",
        move |(a, b, condition, rare, cost)| {
            let (source, target) = if cyclic { (a, b) } else { (a.min(b), a.max(b)) };
            let expression = if rare == 0 { condition } else { None };
            (cyclic || source < target).then(|| Change::AddEdge {
                source: source.into(),
                target: target.into(),
                expression,
                cost,
            })
        },
    )
}

fn node() -> impl Generator<Value = Change> {
    (0..NODES, condition()).prop_map(|(id, expression)| Change::AddNode { id: id.into(), expression })
}

fn removal() -> impl Generator<Value = Change> {
    prop_oneof![
        (0..NODES).prop_map(|id| Change::RemoveNode { id: id.into() }),
        (0..NODES, 0..NODES)
            .prop_map(|(source, target)| Change::RemoveEdge { source: source.into(), target: target.into() }),
    ]
}

fn building(cyclic: bool) -> impl Generator<Value = Vec<Change>> {
    (vec(node(), 0..NODES as usize), vec(edge(cyclic), 0..20)).prop_map(|(mut nodes, edges)| {
        nodes.extend(edges);
        nodes
    })
}

fn event() -> impl Generator<Value = String> {
    prop_oneof![
        2 => common::event(),
        1 => (0..3, 0..3).prop_map(|(a, b)| format!(r#"{{"a": {a}, "b": {b}}}"#)),
    ]
}

/// All at once, as a batch.
fn load(graph: &Graph, changes: &[Change]) {
    let mut batch = Batch::default();
    for change in changes {
        match change.clone() {
            Change::AddNode { id, expression } => batch.add_node(id, expression, graph.limits()).unwrap(),
            Change::AddEdge { source, target, expression, cost } => {
                batch.add_edge(source, target, expression, cost, graph.limits()).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }
    graph.add_batch(batch).unwrap();
}

fn built(changes: &[Change], missing: Missing) -> (Graph, Model) {
    let mut graph = Graph::new(missing, Limits::default());
    // With a matcher that skips, and without.
    if changes.len().is_multiple_of(2) {
        graph = graph.with_skipping(tamis_papers::SKIPPING).unwrap();
    }
    load(&graph, changes);
    let mut model = Model::default();
    changes.iter().for_each(|change| model.apply(change));
    (graph, model)
}

proptest! {
    #[test]
    fn every_strategy_equals_the_definition_without_cycles(changes in building(false), json in event()) {
        for missing in [Missing::Unknown, Missing::False] {
            let (graph, model) = built(&changes, missing);
            check(&graph, &model, &json, missing);
        }
    }

    #[test]
    fn every_strategy_equals_the_definition_with_cycles(changes in building(true), json in event()) {
        for missing in [Missing::Unknown, Missing::False] {
            let (graph, model) = built(&changes, missing);
            check(&graph, &model, &json, missing);
        }
    }

    #[test]
    fn changes_are_seen_at_once_and_after_compiling(
        changes in building(true),
        later in vec(prop_oneof![3 => edge(true), 2 => node(), 2 => removal()], 1..12),
        json in event(),
        settles in any::<u16>(),
    ) {
        let (graph, mut model) = built(&changes, Missing::Unknown);
        for (position, change) in later.iter().enumerate() {
            model.apply(change);
            graph.change(change.clone()).unwrap();
            check(&graph, &model, &json, Missing::Unknown);
            if settles >> position & 1 == 1 {
                graph.settle();
                check(&graph, &model, &json, Missing::Unknown);
            }
        }
        graph.settle();
        check(&graph, &model, &json, Missing::Unknown);
    }

    #[test]
    fn a_second_batch_adds_to_the_first(
        first in building(true), second in building(true), json in event()
    ) {
        let (graph, mut model) = built(&first, Missing::Unknown);
        load(&graph, &second);
        // A batch takes its nodes first.
        let is_node = |change: &&Change| matches!(change, Change::AddNode { .. });
        second.iter().filter(is_node).for_each(|change| model.apply(change));
        second.iter().filter(|change| !is_node(change)).for_each(|change| model.apply(change));
        check(&graph, &model, &json, Missing::Unknown);
    }
}

proptest! {
    // A save waits for the disk.
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases / 16, ..ProptestConfig::default() })]

    #[test]
    fn saving_and_opening_change_nothing(
        changes in building(true), later in vec(edge(true), 0..3), json in event()
    ) {
        let folder = Folder::new("graph-saved");
        for missing in [Missing::Unknown, Missing::False] {
            let (graph, mut model) = built(&changes, missing);
            for change in &later {
                model.apply(change);
                graph.change(change.clone()).unwrap();
            }
            graph.save(&folder.0).unwrap();
            for verify in [false, true] {
                let opened = Graph::open(&folder.0, Limits::default(), OpenOptions::default().verify(verify)).unwrap();
                assert_eq!(opened.missing(), missing);
                check(&opened, &model, &json, missing);
                // What was opened can be changed.
                opened.add_edge(0.into(), 1.into(), None, 1.0).unwrap();
                let mut changed = model.clone();
                let (source, target) = (0.into(), 1.into());
                changed.apply(&Change::AddEdge { source, target, expression: None, cost: 1.0 });
                check(&opened, &changed, &json, missing);
                opened.settle();
                check(&opened, &changed, &json, missing);
            }
        }
    }
}

/// A folder of its own, removed afterwards.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("tamis-{name}-{}", std::process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_crash() {
    let folder = Folder::new("graph-damaged");
    let graph = Graph::new(Missing::Unknown, Limits::default());
    for node in 0..40i64 {
        let expression = parse(&format!("a = {} xor b like 'x%'", node % 3), graph.limits()).unwrap();
        graph.add_node(node.into(), Some(expression)).unwrap();
        graph.add_edge(node.into(), ((node * 7 + 1) % 40).into(), None, 0.5).unwrap();
        graph.add_edge(node.into(), ((node * 3) % 40).into(), None, 1.5).unwrap();
    }
    graph.save(&folder.0).unwrap();
    let named = |path: &std::path::Path| path.extension().is_some_and(|found| found == "tamis");
    let mut files = std::fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().path());
    let file = files.find(|path| named(path)).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    for position in (40..bytes.len()).step_by(61) {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x55;
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, &damaged).unwrap();
        let error = Graph::open(&folder.0, Limits::default(), OpenOptions::default()).unwrap_err();
        assert!(error.to_string().contains("checksum"), "{error}");
        // Without verification it answers or says that it is damaged.
        let Ok(graph) = Graph::open(&folder.0, Limits::default(), OpenOptions::default().verify(false))
        else {
            continue;
        };
        let snapshot = graph.snapshot();
        let mut event = Event::default();
        if event.decode_json(br#"{"a": 1, "b": "xy"}"#, snapshot.attributes(), &Limits::default()).is_err() {
            continue;
        }
        let Some(source) = snapshot.find(&3.into()) else { continue };
        for strategy in Strategy::ALL {
            let _ = snapshot.matches(&event, source, strategy, true, &mut GraphScratch::default(), |_| ());
        }
        graph.add_edge(1.into(), 2.into(), None, 1.0).unwrap();
        assert!(graph.save(&folder.0).is_err(), "what is damaged must not be copied");
    }
    std::fs::write(folder.0.join("graph.json"), "{}").unwrap();
    let error = Graph::open(&folder.0, Limits::default(), OpenOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not the manifest of a graph"), "{error}");
    let error =
        Graph::open(&folder.0.join("nowhere"), Limits::default(), OpenOptions::default()).unwrap_err();
    assert!(error.to_string().contains("graph.json is missing"), "{error}");
}

fn count(graph: &Graph, source: i64, strategy: Strategy) -> usize {
    run(&graph.snapshot(), "{}", source, strategy, false).0.len()
}

#[test]
fn long_paths_and_dense_graphs_are_ordinary() {
    let path = Graph::new(Missing::Unknown, Limits::default());
    let mut batch = Batch::default();
    // Against the order of the ids, so that numbering has work to do.
    for node in 1..200_000i64 {
        batch.add_edge(node.into(), (node - 1).into(), None, 1.0, path.limits()).unwrap();
    }
    path.add_batch(batch).unwrap();
    let dense = Graph::new(Missing::Unknown, Limits::default());
    let mut batch = Batch::default();
    for (source, target) in (0..300i64).flat_map(|source| (0..300i64).map(move |target| (source, target))) {
        batch.add_edge(source.into(), target.into(), None, 1.0, dense.limits()).unwrap();
    }
    dense.add_batch(batch).unwrap();
    for strategy in Strategy::ALL {
        assert_eq!(count(&path, 199_999, strategy), 199_999, "{strategy:?}");
        assert_eq!(count(&path, 0, strategy), 0);
        // A cycle leads back to the source.
        assert_eq!(count(&dense, 7, strategy), 300, "{strategy:?}");
    }
}

#[test]
fn old_snapshots_do_not_change() {
    let graph = Graph::new(Missing::Unknown, Limits::default());
    (0..100i64).for_each(|node| graph.add_edge(0.into(), (node + 1).into(), None, 1.0).unwrap());
    let before = graph.snapshot();
    (0..50i64).for_each(|node| assert!(graph.remove_node(&(node + 1).into())));
    assert!(!graph.remove_node(&1.into()));
    assert!(graph.remove_edge(&0.into(), &60.into()));
    assert!(!graph.remove_edge(&0.into(), &60.into()));
    graph.settle();
    let source = before.find(&0.into()).unwrap();
    let mut seen = 0;
    before
        .matches(&Event::default(), source, Strategy::Auto, false, &mut GraphScratch::default(), |_| {
            seen += 1
        })
        .unwrap();
    assert_eq!((seen, before.len()), (100, 101));
    assert_eq!(count(&graph, 0, Strategy::Auto), 49);
    assert_eq!(graph.snapshot().len(), 51);
}

#[test]
fn a_node_that_nothing_led_to_can_be_reached_later() {
    let graph = Graph::new(Missing::Unknown, Limits::default());
    let mut batch = Batch::default();
    batch.add_node(1.into(), None, graph.limits()).unwrap();
    batch.add_node(2.into(), Some(parse("missing(a)", graph.limits()).unwrap()), graph.limits()).unwrap();
    graph.add_batch(batch).unwrap();
    graph.add_edge(1.into(), 2.into(), None, 1.0).unwrap();
    Strategy::ALL.into_iter().for_each(|strategy| assert_eq!(count(&graph, 1, strategy), 1, "{strategy:?}"));
}

#[test]
fn costs_are_finite_and_not_negative() {
    let graph = Graph::new(Missing::Unknown, Limits::default());
    for cost in [-1.0, f64::NAN, f64::INFINITY, -0.5] {
        let error = graph.add_edge(1.into(), 2.into(), None, cost).unwrap_err();
        assert!(error.to_string().contains("finite number from 0"), "{error}");
        let mut batch = Batch::default();
        batch.add_node(1.into(), None, graph.limits()).unwrap();
        let error = batch.add_edge(1.into(), 2.into(), None, cost, graph.limits()).unwrap_err();
        assert!(error.to_string().starts_with("item 1 (edge 1 -> 2): "), "{error}");
    }
    assert!(graph.snapshot().is_empty());
}

#[test]
fn writers_and_readers_do_not_wait_for_each_other() {
    let graph = Graph::new(Missing::Unknown, Limits::default());
    graph.add_edge(0.into(), 1.into(), None, 1.0).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..2i64 {
            let graph = &graph;
            scope.spawn(move || {
                for round in 0..1500i64 {
                    let node = 2 + writer + 2 * round;
                    // A chain that each writer extends backwards and forwards, so that order is lost.
                    graph.add_edge(node.into(), (node - 2).into(), None, 1.0).unwrap();
                    graph.add_edge((node - 2).into(), node.into(), None, 1.0).unwrap();
                }
            });
        }
        for strategy in [Strategy::Auto, Strategy::GeneralSkipping] {
            let graph = &graph;
            scope.spawn(move || {
                let mut last = 0;
                for _ in 0..200 {
                    let now = count(graph, 0, strategy);
                    assert!(now >= last, "nothing is lost: {now} after {last}");
                    last = now;
                }
            });
        }
    });
    graph.settle();
    assert_eq!(count(&graph, 0, Strategy::GeneralSkipping), 3002);
}
