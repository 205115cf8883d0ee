//! What is the simplest form of an expression that every matcher can compile?
//!
//! Negation is pushed to the predicates (Ji & Jacobsen 2021, section 5.2.1), so that only `and` and
//! `or` over signed predicates remain. `xor` and `xnor` need both polarities of their children; each
//! is built once and shared, so the form grows linearly with the expression. Equal subexpressions are one
//! subexpression, nested equal operators are flattened, constants are folded, and the order is canonical:
//! two expressions that differ in the order or repetition of children have the same form.
//!
//! `is true`, `is not false` and the like are pushed down to the predicates, too, where they become tests of whether
//! the predicate's term has a value.
//!
//! Every rule preserves the three-valued result. In particular `a and not a` stays as it is: it is
//! unknown, not false, if `a` is unknown.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::predicate::{Predicate, Test};
use super::tree::{Expression, Node, TruthTest};
use crate::truth::Truth;
use crate::value::{Value, ValueRef};

/// A predicate with its sign.
#[derive(Debug, Clone)]
pub struct SignedPredicate {
    /// The attribute's name.
    pub attribute: Arc<str>,
    /// The test, in its simplest equivalent form.
    pub test: Test,
    /// Whether the signed predicate is true when the test fails.
    pub negated: bool,
    /// One weight per value of a set, one for any other test; `None` if all are 1 or the signed predicate
    /// is negated, which scores nothing.
    pub weights: Option<Box<[f64]>>,
}

impl SignedPredicate {
    /// The weight of a value that satisfies the test.
    pub fn weight(&self, value: ValueRef<'_>) -> f64 {
        match (&self.weights, &self.test) {
            (None, _) => 1.0,
            (Some(weights), Test::In(values)) => {
                let found = values.binary_search_by(|known| known.as_ref().canonical_order(value));
                found.map_or(0.0, |position| weights[position])
            }
            (Some(weights), _) => weights[0],
        }
    }

    fn compare(&self, other: &SignedPredicate) -> Ordering {
        let weights = |signed: &SignedPredicate| -> Vec<u64> {
            signed.weights.iter().flatten().map(|weight| weight.to_bits()).collect()
        };
        (&self.attribute, &self.test, self.negated)
            .cmp(&(&other.attribute, &other.test, other.negated))
            .then_with(|| weights(self).cmp(&weights(other)))
    }
}

impl PartialEq for SignedPredicate {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for SignedPredicate {}

impl Hash for SignedPredicate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.attribute.hash(state);
        self.test.hash(state);
        self.negated.hash(state);
        // Predicates that differ in their weights alone may be many.
        self.weights.iter().flatten().for_each(|weight| weight.to_bits().hash(state));
    }
}

/// A node of a [`NormalForm`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NormalNode {
    /// `true` or `false`; occurs only as the root.
    Constant(bool),
    /// A signed predicate.
    Predicate(SignedPredicate),
    /// All of the nodes at these positions: two or more, ascending.
    And(Box<[u32]>),
    /// Some of the nodes at these positions: two or more, ascending.
    Or(Box<[u32]>),
}

/// A directed acyclic graph of `and` and `or` over signed predicates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NormalForm {
    nodes: Vec<NormalNode>,
}

impl NormalForm {
    /// The nodes, children before the nodes that use them; the last is the root.
    #[inline]
    pub fn nodes(&self) -> &[NormalNode] {
        &self.nodes
    }

    /// The truth of the whole, given that of its signed predicates.
    pub fn truth(&self, mut truth_of: impl FnMut(&SignedPredicate) -> Truth) -> Truth {
        let mut truths: Vec<Truth> = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let truth = match node {
                NormalNode::Constant(value) => Truth::from(*value),
                NormalNode::Predicate(found) => truth_of(found),
                NormalNode::And(children) => {
                    children.iter().map(|&child| truths[child as usize]).fold(Truth::True, Truth::and)
                }
                NormalNode::Or(children) => {
                    children.iter().map(|&child| truths[child as usize]).fold(Truth::False, Truth::or)
                }
            };
            truths.push(truth);
        }
        truths[truths.len() - 1]
    }
}

/// Brings an expression into its normal form, in time linear in its size but for sorting.
pub fn normalise(expression: &Expression) -> NormalForm {
    let mut builder = Builder::default();
    let root = Normaliser::default().build(expression, &mut builder);
    builder.canonical(root)
}

/// Stores the subexpressions of normal forms, equal subexpressions once: a subexpression is identified by its number,
/// and its children have smaller numbers.
pub trait Subexpressions {
    /// The subexpression that is `true` or `false`.
    fn constant(&mut self, value: bool) -> u32;

    /// The subexpression that is a predicate or its negation; called for every predicate of an expression.
    fn predicate(&mut self, predicate: &Predicate, negated: bool) -> u32;

    /// The conjunction or disjunction of two subexpressions or more: ascending, distinct, no constants, and
    /// none of them the same operator.
    fn operator(&mut self, conjunction: bool, children: &[u32]) -> u32;

    /// What a subexpression is.
    fn kind(&self, subexpression: u32) -> SubexpressionKind<'_>;
}

/// As much of a subexpression as joining it to others takes.
pub enum SubexpressionKind<'a> {
    /// Always true, or always false.
    Constant(bool),
    /// A predicate, negated or not.
    Predicate,
    /// All of these subexpressions.
    And(&'a [u32]),
    /// Any of these subexpressions.
    Or(&'a [u32]),
}

/// The polarities in which a node can be needed. For a node that is never unknown, the last four equal one of the
/// first two.
const POSITIVE: usize = 0;
const NEGATIVE: usize = 1;
const IS_TRUE: usize = 2;
const IS_FALSE: usize = 3;
const NOT_TRUE: usize = 4;
const NOT_FALSE: usize = 5;
const POLARITIES: usize = 6;

/// The polarity of a child whose negation has this polarity.
const OPPOSITE: [usize; POLARITIES] = [NEGATIVE, POSITIVE, IS_FALSE, IS_TRUE, NOT_FALSE, NOT_TRUE];
/// The polarity with the opposite truth.
const NEGATION: [usize; POLARITIES] = [NEGATIVE, POSITIVE, NOT_TRUE, NOT_FALSE, IS_TRUE, IS_FALSE];

/// Whether a polarity holds if the node is true, and not if it is false.
fn is_upright(polarity: usize) -> bool {
    matches!(polarity, POSITIVE | IS_TRUE | NOT_FALSE)
}

/// Takes expressions apart; kept for its memory.
#[derive(Debug, Default)]
pub struct Normaliser {
    /// The polarities in which each node is needed, as bits.
    needed: Vec<u8>,
    /// The subexpression of each node, in each polarity.
    built: Vec<[u32; POLARITIES]>,
    children: Vec<usize>,
    /// The subexpressions of leaves.
    leaves: Vec<u32>,
    joined: Vec<u32>,
}

impl Normaliser {
    /// The subexpression of a whole expression.
    pub fn build(&mut self, expression: &Expression, subexpressions: &mut impl Subexpressions) -> u32 {
        let nodes = expression.nodes();
        if let Some((root @ (Node::And(count) | Node::Or(count)), leaves)) = nodes.split_last()
            && leaves.len() == *count as usize
        {
            return self.flat(matches!(root, Node::And(_)), leaves, subexpressions);
        }
        let starts = expression.starts();
        self.find_needed(expression, &starts);
        self.built.clear();
        for index in 0..nodes.len() {
            self.children.clear();
            self.children.extend(expression.children_reversed(index, &starts));
            let mut built = [u32::MAX; POLARITIES];
            for (polarity, subexpression) in built.iter_mut().enumerate() {
                if self.needed[index] & 1 << polarity != 0 {
                    *subexpression = self.subexpression(nodes, index, polarity, subexpressions);
                }
            }
            self.built.push(built);
        }
        self.built[nodes.len() - 1][POSITIVE]
    }

    /// The conjunction or disjunction of subexpressions.
    pub fn join(
        &mut self,
        conjunction: bool,
        children: &[u32],
        subexpressions: &mut impl Subexpressions,
    ) -> u32 {
        join(conjunction, children.iter().copied(), &mut self.joined, subexpressions)
    }

    /// The subexpression of a connective whose children are leaves, as most expressions are.
    fn flat(&mut self, conjunction: bool, leaves: &[Node], subexpressions: &mut impl Subexpressions) -> u32 {
        self.leaves.clear();
        for leaf in leaves {
            self.leaves.push(match leaf {
                Node::Predicate(predicate) => subexpressions.predicate(predicate, predicate.negated()),
                other => subexpressions.constant(matches!(other, Node::Constant(true))),
            });
        }
        join(conjunction, self.leaves.iter().copied(), &mut self.joined, subexpressions)
    }

    /// The subexpression of a node whose children are built, in one polarity.
    fn subexpression(
        &mut self,
        nodes: &[Node],
        index: usize,
        polarity: usize,
        subexpressions: &mut impl Subexpressions,
    ) -> u32 {
        let node = &nodes[index];
        match node {
            Node::Constant(value) => subexpressions.constant(*value == is_upright(polarity)),
            Node::Predicate(predicate) => {
                let signed = subexpressions.predicate(predicate, predicate.negated() == is_upright(polarity));
                let unknown = if polarity < IS_TRUE { None } else { predicate.when_unknown() };
                let Some(unknown) = unknown else { return signed };
                let known = matches!(polarity, IS_TRUE | IS_FALSE);
                let unknown = subexpressions.predicate(&unknown, known);
                join(known, [signed, unknown].into_iter(), &mut self.joined, subexpressions)
            }
            Node::Not => self.built[self.children[0]][OPPOSITE[polarity]],
            Node::And(_) | Node::Or(_) => {
                let conjunction = matches!(node, Node::And(_)) == is_upright(polarity);
                let built = self.children.iter().map(|&child| self.built[child][polarity]);
                join(conjunction, built, &mut self.joined, subexpressions)
            }
            Node::Xor | Node::Xnor => {
                // The children differ (xor) or agree (xnor); negating one gives the other. What is not true or
                // not false is the negation of what is.
                let negation = polarity >= NOT_TRUE;
                let asked = if negation { NEGATION[polarity] } else { polarity };
                let differ = matches!(node, Node::Xor) == is_upright(asked);
                let (holds, fails) = match asked {
                    POSITIVE | NEGATIVE => (POSITIVE, NEGATIVE),
                    _ => (IS_TRUE, IS_FALSE),
                };
                let [left, right] = [self.built[self.children[1]], self.built[self.children[0]]];
                let mut pair = |first: usize, second: usize| {
                    let signs = if negation { [NEGATION[first], NEGATION[second]] } else { [first, second] };
                    let children = [left[signs[0]], right[signs[1]]].into_iter();
                    join(!negation, children, &mut self.joined, subexpressions)
                };
                let both = match differ {
                    true => [pair(holds, fails), pair(fails, holds)],
                    false => [pair(holds, holds), pair(fails, fails)],
                };
                join(negation, both.into_iter(), &mut self.joined, subexpressions)
            }
            Node::Is(test) => {
                if let Some(predicate) = tested_alone(*test, &nodes[..index]) {
                    let negated = test.negated == is_upright(polarity);
                    return match predicate.when_unknown() {
                        Some(unknown) => subexpressions.predicate(&unknown, negated),
                        None => subexpressions.constant(negated),
                    };
                }
                let child = self.built[self.children[0]];
                match asked_by(*test, is_upright(polarity)) {
                    [single] => child[*single],
                    several => {
                        let conjunction = several[0] == NOT_TRUE;
                        let both = several.iter().map(|asked| child[*asked]);
                        join(conjunction, both, &mut self.joined, subexpressions)
                    }
                }
            }
        }
    }

    fn find_needed(&mut self, expression: &Expression, starts: &[u32]) {
        let nodes = expression.nodes();
        self.needed.clear();
        self.needed.resize(nodes.len(), 0);
        self.needed[nodes.len() - 1] = 1 << POSITIVE;
        // A node follows its children, so going backwards settles a node before its children.
        for index in (0..nodes.len()).rev() {
            let mine = self.needed[index];
            let asked = (0..POLARITIES).filter(|polarity| mine & 1 << polarity != 0);
            let theirs = match nodes[index] {
                Node::Constant(_) | Node::Predicate(_) => continue,
                Node::And(_) | Node::Or(_) => mine,
                Node::Not => asked.fold(0, |bits, polarity| bits | 1 << OPPOSITE[polarity]),
                Node::Xor | Node::Xnor => {
                    asked.fold(0, |bits, polarity| bits | 1 << polarity | 1 << OPPOSITE[polarity])
                }
                // The child of a node is right before it. It is needed at least for explanations.
                Node::Is(test) if tested_alone(test, &nodes[..index]).is_some() => 1 << POSITIVE,
                Node::Is(test) => asked.fold(0, |bits, polarity| {
                    asked_by(test, is_upright(polarity)).iter().fold(bits, |bits, asked| bits | 1 << asked)
                }),
            };
            for child in expression.children_reversed(index, starts) {
                self.needed[child] |= theirs;
            }
        }
    }
}

/// A predicate that is unknown whenever the child of a test for being unknown is, which takes one signed predicate: the
/// child itself, or one of several that are unknown together, such as those that a set with networks becomes. The child
/// ends with the last of the nodes.
fn tested_alone(test: TruthTest, nodes: &[Node]) -> Option<&Predicate> {
    if test.truth != Truth::Unknown {
        return None;
    }
    let (mut last, mut asked): (Option<&Predicate>, Option<Predicate>) = (None, None);
    // The roots that are still to come. Going backwards, this ends at the start of the child or at another test.
    let mut roots = 1;
    for node in nodes.iter().rev() {
        match (node, last) {
            (Node::Predicate(predicate), None) => last = Some(predicate),
            (Node::Predicate(predicate), Some(last)) => {
                let asked = match &mut asked {
                    Some(asked) => asked,
                    none => none.insert(last.when_unknown()?),
                };
                if predicate.when_unknown()?.attribute() != asked.attribute() {
                    return None;
                }
            }
            (Node::Constant(_) | Node::Is(_), _) => return None,
            _ => {}
        }
        roots += node.children();
        roots -= 1;
        if roots == 0 {
            break;
        }
    }
    last
}

/// The polarities that `is`, or its negation, needs of its child: one of these, both of the last two, or either of
/// the two before.
fn asked_by(test: TruthTest, upright: bool) -> &'static [usize] {
    match (test.truth, test.negated != upright) {
        (Truth::True, true) => &[IS_TRUE],
        (Truth::True, false) => &[NOT_TRUE],
        (Truth::False, true) => &[IS_FALSE],
        (Truth::False, false) => &[NOT_FALSE],
        (Truth::Unknown, true) => &[NOT_TRUE, NOT_FALSE],
        (Truth::Unknown, false) => &[IS_TRUE, IS_FALSE],
    }
}

/// The conjunction or disjunction of subexpressions, flattened, deduplicated, constants folded. `joined` is
/// kept for its memory.
fn join(
    conjunction: bool,
    children: impl Iterator<Item = u32>,
    joined: &mut Vec<u32>,
    subexpressions: &mut impl Subexpressions,
) -> u32 {
    joined.clear();
    for child in children {
        match (subexpressions.kind(child), conjunction) {
            // The neutral constant adds nothing; the other decides.
            (SubexpressionKind::Constant(value), _) if value == conjunction => {}
            (SubexpressionKind::Constant(_), _) => return child,
            (SubexpressionKind::And(nested), true) | (SubexpressionKind::Or(nested), false) => {
                joined.extend_from_slice(nested)
            }
            _ => joined.push(child),
        }
    }
    joined.sort_unstable();
    joined.dedup();
    match joined[..] {
        [] => subexpressions.constant(conjunction),
        [single] => single,
        _ => subexpressions.operator(conjunction, joined),
    }
}

/// Builds nodes bottom-up; equal nodes are one node.
///
/// Nodes are interned in three more places, each of which holds something else. The compiled matcher keeps the
/// subexpressions of millions of expressions as words in one arena (`matcher/compiled/build/ir`), where values are numbers;
/// here they are those of one expression, and callers read their values. The A-Tree of `tamis-papers` counts the uses
/// of its nodes, which go with the last one. The decision diagrams of `tamis-lab` intern decisions, which have a
/// predicate and two branches.
#[derive(Default)]
struct Builder {
    nodes: Vec<NormalNode>,
    positions: HashMap<NormalNode, u32, ahash::RandomState>,
}

impl Subexpressions for Builder {
    fn constant(&mut self, value: bool) -> u32 {
        self.intern(NormalNode::Constant(value))
    }

    fn predicate(&mut self, predicate: &Predicate, negated: bool) -> u32 {
        self.intern(NormalNode::Predicate(SignedPredicate {
            attribute: predicate.attribute().clone(),
            test: simplest(predicate.test()).into_owned(),
            negated,
            weights: if negated { None } else { predicate.weights().map(Box::from) },
        }))
    }

    fn operator(&mut self, conjunction: bool, children: &[u32]) -> u32 {
        self.intern(match conjunction {
            true => NormalNode::And(children.into()),
            false => NormalNode::Or(children.into()),
        })
    }

    fn kind(&self, subexpression: u32) -> SubexpressionKind<'_> {
        match &self.nodes[subexpression as usize] {
            NormalNode::Constant(value) => SubexpressionKind::Constant(*value),
            NormalNode::Predicate(_) => SubexpressionKind::Predicate,
            NormalNode::And(children) => SubexpressionKind::And(children),
            NormalNode::Or(children) => SubexpressionKind::Or(children),
        }
    }
}

impl Builder {
    fn intern(&mut self, node: NormalNode) -> u32 {
        if let Some(&position) = self.positions.get(&node) {
            return position;
        }
        let position = self.nodes.len() as u32;
        self.nodes.push(node.clone());
        self.positions.insert(node, position);
        position
    }

    /// The nodes below `root`, lower levels first and each level in an order that depends on
    /// nothing but what the nodes mean.
    fn canonical(self, root: u32) -> NormalForm {
        let children = |position: u32| match &self.nodes[position as usize] {
            NormalNode::And(children) | NormalNode::Or(children) => &children[..],
            _ => &[],
        };
        // Children were made before the nodes that use them, so one pass down finds what is used
        // and one pass up the level of each.
        let mut used = vec![false; self.nodes.len()];
        used[root as usize] = true;
        for position in (0..=root).rev() {
            if used[position as usize] {
                for &child in children(position) {
                    used[child as usize] = true;
                }
            }
        }
        let mut levels = vec![0u32; self.nodes.len()];
        let mut order: Vec<u32> = Vec::new();
        for position in 0..=root {
            if used[position as usize] {
                let highest = children(position).iter().map(|&child| levels[child as usize] + 1).max();
                levels[position as usize] = highest.unwrap_or(0);
                order.push(position);
            }
        }
        order.sort_by_key(|&position| levels[position as usize]);
        let mut ranks = vec![u32::MAX; self.nodes.len()];
        let mut nodes: Vec<NormalNode> = Vec::with_capacity(order.len());
        for level in order.chunk_by(|a, b| levels[*a as usize] == levels[*b as usize]) {
            let mut ranked: Vec<(u32, NormalNode)> = level
                .iter()
                .map(|&position| {
                    let rank = |children: &[u32]| {
                        let mut ranked: Box<[u32]> =
                            children.iter().map(|&child| ranks[child as usize]).collect();
                        ranked.sort_unstable();
                        ranked
                    };
                    let node = match &self.nodes[position as usize] {
                        NormalNode::And(children) => NormalNode::And(rank(children)),
                        NormalNode::Or(children) => NormalNode::Or(rank(children)),
                        leaf => leaf.clone(),
                    };
                    (position, node)
                })
                .collect();
            ranked.sort_unstable_by(|a, b| compare_within_level(&a.1, &b.1));
            for (position, node) in ranked {
                ranks[position as usize] = nodes.len() as u32;
                nodes.push(node);
            }
        }
        NormalForm { nodes }
    }
}

fn compare_within_level(a: &NormalNode, b: &NormalNode) -> Ordering {
    match (a, b) {
        (NormalNode::Predicate(a), NormalNode::Predicate(b)) => a.compare(b),
        (NormalNode::And(a), NormalNode::And(b)) | (NormalNode::Or(a), NormalNode::Or(b)) => a.cmp(b),
        (NormalNode::And(_), NormalNode::Or(_)) => Ordering::Less,
        (NormalNode::Or(_), NormalNode::And(_)) => Ordering::Greater,
        // A constant is the only node of its form, and signed predicates are the only others of level 0.
        _ => Ordering::Equal,
    }
}

/// The simplest test that every value answers alike, so that more predicates are shared.
pub fn simplest(test: &Test) -> Cow<'_, Test> {
    match test {
        Test::In(values) if values.len() == 1 => Cow::Owned(Test::Equal(values[0].clone())),
        Test::Between(low, high) if low == high => Cow::Owned(Test::Equal(low.clone())),
        Test::Like(pattern) => Cow::Owned(simplest_like(pattern)),
        other => Cow::Borrowed(other),
    }
}

/// A pattern whose only wildcards are `%` at its ends is a prefix, a suffix, a substring or a whole string.
fn simplest_like(pattern: &Arc<str>) -> Test {
    let mut pieces = vec![String::new()];
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let piece = pieces.last_mut();
        match (character, piece) {
            ('%', _) => pieces.push(String::new()),
            ('_', _) | (_, None) => return Test::Like(pattern.clone()),
            ('\\', Some(piece)) => piece.extend(characters.next()),
            (character, Some(piece)) => piece.push(character),
        }
    }
    let [first, middle @ .., last] = &pieces[..] else {
        return Test::Equal(Value::String(pieces.concat().into()));
    };
    let mut middle = middle.iter().filter(|piece| !piece.is_empty());
    match (first.as_str(), middle.next(), last.as_str()) {
        (first, None, "") => Test::StartsWith(first.into()),
        ("", None, last) => Test::EndsWith(last.into()),
        ("", Some(part), "") if middle.next().is_none() => Test::Contains(part.as_str().into()),
        _ => Test::Like(pattern.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn form(text: &str) -> NormalForm {
        normalise(&parse(text, &Limits::default()).unwrap())
    }

    #[test]
    fn order_and_repetition_do_not_matter() {
        let expected = form("a and b and (c or d)");
        assert_eq!(form("(d or c or d) and (b and a) and a"), expected);
        assert_eq!(form("not (not a or not b or not (c or d))"), expected);
        assert_eq!(form("a xor b"), form("b xor a"));
        assert_eq!(form("not (a xor b)"), form("a xnor b"));
        assert_eq!(form("a in (1)"), form("a = 1"));
        assert_eq!(form("a like 'x%'"), form("a starts with 'x'"));
        assert_eq!(form("a like '%%x\\_%'"), form("a contains 'x_'"));
        assert_eq!(form("a like '%x'"), form("a ends with 'x'"));
        assert_eq!(form("a like '%'"), form("a starts with ''"));
        assert_eq!(form("a like ''"), form("a = ''"));
    }

    #[test]
    fn what_is_unknown_together_is_asked_once() {
        let expected = form("a = 1 is unknown");
        for text in [
            "a > 2 is unknown",
            "(not a in (1, 2)) is unknown",
            "(a = 1 or a > 2) is unknown",
            "((a = 1 or a > 2) and not (a < 5 xor a = 3)) is unknown",
        ] {
            assert_eq!(form(text), expected);
        }
        assert_eq!(form("(not (a > 1 and a < 5)) is not unknown"), form("a = 1 is not unknown"));
        assert_ne!(form("(a = 1 or b = 2) is unknown"), expected);
        assert_ne!(form("(a = 1 or exists(a)) is unknown"), expected);
    }

    #[test]
    fn constants_are_folded() {
        assert_eq!(form("a and true"), form("a"));
        assert_eq!(form("a or false"), form("a"));
        assert_eq!(form("a and false").nodes(), [NormalNode::Constant(false)]);
        assert_eq!(form("a or not false").nodes(), [NormalNode::Constant(true)]);
        assert_eq!(form("a xor true"), form("not a"));
        assert_eq!(form("a xnor true"), form("a"));
    }

    #[test]
    fn a_contradiction_is_not_folded() {
        assert_eq!(form("a and not a").nodes().len(), 3);
    }

    #[test]
    fn weights_distinguish_positive_predicates_only() {
        assert_ne!(form("a = 1^2"), form("a = 1"));
        assert_eq!(form("not a = 1^2"), form("a != 1"));
        assert_eq!(form("a = 1^2 and a = 1^2"), form("a = 1^2"));
    }

    #[test]
    fn nested_xor_stays_linear() {
        let size = |count: usize| {
            let text: Vec<_> = (0..count).map(|i| format!("(a{i} and b{i} or c{i})")).collect();
            let limits = Limits::none();
            normalise(&parse(&text.join(" xor "), &limits).unwrap()).nodes().len()
        };
        let (small, large) = (size(100), size(1000));
        assert!(large <= 10 * small + 100, "{small} nodes for 100, {large} for 1000");
    }
}
