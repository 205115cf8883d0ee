//! Which names does a document use?
//!
//! Names are numbered when first seen and keep their numbers across documents, so
//! reading a name is one lookup. A [`NameId`] identifies a name as written together with the
//! namespace of its prefix; two of them are the same name in XPath if `expanded` is equal.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

static GENERATIONS: AtomicU64 = AtomicU64::new(1);

type Map<K, V> = HashMap<K, V, ahash::RandomState>;

pub type NameId = u32;
pub type NamespaceId = u32;
pub type PrefixId = u32;

/// No namespace.
pub const NO_NAMESPACE: NamespaceId = 0;
pub const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
pub const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The empty prefix, and `xml`.
pub const NO_PREFIX: PrefixId = 0;
pub const XML_PREFIX: PrefixId = 1;

#[derive(Debug, Clone)]
pub struct Name {
    /// As written.
    pub qualified: Box<str>,
    /// Where the local part begins.
    local: u32,
    pub namespace: NamespaceId,
    /// The first name that XPath considers equal.
    pub expanded: NameId,
}

impl Name {
    pub fn local(&self) -> &str {
        &self.qualified[self.local as usize..]
    }
}

/// A name as written: its prefix, and its number in every namespace seen so far.
#[derive(Debug)]
struct Written {
    prefix: PrefixId,
    readings: Vec<(NamespaceId, NameId)>,
}

/// The names of the documents read so far.
#[derive(Debug)]
pub struct Names {
    names: Vec<Name>,
    namespaces: Vec<Box<str>>,
    namespace_ids: Map<Box<str>, NamespaceId>,
    prefix_ids: Map<Box<str>, PrefixId>,
    written: Map<Box<str>, Written>,
    /// For every namespace, its names by their local part.
    expanded: Vec<Map<Box<str>, NameId>>,
    /// The approximate size in bytes.
    pub bytes: usize,
    /// Distinguishes these numbers from those of other documents and from those before a `clear`.
    pub generation: u64,
}

impl Default for Names {
    fn default() -> Self {
        let mut names = Names {
            names: Vec::new(),
            namespaces: Vec::new(),
            namespace_ids: Map::default(),
            prefix_ids: Map::default(),
            written: Map::default(),
            expanded: Vec::new(),
            bytes: 0,
            generation: GENERATIONS.fetch_add(1, Ordering::Relaxed),
        };
        names.namespace("");
        names.prefix("");
        names.prefix("xml");
        names
    }
}

impl Names {
    /// Removes all names; their numbers are reused.
    pub fn clear(&mut self) {
        *self = Names::default();
    }

    pub fn len(&self) -> usize {
        self.names.len() + self.namespaces.len() + self.prefix_ids.len()
    }

    pub fn name(&self, id: NameId) -> &Name {
        &self.names[id as usize]
    }

    pub fn namespace_name(&self, id: NamespaceId) -> &str {
        &self.namespaces[id as usize]
    }

    pub fn namespace(&mut self, name: &str) -> NamespaceId {
        if let Some(&id) = self.namespace_ids.get(name) {
            return id;
        }
        let id = self.namespaces.len() as NamespaceId;
        self.bytes += 2 * name.len();
        self.namespaces.push(name.into());
        self.expanded.push(Map::default());
        self.namespace_ids.insert(name.into(), id);
        id
    }

    pub fn find_namespace(&self, name: &str) -> Option<NamespaceId> {
        self.namespace_ids.get(name).copied()
    }

    pub fn prefix(&mut self, prefix: &str) -> PrefixId {
        if let Some(&id) = self.prefix_ids.get(prefix) {
            return id;
        }
        let id = self.prefix_ids.len() as PrefixId;
        self.prefix_ids.insert(prefix.into(), id);
        id
    }

    /// The number of a name; `namespace_of` returns the namespace of a prefix. `None` if the prefix
    /// is not declared or the name is invalid; `check` validates a name the first time it is seen.
    #[inline]
    pub fn read<E>(
        &mut self,
        written: &str,
        namespace_of: impl FnOnce(PrefixId) -> Result<NamespaceId, E>,
        check: impl FnOnce(&str) -> Result<(), E>,
    ) -> Result<NameId, E> {
        if let Some(known) = self.written.get(written) {
            let namespace = namespace_of(known.prefix)?;
            if let Some(&(_, id)) = known.readings.iter().find(|(found, _)| *found == namespace) {
                return Ok(id);
            }
            return Ok(self.add(written, namespace));
        }
        check(written)?;
        let prefix = self.prefix(written.split_once(':').map_or("", |(prefix, _)| prefix));
        let namespace = namespace_of(prefix)?;
        self.written.insert(written.into(), Written { prefix, readings: Vec::new() });
        Ok(self.add(written, namespace))
    }

    fn add(&mut self, written: &str, namespace: NamespaceId) -> NameId {
        let id = self.names.len() as NameId;
        // Stored as written, as a key, and once more as its local part.
        self.bytes += 3 * written.len() + size_of::<(Name, Written)>();
        let local = written.find(':').map_or(0, |colon| colon + 1);
        let expanded = *self.expanded[namespace as usize].entry(written[local..].into()).or_insert(id);
        self.names.push(Name { qualified: written.into(), local: local as u32, namespace, expanded });
        if let Some(known) = self.written.get_mut(written) {
            known.readings.push((namespace, id));
        }
        id
    }

    /// The number of a name as XPath compares names, if a document has used it.
    pub fn find(&self, namespace: &str, local: &str) -> Option<NameId> {
        let namespace = self.find_namespace(namespace)?;
        self.expanded[namespace as usize].get(local).copied()
    }
}
