//! From which nodes is a new node evaluated, and which nodes are evaluated from it?
//!
//! Reorganisation (Ji & Jacobsen 2021, Alg. 2) covers the members of a new node greedily with
//! existing nodes whose members are among them. Self-adjustment (Alg. 3) goes the other way: a new
//! node whose children are among those of an existing node takes their place there.
//!
//! Departures: an `or` is not covered by a node that adds only one member, since that saves no edge
//! and raises the level. For an `and` it is, because the cover is true less often than the member
//! alone. Self-adjustment compares children, not members, so that removing the node later restores
//! them. The effort is bounded by [`EFFORT`]: if too many nodes share a predicate, some sharing is
//! missed, but results stay correct.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::ATree;
use super::graph::{NodeId, NodeKind, signature};

/// The maximum number of node comparisons per new node, plus a few per member.
const EFFORT: usize = 4096;

impl ATree {
    /// The best children from which to evaluate a new node with these members.
    pub(super) fn reorganise(&mut self, kind: NodeKind, members: &[NodeId]) -> Vec<NodeId> {
        let mut effort = EFFORT + 8 * members.len();
        let mut candidates = self.subsets(kind, members, &mut effort);
        let least = if kind == NodeKind::And { 1 } else { 2 };
        // From here on, a mark means that a member is covered.
        self.marks.begin(self.graph.nodes.len());
        let (mut chosen, mut uncovered) = (Vec::new(), members.len());
        while let Some((promised, size, Reverse(candidate))) = candidates.pop() {
            let covers = &self.graph.node(candidate).members;
            let gain = covers.iter().filter(|&&member| !self.marks.contains(member as usize)).count();
            if uncovered == 0 || effort < covers.len() {
                break;
            }
            effort -= covers.len();
            if gain < least {
                continue;
            }
            if gain < promised {
                candidates.push((gain, size, Reverse(candidate)));
                continue;
            }
            for &member in covers {
                self.marks.insert(member as usize);
            }
            uncovered -= gain;
            chosen.push(candidate);
        }
        chosen.extend(members.iter().filter(|&&member| !self.marks.contains(member as usize)));
        chosen
    }

    /// The nodes whose members are a proper subset of `members`, largest first.
    fn subsets(
        &mut self,
        kind: NodeKind,
        members: &[NodeId],
        effort: &mut usize,
    ) -> BinaryHeap<(usize, usize, Reverse<NodeId>)> {
        self.marks.begin(self.graph.nodes.len());
        for &member in members {
            self.marks.insert(member as usize);
        }
        let outside = !signature(members);
        let mut found = BinaryHeap::new();
        for &member in members {
            for &(signature, candidate) in &self.graph.node(member).anchored {
                let Some(rest) = effort.checked_sub(1) else { return found };
                *effort = rest;
                if signature & outside != 0 {
                    continue;
                }
                let node = self.graph.node(candidate);
                let size = node.members.len();
                *effort = effort.saturating_sub(size.min(members.len()));
                if node.kind == kind
                    && size < members.len()
                    && node.members.iter().all(|&member| self.marks.contains(member as usize))
                {
                    found.push((size, size, Reverse(candidate)));
                }
            }
        }
        found
    }

    /// Inserts a new node below the nodes that have all of its children, in place of those.
    pub(super) fn self_adjust(&mut self, new: NodeId) {
        for parent in self.supersets(new) {
            self.marks.begin(self.graph.nodes.len());
            for link in &self.graph.node(new).children {
                self.marks.insert(link.node as usize);
            }
            for place in (0..self.graph.node(parent).children.len()).rev() {
                if self.marks.contains(self.graph.child(parent, place) as usize) {
                    self.graph.unlink(parent, place);
                }
            }
            self.connect(parent, [new]);
            self.raise(parent);
        }
    }

    /// The nodes with the same operator whose children are a proper superset of those of `new`.
    fn supersets(&mut self, new: NodeId) -> Vec<NodeId> {
        let node = self.graph.node(new);
        let wanted = node.children.len();
        self.marks.begin(self.graph.nodes.len());
        for link in &node.children {
            self.marks.insert(link.node as usize);
        }
        let rarest = node.children.iter().min_by_key(|link| self.graph.node(link.node).parents.len());
        let mut effort = EFFORT;
        let mut found = Vec::new();
        for link in rarest.into_iter().flat_map(|link| &self.graph.node(link.node).parents) {
            let Some(rest) = effort.checked_sub(1) else { break };
            effort = rest;
            let parent = self.graph.node(link.node);
            if link.node == new
                || parent.kind != node.kind
                || parent.children.len() <= wanted
                || node.signature & !parent.signature != 0
            {
                continue;
            }
            let Some(rest) = effort.checked_sub(parent.children.len()) else { continue };
            effort = rest;
            if parent.children.iter().filter(|link| self.marks.contains(link.node as usize)).count() == wanted
            {
                found.push(link.node);
            }
        }
        found
    }

    /// Adds children to a node, and chooses its access child again.
    pub(super) fn connect(&mut self, parent: NodeId, children: impl IntoIterator<Item = NodeId>) {
        let tells = !self.waits(parent);
        for child in children {
            self.graph.link(parent, child, tells);
        }
        self.choose_access(parent);
    }

    /// Raises the level of a node above its children, and the levels of the nodes above it.
    pub(super) fn raise(&mut self, id: NodeId) {
        let highest = self.graph.node(id).children.iter().map(|link| self.graph.node(link.node).level).max();
        let level = highest.unwrap_or(0) + 1;
        let mut raised = BinaryHeap::from([(Reverse(self.graph.node(id).level), id, level)]);
        // Lower nodes first, by their previous levels, so that few are raised twice.
        while let Some((_, id, level)) = raised.pop() {
            if self.graph.node(id).level < level {
                self.graph.node_mut(id).level = level;
                for link in &self.graph.node(id).parents {
                    let parent = self.graph.node(link.node);
                    if parent.level <= level {
                        raised.push((Reverse(parent.level), link.node, level + 1));
                    }
                }
            }
        }
    }

    /// Recomputes the levels of nodes that lost children, and of the nodes above them.
    pub(super) fn lower(&mut self, nodes: impl IntoIterator<Item = NodeId>) {
        let entry = |atree: &ATree, id: NodeId| (Reverse(atree.graph.node(id).level), id);
        let mut lowered: BinaryHeap<_> = nodes.into_iter().map(|id| entry(self, id)).collect();
        while let Some((_, id)) = lowered.pop() {
            let node = self.graph.node(id);
            if node.kind == NodeKind::Free {
                continue;
            }
            let highest = node.children.iter().map(|link| self.graph.node(link.node).level).max();
            let (before, level) = (node.level, highest.unwrap_or(0) + 1);
            if level != before {
                self.graph.node_mut(id).level = level;
                for link in &self.graph.node(id).parents {
                    // Only a parent directly above this node can be lowered with it.
                    if self.graph.node(link.node).level == before + 1 {
                        lowered.push(entry(self, link.node));
                    }
                }
            }
        }
    }
}
