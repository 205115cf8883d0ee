//! Which attributes do subscriptions mention?
//!
//! Names are numbered once and keep their number. Readers look names up without waiting for writers;
//! a reader may see an attribute that a newer subscription brought, which costs it a look at a value
//! that no matcher of its moment asks about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arc_swap::{ArcSwapOption, Guard};

use super::hierarchy::Hierarchy;
use crate::expression::is_satisfied;

/// The number of an attribute.
pub type AttributeId = u32;

/// What is known of a name that stands in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention {
    /// The attribute of that name, where a subscription mentions it.
    pub attribute: Option<AttributeId>,
    /// Whether a mentioned attribute lies below the name, as `user.age` lies below `user`.
    pub prefix: bool,
}

/// The attributes that subscriptions mention.
#[derive(Debug, Default)]
pub struct Attributes {
    mentions: papaya::HashMap<Arc<str>, Mention, ahash::RandomState>,
    names: Mutex<Vec<Arc<str>>>,
    /// What a document satisfies, which is an attribute that no event can name.
    satisfied: OnceLock<AttributeId>,
    /// None where no attribute has one.
    hierarchies: ArcSwapOption<Hierarchies>,
}

/// The hierarchies of attributes that have one.
pub(super) type Hierarchies = HashMap<AttributeId, Arc<Hierarchy>, ahash::RandomState>;

impl Attributes {
    /// The number of an attribute, given to it now if it has none.
    pub fn intern(&self, name: &Arc<str>) -> AttributeId {
        if let Some(attribute) = self.find(name) {
            return attribute;
        }
        let mut names = self.names();
        if let Some(attribute) = self.find(name) {
            return attribute;
        }
        let attribute = names.len() as AttributeId;
        names.push(name.clone());
        if is_satisfied(name) {
            return *self.satisfied.get_or_init(|| attribute);
        }
        let mentions = self.mentions.pin();
        for (dot, _) in name.match_indices('.') {
            let above = self.mention(&name[..dot]);
            if above.is_none_or(|mention| !mention.prefix) {
                let attribute = above.and_then(|mention| mention.attribute);
                mentions.insert(name[..dot].into(), Mention { attribute, prefix: true });
            }
        }
        let prefix = self.mention(name).is_some_and(|mention| mention.prefix);
        mentions.insert(name.clone(), Mention { attribute: Some(attribute), prefix });
        attribute
    }

    /// The number of an attribute, if it has one.
    pub fn find(&self, name: &Arc<str>) -> Option<AttributeId> {
        if is_satisfied(name) {
            return self.satisfied();
        }
        self.mention(name).and_then(|mention| mention.attribute)
    }

    /// The attribute whose values are the XPath expressions that a document satisfies, where a
    /// subscription asks for one.
    pub fn satisfied(&self) -> Option<AttributeId> {
        self.satisfied.get().copied()
    }

    /// What is known of a name in an event.
    pub fn mention(&self, name: &str) -> Option<Mention> {
        self.mentions.pin().get(name).copied()
    }

    /// Gives an attribute a hierarchy, or takes it away; events that are decoded from now on have it.
    pub fn set_hierarchy(&self, name: &Arc<str>, hierarchy: Option<Hierarchy>) {
        let attribute = self.intern(name);
        let hierarchy = hierarchy.map(Arc::new);
        self.hierarchies.rcu(|known| {
            let mut all = known.as_deref().cloned().unwrap_or_default();
            match &hierarchy {
                Some(hierarchy) => all.insert(attribute, Arc::clone(hierarchy)),
                None => all.remove(&attribute),
            };
            (!all.is_empty()).then(|| Arc::new(all))
        });
    }

    /// The hierarchies by the names of their attributes, in the order of the names.
    pub fn named_hierarchies(&self) -> Vec<(Arc<str>, Arc<Hierarchy>)> {
        let all = self.hierarchies.load();
        let all = all.iter().flat_map(|all| all.iter());
        let mut named: Vec<_> =
            all.map(|(attribute, hierarchy)| (self.name(*attribute), Arc::clone(hierarchy))).collect();
        named.sort_by(|a, b| a.0.cmp(&b.0));
        named
    }

    /// The hierarchies, if there are any.
    pub(super) fn hierarchies(&self) -> Option<Arc<Hierarchies>> {
        Guard::into_inner(self.hierarchies.load())
    }

    /// The attribute's name.
    pub fn name(&self, attribute: AttributeId) -> Arc<str> {
        self.names()[attribute as usize].clone()
    }

    /// How many attributes are mentioned.
    pub fn len(&self) -> usize {
        self.names().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn names(&self) -> MutexGuard<'_, Vec<Arc<str>>> {
        // The list is only pushed to, so it is sound whatever its last holder did.
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_known() {
        let attributes = Attributes::default();
        let state = attributes.intern(&"user.geo.state".into());
        let geo = attributes.intern(&"user.geo".into());
        assert_eq!(attributes.intern(&"user.geo.state".into()), state);
        assert_eq!(attributes.mention("user"), Some(Mention { attribute: None, prefix: true }));
        assert_eq!(attributes.mention("user.geo"), Some(Mention { attribute: Some(geo), prefix: true }));
        assert_eq!(
            attributes.mention("user.geo.state"),
            Some(Mention { attribute: Some(state), prefix: false })
        );
        assert_eq!(attributes.mention("use"), None);
        assert_eq!(&*attributes.name(geo), "user.geo");
        assert_eq!(attributes.len(), 2);
    }
}
