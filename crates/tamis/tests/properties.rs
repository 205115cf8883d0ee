//! The laws that hold for all expressions and events.

mod common;

use common::decode;
use proptest::collection::vec;
use proptest::prelude::*;
use tamis::event::Attributes;
use tamis::explain::explain;
use tamis::expression::binary::{NameTableBuilder, decode as decode_expression, encode};
use tamis::expression::{NormalForm, NormalNode, from_json, normalise, resolve, to_json};
use tamis::matcher::Check;
use tamis::matcher::extend::Cursor;
use tamis::matcher::{Compiled, Evaluation, Matcher, Scan, Scratch};
use tamis::value::TimeZone;
use tamis::{Event, Expression, Id, Index, Limits, Missing, Truth, parse};
use tamis_papers::{ATree, ATreeOptions, Cnf, KIndex, KIndexOptions};

const MODES: [Missing; 2] = [Missing::Unknown, Missing::False];

/// Attributes numbered as the expressions mention them.
fn mentioned<'a>(expressions: impl IntoIterator<Item = &'a Expression>, missing: Missing) -> Attributes {
    let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
    for expression in expressions {
        attributes.learn(expression).unwrap();
        for written in [expression, &*resolve(expression, attributes.time_zone())] {
            written.predicates().for_each(|predicate| {
                attributes.intern(predicate.attribute());
            });
        }
    }
    attributes
}

fn truth(expression: &Expression, json: &str, missing: Missing) -> Truth {
    let attributes = mentioned([expression], missing);
    explain(expression, &decode(json, &attributes), &attributes, missing).unwrap().truth()
}

fn normal_truth(form: &NormalForm, json: &str, missing: Missing) -> Truth {
    let attributes = Attributes::new(missing, &Limits::default(), TimeZone::default());
    for node in form.nodes() {
        if let NormalNode::Predicate(signed) = node {
            attributes.intern(&signed.attribute);
        }
    }
    let event = decode(json, &attributes);
    form.truth(|signed| {
        let attribute = attributes.intern(&signed.attribute);
        let truth = Check::new(&signed.test).truth(event.get(attribute), missing);
        if signed.negated { !truth } else { truth }
    })
}

/// Adds expressions that contain some of the others, so that there is something to share.
fn sharing(
    mut expressions: Vec<Expression>,
    repeated: Vec<(prop::sample::Index, Expression)>,
) -> Vec<Expression> {
    for (inner, other) in repeated {
        let inner = inner.get(&expressions).clone();
        expressions.push(Expression::any([&Expression::all([&inner, &other]), &other]));
    }
    expressions
}

proptest! {
    #[test]
    fn printing_and_parsing_give_the_same_expression(expression in common::expression()) {
        let text = expression.to_string();
        prop_assert_eq!(parse(&text, &Limits::default()).unwrap(), expression, "{}", text);
    }

    #[test]
    fn the_json_form_is_lossless(expression in common::expression()) {
        let json = to_json(&expression);
        prop_assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{}", json);
        prop_assert_eq!(from_json(&json, &Limits::default()).unwrap(), expression, "{}", json);
    }

    #[test]
    fn encoding_and_decoding_give_the_same_expression(expressions in vec(common::expression(), 1..5)) {
        let mut names = NameTableBuilder::default();
        for expression in &expressions {
            let mut bytes = Vec::new();
            encode(expression, &mut names, &mut bytes);
            prop_assert_eq!(decode_expression(&bytes, names.table()), Some(expression.clone()));
        }
    }

    #[test]
    fn what_can_be_decoded_is_what_was_encoded(
        expression in common::expression(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        random in vec(any::<u8>(), 0..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut names, mut bytes) = (NameTableBuilder::default(), Vec::new());
        encode(&expression, &mut names, &mut bytes);
        for (position, byte) in &changes {
            let position = position.index(bytes.len());
            bytes[position] = *byte;
        }
        let joined: Vec<u8> = [&bytes[..cut.index(bytes.len() + 1)], &random[..]].concat();
        for bytes in [bytes, joined, random] {
            if let Some(read) = decode_expression(&bytes, names.table()) {
                let mut again = Vec::new();
                encode(&read, &mut names.clone(), &mut again);
                prop_assert_eq!(again, bytes);
                prop_assert_eq!(parse(&read.to_string(), &Limits::none()).unwrap(), read);
            }
        }
    }

    #[test]
    fn normalisation_preserves_the_truth(expression in common::expression(), event in common::typed_event()) {
        for missing in MODES {
            let form = normalise(&resolve(&expression, &TimeZone::default()));
            prop_assert_eq!(normal_truth(&form, &event, missing), truth(&expression, &event, missing));
        }
    }

    #[test]
    fn normal_forms_are_canonical(expression in common::expression(), seed in any::<u64>()) {
        // The children of every node in another order.
        let shuffled = shuffle(&expression, seed);
        prop_assert_eq!(normalise(&shuffled), normalise(&expression));
        let doubled = Expression::negate(&Expression::negate(&expression));
        prop_assert_eq!(normalise(&doubled), normalise(&expression));
        let repeated = Expression::all([&expression, &expression]);
        prop_assert_eq!(normalise(&repeated), normalise(&expression));
    }

    #[test]
    fn normal_forms_are_in_shape(expression in common::expression()) {
        let form = normalise(&expression);
        let nodes = form.nodes();
        for (position, node) in nodes.iter().enumerate() {
            match node {
                NormalNode::Constant(_) => prop_assert_eq!(nodes.len(), 1),
                NormalNode::Predicate(_) => {}
                NormalNode::And(children) | NormalNode::Or(children) => {
                    prop_assert!(children.len() >= 2);
                    prop_assert!(children.is_sorted_by(|a, b| a < b));
                    for &child in children {
                        prop_assert!((child as usize) < position);
                        let same = matches!(
                            (node, &nodes[child as usize]),
                            (NormalNode::And(_), NormalNode::And(_)) | (NormalNode::Or(_), NormalNode::Or(_))
                        );
                        prop_assert!(!same, "nested equal operators");
                    }
                }
            }
        }
        let used: std::collections::HashSet<_> = nodes.iter().flat_map(|node| match node {
            NormalNode::And(children) | NormalNode::Or(children) => children.to_vec(),
            _ => vec![],
        }).collect();
        prop_assert_eq!(used.len(), nodes.len() - 1);
        // Six things can be asked of a node, and each takes three nodes where it is an `xor`.
        prop_assert!(nodes.len() <= 18 * expression.nodes().len());
    }

    #[test]
    fn kleene_laws(a in common::expression(), b in common::expression(), c in common::expression(), event in common::typed_event()) {
        for missing in MODES {
            let truth = |expression: &Expression| truth(expression, &event, missing);
            let not = Expression::negate;
            prop_assert_eq!(truth(&not(&Expression::all([&a, &b]))), truth(&Expression::any([&not(&a), &not(&b)])));
            prop_assert_eq!(truth(&not(&Expression::any([&a, &b]))), truth(&Expression::all([&not(&a), &not(&b)])));
            prop_assert_eq!(truth(&Expression::all([&a, &Expression::any([&b, &c])])),
                truth(&Expression::any([&Expression::all([&a, &b]), &Expression::all([&a, &c])])));
            prop_assert_eq!(truth(&Expression::any([&a, &Expression::all([&a, &b])])), truth(&a));
            prop_assert_eq!(truth(&Expression::xnor(&a, &b)), truth(&not(&Expression::xor(&a, &b))));
            prop_assert_eq!(truth(&Expression::xor(&a, &b)), truth(&a).xor(truth(&b)));
            prop_assert_eq!(truth(&Expression::xor(&Expression::xor(&a, &b), &c)), truth(&Expression::xor(&a, &Expression::xor(&b, &c))));
            prop_assert_eq!(truth(&not(&not(&a))), truth(&a));
        }
    }

    #[test]
    fn scan_agrees_with_explain(expressions in vec(common::expression(), 1..12), events in vec(common::typed_event(), 1..4)) {
        for missing in MODES {
            let attributes = mentioned(&expressions, missing);
            let scan = Scan::new(&expressions, &attributes, missing);
            let mut scratch = Scratch::default();
            for json in &events {
                let event = decode(json, &attributes);
                let mut found = Vec::new();
                scan.matches(&event, &mut scratch, &mut found);
                let expected: Vec<u32> = (0..).zip(&expressions)
                    .filter(|(_, expression)| explain(expression, &event, &attributes, missing).unwrap().truth() == Truth::True)
                    .map(|(slot, _)| slot)
                    .collect();
                prop_assert_eq!(&found, &expected);
            }
        }
    }

    #[test]
    fn every_matcher_agrees_with_scan(
        expressions in vec(common::expression(), 1..20),
        repeated in vec((any::<prop::sample::Index>(), common::expression()), 0..6),
        sampled in vec(common::typed_event(), 0..3),
        events in vec(common::typed_event(), 1..5),
    ) {
        let expressions = sharing(expressions, repeated);
        for missing in MODES {
            let attributes = mentioned(&expressions, missing);
            let sample: Vec<Event> = sampled.iter().map(|json| decode(json, &attributes)).collect();
            let scan = Scan::new(&expressions, &attributes, missing);
            let compiled = Compiled::new(&expressions, &attributes, missing, &sample).unwrap();
            let atree = ATree::compile(&expressions, &attributes, missing, ATreeOptions::default());
            // Some of the disjunctive forms are allowed, some expressions are evaluated instead.
            let options = KIndexOptions { normal_form: 200, ..KIndexOptions::default() };
            let kindex = KIndex::new(&expressions, &attributes, missing, options);
            let apart = KIndexOptions { share: false, ..options };
            let apart = KIndex::new(&expressions, &attributes, missing, apart);
            let cnf = Cnf::new(&expressions, &attributes, missing, 200);
            let matchers: [&dyn Matcher; 5] = [&compiled, &atree, &kindex, &apart, &cnf];
            let mut scratch = Scratch::default();
            for json in &events {
                let event = decode(json, &attributes);
                let mut expected = Vec::new();
                scan.matches(&event, &mut scratch, &mut expected);
                for matcher in matchers {
                    let mut found = Vec::new();
                    matcher.matches(&event, &mut scratch, &mut found);
                    prop_assert_eq!(&found, &expected, "{} on {}", matcher.name(), json);
                }
                for index in [&kindex, &apart] {
                    let mut cursor = index.cursor(&event, &mut scratch);
                    for least in [0, 0, 1, 5, 5, 9, 30] {
                        let next = expected.iter().copied().find(|&slot| slot >= least);
                        prop_assert_eq!(cursor.next(least), next, "from {} on {}", least, json);
                    }
                }
            }
        }
    }

    #[test]
    fn batches_agree_with_scan_however_they_are_looked_at(
        expressions in vec(common::expression(), 1..20),
        repeated in vec((any::<prop::sample::Index>(), common::expression()), 0..6),
        distinct in vec(common::typed_event(), 1..12),
        picks in vec(any::<prop::sample::Index>(), 1..700),
    ) {
        let expressions = sharing(expressions, repeated);
        for missing in MODES {
            let attributes = mentioned(&expressions, missing);
            let scan = Scan::new(&expressions, &attributes, missing);
            let compiled = Compiled::new(&expressions, &attributes, missing, &[]).unwrap();
            let mut scratch = Scratch::default();
            // Events repeat, so that blocks of many take no longer than a scan of a few.
            let distinct: Vec<Event> = distinct.iter().map(|json| decode(json, &attributes)).collect();
            let answers: Vec<Vec<u32>> = distinct.iter().map(|event| {
                let mut found = Vec::new();
                scan.matches(event, &mut scratch, &mut found);
                found
            }).collect();
            let numbers: Vec<usize> = picks.iter().map(|pick| pick.index(distinct.len())).collect();
            let events: Vec<Event> = numbers.iter().map(|&number| distinct[number].clone()).collect();
            for evaluation in [Evaluation::Auto, Evaluation::Events, Evaluation::Blocks] {
                scratch.set_evaluation(evaluation);
                let (mut found, mut ends) = (Vec::new(), Vec::new());
                compiled.matches_many(&events, &mut scratch, &mut found, &mut ends, &|| false);
                prop_assert_eq!(ends.len(), events.len());
                let mut start = 0;
                for (number, end) in numbers.iter().zip(ends) {
                    prop_assert_eq!(&found[start..end], &answers[*number], "{:?}", evaluation);
                    start = end;
                }
                prop_assert_eq!(start, found.len());
            }
        }
    }

    #[test]
    fn an_index_equals_a_list_of_subscriptions(
        changes in vec((0..12i64, prop::option::weighted(0.7, common::expression())), 0..60),
        event in common::event(),
    ) {
        let index = Index::new(Missing::Unknown, Limits::default());
        let mut model: Vec<(i64, Expression)> = Vec::new();
        for (id, change) in changes {
            let known = model.iter().position(|(known, _)| *known == id);
            known.map(|position| model.remove(position));
            match change {
                Some(expression) => {
                    index.add(id.into(), expression.clone(), None).unwrap();
                    model.push((id, expression));
                }
                None => prop_assert_eq!(index.remove(&id.into()), known.is_some()),
            }
            let expected: Vec<Id> = model.iter()
                .filter(|(_, expression)| truth(expression, &event, Missing::Unknown) == Truth::True)
                .map(|(id, _)| (*id).into())
                .collect();
            prop_assert_eq!(index.match_json(event.as_bytes()).unwrap(), expected);
        }
        let snapshot = index.snapshot();
        let ids: Vec<Id> = snapshot.ids().map(|id| id.unwrap().to_id()).collect();
        prop_assert_eq!(ids, model.iter().map(|(id, _)| (*id).into()).collect::<Vec<Id>>());
    }

    #[test]
    fn any_text_is_an_expression_or_an_error(text in ".{0,60}") {
        if let Ok(expression) = parse(&text, &Limits::default()) {
            prop_assert_eq!(parse(&expression.to_string(), &Limits::default()).unwrap(), expression);
        }
    }

    #[test]
    fn any_soup_of_tokens_is_an_expression_or_an_error(tokens in vec(prop::sample::select(vec![
        "a", "b.c", "\"q\"", "(", ")", "and", "or", "not", "xor", "in", "between", "like", "=", "!=", "<", "^", ",",
        "1", "-2.5", "'s'", "date", "timestamp", "interval", "day", "cidr", "'2026-01-02'", "'10.0.0.0/8'", "true", "null", "is", "exists", "starts", "with", "--", "!", "&&", "matches",
    ]), 0..16)) {
        let text = tokens.join(" ");
        if let Ok(expression) = parse(&text, &Limits::default()) {
            prop_assert_eq!(parse(&expression.to_string(), &Limits::default()).unwrap(), expression);
        }
    }
}

/// The expression with the children of every `and`, `or`, `xor` and `xnor` in another order.
fn shuffle(expression: &Expression, mut seed: u64) -> Expression {
    use tamis::expression::Node;
    let mut stack: Vec<Expression> = Vec::new();
    for node in expression.nodes() {
        let first = stack.len() - node.children();
        let mut children = stack.split_off(first);
        for position in (1..children.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            children.swap(position, (seed >> 33) as usize % (position + 1));
        }
        stack.push(match node {
            Node::Constant(value) => Expression::constant(*value),
            Node::Predicate(predicate) => Expression::from((**predicate).clone()),
            Node::Not => Expression::negate(&children[0]),
            Node::And(_) => Expression::all(&children),
            Node::Or(_) => Expression::any(&children),
            Node::Xor => Expression::xor(&children[0], &children[1]),
            Node::Xnor => Expression::xnor(&children[0], &children[1]),
            Node::Is(test) => Expression::is(&children[0], *test).unwrap(),
        });
    }
    stack.remove(0)
}

/// Depth and size far beyond the default limits, which nothing may answer with a crash.
#[test]
fn depth_is_bounded_by_memory_alone() {
    let deep = 200_000;
    let limits = Limits::none();
    for text in [
        format!("{}a = 1{}", "(".repeat(deep), ")".repeat(deep)),
        format!("{}a = 1", "not ".repeat(deep)),
        format!("{}a = 1{}", "not (b or ".repeat(deep), ")".repeat(deep)),
        format!("{}a = 1{}", "c xor (".repeat(deep), ")".repeat(deep)),
        format!("{}a = 1{}", "(".repeat(2_000), ") is unknown".repeat(2_000)),
        format!("{}a = 1{}", "(".repeat(2_000), ") is not true xor c".repeat(2_000)),
    ] {
        assert!(matches!(parse(&text, &Limits::default()), Err(tamis::Error::Limit { name: "depth", .. })));
        let expression = parse(&text, &limits).unwrap();
        assert_eq!(parse(&expression.to_string(), &limits).unwrap(), expression);
        assert_eq!(from_json(&to_json(&expression), &limits).unwrap(), expression);
        let event = r#"{"a": 1, "b": false, "c": false}"#;
        let expected = truth(&expression, event, Missing::Unknown);
        assert_eq!(normal_truth(&normalise(&expression), event, Missing::Unknown), expected);
        let attributes = mentioned([&expression], Missing::Unknown);
        explain(&expression, &decode(event, &attributes), &attributes, Missing::Unknown).unwrap().to_string();
        drop(expression.clone());
    }
}
