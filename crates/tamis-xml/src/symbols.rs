//! Which of a document's names do filters mention?
//!
//! The names in filters are numbered when a set of filters is compiled. A document's names are
//! looked up once, and the results are cached as long as the document's numbering is valid.

use std::collections::HashMap;

use super::document::{Document, NodeIndex};
use super::plan::ElementTest;

type Map<V> = HashMap<Box<str>, V, ahash::RandomState>;

/// The number of a name or namespace in filters; 0 for any other.
pub type Symbol = u32;

/// Number of a distinct path in a compiled set of filters.
pub type PathId = u32;

/// A path in the form that engines use: for each step, whether it may skip elements, and its test.
pub type SymbolPath = Box<[(bool, SymbolTest)]>;

#[derive(Debug, Default)]
pub struct Symbols {
    /// By namespace, then by local name.
    names: Map<Map<Symbol>>,
    namespaces: Map<Symbol>,
    /// Counts names and namespaces together, so that no number is used for both.
    count: Symbol,
}

/// A step's test of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolTest {
    Any,
    Name(Symbol),
    Namespace(Symbol),
}

impl SymbolTest {
    pub fn accepts(self, label: Label) -> bool {
        match self {
            SymbolTest::Any => true,
            SymbolTest::Name(name) => label.name == name,
            SymbolTest::Namespace(namespace) => label.namespace == namespace,
        }
    }
}

/// The parts of an element's or attribute's name that filters can test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label {
    pub name: Symbol,
    pub namespace: Symbol,
}

impl Label {
    /// One number for the label: the name's if it is known, since it implies the namespace.
    pub fn number(self) -> u32 {
        if self.name != 0 { self.name } else { self.namespace }
    }
}

impl Symbols {
    pub fn name(&mut self, namespace: &str, local: &str) -> Symbol {
        let names = match self.names.get_mut(namespace) {
            Some(names) => names,
            None => self.names.entry(namespace.into()).or_default(),
        };
        if let Some(&symbol) = names.get(local) {
            return symbol;
        }
        self.count += 1;
        names.insert(local.into(), self.count);
        self.count
    }

    pub fn test(&mut self, test: &ElementTest) -> SymbolTest {
        match test {
            ElementTest::Any => SymbolTest::Any,
            ElementTest::Name { namespace, local } => SymbolTest::Name(self.name(namespace, local)),
            ElementTest::Namespace(namespace) => {
                let count = &mut self.count;
                let symbol = *self.namespaces.entry((**namespace).into()).or_insert_with(|| {
                    *count += 1;
                    *count
                });
                SymbolTest::Namespace(symbol)
            }
        }
    }

    fn label(&self, namespace: &str, local: &str) -> Label {
        let name = self.names.get(namespace).and_then(|names| names.get(local)).copied().unwrap_or(0);
        Label { name, namespace: self.namespaces.get(namespace).copied().unwrap_or(0) }
    }
}

/// The labels of a document's names, looked up on demand.
#[derive(Debug, Default)]
pub struct Labels {
    generation: u64,
    labels: Vec<Option<Label>>,
}

impl Labels {
    /// Prepares for a document.
    pub fn start(&mut self, document: &Document) {
        if self.generation != document.names().generation {
            self.generation = document.names().generation;
            self.labels.clear();
        }
    }

    pub fn of(&mut self, symbols: &Symbols, document: &Document, node: NodeIndex) -> Label {
        let name = document.node(node).expanded;
        if let Some(Some(label)) = self.labels.get(name as usize) {
            return *label;
        }
        let names = document.names();
        let written = names.name(name);
        let label = symbols.label(names.namespace_name(written.namespace), written.local());
        if self.labels.len() <= name as usize {
            self.labels.resize(name as usize + 1, None);
        }
        self.labels[name as usize] = Some(label);
        label
    }
}
