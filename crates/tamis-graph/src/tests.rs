//! The runs of figures 4, 7 and 9 of Broder et al. 2011, step by step, and figure 10.
//!
//! The drawings are not reproduced; the graphs are ones on which the tables beside them hold.

use std::sync::Arc;

use super::cursor::ListCursor;
use super::draft::{DraftEdge, GraphDraft, NONE};
use super::evaluate::{Run, Strategy};
use super::order::Order;
use super::scratch::{COMPONENT, GraphScratch, REACHABLE, RESULT, VALID};
use super::segment::Segment;
use super::snapshot::GraphSnapshot;
use super::tail::Tail;
use crate::event::{Attributes, Event};
use crate::expression::parse;
use crate::limits::Limits;
use crate::truth::Missing;

/// A graph whose nodes keep their numbers. Valid nodes ask for label 'A', which the event has, all
/// others for 'X'. `firsts` has the first node of every component.
fn graph(nodes: u32, edges: &[(u32, u32)], valid: &[u32], firsts: &[u32]) -> GraphSnapshot {
    let mut draft = GraphDraft::default();
    for node in 0..nodes {
        let label = if valid.contains(&node) { "label = 'A'" } else { "label = 'X'" };
        let expression = draft.expression(Some(&parse(label, &Limits::none()).unwrap()));
        draft.add_node(i64::from(node).into(), expression);
    }
    draft.edges = edges
        .iter()
        .map(|&(source, target)| DraftEdge { source, target, expression: NONE, cost: 1.0 })
        .collect();
    let attributes = Arc::new(Attributes::default());
    let order = |_: super::order::Rows<'_>| {
        let first = |node: u32| firsts.iter().copied().filter(|&first| first <= node).max().unwrap();
        Order { nodes: (0..nodes).collect(), firsts: (0..nodes).map(first).collect() }
    };
    let segment = Segment::in_order(&draft, &attributes, Missing::Unknown, &false.into(), order).unwrap();
    GraphSnapshot {
        segment: Arc::new(segment),
        tail: Tail::default(),
        attributes,
        missing: Missing::Unknown,
        pool: Arc::default(),
        skipping: None,
    }
}

/// The state after a node was taken from the index.
#[derive(Debug, PartialEq)]
struct Row {
    node: Option<u32>,
    reachable: Vec<u32>,
    results: Vec<u32>,
}

fn row(node: impl Into<Option<u32>>, reachable: &[u32], results: &[u32]) -> Row {
    Row { node: node.into(), reachable: reachable.to_vec(), results: results.to_vec() }
}

/// Runs a strategy with the index that the compiled expressions are, and notes every step.
fn trace(graph: &GraphSnapshot, source: u32, strategy: Strategy) -> (Vec<Row>, GraphScratch) {
    let mut working = GraphScratch::default();
    let mut event = Event::default();
    event.decode_json(br#"{"label": "A"}"#, graph.attributes(), &Limits::default()).unwrap();
    let mut run = Run::new(graph, &event, source, strategy, &mut working);
    graph.find_valid(&event, &mut working);
    let valid = working.valid.clone();
    let mut cursor = ListCursor::new(&valid);
    let state = |node, working: &GraphScratch| row(node, &working.marked(REACHABLE), &working.marked(RESULT));
    let mut rows = vec![state(None, &working)];
    while let Some(node) = run.step(graph, &mut working, &mut cursor) {
        rows.push(state(Some(node), &working));
    }
    (rows, working)
}

/// Figure 4: from 0, with {2, 3, 5, 6, 8} valid.
fn figure_4() -> GraphSnapshot {
    let edges = [(0, 1), (0, 4), (0, 5), (1, 2), (1, 3), (3, 5), (4, 7), (5, 6), (5, 7), (6, 8), (7, 8)];
    graph(9, &edges, &[2, 3, 5, 6, 8], &[0, 1, 2, 3, 4, 5, 6, 7, 8])
}

#[test]
fn figure_4_without_skipping() {
    let (rows, working) = trace(&figure_4(), 0, Strategy::Dag);
    let wanted = [
        row(None, &[1, 4, 5], &[]),
        row(2, &[1, 4, 5], &[]),
        row(3, &[1, 4, 5], &[]),
        row(5, &[1, 4, 5, 6, 7], &[5]),
        row(6, &[1, 4, 5, 6, 7, 8], &[5, 6]),
        row(8, &[1, 4, 5, 6, 7, 8], &[5, 6, 8]),
    ];
    assert_eq!(rows, wanted);
    assert_eq!((working.counts.retrieved, working.counts.edges), (5, 6));
}

#[test]
fn figure_4_with_skipping_does_not_retrieve_node_3() {
    let (rows, working) = trace(&figure_4(), 0, Strategy::DagSkipping);
    let wanted = [
        row(None, &[1, 4, 5], &[]),
        row(2, &[1, 4, 5], &[]),
        row(5, &[1, 4, 5, 6, 7], &[5]),
        row(6, &[1, 4, 5, 6, 7, 8], &[5, 6]),
        row(8, &[1, 4, 5, 6, 7, 8], &[5, 6, 8]),
    ];
    assert_eq!(rows, wanted);
    assert_eq!((working.counts.retrieved, working.counts.edges), (4, 6));
}

/// Figure 7: from 3, with {1, 2, 5, 6, 8} valid; numbers say nothing about the order.
const FIGURE_7: [(u32, u32); 12] =
    [(3, 4), (3, 7), (3, 8), (4, 6), (6, 2), (2, 5), (5, 2), (5, 0), (7, 0), (8, 0), (8, 1), (1, 8)];

#[test]
fn figure_7() {
    let all = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut graph = graph(9, &FIGURE_7, &[1, 2, 5, 6, 8], &all);
    graph.tail.unordered = true;
    // With no order to rely on, every strategy that the index drives does the same.
    for strategy in [Strategy::General, Strategy::Dag, Strategy::DagSkipping, Strategy::GeneralSkipping] {
        let (rows, working) = trace(&graph, 3, strategy);
        let wanted = [
            row(None, &[4, 7, 8], &[]),
            row(1, &[4, 7, 8], &[]),
            row(2, &[4, 7, 8], &[]),
            row(5, &[4, 7, 8], &[]),
            row(6, &[4, 7, 8], &[]),
            row(8, &[0, 1, 4, 7, 8], &[1, 8]),
        ];
        assert_eq!(rows, wanted);
        assert_eq!(working.marked(VALID), [1, 2, 5, 6, 8]);
        assert_eq!((working.counts.retrieved, working.counts.edges), (5, 6));
    }
}

/// Figure 9: the graph of figure 7 with new numbers. By component and place in it:
/// 3 is 0.1, 4 is 1.1, 6 is 2.1, 2 and 5 are 3.1 and 3.2, 7 is 4.1, 8 and 1 are 5.1 and 5.2, 0 is 6.1.
#[test]
fn figure_9_skips_a_component() {
    let new = [8, 7, 3, 0, 1, 4, 2, 5, 6];
    let edges = FIGURE_7.map(|(source, target)| (new[source as usize], new[target as usize]));
    let valid = [1, 2, 5, 6, 8].map(|node: usize| new[node]);
    let graph = graph(9, &edges, &valid, &[0, 1, 2, 3, 5, 6, 8]);
    let (rows, working) = trace(&graph, 0, Strategy::GeneralSkipping);
    let wanted = [
        row(None, &[1, 5, 6], &[]),
        // 2.1 is in no reachable component: 3.1 and 3.2 are skipped, and it is not noted as valid.
        row(2, &[1, 5, 6], &[]),
        row(6, &[1, 5, 6, 7, 8], &[6]),
        row(7, &[1, 5, 6, 7, 8], &[6, 7]),
    ];
    assert_eq!(rows, wanted);
    assert_eq!(working.marked(VALID), [6, 7]);
    assert_eq!(working.marked(COMPONENT), [1, 5, 6, 8]);
    assert_eq!((working.counts.retrieved, working.counts.edges), (3, 6));
    // Without skipping, both are retrieved.
    let (rows, _) = trace(&graph, 0, Strategy::General);
    assert_eq!(rows.iter().filter_map(|row| row.node).collect::<Vec<_>>(), [2, 3, 4, 6, 7]);
}

/// Figure 10: one component of m nodes in a ring, entered from outside. Numbered against the walk, the
/// first result waits for the last node; numbered as the graph is compiled, it comes with the first.
#[test]
fn figure_10_numbers_decide_when_the_first_result_comes() {
    let nodes = 50;
    let ring = |step: i64| {
        let mut edges: Vec<(u32, u32)> = (1..nodes)
            .map(|node| (node, ((i64::from(node) - 1 + step).rem_euclid(i64::from(nodes) - 1) + 1) as u32))
            .collect();
        edges.push((0, if step > 0 { 2 } else { nodes - 1 }));
        edges
    };
    let valid: Vec<u32> = (2..nodes).collect();
    let first = |edges: &[(u32, u32)]| {
        let (rows, _) = trace(&graph(nodes, edges, &valid, &[0, 1]), 0, Strategy::GeneralSkipping);
        rows.iter().position(|row| !row.results.is_empty()).unwrap()
    };
    assert_eq!(first(&ring(-1)), 48);
    assert_eq!(first(&ring(1)), 1);
}
