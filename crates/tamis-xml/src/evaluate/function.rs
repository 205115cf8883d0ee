//! The functions of XPath 1.0.

use std::borrow::Cow;

use super::value::{Value, number_and_cost};
use super::{Context, Evaluation};
use crate::characters::is_space;
use crate::document::{NodeIndex, NodeKind};
use crate::meter::Metered;
use crate::xpath::{Function, NodeId, Type};

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

impl<'e> Evaluation<'e> {
    pub(super) fn call(
        &mut self,
        function: Function,
        arguments: &[NodeId],
        context: Context,
    ) -> Metered<Value<'e>> {
        let document = self.document;
        // String functions default to the context node's string value.
        let own = |this: &mut Self, at: usize| match arguments.get(at) {
            Some(argument) => this.string(*argument, context),
            None => Ok(Cow::Borrowed(document.string(context.node))),
        };
        Ok(match function {
            Function::Last => Value::Number(f64::from(context.size)),
            Function::Position => Value::Number(f64::from(context.position)),
            Function::True => Value::Boolean(true),
            Function::False => Value::Boolean(false),
            Function::Count => Value::Number(self.node_count(arguments[0], context)? as f64),
            Function::Sum => {
                let nodes = self.nodes(arguments[0], context)?;
                let mut sum = 0.0;
                for node in nodes {
                    let (number, cost) = number_and_cost(document.string(node));
                    self.meter.spend(cost)?;
                    sum += number;
                }
                Value::Number(sum)
            }
            Function::LocalName | Function::NamespaceUri | Function::Name => {
                let node = match arguments.first() {
                    Some(argument) => self.nodes(*argument, context)?.first().copied(),
                    None => Some(context.node),
                };
                Value::String(node.map_or("", |node| self.name(function, node)).into())
            }
            Function::Boolean => Value::Boolean(self.boolean(arguments[0], context)?),
            Function::Not => Value::Boolean(!self.boolean(arguments[0], context)?),
            Function::Lang => {
                let language = self.string(arguments[0], context)?;
                Value::Boolean(self.is_language(&language, context.node)?)
            }
            Function::Number => Value::Number(match arguments.first() {
                Some(argument) => self.number(*argument, context)?,
                None => {
                    let (number, cost) = number_and_cost(document.string(context.node));
                    self.meter.spend(cost)?;
                    number
                }
            }),
            Function::Floor => Value::Number(self.number(arguments[0], context)?.floor()),
            Function::Ceiling => Value::Number(self.number(arguments[0], context)?.ceil()),
            Function::Round => Value::Number(round(self.number(arguments[0], context)?)),
            Function::String => Value::String(own(self, 0)?),
            Function::StringLength => {
                let text = own(self, 0)?;
                self.meter.spend(text.len() / 16)?;
                Value::Number(text.chars().count() as f64)
            }
            Function::NormalizeSpace => match self.node_string(arguments, context)? {
                Some(node) => Value::String(Cow::Borrowed(document.normalized_string(node))),
                None => {
                    let text = own(self, 0)?;
                    self.meter.spend(text.len())?;
                    Value::String(normalize(&text).into())
                }
            },
            Function::Concat => {
                let mut text = String::new();
                for argument in arguments {
                    let part = self.string(*argument, context)?;
                    // The concatenation so far is held while the rest is evaluated.
                    self.meter.hold(part.len())?;
                    self.meter.spend(part.len() / 16)?;
                    text.push_str(&part);
                }
                self.meter.release(text.len());
                Value::String(text.into())
            }
            Function::StartsWith => {
                let (text, part) = (own(self, 0)?, own(self, 1)?);
                self.meter.spend(part.len() / 16)?;
                Value::Boolean(text.starts_with(&*part))
            }
            Function::Contains => {
                let (text, part) = (own(self, 0)?, own(self, 1)?);
                self.meter.spend((text.len() + part.len()) / 8)?;
                Value::Boolean(memchr::memmem::find(text.as_bytes(), part.as_bytes()).is_some())
            }
            Function::SubstringBefore => {
                let (text, part) = (own(self, 0)?, own(self, 1)?);
                self.meter.spend((text.len() + part.len()) / 4)?;
                let end = memchr::memmem::find(text.as_bytes(), part.as_bytes()).unwrap_or(0);
                Value::String(slice(text, 0..end))
            }
            Function::SubstringAfter => {
                let (text, part) = (own(self, 0)?, own(self, 1)?);
                self.meter.spend((text.len() + part.len()) / 4)?;
                let found = memchr::memmem::find(text.as_bytes(), part.as_bytes());
                let (start, end) = (found.map_or(text.len(), |at| at + part.len()), text.len());
                Value::String(slice(text, start..end))
            }
            Function::Substring => {
                let text = own(self, 0)?;
                let start = round(self.number(arguments[1], context)?);
                let end = match arguments.get(2) {
                    Some(length) => start + round(self.number(*length, context)?),
                    None => f64::INFINITY,
                };
                self.meter.spend(text.len())?;
                let inside = |position: f64| position >= start && position < end;
                // The positions inside are consecutive, so the result is one slice.
                let mut inside = text.char_indices().zip(1..).filter(|(_, at)| inside(f64::from(*at)));
                let range = match inside.next() {
                    Some(((first, c), _)) => {
                        let last =
                            inside.last().map_or(first + c.len_utf8(), |((at, c), _)| at + c.len_utf8());
                        first..last
                    }
                    None => 0..0,
                };
                Value::String(slice(text, range))
            }
            Function::Translate => {
                let (text, from, to) = (own(self, 0)?, own(self, 1)?, own(self, 2)?);
                self.meter.spend(text.len() + from.len() + to.len())?;
                Value::String(translate(&text, &from, &to).into())
            }
            Function::Id => Value::Nodes(self.identified(arguments[0], context)?),
        })
    }

    fn node_count(&mut self, id: NodeId, context: Context) -> Metered<usize> {
        match self.operand(id, context)?.value() {
            Value::Nodes(nodes) => Ok(nodes.len()),
            _ => Ok(0),
        }
    }

    /// The node whose string value is the argument of a function with one optional argument, if it
    /// is that of a node.
    fn node_string(&mut self, arguments: &[NodeId], context: Context) -> Metered<Option<NodeIndex>> {
        match arguments.first() {
            None => Ok(Some(context.node)),
            Some(argument) if self.xpath.node(*argument).result == Type::Nodes => {
                match self.operand(*argument, context)?.value() {
                    Value::Nodes(nodes) => Ok(nodes.first().copied()),
                    _ => Ok(None),
                }
            }
            Some(_) => Ok(None),
        }
    }

    /// XPath 1.0, 4.1: the elements whose attribute of type ID is one of the tokens of a text, or of the
    /// string values of nodes.
    fn identified(&mut self, argument: NodeId, context: Context) -> Metered<Vec<NodeIndex>> {
        let document = self.document;
        let mut found = Vec::new();
        let mut look_up = |this: &mut Self, text: &str| {
            this.meter.spend(1 + text.len())?;
            found.extend(tokens(text).filter_map(|token| document.identified(token)));
            this.meter.spend(found.len())
        };
        let operand = self.operand(argument, context)?;
        match operand.value() {
            Value::Nodes(nodes) => {
                for node in nodes {
                    look_up(self, document.string(*node))?;
                }
            }
            other => {
                let text = other.clone().string(document);
                look_up(self, &text)?;
            }
        }
        found.sort_unstable();
        found.dedup();
        Ok(found)
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

    /// Whether the nearest `xml:lang` is this language or one of its dialects.
    fn is_language(&mut self, language: &str, node: NodeIndex) -> Metered<bool> {
        let Some(name) = self.document.names().find(XML_NAMESPACE, "lang") else { return Ok(false) };
        let mut node = node;
        loop {
            self.meter.spend(1 + self.document.attributes(node).len())?;
            if self.kind(node) == NodeKind::Element {
                let mut attributes = self.document.attributes(node);
                if let Some(found) = attributes.find(|index| self.document.node(*index).expanded == name) {
                    let value = self.document.string(found);
                    return Ok(value
                        .get(..language.len())
                        .is_some_and(|start| start.eq_ignore_ascii_case(language))
                        && (value.len() == language.len() || value[language.len()..].starts_with('-')));
                }
            }
            if node == 0 {
                return Ok(false);
            }
            node = self.document.node(node).parent;
        }
    }
}

/// XPath 1.0, 4.4: rounds to the nearest integer, and halves up.
fn round(number: f64) -> f64 {
    if number.fract().abs() == 0.5 { number.ceil() } else { number.round() }
}

/// A slice of a text, without copying if it is borrowed.
fn slice<'e>(text: Cow<'e, str>, range: std::ops::Range<usize>) -> Cow<'e, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[range]),
        Cow::Owned(text) => Cow::Owned(text[range].to_owned()),
    }
}

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii() && is_space(c as u8)).filter(|token| !token.is_empty())
}

fn normalize(text: &str) -> String {
    let mut normalized = String::with_capacity(text.len());
    for token in tokens(text) {
        if !normalized.is_empty() {
            normalized.push(' ');
        }
        normalized.push_str(token);
    }
    normalized
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
