//! Which nodes does a filter select?
//!
//! Computed only for filters that match. Paths use the document's own prefixes, and a position if
//! siblings have the same name.

use std::collections::HashMap;
use std::sync::Arc;

use super::document::{Document, NodeIndex, NodeKind};
use super::evaluate::Explainer;
use super::filter::Filter;
use super::input::Input;
use super::meter::{Meter, Metered};
use super::snapshot::{FilterSnapshot, FilterSubscription};
use super::xpath::{Type, XPath};
use crate::deadline::Deadline;
use crate::error::Result;

/// A filter that a document satisfies, and the nodes that it selects.
#[derive(Debug, Clone)]
pub struct Selected {
    /// The filter.
    pub subscription: Arc<FilterSubscription>,
    /// The nodes in document order; empty if the expression is not a node-set.
    pub nodes: Vec<SelectedNode>,
}

/// A node that a filter selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedNode {
    /// Its location, as an XPath expression with the document's own prefixes.
    pub path: String,
    /// The line on which it starts, from 1. For an attribute, the line of its element.
    pub line: usize,
    /// Its string value.
    pub text: String,
}

impl Filter {
    /// The subscriptions of a snapshot of this filter that a document satisfies, in insertion order, each
    /// with the nodes that it selects.
    pub fn select(
        &self,
        snapshot: &FilterSnapshot,
        input: Input<'_>,
        deadline: Option<Deadline>,
    ) -> Result<Vec<Selected>> {
        let mut document = Document::default();
        document.record_lines();
        input.read(&mut document, self.limits())?;
        let mut matched = Vec::new();
        let mut scratch = self.take_scratch();
        std::mem::swap(&mut scratch.document, &mut document);
        let found = |subscription: &Arc<FilterSubscription>| matched.push(Arc::clone(subscription));
        let result = snapshot.matches(&mut scratch, self.limits(), deadline, found);
        std::mem::swap(&mut scratch.document, &mut document);
        self.give_scratch(scratch);
        result?;
        let mut meter = Meter::new(self.limits(), deadline);
        let places = Places::new(&document);
        let mut selected = Vec::with_capacity(matched.len());
        for subscription in matched {
            let nodes = select(subscription.xpath(), &document, &places, &mut meter);
            let nodes = nodes.map_err(|exhausted| subscription.failed(meter.error(exhausted)))?;
            selected.push(Selected { subscription, nodes });
        }
        Ok(selected)
    }
}

fn select(
    xpath: &XPath,
    document: &Document,
    places: &Places,
    meter: &mut Meter,
) -> Metered<Vec<SelectedNode>> {
    if xpath.node(xpath.root()).result != Type::Nodes {
        return Ok(Vec::new());
    }
    let nodes = Explainer::new(xpath, document, meter).nodes(xpath.root())?;
    let mut selected = Vec::with_capacity(nodes.len());
    for node in nodes {
        let path = places.path(document, node, meter)?;
        let text = document.string(node);
        // The selected nodes of all filters are kept until the end.
        meter.spend(8 * (path.len() + text.len()))?;
        meter.hold(path.len() + text.len())?;
        selected.push(SelectedNode { path, line: document.line(node), text: text.to_owned() });
    }
    Ok(selected)
}

/// For every node, its position among the siblings that the same path step selects, and their
/// number.
struct Places {
    positions: Vec<u32>,
    counts: HashMap<(NodeIndex, u8, u32), u32, ahash::RandomState>,
}

impl Places {
    fn new(document: &Document) -> Places {
        let mut places = Places { positions: Vec::new(), counts: HashMap::default() };
        for index in 0..document.nodes().len() as NodeIndex {
            let count = places.counts.entry(key(document, index)).or_default();
            *count += 1;
            places.positions.push(*count);
        }
        places
    }

    fn path(&self, document: &Document, node: NodeIndex, meter: &mut Meter) -> Metered<String> {
        let mut chain = Vec::new();
        let mut next = node;
        while next != 0 {
            chain.push(next);
            next = document.node(next).parent;
        }
        meter.spend(1 + chain.len())?;
        let mut path = String::new();
        for &index in chain.iter().rev() {
            let node = document.node(index);
            let name = || &*document.names().name(node.name).qualified;
            path.push('/');
            match node.kind {
                NodeKind::Element => path.push_str(name()),
                NodeKind::Attribute => {
                    path.push('@');
                    path.push_str(name());
                    continue;
                }
                NodeKind::Text => path.push_str("text()"),
                NodeKind::Comment => path.push_str("comment()"),
                NodeKind::Instruction => {
                    path.push_str("processing-instruction('");
                    path.push_str(name());
                    path.push_str("')");
                }
                NodeKind::Document => {}
            }
            if self.counts.get(&key(document, index)).is_some_and(|count| *count > 1) {
                path.push_str(&format!("[{}]", self.positions[index as usize]));
            }
        }
        if path.is_empty() {
            path.push('/');
        }
        Ok(path)
    }
}

/// The key that is equal for siblings that a path step cannot tell apart.
fn key(document: &Document, index: NodeIndex) -> (NodeIndex, u8, u32) {
    let node = document.node(index);
    (node.parent, node.kind as u8, node.expanded)
}
