//! The worked examples of Fontoura et al. 2010, section 4, and properties of the layout.

use super::label::{Label, label};
use super::*;
use crate::forest::{ForestBuilder, Source, TreeNode};
use crate::testing::{self, figure_2, figure_2_holds, leaf, read};

fn labels(nodes: &[TreeNode], last: u32) -> Vec<(char, u32, u32)> {
    let mut labels = Vec::new();
    label(nodes, last, |source, Label { begin, end }| match source {
        Source::Conjunction(letter) => labels.push((char::from_u32(letter).unwrap(), begin, end)),
        Source::Shared(_) => unreachable!(),
    });
    labels
}

#[test]
fn labels_of_figures_3_to_5() {
    assert_eq!(labels(&[TreeNode::Or(2), leaf('A'), leaf('B')], 10), [('A', 1, 10), ('B', 1, 10)]);
    assert_eq!(labels(&[TreeNode::And(2), leaf('A'), leaf('B')], 10), [('A', 1, 1), ('B', 2, 10)]);
    let expected = [('A', 1, 1), ('B', 2, 10), ('C', 1, 10), ('D', 1, 4), ('E', 5, 5), ('F', 6, 10)];
    assert_eq!(labels(&figure_2(), 10), expected);
}

/// MATCH as in the paper (Alg. 5), with its `matched` after each interval.
fn matched(intervals: &[(char, u32, u32)], last: u32) -> Vec<String> {
    let mut matched = vec![false; last as usize + 1];
    matched[0] = true;
    let mut rows = Vec::new();
    for &(_, begin, end) in intervals {
        if matched[begin as usize - 1] {
            matched[end as usize] = true;
        }
        rows.push(matched.iter().map(|cell| if *cell { '1' } else { '0' }).collect());
    }
    rows
}

#[test]
fn the_run_of_table_1() {
    let mut intervals = labels(&figure_2(), 10);
    intervals.retain(|(letter, ..)| "ADEF".contains(*letter));
    intervals.sort_by_key(|(_, begin, _)| *begin);
    assert_eq!(matched(&intervals, 10), ["11000000000", "11001000000", "11001100000", "11001100001"]);
}

#[test]
fn the_layout_runs_as_table_1_does() {
    let attributes = Attributes::default();
    let expressions = read(&["a and x or c or d and (e or z) and (f or z)"]);
    let interval = Interval::new(&expressions, &attributes, Missing::False, IntervalOptions::default());
    let run = |json: &str| testing::run(&interval, json, &attributes);
    let (found, counters) = run(r#"{"a": true, "d": true, "e": true, "f": true}"#);
    assert_eq!(found, [0]);
    assert_eq!(counters.leaves, 3);
    // The first interval of the line takes one probe, the next two take two each.
    assert_eq!(counters.probes, 5);
    assert!(run(r#"{"d": true, "f": true}"#).0.is_empty());
    assert_eq!(run(r#"{"c": true}"#).0, [0]);
}

#[test]
fn labels_take_few_bytes() {
    // Five leaves each; no two expressions share a leaf.
    let texts: Vec<String> = (0..2000)
        .map(|n| format!("a = {n} and (b = {n} or c = {n}) and (d = {n} or e = {n} and f = {n})"))
        .collect();
    let attributes = Attributes::default();
    let interval = Interval::new(&read(&texts), &attributes, Missing::False, IntervalOptions::default());
    let leaves = 5 * texts.len();
    // With four bytes per cell and eight per run it would be 18.
    assert!(interval.label_bytes() < 12 * leaves, "{} of {leaves}", interval.label_bytes());
    let found = |json: &str| testing::run(&interval, json, &attributes).0;
    assert_eq!(found(r#"{"a": [7, 1999], "b": 1999, "c": 7, "e": [7, 1999], "f": 1999}"#), [1999]);
}

/// Whether intervals cover the whole line without overlap.
fn covered(intervals: &[(char, u32, u32)], last: u32) -> bool {
    let mut sorted = intervals.to_vec();
    sorted.sort_by_key(|(_, begin, _)| *begin);
    matched(&sorted, last).last().is_some_and(|row| row.ends_with('1'))
}

#[test]
fn the_invalid_labelling_of_figure_6() {
    // E starts where B does, which violates the third invariant: B and D would suffice.
    let invalid = [('A', 1, 1), ('B', 2, 10), ('C', 1, 10), ('D', 1, 1), ('E', 2, 5), ('F', 6, 10)];
    let pick = |labels: &[(char, u32, u32)], letters: &str| -> Vec<_> {
        labels.iter().copied().filter(|(letter, ..)| letters.contains(*letter)).collect()
    };
    assert!(covered(&pick(&invalid, "BD"), 10));
    let valid = labels(&figure_2(), 10);
    assert!(!covered(&pick(&valid, "BD"), 10));
    // For all sets of true leaves, the labels of LABEL give the same result as the expression.
    for set in 0..64u32 {
        let letters: String = ('A'..='F').filter(|letter| set >> (*letter as u32 - 65) & 1 == 1).collect();
        let expected = figure_2_holds(&letters);
        assert_eq!(covered(&pick(&valid, &letters), 10), expected, "{letters}");
    }
}

#[test]
fn invariants_hold() {
    let nodes = [
        TreeNode::And(3),
        TreeNode::Or(2),
        TreeNode::And(2),
        leaf('A'),
        leaf('B'),
        TreeNode::And(1),
        leaf('C'),
        leaf('D'),
        TreeNode::Or(2),
        leaf('E'),
        TreeNode::And(2),
        leaf('F'),
        leaf('G'),
    ];
    let expected =
        [('A', 1, 1), ('B', 2, 3), ('C', 1, 3), ('D', 4, 4), ('E', 5, 7), ('F', 5, 6), ('G', 7, 7)];
    assert_eq!(labels(&nodes, 7), expected);
}

fn compare(texts: &[String], events: &[String], most_leaves: Option<usize>) {
    for common in [false, true] {
        let make = |expressions: &[Expression], attributes: &Attributes| {
            let builder = ForestBuilder::new(attributes, Missing::Unknown, common);
            build::build(most_leaves.map_or(builder, |most| builder.with_most_leaves(most)), expressions)
        };
        testing::compare(texts, events, make, |counters| {
            assert!(counters.probes <= 2 * counters.leaves, "{counters:?}");
        });
    }
}

#[test]
fn more_leaves_than_sixteen_bits_can_number() {
    // 132,000 leaves; the `and` needs every one of its `or`s.
    let ors: Vec<_> = (0..66_000).map(|number| format!("(a{number} or b{})", number % 97)).collect();
    let all_but = |missing: usize| {
        let pairs: Vec<_> = (0..66_000).filter(|n| *n != missing).map(|n| format!("\"a{n}\":true")).collect();
        format!("{{{}}}", pairs.join(","))
    };
    compare(&[ors.join(" and ")], &[all_but(66_001), all_but(65_999), all_but(65_536), all_but(0)], None);
}

#[test]
fn what_no_longer_fits_is_evaluated() {
    let texts: Vec<_> = (0..20).map(|n| format!("(a = {n} or b = 1) and (c = 1 or a = 0)")).collect();
    let events = [
        r#"{"a": 3, "c": 1}"#.to_owned(),
        r#"{"a": 0}"#.to_owned(),
        r#"{"a": [1, 19, 7], "c": 1}"#.to_owned(),
    ];
    compare(&texts, &events, Some(45));
    compare(&texts, &events, Some(0));
}

#[test]
fn common_subexpressions_are_evaluated_once() {
    let texts: Vec<_> = (0..50)
        .map(|n| format!("((a = 1 or b = 1) and (c = 1 or d = 1) or e = {n}) and f = {}", n % 5))
        .collect();
    let expressions = read(&texts);
    let attributes = Attributes::default();
    let mut counts = Vec::new();
    for common_subexpressions in [false, true] {
        let options = IntervalOptions { common_subexpressions };
        let interval = Interval::new(&expressions, &attributes, Missing::Unknown, options);
        assert_eq!(interval.shared() > 0, common_subexpressions);
        let event = r#"{"a": 1, "b": 1, "c": 1, "d": 1, "f": 2}"#;
        let (found, counters) = testing::run(&interval, event, &attributes);
        assert_eq!(found.len(), 10);
        counts.push(counters.leaves);
    }
    assert!(2 * counts[1] < counts[0], "{counts:?}");
}
