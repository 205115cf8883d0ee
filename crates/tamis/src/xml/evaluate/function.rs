//! What do functions give?

use std::borrow::Cow;

use super::value::{Value, to_number};
use super::{Context, Evaluation};
use crate::xml::characters::is_space;
use crate::xml::document::{NodeIndex, NodeKind};
use crate::xml::xpath::{Function, NodeId};

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

impl<'e> Evaluation<'e> {
    pub(super) fn call(&mut self, function: Function, arguments: &[NodeId], context: Context) -> Value<'e> {
        let document = self.document;
        // Functions that take a string take the context node's where none is given.
        let own = |this: &mut Self, at: usize| match arguments.get(at) {
            Some(argument) => this.string(*argument, context),
            None => Cow::Borrowed(document.string(context.node)),
        };
        match function {
            Function::Last => Value::Number(f64::from(context.size)),
            Function::Position => Value::Number(f64::from(context.position)),
            Function::True => Value::Boolean(true),
            Function::False => Value::Boolean(false),
            Function::Count => Value::Number(self.nodes(arguments[0], context).len() as f64),
            Function::Sum => {
                let nodes = self.nodes(arguments[0], context);
                Value::Number(
                    nodes.iter().map(|node| to_number(document.string(*node))).fold(0.0, |sum, x| sum + x),
                )
            }
            Function::LocalName | Function::NamespaceUri | Function::Name => {
                let node = match arguments.first() {
                    Some(argument) => self.nodes(*argument, context).first().copied(),
                    None => Some(context.node),
                };
                Value::String(node.map_or("", |node| self.name(function, node)).into())
            }
            Function::Boolean => Value::Boolean(self.boolean(arguments[0], context)),
            Function::Not => Value::Boolean(!self.boolean(arguments[0], context)),
            Function::Lang => {
                let language = self.string(arguments[0], context);
                Value::Boolean(self.is_language(&language, context.node))
            }
            Function::Number => Value::Number(match arguments.first() {
                Some(argument) => self.number(*argument, context),
                None => to_number(document.string(context.node)),
            }),
            Function::Floor => Value::Number(self.number(arguments[0], context).floor()),
            Function::Ceiling => Value::Number(self.number(arguments[0], context).ceil()),
            Function::Round => Value::Number(round(self.number(arguments[0], context))),
            Function::String => Value::String(own(self, 0)),
            Function::StringLength => Value::Number(own(self, 0).chars().count() as f64),
            Function::NormalizeSpace => Value::String(normalize(&own(self, 0)).into()),
            Function::Concat => {
                let mut text = String::new();
                for argument in arguments {
                    text.push_str(&self.string(*argument, context));
                }
                Value::String(text.into())
            }
            Function::StartsWith => {
                let (text, part) = (own(self, 0), own(self, 1));
                Value::Boolean(text.starts_with(&*part))
            }
            Function::Contains => {
                let (text, part) = (own(self, 0), own(self, 1));
                Value::Boolean(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some())
            }
            Function::SubstringBefore => {
                let (text, part) = (own(self, 0), own(self, 1));
                let end = text.find(&*part).unwrap_or(0);
                Value::String(text[..end].to_owned().into())
            }
            Function::SubstringAfter => {
                let (text, part) = (own(self, 0), own(self, 1));
                let start = text.find(&*part).map_or(text.len(), |at| at + part.len());
                Value::String(text[start..].to_owned().into())
            }
            Function::Substring => {
                let text = own(self, 0);
                let start = round(self.number(arguments[1], context));
                let end = match arguments.get(2) {
                    Some(length) => start + round(self.number(*length, context)),
                    None => f64::INFINITY,
                };
                let inside = |position: f64| position >= start && position < end;
                let characters = text.chars().enumerate().filter(|(at, _)| inside((at + 1) as f64));
                Value::String(characters.map(|(_, c)| c).collect::<String>().into())
            }
            Function::Translate => {
                let (text, from, to) = (own(self, 0), own(self, 1), own(self, 2));
                Value::String(translate(&text, &from, &to).into())
            }
        }
    }

    fn name(&self, function: Function, node: NodeIndex) -> &'e str {
        let document = self.document;
        let found = document.node(node);
        if !matches!(found.kind, NodeKind::Element | NodeKind::Attribute | NodeKind::Instruction) {
            return "";
        }
        let name = document.names().name(found.name);
        match function {
            Function::LocalName => name.local(),
            Function::NamespaceUri => document.names().namespace_name(name.namespace),
            _ => &name.qualified,
        }
    }

    /// Whether the nearest `xml:lang` is a language or one of its dialects.
    fn is_language(&self, language: &str, node: NodeIndex) -> bool {
        let Some(name) = self.document.names().find(XML_NAMESPACE, "lang") else { return false };
        let mut node = node;
        loop {
            if self.kind(node) == NodeKind::Element {
                let mut attributes = self.document.attributes(node);
                if let Some(found) = attributes.find(|index| self.document.node(*index).expanded == name) {
                    let value = self.document.string(found);
                    return value
                        .get(..language.len())
                        .is_some_and(|start| start.eq_ignore_ascii_case(language))
                        && (value.len() == language.len() || value[language.len()..].starts_with('-'));
                }
            }
            if node == 0 {
                return false;
            }
            node = self.document.node(node).parent;
        }
    }
}

/// XPath 1.0, 4.4: to the nearest integer, upwards from the middle.
fn round(number: f64) -> f64 {
    if number.fract().abs() == 0.5 { number.ceil() } else { number.round() }
}

fn normalize(text: &str) -> String {
    let words = text.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn translate(text: &str, from: &str, to: &str) -> String {
    let mut map = std::collections::HashMap::new();
    let mut to = to.chars();
    for c in from.chars() {
        let replacement = to.next();
        map.entry(c).or_insert(replacement);
    }
    text.chars().filter_map(|c| map.get(&c).copied().unwrap_or(Some(c))).collect()
}
