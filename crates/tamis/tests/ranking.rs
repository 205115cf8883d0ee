//! `top` is the first of the full ranking, whatever the matcher, the pruning and the segments.

mod common;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tamis::event::{Attributes, Presence};
use tamis::expression::{NormalNode, SignedPredicate, Test, normalise};
use tamis::index::{Algorithm, MatchScratch, Subscription};
use tamis::matcher::Check;
use tamis::matcher::Pruning;
use tamis::rank::EventWeights;
use tamis::storage::OpenOptions;
use tamis::value::Value;
use tamis::{Error, Event, Expression, Id, Index, Limits, Missing, Truth, parse};

/// An attribute, a value of it or none, and a weight.
type Weight = (&'static str, Option<Value>, f64);

fn weight() -> impl Strategy<Value = f64> {
    select(vec![0.0, 0.25, 0.5, 1.0, 1.5, 3.0])
}

fn event_weights() -> impl Strategy<Value = Vec<Weight>> {
    vec((select(&common::ATTRIBUTES), prop::option::of(common::value()), weight()), 0..6)
}

/// The weight that the event gives to a value, or to an attribute without one; of several the last.
fn given(weights: &[Weight], attribute: &str, value: Option<&Value>) -> f64 {
    let find = |value: Option<&Value>| {
        let mut all = weights.iter().rev().filter(|(name, ..)| *name == attribute);
        all.find(|(_, known, _)| known.as_ref() == value).map(|(.., weight)| *weight)
    };
    value.and_then(|value| find(Some(value))).or_else(|| find(None)).unwrap_or(1.0)
}

/// The score of a signed predicate by its definition; `None` where it is not true.
fn score_of(
    signed: &SignedPredicate,
    event: &Event,
    attributes: &Attributes,
    weights: &[Weight],
    missing: Missing,
) -> Option<f64> {
    let presence = event.get(attributes.intern(&signed.attribute));
    let check = Check::new(&signed.test);
    let truth = check.truth(presence.clone(), missing);
    let truth = if signed.negated { !truth } else { truth };
    if truth != Truth::True {
        return None;
    }
    if signed.negated {
        return Some(0.0);
    }
    let values: Vec<Value> = match presence {
        Presence::Values(values) => values.map(|value| value.to_value()).collect(),
        _ => return Some(given(weights, &signed.attribute, None)),
    };
    let mine = |value: &Value| match (&signed.weights, &signed.test) {
        (None, _) => 1.0,
        (Some(weights), Test::In(set)) => weights[set.iter().position(|known| known == value).unwrap()],
        (Some(weights), _) => weights[0],
    };
    let satisfies = |value: &&Value| {
        let mut alone = Event::default();
        alone.begin(attributes.intern(&signed.attribute));
        alone.push(value.as_ref(), &Limits::default()).unwrap();
        alone.finish(attributes).unwrap();
        let presence = alone.get(attributes.intern(&signed.attribute));
        check.truth(presence, missing) == Truth::True
    };
    let scores = values.iter().filter(satisfies);
    scores.map(|value| mine(value) * given(weights, &signed.attribute, Some(value))).reduce(f64::max)
}

/// The score of an expression by its definition.
fn score(
    expression: &Expression,
    event: &Event,
    attributes: &Attributes,
    weights: &[Weight],
    missing: Missing,
) -> Option<f64> {
    let form = normalise(expression);
    let mut nodes: Vec<Option<f64>> = Vec::new();
    for node in form.nodes() {
        let score = match node {
            NormalNode::Constant(value) => value.then_some(0.0),
            NormalNode::Predicate(found) => score_of(found, event, attributes, weights, missing),
            NormalNode::And(children) => {
                let scores: Option<Vec<f64>> = children.iter().map(|&child| nodes[child as usize]).collect();
                scores.map(|scores| scores.iter().fold(0.0, |sum, score| sum + score))
            }
            NormalNode::Or(children) => {
                children.iter().filter_map(|&child| nodes[child as usize]).reduce(f64::max)
            }
        };
        nodes.push(score);
    }
    nodes[nodes.len() - 1]
}

/// Whether an expression was refused because its normal form would be too large.
fn explodes(error: &Error) -> bool {
    match error {
        Error::Item { cause, .. } => explodes(cause),
        error => matches!(error, Error::Limit { name: "normal_form", .. }),
    }
}

proptest! {
    #[test]
    fn top_is_the_first_of_the_full_ranking(
        subscriptions in vec((common::expression(), prop_oneof![2 => Just(1.0), 1 => weight()]), 1..60),
        removed in vec(any::<prop::sample::Index>(), 0..4),
        weights in event_weights(),
        json in common::event(),
        most in select(vec![0, 1, 2, 3, 10, 1000]),
    ) {
        for missing in [Missing::Unknown, Missing::False] {
            let removed: Vec<usize> = removed.iter().map(|index| index.index(subscriptions.len())).collect();
            let mut expected: Option<Vec<(Id, f64)>> = None;
            for algorithm in tamis_papers::ALGORITHMS {
                // Hardly anything here grows beyond this.
                let limits = Limits { normal_form: 1 << 20, ..Limits::default() };
                let index = Index::with_algorithm(missing, limits, algorithm);
                let items: Vec<Subscription> = (0i64..).zip(&subscriptions).map(|(id, (expression, boost))| {
                    Subscription { boost: *boost, ..Subscription::new(id, expression.clone()) }
                }).collect();
                // Several segments, the larger one first.
                let half = items.len() * 2 / 3;
                let added = index.add_many(items[..half].to_vec()).and_then(|()| {
                    items[half..].iter().try_for_each(|item| index.add_subscription(item.clone()))
                });
                if let Err(error) = added {
                    prop_assume!(!explodes(&error));
                    panic!("{error}");
                }
                removed.iter().for_each(|&id| { index.remove(&(id as i64).into()); });

                let snapshot = index.snapshot();
                let mut event = Event::default();
                event.decode_json(json.as_bytes(), snapshot.attributes(), index.limits()).unwrap();
                let expected = expected.get_or_insert_with(|| {
                    let mut all: Vec<(Id, f64)> = (0..items.len()).filter(|id| !removed.contains(id)).filter_map(|id| {
                        let (expression, boost) = &subscriptions[id];
                        let score = score(expression, &event, snapshot.attributes(), &weights, missing)?;
                        Some(((id as i64).into(), score * boost))
                    }).collect();
                    all.sort_by(|a, b| b.1.total_cmp(&a.1));
                    all.truncate(most);
                    all
                });
                let mut given = EventWeights::default();
                for (name, value, weight) in &weights {
                    given.set(snapshot.attributes(), name, value.clone(), *weight).unwrap();
                }
                let mut scratch = MatchScratch::default();
                for pruning in [Pruning::Tight, Pruning::Paper, Pruning::None] {
                    scratch.set_pruning(pruning);
                    let found = snapshot.top(&event, most, &given, &mut scratch).unwrap();
                    let found: Vec<(Id, f64)> = found.into_iter().map(|(id, score)| (id.to_id(), score)).collect();
                    prop_assert_eq!(&found, &*expected, "{:?} {:?} on {}", algorithm, pruning, json);
                }
            }
        }
    }
}

/// Many that match, few that score much.
fn skewed(algorithm: Algorithm) -> Index {
    let index = Index::with_algorithm(Missing::Unknown, Limits::default(), algorithm);
    let texts = (0..3000i64).map(|id| match id % 100 {
        7 => format!("(a = 1^{} or b = 2^0.5) and c = 3", id / 100),
        _ => "(a = 1^0.125 or b = 2^0.25) and c in (3^0.125, 4)".to_owned(),
    });
    let items = texts
        .enumerate()
        .map(|(id, text)| Subscription::new(id as i64, parse(&text, &Limits::default()).unwrap()));
    index.add_many(items.collect()).unwrap();
    index
}

#[test]
fn pruning_scores_fewer_expressions() {
    for algorithm in tamis_papers::ALGORITHMS {
        let index = skewed(algorithm);
        let snapshot = index.snapshot();
        let mut event = Event::default();
        event.decode_json(br#"{"a": 1, "b": 2, "c": 3}"#, snapshot.attributes(), index.limits()).unwrap();
        let run = |pruning: Pruning| {
            let mut scratch = MatchScratch::default();
            scratch.set_pruning(pruning);
            let found = snapshot.top(&event, 5, &EventWeights::default(), &mut scratch).unwrap();
            let found: Vec<_> = found.into_iter().map(|(id, score)| (id.to_id(), score)).collect();
            (found, scratch.take_counters().scored)
        };
        let (all, scored) = run(Pruning::None);
        assert_eq!(scored, 3000, "{algorithm:?}");
        assert_eq!(all[0], (2907.into(), 30.0));
        let (pruned, scored) = run(Pruning::Tight);
        assert_eq!(pruned, all);
        assert!(scored <= 60, "{algorithm:?} scored {scored}");
    }
}

#[test]
fn saved_indexes_rank_the_same() {
    let folder = std::env::temp_dir().join(format!("tamis-ranking-{}", std::process::id()));
    for algorithm in tamis_papers::ALGORITHMS {
        let index = skewed(algorithm);
        let expression = parse("c = 3", &Limits::default()).unwrap();
        index
            .add_subscription(Subscription { boost: 17.25, ..Subscription::new("boosted", expression) })
            .unwrap();
        index.save(&folder).unwrap();
        let opened = Index::open(&folder, Limits::default(), algorithm, OpenOptions::default()).unwrap();
        let top = |index: &Index| {
            let snapshot = index.snapshot();
            let mut event = Event::default();
            event.decode_json(br#"{"a": 1, "c": [3, 4]}"#, snapshot.attributes(), index.limits()).unwrap();
            let found =
                snapshot.top(&event, 20, &EventWeights::default(), &mut MatchScratch::default()).unwrap();
            found.into_iter().map(|(id, score)| (id.to_id(), score)).collect::<Vec<_>>()
        };
        assert_eq!(top(&opened), top(&index));
        assert!(top(&opened).contains(&("boosted".into(), 17.25)));
        assert_eq!(opened.snapshot().get(&"boosted".into()).unwrap().unwrap().boost, 17.25);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn bad_weights_are_refused() {
    let index = Index::new(Missing::Unknown, Limits::default());
    let expression = parse("a = 1", &Limits::default()).unwrap();
    for boost in [-1.0, f64::NAN, f64::INFINITY] {
        let refused =
            index.add_subscription(Subscription { boost, ..Subscription::new(1, expression.clone()) });
        assert!(refused.unwrap_err().to_string().contains("boost"));
        let refused = EventWeights::default().set(&Attributes::default(), "a", None, boost);
        assert!(refused.unwrap_err().to_string().contains("`a`"));
    }
    assert!(index.snapshot().is_empty());
}
