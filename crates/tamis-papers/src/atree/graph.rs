//! Which nodes are there, and how are they connected?
//!
//! Nodes are numbered. An edge is stored at both ends, each with the position of the other, so
//! adding, removing or reordering an edge takes constant time, however many parents a node has. The
//! parents to notify when a node is true (its *triggers*) come first in its list: all parents
//! except `and`s that wait for another child (Ji & Jacobsen 2021, section 5.2.2).

use super::frequency::Frequency;
use crate::predicates::PredicateId;
use tamis::event::AttributeId;
use tamis::matcher::Slot;

/// The number of a node.
pub(super) type NodeId = u32;

/// A missing position.
pub(super) const NOWHERE: u32 = u32::MAX;

/// The meaning of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum NodeKind {
    /// Unused: the number is free.
    Free,
    /// A signed predicate.
    Leaf {
        predicate: PredicateId,
        negated: bool,
        wake: Wake,
    },
    And,
    Or,
}

/// How a match learns that a leaf may be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Wake {
    /// The predicate index reports it.
    Satisfied,
    /// Its attribute has a value, and the predicate does not hold: a negated predicate.
    Value,
    /// It may be true without the attribute: `is null`, `missing`, and negated predicates if a
    /// missing attribute counts as false.
    Absence,
}

/// The end of an edge at the child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Link {
    pub node: NodeId,
    /// The position of the edge among the parent's children.
    pub place: u32,
    /// A predicate that the parent needs to be true, tested first to avoid examining most parents
    /// in vain; [`NOWHERE`] if there is none. Maintained for the access child of an `and`.
    pub guard: PredicateId,
}

/// The end of an edge at the parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Child {
    pub node: NodeId,
    /// The position of the edge among the child's parents.
    pub place: u32,
    pub ask: Ask,
}

/// How to get the truth of a child without reading its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// The truth of an operator is recorded when it is visited.
    Operator,
    /// A predicate is true if it holds.
    Holds(PredicateId),
    /// A leaf that is not reported; evaluate it.
    Lazy,
}

/// A predicate or subexpression. The fields that a match reads come first, in one cache line.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct ATreeNode {
    pub kind: NodeKind,
    /// 1 for a leaf, otherwise one more than the highest child.
    pub level: u32,
    /// The number of `parents`, from the first on, to notify when this node is true.
    pub triggers: u32,
    pub parents: Vec<Link>,
    /// The nodes it is evaluated from. With propagation on demand, the first child of an `and` is
    /// its access child.
    pub children: Vec<Child>,
    /// The expressions that this node represents.
    pub slots: Vec<Slot>,
    /// The members, ascending, none with the same operator; they may differ from `children`.
    /// Together with the operator they are the identity of the node.
    pub members: Box<[NodeId]>,
    /// How many expressions and members of other nodes refer to it.
    pub uses: u32,
    /// For a leaf: its attribute.
    pub attribute: AttributeId,
    /// One bit per member, by its number, which tells most sets apart quickly.
    pub signature: u64,
    /// The member under which the node is registered for subset searches, and its position there.
    pub anchor: (NodeId, u32),
    /// The nodes registered here for subset searches, with their signatures.
    pub anchored: Vec<(u64, NodeId)>,
    /// For a leaf: its position in the list for its `Wake`.
    pub listed: u32,
    /// How often the node is true; not used for leaves.
    pub frequency: Frequency,
}

impl ATreeNode {
    pub fn new(kind: NodeKind, members: Box<[NodeId]>, frequency: Frequency) -> ATreeNode {
        ATreeNode {
            kind,
            level: 1,
            triggers: 0,
            uses: 0,
            parents: Vec::new(),
            children: Vec::new(),
            signature: signature(&members),
            members,
            attribute: NOWHERE,
            slots: Vec::new(),
            anchor: (NOWHERE, NOWHERE),
            anchored: Vec::new(),
            listed: NOWHERE,
            frequency,
        }
    }

    /// How parents get the node's truth.
    pub fn ask(&self) -> Ask {
        match self.kind {
            NodeKind::Leaf { wake: Wake::Satisfied, predicate, .. } => Ask::Holds(predicate),
            NodeKind::Leaf { .. } => Ask::Lazy,
            _ => Ask::Operator,
        }
    }

    /// Whether anything must be notified when the node is true.
    pub fn is_awaited(&self) -> bool {
        self.triggers > 0 || !self.slots.is_empty()
    }
}

/// One bit per node.
pub(super) fn signature(nodes: &[NodeId]) -> u64 {
    // Multiplication spreads neighbouring numbers over the top six bits.
    nodes.iter().fold(0, |bits, node| bits | 1 << (node.wrapping_mul(0x9E37_79B9) >> 26))
}

/// The nodes and their edges.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub nodes: Vec<ATreeNode>,
    pub free: Vec<NodeId>,
    /// By predicate, as bits: whether its leaf must notify anything. Most true predicates are not
    /// access children, and their leaves need not be examined.
    pub awaited: Vec<u64>,
    /// By attribute: the leaves to examine when it has a value.
    pub by_value: Vec<Vec<NodeId>>,
    /// By attribute: all leaves, for matches that also propagate `false`.
    pub by_attribute: Vec<Vec<NodeId>>,
    /// The leaves to examine on every event.
    pub by_absence: Vec<NodeId>,
}

impl Graph {
    pub fn allocate(&mut self, node: ATreeNode) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id as usize] = node;
            return id;
        }
        self.nodes.push(node);
        self.nodes.len() as NodeId - 1
    }

    /// Frees the number of a node without edges.
    pub fn free(&mut self, id: NodeId) {
        self.nodes[id as usize] = ATreeNode::new(NodeKind::Free, Box::default(), Frequency::default());
        self.free.push(id);
    }

    pub fn node(&self, id: NodeId) -> &ATreeNode {
        &self.nodes[id as usize]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut ATreeNode {
        &mut self.nodes[id as usize]
    }

    /// A child of a node.
    pub fn child(&self, parent: NodeId, place: usize) -> NodeId {
        self.node(parent).children[place].node
    }

    /// Whether the child at a position notifies its parent.
    pub fn tells(&self, parent: NodeId, place: usize) -> bool {
        let child = self.node(parent).children[place];
        child.place < self.node(child.node).triggers
    }

    /// Appends a child.
    pub fn link(&mut self, parent: NodeId, child: NodeId, tells: bool) {
        let place = self.node(parent).children.len() as u32;
        let back = self.node(child).parents.len() as u32;
        let ask = self.node(child).ask();
        self.node_mut(parent).children.push(Child { node: child, place: back, ask });
        self.node_mut(child).parents.push(Link { node: parent, place, guard: NOWHERE });
        if tells {
            self.set_tells(parent, place as usize, true);
        }
    }

    /// Removes the child at a position. The last child takes its position.
    pub fn unlink(&mut self, parent: NodeId, place: usize) {
        self.set_tells(parent, place, false);
        let Child { node: child, place: back, .. } = self.node(parent).children[place];
        let last = self.node(child).parents.len() - 1;
        self.swap_parents(child, back as usize, last);
        self.node_mut(child).parents.pop();
        self.node_mut(parent).children.swap_remove(place);
        if let Some(&moved) = self.node(parent).children.get(place) {
            self.node_mut(moved.node).parents[moved.place as usize].place = place as u32;
        }
    }

    /// Sets whether the child at a position notifies its parent.
    pub fn set_tells(&mut self, parent: NodeId, place: usize, tells: bool) {
        let Child { node: child, place: back, .. } = self.node(parent).children[place];
        let triggers = self.node(child).triggers;
        if (back < triggers) == tells {
            return;
        }
        if tells {
            self.swap_parents(child, back as usize, triggers as usize);
            self.node_mut(child).triggers += 1;
        } else {
            self.swap_parents(child, back as usize, triggers as usize - 1);
            self.node_mut(child).triggers -= 1;
        }
        self.list(child);
    }

    fn swap_parents(&mut self, child: NodeId, a: usize, b: usize) {
        self.node_mut(child).parents.swap(a, b);
        for place in [a, b] {
            let link = self.node(child).parents[place];
            self.node_mut(link.node).children[link.place as usize].place = place as u32;
        }
    }

    pub fn swap_children(&mut self, parent: NodeId, a: usize, b: usize) {
        self.node_mut(parent).children.swap(a, b);
        for place in [a, b] {
            let link = self.node(parent).children[place];
            self.node_mut(link.node).parents[link.place as usize].place = place as u32;
        }
    }

    /// Makes the child at a position the access child: the first, and the only one that notifies.
    pub fn pick(&mut self, parent: NodeId, place: usize) {
        if place > 0 {
            self.set_tells(parent, 0, false);
            self.swap_children(parent, 0, place);
        }
        self.set_tells(parent, 0, true);
    }

    /// Stores at the access child another predicate that its parent needs.
    pub fn guard(&mut self, parent: NodeId) {
        let [access, others @ ..] = &self.node(parent).children[..] else { return };
        let guard = others.iter().find_map(|child| match child.ask {
            Ask::Holds(predicate) => Some(predicate),
            _ => None,
        });
        let (child, place) = (access.node, access.place);
        self.node_mut(child).parents[place as usize].guard = guard.unwrap_or(NOWHERE);
    }

    /// Lists a leaf for matches only if it must notify something.
    pub fn list(&mut self, id: NodeId) {
        let node = &self.nodes[id as usize];
        let NodeKind::Leaf { wake, predicate, .. } = node.kind else { return };
        let wanted = node.is_awaited();
        let list = match wake {
            Wake::Satisfied => {
                let (word, bit) = (predicate as usize / 64, 1 << (predicate % 64));
                if self.awaited.len() <= word {
                    self.awaited.resize(word + 1, 0);
                }
                let word = &mut self.awaited[word];
                *word = if wanted { *word | bit } else { *word & !bit };
                return;
            }
            Wake::Absence => &mut self.by_absence,
            Wake::Value => {
                let attribute = node.attribute as usize;
                if self.by_value.len() <= attribute {
                    self.by_value.resize_with(attribute + 1, Vec::new);
                }
                &mut self.by_value[attribute]
            }
        };
        let place = node.listed;
        if wanted && place == NOWHERE {
            self.nodes[id as usize].listed = list.len() as u32;
            list.push(id);
        } else if !wanted && place != NOWHERE {
            list.swap_remove(place as usize);
            if let Some(&moved) = list.get(place as usize) {
                self.nodes[moved as usize].listed = place;
            }
            self.nodes[id as usize].listed = NOWHERE;
        }
    }

    /// Whether the leaf of a predicate must notify something.
    pub fn is_awaited(&self, predicate: PredicateId) -> bool {
        self.awaited.get(predicate as usize / 64).is_some_and(|word| word & 1 << (predicate % 64) != 0)
    }

    /// Registers a node for subset searches, at the member with the fewest such nodes.
    pub fn anchor(&mut self, id: NodeId) {
        let node = self.node(id);
        let signature = node.signature;
        let Some(&member) = node.members.iter().min_by_key(|&&member| self.node(member).anchored.len())
        else {
            return;
        };
        let anchored = &mut self.node_mut(member).anchored;
        anchored.push((signature, id));
        let place = anchored.len() as u32 - 1;
        self.node_mut(id).anchor = (member, place);
    }

    pub fn unanchor(&mut self, id: NodeId) {
        let (member, place) = self.node(id).anchor;
        let anchored = &mut self.node_mut(member).anchored;
        anchored.swap_remove(place as usize);
        if let Some(&(_, moved)) = anchored.get(place as usize) {
            self.node_mut(moved).anchor.1 = place;
        }
    }
}
