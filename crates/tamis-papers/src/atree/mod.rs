//! The A-Tree: a graph of shared subexpressions that can change at any time.
//!
//! The A-Tree of Ji & Jacobsen (SIGMOD 2021) over normal forms, that is, with the zero suppression
//! filter of section 5.2.1 applied: every distinct predicate and subexpression is one node, and
//! only `true` is propagated upwards from the predicates that hold.
//!
//! | file | the question it answers |
//! |---|---|
//! | `graph` | which nodes are there, and how are they connected? |
//! | `change` | how is an expression added and removed? (Alg. 4, 5) |
//! | `organise` | from which nodes is a new node evaluated, and which from it? (Alg. 2, 3) |
//! | `access` | which child does an `and` wait for? (5.2.2) |
//! | `frequency` | how often is a node true? |
//! | `matching` | which expressions does an event satisfy? (Alg. 6) |
//! | `unfiltered` | how much work does the zero suppression filter save? (5.2.1) |
//! | `validate` | is the tree consistent? |
//!
//! Departures from the paper, besides those noted at the algorithms:
//! - Identity is the operator and the set of members, compared in full; the paper's arithmetic
//!   numbers can collide.
//! - A node has *members*, which define it, and *children*, from which it is evaluated. Use counts
//!   follow members only, so a node that is kept only as a convenient child is removed with its
//!   last user.
//! - Queues are kept for the levels that an event reaches, not for all levels.
//! - A negated predicate is not reported, but evaluated when an `and` needs it. It is examined
//!   separately only if something waits for it.

mod access;
mod change;
mod frequency;
mod graph;
mod matching;
mod organise;
mod unfiltered;
mod validate;

#[cfg(test)]
mod tests;

pub(crate) use matching::ATreeScratch;

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;

use hashbrown::HashTable;

use crate::predicates::PredicateIndex;
use crate::scratch::Working;
use frequency::Frequency;
use graph::{Graph, NodeId, NodeKind};
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::{Expression, NormalForm, normalise, resolve};
use tamis::matcher::extend::Stamped;
use tamis::matcher::{Matcher, Scratch, Slot};

/// Which optimisations are used; all of them by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ATreeOptions {
    /// Whether equal subexpressions of several expressions are one node (4.2.1). Otherwise
    /// expressions share only predicates, and are not evaluated from each other's nodes.
    pub share: bool,
    /// Whether operators with more than two members become chains of binary ones, for comparison; false by default.
    pub binary: bool,
    /// Whether only `true` is propagated (5.2.1). Otherwise every decided truth is propagated, and
    /// nothing is on demand.
    pub zero_suppression: bool,
    /// Whether new nodes are evaluated from existing ones that cover their members (Alg. 2).
    pub reorganise: bool,
    /// Whether existing nodes are evaluated from new ones that cover their children (Alg. 3).
    pub self_adjust: bool,
    /// Whether an `and` is examined only when its least likely child is true (5.2.2).
    pub propagation_on_demand: bool,
}

impl Default for ATreeOptions {
    fn default() -> Self {
        ATreeOptions {
            share: true,
            binary: false,
            zero_suppression: true,
            reorganise: true,
            self_adjust: true,
            propagation_on_demand: true,
        }
    }
}

/// Statistics of an [`ATree`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ATreeStats {
    /// Expressions, including duplicates.
    pub expressions: usize,
    /// Nodes, including leaves.
    pub nodes: usize,
    /// Edges between them.
    pub edges: usize,
    /// Distinct predicates. One that occurs with both signs has two leaves.
    pub predicates: usize,
    /// The highest level of a node; a leaf is at level 1.
    pub levels: u32,
    /// How often a node is used on average, by expressions and as a member of other nodes.
    pub sharing: f64,
}

/// Expressions that share subexpressions.
#[derive(Debug)]
pub struct ATree {
    missing: Missing,
    options: ATreeOptions,
    predicates: PredicateIndex,
    graph: Graph,
    hasher: ahash::RandomState,
    /// The nodes of `and` and `or` by operator and members.
    ids: HashTable<NodeId>,
    /// By predicate: the leaves for it and for its negation.
    leaves: Vec<[Option<NodeId>; 2]>,
    places: HashMap<Slot, SlotPlace, ahash::RandomState>,
    /// Expressions that are always true.
    always: Vec<Slot>,
    marks: Stamped,
    /// The number of events counted.
    events: AtomicU32,
    /// By predicate: how often it holds.
    holding: Vec<Frequency>,
    /// By attribute: how often it has a value.
    presence: Vec<Frequency>,
    /// The node whose access child is examined next.
    cursor: usize,
}

/// The position of a slot's expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SlotPlace {
    /// Among the slots of a node.
    Node(NodeId, u32),
    /// Among the expressions that are always true.
    Always(u32),
    Never,
}

impl ATree {
    /// An empty tree.
    pub fn new(missing: Missing, options: ATreeOptions) -> ATree {
        ATree {
            missing,
            options: ATreeOptions {
                propagation_on_demand: options.propagation_on_demand && options.zero_suppression,
                ..options
            },
            predicates: PredicateIndex::default(),
            graph: Graph::default(),
            hasher: ahash::RandomState::default(),
            ids: HashTable::new(),
            leaves: Vec::new(),
            places: HashMap::default(),
            always: Vec::new(),
            marks: Stamped::default(),
            events: AtomicU32::new(0),
            holding: Vec::new(),
            presence: Vec::new(),
            cursor: 0,
        }
    }

    /// A tree of expressions whose slots are their positions.
    pub fn compile<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
        options: ATreeOptions,
    ) -> ATree {
        let mut atree = ATree::new(missing, options);
        for (slot, expression) in (0..).zip(expressions) {
            atree.insert(slot, &normalise(&resolve(expression, attributes.time_zone())), attributes);
        }
        atree
    }

    /// Adds an expression under a slot, replacing the previous one.
    pub fn insert(&mut self, slot: Slot, form: &NormalForm, attributes: &Attributes) {
        self.remove(slot);
        self.insert_new(slot, form, attributes);
        self.adapt_some();
    }

    /// Removes the expression of a slot. Returns whether there was one.
    pub fn remove(&mut self, slot: Slot) -> bool {
        let removed = self.remove_place(slot);
        if removed {
            self.adapt_some();
        }
        removed
    }

    /// The number of expressions.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are no expressions.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Statistics of the tree. Takes time linear in its size.
    pub fn stats(&self) -> ATreeStats {
        let live = || self.graph.nodes.iter().filter(|node| node.kind != NodeKind::Free);
        let nodes = live().count();
        let uses: usize = live().map(|node| node.uses as usize).sum();
        ATreeStats {
            expressions: self.places.len(),
            nodes,
            edges: live().map(|node| node.children.len()).sum(),
            predicates: self.predicates.len(),
            levels: live().map(|node| node.level).max().unwrap_or(0),
            sharing: if nodes == 0 { 0.0 } else { uses as f64 / nodes as f64 },
        }
    }
}

impl Matcher for ATree {
    fn name(&self) -> &'static str {
        "atree"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        match self.options.zero_suppression {
            true => self.find(event, &mut Working::of(scratch).atree, found),
            false => self.find_unfiltered(event, &mut Working::of(scratch).atree, found),
        }
    }

    fn bytes(&self) -> usize {
        // An estimate from the sizes of nodes, edges and predicates with their tables; operands of
        // predicates are not included.
        let stats = self.stats();
        160 * stats.nodes + 12 * stats.edges + 120 * stats.predicates
    }
}
