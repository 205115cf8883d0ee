//! Parsing paths and function calls.

use std::sync::Arc;

use super::super::lex::Token;
use super::super::{Axis, Function, NodeId, NodeTest, Path, Start, Step, Type, XPathKind};
use super::Parser;
use crate::error::Result;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

impl Parser<'_> {
    /// A location path, or a primary expression with predicates and steps after it.
    pub(super) fn path(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let primary = match self.peek() {
            Token::Symbol("(") => {
                self.at += 1;
                let inner = self.expression(0, depth + 1)?;
                self.expect(")")?;
                inner
            }
            Token::String(text) => {
                let kind = XPathKind::String((*text).into());
                self.at += 1;
                self.push(first, kind, Type::String, &[], false)?
            }
            Token::Variable(name) => self.variable(name)?,
            Token::Number(number) => {
                let kind = XPathKind::Number(*number);
                self.at += 1;
                self.push(first, kind, Type::Number, &[], false)?
            }
            Token::Name(prefix, local)
                if *self.peek_after(1) == Token::Symbol("(") && !is_node_type(prefix, local) =>
            {
                let (prefix, local) = (*prefix, *local);
                self.call(prefix, local, depth)?
            }
            _ => return self.location(first, depth),
        };
        if !self.is("[") && !self.is("/") && !self.is("//") {
            return Ok(primary);
        }
        self.expect_nodes(primary, first, "a predicate or a further step")?;
        let predicates = self.predicates(depth)?;
        let mut steps = Steps::default();
        if self.is("/") || self.is("//") {
            self.rest(&mut steps, depth)?;
        }
        self.finish_path(first, Start::Nodes(primary, predicates), steps, Some(primary))
    }

    fn location(&mut self, first: usize, depth: usize) -> Result<NodeId> {
        let mut steps = Steps::default();
        let start = if self.is("/") {
            // A single `/` is the document node.
            if self.at_step(1) {
                self.rest(&mut steps, depth)?;
            } else {
                self.at += 1;
            }
            Start::Root
        } else if self.is("//") {
            self.rest(&mut steps, depth)?;
            Start::Root
        } else if self.at_step(0) {
            self.step(&mut steps, depth)?;
            self.rest(&mut steps, depth)?;
            Start::Context
        } else {
            return Err(self.unexpected("an expression"));
        };
        self.finish_path(first, start, steps, None)
    }

    fn finish_path(
        &mut self,
        first: usize,
        start: Start,
        steps: Steps,
        inner: Option<NodeId>,
    ) -> Result<NodeId> {
        // Predicates have a separate context. Only the start of the path depends on the
        // expression's context.
        let positional = inner.is_some_and(|inner| self.nodes[inner as usize].positional);
        let contextual = match &start {
            Start::Root => false,
            Start::Context => true,
            Start::Nodes(inner, _) => self.nodes[*inner as usize].contextual,
        };
        let starts = match &start {
            Start::Nodes(_, predicates) => predicates.to_vec(),
            _ => Vec::new(),
        };
        let predicates = steps.0.iter().flat_map(|step| step.predicates.iter());
        let children: Vec<NodeId> = inner.into_iter().chain(starts).chain(predicates.copied()).collect();
        let path = Path { start, steps: steps.0.into_boxed_slice() };
        let node = self.push(first, XPathKind::Path(path), Type::Nodes, &children, false)?;
        self.nodes[node as usize].positional = positional;
        self.nodes[node as usize].contextual = contextual;
        Ok(node)
    }

    fn at_step(&self, distance: usize) -> bool {
        matches!(
            self.peek_after(distance),
            Token::Name(..) | Token::AnyOf(_) | Token::Any | Token::Symbol("." | ".." | "@")
        )
    }

    /// The rest of a path: `/` or `//` and a step, any number of times.
    fn rest(&mut self, steps: &mut Steps, depth: usize) -> Result<()> {
        loop {
            if self.take("//") {
                steps.push(
                    Step { axis: Axis::DescendantOrSelf, test: NodeTest::Node, predicates: [].into() },
                    false,
                );
            } else if !self.take("/") {
                return Ok(());
            }
            if !self.at_step(0) {
                return Err(self.unexpected("a step"));
            }
            self.step(steps, depth)?;
        }
    }

    fn step(&mut self, steps: &mut Steps, depth: usize) -> Result<()> {
        for (symbol, axis) in [(".", Axis::Itself), ("..", Axis::Parent)] {
            if self.take(symbol) {
                steps.push(Step { axis, test: NodeTest::Node, predicates: [].into() }, false);
                return Ok(());
            }
        }
        let axis = if self.take("@") {
            Axis::Attribute
        } else if let (Token::Name(prefix, name), Token::Symbol("::")) = (*self.peek(), self.peek_after(1)) {
            let axis = self.axis(prefix, name)?;
            self.at += 2;
            axis
        } else {
            Axis::Child
        };
        let test = self.test()?;
        let predicates = self.predicates(depth)?;
        let positional = predicates.iter().any(|predicate| {
            let node = &self.nodes[*predicate as usize];
            node.positional || node.result == Type::Number
        });
        steps.push(Step { axis, test, predicates }, positional);
        Ok(())
    }

    fn axis(&self, prefix: &str, name: &str) -> Result<Axis> {
        Ok(match (prefix, name) {
            ("", "child") => Axis::Child,
            ("", "descendant") => Axis::Descendant,
            ("", "descendant-or-self") => Axis::DescendantOrSelf,
            ("", "self") => Axis::Itself,
            ("", "attribute") => Axis::Attribute,
            ("", "parent") => Axis::Parent,
            ("", "ancestor") => Axis::Ancestor,
            ("", "ancestor-or-self") => Axis::AncestorOrSelf,
            ("", "following-sibling") => Axis::FollowingSibling,
            ("", "preceding-sibling") => Axis::PrecedingSibling,
            ("", "following") => Axis::Following,
            ("", "preceding") => Axis::Preceding,
            _ => {
                let kind = if name == "namespace" { "axis" } else { "unknown axis" };
                let expected = "child, descendant, descendant-or-self, self, attribute, parent, ancestor, \
                                ancestor-or-self, following-sibling, preceding-sibling, following or preceding";
                return Err(self.error(self.at, format!("the {kind} `{name}`"), expected.into(), None));
            }
        })
    }

    fn test(&mut self) -> Result<NodeTest> {
        let token = self.at;
        let test = match *self.peek() {
            Token::Any => NodeTest::Any,
            Token::AnyOf(prefix) => NodeTest::Namespace(self.namespace(prefix)?),
            Token::Name(prefix, local) if *self.peek_after(1) == Token::Symbol("(") => {
                self.at += 2;
                let test = match (prefix, local) {
                    ("", "node") => NodeTest::Node,
                    ("", "text") => NodeTest::Text,
                    ("", "comment") => NodeTest::Comment,
                    ("", "processing-instruction") => match *self.peek() {
                        Token::String(target) => {
                            self.at += 1;
                            NodeTest::Instruction(Some(target.into()))
                        }
                        _ => NodeTest::Instruction(None),
                    },
                    _ => {
                        let expected = "a name, `*`, node(), text(), comment() or processing-instruction()";
                        let found = format!("the function `{local}` as a step");
                        return Err(self.error(token, found, expected.into(), None));
                    }
                };
                self.expect(")")?;
                return Ok(test);
            }
            Token::Name(prefix, local) => {
                let namespace = if prefix.is_empty() { "".into() } else { self.namespace(prefix)? };
                NodeTest::Name { namespace, local: local.into() }
            }
            _ => return Err(self.unexpected("a name, `*` or a node type")),
        };
        self.at += 1;
        Ok(test)
    }

    fn namespace(&self, prefix: &str) -> Result<Arc<str>> {
        let known = self.namespaces.iter().find(|(known, _)| **known == *prefix);
        match known {
            Some((_, name)) => Ok(name.clone()),
            None if prefix == "xml" => Ok(XML_NAMESPACE.into()),
            None => {
                let expected = "a prefix given in `namespaces`".to_owned();
                Err(self.error(self.at, format!("the unknown prefix `{prefix}`"), expected, None))
            }
        }
    }

    fn predicates(&mut self, depth: usize) -> Result<Box<[NodeId]>> {
        let mut predicates = Vec::new();
        while self.take("[") {
            predicates.push(self.expression(0, depth + 1)?);
            self.expect("]")?;
        }
        Ok(predicates.into())
    }

    fn call(&mut self, prefix: &str, name: &str, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let signature = Function::find(name).filter(|_| prefix.is_empty());
        let Some(&(_, function, fewest, most, result)) = signature else {
            let shown = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}:{name}") };
            let found = format!("the unknown function `{shown}`");
            let expected = "a function of XPath 1.0".to_owned();
            return Err(self.error(first, found, expected, Function::nearest(&shown)));
        };
        self.at += 2;
        let mut arguments = Vec::new();
        if !self.is(")") {
            loop {
                let start = self.at;
                let argument = self.expression(0, depth + 1)?;
                if function.takes_nodes() {
                    self.expect_nodes(argument, start, &format!("{name}()"))?;
                }
                arguments.push(argument);
                if !self.take(",") {
                    break;
                }
            }
        }
        self.expect(")")?;
        if arguments.len() < fewest || arguments.len() > most {
            let plural =
                |count: usize| if count == 1 { "1 argument".into() } else { format!("{count} arguments") };
            let expected = match (fewest, most) {
                _ if fewest == most => plural(fewest),
                (_, usize::MAX) => format!("at least {}", plural(fewest)),
                _ => format!("{fewest} to {}", plural(most)),
            };
            let found = plural(arguments.len());
            return Err(self.error(first, found, format!("{expected} for {name}()"), None));
        }
        let positional = matches!(function, Function::Position | Function::Last);
        let children = arguments.clone();
        let own = function.speaks_of_context(arguments.len());
        let node =
            self.push(first, XPathKind::Call(function, arguments.into()), result, &children, positional)?;
        self.nodes[node as usize].contextual |= own;
        Ok(node)
    }
}

fn is_node_type(prefix: &str, name: &str) -> bool {
    prefix.is_empty() && matches!(name, "node" | "text" | "comment" | "processing-instruction")
}

/// Steps, simplified while they are added, without changing their meaning.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn push(&mut self, step: Step, positional: bool) {
        let bare = |step: &Step, axis| {
            step.axis == axis && step.test == NodeTest::Node && step.predicates.is_empty()
        };
        if bare(&step, Axis::Itself) && !self.0.is_empty() {
            return;
        }
        let Some(last) = self.0.last_mut() else {
            self.0.push(step);
            return;
        };
        if bare(last, Axis::Itself) {
            *last = step;
        } else if bare(last, Axis::DescendantOrSelf) && step.axis == Axis::Child && !positional {
            // `//b` becomes `descendant::b`, unless a predicate uses positions: `//b[2]` counts per
            // parent.
            *last = Step { axis: Axis::Descendant, ..step };
        } else {
            self.0.push(step);
        }
    }
}
