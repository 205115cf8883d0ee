//! Is the tree consistent?

use std::collections::{HashMap, HashSet};

use super::graph::{ATreeNode, Ask, NOWHERE, NodeId, NodeKind, Wake, signature};
use super::{ATree, SlotPlace};

type Checked = Result<(), String>;

fn ensure(holds: bool, what: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(what()) }
}

impl ATree {
    /// Checks every invariant of the tree, for tests. The error names the broken one. Takes time
    /// linear in the size of the tree.
    pub fn validate(&self) -> Result<(), String> {
        let mut uses = vec![0u32; self.graph.nodes.len()];
        let mut identities = HashSet::new();
        let mut operators = 0;
        for (id, node) in self.live() {
            uses[id as usize] += node.slots.len() as u32;
            for &member in &node.members {
                uses[member as usize] += 1;
            }
            self.check_edges(id, node)?;
            match node.kind {
                NodeKind::Leaf { .. } => self.check_leaf(id, node)?,
                _ => {
                    self.check_operator(id, node)?;
                    operators += 1;
                    let new = identities.insert((node.kind, &node.members));
                    ensure(new || !self.options.share, || format!("node {id} is there twice"))?;
                }
            }
        }
        for (id, node) in self.live() {
            let counted = uses[id as usize];
            ensure(node.uses == counted, || format!("node {id} has {counted} uses, not {}", node.uses))?;
            ensure(counted > 0, || format!("node {id} is used by nothing"))?;
        }
        ensure(self.ids.len() == operators, || "the table of nodes has extra entries".into())?;
        self.check_lists()?;
        self.check_slots()
    }

    fn live(&self) -> impl Iterator<Item = (NodeId, &ATreeNode)> {
        (0..).zip(&self.graph.nodes).filter(|(_, node)| node.kind != NodeKind::Free)
    }

    fn check_edges(&self, id: NodeId, node: &ATreeNode) -> Checked {
        for (place, link) in node.children.iter().enumerate() {
            let there = self.graph.node(link.node).parents.get(link.place as usize);
            ensure(there.is_some_and(|there| (there.node, there.place) == (id, place as u32)), || {
                format!("child {place} of node {id} has no edge back")
            })?;
            let ask = self.graph.node(link.node).ask();
            ensure(link.ask == ask, || format!("node {id} has the wrong `ask` for child {place}"))?;
            let guard = self.graph.node(link.node).parents[link.place as usize].guard;
            let needed = || node.children[1..].iter().any(|child| child.ask == Ask::Holds(guard));
            ensure(guard == NOWHERE || !self.graph.tells(id, place) || (self.waits(id) && needed()), || {
                format!("node {id} has a guard that it does not need")
            })?;
            let tells = !self.waits(id) || place == 0;
            ensure(self.graph.tells(id, place) == tells, || {
                format!("child {place} of node {id} tells it, or does not")
            })?;
        }
        for (place, link) in node.parents.iter().enumerate() {
            let there = self.graph.node(link.node).children.get(link.place as usize);
            ensure(there.is_some_and(|there| (there.node, there.place) == (id, place as u32)), || {
                format!("parent {place} of node {id} has no edge back")
            })?;
        }
        let highest = node.children.iter().map(|link| self.graph.node(link.node).level).max();
        ensure(node.level == highest.unwrap_or(0) + 1, || {
            format!("node {id} is on level {} above {highest:?}", node.level)
        })
    }

    fn check_leaf(&self, id: NodeId, node: &ATreeNode) -> Checked {
        let NodeKind::Leaf { predicate, negated, wake } = node.kind else { return Ok(()) };
        ensure(node.children.is_empty() && node.members.is_empty(), || format!("leaf {id} has members"))?;
        ensure(self.leaves[predicate as usize][usize::from(negated)] == Some(id), || {
            format!("leaf {id} is not that of its predicate")
        })?;
        let list = match wake {
            Wake::Satisfied => None,
            Wake::Absence => Some(&self.graph.by_absence),
            Wake::Value => self.graph.by_value.get(node.attribute as usize),
        };
        ensure(wake != Wake::Satisfied || self.graph.is_awaited(predicate) == node.is_awaited(), || {
            format!("leaf {id} has a wrong `awaited` bit")
        })?;
        let wanted = wake != Wake::Satisfied && node.is_awaited();
        ensure(wanted == (node.listed != NOWHERE), || format!("leaf {id} is wrongly listed or not listed"))?;
        ensure(!wanted || list.and_then(|list| list.get(node.listed as usize)) == Some(&id), || {
            format!("leaf {id} is listed elsewhere")
        })
    }

    fn check_operator(&self, id: NodeId, node: &ATreeNode) -> Checked {
        ensure(node.members.len() > 1 && node.children.len() > 1, || format!("node {id} has one member"))?;
        ensure(node.members.is_sorted_by(|a, b| a < b), || {
            format!("the members of node {id} are not a set")
        })?;
        ensure(node.signature == signature(&node.members), || format!("node {id} has a wrong signature"))?;
        let hash = self.hasher.hash_one((node.kind, &node.members[..]));
        ensure(self.ids.find(hash, |&other| other == id).is_some(), || {
            format!("node {id} is not in the table")
        })?;
        let (anchor, place) = node.anchor;
        let anchored = &self.graph.node(anchor).anchored;
        ensure(
            node.members.binary_search(&anchor).is_ok()
                && anchored.get(place as usize) == Some(&(node.signature, id)),
            || format!("node {id} is not found as a subset"),
        )?;
        for &member in &node.members {
            let kind = self.graph.node(member).kind;
            let nested = kind == node.kind && !self.options.binary;
            ensure(!nested && kind != NodeKind::Free, || format!("node {id} has the member {member}"))?;
        }
        let children: HashSet<NodeId> = node.children.iter().map(|link| link.node).collect();
        ensure(children.len() == node.children.len(), || format!("node {id} has a child twice"))?;
        let mut covered: Vec<NodeId> = Vec::new();
        for &child in &children {
            let child_node = self.graph.node(child);
            match child_node.kind == node.kind && !self.options.binary {
                true => covered.extend_from_slice(&child_node.members),
                false => covered.push(child),
            }
        }
        covered.sort_unstable();
        covered.dedup();
        ensure(*covered == *node.members, || format!("the children of node {id} are not its members"))
    }

    fn check_lists(&self) -> Checked {
        let mut predicates = HashSet::new();
        for (predicate, leaves) in self.leaves.iter().enumerate() {
            for (negated, leaf) in leaves.iter().enumerate() {
                let Some(leaf) = *leaf else { continue };
                predicates.insert(predicate);
                let right = matches!(self.graph.node(leaf).kind, NodeKind::Leaf { predicate: p, negated: n, .. }
                    if p as usize == predicate && usize::from(n) == negated);
                ensure(right, || format!("predicate {predicate} has the leaf {leaf}"))?;
            }
        }
        ensure(predicates.len() == self.predicates.len(), || "predicates without a leaf".into())?;
        let listed = self.graph.by_value.iter().flatten().chain(&self.graph.by_absence).count();
        let wanted = self.live().filter(|(_, node)| node.listed != NOWHERE).count();
        ensure(listed == wanted, || format!("{listed} leaves are listed, {wanted} say so"))?;
        let anchored: usize = self.live().map(|(_, node)| node.anchored.len()).sum();
        ensure(anchored == self.ids.len(), || "nodes are found as subsets that are not there".into())?;
        let awaited: u32 = self.graph.awaited.iter().map(|word| word.count_ones()).sum();
        let wanted = self.live().filter(|(_, node)| matches!(node.ask(), Ask::Holds(_)) && node.is_awaited());
        ensure(awaited as usize == wanted.count(), || "a leaf is awaited that is not there".into())?;
        let free: HashSet<_> = self.graph.free.iter().collect();
        ensure(
            free.len() == self.graph.free.len()
                && free.len() + self.live().count() == self.graph.nodes.len()
                && free.iter().all(|&&id| self.graph.node(id).kind == NodeKind::Free),
            || "the list of free nodes is wrong".into(),
        )
    }

    fn check_slots(&self) -> Checked {
        let mut places = HashMap::new();
        for (id, node) in self.live() {
            for (place, &slot) in (0..).zip(&node.slots) {
                places.insert(slot, SlotPlace::Node(id, place));
            }
        }
        places.extend((0..).zip(&self.always).map(|(place, &slot)| (slot, SlotPlace::Always(place))));
        let attached: usize = self.live().map(|(_, node)| node.slots.len()).sum();
        ensure(places.len() == attached + self.always.len(), || "a slot has two expressions".into())?;
        let known = self.places.iter().filter(|(_, place)| **place != SlotPlace::Never);
        ensure(known.clone().count() == places.len(), || "slots are attached that are not known".into())?;
        for (slot, place) in known {
            ensure(places.get(slot) == Some(place), || format!("slot {slot} is not at {place:?}"))?;
        }
        Ok(())
    }
}
