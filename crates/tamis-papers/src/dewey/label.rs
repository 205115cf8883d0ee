//! Assigning Dewey IDs to the leaves of a tree.
//!
//! An ID consists of the edges on the path from the root, numbered from 1 (Fontoura et al. 2010,
//! section 3.1). The root is an `and`, and `and` and `or` alternate on the way down; if a tree does
//! not alternate, a node with one child is inserted. The last child of an `and` is marked. IDs have
//! any length, and every component takes as many bytes as it needs.

use crate::forest::{Source, TreeNode};

/// One edge of a Dewey ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Component {
    pub number: u32,
    /// Whether it leads to the last child of an `and`.
    pub last: bool,
}

/// A node whose children are being labelled.
struct DeweyFrame {
    and: bool,
    children: u32,
    seen: u32,
    /// The number of components of its own ID.
    depth: usize,
}

/// Labels the leaves of a tree, from left to right.
pub(super) fn label(nodes: &[TreeNode], mut found: impl FnMut(Source, &[Component])) {
    let only = |and: bool| Component { number: 1, last: and };
    let mut path: Vec<Component> = Vec::new();
    let mut open: Vec<DeweyFrame> = Vec::new();
    for node in nodes {
        while open.pop_if(|above| above.seen == above.children).is_some() {}
        // The operator above; the root of every tree is an `and`.
        let above = match open.last_mut() {
            Some(above) => {
                path.truncate(above.depth);
                above.seen += 1;
                let last = above.and && above.seen == above.children;
                path.push(Component { number: above.seen, last });
                Some(above.and)
            }
            None => None,
        };
        match *node {
            TreeNode::Leaf(source) => {
                if above.is_none() {
                    path.push(only(true));
                }
                found(source, &path);
            }
            TreeNode::And(children) | TreeNode::Or(children) => {
                let and = matches!(node, TreeNode::And(_));
                match above {
                    // If the tree is an `or`, the root has it as its only child.
                    None if !and => path.push(only(true)),
                    Some(above) if above == and => path.push(only(!and)),
                    _ => {}
                }
                open.push(DeweyFrame { and, children, seen: 0, depth: path.len() });
            }
        }
    }
}

/// Writes a component as a variable-length integer: seven bits per byte, lowest first, with the mark as
/// the lowest bit.
pub(super) fn write(component: Component, bytes: &mut Vec<u8>) {
    let mut rest = u64::from(component.number) << 1 | u64::from(component.last);
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Reads the component at a position, and moves the position past it.
pub(super) fn read(bytes: &[u8], position: &mut usize) -> Component {
    let (mut number, mut shift) = (0u64, 0);
    loop {
        let byte = bytes[*position];
        *position += 1;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return Component { number: (number >> 1) as u32, last: number & 1 == 1 };
        }
    }
}
