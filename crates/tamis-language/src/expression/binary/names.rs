//! Which names do the attributes of stored expressions have?

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::expression::names::{check_name, is_hidden, is_satisfied, list_of};
use crate::expression::recent::RecentNumbers;
use crate::expression::term::Term;
use crate::limits::Limits;
use crate::strings::Strings;

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameKind {
    /// An attribute of events, or a term.
    Attribute,
    /// What a document satisfies.
    XPath,
    /// What elements of a list satisfy.
    Elements,
}

/// The names of attributes, by their numbers in encoded expressions.
#[derive(Debug, Clone, Default)]
pub struct NameTable {
    names: Vec<Name>,
}

#[derive(Debug, Clone)]
struct Name {
    name: Arc<str>,
    /// What it stands for, if it is one; found out when an expression is read.
    kind: OnceLock<Option<NameKind>>,
}

impl NameTable {
    pub(super) fn get(&self, number: u64) -> Option<(&Arc<str>, NameKind)> {
        let Name { name, kind } = self.names.get(usize::try_from(number).ok()?)?;
        kind.get_or_init(|| kind_of(name)).map(|kind| (name, kind))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.names.iter().map(|Name { name, .. }| name)
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        // An `Arc` counts its owners twice.
        self.names.iter().map(|Name { name, .. }| size_of::<Name>() + 16 + name.len()).sum()
    }

    /// The names as columns.
    pub(crate) fn to_strings(&self) -> Strings {
        self.names.iter().map(|Name { name, .. }| name.as_bytes()).collect()
    }

    /// The names in columns; `None` if one is no text.
    pub(crate) fn from_strings(strings: &Strings) -> Option<NameTable> {
        let name =
            |position| strings.get(position).map(|name| Name { name: name.into(), kind: OnceLock::new() });
        Some(NameTable { names: (0..strings.len()).map(name).collect::<Option<_>>()? })
    }
}

/// What a name stands for; `None` if no constructor makes it.
fn kind_of(name: &Arc<str>) -> Option<NameKind> {
    if is_satisfied(name) {
        Some(NameKind::XPath)
    } else if list_of(name).is_some() {
        Some(NameKind::Elements)
    } else if is_hidden(name) {
        let term = Term::from_name(name).ok().filter(|term| !term.is_constant())?;
        (term.name() == *name).then_some(NameKind::Attribute)
    } else {
        check_name(name, &Limits::none()).ok().map(|()| NameKind::Attribute)
    }
}

/// A table that grows while expressions are encoded.
#[derive(Debug, Clone, Default)]
pub struct NameTableBuilder {
    table: NameTable,
    numbers: HashMap<Arc<str>, u32, ahash::RandomState>,
    recent: RecentNumbers,
}

impl NameTableBuilder {
    /// The table as it is now.
    pub fn table(&self) -> &NameTable {
        &self.table
    }

    /// The table itself.
    pub fn finish(self) -> NameTable {
        self.table
    }

    /// The number of a name, which is new or known.
    pub(super) fn number(&mut self, name: &Arc<str>) -> u32 {
        let known = |number: u32| self.table.names.get(number as usize).map(|name| &name.name);
        if let Some(number) = self.recent.find(name, known) {
            return number;
        }
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                let number = self.table.names.len() as u32;
                self.table.names.push(Name { name: name.clone(), kind: OnceLock::new() });
                self.numbers.insert(name.clone(), number);
                number
            }
        };
        self.recent.insert(name, number);
        number
    }
}
