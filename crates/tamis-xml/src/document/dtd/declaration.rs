//! The declarations of an internal subset. Numbers are productions of XML 1.0, 5th edition.

use super::cursor::{Cursor, Failure};
use super::{DefaultValue, Dtd, Entity, append_value, character};
use crate::characters::is_ncname;

impl Dtd {
    /// [70] EntityDecl, after its `<!ENTITY`.
    pub(super) fn entity_declaration(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        cursor.required_space()?;
        let parameter = cursor.take("%");
        if parameter {
            cursor.required_space()?;
        }
        let name = cursor.name_without_colon()?;
        cursor.required_space()?;
        let entity = if cursor.external_id(false)? {
            let spaced = cursor.space();
            // [76] NDataDecl
            if spaced && !parameter && cursor.take("NDATA") {
                cursor.required_space()?;
                cursor.name_without_colon()?;
            }
            Entity::External
        } else {
            let (start, value) = cursor.quoted()?;
            let value = entity_value(value).map_err(|(at, message)| (start + at, message))?;
            Entity::Internal(value.into())
        };
        cursor.space();
        cursor.expect(">")?;
        if self.counts {
            // The first declaration counts.
            let entities = if parameter { &mut self.parameters } else { &mut self.entities };
            entities.entry(name.into()).or_insert(entity);
        }
        Ok(())
    }

    /// [52] AttlistDecl, after its `<!ATTLIST`.
    pub(super) fn attribute_list(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        cursor.required_space()?;
        let element = cursor.qualified_name()?;
        loop {
            let spaced = cursor.space();
            if cursor.take(">") {
                return Ok(());
            }
            if !spaced {
                return cursor.fail("white space is expected between attribute declarations");
            }
            // [53] AttDef
            let name = cursor.qualified_name()?;
            cursor.required_space()?;
            let kind = cursor.attribute_type()?;
            cursor.required_space()?;
            let default = self.default(cursor)?;
            if !self.counts {
                continue;
            }
            let attributes = self.attributes.entry(element.into()).or_default();
            if attributes.declared.contains_key(name) {
                // The first declaration counts.
                continue;
            }
            let position = default.map(|value| {
                let (name, tokenised) = (name.into(), kind != AttributeType::Text);
                attributes.defaults.push(DefaultValue { name, value: value.into(), tokenised });
                attributes.defaults.len() - 1
            });
            attributes.declared.insert(name.into(), (kind, position));
        }
    }

    /// [60] DefaultDecl: the value, if there is one.
    fn default<'t>(&mut self, cursor: &mut Cursor<'t>) -> Result<Option<&'t str>, Failure> {
        if cursor.take("#REQUIRED") || cursor.take("#IMPLIED") {
            return Ok(None);
        }
        if cursor.take("#FIXED") {
            cursor.required_space()?;
        }
        let (start, value) = cursor.quoted()?;
        if let Some(at) = value.find('<') {
            return Err((start + at, "`<` inside an attribute's value".into()));
        }
        // References in a default must have been declared before it, and are checked even if the default is never
        // used (WFC: Entity Declared, No < in Attribute Values, No External Entity References).
        let mut budget = self.budget;
        append_value(value, false, self, &mut budget, &mut String::new()).map_err(|fault| (start, fault))?;
        self.budget = budget;
        Ok(Some(value))
    }
}

/// The declared type of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttributeType {
    /// CDATA, also for undeclared attributes.
    Text,
    /// White space collapses.
    Tokens,
    /// The same, and the value identifies the element.
    Id,
}

impl Cursor<'_> {
    /// [45] elementdecl, after its `<!ELEMENT`.
    pub(super) fn element_declaration(&mut self) -> Result<(), Failure> {
        self.required_space()?;
        self.qualified_name()?;
        self.required_space()?;
        // [46] contentspec
        if !self.take("EMPTY") && !self.take("ANY") {
            if !self.take("(") {
                return self.fail("EMPTY, ANY or `(` is expected here");
            }
            self.space();
            if self.take("#PCDATA") { self.mixed()? } else { self.children()? }
        }
        self.space();
        self.expect(">")
    }

    /// [51] Mixed, after its `#PCDATA`.
    fn mixed(&mut self) -> Result<(), Failure> {
        let mut named = false;
        loop {
            self.space();
            if self.take(")") {
                break;
            }
            self.expect("|")?;
            self.space();
            self.qualified_name()?;
            named = true;
        }
        let star = self.take("*");
        if named && !star { self.fail("`*` is expected after mixed content") } else { Ok(()) }
    }

    /// [47] children, after its first `(`. A loop, so deep nesting cannot exhaust the stack.
    fn children(&mut self) -> Result<(), Failure> {
        // The separator of each open group, once known.
        let mut open: Vec<Option<&str>> = vec![None];
        loop {
            // [48] cp
            self.space();
            if self.take("(") {
                open.push(None);
                continue;
            }
            self.qualified_name()?;
            self.occurrence();
            loop {
                self.space();
                if self.take(")") {
                    self.occurrence();
                    open.pop();
                    if open.is_empty() {
                        return Ok(());
                    }
                    continue;
                }
                let separator = if self.starts_with("|") { "|" } else { "," };
                match open.last_mut() {
                    // [49] choice and [50] seq do not mix.
                    Some(known) if known.is_none_or(|known| known == separator) => *known = Some(separator),
                    _ => return self.fail("`|` and `,` in one group of a content model"),
                }
                if !self.take(separator) {
                    return self.fail("`|`, `,` or `)` is expected in a content model");
                }
                break;
            }
        }
    }

    fn occurrence(&mut self) {
        let _ = self.take("?") || self.take("*") || self.take("+");
    }

    /// [82] NotationDecl, after its `<!NOTATION`.
    pub(super) fn notation_declaration(&mut self) -> Result<(), Failure> {
        self.required_space()?;
        self.name_without_colon()?;
        self.required_space()?;
        if !self.external_id(true)? {
            return self.fail("SYSTEM or PUBLIC is expected here");
        }
        self.space();
        self.expect(">")
    }

    /// [54] AttType
    fn attribute_type(&mut self) -> Result<AttributeType, Failure> {
        if self.take("CDATA") {
            return Ok(AttributeType::Text);
        }
        let names = ["IDREFS", "IDREF", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN"];
        if names.iter().any(|name| self.take(name)) {
            return Ok(AttributeType::Tokens);
        }
        if self.take("ID") {
            return Ok(AttributeType::Id);
        }
        // [58] NotationType has names, [59] Enumeration name tokens.
        let notation = self.take("NOTATION");
        if notation {
            self.required_space()?;
        }
        if !self.take("(") {
            return self.fail("the type of an attribute is expected here");
        }
        loop {
            self.space();
            if notation {
                self.name_without_colon()?
            } else {
                self.name_token()?
            };
            self.space();
            if self.take(")") {
                return Ok(AttributeType::Tokens);
            }
            self.expect("|")?;
        }
    }
}

/// [9] EntityValue: its replacement text is the quoted text with character references resolved.
fn entity_value(quoted: &str) -> Result<String, Failure> {
    let mut value = String::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(at) = rest.find(['&', '%']) {
        value.push_str(&rest[..at]);
        rest = &rest[at..];
        let place = quoted.len() - rest.len();
        if rest.starts_with('%') {
            // WFC: PEs in Internal Subset.
            return Err((place, "`%` inside a declaration of the internal subset".into()));
        }
        let end = rest.find(';').ok_or((place, "a reference without `;`".into()))?;
        let name = &rest[1..end];
        match name.strip_prefix('#') {
            Some(number) => value.push(character(number).map_err(|message| (place, message.into()))?),
            None if is_ncname(name) => value.push_str(&rest[..=end]),
            None => return Err((place, "a reference that is not a name".into())),
        }
        rest = &rest[end + 1..];
    }
    value.push_str(rest);
    Ok(value)
}
