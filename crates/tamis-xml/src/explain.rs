//! Why does a document satisfy an expression, or not?

use std::fmt;

use super::document::Document;
use super::evaluate::Explainer;
use super::meter::{Meter, Metered};
use super::xpath::{Function, NodeId, XPath, XPathKind};

/// The parts of an expression, outermost first, with the truth of each on a document.
#[derive(Debug, Clone)]
pub struct Explanation {
    lines: Vec<Line>,
}

/// One part of an explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The number of parts that enclose this one.
    pub depth: usize,
    /// The part as written.
    pub text: String,
    /// Whether the part is true.
    pub truth: bool,
    /// If the part is a path, how many nodes each of its steps selects.
    pub selected: Vec<usize>,
}

impl Explanation {
    /// Whether the document satisfies the expression.
    pub fn matched(&self) -> bool {
        self.lines.first().is_some_and(|line| line.truth)
    }

    /// The parts, each before those inside it.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, line) in self.lines.iter().enumerate() {
            let newline = if at > 0 { "\n" } else { "" };
            write!(f, "{newline}{:<9}{}{}", line.truth, "  ".repeat(line.depth), line.text)?;
            if !line.selected.is_empty() {
                let counts: Vec<String> = line.selected.iter().map(usize::to_string).collect();
                write!(f, "    -- its steps select {} nodes", counts.join(", "))?;
            }
        }
        Ok(())
    }
}

pub fn explain(xpath: &XPath, document: &Document, meter: &mut Meter) -> Metered<Explanation> {
    let mut explainer = Explainer::new(xpath, document, meter);
    let mut lines = Vec::new();
    let mut open: Vec<(NodeId, usize)> = vec![(xpath.root(), 0)];
    while let Some((id, depth)) = open.pop() {
        let node = xpath.node(id);
        let text = &xpath.text()[node.range.0 as usize..node.range.1 as usize];
        let selected = explainer.selected(id)?;
        lines.push(Line { depth, text: text.to_owned(), truth: explainer.truth(id)?, selected });
        let parts: &[NodeId] = match &node.kind {
            XPathKind::And(parts) | XPathKind::Or(parts) | XPathKind::Union(parts) => parts,
            XPathKind::Call(Function::Not | Function::Boolean | Function::Count | Function::Sum, parts) => {
                parts
            }
            XPathKind::Compare(_, left, right) => &[*left, *right],
            _ => &[],
        };
        let shown =
            |id: &&NodeId| !matches!(xpath.node(**id).kind, XPathKind::String(_) | XPathKind::Number(_));
        open.extend(parts.iter().filter(shown).rev().map(|part| (*part, depth + 1)));
    }
    Ok(Explanation { lines })
}
