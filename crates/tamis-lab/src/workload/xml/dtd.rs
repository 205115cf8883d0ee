//! Reading the elements and attributes that a DTD declares.
//!
//! Supports declarations of elements and attributes, and parameter entities declared in the same
//! text. No other file is ever opened, and the size after replacing entities is bounded. General
//! entities and notations are skipped; conditional sections are errors.

use std::collections::HashMap;

use super::schema::{Content, Element, Particle, ParticleKind, Repeat, Schema};

/// The maximum size in bytes, with entities replaced.
const BYTES: usize = 4 << 20;
/// The maximum depth of references between entities, and of groups in a content model.
const DEPTH: usize = 64;
/// The most elements.
const ELEMENTS: usize = 10_000;

/// Reads a document type. Unless named, the root is the first element that no other may contain.
pub fn read(text: &str, root: Option<&str>) -> Result<Schema, String> {
    let mut reader = Reader { left: BYTES, ..Default::default() };
    reader.declarations(text, 0)?;
    reader.schema(root)
}

#[derive(Default)]
struct Reader {
    /// Parameter entities; those in other files have no text.
    entities: HashMap<String, Option<String>>,
    elements: Vec<(String, String)>,
    attributes: Vec<(String, Vec<String>)>,
    left: usize,
}

impl Reader {
    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        self.left = self.left.checked_sub(bytes).ok_or(format!("the document type exceeds {BYTES} bytes"))?;
        Ok(())
    }

    fn declarations(&mut self, text: &str, depth: usize) -> Result<(), String> {
        self.spend(text.len())?;
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            let line = || format!("line {}", text[..text.len() - rest.len()].matches('\n').count() + 1);
            if rest.is_empty() {
                return Ok(());
            }
            if let Some(after) = rest.strip_prefix("<!--") {
                rest = past(after, "-->").ok_or_else(|| format!("{}: a comment does not end", line()))?.1;
            } else if let Some(after) = rest.strip_prefix("<?") {
                rest = past(after, "?>").ok_or_else(|| format!("{}: an instruction does not end", line()))?.1;
            } else if rest.starts_with("<![") {
                return Err(format!("{}: conditional sections are not supported", line()));
            } else if rest.starts_with('%') {
                let (name, after) =
                    reference(rest).ok_or_else(|| format!("{}: `%` without a name", line()))?;
                let value = self.entity(name, depth).map_err(|error| format!("{}: {error}", line()))?;
                self.declarations(&value, depth + 1).map_err(|error| format!("in %{name}; {error}"))?;
                rest = after;
            } else if let Some(after) = rest.strip_prefix("<!") {
                let (inside, after) =
                    declaration(after).ok_or_else(|| format!("{}: a declaration does not end", line()))?;
                self.declaration(inside, depth).map_err(|error| format!("{}: {error}", line()))?;
                rest = after;
            } else {
                return Err(format!("{}: a declaration such as `<!ELEMENT a (b)>` is expected", line()));
            }
        }
    }

    fn declaration(&mut self, text: &str, depth: usize) -> Result<(), String> {
        let (keyword, rest) = token(text);
        match keyword {
            "ENTITY" => self.declare_entity(rest, depth),
            "NOTATION" => Ok(()),
            "ELEMENT" => {
                let text = self.replace(rest, depth, false)?;
                let (name, content) = token(&text);
                check_name(name)?;
                if self.elements.len() == ELEMENTS {
                    return Err(format!("there are more than {ELEMENTS} elements"));
                }
                self.elements.push((name.into(), content.trim().into()));
                Ok(())
            }
            "ATTLIST" => {
                let text = self.replace(rest, depth, false)?;
                let (element, rest) = token(&text);
                check_name(element)?;
                let names = attribute_names(rest)?;
                self.attributes.push((element.into(), names));
                Ok(())
            }
            other => Err(format!("`<!{other}` is no declaration")),
        }
    }

    /// Stores a parameter entity. The first declaration of a name counts.
    fn declare_entity(&mut self, text: &str, depth: usize) -> Result<(), String> {
        let Some(text) = text.trim_start().strip_prefix('%') else {
            return Ok(()); // a general entity
        };
        let (name, rest) = token(text);
        check_name(name)?;
        let value = match quoted(rest.trim_start()) {
            Some((value, _)) => Some(self.replace(value, depth, true)?),
            None if rest.trim_start().starts_with("SYSTEM") || rest.trim_start().starts_with("PUBLIC") => {
                None
            }
            None => return Err(format!("the entity %{name}; has no value in quotes")),
        };
        self.entities.entry(name.into()).or_insert(value);
        Ok(())
    }

    fn entity(&mut self, name: &str, depth: usize) -> Result<String, String> {
        if depth >= DEPTH {
            return Err(format!("entities refer to each other more than {DEPTH} deep"));
        }
        match self.entities.get(name) {
            Some(Some(value)) => {
                let value = value.clone();
                self.spend(value.len())?;
                Ok(value)
            }
            Some(None) => Err(format!("the entity %{name}; is in another file, which is never opened")),
            None => Err(format!("the entity %{name}; is not declared")),
        }
    }

    /// Replaces parameter entities in the text; within quotes only if `everywhere`.
    fn replace(&mut self, text: &str, depth: usize, everywhere: bool) -> Result<String, String> {
        let (mut result, mut rest, mut quote) = (String::with_capacity(text.len()), text, None);
        while let Some(next) = rest.chars().next() {
            let reference = reference(rest).filter(|_| everywhere || quote.is_none());
            if let Some((name, after)) = reference {
                let value = self.entity(name, depth)?;
                let value = self.replace(&value, depth + 1, everywhere)?;
                result.push(' ');
                result.push_str(&value);
                result.push(' ');
                rest = after;
                continue;
            }
            match quote {
                Some(open) if open == next => quote = None,
                None if next == '"' || next == '\'' => quote = Some(next),
                _ => {}
            }
            result.push(next);
            rest = &rest[next.len_utf8()..];
        }
        Ok(result)
    }

    fn schema(self, root: Option<&str>) -> Result<Schema, String> {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        for ((name, _), number) in self.elements.iter().zip(0..) {
            if numbers.insert(name, number).is_some() {
                return Err(format!("the element `{name}` is declared twice"));
            }
        }
        let mut elements = Vec::with_capacity(self.elements.len());
        for (name, content) in &self.elements {
            let content = content_model(content, &numbers)
                .map_err(|error| format!("the content of the element `{name}`: {error}"))?;
            elements.push(Element { name: name.as_str().into(), content, attributes: Vec::new() });
        }
        for (element, names) in &self.attributes {
            let number = numbers.get(element.as_str());
            let number =
                number.ok_or(format!("attributes of the element `{element}`, which is not declared"))?;
            let attributes = &mut elements[*number as usize].attributes;
            for name in names.iter().filter(|name| is_plain(name)) {
                if !attributes.iter().any(|known| **known == **name) {
                    attributes.push(name.as_str().into());
                }
            }
        }
        let number = |name| numbers.get(name).copied().ok_or(format!("the root `{name}` is not declared"));
        let root = root.map(number).transpose()?;
        Schema::new(elements, root)
    }
}

/// The text before and after the mark.
fn past<'t>(text: &'t str, mark: &str) -> Option<(&'t str, &'t str)> {
    text.split_once(mark)
}

/// A declaration up to its `>`, and the rest. A `>` in quotes does not end it.
fn declaration(text: &str) -> Option<(&str, &str)> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some((&text[..at], &text[at + 1..])),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// The name of the `%name;` at the start of the text, and the rest.
fn reference(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.strip_prefix('%')?.split_once(';')?;
    check_name(name).is_ok().then_some((name, rest))
}

fn token(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(|next: char| next.is_whitespace() || "(\"'".contains(next)).unwrap_or(text.len());
    text.split_at(end)
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| "\"'".contains(*first))?;
    text[1..].split_once(quote)
}

fn check_name(name: &str) -> Result<(), String> {
    let starts = name.starts_with(|first: char| first.is_alphabetic() || first == '_');
    let goes_on = name.chars().all(|next| next.is_alphanumeric() || "_-.".contains(next));
    match (starts && goes_on, name.contains(':')) {
        (true, _) => Ok(()),
        (_, true) => Err(format!("the name `{name}` has a prefix, and workloads do not support namespaces")),
        _ => Err(format!("{name:?} is not a name")),
    }
}

/// Whether an attribute needs no namespace. Others are left out.
fn is_plain(name: &str) -> bool {
    check_name(name).is_ok() && name != "xmlns"
}

/// The names of the attributes in an attribute list.
fn attribute_names(mut rest: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    loop {
        let (name, after) = token(rest);
        if name.is_empty() && after.is_empty() {
            return Ok(names);
        }
        if name.is_empty() {
            return Err("the name of an attribute is expected".into());
        }
        let (kind, after) = token(after);
        let after = after.trim_start();
        rest = match after.strip_prefix('(').filter(|_| kind.is_empty() || kind == "NOTATION") {
            Some(group) => past(group, ")").ok_or(format!("the values of @{name} do not end"))?.1,
            None if kind.is_empty() => return Err(format!("the attribute @{name} has no type")),
            None => after,
        };
        let (default, after) = token(rest);
        rest = match default {
            "#REQUIRED" | "#IMPLIED" => after,
            "" | "#FIXED" => quoted(after.trim_start()).ok_or(format!("@{name} has no default"))?.1,
            other => return Err(format!("@{name} has the default `{other}`, which is none")),
        };
        names.push(name.into());
    }
}

/// Reads `EMPTY`, `ANY` or a group.
fn content_model(text: &str, numbers: &HashMap<&str, u32>) -> Result<Content, String> {
    match text {
        "EMPTY" => return Ok(Content { text: false, particle: None }),
        "ANY" => {
            let all = (0..numbers.len() as u32)
                .map(|number| Particle::new(ParticleKind::Name(number), Repeat::Once));
            let particle = Particle::new(ParticleKind::Choice(all.collect()), Repeat::Any);
            return Ok(Content { text: true, particle: Some(particle) });
        }
        _ => {}
    }
    let mut model = Model { rest: text, text: false, numbers };
    let particle = model.particle(0)?;
    match model.rest.trim_start() {
        "" => Ok(Content { text: model.text, particle }),
        rest => Err(format!("`{}` follows its end", rest.chars().take(20).collect::<String>())),
    }
}

struct Model<'t> {
    rest: &'t str,
    text: bool,
    numbers: &'t HashMap<&'t str, u32>,
}

impl Model<'_> {
    /// Reads a name or a group with its repetition mark; `None` for text.
    fn particle(&mut self, depth: usize) -> Result<Option<Particle>, String> {
        if depth > DEPTH {
            return Err(format!("groups are nested more than {DEPTH} deep"));
        }
        self.rest = self.rest.trim_start();
        let kind = if self.take('(') {
            self.group(depth)?
        } else {
            let end = self.rest.find(|next: char| next.is_whitespace() || "(),|?*+".contains(next));
            let (name, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
            self.rest = rest;
            match (name, self.numbers.get(name)) {
                ("#PCDATA", _) => {
                    self.text = true;
                    None
                }
                (_, Some(number)) => Some(ParticleKind::Name(*number)),
                ("", None) => return Err("a name or `(` is expected".into()),
                (_, None) => return Err(format!("the element `{name}` is not declared")),
            }
        };
        let marks = [('?', Repeat::Optional), ('*', Repeat::Any), ('+', Repeat::Some)];
        let repeat =
            marks.into_iter().find(|(mark, _)| self.take(*mark)).map_or(Repeat::Once, |found| found.1);
        Ok(kind.map(|kind| Particle::new(kind, repeat)))
    }

    fn group(&mut self, depth: usize) -> Result<Option<ParticleKind>, String> {
        let (mut members, mut separator) = (Vec::new(), None);
        loop {
            members.extend(self.particle(depth + 1)?);
            self.rest = self.rest.trim_start();
            let Some(next) = self.rest.chars().next() else {
                return Err("a group does not end".into());
            };
            self.rest = &self.rest[next.len_utf8()..];
            match next {
                ')' => break,
                ',' | '|' if separator.is_none_or(|known| known == next) => separator = Some(next),
                _ => return Err(format!("`{next}` found where `,`, `|` or `)` of one kind is expected")),
            }
        }
        Ok(match (members.is_empty(), separator) {
            (true, _) => None,
            (false, Some('|')) => Some(ParticleKind::Choice(members)),
            (false, _) => Some(ParticleKind::Sequence(members)),
        })
    }

    fn take(&mut self, mark: char) -> bool {
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
