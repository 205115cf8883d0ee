//! Resolving references to entities and characters.

use super::{Dtd, ENTITY_DEPTH, Entity};
use crate::characters::{is_allowed, is_ncname};
use crate::limits::UndeclaredEntities;

/// Appends the value of an attribute, with references resolved and white space normalised (XML 1.0,
/// 3.3.3). White space in a tokenised value collapses. `budget` is the number of bytes that
/// entities may still expand to.
pub fn append_value(
    written: &str,
    tokenised: bool,
    dtd: &Dtd,
    budget: &mut usize,
    values: &mut String,
) -> Result<(), Fault> {
    let start = values.len();
    append(written, dtd, budget, values, 0)?;
    if tokenised {
        let collapsed: Vec<&str> = values[start..].split(' ').filter(|token| !token.is_empty()).collect();
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
            // Line ends of the document are normalised already, but character references may add
            // others.
            match replacement.contains('\r') {
                true => append(&replacement.replace('\r', " "), dtd, budget, values, depth + 1)?,
                false => append(replacement, dtd, budget, values, depth + 1)?,
            }
        }
    }
    values.push_str(rest);
    Ok(())
}

/// The replacement text of an entity, counted against the budget. `None` if a skipped declaration
/// may declare the entity and that is not an error.
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
            Err(Fault::Malformed(format!("a reference to `{shown}`, which is not a name")))
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

/// [66] The character that a reference denotes, given the text between `&#` and `;`.
pub fn character(number: &str) -> Result<char, String> {
    let parsed = match number.strip_prefix('x') {
        Some(hexadecimal) if hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::from_str_radix(hexadecimal, 16).ok()
        }
        None if number.bytes().all(|byte| byte.is_ascii_digit()) => number.parse().ok(),
        _ => None,
    };
    let character = parsed.and_then(char::from_u32).filter(|c| is_allowed(*c));
    let shown: String = number.chars().take(20).collect();
    character.ok_or_else(|| format!("&#{shown}; is not a character that XML allows"))
}

/// The character of a predefined entity.
pub fn predefined(name: &str) -> Option<char> {
    Some(match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => return None,
    })
}
