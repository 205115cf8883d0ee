//! Which nodes does a step reach?

use std::cell::Cell;

use crate::document::{Document, DocumentNode, Names, NodeIndex, NodeKind};
use crate::meter::{Meter, Metered};
use crate::xpath::{Axis, NodeTest};

/// A node test with its names looked up in a document.
#[derive(Debug, Clone, Copy)]
pub enum Resolved<'t> {
    /// A name that the document does not use.
    Nothing,
    Name(NodeKind, u32),
    Namespace(NodeKind, u32),
    Any(NodeKind),
    Node,
    Text,
    Comment,
    Instruction(Option<&'t str>),
}

impl<'t> Resolved<'t> {
    pub fn new(test: &'t NodeTest, axis: Axis, document: &Document) -> Self {
        let principal = if axis == Axis::Attribute { NodeKind::Attribute } else { NodeKind::Element };
        match test {
            NodeTest::Name { namespace, local } => match document.names().find(namespace, local) {
                Some(name) => Resolved::Name(principal, name),
                None => Resolved::Nothing,
            },
            NodeTest::Namespace(namespace) => match document.names().find_namespace(namespace) {
                Some(namespace) => Resolved::Namespace(principal, namespace),
                None => Resolved::Nothing,
            },
            NodeTest::Any => Resolved::Any(principal),
            NodeTest::Node => Resolved::Node,
            NodeTest::Text => Resolved::Text,
            NodeTest::Comment => Resolved::Comment,
            NodeTest::Instruction(target) => Resolved::Instruction(target.as_deref()),
        }
    }

    pub fn accepts(&self, node: &DocumentNode, names: &Names) -> bool {
        match *self {
            Resolved::Nothing => false,
            Resolved::Name(kind, name) => node.kind == kind && node.expanded == name,
            Resolved::Namespace(kind, namespace) => {
                node.kind == kind && names.name(node.name).namespace == namespace
            }
            Resolved::Any(kind) => node.kind == kind,
            Resolved::Node => true,
            Resolved::Text => node.kind == NodeKind::Text,
            Resolved::Comment => node.kind == NodeKind::Comment,
            Resolved::Instruction(target) => {
                let named = |target: &str| *names.name(node.name).qualified == *target;
                node.kind == NodeKind::Instruction && target.is_none_or(named)
            }
        }
    }
}

/// Marks on nodes that can be cleared all at once.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<u32>,
    current: u32,
}

impl Marks {
    fn start(&mut self, size: usize) {
        self.current = self.current.wrapping_add(1);
        if self.current == 0 {
            self.marks.clear();
            self.current = 1;
        }
        if self.marks.len() < size {
            self.marks.resize(size, 0);
        }
    }

    /// Marks a node. Returns whether it was unmarked.
    fn mark(&mut self, node: NodeIndex) -> bool {
        let mark = &mut self.marks[node as usize];
        let new = *mark != self.current;
        *mark = self.current;
        new
    }
}

/// The nodes reached from any node of `contexts`, in document order. Takes time linear in the
/// document.
pub fn from_set(
    document: &Document,
    axis: Axis,
    test: &Resolved<'_>,
    contexts: &[NodeIndex],
    marks: &mut Marks,
    meter: &mut Meter,
) -> Metered<Vec<NodeIndex>> {
    let nodes = document.nodes();
    let names = document.names();
    let mut found = Vec::new();
    let mut visited = contexts.len();
    if axis == Axis::Descendant
        && let Resolved::Name(NodeKind::Element, name) = *test
    {
        let mut covered = 0;
        for &context in contexts {
            let end = nodes[context as usize].end;
            found.extend(document.named(name, covered.max(context + 1)..end));
            covered = covered.max(end);
        }
        meter.spend(visited + found.len())?;
        return Ok(found);
    }
    let mut add = |index: NodeIndex| {
        visited += 1;
        if test.accepts(&nodes[index as usize], names) {
            found.push(index);
        }
    };
    match axis {
        Axis::Child => contexts.iter().for_each(|&context| document.children(context).for_each(&mut add)),
        Axis::Attribute => {
            for &context in contexts {
                document.attributes(context).for_each(&mut add);
            }
        }
        Axis::Itself => contexts.iter().copied().for_each(&mut add),
        Axis::Descendant | Axis::DescendantOrSelf => {
            let mut covered = 0;
            for &context in contexts {
                let node = &nodes[context as usize];
                let own = axis == Axis::DescendantOrSelf;
                if own && (node.kind == NodeKind::Attribute || context >= covered) {
                    add(context);
                }
                if context >= covered || context == 0 {
                    let inside = (context + 1..node.end)
                        .filter(|&index| nodes[index as usize].kind != NodeKind::Attribute);
                    if node.kind != NodeKind::Attribute {
                        inside.for_each(&mut add);
                    }
                    covered = node.end.max(covered);
                }
            }
        }
        Axis::Parent => {
            marks.start(nodes.len());
            for &context in contexts.iter().filter(|context| **context != 0) {
                let parent = nodes[context as usize].parent;
                if marks.mark(parent) {
                    add(parent);
                }
            }
        }
        Axis::Ancestor | Axis::AncestorOrSelf => {
            marks.start(nodes.len());
            for &context in contexts {
                let mut next = context;
                if axis == Axis::Ancestor {
                    if context == 0 {
                        continue;
                    }
                    next = nodes[context as usize].parent;
                }
                while marks.mark(next) {
                    add(next);
                    if next == 0 {
                        break;
                    }
                    next = nodes[next as usize].parent;
                }
            }
        }
        Axis::FollowingSibling => {
            // Contexts are in order, so the first child of a parent covers the others.
            marks.start(nodes.len());
            for &context in contexts.iter().filter(|context| has_siblings(document, **context)) {
                if marks.mark(nodes[context as usize].parent) {
                    following(document, context).for_each(&mut add);
                }
            }
        }
        Axis::PrecedingSibling => {
            marks.start(nodes.len());
            for &context in contexts.iter().rev().filter(|context| has_siblings(document, **context)) {
                let parent = nodes[context as usize].parent;
                if marks.mark(parent) {
                    document.children(parent).take_while(|&child| child < context).for_each(&mut add);
                }
            }
        }
        Axis::Following => {
            let first = contexts.iter().map(|&context| nodes[context as usize].end).min();
            content(nodes, first.unwrap_or(nodes.len() as NodeIndex)).for_each(&mut add);
        }
        Axis::Preceding => {
            // All nodes that end before the last context node starts. Its ancestors end later.
            let last = contexts.last().copied().unwrap_or(0);
            let ended = content(nodes, 0).take_while(|&index| index < last);
            ended.filter(|&index| nodes[index as usize].end <= last).for_each(&mut add);
        }
    }
    meter.spend(visited)?;
    if !found.is_sorted() {
        found.sort_unstable();
    }
    found.dedup();
    Ok(found)
}

/// The nodes from `first` on, without attributes.
fn content(nodes: &[DocumentNode], first: NodeIndex) -> impl DoubleEndedIterator<Item = NodeIndex> {
    (first..nodes.len() as NodeIndex).filter(|&index| nodes[index as usize].kind != NodeKind::Attribute)
}

/// The nodes reached from one node, in the order in which positions count, at most `most`.
pub fn from_node(
    document: &Document,
    axis: Axis,
    test: &Resolved<'_>,
    context: NodeIndex,
    most: usize,
    found: &mut Vec<NodeIndex>,
    meter: &mut Meter,
) -> Metered<()> {
    let nodes = document.nodes();
    let names = document.names();
    let visited = Cell::new(1);
    let accepted = |index: &NodeIndex| {
        visited.set(visited.get() + 1);
        test.accepts(&nodes[*index as usize], names)
    };
    let is_content = |index: &NodeIndex| {
        visited.set(visited.get() + 1);
        nodes[*index as usize].kind != NodeKind::Attribute
    };
    let node = &nodes[context as usize];
    match axis {
        Axis::Child => found.extend(document.children(context).filter(accepted).take(most)),
        Axis::Attribute => found.extend(document.attributes(context).filter(accepted).take(most)),
        Axis::Itself => found.extend(Some(context).filter(accepted)),
        Axis::Descendant | Axis::DescendantOrSelf => {
            let itself = (axis == Axis::DescendantOrSelf).then_some(context);
            let inside = (context + 1..node.end).filter(is_content);
            found.extend(itself.into_iter().chain(inside).filter(accepted).take(most));
        }
        Axis::Parent => found.extend((context != 0).then_some(node.parent).filter(accepted)),
        Axis::Ancestor | Axis::AncestorOrSelf => {
            let itself = (axis == Axis::AncestorOrSelf).then_some(context);
            let up = |index: &NodeIndex| (*index != 0).then(|| nodes[*index as usize].parent);
            let above = std::iter::successors(up(&context), up);
            found.extend(itself.into_iter().chain(above).filter(accepted).take(most));
        }
        Axis::FollowingSibling if has_siblings(document, context) => {
            found.extend(following(document, context).filter(accepted).take(most));
        }
        Axis::PrecedingSibling if has_siblings(document, context) => {
            let before =
                |index: &NodeIndex| Some(nodes[*index as usize].previous).filter(|previous| *previous != 0);
            found.extend(std::iter::successors(before(&context), before).filter(accepted).take(most));
        }
        Axis::FollowingSibling | Axis::PrecedingSibling => {}
        Axis::Following => {
            let after = (node.end..nodes.len() as NodeIndex).filter(is_content);
            found.extend(after.filter(accepted).take(most));
        }
        Axis::Preceding => {
            let before = (0..context).rev().filter(is_content);
            let ended = before.filter(|&index| nodes[index as usize].end <= context);
            found.extend(ended.filter(accepted).take(most));
        }
    }
    meter.spend(visited.get())
}

fn has_siblings(document: &Document, index: NodeIndex) -> bool {
    index != 0 && document.node(index).kind != NodeKind::Attribute
}

fn following(document: &Document, index: NodeIndex) -> impl Iterator<Item = NodeIndex> {
    let end = document.node(document.node(index).parent).end;
    let next = move |index: &NodeIndex| Some(document.node(*index).end).filter(|next| *next < end);
    std::iter::successors(next(&index), next)
}
