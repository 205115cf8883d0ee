//! Assigning intervals to the leaves of a tree.
//!
//! LABEL of Fontoura et al. 2010 (section 4.2, Alg. 4); `size` is the number of leaves below a
//! node. The children of an `or` have its interval and those of an `and` divide it. No two children
//! that are not first start at the same position. One departure: the only child of an `and` is both
//! its first and its last, and gets the whole interval; as printed, it would end too early.

use crate::forest::{Source, TreeNode, sizes};

/// From its first position to its last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label {
    pub begin: u32,
    pub end: u32,
}

/// A node whose children are being labelled.
struct IntervalFrame {
    and: bool,
    label: Label,
    /// The number of leaves before it.
    left: u32,
    children: u32,
    seen: u32,
    next: u32,
}

impl IntervalFrame {
    /// The interval of the next child, which has this many leaves.
    fn divide(&mut self, size: u32) -> Label {
        self.seen += 1;
        if !self.and {
            return self.label;
        }
        let begin = if self.seen == 1 { self.label.begin } else { self.next };
        let end = match (self.seen == self.children, self.seen == 1) {
            (true, _) => self.label.end,
            (false, true) => self.left + size,
            (false, false) => begin + size - 1,
        };
        self.next = end.saturating_add(1);
        Label { begin, end }
    }
}

/// Labels the leaves of a tree with parts of the interval from 1 to `last`, which must be at least
/// the number of leaves.
pub(super) fn label(nodes: &[TreeNode], last: u32, mut found: impl FnMut(Source, Label)) {
    let sizes = sizes(nodes);
    let mut open: Vec<IntervalFrame> = Vec::new();
    let mut left = 0;
    for (node, &size) in nodes.iter().zip(&sizes) {
        while open.pop_if(|above| above.seen == above.children).is_some() {}
        let label = open.last_mut().map_or(Label { begin: 1, end: last }, |above| above.divide(size));
        match *node {
            TreeNode::Leaf(source) => {
                left += 1;
                found(source, label);
            }
            TreeNode::And(children) | TreeNode::Or(children) => {
                let and = matches!(node, TreeNode::And(_));
                open.push(IntervalFrame { and, label, left, children, seen: 0, next: 0 });
            }
        }
    }
}
