//! Finding common parts of expressions.
//!
//! Nodes are canonical: an operator and the sorted set of its children, compared for equality.
//! Nodes with several uses become shared trees.

use std::collections::HashMap;

use super::{Owner, Source, Tree, TreeNode};
use crate::conjunction::{ConjunctionBuilder, ConjunctionId};
use tamis::expression::{NormalForm, NormalNode};
use tamis::matcher::Slot;

/// Numbers of nodes that have room after an expression is removed.
const MOST_KEPT: usize = 1 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum SharedNode {
    Leaf(ConjunctionId),
    And(Box<[u32]>),
    Or(Box<[u32]>),
}

/// The nodes of some expressions, children first.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<SharedNode>,
    numbers: HashMap<SharedNode, u32, ahash::RandomState>,
    /// By node: how many nodes and expressions use it.
    uses: Vec<u32>,
    roots: Vec<(Slot, u32)>,
}

impl Graph {
    /// An upper bound of the number of leaves that a form adds to all trees.
    pub fn most_leaves(form: &NormalForm) -> usize {
        let children = form.nodes().iter().map(|node| match node {
            NormalNode::And(children) | NormalNode::Or(children) => children.len(),
            _ => 0,
        });
        1 + children.sum::<usize>()
    }

    /// Removes all expressions.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.numbers.clear();
        // Clearing takes time proportional to the capacity, so do not keep a large one after a large expression.
        self.numbers.shrink_to(MOST_KEPT);
        self.uses.clear();
        self.roots.clear();
    }

    /// Adds an expression, unless it is never true.
    pub fn add(&mut self, slot: Slot, form: &NormalForm, conjunctions: &mut ConjunctionBuilder<'_>) {
        let signed_predicates = conjunctions.signed_predicates(form);
        let nodes = form.nodes();
        let is_predicate = |child: &u32| matches!(nodes[*child as usize], NormalNode::Predicate(_));
        let mut numbers: Vec<u32> = vec![u32::MAX; nodes.len()];
        for (position, node) in nodes.iter().enumerate() {
            let is_root = position + 1 == nodes.len();
            numbers[position] = match node {
                // Signed predicates become conjunctions only if something uses them as such.
                NormalNode::Predicate(_) if !is_root => continue,
                NormalNode::Constant(false) => return,
                NormalNode::Constant(true) => self.leaf(conjunctions.insert(Vec::new())),
                NormalNode::Predicate(_) => {
                    self.leaf(conjunctions.insert(vec![(signed_predicates[position], 1)]))
                }
                NormalNode::And(children) => {
                    let own = children.iter().filter(|child| is_predicate(child));
                    let own: Vec<_> = own.map(|&child| (signed_predicates[child as usize], 1)).collect();
                    let others = children.iter().filter(|child| !is_predicate(child));
                    let mut numbered: Vec<u32> = others.map(|&child| numbers[child as usize]).collect();
                    if !own.is_empty() {
                        numbered.push(self.leaf(conjunctions.insert(own)));
                    }
                    self.join(true, numbered)
                }
                NormalNode::Or(children) => {
                    let mut numbered = Vec::with_capacity(children.len());
                    for &child in children {
                        numbered.push(match is_predicate(&child) {
                            true => {
                                self.leaf(conjunctions.insert(vec![(signed_predicates[child as usize], 1)]))
                            }
                            false => numbers[child as usize],
                        });
                    }
                    self.join(false, numbered)
                }
            };
        }
        if let Some(&root) = numbers.last() {
            self.uses[root as usize] += 1;
            self.roots.push((slot, root));
        }
    }

    fn leaf(&mut self, conjunction: ConjunctionId) -> u32 {
        self.number(SharedNode::Leaf(conjunction))
    }

    fn join(&mut self, and: bool, mut children: Vec<u32>) -> u32 {
        children.sort_unstable();
        children.dedup();
        match children[..] {
            [only] => only,
            _ if and => self.number(SharedNode::And(children.into())),
            _ => self.number(SharedNode::Or(children.into())),
        }
    }

    fn number(&mut self, node: SharedNode) -> u32 {
        if let Some(&number) = self.numbers.get(&node) {
            return number;
        }
        let number = self.nodes.len() as u32;
        if let SharedNode::And(children) | SharedNode::Or(children) = &node {
            children.iter().for_each(|&child| self.uses[child as usize] += 1);
        }
        self.nodes.push(node.clone());
        self.uses.push(0);
        self.numbers.insert(node, number);
        number
    }

    /// Calls `label` with the trees of all expressions; shared trees are numbered from `shared` on.
    /// Returns the next number.
    pub fn show(&self, shared: u32, label: &mut impl FnMut(Tree<'_>)) -> u32 {
        let mut next = shared;
        // For every shared node: the number and level of its tree.
        let mut trees: Vec<Option<(u32, u32)>> = vec![None; self.nodes.len()];
        let mut nodes = Vec::new();
        for (root, node) in (0..).zip(&self.nodes) {
            if self.uses[root as usize] > 1 && !matches!(node, SharedNode::Leaf(_)) {
                let level = self.write(root, &trees, &mut nodes);
                label(Tree { owner: Owner::Shared(next), level, nodes: &nodes });
                trees[root as usize] = Some((next, level));
                next += 1;
            }
        }
        for &(slot, root) in &self.roots {
            let level = self.write(root, &trees, &mut nodes);
            label(Tree { owner: Owner::Slot(slot), level, nodes: &nodes });
        }
        next
    }

    /// Writes the tree below a node, down to conjunctions and shared trees, and returns its level.
    fn write(&self, root: u32, trees: &[Option<(u32, u32)>], nodes: &mut Vec<TreeNode>) -> u32 {
        nodes.clear();
        let mut level = 0;
        let mut open = vec![root];
        while let Some(number) = open.pop() {
            if let Some((shared, below)) = trees[number as usize] {
                level = level.max(below + 1);
                nodes.push(TreeNode::Leaf(Source::Shared(shared)));
                continue;
            }
            nodes.push(match &self.nodes[number as usize] {
                SharedNode::Leaf(conjunction) => TreeNode::Leaf(Source::Conjunction(*conjunction)),
                SharedNode::And(children) => {
                    open.extend(children.iter().rev());
                    TreeNode::And(children.len() as u32)
                }
                SharedNode::Or(children) => {
                    open.extend(children.iter().rev());
                    TreeNode::Or(children.len() as u32)
                }
            });
        }
        level
    }
}
