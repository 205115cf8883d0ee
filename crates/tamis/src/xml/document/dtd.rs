//! What does a document's internal subset declare?
//!
//! Internal entities and the defaults and types of attributes are read, as XML 1.0 asks of a
//! processor that does not validate. External subsets and entities are never read, and parameter
//! entities are refused rather than ignored, since what they declare could change the document.

use std::collections::HashMap;

use crate::xml::characters::{is_allowed, is_name, is_ncname, is_space};

/// How deep entities may refer to each other.
pub const ENTITY_DEPTH: usize = 32;

#[derive(Debug)]
pub enum Entity {
    /// The replacement text, character references resolved.
    Internal(Box<str>),
    External,
}

/// What is declared about the attributes of an element.
#[derive(Debug, Default)]
pub struct AttributeList {
    /// Of every attribute, whether its type is other than CDATA, so that white space collapses, and
    /// the position of its default, if it has one.
    declared: HashMap<Box<str>, (bool, Option<usize>), ahash::RandomState>,
    pub defaults: Vec<DefaultValue>,
}

/// An attribute that is there though it is not written.
#[derive(Debug)]
pub struct DefaultValue {
    pub name: Box<str>,
    pub value: Box<str>,
    pub tokenised: bool,
}

impl AttributeList {
    /// Whether white space collapses in an attribute, and the position of its default.
    pub fn declared(&self, name: &str) -> (bool, Option<usize>) {
        self.declared.get(name).copied().unwrap_or((false, None))
    }
}

#[derive(Debug, Default)]
pub struct Dtd {
    entities: HashMap<Box<str>, Entity, ahash::RandomState>,
    attributes: HashMap<Box<str>, AttributeList, ahash::RandomState>,
}

/// What is wrong, and the offset of the place.
pub type Failure = (usize, String);

impl Dtd {
    /// Reads what stands between `<!DOCTYPE` and its `>`.
    pub fn read(content: &str) -> Result<Dtd, Failure> {
        let mut dtd = Dtd::default();
        let mut cursor = Cursor { text: content, at: 0 };
        cursor.name()?;
        let spaced = cursor.space();
        if spaced && (cursor.take("SYSTEM") || cursor.starts_with("PUBLIC")) {
            if cursor.take("PUBLIC") {
                cursor.required_space()?;
                cursor.quoted()?;
            }
            cursor.required_space()?;
            cursor.quoted()?;
            cursor.space();
        }
        if cursor.take("[") {
            dtd.subset(&mut cursor)?;
            cursor.space();
        }
        if cursor.at < content.len() {
            return cursor.fail("the document type declaration ends before this");
        }
        Ok(dtd)
    }

    pub fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.get(name)
    }

    /// What is declared about the attributes of an element.
    pub fn attributes(&self, element: &str) -> Option<&AttributeList> {
        if self.attributes.is_empty() { None } else { self.attributes.get(element) }
    }

    fn subset(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        loop {
            cursor.space();
            if cursor.take("]") {
                return Ok(());
            } else if cursor.take("<!--") {
                let comment = cursor.until("-->")?;
                if comment.contains("--") || comment.ends_with('-') {
                    return cursor.fail("`--` stands inside a comment");
                }
            } else if cursor.take("<?") {
                cursor.until("?>")?;
            } else if cursor.take("<!ENTITY") {
                self.entity_declaration(cursor)?;
            } else if cursor.take("<!ATTLIST") {
                self.attribute_list(cursor)?;
            } else if cursor.take("<!ELEMENT") {
                cursor.required_space()?;
                cursor.name()?;
                cursor.required_space()?;
                cursor.content_model()?;
            } else if cursor.take("<!NOTATION") {
                cursor.required_space()?;
                cursor.name()?;
                cursor.required_space()?;
                cursor.skip_declaration()?;
            } else if cursor.starts_with("%") {
                return cursor.fail("parameter entities are not supported");
            } else {
                return cursor.fail("a markup declaration or `]` is expected in the internal subset");
            }
        }
    }

    fn entity_declaration(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        cursor.required_space()?;
        if cursor.starts_with("%") {
            return cursor.fail("parameter entities are not supported");
        }
        let name = cursor.name()?;
        cursor.required_space()?;
        let entity = if cursor.take("SYSTEM") || cursor.starts_with("PUBLIC") {
            if cursor.take("PUBLIC") {
                cursor.required_space()?;
                cursor.quoted()?;
            }
            cursor.required_space()?;
            cursor.quoted()?;
            if cursor.space() && cursor.take("NDATA") {
                cursor.required_space()?;
                cursor.name()?;
            }
            Entity::External
        } else {
            let start = cursor.at;
            let value = cursor.quoted()?;
            let value = entity_value(value).map_err(|message| (start, message))?;
            Entity::Internal(value.into())
        };
        cursor.space();
        cursor.expect(">")?;
        // The first declaration counts.
        self.entities.entry(name.into()).or_insert(entity);
        Ok(())
    }

    fn attribute_list(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Failure> {
        cursor.required_space()?;
        let element = cursor.name()?;
        let attributes = self.attributes.entry(element.into()).or_default();
        loop {
            let spaced = cursor.space();
            if cursor.take(">") {
                break;
            }
            if !spaced {
                return cursor.fail("white space is expected between attribute declarations");
            }
            let name = cursor.name()?;
            cursor.required_space()?;
            let tokenised = cursor.attribute_type()?;
            cursor.required_space()?;
            let default = if cursor.take("#REQUIRED") || cursor.take("#IMPLIED") {
                None
            } else {
                if cursor.take("#FIXED") {
                    cursor.required_space()?;
                }
                let value = cursor.quoted()?;
                if value.contains('<') {
                    return cursor.fail("`<` stands inside an attribute's value");
                }
                Some(Box::from(value))
            };
            // The first declaration counts.
            let AttributeList { declared, defaults } = attributes;
            declared.entry(name.into()).or_insert_with(|| {
                let position = default.map(|value| {
                    defaults.push(DefaultValue { name: name.into(), value, tokenised });
                    defaults.len() - 1
                });
                (tokenised, position)
            });
        }
        Ok(())
    }
}

/// The replacement text of an entity: its literal with character references resolved.
fn entity_value(literal: &str) -> Result<String, String> {
    let mut value = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find(['&', '%']) {
        value.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('%') {
            return Err("parameter entities are not supported".to_owned());
        }
        let end = rest.find(';').ok_or("a reference without `;`")?;
        match rest[1..end].strip_prefix('#') {
            Some(number) => value.push(character(number)?),
            None if is_ncname(&rest[1..end]) => value.push_str(&rest[..=end]),
            None => return Err("a reference that is no name".to_owned()),
        }
        rest = &rest[end + 1..];
    }
    value.push_str(rest);
    Ok(value)
}

/// The character of a reference, given what stands between `&#` and `;`.
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
    character.ok_or_else(|| format!("&#{shown}; is no character that XML allows"))
}

/// The character of an entity that needs no declaration.
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

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn fail<T>(&self, message: &str) -> Result<T, Failure> {
        Err((self.at, message.to_owned()))
    }

    fn starts_with(&self, token: &str) -> bool {
        self.rest().starts_with(token)
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), Failure> {
        if self.take(token) { Ok(()) } else { self.fail(&format!("`{token}` is expected here")) }
    }

    fn space(&mut self) -> bool {
        let count = self.rest().bytes().take_while(|byte| is_space(*byte)).count();
        self.at += count;
        count > 0
    }

    fn required_space(&mut self) -> Result<(), Failure> {
        if self.space() { Ok(()) } else { self.fail("white space is expected here") }
    }

    fn name(&mut self) -> Result<&'t str, Failure> {
        let rest = self.rest();
        let name = &rest[..rest.find(|c: char| !is_name(c)).unwrap_or(rest.len())];
        if !name.split(':').all(is_ncname) {
            return self.fail("a name is expected here");
        }
        self.at += name.len();
        Ok(name)
    }

    fn quoted(&mut self) -> Result<&'t str, Failure> {
        let rest = self.rest();
        let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
            return self.fail("a quoted text is expected here");
        };
        match rest[1..].find(quote) {
            Some(length) => {
                self.at += length + 2;
                Ok(&rest[1..1 + length])
            }
            None => self.fail("a quoted text without its end"),
        }
    }

    fn until(&mut self, token: &str) -> Result<&'t str, Failure> {
        let rest = self.rest();
        match rest.find(token) {
            Some(at) => {
                self.at += at + token.len();
                Ok(&rest[..at])
            }
            None => self.fail(&format!("`{token}` is missing")),
        }
    }

    /// Passes over what an element may contain, which says nothing about filtering.
    fn content_model(&mut self) -> Result<(), Failure> {
        if !self.take("EMPTY") && !self.take("ANY") {
            if !self.starts_with("(") {
                return self.fail("EMPTY, ANY or `(` is expected here");
            }
            let allowed = |c: char| is_name(c) || c.is_ascii_whitespace() || "#()|,?*+".contains(c);
            let rest = self.rest();
            let model = &rest[..rest.find(|c| !allowed(c)).unwrap_or(rest.len())];
            let mut open = 0_i64;
            let balanced = model.bytes().all(|byte| {
                open += i64::from(byte == b'(') - i64::from(byte == b')');
                open >= 0
            });
            if !balanced || open != 0 {
                return self.fail("a content model whose parentheses do not match");
            }
            self.at += model.len();
        }
        self.space();
        self.expect(">")
    }

    /// Passes over the rest of a declaration whose content says nothing about filtering.
    fn skip_declaration(&mut self) -> Result<(), Failure> {
        while let Some(at) = self.rest().find(['>', '"', '\'', '<', '%']) {
            self.at += at;
            if self.take(">") {
                return Ok(());
            } else if self.starts_with("<") || self.starts_with("%") {
                break;
            }
            self.quoted()?;
        }
        self.fail("a declaration that does not end")
    }

    /// Passes over an attribute's type; whether it is other than CDATA.
    fn attribute_type(&mut self) -> Result<bool, Failure> {
        if self.take("CDATA") {
            return Ok(false);
        }
        let names = ["IDREFS", "IDREF", "ID", "ENTITIES", "ENTITY", "NMTOKENS", "NMTOKEN"];
        if names.iter().any(|name| self.take(name)) {
            return Ok(true);
        }
        if self.take("NOTATION") {
            self.required_space()?;
        }
        self.expect("(")?;
        let choices = self.until(")")?;
        let valid = |choice: &str| {
            let choice = choice.trim_matches(|c: char| c.is_ascii_whitespace());
            !choice.is_empty() && choice.chars().all(is_name)
        };
        if choices.split('|').all(valid) {
            Ok(true)
        } else {
            self.fail("an enumeration of names is expected")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_read() {
        let dtd = Dtd::read(
            "a SYSTEM 'x.dtd' [ <!-- c --> <?pi ?> <!ELEMENT a (#PCDATA|b)*> <!NOTATION n SYSTEM '>'> \
             <!ENTITY e \"x&#38;y&f;\"> <!ENTITY e 'second'> <!ENTITY x SYSTEM 'file:///etc/passwd'> \
             <!ATTLIST a i ID #IMPLIED d CDATA 'v' n (p | q) \"p\"> ] ",
        )
        .unwrap();
        assert!(matches!(dtd.entity("e"), Some(Entity::Internal(text)) if **text == *"x&y&f;"));
        assert!(matches!(dtd.entity("x"), Some(Entity::External)));
        let attributes = dtd.attributes("a").unwrap();
        assert_eq!(["i", "d", "n", "x"].map(|name| attributes.declared(name).0), [true, false, true, false]);
        let defaults: Vec<_> =
            attributes.defaults.iter().map(|d| (&*d.name, &*d.value, d.tokenised)).collect();
        assert_eq!(defaults, [("d", "v", false), ("n", "p", true)]);
    }

    #[test]
    fn what_is_no_declaration_is_refused() {
        for text in [
            "",
            "1",
            "a [",
            "a [ x ]",
            "a [<!ENTITY % p 'x'> ]",
            "a [ %p; ]",
            "a [<!ENTITY e 'x%p;'>]",
            "a b",
            "a [<!ENTITY e '&#0;'>]",
            "a [<!ENTITY e '&'>]",
            "a [<!ENTITY e>]",
            "a [<!ATTLIST a b>]",
            "a []x",
            "a [<!ELEMENT a <b>>]",
            "a [<!ELEMENT a>]",
            "a [<!ELEMENT a ((b)>]",
            "a [<!-- - -- -->]",
            "a SYSTEM x",
        ] {
            assert!(Dtd::read(text).is_err(), "{text}");
        }
    }
}
