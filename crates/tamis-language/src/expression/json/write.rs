//! How is an expression written as JSON?

use std::fmt::Write;

use crate::expression::elements::Elements;
use crate::expression::names::{IT, is_hidden};
use crate::expression::parse::read_inner;
use crate::expression::predicate::{OperandRef, Operator, Predicate};
use crate::expression::term::{Function, Term};
use crate::expression::tree::{Expression, Node};
use crate::expression::xpath::XPathKey;
use crate::value::{Value, ValueRef};

/// Writes the JSON form of an expression.
pub fn to_json(expression: &Expression) -> String {
    enum Piece {
        Node(usize),
        Text(&'static str),
    }
    let nodes = expression.nodes();
    let starts = expression.starts();
    let mut out = String::new();
    let mut pieces = vec![Piece::Node(nodes.len() - 1)];
    while let Some(piece) = pieces.pop() {
        let index = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Node(index) => index,
        };
        let (open, close) = match &nodes[index] {
            Node::Constant(value) => {
                out.push_str(if *value { "true" } else { "false" });
                continue;
            }
            Node::Predicate(predicate) => {
                write_predicate(&mut out, predicate);
                continue;
            }
            Node::Not => (r#"{"not":"#, "}"),
            Node::Is(test) => {
                let _ = write!(out, r#"{{"{}":"#, test.spelling());
                ("", "}")
            }
            Node::And(_) => (r#"{"and":["#, "]}"),
            Node::Or(_) => (r#"{"or":["#, "]}"),
            Node::Xor => (r#"{"xor":["#, "]}"),
            Node::Xnor => (r#"{"xnor":["#, "]}"),
        };
        out.push_str(open);
        pieces.push(Piece::Text(close));
        for (position, child) in expression.children_reversed(index, &starts).enumerate() {
            if position > 0 {
                pieces.push(Piece::Text(","));
            }
            pieces.push(Piece::Node(child));
        }
    }
    out
}

fn write_xpath(out: &mut String, xpath: XPathKey<'_>, weights: Option<&[f64]>) {
    out.push_str(r#"{"xpath":"#);
    write_string(out, xpath.text());
    for (position, (prefix, namespace)) in xpath.namespaces().into_iter().enumerate() {
        out.push_str(if position == 0 { r#","namespaces":{"# } else { "," });
        write_string(out, prefix);
        out.push(':');
        write_string(out, namespace);
    }
    out.push_str(if xpath.namespaces().is_empty() { "" } else { "}" });
    if let Some(weights) = weights {
        let _ = write!(out, r#","weight":{:?}"#, weights[0]);
    }
    out.push('}');
}

fn write_predicate(out: &mut String, predicate: &Predicate) {
    if let Some(xpath) = predicate.as_xpath() {
        return write_xpath(out, xpath, predicate.weights());
    }
    out.push('{');
    if let Some(Elements { quantifier, list, text }) = predicate.as_elements() {
        let _ = write!(out, r#""{}":"#, quantifier.name());
        match list {
            IT => out.push_str(r#"{"it":true}"#),
            list => write_string(out, list),
        }
        out.push_str(r#","where":"#);
        // The text was written by an expression, so it can be parsed.
        out.push_str(&read_inner(text).map_or_else(|_| "null".to_owned(), |inner| to_json(&inner)));
        if let Some(weights) = predicate.weights() {
            let _ = write!(out, r#","weight":{:?}"#, weights[0]);
        }
        return out.push('}');
    }
    if let Some((left, comparison, right)) = predicate.as_comparison() {
        write_left(out, &left);
        let operator = Operator::from_spelling(comparison.spelling());
        let spelling = operator.map_or("", |(operator, _)| operator.spelling(predicate.negated()));
        let _ = write!(out, r#","operator":"{spelling}","right":"#);
        write_term(out, &right);
        return out.push('}');
    }
    if let Some(unknown) = predicate.as_unknown() {
        write_left(out, &unknown);
        let not = if predicate.negated() { "not " } else { "" };
        let _ = write!(out, r#","operator":"is {not}unknown"}}"#);
        return;
    }
    match predicate.term() {
        Term::Call(Function::Read(_), arguments) => write_left(out, &arguments[0]),
        term => write_left(out, &term),
    }
    let _ = write!(out, r#","operator":"{}""#, predicate.spelling());
    let operand = predicate.test().parts().1;
    match operand {
        OperandRef::Nothing => {}
        OperandRef::One(value) => {
            out.push_str(r#","value":"#);
            write_value(out, value.as_ref());
        }
        OperandRef::Text(text) => {
            out.push_str(r#","value":"#);
            write_value(out, ValueRef::String(text));
        }
        OperandRef::Range(low, high) => write_values(out, [low, high].into_iter()),
        OperandRef::Set(values) => write_values(out, values.iter()),
    }
    match predicate.weights() {
        None => {}
        Some(weights) if matches!(operand, OperandRef::Set(_)) => {
            out.push_str(r#","weights":["#);
            for (position, weight) in weights.iter().enumerate() {
                let _ = write!(out, "{}{weight:?}", if position > 0 { "," } else { "" });
            }
            out.push(']');
        }
        Some(weights) => {
            let _ = write!(out, r#","weight":{:?}"#, weights[0]);
        }
    }
    out.push('}');
}

fn write_values<'v>(out: &mut String, values: impl Iterator<Item = &'v Value>) {
    out.push_str(r#","values":["#);
    for (position, value) in values.enumerate() {
        out.push_str(if position > 0 { "," } else { "" });
        write_value(out, value.as_ref());
    }
    out.push(']');
}

/// Writes the left side of a predicate.
fn write_left(out: &mut String, term: &Term) {
    match term {
        Term::Attribute(name) if !is_hidden(name) => {
            out.push_str(r#""attribute":"#);
            write_string(out, name);
        }
        other => {
            out.push_str(r#""term":"#);
            write_term(out, other);
        }
    }
}

/// Writes a term, whose nesting is limited.
fn write_term(out: &mut String, term: &Term) {
    match term {
        Term::Attribute(name) if **name == *IT => out.push_str(r#"{"it":true}"#),
        Term::Attribute(name) => {
            out.push_str(r#"{"attribute":"#);
            write_string(out, name);
            out.push('}');
        }
        Term::Constant(value) => {
            out.push_str(r#"{"value":"#);
            write_value(out, value.as_ref());
            out.push('}');
        }
        Term::Call(function, arguments) => {
            out.push_str(r#"{"function":"#);
            write_string(out, function.name());
            out.push_str(r#","arguments":["#);
            for (position, argument) in arguments.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                write_term(out, argument);
            }
            out.push(']');
            if let Function::Cast(to) = function {
                let _ = write!(out, r#","type":"{}""#, to.name());
            }
            out.push('}');
        }
    }
}

/// Writes a value as JSON.
pub fn write_value(out: &mut String, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => write_string(out, text),
        other => {
            let _ = match other.as_typed_constant() {
                Some((keyword, text)) => write!(out, r#"{{"{keyword}":"{text}"}}"#),
                None => write!(out, "{other}"),
            };
        }
    }
}

/// Writes a JSON string.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            control if control < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}
