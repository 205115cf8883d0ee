//! What does an expression mean once the time zone is known?
//!
//! Expressions keep constants as they were written. Before a matcher compiles one, times without an
//! offset become moments, a set with networks becomes a disjunction of ranges of addresses, and expressions about
//! elements of lists get numbers, so that matchers know nothing of these. Truths and scores stay the same: a set is true if one of its
//! values is, and scores the best of them, as a disjunction does.

use std::borrow::Cow;
use std::sync::Arc;

use super::names::is_hidden;
use super::predicate::{Predicate, Test};
use super::term::{Comparison, Function, Reading, Term};
use super::tree::{Expression, Node};
use crate::value::{Duration, Family, TimeZone, Value};

/// Values of a set with their weights, and how strings are read for them.
type Group = (Option<Reading>, Vec<(Value, f64)>);

/// The expression that matchers compile in the place of one that was written.
pub fn resolve<'e>(expression: &'e Expression, zone: &TimeZone) -> Cow<'e, Expression> {
    if !expression.predicates().any(|predicate| needs_resolving(predicate)) {
        return Cow::Borrowed(expression);
    }
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(expression.nodes().len());
    // Where each child that waits for its connective ends.
    let mut roots: Vec<usize> = Vec::new();
    for node in expression.nodes() {
        let first = roots.len() - node.children();
        let node = match node {
            Node::Predicate(predicate) => {
                let mut resolved = resolve_predicate(predicate, zone);
                let last = resolved.pop();
                nodes.extend(resolved.into_iter().map(Some));
                last
            }
            // A disjunction of ranges is never directly below another.
            Node::Or(count) => {
                let mut children = *count;
                for &root in &roots[first..] {
                    if let Some(Node::Or(inner)) = nodes[root] {
                        children += inner - 1;
                        nodes[root] = None;
                    }
                }
                Some(Node::Or(children))
            }
            other => Some(other.clone()),
        };
        roots.truncate(first);
        roots.push(nodes.len());
        nodes.push(node);
    }
    Cow::Owned(Expression::from_nodes(nodes.into_iter().flatten().collect()))
}

fn needs_resolving(predicate: &Predicate) -> bool {
    if predicate.needs_number() {
        return true;
    }
    let is_typed = |value: &Value| Reading::for_value(value.as_ref()).is_some();
    match predicate.test() {
        Test::Equal(Value::Boolean(true)) => {
            is_hidden(predicate.attribute()) && predicate.attribute().contains("now()")
        }
        Test::Equal(value)
        | Test::Less(value)
        | Test::AtMost(value)
        | Test::Greater(value)
        | Test::AtLeast(value) => is_typed(value),
        Test::Between(low, high) => is_typed(low) || is_typed(high),
        // Typed values come last in a set.
        Test::In(values) => values.last().is_some_and(|value| value.family() >= Family::Timestamp),
        _ => false,
    }
}

/// `t > now() - c` as a predicate about the time between `t` and now, which many predicates share.
fn since_now(predicate: &Predicate, _zone: &TimeZone) -> Option<Predicate> {
    let (left, comparison, right) = predicate.as_comparison()?;
    let span = match &right {
        Term::Call(Function::Now, _) => Duration::from_nanoseconds(0)?,
        Term::Call(function, arguments) => match (function, &arguments[..]) {
            (Function::Add, [Term::Call(Function::Now, _), Term::Constant(Value::Duration(span))]) => *span,
            (Function::Subtract, [Term::Call(Function::Now, _), Term::Constant(Value::Duration(span))]) => {
                Duration::from_nanoseconds(span.nanoseconds().checked_neg()?)?
            }
            _ => return None,
        },
        _ => return None,
    };
    let value = Value::Duration(span);
    let test = match comparison {
        Comparison::Equal => Test::Equal(value),
        Comparison::Less => Test::Less(value),
        Comparison::AtMost => Test::AtMost(value),
        Comparison::Greater => Test::Greater(value),
        Comparison::AtLeast => Test::AtLeast(value),
        _ => return None,
    };
    let term = Term::Call(Function::Read(Reading::SinceNow), vec![left]);
    Some(predicate.with_test(test, predicate.negated(), None).about(&term))
}

/// The nodes, in postfix order, that ask what a predicate does.
pub fn resolve_predicate(predicate: &Arc<Predicate>, zone: &TimeZone) -> Vec<Node> {
    if !needs_resolving(predicate) {
        return vec![Node::Predicate(predicate.clone())];
    }
    if let Some(numbered) = predicate.with_number() {
        return vec![Node::Predicate(Arc::new(numbered))];
    }
    if let Some(since) = since_now(predicate, zone) {
        return vec![Node::Predicate(Arc::new(since))];
    }
    let leaf = |reading: Option<Reading>, test: Test, negated: bool, weights: Option<Box<[f64]>>| {
        let resolved = predicate.with_test(test, negated, weights);
        Node::Predicate(Arc::new(match reading {
            None => resolved,
            Some(reading) => resolved.about(&Term::Call(Function::Read(reading), vec![predicate.term()])),
        }))
    };
    let moment = |value: &Value| match zone.moment_of(value.as_ref()) {
        Some(moment) if value.family().is_time() => Value::Timestamp(moment),
        _ => value.clone(),
    };
    let one = |value: &Value, test: fn(Value) -> Test| {
        let (reading, weights) = (Reading::for_value(value.as_ref()), predicate.weights().map(Into::into));
        vec![leaf(reading, test(moment(value)), predicate.negated(), weights)]
    };
    match predicate.test() {
        Test::Equal(value) => one(value, Test::Equal),
        Test::Less(value) => one(value, Test::Less),
        Test::AtMost(value) => one(value, Test::AtMost),
        Test::Greater(value) => one(value, Test::Greater),
        Test::AtLeast(value) => one(value, Test::AtLeast),
        Test::Between(low, high) => {
            let (reading, weights) = (Reading::for_value(low.as_ref()), predicate.weights().map(Into::into));
            vec![leaf(reading, Test::Between(moment(low), moment(high)), predicate.negated(), weights)]
        }
        Test::In(values) => {
            let weight = |position: usize| predicate.weights().map_or(1.0, |weights| weights[position]);
            // The values that are looked up as they are, and those that strings are read for.
            let mut groups: [Group; 4] = [
                (None, Vec::new()),
                (Some(Reading::Time), Vec::new()),
                (Some(Reading::Address), Vec::new()),
                (Some(Reading::Version), Vec::new()),
            ];
            let mut ranges = Vec::new();
            for (position, value) in values.iter().enumerate() {
                if let Value::Network(network) = value {
                    let (first, last) = network.ends();
                    let test = Test::Between(Value::Address(first), Value::Address(last));
                    ranges.push((test, weight(position)));
                    continue;
                }
                let reading = Reading::for_value(value.as_ref());
                if let Some((_, group)) = groups.iter_mut().find(|(known, _)| *known == reading) {
                    group.push((moment(value), weight(position)));
                }
            }
            let weighed =
                |weights: Vec<f64>| weights.iter().any(|weight| *weight != 1.0).then(|| weights.into());
            let count = ranges.len() + groups.iter().filter(|(_, group)| !group.is_empty()).count();
            let negated = predicate.negated() && count == 1;
            let mut nodes = Vec::with_capacity(count + 2);
            for (reading, mut group) in groups {
                group.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
                group.dedup_by(|a, b| a.0 == b.0);
                if !group.is_empty() {
                    let (values, weights): (Vec<_>, Vec<_>) = group.into_iter().unzip();
                    nodes.push(leaf(reading, Test::In(values.into()), negated, weighed(weights)));
                }
            }
            let address = Some(Reading::Address);
            nodes.extend(
                ranges.into_iter().map(|(test, weight)| leaf(address, test, negated, weighed(vec![weight]))),
            );
            if count > 1 {
                nodes.push(Node::Or(count as u32));
                nodes.extend(predicate.negated().then_some(Node::Not));
            }
            nodes
        }
        _ => vec![Node::Predicate(predicate.clone())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn resolved(text: &str) -> String {
        let zone = TimeZone::named("Europe/Paris").unwrap();
        resolve(&parse(text, &Limits::default()).unwrap(), &zone).to_string()
    }

    #[test]
    fn local_times_become_moments() {
        assert_eq!(resolved("a > timestamp '2026-01-02 05:00'"), "a > timestamp '2026-01-02 04:00:00Z'");
        assert_eq!(
            resolved("a in (timestamp '2026-01-02 05:00'^2, timestamp '2026-01-02 04:00Z'^3, 1)"),
            "a in (1) or a in (timestamp '2026-01-02 04:00:00Z'^3)"
        );
        assert_eq!(
            resolved("a not between date '2026-07-01' and timestamp '2026-07-02'"),
            "a not between timestamp '2026-06-30 22:00:00Z' and timestamp '2026-07-01 22:00:00Z'"
        );
        assert_eq!(resolved("a = date '2026-07-01'"), "a = timestamp '2026-06-30 22:00:00Z'");
    }

    #[test]
    fn networks_become_ranges() {
        assert_eq!(resolved("a in (cidr '10.0.0.0/8')"), "a between ip '10.0.0.0' and ip '10.255.255.255'");
        assert_eq!(
            resolved("a not in (cidr '10.0.0.0/8')"),
            "a not between ip '10.0.0.0' and ip '10.255.255.255'"
        );
        assert_eq!(
            resolved("x = 1 or a in (cidr '10.0.0.0/8'^2, ip '::1', 3) or y = 1"),
            "x = 1 or a in (3) or a in (ip '::1') or a between ip '10.0.0.0' and ip '10.255.255.255'^2 or y = 1"
        );
        assert_eq!(
            resolved("x = 1 and a not in (cidr '10.0.0.0/8', ip '::1')"),
            "x = 1 and not (a in (ip '::1') or a between ip '10.0.0.0' and ip '10.255.255.255')"
        );
    }
}
