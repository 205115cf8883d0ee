//! Adding and removing expressions.
//!
//! Insertion (Ji & Jacobsen 2021, Alg. 4) walks the normal form from the predicates up and creates the
//! missing nodes. Deletion (Alg. 5) decrements use counts from the root down; an unused node is
//! removed, and the nodes that were evaluated from it take over its children.

use super::frequency::Frequency;
use super::graph::{ATreeNode, NodeId, NodeKind, Wake};
use super::{ATree, SlotPlace};
use tamis::Missing;
use tamis::event::{AttributeId, Attributes};
use tamis::expression::{NormalForm, NormalNode, Test};
use tamis::matcher::Slot;

impl ATree {
    pub(super) fn insert_new(&mut self, slot: Slot, form: &NormalForm, attributes: &Attributes) {
        let mut built: Vec<NodeId> = Vec::with_capacity(form.nodes().len());
        for node in form.nodes() {
            let id = match node {
                NormalNode::Constant(value) => {
                    let place = if *value {
                        self.always.push(slot);
                        SlotPlace::Always(self.always.len() as u32 - 1)
                    } else {
                        SlotPlace::Never
                    };
                    self.places.insert(slot, place);
                    return;
                }
                NormalNode::Predicate(signed) => {
                    let attribute = attributes.intern(&signed.attribute);
                    self.leaf(attribute, &signed.test, signed.negated)
                }
                NormalNode::And(children) => self.operator(NodeKind::And, children, &built),
                NormalNode::Or(children) => self.operator(NodeKind::Or, children, &built),
            };
            built.push(id);
        }
        let root = built[built.len() - 1];
        let node = self.graph.node_mut(root);
        node.uses += 1;
        node.slots.push(slot);
        let place = node.slots.len() as u32 - 1;
        self.places.insert(slot, SlotPlace::Node(root, place));
        self.graph.list(root);
        // Normal forms distinguish weights but nodes do not, so some built nodes may be unused.
        built.retain(|&id| self.graph.node(id).uses == 0);
        self.release(built);
    }

    pub(super) fn remove_place(&mut self, slot: Slot) -> bool {
        let Some(place) = self.places.remove(&slot) else { return false };
        match place {
            SlotPlace::Never => {}
            SlotPlace::Always(place) => {
                self.always.swap_remove(place as usize);
                if let Some(&moved) = self.always.get(place as usize) {
                    self.places.insert(moved, SlotPlace::Always(place));
                }
            }
            SlotPlace::Node(id, place) => {
                let node = self.graph.node_mut(id);
                node.uses -= 1;
                node.slots.swap_remove(place as usize);
                if let Some(&moved) = node.slots.get(place as usize) {
                    self.places.insert(moved, SlotPlace::Node(id, place));
                }
                self.graph.list(id);
                self.release(vec![id]);
            }
        }
        true
    }

    /// The leaf of a signed predicate; created if it does not exist.
    fn leaf(&mut self, attribute: AttributeId, test: &Test, negated: bool) -> NodeId {
        let predicate = self.predicates.insert(attribute, test);
        if self.leaves.len() <= predicate as usize {
            self.leaves.resize(predicate as usize + 1, [None; 2]);
        }
        if let Some(leaf) = self.leaves[predicate as usize][usize::from(negated)] {
            // The leaf already counts as a use.
            self.predicates.remove(predicate);
            return leaf;
        }
        let wake = match (test, negated, self.missing) {
            (Test::IsNull, false, _) | (Test::Exists, true, _) => Wake::Absence,
            (Test::IsNull, true, _) => Wake::Value,
            (_, false, _) => Wake::Satisfied,
            (_, true, Missing::Unknown) => Wake::Value,
            (_, true, Missing::False) => Wake::Absence,
        };
        if self.leaves[predicate as usize] == [None; 2] {
            self.expect_predicate(predicate, attribute, test);
        }
        let kind = NodeKind::Leaf { predicate, negated, wake };
        let mut node = ATreeNode::new(kind, Box::default(), Frequency::default());
        node.attribute = attribute;
        let leaf = self.graph.allocate(node);
        self.leaves[predicate as usize][usize::from(negated)] = Some(leaf);
        if !self.options.zero_suppression {
            let lists = &mut self.graph.by_attribute;
            lists.resize_with(lists.len().max(attribute as usize + 1), Vec::new);
            lists[attribute as usize].push(leaf);
        }
        leaf
    }

    /// The node of an operator over nodes built before; created if it does not exist.
    fn operator(&mut self, kind: NodeKind, children: &[u32], built: &[NodeId]) -> NodeId {
        let mut members = Vec::with_capacity(children.len());
        for &child in children {
            let id = built[child as usize];
            let node = self.graph.node(id);
            if node.kind == kind && !self.options.binary {
                // A child of the other kind collapsed to a node of this kind, so flatten it.
                members.extend_from_slice(&node.members);
            } else {
                members.push(id);
            }
        }
        members.sort_unstable();
        members.dedup();
        if !self.options.binary {
            return self.node(kind, members);
        }
        let mut chain = members[0];
        for &member in &members[1..] {
            let mut pair = vec![chain, member];
            pair.sort_unstable();
            pair.dedup();
            chain = self.node(kind, pair);
        }
        chain
    }

    /// The node of an operator with these members, which are distinct and ascending; created if it
    /// does not exist.
    fn node(&mut self, kind: NodeKind, members: Vec<NodeId>) -> NodeId {
        if let [only] = members[..] {
            return only;
        }
        let hash = self.hasher.hash_one((kind, &members[..]));
        let same = |id: NodeId| {
            let node = &self.graph.nodes[id as usize];
            node.kind == kind && *node.members == members[..]
        };
        if let Some(&id) = self.ids.find(hash, |&id| same(id)).filter(|_| self.options.share) {
            return id;
        }
        let reorganise = self.options.share && self.options.reorganise;
        let children = if reorganise { self.reorganise(kind, &members) } else { members.clone() };
        for &member in &members {
            self.graph.node_mut(member).uses += 1;
        }
        let frequency = self.expect_operator(kind, &children);
        let id = self.graph.allocate(ATreeNode::new(kind, members.into(), frequency));
        let (nodes, hasher) = (&self.graph.nodes, &self.hasher);
        self.ids.insert_unique(hash, id, |&id| {
            let node = &nodes[id as usize];
            hasher.hash_one((node.kind, &node.members[..]))
        });
        self.graph.anchor(id);
        self.connect(id, children);
        self.raise(id);
        if self.options.share && self.options.self_adjust {
            self.self_adjust(id);
        }
        id
    }

    /// Removes unused nodes, and the nodes that only they used.
    fn release(&mut self, mut nodes: Vec<NodeId>) {
        let mut shortened = Vec::new();
        while let Some(id) = nodes.pop() {
            let node = self.graph.node(id);
            if node.uses > 0 || node.kind == NodeKind::Free {
                continue;
            }
            if let NodeKind::Leaf { predicate, negated, .. } = node.kind {
                self.leaves[predicate as usize][usize::from(negated)] = None;
                let attribute = node.attribute as usize;
                if let Some(leaves) = self.graph.by_attribute.get_mut(attribute) {
                    leaves.retain(|&leaf| leaf != id);
                }
                self.predicates.remove(predicate);
                self.graph.free(id);
                continue;
            }
            let hash = self.hasher.hash_one((node.kind, &node.members[..]));
            if let Ok(found) = self.ids.find_entry(hash, |&other| other == id) {
                found.remove();
            }
            self.graph.unanchor(id);
            self.splice(id, &mut shortened);
            while let Some(last) = self.graph.node(id).children.len().checked_sub(1) {
                self.graph.unlink(id, last);
            }
            let members = std::mem::take(&mut self.graph.node_mut(id).members);
            for &member in &members {
                let uses = &mut self.graph.node_mut(member).uses;
                *uses -= 1;
                if *uses == 0 {
                    nodes.push(member);
                }
            }
            self.graph.free(id);
        }
        self.lower(shortened);
    }

    /// Replaces a node by its children in all its parents.
    fn splice(&mut self, id: NodeId, shortened: &mut Vec<NodeId>) {
        let children: Vec<NodeId> = self.graph.node(id).children.iter().map(|link| link.node).collect();
        while let Some(&link) = self.graph.node(id).parents.last() {
            let parent = link.node;
            self.graph.unlink(parent, link.place as usize);
            self.marks.begin(self.graph.nodes.len());
            for link in &self.graph.node(parent).children {
                self.marks.insert(link.node as usize);
            }
            let lacking: Vec<NodeId> =
                children.iter().copied().filter(|&child| !self.marks.contains(child as usize)).collect();
            self.connect(parent, lacking);
            shortened.push(parent);
        }
    }
}
