//! How is an expression written as JSON, for programs to make and read?
//!
//! The form: `true` or `false`; `{"and": [..]}`, `{"or": [..]}`, `{"not": x}`, `{"xor": [x, y]}`,
//! `{"xnor": [x, y]}`; `{"is true": x}`, `{"is not unknown": x}` and the like; and a predicate as an object with `attribute`, `operator` (spelled as in
//! text), `value` or `values`, and `weight` or `weights` where they differ from 1. A question to a
//! document is an object with `xpath`, `namespaces` where it has prefixes, and `weight`.
//!
//! A predicate of a term has `term` instead of `attribute`, and one that compares two terms has `right`
//! instead of `value`. A term is `{"attribute": name}`, `{"value": v}`, or `{"function": name, "arguments":
//! [..]}`, with `type` for `cast`.

use std::fmt::Write;
use std::sync::Arc;

use jiter::{Jiter, JiterError, Peek};

use super::elements::{Elements, Quantifier, read_inner};
use super::parse::number;
use super::predicate::{Operand, Operator, Predicate, Test};
use super::term::{Comparison, DEEPEST, Function, IT, Term, check_name, is_hidden};
use super::tree::{Assembler, Connective, Expression, Node, TruthTest};
use super::xpath::XPathKey;
use crate::error::shorten;
use crate::error::{Error, Result};
use crate::limits::{self, Limits};
use crate::value::{LITERAL_WORDS, LiteralKind, Value, ValueRef};

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
        for (position, operand) in expression.operands_reversed(index, &starts).enumerate() {
            if position > 0 {
                pieces.push(Piece::Text(","));
            }
            pieces.push(Piece::Node(operand));
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
        // What was written by an expression can be read.
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
    let (key, values): (_, &[&Value]) = match predicate.test() {
        Test::Exists | Test::IsNull => ("", &[]),
        Test::Equal(value)
        | Test::Less(value)
        | Test::AtMost(value)
        | Test::Greater(value)
        | Test::AtLeast(value) => ("value", &[value]),
        Test::Between(low, high) => ("values", &[low, high]),
        Test::In(values) => ("values", &values.iter().collect::<Vec<_>>()),
        Test::Like(text) | Test::StartsWith(text) | Test::EndsWith(text) | Test::Contains(text) => {
            ("value", &[&Value::String(text.clone())])
        }
        Test::Matches(pattern) => ("value", &[&Value::String(pattern.text().clone())]),
    };
    match key {
        "value" => {
            out.push_str(r#","value":"#);
            write_value(out, values[0].as_ref());
        }
        "values" => {
            out.push_str(r#","values":["#);
            for (position, value) in values.iter().enumerate() {
                out.push_str(if position > 0 { "," } else { "" });
                write_value(out, value.as_ref());
            }
            out.push(']');
        }
        _ => {}
    }
    match predicate.weights() {
        None => {}
        Some(weights) if matches!(predicate.test(), Test::In(_)) => {
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

/// Writes what a predicate asks about.
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

/// Writes a term, which nests only so deep.
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
            if let Function::Cast(kind) = function {
                let _ = write!(out, r#","type":"{}""#, kind.name());
            }
            out.push('}');
        }
    }
}

/// Writes a value as JSON.
pub(crate) fn write_value(out: &mut String, value: ValueRef<'_>) {
    match value {
        ValueRef::String(text) => write_string(out, text),
        other => {
            let _ = match other.worded() {
                Some((word, text)) => write!(out, r#"{{"{word}":"{text}"}}"#),
                None => write!(out, "{other}"),
            };
        }
    }
}

/// Writes a JSON string.
pub(crate) fn write_string(out: &mut String, text: &str) {
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

/// Reads an expression from its JSON form.
pub fn from_json(text: &str, limits: &Limits) -> Result<Expression> {
    limits::check("bytes of an expression's JSON form", "text", text.len(), limits.text)?;
    let mut reader = Reader {
        json: Jiter::new(text.as_bytes()),
        limits,
        assembler: Assembler::default(),
        frames: Vec::new(),
        lists: 0,
    };
    reader.expression()?;
    reader.json.finish().map_err(|error| reader.malformed(&error))?;
    let expression = reader.assembler.finish();
    expression.check(limits)?;
    Ok(expression)
}

/// A connective whose operands are being read.
enum Frame {
    Not,
    Is(TruthTest),
    Many { connective: Connective, operands: usize, count: u32 },
}

struct Reader<'a> {
    json: Jiter<'a>,
    limits: &'a Limits,
    assembler: Assembler,
    frames: Vec<Frame>,
    /// How many lists' elements the expression being read is about.
    lists: usize,
}

/// The members of a predicate's object as they are read.
#[derive(Default)]
struct Members {
    attribute: Option<String>,
    elements: Option<(Quantifier, Arc<str>)>,
    inner: Option<Expression>,
    term: Option<Term>,
    right: Option<Term>,
    operator: Option<String>,
    value: Option<Value>,
    values: Option<Vec<Value>>,
    weight: Option<f64>,
    weights: Option<Vec<f64>>,
    xpath: Option<String>,
    namespaces: Option<Vec<(String, String)>>,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<()> {
        'operand: loop {
            limits::check("operators and predicates", "nodes", self.assembler.len(), self.limits.nodes)?;
            limits::check("nesting of an expression", "depth", self.frames.len(), self.limits.depth)?;
            let peek = self.peek()?;
            match peek {
                Peek::True | Peek::False => {
                    let value = self.json.known_bool(peek).map_err(|error| self.malformed(&error))?;
                    self.assembler.constant(value);
                }
                Peek::Object => {
                    let key = self.json.known_object().map(|key| key.map(str::to_owned));
                    let key = key.map_err(|error| self.malformed(&error))?;
                    if let Some(test) = key.as_deref().and_then(TruthTest::from_spelling) {
                        self.frames.push(Frame::Is(test));
                        continue 'operand;
                    }
                    let connective = match key.as_deref() {
                        Some("not") => {
                            self.frames.push(Frame::Not);
                            continue 'operand;
                        }
                        Some("and") => Some(Connective::And),
                        Some("or") => Some(Connective::Or),
                        Some("xor") => Some(Connective::Xor),
                        Some("xnor") => Some(Connective::Xnor),
                        _ => None,
                    };
                    match (connective, key) {
                        (Some(connective), _) => {
                            if self.peek()? != Peek::Array {
                                return Err(self.wrong("an array of operands"));
                            }
                            let first = self.json.known_array().map_err(|error| self.malformed(&error))?;
                            self.frames.push(Frame::Many { connective, operands: 0, count: 0 });
                            if first.is_some() {
                                continue 'operand;
                            }
                            self.close(connective, 0, 0)?;
                        }
                        (None, Some(key)) => self.predicate(key)?,
                        (None, None) => {
                            return Err(
                                self.wrong("an object with `attribute` and `operator`, or one connective")
                            );
                        }
                    }
                }
                _ => return Err(self.wrong("an object, `true` or `false`")),
            }
            // An operand is complete: give it to the connectives it may complete in turn.
            loop {
                match self.frames.last_mut() {
                    None => return Ok(()),
                    Some(Frame::Not) => {
                        self.frames.pop();
                        self.assembler.not();
                        self.end_object()?;
                    }
                    Some(Frame::Is(test)) => {
                        let test = *test;
                        self.frames.pop();
                        self.assembler.is(test).map_err(|error| self.place_error(error))?;
                        self.end_object()?;
                    }
                    Some(Frame::Many { connective, operands, count }) => {
                        *operands += 1;
                        *count += self.assembler.absorb(*connective);
                        let (connective, operands, count) = (*connective, *operands, *count);
                        let next = self.json.array_step().map_err(|error| self.malformed(&error))?;
                        if next.is_some() {
                            continue 'operand;
                        }
                        self.close(connective, operands, count)?;
                    }
                }
            }
        }
    }

    /// Ends a connective: its array is read, its operands are absorbed.
    fn close(&mut self, connective: Connective, operands: usize, count: u32) -> Result<()> {
        self.frames.pop();
        match (connective, operands, count) {
            (Connective::Xor | Connective::Xnor, given, _) if given != 2 => {
                let message = format!("exactly two operands of `xor` or `xnor`, not {given}");
                return Err(self.wrong(&message));
            }
            (Connective::And, 0, _) => self.assembler.constant(true),
            (Connective::Or, 0, _) => self.assembler.constant(false),
            (_, _, 1) => {}
            _ => self.assembler.connect(connective, count),
        }
        self.end_object()
    }

    fn end_object(&mut self) -> Result<()> {
        let key = self.json.next_key().map(|key| key.map(shorten));
        match key.map_err(|error| self.malformed(&error))? {
            None => Ok(()),
            Some(key) => Err(self.wrong(&format!("one connective in an object, not `{key}` beside it"))),
        }
    }

    fn predicate(&mut self, first: String) -> Result<()> {
        let mut members = Members::default();
        let mut key = Some(first);
        while let Some(name) = key {
            let repeated = match name.as_str() {
                "attribute" => {
                    let text = self.string("the attribute's name as a string")?;
                    members.attribute.replace(text).is_some()
                }
                "any" | "all" | "none" => {
                    let quantifier = Quantifier::from_name(&name).unwrap_or(Quantifier::Any);
                    let list = match self.peek()? {
                        Peek::Object => match self.term(1)? {
                            Term::Attribute(list) => list,
                            _ => return Err(self.wrong("the name of a list")),
                        },
                        _ => self.string("the list's name as a string")?.into(),
                    };
                    members.elements.replace((quantifier, list)).is_some()
                }
                "where" => {
                    let inner = self.inner()?;
                    members.inner.replace(inner).is_some()
                }
                "term" => {
                    let term = self.term(1)?;
                    members.term.replace(term).is_some()
                }
                "right" => {
                    let term = self.term(1)?;
                    members.right.replace(term).is_some()
                }
                "operator" => {
                    let text = self.string("the operator as a string")?;
                    members.operator.replace(text).is_some()
                }
                "value" => {
                    let value = self.value()?;
                    members.value.replace(value).is_some()
                }
                "values" => {
                    let values = self.array(Self::value)?;
                    members.values.replace(values).is_some()
                }
                "weight" => {
                    let weight = self.weight()?;
                    members.weight.replace(weight).is_some()
                }
                "weights" => {
                    let weights = self.array(Self::weight)?;
                    members.weights.replace(weights).is_some()
                }
                "xpath" => {
                    let text = self.string("an XPath expression as a string")?;
                    members.xpath.replace(text).is_some()
                }
                "namespaces" => {
                    let namespaces = self.namespaces()?;
                    members.namespaces.replace(namespaces).is_some()
                }
                other => {
                    return Err(self.wrong(&format!(
                        "`attribute`, `term`, `operator`, `value`, `values`, `right`, `weight`, `weights`, `xpath`, \
                         `namespaces`, `any`, `all`, `none`, `where` or a connective, not `{}`",
                        shorten(other)
                    )));
                }
            };
            if repeated {
                return Err(self.wrong(&format!("`{name}` only once")));
            }
            key = self
                .json
                .next_key()
                .map(|key| key.map(str::to_owned))
                .map_err(|error| self.malformed(&error))?;
        }
        let predicate = members.into_predicate(self.limits).map_err(|error| self.place_error(error))?;
        self.assembler.predicate(predicate);
        Ok(())
    }

    fn peek(&mut self) -> Result<Peek> {
        self.json.peek().map_err(|error| self.malformed(&error))
    }

    fn string(&mut self, expected: &str) -> Result<String> {
        if self.peek()? != Peek::String {
            return Err(self.wrong(expected));
        }
        let text = self.json.known_str().map(str::to_owned);
        text.map_err(|error| self.malformed(&error))
    }

    fn value(&mut self) -> Result<Value> {
        let peek = self.peek()?;
        match peek {
            Peek::String => self.string("a string").map(|text| Value::String(text.into())),
            Peek::True | Peek::False => {
                self.json.known_bool(peek).map(Value::Boolean).map_err(|error| self.malformed(&error))
            }
            _ if peek.is_num() => {
                let text = self.number_text(peek)?;
                number(&text)
                    .map_err(|reason| Error::expression(format!("{reason} (before {})", self.place())))
            }
            Peek::Object => self.typed_value(),
            _ => Err(self.wrong("a string, a number, `true`, `false` or a typed literal")),
        }
    }

    /// A literal such as `{"date": "2026-01-02"}`.
    fn typed_value(&mut self) -> Result<Value> {
        let expected = || format!("an object of one member, which is one of {}", LITERAL_WORDS.join(", "));
        let word = self.json.known_object().map(|word| word.map(str::to_owned));
        let word = word.map_err(|error| self.malformed(&error))?;
        let Some(kind) = word.as_deref().and_then(LiteralKind::from_word) else {
            return Err(self.wrong(&expected()));
        };
        let text = self.string("the literal's text as a string")?;
        let value = kind.read(&text);
        let value =
            value.map_err(|reason| Error::expression(format!("{reason} (before {})", self.place())))?;
        let next = self.json.next_key().map(|key| key.is_some());
        match next.map_err(|error| self.malformed(&error))? {
            true => Err(self.wrong(&expected())),
            false => Ok(value),
        }
    }

    /// Reads a term at a level of nesting.
    fn term(&mut self, depth: usize) -> Result<Term> {
        const EXPECTED: &str = "a term: an object with `attribute`, `value`, or `function` and `arguments`";
        limits::check("nesting of a term", "term_depth", depth, self.limits.term_depth.min(DEEPEST))?;
        if self.peek()? != Peek::Object {
            return Err(self.wrong(EXPECTED));
        }
        let (mut plain, mut function, mut arguments, mut kind) = (None, None, None, None);
        let mut key = self.json.known_object().map(|key| key.map(str::to_owned));
        while let Some(name) = key.map_err(|error| self.malformed(&error))? {
            let repeated = match name.as_str() {
                "attribute" => {
                    let name = self.string("the attribute's name as a string")?;
                    check_name(&name, self.limits).map_err(|error| self.place_error(error))?;
                    plain.replace(Term::Attribute(name.into())).is_some()
                }
                "value" => plain.replace(Term::Constant(self.value()?)).is_some(),
                "it" if self.lists > 0 => {
                    if self.peek()? != Peek::True {
                        return Err(self.wrong("`true` for the element of the list"));
                    }
                    self.json.known_bool(Peek::True).map_err(|error| self.malformed(&error))?;
                    plain.replace(Term::Attribute(IT.into())).is_some()
                }
                "function" => function.replace(self.string("the function's name as a string")?).is_some(),
                "type" => kind.replace(self.string("the type's name as a string")?).is_some(),
                "arguments" => {
                    if self.peek()? != Peek::Array {
                        return Err(self.wrong("an array of terms"));
                    }
                    let mut terms = Vec::new();
                    let mut next = self.json.known_array().map_err(|error| self.malformed(&error))?;
                    while next.is_some() {
                        terms.push(self.term(depth + 1)?);
                        next = self.json.array_step().map_err(|error| self.malformed(&error))?;
                    }
                    arguments.replace(terms).is_some()
                }
                _ => return Err(self.wrong(EXPECTED)),
            };
            if repeated {
                return Err(self.wrong(&format!("`{name}` only once")));
            }
            key = self.json.next_key().map(|key| key.map(str::to_owned));
        }
        let (function, arguments) = match (plain, function, arguments) {
            (Some(plain), None, None) if kind.is_none() => return Ok(plain),
            (None, Some(function), Some(arguments)) => (function, arguments),
            _ => return Err(self.wrong(EXPECTED)),
        };
        let term = Term::named(&function, kind.as_deref(), arguments, self.limits);
        term.map_err(|error| self.place_error(error))
    }

    /// Reads what is asked of the elements of a list.
    fn inner(&mut self) -> Result<Expression> {
        let allowed = self.limits.element_depth.min(super::elements::DEEPEST);
        limits::check("nesting of `any`, `all` and `none`", "element_depth", self.lists + 1, allowed)?;
        let outer = (std::mem::take(&mut self.assembler), std::mem::take(&mut self.frames));
        self.lists += 1;
        self.expression()?;
        self.lists -= 1;
        let inner = std::mem::take(&mut self.assembler).finish();
        (self.assembler, self.frames) = outer;
        Ok(inner)
    }

    /// Adds the place to an error about what something means.
    fn place_error(&self, error: Error) -> Error {
        match error {
            Error::Expression(message) => Error::Expression(format!("{message} (before {})", self.place())),
            other => other,
        }
    }

    fn weight(&mut self) -> Result<f64> {
        let peek = self.peek()?;
        if !peek.is_num() {
            return Err(self.wrong("a weight, which is a number of at least 0"));
        }
        let text = self.number_text(peek)?;
        text.parse().map_err(|_| self.wrong("a weight, which is a number of at least 0"))
    }

    fn number_text(&mut self, peek: Peek) -> Result<String> {
        let text =
            self.json.known_number_bytes(peek).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        text.map_err(|error| self.malformed(&error))
    }

    fn array<T>(&mut self, item: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        if self.peek()? != Peek::Array {
            return Err(self.wrong("an array"));
        }
        let mut items = Vec::new();
        let mut next = self.json.known_array().map_err(|error| self.malformed(&error))?;
        while next.is_some() {
            items.push(item(self)?);
            limits::check("values of a set", "set", items.len(), self.limits.set)?;
            next = self.json.array_step().map_err(|error| self.malformed(&error))?;
        }
        Ok(items)
    }

    /// An object of prefixes and the namespaces they stand for.
    fn namespaces(&mut self) -> Result<Vec<(String, String)>> {
        const EXPECTED: &str = "an object of prefixes and namespaces";
        if self.peek()? != Peek::Object {
            return Err(self.wrong(EXPECTED));
        }
        let mut namespaces = Vec::new();
        let mut key = self.json.known_object().map(|key| key.map(str::to_owned));
        while let Some(prefix) = key.map_err(|error| self.malformed(&error))? {
            namespaces.push((prefix, self.string(EXPECTED)?));
            key = self.json.next_key().map(|key| key.map(str::to_owned));
        }
        Ok(namespaces)
    }

    fn place(&self) -> String {
        let place = self.json.current_position();
        format!("line {}, column {}", place.line, place.column)
    }

    fn wrong(&self, expected: &str) -> Error {
        Error::expression(format!("JSON form of an expression, {}: expected {expected}", self.place()))
    }

    fn malformed(&self, error: &JiterError) -> Error {
        let place = self.json.error_position(error.index);
        Error::expression(format!(
            "JSON form of an expression, line {}, column {}: {}",
            place.line, place.column, error.error_type
        ))
    }
}

impl Members {
    fn into_predicate(self, limits: &Limits) -> Result<Predicate> {
        if self.xpath.is_some() || self.namespaces.is_some() {
            return self.into_xpath(limits);
        }
        if self.elements.is_some() || self.inner.is_some() {
            return self.into_elements(limits);
        }
        let term = match (self.attribute, self.term) {
            (Some(attribute), None) => {
                check_name(&attribute, limits)?;
                Term::Attribute(attribute.into())
            }
            (None, Some(term)) => term,
            (None, None) => return Err(Error::expression("a predicate lacks `attribute` or `term`")),
            (Some(_), Some(_)) => {
                return Err(Error::expression(
                    "a predicate has `attribute` and `term`; it takes one of them",
                ));
            }
        };
        let operator = self.operator.ok_or_else(|| Error::expression("a predicate lacks `operator`"))?;
        if let Some(negated) = ["is unknown", "is not unknown"].iter().position(|known| operator == *known) {
            return Predicate::unknown(term, negated == 1, limits);
        }
        let Some((operator, negated)) = Operator::from_spelling(&operator) else {
            let known: Vec<_> = Operator::spellings().collect();
            let operator = shorten(&operator);
            return Err(Error::expression(format!(
                "`{operator}` is no operator; there are {}",
                known.join(", ")
            )));
        };
        if let Some(right) = self.right {
            let comparison = Comparison::from_spelling(operator.spelling(false));
            let alone = self.value.is_none() && self.values.is_none();
            let weighted = self.weight.is_some() || self.weights.is_some();
            return match (comparison, alone, weighted) {
                (_, false, _) => {
                    Err(Error::expression("a predicate has `right` and a value; it takes one of them"))
                }
                (_, _, true) => Err(Error::expression("a weight follows a constant or a set, never a term")),
                (None, ..) => {
                    let spelling = operator.spelling(negated);
                    Err(Error::expression(format!("`{spelling}` takes a constant, not a term")))
                }
                (Some(comparison), ..) => Predicate::comparison(term, comparison, negated, right, limits),
            };
        }
        let operand = match (self.value, self.values, operator) {
            (None, None, _) => Operand::Nothing,
            (Some(value), None, _) => Operand::One(value),
            (None, Some(values), Operator::Between) => {
                let count = values.len();
                let [low, high] = <[Value; 2]>::try_from(values)
                    .map_err(|_| Error::expression(format!("`between` takes two values, not {count}")))?;
                Operand::Range(low, high)
            }
            (None, Some(values), _) => Operand::Set(values),
            (Some(_), Some(_), _) => {
                return Err(Error::expression("a predicate has `value` and `values`; it takes one of them"));
            }
        };
        let weights = match (self.weight, self.weights) {
            (None, None) => Vec::new(),
            (Some(weight), None) if operator != Operator::In => vec![weight],
            (None, Some(weights)) if operator == Operator::In => weights,
            _ => {
                return Err(Error::expression(
                    "`in` takes `weights`, one per value; every other operator takes `weight`",
                ));
            }
        };
        Predicate::on(&term, operator, negated, operand, &weights, limits)
    }

    fn into_elements(self, limits: &Limits) -> Result<Predicate> {
        let others = self.attribute.is_some() || self.term.is_some() || self.right.is_some();
        let others = others || self.operator.is_some() || self.value.is_some() || self.values.is_some();
        match (self.elements, self.inner) {
            (Some((quantifier, list)), Some(inner)) if !others && self.weights.is_none() => {
                Predicate::elements(quantifier, &list, &inner, self.weight.as_slice(), limits)
            }
            _ => Err(Error::expression(
                "a question about elements has `any`, `all` or `none`, `where`, and beside them `weight` only",
            )),
        }
    }

    fn into_xpath(self, limits: &Limits) -> Result<Predicate> {
        let Members {
            attribute,
            elements: _,
            inner: _,
            term,
            right,
            operator,
            value,
            values,
            weight,
            weights,
            xpath,
            namespaces,
        } = self;
        let others =
            attribute.is_some() || term.is_some() || right.is_some() || operator.is_some() || value.is_some();
        let (Some(xpath), false) = (xpath, others || values.is_some() || weights.is_some()) else {
            let message =
                "a question to a document has `xpath`, and beside it `namespaces` and `weight` only";
            return Err(Error::expression(message));
        };
        let namespaces = namespaces.unwrap_or_default();
        let namespaces: Vec<(&str, &str)> =
            namespaces.iter().map(|(prefix, namespace)| (&**prefix, &**namespace)).collect();
        Predicate::xpath(&xpath, &namespaces, weight.as_slice(), limits).map_err(|error| match error {
            Error::Syntax(error) => Error::expression(format!("in `xpath`, {error}")),
            other => other,
        })
    }
}
