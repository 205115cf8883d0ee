//! What does a start tag say after its name?

use super::dtd::{Dtd, ENTITY_DEPTH, Entity, character, predefined};
use crate::xml::characters::{is_ncname, is_space};
use crate::xml::limits::UndeclaredEntities;

/// An attribute as written; its value still has its references.
#[derive(Debug, Clone, Copy)]
pub struct Written<'t> {
    pub name: &'t str,
    pub value: &'t str,
    /// Whether white space collapses, as declared.
    pub tokenised: bool,
}

/// Splits what follows a tag's name. A failure tells the offset and what is wrong.
pub fn split<'t>(raw: &'t str, attributes: &mut Vec<Written<'t>>) -> Result<(), (usize, &'static str)> {
    let bytes = raw.as_bytes();
    let skip = |mut at: usize| {
        while at < bytes.len() && is_space(bytes[at]) {
            at += 1;
        }
        at
    };
    let mut at = 0;
    loop {
        let start = skip(at);
        if start == bytes.len() {
            return Ok(());
        }
        if start == at {
            return Err((at, "white space is expected before an attribute"));
        }
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'=' && !is_space(bytes[end]) {
            end += 1;
        }
        at = skip(end);
        if bytes.get(at) != Some(&b'=') {
            return Err((start, "an attribute without `=`"));
        }
        at = skip(at + 1);
        let Some(quote) = bytes.get(at).copied().filter(|quote| matches!(quote, b'"' | b'\'')) else {
            return Err((at, "an attribute's value without quotes"));
        };
        let Some(length) = memchr::memchr(quote, &bytes[at + 1..]) else {
            return Err((at, "an attribute's value without its closing quote"));
        };
        let value = &raw[at + 1..at + 1 + length];
        if let Some(less) = memchr::memchr(b'<', value.as_bytes()) {
            return Err((at + 1 + less, "`<` stands inside an attribute's value"));
        }
        attributes.push(Written { name: &raw[start..end], value, tokenised: false });
        at += length + 2;
    }
}

/// Appends the value of an attribute, references resolved and white space normalised (XML 1.0, 3.3.3).
/// `budget` is what entities may still expand to.
pub fn append_value(
    written: &Written<'_>,
    dtd: &Dtd,
    budget: &mut usize,
    values: &mut String,
) -> Result<(), Fault> {
    let start = values.len();
    append(written.value, dtd, budget, values, 0)?;
    if written.tokenised {
        let collapsed: Vec<&str> = values[start..].split(' ').filter(|word| !word.is_empty()).collect();
        let collapsed = collapsed.join(" ");
        values.truncate(start);
        values.push_str(&collapsed);
    }
    Ok(())
}

/// Why a reference cannot be resolved.
#[derive(Debug)]
pub enum Fault {
    Malformed(String),
    Expansion,
}

impl From<String> for Fault {
    fn from(message: String) -> Fault {
        Fault::Malformed(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Fault {
        Fault::Malformed(message.to_owned())
    }
}

fn append(text: &str, dtd: &Dtd, budget: &mut usize, values: &mut String, depth: usize) -> Result<(), Fault> {
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'&', b'\t', b'\n', rest.as_bytes()) {
        values.push_str(&rest[..at]);
        rest = &rest[at..];
        if !rest.starts_with('&') {
            values.push(' ');
            rest = &rest[1..];
            continue;
        }
        let end = rest.find(';').ok_or_else(|| Fault::Malformed("a reference without `;`".into()))?;
        let name = &rest[1..end];
        rest = &rest[end + 1..];
        if let Some(number) = name.strip_prefix('#') {
            values.push(character(number).map_err(Fault::Malformed)?);
        } else if let Some(c) = predefined(name) {
            values.push(c);
        } else {
            let Some(replacement) = resolve(name, dtd, budget)? else {
                if dtd.undeclared == UndeclaredEntities::Keep {
                    values.push('&');
                    values.push_str(name);
                    values.push(';');
                }
                continue;
            };
            if depth == ENTITY_DEPTH {
                return Err(Fault::Malformed(too_deep(name)));
            }
            if replacement.contains('<') {
                return Err(Fault::Malformed(format!(
                    "the entity `{name}` brings `<` into an attribute's value"
                )));
            }
            // The document's own line ends are normalised, a reference to a character may bring others.
            match replacement.contains('\r') {
                true => append(&replacement.replace('\r', " "), dtd, budget, values, depth + 1)?,
                false => append(replacement, dtd, budget, values, depth + 1)?,
            }
        }
    }
    values.push_str(rest);
    Ok(())
}

/// The replacement text of an entity, counted against the budget; `None` for one that a declaration may
/// declare which is not read, where that is no error.
pub fn resolve<'d>(name: &str, dtd: &'d Dtd, budget: &mut usize) -> Result<Option<&'d str>, Fault> {
    let shown: String = name.chars().take(60).collect();
    match dtd.entity(name) {
        Some(Entity::Internal(text)) => {
            *budget = budget.checked_sub(text.len().max(1)).ok_or(Fault::Expansion)?;
            Ok(Some(text))
        }
        Some(Entity::External) => Err(Fault::Malformed(format!(
            "the entity `{shown}` is external, and external entities are never read"
        ))),
        None if !is_ncname(name) => {
            Err(Fault::Malformed(format!("a reference to `{shown}`, which is no name")))
        }
        None if dtd.incomplete && dtd.undeclared != UndeclaredEntities::Error => Ok(None),
        None if dtd.incomplete => Err(Fault::Malformed(format!(
            "the entity `{shown}` is not declared in the document, and an external DTD is never read; see \
             `undeclared_entities`"
        ))),
        None => Err(Fault::Malformed(format!("the entity `{shown}` is not declared"))),
    }
}

pub fn too_deep(name: &str) -> String {
    format!("the entity `{name}` refers to itself, or nests more than {ENTITY_DEPTH} entities")
}
