//! What does an expression ask, once the time zone is known?
//!
//! Expressions keep literals as they were written. Before a matcher compiles one, times without an
//! offset become moments, and a set with networks becomes a disjunction of ranges of addresses, so
//! that no matcher knows of either. Truths and scores stay the same: a set is true where one of its
//! values is, and scores the best of them, as a disjunction does.

use std::borrow::Cow;
use std::sync::Arc;

use super::predicate::{Predicate, Test};
use super::tree::{Expression, Node};
use crate::value::{Family, TimeZone, Value};

/// The expression that matchers compile in the place of one that was written.
pub fn resolve<'e>(expression: &'e Expression, zone: &TimeZone) -> Cow<'e, Expression> {
    if !expression.predicates().any(|predicate| needs_resolving(predicate.test())) {
        return Cow::Borrowed(expression);
    }
    let mut nodes: Vec<Option<Node>> = Vec::with_capacity(expression.nodes().len());
    // Where each operand that waits for its connective ends.
    let mut roots: Vec<usize> = Vec::new();
    for node in expression.nodes() {
        let first = roots.len() - node.operands();
        let node = match node {
            Node::Predicate(predicate) => {
                let mut resolved = resolve_predicate(predicate, zone);
                let last = resolved.pop();
                nodes.extend(resolved.into_iter().map(Some));
                last
            }
            // A disjunction of ranges never stands directly below another.
            Node::Or(count) => {
                let mut operands = *count;
                for &root in &roots[first..] {
                    if let Some(Node::Or(inner)) = nodes[root] {
                        operands += inner - 1;
                        nodes[root] = None;
                    }
                }
                Some(Node::Or(operands))
            }
            other => Some(other.clone()),
        };
        roots.truncate(first);
        roots.push(nodes.len());
        nodes.push(node);
    }
    Cow::Owned(Expression::from_nodes(nodes.into_iter().flatten().collect()))
}

fn needs_resolving(test: &Test) -> bool {
    match test {
        Test::Equal(value)
        | Test::Less(value)
        | Test::AtMost(value)
        | Test::Greater(value)
        | Test::AtLeast(value) => matches!(value, Value::Local(_)),
        Test::Between(low, high) => matches!(low, Value::Local(_)) || low.family() != high.family(),
        // Networks and local times come last in a set.
        Test::In(values) => values.last().is_some_and(|value| value.family() >= Family::Network),
        _ => false,
    }
}

/// The nodes, in postfix order, that ask what a predicate does.
pub(crate) fn resolve_predicate(predicate: &Arc<Predicate>, zone: &TimeZone) -> Vec<Node> {
    if !needs_resolving(predicate.test()) {
        return vec![Node::Predicate(predicate.clone())];
    }
    let leaf = |test: Test, negated: bool, weights: Option<Box<[f64]>>| {
        Node::Predicate(Arc::new(predicate.with_test(test, negated, weights)))
    };
    let same = |test: Test| vec![leaf(test, predicate.negated(), predicate.weights().map(Into::into))];
    let moment = |value: &Value| match zone.moment_of(value.as_ref()) {
        Some(moment) if value.family().is_time() => Value::Timestamp(moment),
        _ => value.clone(),
    };
    match predicate.test() {
        Test::Equal(value) => same(Test::Equal(moment(value))),
        Test::Less(value) => same(Test::Less(moment(value))),
        Test::AtMost(value) => same(Test::AtMost(moment(value))),
        Test::Greater(value) => same(Test::Greater(moment(value))),
        Test::AtLeast(value) => same(Test::AtLeast(moment(value))),
        Test::Between(low, high) => same(Test::Between(moment(low), moment(high))),
        Test::In(values) => {
            let weight = |position: usize| predicate.weights().map_or(1.0, |weights| weights[position]);
            let (mut others, mut ranges) = (Vec::new(), Vec::new());
            for (position, value) in values.iter().enumerate() {
                match value {
                    Value::Network(network) => {
                        let (first, last) = network.ends();
                        let test = Test::Between(Value::Address(first), Value::Address(last));
                        ranges.push((test, weight(position)));
                    }
                    Value::Local(_) => others.push((moment(value), weight(position))),
                    other => others.push((other.clone(), weight(position))),
                }
            }
            others.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            others.dedup_by(|a, b| a.0 == b.0);
            let weighed =
                |weights: Vec<f64>| weights.iter().any(|weight| *weight != 1.0).then(|| weights.into());
            let count = ranges.len() + usize::from(!others.is_empty());
            let negated = predicate.negated() && count == 1;
            let mut nodes = Vec::with_capacity(count + 2);
            if !others.is_empty() {
                let (values, weights): (Vec<_>, Vec<_>) = others.into_iter().unzip();
                nodes.push(leaf(Test::In(values.into()), negated, weighed(weights)));
            }
            nodes.extend(ranges.into_iter().map(|(test, weight)| leaf(test, negated, weighed(vec![weight]))));
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
            "a in (1, timestamp '2026-01-02 04:00:00Z'^3)"
        );
        assert_eq!(
            resolved("a not between date '2026-07-01' and timestamp '2026-07-02'"),
            "a not between timestamp '2026-06-30 22:00:00Z' and timestamp '2026-07-01 22:00:00Z'"
        );
        assert_eq!(resolved("a = date '2026-07-01'"), "a = date '2026-07-01'");
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
            "x = 1 or a in (3, ip '::1') or a between ip '10.0.0.0' and ip '10.255.255.255'^2 or y = 1"
        );
        assert_eq!(
            resolved("x = 1 and a not in (cidr '10.0.0.0/8', ip '::1')"),
            "x = 1 and not (a in (ip '::1') or a between ip '10.0.0.0' and ip '10.255.255.255')"
        );
    }
}
