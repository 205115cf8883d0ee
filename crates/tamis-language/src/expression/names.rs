//! Which names can an attribute have, and which cannot be written?

use crate::error::{Error, Result};
use crate::limits::{self, Limits};

/// The names of terms, and of other attributes that cannot be written, begin with this.
pub(crate) const MARK: char = '\u{1}';
/// The element of a list inside `any`, `all` and `none`.
pub const IT: &str = "\u{1}it";
/// The attribute whose values are the XPath expressions that an event's document satisfies.
pub(crate) const SATISFIED: &str = "xpath()";

/// Whether a name is that of a term, or of another attribute that cannot be written.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(MARK)
}

/// Refuses names that are not for users, or too long.
pub fn check_name(name: &str, limits: &Limits) -> Result<()> {
    if name.is_empty() {
        return Err(Error::expression("an attribute's name is empty; it needs at least one character"));
    }
    if is_hidden(name) {
        return Err(Error::expression("an attribute's name must not begin with the character U+0001"));
    }
    limits::check("bytes of an attribute's name", "name", name.len(), limits.name)?;
    // A short name has few parts, however many dots it has.
    if name.len() < limits.name_depth {
        return Ok(());
    }
    let parts = name.bytes().filter(|byte| *byte == b'.').count() + 1;
    limits::check("parts of an attribute's name", "name_depth", parts, limits.name_depth)
}

/// Whether a name is that of the attribute that documents have.
pub fn is_satisfied(name: &str) -> bool {
    name == SATISFIED
}

/// What the name of an attribute has behind its mark, before the letter of `any` or `all`, if its values are what
/// the elements of a list satisfy.
pub(super) const ELEMENTS: char = '\u{3}';

/// Of an attribute whose values are what elements satisfy: whether it is all of them, and the list's name.
pub fn list_of(name: &str) -> Option<(bool, &str)> {
    let rest = name.strip_prefix(MARK)?.strip_prefix(ELEMENTS)?;
    rest.strip_prefix('A')
        .map(|list| (true, list))
        .or_else(|| rest.strip_prefix('E').map(|list| (false, list)))
}
