//! Which of many strings does a text start or end with?
//!
//! A radix trie: one walk along the text finds all of them, so the cost is that of reading the text
//! once, however many strings there are. Suffixes are prefixes of the reversed text.

use crate::predicates::PredicateId;

/// The end of a text at which the strings must occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Front,
    Back,
}

impl End {
    /// The byte at a distance from this end.
    fn byte(self, text: &[u8], distance: usize) -> Option<u8> {
        match self {
            End::Front => text.get(distance).copied(),
            End::Back => text.len().checked_sub(distance + 1).map(|position| text[position]),
        }
    }
}

/// A changing set of strings, each with its predicate.
#[derive(Debug)]
pub(super) struct Trie {
    end: End,
    /// The root first; it has no label.
    nodes: Vec<TrieNode>,
    free: Vec<u32>,
}

#[derive(Debug, Default)]
struct TrieNode {
    /// The bytes from the parent to this node, in walk order.
    label: Vec<u8>,
    predicate: Option<PredicateId>,
    /// Sorted by the first byte of their labels.
    children: Vec<(u8, u32)>,
}

const ROOT: u32 = 0;

impl Trie {
    pub fn new(end: End) -> Trie {
        Trie { end, nodes: vec![TrieNode::default()], free: Vec::new() }
    }

    pub fn insert(&mut self, string: &str, predicate: PredicateId) {
        let text = string.as_bytes();
        let (mut node, mut distance) = (ROOT, 0);
        while let Some(byte) = self.end.byte(text, distance) {
            let place = self.place(node, byte);
            let child = match place {
                Ok(place) => self.nodes[node as usize].children[place].1,
                Err(place) => {
                    let label = (distance..text.len()).filter_map(|at| self.end.byte(text, at)).collect();
                    let child = self.allocate(TrieNode { label, ..TrieNode::default() });
                    self.nodes[node as usize].children.insert(place, (byte, child));
                    node = child;
                    break;
                }
            };
            let common = self.common(child, text, distance);
            if common < self.nodes[child as usize].label.len() {
                self.split(child, common);
            }
            (node, distance) = (child, distance + common);
        }
        self.nodes[node as usize].predicate = Some(predicate);
    }

    pub fn remove(&mut self, string: &str) {
        let text = string.as_bytes();
        let (mut parent, mut node, mut distance) = (ROOT, ROOT, 0);
        while let Some(byte) = self.end.byte(text, distance) {
            let Ok(place) = self.place(node, byte) else { return };
            let child = self.nodes[node as usize].children[place].1;
            distance += self.nodes[child as usize].label.len();
            (parent, node) = (node, child);
        }
        self.nodes[node as usize].predicate = None;
        if node != ROOT && self.nodes[node as usize].children.is_empty() {
            let first = self.nodes[node as usize].label[0];
            if let Ok(place) = self.place(parent, first) {
                self.nodes[parent as usize].children.remove(place);
            }
            self.nodes[node as usize] = TrieNode::default();
            self.free.push(node);
            node = parent;
        }
        self.absorb(node);
    }

    /// Reports the predicates of the strings at the end of `text`.
    pub fn find(&self, text: &str, mut report: impl FnMut(PredicateId)) {
        let text = text.as_bytes();
        let (mut node, mut distance) = (ROOT, 0);
        loop {
            self.nodes[node as usize].predicate.into_iter().for_each(&mut report);
            let Some(byte) = self.end.byte(text, distance) else { return };
            let Ok(place) = self.place(node, byte) else { return };
            let child = self.nodes[node as usize].children[place].1;
            let length = self.nodes[child as usize].label.len();
            if self.common(child, text, distance) < length {
                return;
            }
            (node, distance) = (child, distance + length);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.nodes[ROOT as usize].predicate.is_none() && self.nodes[ROOT as usize].children.is_empty()
    }

    fn place(&self, node: u32, byte: u8) -> Result<usize, usize> {
        self.nodes[node as usize].children.binary_search_by_key(&byte, |&(first, _)| first)
    }

    /// The number of bytes of the node's label that agree with the text from `distance` on.
    fn common(&self, node: u32, text: &[u8], distance: usize) -> usize {
        let label = self.nodes[node as usize].label.iter().enumerate();
        label.take_while(|(at, byte)| self.end.byte(text, distance + at) == Some(**byte)).count()
    }

    fn allocate(&mut self, node: TrieNode) -> u32 {
        match self.free.pop() {
            Some(free) => {
                self.nodes[free as usize] = node;
                free
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// Splits the label of a node: the node keeps the first part, a new child gets the rest.
    fn split(&mut self, node: u32, length: usize) {
        let rest = {
            let node = &mut self.nodes[node as usize];
            let label = node.label.split_off(length);
            TrieNode { label, predicate: node.predicate.take(), children: std::mem::take(&mut node.children) }
        };
        let first = rest.label[0];
        let child = self.allocate(rest);
        self.nodes[node as usize].children = vec![(first, child)];
    }

    /// Merges a node without predicate and with one child with that child.
    fn absorb(&mut self, node: u32) {
        let passes = |node: &TrieNode| node.predicate.is_none() && node.children.len() == 1;
        if node == ROOT || !passes(&self.nodes[node as usize]) {
            return;
        }
        let child = self.nodes[node as usize].children[0].1;
        let TrieNode { label, predicate, children } = std::mem::take(&mut self.nodes[child as usize]);
        self.free.push(child);
        let node = &mut self.nodes[node as usize];
        node.label.extend_from_slice(&label);
        (node.predicate, node.children) = (predicate, children);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn equals_a_map(changes in vec(("[abü]{0,5}", any::<bool>()), 0..60), texts in vec("[abü]{0,6}", 1..8)) {
            for end in [End::Front, End::Back] {
                let mut trie = Trie::new(end);
                let mut model = BTreeMap::new();
                for (predicate, (string, adds)) in (0..).zip(&changes) {
                    if *adds {
                        trie.insert(string, predicate);
                        model.insert(string, predicate);
                    } else if model.remove(string).is_some() {
                        trie.remove(string);
                    }
                }
                for text in &texts {
                    let mut found = Vec::new();
                    trie.find(text, |predicate| found.push(predicate));
                    found.sort_unstable();
                    let mut expected: Vec<_> = model.iter()
                        .filter(|(string, _)| match end {
                            End::Front => text.starts_with(string.as_str()),
                            End::Back => text.ends_with(string.as_str()),
                        })
                        .map(|(_, &predicate)| predicate)
                        .collect();
                    expected.sort_unstable();
                    prop_assert_eq!(found, expected);
                }
                for string in model.keys() {
                    trie.remove(string);
                }
                prop_assert!(trie.is_empty());
                prop_assert_eq!(trie.nodes.len(), trie.free.len() + 1);
            }
        }
    }
}
