//! Statistics of generated queries and documents, measured on their texts.

use std::collections::HashSet;
use std::ops::Range;

use super::super::statistics::Figure;
use super::{Xml, hash};

/// Statistics of some queries and documents of the workload.
#[derive(Debug, Clone, Default)]
pub struct XmlStatistics {
    /// Of the document type.
    names: u64,
    attributes: u64,
    recursive: u64,
    queries: u64,
    distinct: HashSet<u64>,
    bytes: u64,
    steps: u64,
    most_steps: u64,
    wildcards: u64,
    descendants: u64,
    predicates: u64,
    nested: u64,
    documents: u64,
    elements: u64,
    leaves: u64,
    depths: u64,
    greatest_depth: u64,
    document_bytes: u64,
}

impl XmlStatistics {
    /// Measures queries and documents.
    pub fn measure(workload: &Xml, queries: Range<u64>, documents: Range<u64>) -> XmlStatistics {
        let schema = &workload.schema;
        let mut statistics = XmlStatistics {
            names: schema.elements.len() as u64,
            attributes: schema.attributes() as u64,
            recursive: schema.recursive() as u64,
            ..Default::default()
        };
        let mut text = String::new();
        for number in queries {
            text.clear();
            workload.write_query(number, &mut text);
            statistics.observe_query(&text);
        }
        for number in documents {
            text.clear();
            workload.write_document(number, &mut text);
            statistics.observe_document(&text);
        }
        statistics
    }

    fn observe_query(&mut self, text: &str) {
        self.queries += 1;
        self.bytes += text.len() as u64;
        self.distinct.insert(hash(text));
        let (mut inside, mut steps, mut before) = (0, 0, ' ');
        for (at, next) in text.char_indices() {
            match next {
                '[' => {
                    inside += 1;
                    let inner = &text[at + 1..];
                    let tests = ["@", ". ", "position()"].iter().any(|start| inner.starts_with(start));
                    *if tests { &mut self.predicates } else { &mut self.nested } += 1;
                }
                ']' => inside -= 1,
                '/' if inside == 0 && before == '/' => self.descendants += 1,
                '/' if inside == 0 => steps += 1,
                '*' if inside == 0 => self.wildcards += 1,
                _ => {}
            }
            before = next;
        }
        self.steps += steps;
        self.most_steps = self.most_steps.max(steps);
    }

    fn observe_document(&mut self, text: &str) {
        self.documents += 1;
        self.document_bytes += text.len() as u64;
        let (mut depth, mut opened) = (0, false);
        for tag in text.split('<').skip(1) {
            let closes = tag.starts_with('/');
            if !closes {
                self.elements += 1;
                depth += 1;
                self.greatest_depth = self.greatest_depth.max(depth);
                opened = true;
            }
            if closes || tag.ends_with("/>") {
                if opened {
                    self.leaves += 1;
                    self.depths += depth;
                }
                opened = false;
                depth -= 1;
            }
        }
    }

    /// The figures, by name.
    pub fn figures(&self) -> Vec<Figure> {
        let per = |total: u64, count: u64| total as f64 / count.max(1) as f64;
        let mut figures = vec![
            Figure::new("element names", self.names as f64),
            Figure::new("attributes", self.attributes as f64),
            Figure::new("recursive elements", self.recursive as f64),
            Figure::new("queries", self.queries as f64),
            Figure::new("distinct queries", self.distinct.len() as f64),
            Figure::new("bytes of text per query", per(self.bytes, self.queries)),
            Figure::new("steps per query", per(self.steps, self.queries)),
            Figure::new("most steps", self.most_steps as f64),
            Figure::new("wildcards per step", per(self.wildcards, self.steps)),
            Figure::new("descendants per step", per(self.descendants, self.steps)),
            Figure::new("predicates per query", per(self.predicates, self.queries)),
            Figure::new("nested paths per query", per(self.nested, self.queries)),
        ];
        if self.documents > 0 {
            figures.extend([
                Figure::new("elements per document", per(self.elements, self.documents)),
                Figure::new("bytes per document", per(self.document_bytes, self.documents)),
                Figure::new("depth of leaves", per(self.depths, self.leaves)),
                Figure::new("greatest depth", self.greatest_depth as f64),
            ]);
        }
        figures
    }
}
