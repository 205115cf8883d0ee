//! The worked examples of Ji & Jacobsen 2021, and cases they do not cover.

use std::collections::BTreeSet;

use super::*;
use tamis::Limits;
use tamis::parse;

struct Fixture {
    atree: ATree,
    attributes: Attributes,
}

const PLAIN: ATreeOptions = ATreeOptions {
    share: true,
    binary: false,
    zero_suppression: true,
    reorganise: false,
    self_adjust: false,
    propagation_on_demand: false,
};

impl Fixture {
    fn new(options: ATreeOptions, expressions: &[&str]) -> Fixture {
        let mut fixture =
            Fixture { atree: ATree::new(Missing::Unknown, options), attributes: Attributes::default() };
        for (slot, text) in (0..).zip(expressions) {
            fixture.insert(slot, text);
        }
        fixture
    }

    fn insert(&mut self, slot: Slot, text: &str) {
        let form = normalise(&parse(text, &Limits::none()).unwrap());
        self.atree.insert(slot, &form, &self.attributes);
        self.atree.validate().unwrap();
    }

    fn remove(&mut self, slot: Slot) {
        assert!(self.atree.remove(slot));
        self.atree.validate().unwrap();
    }

    fn matches(&self, json: &str) -> Vec<Slot> {
        let mut event = Event::default();
        event.decode_json(json.as_bytes(), &self.attributes, &Limits::none()).unwrap();
        let mut found = Vec::new();
        self.atree.matches(&event, &mut Scratch::default(), &mut found);
        found
    }

    /// A node as it is evaluated, with its children sorted by name.
    fn print(&self, id: NodeId) -> String {
        let node = self.atree.graph.node(id);
        let mut children: Vec<_> = node.children.iter().map(|link| self.print(link.node)).collect();
        children.sort_unstable();
        match node.kind {
            NodeKind::Leaf { predicate, negated, .. } => {
                let name = self.attributes.name(self.atree.predicates.attribute(predicate)).unwrap();
                format!("{}{name}", if negated { "!" } else { "" })
            }
            NodeKind::And => format!("({})", children.join(" & ")),
            NodeKind::Or => format!("({})", children.join(" | ")),
            NodeKind::Free => String::new(),
        }
    }

    /// The nodes above the leaves.
    fn operators(&self) -> BTreeSet<String> {
        let operator = |id: &NodeId| matches!(self.atree.graph.node(*id).kind, NodeKind::And | NodeKind::Or);
        (0..self.atree.graph.nodes.len() as NodeId).filter(operator).map(|id| self.print(id)).collect()
    }

    fn assert_operators(&self, expected: &[&str]) {
        assert_eq!(self.operators(), expected.iter().map(|text| text.to_string()).collect());
    }
}

/// The two expressions of Figure 4.
const FIGURE_4: [&str; 2] = ["(p1 or p2 or p3) and p4 and (p5 or p6)", "(p5 or p6) and (p7 or p8)"];

#[test]
fn figure_4_shares_a_subexpression() {
    for options in [PLAIN, ATreeOptions::default()] {
        let fixture = Fixture::new(options, &FIGURE_4);
        fixture.assert_operators(&[
            "((p1 | p2 | p3) & (p5 | p6) & p4)",
            "((p5 | p6) & (p7 | p8))",
            "(p1 | p2 | p3)",
            "(p5 | p6)",
            "(p7 | p8)",
        ]);
        let stats = fixture.atree.stats();
        assert_eq!((stats.nodes, stats.edges, stats.predicates, stats.levels), (13, 12, 8, 3));
    }
}

#[test]
fn without_sharing_every_expression_has_its_own_nodes() {
    let fixture = Fixture::new(ATreeOptions { share: false, ..ATreeOptions::default() }, &FIGURE_4);
    let stats = fixture.atree.stats();
    assert_eq!((stats.nodes, stats.edges, stats.predicates), (14, 14, 8));
    assert_eq!(fixture.matches(r#"{"p1": true, "p4": true, "p5": true, "p8": true}"#), [0, 1]);
}

#[test]
fn binary_nodes_have_two_children() {
    let mut fixture = Fixture::new(ATreeOptions { binary: true, ..PLAIN }, &["p1 or p2 or p3", "p2 or p1"]);
    fixture.assert_operators(&["((p1 | p2) | p3)", "(p1 | p2)"]);
    fixture.remove(0);
    fixture.assert_operators(&["(p1 | p2)"]);
}

#[test]
fn section_4_2_1_order_does_not_matter() {
    let mut fixture = Fixture::new(ATreeOptions::default(), &FIGURE_4);
    let before = fixture.atree.stats();
    fixture.insert(2, "p4 and (p3 or p2 or p1) and (p6 or p5)");
    let after = fixture.atree.stats();
    assert_eq!((after.nodes, after.edges, after.expressions), (before.nodes, before.edges, 3));
    assert_eq!(fixture.matches(r#"{"p1": true, "p4": true, "p5": true}"#), [0, 2]);
}

#[test]
fn section_4_2_2_a_new_expression_reuses_a_node() {
    let mut fixture = Fixture::new(ATreeOptions::default(), &FIGURE_4);
    let before = fixture.atree.stats();
    fixture.insert(2, "p1 or p2 or p3 or p4");
    assert!(fixture.operators().contains("((p1 | p2 | p3) | p4)"));
    let after = fixture.atree.stats();
    assert_eq!((after.nodes, after.edges), (before.nodes + 1, before.edges + 2));
    // Without reorganisation it has the four predicates as children.
    let mut plain = Fixture::new(PLAIN, &FIGURE_4);
    plain.insert(2, "p1 or p2 or p3 or p4");
    assert!(plain.operators().contains("(p1 | p2 | p3 | p4)"));
}

#[test]
fn section_4_2_2_reused_nodes_may_overlap() {
    let expressions = ["p1 and p2 and p3", "p3 and p4", "p1 and p2 and p3 and p4"];
    let fixture = Fixture::new(ATreeOptions::default(), &expressions);
    fixture.assert_operators(&["((p1 & p2 & p3) & (p3 & p4))", "(p1 & p2 & p3)", "(p3 & p4)"]);
    assert_eq!(fixture.matches(r#"{"p1": true, "p2": true, "p3": true, "p4": true}"#), [0, 1, 2]);
    assert_eq!(fixture.matches(r#"{"p1": true, "p2": false, "p3": true, "p4": true}"#), [1]);
}

#[test]
fn section_4_2_3_a_new_node_is_put_under_an_old_one_and_4_2_4_taken_out() {
    let mut fixture = Fixture::new(ATreeOptions::default(), &FIGURE_4);
    let (before, operators) = (fixture.atree.stats(), fixture.operators());
    fixture.insert(2, "(p1 or p2 or p3) and p4");
    fixture.assert_operators(&[
        "(((p1 | p2 | p3) & p4) & (p5 | p6))",
        "((p1 | p2 | p3) & p4)",
        "((p5 | p6) & (p7 | p8))",
        "(p1 | p2 | p3)",
        "(p5 | p6)",
        "(p7 | p8)",
    ]);
    assert_eq!(fixture.atree.stats().levels, 4);
    assert_eq!(fixture.matches(r#"{"p2": true, "p4": true, "p6": true}"#), [0, 2]);
    fixture.remove(2);
    assert_eq!(fixture.operators(), operators);
    assert_eq!(fixture.atree.stats(), before);
    // The node stays because it is still used: as the root of one expression, and below the other.
    fixture.insert(2, "(p1 or p2 or p3) and p4");
    fixture.remove(0);
    fixture.assert_operators(&[
        "((p1 | p2 | p3) & p4)",
        "((p5 | p6) & (p7 | p8))",
        "(p1 | p2 | p3)",
        "(p5 | p6)",
        "(p7 | p8)",
    ]);
    fixture.remove(1);
    fixture.remove(2);
    assert_eq!((fixture.atree.stats().nodes, fixture.atree.stats().predicates), (0, 0));
}

#[test]
fn section_4_2_3_the_order_of_arrival_does_not_matter() {
    let expressions = ["p1 and p2 and p3 and p4", "p1 and p2 and p3", "p1 and p2"];
    let forwards = Fixture::new(ATreeOptions::default(), &expressions);
    let mut backwards = expressions;
    backwards.reverse();
    let backwards = Fixture::new(ATreeOptions::default(), &backwards);
    let expected = ["(((p1 & p2) & p3) & p4)", "((p1 & p2) & p3)", "(p1 & p2)"];
    forwards.assert_operators(&expected);
    backwards.assert_operators(&expected);
}

#[test]
fn section_5_2_1_negation_stands_at_the_predicates() {
    let fixture = Fixture::new(ATreeOptions::default(), &["not (age > 60 or weight > 100)"]);
    fixture.assert_operators(&["(!age & !weight)"]);
    assert_eq!(fixture.matches(r#"{"age": 60, "weight": 100}"#), [0]);
    assert_eq!(fixture.matches(r#"{"age": 61, "weight": 100}"#), [] as [Slot; 0]);
    assert_eq!(fixture.matches(r#"{"age": 60}"#), [] as [Slot; 0]);
}

/// The steps of section 5.3: an event with P1 alone makes only an `or` over an `or`, and a negated
/// `or`, true.
#[test]
fn section_5_3_matching_goes_level_by_level() {
    let expressions = [FIGURE_4[0], FIGURE_4[1], "p1 or p2 or p3 or p4", "not (p7 or p8)"];
    for options in [PLAIN, ATreeOptions::default()] {
        let fixture = Fixture::new(options, &expressions);
        let event = r#"{"p1": true, "p2": false, "p4": false, "p7": false, "p8": false}"#;
        assert_eq!(fixture.matches(event), [2, 3]);
    }
}

/// On demand, the access child is the only trigger of an `and`, and it follows the statistics.
#[test]
fn section_5_2_2_the_access_child_follows_the_statistics() {
    let mut fixture = Fixture::new(ATreeOptions::default(), &["common = 1 and rare = 1"]);
    let access = |fixture: &Fixture| {
        let graph = &fixture.atree.graph;
        let and = (0..3).find(|&id| graph.node(id).kind == NodeKind::And).unwrap();
        fixture.print(graph.child(and, 0))
    };
    let count = |fixture: &Fixture, name: &str| {
        (0..600).for_each(|_| drop(fixture.matches(&format!("{{\"{name}\": 1}}"))));
    };
    count(&fixture, "common");
    fixture.atree.adapt();
    fixture.atree.validate().unwrap();
    assert_eq!(access(&fixture), "rare");
    // Counting is sparse after many events, but a common predicate is still noticed.
    let mut scratch = Scratch::default();
    let mut event = Event::default();
    event.decode_json(br#"{"rare": 1}"#, &fixture.attributes, &Limits::none()).unwrap();
    for _ in 0..160_000 {
        fixture.atree.matches(&event, &mut scratch, &mut Vec::new());
    }
    fixture.atree.adapt();
    fixture.atree.validate().unwrap();
    assert_eq!(access(&fixture), "common");
    assert_eq!(fixture.matches(r#"{"common": 1, "rare": 1}"#), [0]);
}

#[test]
fn constants_and_replacement() {
    let mut fixture = Fixture::new(ATreeOptions::default(), &["true", "false", "a or true", "a"]);
    assert_eq!(fixture.matches("{}"), [0, 2]);
    fixture.insert(0, "a");
    assert_eq!(fixture.matches("{}"), [2]);
    assert_eq!(fixture.matches(r#"{"a": true}"#), [0, 2, 3]);
    fixture.remove(2);
    fixture.remove(1);
    assert!(!fixture.atree.remove(1));
    assert_eq!(fixture.matches(r#"{"a": true}"#), [0, 3]);
    assert_eq!(fixture.atree.len(), 2);
}

/// Signed predicates that differ only in weight are one predicate.
#[test]
fn weights_do_not_make_nodes() {
    let mut fixture = Fixture::new(
        ATreeOptions::default(),
        &["a = 1^2 and a = 1^3", "c and (a = 1^2 and b or a = 1^3 and b)", "d or a = 1^2 and a = 1^3 and b"],
    );
    fixture.assert_operators(&["((a & b) & c)", "((a & b) | d)", "(a & b)"]);
    assert_eq!(fixture.matches(r#"{"a": 1, "b": true, "c": true}"#), [0, 1, 2]);
    (0..3).for_each(|slot| fixture.remove(slot));
    assert_eq!(fixture.atree.stats().nodes, 0);
}

/// A depth far beyond the default limits. A match that reaches only low levels visits only those.
#[test]
fn depth_is_bounded_by_memory_alone() {
    let deep = 50_000;
    let text = format!("{}a{}", "(b or c and ".repeat(deep), ")".repeat(deep));
    let mut fixture = Fixture::new(ATreeOptions::default(), &["c", "b and c"]);
    let limits = Limits::none();
    let form = normalise(&parse(&text, &limits).unwrap());
    fixture.atree.insert(2, &form, &fixture.attributes);
    fixture.atree.validate().unwrap();
    assert_eq!(fixture.matches(r#"{"c": true, "a": true}"#), [0, 2]);
    assert_eq!(fixture.matches(r#"{"a": true}"#), [] as [Slot; 0]);
    fixture.remove(2);
    assert_eq!(fixture.atree.stats().nodes, 3);
}
