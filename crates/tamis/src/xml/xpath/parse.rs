//! How is an expression read from its text?
//!
//! Precedence climbing over the tokens. The parser descends at most [`DEPTH`] levels, and so does
//! everything that walks an expression afterwards.

use std::sync::Arc;

use super::lex::{Spanned, Token, lex};
use super::{
    Axis, Comparison, Function, Kind, Node, NodeId, Operation, Path, Start, Step, Test, Type, XPath,
};
use crate::error::{Error, Result};
use crate::limits::check;
use crate::xml::Limits;

/// How deep an expression may nest. Fixed, so that walking one needs no stack of its own.
const DEPTH: usize = 200;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";

pub fn parse(text: &str, namespaces: &[(&str, &str)], limits: &Limits) -> Result<XPath> {
    check("bytes of an XPath expression", "xpath", text.len(), limits.xpath)?;
    let namespaces: Arc<[_]> =
        namespaces.iter().map(|&(prefix, name)| (Arc::from(prefix), Arc::from(name))).collect();
    let tokens = lex(text)?;
    let mut parser =
        Parser { text, tokens, at: 0, namespaces: &namespaces, nodes: Vec::new(), depths: Vec::new() };
    let root = parser.expression(0, 0)?;
    if *parser.peek() != Token::End {
        return Err(parser.unexpected("an operator or the end of the text"));
    }
    let nodes = parser.nodes.into();
    Ok(XPath { text: text.into(), namespaces, nodes, root })
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Spanned<'t>>,
    at: usize,
    namespaces: &'t [(Arc<str>, Arc<str>)],
    nodes: Vec<Node>,
    /// Of every node, how deep it reaches.
    depths: Vec<usize>,
}

enum Infix {
    Or,
    And,
    Compare(Comparison),
    Arithmetic(Operation),
}

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.at].0
    }

    fn peek_after(&self, distance: usize) -> &Token<'t> {
        &self.tokens[(self.at + distance).min(self.tokens.len() - 1)].0
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        match self.take(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{symbol}`"))),
        }
    }

    fn unexpected(&self, expected: &str) -> Error {
        self.error(self.at, self.peek().shown(), expected.to_owned(), None)
    }

    fn error(&self, token: usize, found: String, expected: String, suggestion: Option<&str>) -> Error {
        Error::syntax(self.text, self.tokens[token].1.clone(), found, expected, suggestion)
    }

    /// Adds a node that begins at a token and ends before the next one.
    fn push(
        &mut self,
        first: usize,
        kind: Kind,
        result: Type,
        children: &[NodeId],
        positional: bool,
    ) -> Result<NodeId> {
        let children_positional = children.iter().any(|child| self.nodes[*child as usize].positional);
        let depth = 1 + children.iter().map(|child| self.depths[*child as usize]).max().unwrap_or(0);
        if depth > DEPTH {
            return Err(self.too_deep(first));
        }
        let range = (self.tokens[first].1.start as u32, self.tokens[self.at - 1].1.end as u32);
        self.nodes.push(Node { kind, result, positional: positional || children_positional, range });
        self.depths.push(depth);
        Ok(self.nodes.len() as NodeId - 1)
    }

    fn too_deep(&self, token: usize) -> Error {
        let found = self.tokens[token].0.shown();
        self.error(token, found, format!("an expression that nests at most {DEPTH} levels"), None)
    }

    fn result(&self, node: NodeId) -> Type {
        self.nodes[node as usize].result
    }

    /// An expression of operators that bind at least as tightly as `level`.
    fn expression(&mut self, level: u8, depth: usize) -> Result<NodeId> {
        if depth > DEPTH {
            return Err(self.too_deep(self.at));
        }
        let first = self.at;
        let mut left = self.unary(depth)?;
        while let Some((found, operator)) = self.infix().filter(|(found, _)| *found >= level) {
            self.at += 1;
            let right = self.expression(found + 1, depth + 1)?;
            let children = [left, right];
            left = match operator {
                Infix::Or | Infix::And => self.connective(first, operator, left, right)?,
                Infix::Compare(comparison) => {
                    self.push(first, Kind::Compare(comparison, left, right), Type::Boolean, &children, false)?
                }
                Infix::Arithmetic(operation) => self.push(
                    first,
                    Kind::Arithmetic(operation, left, right),
                    Type::Number,
                    &children,
                    false,
                )?,
            };
        }
        Ok(left)
    }

    fn infix(&self) -> Option<(u8, Infix)> {
        let Token::Symbol(symbol) = self.peek() else { return None };
        Some(match *symbol {
            "or" => (0, Infix::Or),
            "and" => (1, Infix::And),
            "=" => (2, Infix::Compare(Comparison::Equal)),
            "!=" => (2, Infix::Compare(Comparison::NotEqual)),
            "<" => (3, Infix::Compare(Comparison::Less)),
            "<=" => (3, Infix::Compare(Comparison::LessOrEqual)),
            ">" => (3, Infix::Compare(Comparison::Greater)),
            ">=" => (3, Infix::Compare(Comparison::GreaterOrEqual)),
            "+" => (4, Infix::Arithmetic(Operation::Add)),
            "-" => (4, Infix::Arithmetic(Operation::Subtract)),
            "*" => (5, Infix::Arithmetic(Operation::Multiply)),
            "div" => (5, Infix::Arithmetic(Operation::Divide)),
            "mod" => (5, Infix::Arithmetic(Operation::Modulo)),
            _ => return None,
        })
    }

    /// `and` and `or` take any number of operands, so that a long chain is not a deep tree.
    fn connective(&mut self, first: usize, operator: Infix, left: NodeId, right: NodeId) -> Result<NodeId> {
        let end = self.tokens[self.at - 1].1.end as u32;
        let positional = self.nodes[right as usize].positional;
        let depth = self.depths[right as usize] + 1;
        let begins = self.tokens[first].1.start as u32;
        let node = &mut self.nodes[left as usize];
        let same = node.range.0 == begins;
        match (&operator, &mut node.kind) {
            (Infix::Or, Kind::Or(operands)) | (Infix::And, Kind::And(operands)) if same => {
                operands.push(right)
            }
            (Infix::Or, _) => {
                return self.push(first, Kind::Or(vec![left, right]), Type::Boolean, &[left, right], false);
            }
            _ => return self.push(first, Kind::And(vec![left, right]), Type::Boolean, &[left, right], false),
        }
        node.range.1 = end;
        node.positional |= positional;
        let deepest = self.depths[left as usize].max(depth);
        if deepest > DEPTH {
            return Err(self.too_deep(first));
        }
        self.depths[left as usize] = deepest;
        Ok(left)
    }

    fn unary(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let mut minus = 0;
        while self.take("-") {
            minus += 1;
        }
        let mut node = self.union(depth)?;
        // An even number of signs still makes a number of the operand.
        let times = if minus > 0 { 2 - minus % 2 } else { 0 };
        for _ in 0..times {
            node = self.push(first, Kind::Negate(node), Type::Number, &[node], false)?;
        }
        Ok(node)
    }

    fn union(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let node = self.path(depth)?;
        if !self.is("|") {
            return Ok(node);
        }
        let mut operands = vec![node];
        self.expect_nodes(node, first, "`|`")?;
        while self.take("|") {
            let start = self.at;
            let operand = self.path(depth)?;
            self.expect_nodes(operand, start, "`|`")?;
            operands.push(operand);
        }
        let children = operands.clone();
        self.push(first, Kind::Union(operands), Type::Nodes, &children, false)
    }

    fn expect_nodes(&self, node: NodeId, token: usize, taker: &str) -> Result<()> {
        match self.result(node) {
            Type::Nodes => Ok(()),
            other => {
                let expected = format!("a node-set, which is what {taker} takes");
                Err(self.error(token, other.word().to_owned(), expected, None))
            }
        }
    }

    /// A location path, or a primary expression with what may follow it.
    fn path(&mut self, depth: usize) -> Result<NodeId> {
        let first = self.at;
        let primary = match self.peek() {
            Token::Symbol("(") => {
                self.at += 1;
                let inner = self.expression(0, depth + 1)?;
                self.expect(")")?;
                inner
            }
            Token::Literal(text) => {
                let kind = Kind::Literal((*text).into());
                self.at += 1;
                self.push(first, kind, Type::String, &[], false)?
            }
            Token::Number(number) => {
                let kind = Kind::Number(*number);
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
            // A lone `/` is the document node.
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
        // The context of predicates is their own; only where the path starts is it the expression's.
        let positional = inner.is_some_and(|inner| self.nodes[inner as usize].positional);
        let starts = match &start {
            Start::Nodes(_, predicates) => predicates.to_vec(),
            _ => Vec::new(),
        };
        let predicates = steps.0.iter().flat_map(|step| step.predicates.iter());
        let children: Vec<NodeId> = inner.into_iter().chain(starts).chain(predicates.copied()).collect();
        let path = Path { start, steps: steps.0.into_boxed_slice() };
        let node = self.push(first, Kind::Path(path), Type::Nodes, &children, false)?;
        self.nodes[node as usize].positional = positional;
        Ok(node)
    }

    fn at_step(&self, distance: usize) -> bool {
        matches!(
            self.peek_after(distance),
            Token::Name(..) | Token::AnyOf(_) | Token::Any | Token::Symbol("." | ".." | "@")
        )
    }

    /// What follows a path's first step: `/` or `//`, and a step, any number of times.
    fn rest(&mut self, steps: &mut Steps, depth: usize) -> Result<()> {
        loop {
            if self.take("//") {
                steps.push(
                    Step { axis: Axis::DescendantOrSelf, test: Test::Node, predicates: [].into() },
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
                steps.push(Step { axis, test: Test::Node, predicates: [].into() }, false);
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
            _ => {
                let known = matches!(name, "following" | "preceding" | "namespace");
                let kind = if known { "axis" } else { "unknown axis" };
                let expected = "child, descendant, descendant-or-self, self, attribute, parent, ancestor, \
                                ancestor-or-self, following-sibling or preceding-sibling";
                return Err(self.error(self.at, format!("the {kind} `{name}`"), expected.into(), None));
            }
        })
    }

    fn test(&mut self) -> Result<Test> {
        let token = self.at;
        let test = match *self.peek() {
            Token::Any => Test::Any,
            Token::AnyOf(prefix) => Test::Namespace(self.namespace(prefix)?),
            Token::Name(prefix, local) if *self.peek_after(1) == Token::Symbol("(") => {
                self.at += 2;
                let test = match (prefix, local) {
                    ("", "node") => Test::Node,
                    ("", "text") => Test::Text,
                    ("", "comment") => Test::Comment,
                    ("", "processing-instruction") => match *self.peek() {
                        Token::Literal(target) => {
                            self.at += 1;
                            Test::Instruction(Some(target.into()))
                        }
                        _ => Test::Instruction(None),
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
                Test::Name { namespace, local: local.into() }
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
            let found = match name {
                "id" if prefix.is_empty() => "the function `id`, which needs a DTD".to_owned(),
                _ => format!("the unknown function `{shown}`"),
            };
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
        self.push(first, Kind::Call(function, arguments.into()), result, &children, positional)
    }
}

fn is_node_type(prefix: &str, name: &str) -> bool {
    prefix.is_empty() && matches!(name, "node" | "text" | "comment" | "processing-instruction")
}

/// Steps, simplified as they are added where that keeps their meaning.
#[derive(Default)]
struct Steps(Vec<Step>);

impl Steps {
    fn push(&mut self, step: Step, positional: bool) {
        let bare =
            |step: &Step, axis| step.axis == axis && step.test == Test::Node && step.predicates.is_empty();
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
            // `//b` is descendant::b, unless a predicate counts: `//b[2]` counts per parent.
            *last = Step { axis: Axis::Descendant, ..step };
        } else {
            self.0.push(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<XPath> {
        parse(text, &[("p", "urn:p")], &Limits::default())
    }

    fn message(text: &str) -> String {
        read(text).map(|_| "accepted".to_owned()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn expressions_are_read() {
        for text in [
            "/",
            "a",
            "//*",
            "a/b//c/@d",
            "@*",
            "//p:*[@p:x]",
            "(//b)[2]/c",
            "a[1][@b='x' and not(c) or 3 * -2 > count(d)]",
            "* * *",
            "div div mod",
            "and and or",
            "//a[text()='x']/following-sibling::b[last()]",
            "processing-instruction('x')|comment()",
            "- - 1",
            "'a' = \"b\"",
            "substring(string(), 1, 2)",
            "self::node()[.=..]",
            "1.5+.5-2.",
            "xml:lang | @xml:lang",
            "string-length(normalize-space(.)) mod 2 = 1",
        ] {
            assert_eq!(message(text), "accepted", "{text}");
        }
    }

    #[test]
    fn errors_say_where_and_why() {
        for (text, place, reason) in [
            ("", "column 1", "expected an expression, found the end of the text"),
            ("//a[", "column 5", "expected an expression"),
            ("//a]", "column 4", "expected an operator or the end of the text, found `]`"),
            ("//a b", "column 5", "expected an operator or the end of the text, found `b`"),
            ("q:a", "column 1", "the unknown prefix `q`"),
            ("//q:*", "column 3", "the unknown prefix `q`"),
            ("foo(1)", "column 1", "the unknown function `foo`"),
            ("contain(a, 'b')", "column 1", "did you mean `contains`?"),
            ("not()", "column 1", "expected 1 argument for not(), found 0 arguments"),
            ("concat('a')", "column 1", "at least 2 arguments"),
            ("$x", "column 1", "a variable"),
            ("id('a')", "column 1", "the function `id`"),
            ("a/following::b", "column 3", "the axis `following`"),
            ("a/preceding::b", "column 3", "the axis `preceding`"),
            ("count(1)", "column 7", "a node-set, which is what count() takes, found a number"),
            ("1 | a", "column 1", "a node-set"),
            ("'a'[1]", "column 1", "a node-set"),
            ("a[b", "column 4", "expected `]`"),
            ("a/'b'", "column 3", "expected a step"),
            ("'abc", "column 1", "a closing '"),
            ("for $x in a return b", "column 5", "without variables"),
            ("if (a) then b else c", "column 8", "found `then`"),
            ("some(a)", "column 1", "the unknown function `some`"),
            ("a eq b", "column 3", "found `eq`"),
            ("a#b", "column 2", "found `#`"),
            ("a/count(b)", "column 3", "the function `count` as a step"),
            ("p:", "column 3", "a name after the prefix"),
            ("//", "column 3", "expected a step"),
        ] {
            let message = message(text);
            assert!(message.contains(place) && message.contains(reason), "{text}: {message}");
        }
    }

    #[test]
    fn nesting_is_bounded_and_chains_are_not_nesting() {
        let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
        assert!(parse(&deep, &[], &Limits { xpath: usize::MAX, ..Limits::default() }).is_err());
        assert!(message(&format!("{}1", "(1 + ".repeat(300))).contains("nests at most"));
        assert!(message(&vec!["1"; 300].join("+")).contains("nests at most"));
        for chain in [vec!["a"; 5000].join(" or "), vec!["a"; 5000].join("|"), vec!["a"; 5000].join("/")] {
            assert_eq!(message(&chain), "accepted");
        }
        let long = "a".repeat(100_000);
        assert!(message(&long).contains("limit `xpath`"));
    }

    #[test]
    fn descendants_are_one_step_unless_counted() {
        let steps = |text: &str| match &read(text).unwrap().node(0).kind {
            Kind::Path(path) => path.steps.iter().map(|step| step.axis).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(steps("//b"), [Axis::Descendant]);
        assert_eq!(steps("./a/."), [Axis::Child]);
        let last = |text: &str| {
            let xpath = read(text).unwrap();
            match &xpath.node(xpath.root()).kind {
                Kind::Path(path) => path.steps.len(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            (last("//b[2]"), last("//b[@x]"), last("//b[position() < 2]"), last("//b[c[1]]")),
            (2, 1, 2, 1)
        );
    }
}
