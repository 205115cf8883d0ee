//! How is an expression written, so that reading it gives the same expression?

use std::fmt;

use super::elements::Elements;
use super::predicate::{OperandRef, Operator, Predicate};
use super::term::Name;
use super::tree::{Expression, Node};
use crate::value::{Value, write_quoted};

/// Prints the canonical text of the expression.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, |_, _| ())
    }
}

impl Expression {
    /// Where the node at `index`, a predicate or constant, begins in the canonical text, in characters.
    pub fn place_of(&self, index: usize) -> Option<usize> {
        let (mut text, mut place) = (String::new(), None);
        let written = self.write(&mut text, |text, node| {
            if node == index {
                place = Some(text.chars().count());
            }
        });
        written.ok().and(place)
    }

    /// Writes the canonical text; `before` is called with what was written before every predicate or constant.
    fn write<W: fmt::Write>(&self, f: &mut W, mut before: impl FnMut(&W, usize)) -> fmt::Result {
        enum Piece {
            Node(usize),
            Text(&'static str),
        }
        let nodes = self.nodes();
        let starts = self.starts();
        let mut pieces = vec![Piece::Node(nodes.len() - 1)];
        while let Some(piece) = pieces.pop() {
            let index = match piece {
                Piece::Text(text) => {
                    f.write_str(text)?;
                    continue;
                }
                Piece::Node(index) => index,
            };
            let between = match &nodes[index] {
                Node::Constant(value) => {
                    before(f, index);
                    write!(f, "{value}")?;
                    continue;
                }
                Node::Predicate(predicate) => {
                    before(f, index);
                    write!(f, "{predicate}")?;
                    continue;
                }
                Node::Not => {
                    f.write_str("not ")?;
                    ""
                }
                Node::Is(test) => {
                    pieces.push(Piece::Text(test.spelling()));
                    pieces.push(Piece::Text(" "));
                    ""
                }
                Node::And(_) => " and ",
                Node::Or(_) => " or ",
                Node::Xor => " xor ",
                Node::Xnor => " xnor ",
            };
            // Pieces are taken from the end, so the children are laid down from last to first.
            let children = nodes[index].children();
            let mine = precedence(&nodes[index]);
            for (position, child) in self.children_reversed(index, &starts).enumerate() {
                let first = position + 1 == children;
                let theirs = precedence(&nodes[child]);
                // `a xor b xor c` is read from the left; only that leftmost child needs no mark.
                let bare = theirs > mine || (theirs == mine && (first || nodes[index] == Node::Not));
                if bare {
                    pieces.push(Piece::Node(child));
                } else {
                    pieces.push(Piece::Text(")"));
                    pieces.push(Piece::Node(child));
                    pieces.push(Piece::Text("("));
                }
                if !first {
                    pieces.push(Piece::Text(between));
                }
            }
        }
        Ok(())
    }
}

fn precedence(node: &Node) -> u8 {
    match node {
        Node::Or(_) => 0,
        Node::Xor | Node::Xnor => 1,
        Node::And(_) => 2,
        Node::Not => 3,
        Node::Is(_) => 4,
        Node::Constant(_) | Node::Predicate(_) => 5,
    }
}

/// Prints the canonical text of the predicate.
impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spelling = self.spelling();
        let weight = |position: usize| Weight(self.weights().map_or(1.0, |weights| weights[position]));
        if let Some(xpath) = self.as_xpath() {
            f.write_str("xpath(")?;
            write_quoted(f, xpath.text(), '\'')?;
            for (prefix, namespace) in xpath.namespaces() {
                write!(f, ", {} = ", Name(prefix))?;
                write_quoted(f, namespace, '\'')?;
            }
            return write!(f, "){}", weight(0));
        }
        if let Some(Elements { quantifier, list, text }) = self.as_elements() {
            return write!(f, "{}({}, {text}){}", quantifier.name(), Name(list), weight(0));
        }
        if let Some((left, comparison, right)) = self.as_comparison() {
            let operator = Operator::from_spelling(comparison.spelling());
            let spelling = operator.map_or("", |(operator, _)| operator.spelling(self.negated()));
            return write!(f, "{left} {spelling} {right}");
        }
        if let Some(unknown) = self.as_unknown() {
            let not = if self.negated() { "not " } else { "" };
            return write!(f, "{unknown} is {not}unknown");
        }
        let name = Name(self.attribute());
        match self.test().parts() {
            (Operator::Exists, _) => write!(f, "{spelling}({name})"),
            (_, OperandRef::Nothing) => write!(f, "{name} {spelling}"),
            (_, OperandRef::One(value)) => write!(f, "{name} {spelling} {value}{}", weight(0)),
            (_, OperandRef::Text(text)) => {
                write!(f, "{name} {spelling} ")?;
                write_quoted(f, text, '\'')?;
                write!(f, "{}", weight(0))
            }
            (_, OperandRef::Range(low, high)) => {
                write!(f, "{name} {spelling} {low} and {high}{}", weight(0))
            }
            (_, OperandRef::Set(values)) => {
                write!(f, "{name} {spelling} (")?;
                for (position, value) in values.iter().enumerate() {
                    let separator = if position > 0 { ", " } else { "" };
                    write!(f, "{separator}{value}{}", weight(position))?;
                }
                f.write_str(")")
            }
        }
    }
}

struct Weight(f64);

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Value::number(self.0) {
            Some(Value::Integer(1)) | None => Ok(()),
            Some(weight) => write!(f, "^{weight}"),
        }
    }
}
