//! How is an expression read from JSON?

use jiter::{Jiter, JiterError, Peek};

use super::members::Members;
use crate::error::{Error, Result, shorten};
use crate::expression::elements::Quantifier;
use crate::expression::names::{IT, check_name};
use crate::expression::reader::number;
use crate::expression::term::{DEEPEST, Term};
use crate::expression::tree::{Assembler, Connective, Expression, TruthTest};
use crate::limits::{self, Limits};
use crate::value::{CONSTANT_KEYWORDS, ConstantType, Value};

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

/// A connective whose children are being read.
enum Frame {
    Not,
    Is(TruthTest),
    Many { connective: Connective, children: usize, count: u32 },
}

struct Reader<'a> {
    json: Jiter<'a>,
    limits: &'a Limits,
    assembler: Assembler,
    frames: Vec<Frame>,
    /// How many lists enclose the expression being read.
    lists: usize,
}

impl Reader<'_> {
    fn expression(&mut self) -> Result<()> {
        'child: loop {
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
                        continue 'child;
                    }
                    let connective = match key.as_deref() {
                        Some("not") => {
                            self.frames.push(Frame::Not);
                            continue 'child;
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
                                return Err(self.wrong("an array of expressions"));
                            }
                            let first = self.json.known_array().map_err(|error| self.malformed(&error))?;
                            self.frames.push(Frame::Many { connective, children: 0, count: 0 });
                            if first.is_some() {
                                continue 'child;
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
            // A child is complete: give it to the connectives it may complete in turn.
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
                    Some(Frame::Many { connective, children, count }) => {
                        *children += 1;
                        *count += self.assembler.absorb(*connective);
                        let (connective, children, count) = (*connective, *children, *count);
                        let next = self.json.array_step().map_err(|error| self.malformed(&error))?;
                        if next.is_some() {
                            continue 'child;
                        }
                        self.close(connective, children, count)?;
                    }
                }
            }
        }
    }

    /// Ends a connective after its array has been read and its children absorbed.
    fn close(&mut self, connective: Connective, children: usize, count: u32) -> Result<()> {
        self.frames.pop();
        match (connective, children, count) {
            (Connective::Xor | Connective::Xnor, given, _) if given != 2 => {
                let message = format!("exactly two expressions in `xor` or `xnor`, not {given}");
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
            _ => Err(self.wrong("a string, a number, `true`, `false` or a typed constant")),
        }
    }

    /// A typed constant such as `{"date": "2026-01-02"}`.
    fn typed_value(&mut self) -> Result<Value> {
        let expected =
            || format!("an object of one member, which is one of {}", CONSTANT_KEYWORDS.join(", "));
        let keyword = self.json.known_object().map(|keyword| keyword.map(str::to_owned));
        let keyword = keyword.map_err(|error| self.malformed(&error))?;
        let Some(constant_type) = keyword.as_deref().and_then(ConstantType::from_keyword) else {
            return Err(self.wrong(&expected()));
        };
        let text = self.string("the constant's text as a string")?;
        let value = constant_type.read(&text);
        let value =
            value.map_err(|reason| Error::expression(format!("{reason} (before {})", self.place())))?;
        let next = self.json.next_key().map(|key| key.is_some());
        match next.map_err(|error| self.malformed(&error))? {
            true => Err(self.wrong(&expected())),
            false => Ok(value),
        }
    }

    /// Reads a term at a depth of nesting.
    fn term(&mut self, depth: usize) -> Result<Term> {
        const EXPECTED: &str = "a term: an object with `attribute`, `value`, or `function` and `arguments`";
        limits::check("nesting of a term", "term_depth", depth, self.limits.term_depth.min(DEEPEST))?;
        if self.peek()? != Peek::Object {
            return Err(self.wrong(EXPECTED));
        }
        let (mut plain, mut function, mut arguments, mut type_name) = (None, None, None, None);
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
                "type" => type_name.replace(self.string("the type's name as a string")?).is_some(),
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
            (Some(plain), None, None) if type_name.is_none() => return Ok(plain),
            (None, Some(function), Some(arguments)) => (function, arguments),
            _ => return Err(self.wrong(EXPECTED)),
        };
        let term = Term::named(&function, type_name.as_deref(), arguments, self.limits);
        term.map_err(|error| self.place_error(error))
    }

    /// Reads the condition on the elements of a list.
    fn inner(&mut self) -> Result<Expression> {
        let allowed = self.limits.element_depth.min(crate::expression::elements::DEEPEST);
        limits::check("nesting of `any`, `all` and `none`", "element_depth", self.lists + 1, allowed)?;
        let outer = (std::mem::take(&mut self.assembler), std::mem::take(&mut self.frames));
        self.lists += 1;
        self.expression()?;
        self.lists -= 1;
        let inner = std::mem::take(&mut self.assembler).finish();
        (self.assembler, self.frames) = outer;
        Ok(inner)
    }

    /// Adds the position to an error about meaning.
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

    /// An object that maps prefixes to namespaces.
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
