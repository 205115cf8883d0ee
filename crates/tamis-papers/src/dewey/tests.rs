//! The worked example of Fontoura et al. 2010, section 3, and properties of IDs.

use super::*;
use crate::forest::TreeNode;
use crate::testing::{self, figure_2, figure_2_holds, leaf};

fn spell(id: &[Component]) -> String {
    let components: Vec<_> = id
        .iter()
        .map(|component| format!("{}{}", component.number, if component.last { "*" } else { "" }))
        .collect();
    components.join(".")
}

fn ids(nodes: &[TreeNode]) -> Vec<(char, Vec<Component>)> {
    let mut ids = Vec::new();
    label(nodes, |source, id| match source {
        Source::Conjunction(letter) => ids.push((char::from_u32(letter).unwrap(), id.to_vec())),
        Source::Shared(_) => unreachable!(),
    });
    ids
}

fn spelled(nodes: &[TreeNode]) -> Vec<String> {
    ids(nodes).iter().map(|(letter, id)| format!("{letter} {}", spell(id))).collect()
}

#[test]
fn ids_of_figure_2() {
    let expected = ["A 1*.1.1", "B 1*.1.2*", "C 1*.2", "D 1*.3.1", "E 1*.3.2", "F 1*.3.3*"];
    assert_eq!(spelled(&figure_2()), expected);
}

#[test]
fn roots_of_all_kinds() {
    assert_eq!(spelled(&[leaf('A')]), ["A 1*"]);
    assert_eq!(spelled(&[TreeNode::And(2), leaf('A'), leaf('B')]), ["A 1", "B 2*"]);
    let nested = [TreeNode::And(2), TreeNode::And(2), leaf('A'), leaf('B'), leaf('C')];
    assert_eq!(spelled(&nested), ["A 1.1.1", "B 1.1.2*", "C 2*"]);
    let nested = [TreeNode::Or(2), leaf('A'), TreeNode::Or(2), leaf('B'), leaf('C')];
    assert_eq!(spelled(&nested), ["A 1*.1", "B 1*.2.1*.1", "C 1*.2.1*.2"]);
}

/// The result, and every node that was decided, as its ID and its result.
fn evaluate(ids: &[Vec<Component>]) -> (bool, Vec<(String, bool)>) {
    let mut evaluation = Evaluation::default();
    let mut decided = Vec::new();
    let mut before: &[Component] = &[];
    evaluation.begin();
    for id in ids {
        evaluation.leaf(id, |depth, result| decided.push((spell(&before[..depth]), result)));
        before = id;
    }
    let result = evaluation.end(|depth, result| decided.push((spell(&before[..depth]), result)));
    (result, decided)
}

#[test]
fn the_run_of_section_3_3() {
    let mut leaves = ids(&figure_2());
    leaves.retain(|(letter, _)| "ADEF".contains(*letter));
    let leaves: Vec<_> = leaves.into_iter().map(|(_, id)| id).collect();
    let spelled: Vec<_> = leaves.iter().map(|id| spell(id)).collect();
    assert_eq!(spelled, ["1*.1.1", "1*.3.1", "1*.3.2", "1*.3.3*"]);
    let (result, decided) = evaluate(&leaves);
    assert!(result);
    // The `and` at 1*.1 never gets its last child. The one at 1*.3 does, and then the `or` at 1*
    // and the root are true.
    let decided: Vec<_> = decided.iter().map(|(id, result)| (id.as_str(), *result)).collect();
    assert_eq!(decided, [("1*.1", false), ("1*.3", true), ("1*", true), ("", true)]);
}

#[test]
fn every_set_of_leaves_of_figure_2() {
    let all = ids(&figure_2());
    for set in 1..64u32 {
        let chosen = (0..6).filter(|bit| set >> bit & 1 == 1);
        let (letters, leaves): (String, Vec<_>) = chosen.map(|bit| all[bit].clone()).unzip();
        let expected = figure_2_holds(&letters);
        assert_eq!(evaluate(&leaves).0, expected, "{letters}");
    }
}

#[test]
fn parts_are_as_long_as_they_need() {
    let components =
        [1, 63, 64, 127, 128, 16_384, u32::MAX].map(|number| Component { number, last: number % 2 == 0 });
    let mut bytes = Vec::new();
    components.iter().for_each(|&component| write(component, &mut bytes));
    let mut position = 0;
    let read: Vec<Component> = components.iter().map(|_| read(&bytes, &mut position)).collect();
    assert_eq!(read, components);
    assert_eq!(position, bytes.len());
}

fn compare(texts: &[String], events: &[String], most_leaves: Option<usize>) {
    let build = |expressions: &[Expression], attributes: &Attributes| {
        let builder = ForestBuilder::new(attributes, Missing::Unknown, false);
        Dewey::build(most_leaves.map_or(builder, |most| builder.with_most_leaves(most)), expressions)
    };
    testing::compare(texts, events, build, |_| ());
}

#[test]
fn wide_and_deep() {
    let wide: Vec<_> = (0..66_000).map(|number| format!("(a{number} or b)")).collect();
    // Nested 2000 deep, alternating `and` and `or`.
    let mut deep = "x = 0".to_owned();
    for number in 1..2000 {
        let word = if number % 2 == 0 { "and" } else { "or" };
        deep = format!("(x = {number} {word} {deep})");
    }
    let pairs: Vec<_> = (0..66_000).map(|n| format!("\"a{n}\":true")).collect();
    let values: Vec<_> = (0..2000).map(|number| number.to_string()).collect();
    let events = [
        format!("{{{}}}", pairs.join(",")),
        format!("{{{}}}", pairs[1..].join(",")),
        format!("{{\"x\": [{}]}}", values.join(",")),
        format!("{{\"x\": [{}]}}", values[..1998].join(",")),
        r#"{"x": [1999]}"#.to_owned(),
    ];
    compare(&[wide.join(" and "), deep], &events, None);
}

#[test]
fn what_no_longer_fits_is_evaluated() {
    let texts: Vec<_> = (0..20).map(|n| format!("(a = {n} or b = 1) and (c = 1 or a = 0)")).collect();
    let events = [r#"{"a": [3, 18], "c": 1}"#.to_owned(), r#"{"a": 0}"#.to_owned()];
    compare(&texts, &events, Some(45));
    compare(&texts, &events, Some(0));
}
