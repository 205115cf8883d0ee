//! Adding nodes to a document.

use super::{Document, DocumentNode, NodeIndex, NodeKind};

impl Document {
    pub(in crate::document) fn push(&mut self, kind: NodeKind, name: u32, value: (u32, u32)) -> NodeIndex {
        let index = self.nodes.len() as NodeIndex;
        let mut parent = 0;
        let mut last = &mut self.reading.last;
        if let Some(open) = self.reading.open.last_mut() {
            parent = open.node;
            last = &mut open.last;
        }
        let previous = if kind == NodeKind::Attribute { 0 } else { std::mem::replace(last, index) };
        let named = matches!(kind, NodeKind::Element | NodeKind::Attribute | NodeKind::Instruction);
        let expanded = if named { self.names.name(name).expanded } else { 0 };
        if let Some(lines) = &mut self.lines {
            lines.push(self.reading.line);
        }
        self.nodes.push(DocumentNode {
            kind,
            name,
            expanded,
            parent,
            previous,
            end: index + 1,
            attributes: 0,
            value,
        });
        index
    }

    pub(super) fn push_value(&mut self, kind: NodeKind, name: u32, value: &str) {
        let start = self.values.len() as u32;
        self.values.push_str(value);
        self.push(kind, name, (start, self.values.len() as u32));
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let end = self.text.len() as u32;
        let parent = self.reading.open.last().map_or(0, |open| open.node);
        match self.nodes.last_mut() {
            // Character data without markup in between is one node, even if it includes CDATA
            // sections or references.
            Some(last) if last.kind == NodeKind::Text && last.parent == parent => last.value.1 = end,
            _ => {
                self.push(NodeKind::Text, 0, (start, end));
            }
        }
    }

    pub(super) fn close(&mut self) {
        if let Some(open) = self.reading.open.pop() {
            let end = self.nodes.len() as NodeIndex;
            let node = &mut self.nodes[open.node as usize];
            node.end = end;
            node.value.1 = self.text.len() as u32;
            while self.reading.bound.len() > open.bound {
                if let Some(prefix) = self.reading.bound.pop() {
                    self.reading.bindings[prefix as usize].pop();
                }
            }
        }
    }
}
