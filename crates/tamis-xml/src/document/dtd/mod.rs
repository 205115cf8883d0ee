//! What does a document's internal subset declare?
//!
//! Reads entities and the defaults and types of attributes, as XML 1.0 requires of a non-validating
//! processor; checks other declarations only for well-formedness. External subsets and entities are
//! never read. After a skipped reference to an external parameter entity, declarations are ignored,
//! because the entity might have declared the same names differently (XML 1.0, 5.1).

mod cursor;
mod declaration;
mod reference;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::Limits;
use crate::limits::UndeclaredEntities;
use cursor::Cursor;
pub use cursor::Failure;
pub use declaration::AttributeType;
pub use reference::{Fault, append_value, character, predefined, resolve, too_deep};

/// The maximum depth of references between entities.
pub const ENTITY_DEPTH: usize = 32;

type Map<V> = HashMap<Box<str>, V, ahash::RandomState>;

#[derive(Debug)]
pub enum Entity {
    /// The replacement text, with character references resolved.
    Internal(Box<str>),
    External,
}

/// The declarations of an element's attributes.
#[derive(Debug, Default)]
pub struct AttributeList {
    /// For every attribute, its type, and the position of its default, if it has one.
    declared: Map<(AttributeType, Option<usize>)>,
    pub defaults: Vec<DefaultValue>,
}

/// An attribute with a default value.
#[derive(Debug)]
pub struct DefaultValue {
    pub name: Box<str>,
    pub value: Box<str>,
    pub tokenised: bool,
}

impl AttributeList {
    /// The type of an attribute, and the position of its default.
    pub fn declared(&self, name: &str) -> (AttributeType, Option<usize>) {
        self.declared.get(name).copied().unwrap_or((AttributeType::Text, None))
    }
}

#[derive(Debug)]
pub struct Dtd {
    entities: Map<Entity>,
    parameters: Map<Entity>,
    attributes: Map<AttributeList>,
    /// Whether declarations are in effect: they are until a parameter entity is skipped.
    counts: bool,
    /// Whether declarations were skipped.
    pub incomplete: bool,
    pub undeclared: UndeclaredEntities,
    /// The number of bytes that entities may still expand to within the declaration.
    budget: usize,
}

impl Default for Dtd {
    fn default() -> Self {
        Dtd {
            entities: Map::default(),
            parameters: Map::default(),
            attributes: Map::default(),
            counts: true,
            incomplete: false,
            undeclared: UndeclaredEntities::Error,
            budget: 0,
        }
    }
}

impl Dtd {
    /// [28] Reads the text after `<!DOCTYPE`, and returns its end.
    pub fn read(content: &str, standalone: bool, limits: &Limits) -> Result<(Dtd, usize), Failure> {
        let undeclared = if standalone { UndeclaredEntities::Error } else { limits.undeclared_entities };
        let mut dtd = Dtd { undeclared, budget: limits.expansion, ..Dtd::default() };
        let mut cursor = Cursor { text: content, at: 0 };
        cursor.required_space()?;
        cursor.qualified_name()?;
        if cursor.space() && cursor.external_id(false)? {
            dtd.incomplete = true;
            cursor.space();
        }
        if cursor.take("[") {
            dtd.subset(&mut cursor, 0)?;
            cursor.expect("]")?;
            cursor.space();
        }
        if !cursor.take(">") {
            return cursor.fail("the document type declaration ends before this");
        }
        Ok((dtd, cursor.at))
    }

    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.get(name)
    }

    /// The declarations of an element's attributes.
    pub fn attributes(&self, element: &str) -> Option<&AttributeList> {
        if self.attributes.is_empty() { None } else { self.attributes.get(element) }
    }

    /// [28b] intSubset, up to its `]` or to the end of a parameter entity.
    fn subset(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Failure> {
        loop {
            cursor.space();
            if cursor.rest().is_empty() || depth == 0 && cursor.starts_with("]") {
                return Ok(());
            } else if cursor.take("<!--") {
                cursor.comment()?;
            } else if cursor.take("<?") {
                cursor.instruction()?;
            } else if cursor.take("<!ENTITY") {
                self.entity_declaration(cursor)?;
            } else if cursor.take("<!ATTLIST") {
                self.attribute_list(cursor)?;
            } else if cursor.take("<!ELEMENT") {
                cursor.element_declaration()?;
            } else if cursor.take("<!NOTATION") {
                cursor.notation_declaration()?;
            } else if cursor.starts_with("%") {
                self.parameter_reference(cursor, depth)?;
            } else {
                return cursor.fail("a markup declaration or `]` is expected in the internal subset");
            }
        }
    }

    /// [69] PEReference between declarations: its replacement text is declarations.
    fn parameter_reference(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Result<(), Failure> {
        let start = cursor.at;
        cursor.expect("%")?;
        let name = cursor.name_without_colon()?;
        cursor.expect(";")?;
        let shown: String = name.chars().take(60).collect();
        let at = |message: String| Err((start, message.into()));
        // From here on, a missing declaration is only a validity error (WFC: Entity Declared).
        self.incomplete = true;
        match self.parameters.get(name) {
            Some(Entity::Internal(text)) => {
                let text = text.clone();
                if depth == ENTITY_DEPTH {
                    return at(too_deep(&shown));
                }
                let left = self.budget.checked_sub(text.len().max(1));
                self.budget = left.ok_or((start, Fault::Expansion))?;
                let mut inside = Cursor { text: &text, at: 0 };
                let read = self.subset(&mut inside, depth + 1);
                read.map_err(|(_, fault)| match fault {
                    Fault::Malformed(message) => {
                        (start, format!("in the parameter entity `{shown}`: {message}").into())
                    }
                    Fault::Expansion => (start, fault),
                })
            }
            found if self.undeclared == UndeclaredEntities::Error => {
                let reason = match found {
                    None => "not declared",
                    Some(_) => "external, and external entities are never read",
                };
                at(format!("the parameter entity `{shown}` is {reason}; see `undeclared_entities`"))
            }
            _ => {
                self.counts = false;
                Ok(())
            }
        }
    }
}
