//! Expressions as trees of `and` and `or` over conjunctions.
//!
//! `dewey` and `interval` label these trees (Fontoura et al. 2010, section 2). The leaves of a tree
//! are conjunctions, found by the index that `kindex` uses, or other trees. A part that an
//! expression uses several times, as `xor` does, becomes a separate tree, so that the size of the
//! trees stays linear. If requested, a part that several expressions share does too, so that it is
//! evaluated once (the future work of section 7). Trees are passed to the labelling code and not
//! kept.

mod graph;

use crate::conjunction::{ConjunctionBuilder, ConjunctionId, ConjunctionIndex};
use crate::fallback::Fallback;
use graph::Graph;
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::{Expression, normalise, resolve};
use tamis::matcher::{Scratch, Slot};

/// The most leaves of all trees together. Beyond it expressions are evaluated instead: places among the labels, of
/// up to 20 bytes each, have 31 bits, the numbers that labels are made of are no larger, and none ever wraps.
const MOST_LEAVES: usize = 1 << 26;

/// The condition of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Source {
    /// A conjunction.
    Conjunction(ConjunctionId),
    /// The shared tree with this number.
    Shared(u32),
}

/// The owner of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The expression in this slot.
    Slot(Slot),
    /// The shared tree with this number.
    Shared(u32),
}

/// A node of a tree. A tree is a list of nodes, each before its children.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeNode {
    /// A conjunction of this many children.
    And(u32),
    /// A disjunction of this many children.
    Or(u32),
    Leaf(Source),
}

/// A tree to be labelled.
#[derive(Debug)]
pub(crate) struct Tree<'a> {
    pub owner: Owner,
    /// One above the highest shared tree among its leaves; 0 if there is none.
    pub level: u32,
    pub nodes: &'a [TreeNode],
}

/// Everything except the labels of the trees.
#[derive(Debug)]
pub(crate) struct Forest {
    pub conjunctions: ConjunctionIndex,
    /// The number of expressions.
    pub expressions: u32,
    /// The number of shared trees.
    pub shared: u32,
    /// Expressions that are evaluated on every event.
    fallback: Fallback,
}

/// Options of building a forest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForestBuilder<'a> {
    pub attributes: &'a Attributes,
    pub missing: Missing,
    /// Whether parts that several expressions share become separate trees.
    pub common: bool,
    most_leaves: usize,
}

impl<'a> ForestBuilder<'a> {
    pub fn new(attributes: &'a Attributes, missing: Missing, common: bool) -> ForestBuilder<'a> {
        ForestBuilder { attributes, missing, common, most_leaves: MOST_LEAVES }
    }

    #[cfg(test)]
    pub fn with_most_leaves(self, most_leaves: usize) -> ForestBuilder<'a> {
        ForestBuilder { most_leaves, ..self }
    }

    /// Passes the trees of all expressions to the caller, shared ones before those that use them.
    pub fn build<'e>(
        self,
        expressions: impl IntoIterator<Item = &'e Expression>,
        mut label: impl FnMut(Tree<'_>),
    ) -> (Forest, SourceNumbers) {
        let mut conjunctions = ConjunctionBuilder::new(self.attributes, self.missing, true);
        let mut graph = Graph::default();
        let (mut slot, mut shared, mut leaves) = (0, 0, 0usize);
        let mut refused = Vec::new();
        for expression in expressions {
            let form = normalise(&resolve(expression, self.attributes.time_zone()));
            leaves += Graph::most_leaves(&form);
            if leaves > self.most_leaves {
                leaves -= Graph::most_leaves(&form);
                refused.push((slot, expression));
            } else {
                graph.add(slot, &form, &mut conjunctions);
                if !self.common {
                    shared = graph.show(shared, &mut label);
                    graph.clear();
                }
            }
            slot += 1;
        }
        shared = graph.show(shared, &mut label);
        let (conjunctions, numbers) = conjunctions.finish(|_| 1.0);
        let fallback = Fallback::new(&refused, self.attributes, self.missing);
        (Forest { conjunctions, expressions: slot, shared, fallback }, SourceNumbers(numbers))
    }
}

/// The numbers that sources have once all are known: first conjunctions as their index numbers them, then shared
/// trees.
#[derive(Debug)]
pub(crate) struct SourceNumbers(Vec<ConjunctionId>);

impl SourceNumbers {
    /// The number of a source.
    pub fn of(&self, source: Source) -> u32 {
        match source {
            Source::Conjunction(conjunction) => self.0[conjunction as usize],
            Source::Shared(shared) => self.0.len() as u32 + shared,
        }
    }
}

impl Forest {
    /// The number of sources.
    pub fn sources(&self) -> usize {
        self.conjunctions.len() + self.shared as usize
    }

    /// Adds the expressions that are evaluated and true to those found from `first` on, which ascend.
    pub fn scan(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>, first: usize) {
        if self.fallback.len() > 0 {
            self.fallback.matches(event, scratch, found);
            tamis::matcher::extend::ascending(found, first);
        }
    }

    pub fn bytes(&self) -> usize {
        self.conjunctions.postings().bytes() + self.fallback.bytes()
    }
}

/// The number of leaves below every node of a tree.
pub(crate) fn sizes(nodes: &[TreeNode]) -> Vec<u32> {
    let mut sizes = vec![1; nodes.len()];
    let mut open: Vec<u32> = Vec::new();
    for (position, node) in nodes.iter().enumerate().rev() {
        if let TreeNode::And(children) | TreeNode::Or(children) = *node {
            let rest = open.len() - children as usize;
            sizes[position] = open.drain(rest..).sum();
        }
        open.push(sizes[position]);
    }
    sizes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use tamis::{Limits, parse};

    /// The trees of some expressions as text: `&3` and `|2` before their children, conjunctions as
    /// letters in the order in which they are found, shared trees as `#`.
    pub fn written(texts: &[&str], common: bool) -> Vec<String> {
        let expressions: Vec<_> = texts.iter().map(|text| parse(text, &Limits::default()).unwrap()).collect();
        let attributes = Attributes::default();
        let mut trees = Vec::new();
        ForestBuilder::new(&attributes, Missing::Unknown, common).build(&expressions, |tree| {
            let nodes = tree.nodes.iter().map(|node| match node {
                TreeNode::And(children) => format!("&{children}"),
                TreeNode::Or(children) => format!("|{children}"),
                TreeNode::Leaf(Source::Conjunction(number)) => char::from(b'a' + *number as u8).to_string(),
                TreeNode::Leaf(Source::Shared(number)) => format!("#{number}"),
            });
            let nodes: Vec<String> = nodes.collect();
            trees.push(format!("{:?} {}: {}", tree.owner, tree.level, nodes.join(" ")));
        });
        trees
    }

    #[test]
    fn predicates_of_an_and_are_one_conjunction() {
        assert_eq!(written(&["a and b"], false), ["Slot(0) 0: a"]);
        assert_eq!(written(&["a or b"], false), ["Slot(0) 0: |2 a b"]);
        assert_eq!(written(&["a and b and (c or d and e)"], false), ["Slot(0) 0: &2 |2 a b c"]);
        assert_eq!(written(&["true", "false", "a"], false), ["Slot(0) 0: a", "Slot(2) 0: b"]);
    }

    #[test]
    fn what_an_expression_uses_twice_is_a_tree_of_its_own() {
        let trees = written(&["(a or b) xor (c or d)"], false);
        assert!(trees.iter().all(|tree| !tree.contains("Shared")), "{trees:?}");
        let trees =
            written(&["((a or b) and c or d) and (((a or b) and c or d) or e or f and (a or b))"], false);
        assert!(trees[0].starts_with("Shared(0) 0:"), "{trees:?}");
        assert!(trees[trees.len() - 1].starts_with("Slot(0)"), "{trees:?}");
    }

    #[test]
    fn common_subexpressions_are_trees_of_their_own_where_asked_for() {
        let texts = ["(a or b) and (c or d)", "(b or a) and e", "e and (a or b)"];
        assert_eq!(written(&texts, false).len(), 3);
        let trees = written(&texts, true);
        assert_eq!(trees.iter().filter(|tree| tree.starts_with("Shared")).count(), 2);
        assert_eq!(trees[2..].len(), 3);
        assert!(trees[3..].iter().all(|tree| tree.ends_with(": #1")), "{trees:?}");
    }

    #[test]
    fn sizes_are_numbers_of_leaves() {
        let leaf = TreeNode::Leaf(Source::Shared(0));
        let nodes = [TreeNode::And(2), leaf, TreeNode::Or(3), leaf, TreeNode::And(1), leaf, leaf];
        assert_eq!(sizes(&nodes), [4, 1, 3, 1, 1, 1, 1]);
    }

    #[test]
    fn many_nested_xors_stay_linear() {
        let count = |children: usize| {
            let text: Vec<_> = (0..children).map(|number| format!("(a{number} or b{number})")).collect();
            let expression = parse(&text.join(" xor "), &Limits::none()).unwrap();
            let attributes = Attributes::default();
            let mut nodes = 0;
            ForestBuilder::new(&attributes, Missing::False, false)
                .build([&expression], |tree| nodes += tree.nodes.len());
            nodes
        };
        assert!(count(400) < 5 * count(100), "{} {}", count(100), count(400));
    }
}
