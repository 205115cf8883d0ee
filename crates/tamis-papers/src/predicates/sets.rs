//! Which sets contain a value?
//!
//! A table of (attribute, value) lists the sets that contain it. A set stores its position in each
//! of its lists, and each list entry stores which value of its set it belongs to. So removing a set
//! from a list of any length takes constant time: the last entry takes its position.

use hashbrown::HashTable;

use super::hash_value;
use crate::predicates::PredicateId;
use tamis::event::AttributeId;
use tamis::value::{Value, ValueRef};

/// The values of all sets.
#[derive(Debug, Default)]
pub(super) struct Sets {
    table: HashTable<Key>,
}

#[derive(Debug)]
struct Key {
    attribute: AttributeId,
    value: Value,
    members: Vec<Member>,
}

#[derive(Debug, Clone, Copy)]
struct Member {
    predicate: PredicateId,
    /// The position of the value in the predicate's set.
    value: u32,
}

impl Key {
    fn is(&self, attribute: AttributeId, value: ValueRef<'_>) -> bool {
        self.attribute == attribute && self.value.as_ref() == value
    }
}

impl Sets {
    /// Adds a set to the lists of its values. Returns its position in each list.
    pub fn insert(
        &mut self,
        hasher: &ahash::RandomState,
        attribute: AttributeId,
        values: &[Value],
        predicate: PredicateId,
    ) -> Box<[u32]> {
        let hash = |key: &Key| hash_value(hasher, key.attribute, key.value.as_ref());
        (0..)
            .zip(values)
            .map(|(position, value)| {
                let wanted = value.as_ref();
                let key = self
                    .table
                    .entry(hash_value(hasher, attribute, wanted), |key| key.is(attribute, wanted), hash)
                    .or_insert_with(|| Key { attribute, value: value.clone(), members: Vec::new() })
                    .into_mut();
                key.members.push(Member { predicate, value: position });
                key.members.len() as u32 - 1
            })
            .collect()
    }

    /// Removes a set from its lists. Returns the entries that were moved: a predicate, the position
    /// of the value in its set, and its new position.
    pub fn remove(
        &mut self,
        hasher: &ahash::RandomState,
        attribute: AttributeId,
        values: &[Value],
        places: &[u32],
    ) -> Vec<(PredicateId, u32, u32)> {
        let mut moved = Vec::new();
        for (value, &place) in values.iter().zip(places) {
            let value = value.as_ref();
            let hash = hash_value(hasher, attribute, value);
            let Ok(mut found) = self.table.find_entry(hash, |key| key.is(attribute, value)) else { continue };
            let members = &mut found.get_mut().members;
            members.swap_remove(place as usize);
            if let Some(member) = members.get(place as usize) {
                moved.push((member.predicate, member.value, place));
            }
            if members.is_empty() {
                found.remove();
            }
        }
        moved
    }

    /// Reports the sets that contain the value.
    pub fn find(
        &self,
        hash: u64,
        attribute: AttributeId,
        value: ValueRef<'_>,
        mut report: impl FnMut(PredicateId),
    ) {
        if let Some(key) = self.table.find(hash, |key| key.is(attribute, value)) {
            key.members.iter().for_each(|member| report(member.predicate));
        }
    }
}
