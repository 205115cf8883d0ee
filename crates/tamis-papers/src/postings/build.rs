//! Turning signed predicates into keys, and entries into lists.

use std::collections::HashMap;

use super::dyadic_ranges::{family, is_range};
use super::entry_columns::{Roles, WeightNumbers};
use super::keys::{Key, Keys};
use super::{List, Postings};
use tamis::Missing;
use tamis::event::{AttributeId, Attributes};
use tamis::expression::{NormalForm, NormalNode, SignedPredicate, Test};
use tamis::matcher::extend::csr;

/// A larger set is one key: if many expressions share a set, it would otherwise fill one list per
/// value.
const MOST_VALUES: usize = 32;
/// With at least this many distinct ranges on one attribute, they become dyadic ranges instead of
/// separate keys.
const MANY_RANGES: usize = 32;

/// The number of a distinct signed predicate.
pub(crate) type SignedPredicateId = u32;

/// The meaning of an entry for its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Role(u32);

/// The kind of a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoleKind {
    /// The predicate or clause with this number is satisfied.
    Positive,
    /// The negated predicate with this number is violated.
    Negative,
    /// The attribute of the negated predicate with this number has a value.
    Guard,
    /// No information; the entry of the zero list.
    Always,
}

impl Role {
    pub fn new(kind: RoleKind, number: usize) -> Role {
        Role((number as u32) << 2 | kind as u32)
    }

    pub fn kind(self) -> RoleKind {
        match self.0 & 3 {
            0 => RoleKind::Positive,
            1 => RoleKind::Negative,
            2 => RoleKind::Guard,
            _ => RoleKind::Always,
        }
    }

    pub fn number(self) -> usize {
        (self.0 >> 2) as usize
    }

    /// The role whose kind is the two lowest bits, and whose number is the others.
    pub(super) fn from_bits(bits: u32) -> Role {
        Role(bits)
    }

    #[cfg(test)]
    pub fn sign(self) -> String {
        match self.kind() {
            RoleKind::Positive => format!("in, {}", self.number()),
            RoleKind::Negative => format!("not in, {}", self.number()),
            RoleKind::Guard => format!("guard, {}", self.number()),
            RoleKind::Always => "in, -1".to_owned(),
        }
    }
}

/// The condition under which a signed predicate is true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sense {
    /// The event has one of its keys.
    Positive,
    /// The event has none of its keys.
    Negative,
    /// The event has none of its keys, and this attribute has a value.
    Guarded(u32),
}

/// A signed predicate with its keys.
#[derive(Debug)]
pub(crate) struct Interned {
    pub sense: Sense,
    /// An attribute that has a value whenever the signed predicate is true.
    pub implies: Option<u32>,
    keys: Box<[(EntryKey, f64)]>,
}

/// The key of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryKey {
    Key(Key),
    /// The keys of a range, once all ranges are known.
    Range(u32),
}

#[derive(Debug)]
struct PendingEntry<P = EntryKey> {
    key: P,
    size: u32,
    id: u32,
    role: Role,
    weight: u32,
}

/// Collects entries.
#[derive(Debug)]
pub(crate) struct PostingsBuilder<'a> {
    attributes: &'a Attributes,
    missing: Missing,
    keys: Keys,
    signed_predicates: HashMap<SignedPredicate, SignedPredicateId, ahash::RandomState>,
    interned: Vec<Interned>,
    drafts: Vec<PendingEntry>,
    ranges: Vec<(AttributeId, Test)>,
    range_numbers: HashMap<(AttributeId, Test), u32, ahash::RandomState>,
    weights: Vec<f64>,
    weight_numbers: HashMap<u64, u32, ahash::RandomState>,
}

impl<'a> PostingsBuilder<'a> {
    pub fn new(attributes: &'a Attributes, missing: Missing) -> PostingsBuilder<'a> {
        PostingsBuilder {
            attributes,
            missing,
            keys: Keys::default(),
            signed_predicates: HashMap::default(),
            interned: Vec::new(),
            drafts: Vec::new(),
            ranges: Vec::new(),
            range_numbers: HashMap::default(),
            weights: Vec::new(),
            weight_numbers: HashMap::default(),
        }
    }

    /// The number of each signed predicate of a form, by position; positions of other nodes are meaningless.
    pub fn signed_predicates(&mut self, form: &NormalForm) -> Vec<SignedPredicateId> {
        let number = |node: &NormalNode| match node {
            NormalNode::Predicate(signed) => self.intern(signed),
            _ => SignedPredicateId::MAX,
        };
        form.nodes().iter().map(number).collect()
    }

    /// The number of a signed predicate; assigned on first use.
    fn intern(&mut self, signed: &SignedPredicate) -> SignedPredicateId {
        if let Some(&id) = self.signed_predicates.get(signed) {
            return id;
        }
        let id = self.interned.len() as SignedPredicateId;
        let interned = self.translate(signed);
        self.interned.push(interned);
        self.signed_predicates.insert(signed.clone(), id);
        id
    }

    pub fn signed_predicate(&self, id: SignedPredicateId) -> &Interned {
        &self.interned[id as usize]
    }

    fn translate(&mut self, signed: &SignedPredicate) -> Interned {
        let attribute = self.attributes.intern(&signed.attribute);
        let weight = |position: usize| signed.weights.as_ref().map_or(1.0, |weights| weights[position]);
        let keys = &mut self.keys;
        let (sense, keys) = match (&signed.test, signed.negated) {
            // `is not null` means having a value. Like every negated predicate, it does not score.
            (Test::IsNull, true) => (Sense::Positive, [(EntryKey::Key(keys.value(attribute)), 0.0)].into()),
            (Test::In(values), _) if values.len() <= MOST_VALUES => {
                let pairs = values.iter().enumerate().map(|(position, value)| {
                    let key = keys.predicate(attribute, &Test::Equal(value.clone()));
                    (EntryKey::Key(key), weight(position))
                });
                (Sense::Positive, pairs.collect())
            }
            (test, _) => {
                let best = signed.weights.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
                let best = if best.is_finite() { best } else { 1.0 };
                let place = match is_range(test) {
                    false => EntryKey::Key(keys.predicate(attribute, test)),
                    true => {
                        let next = self.ranges.len() as u32;
                        let known = self.range_numbers.entry((attribute, test.clone()));
                        EntryKey::Range(*known.or_insert_with(|| {
                            self.ranges.push((attribute, test.clone()));
                            next
                        }))
                    }
                };
                (Sense::Positive, [(place, best)].into())
            }
        };
        let presence = matches!(signed.test, Test::Exists | Test::IsNull);
        let sense = match (signed.negated, &signed.test, self.missing) {
            (false, ..) | (true, Test::IsNull, _) => sense,
            (true, Test::Exists, _) | (true, _, Missing::False) => Sense::Negative,
            (true, _, Missing::Unknown) => Sense::Guarded(attribute),
        };
        let implies = (sense == Sense::Positive && (!presence || signed.negated)).then_some(attribute);
        Interned { sense, implies, keys }
    }

    /// Adds an id under the keys of a signed predicate, with its weight multiplied by `times`.
    pub fn enter(&mut self, id: u32, size: u32, signed: SignedPredicateId, role: Role, times: f64) {
        for position in 0..self.interned[signed as usize].keys.len() {
            let (key, weight) = self.interned[signed as usize].keys[position];
            self.push(
                id,
                size,
                key,
                role,
                if role.kind() == RoleKind::Positive { weight * times } else { 0.0 },
            );
        }
    }

    /// Adds an id under the key that an attribute has a value.
    pub fn enter_value(&mut self, id: u32, size: u32, attribute: u32, role: Role) {
        let key = self.keys.value(attribute);
        self.push(id, size, EntryKey::Key(key), role, 0.0);
    }

    /// Adds an id to the zero list.
    pub fn enter_always(&mut self, id: u32, size: u32, role: Role) {
        self.push(id, size, EntryKey::Key(Key::Always), role, 0.0);
    }

    fn push(&mut self, id: u32, size: u32, key: EntryKey, role: Role, weight: f64) {
        let next = self.weights.len() as u32;
        let weight = *self.weight_numbers.entry(weight.to_bits()).or_insert_with(|| {
            self.weights.push(weight.min(f64::MAX));
            next
        });
        self.drafts.push(PendingEntry { key, size, id, role, weight });
    }

    /// The keys of every range. If an attribute has many ranges, they are made of dyadic ranges.
    fn cover_ranges(&mut self) -> Vec<Box<[Key]>> {
        let mut covers: Vec<Box<[Key]>> = vec![Box::default(); self.ranges.len()];
        let mut order: Vec<usize> = (0..self.ranges.len()).collect();
        let kind = |number: usize| (self.ranges[number].0, family(&self.ranges[number].1));
        order.sort_by_key(|&number| kind(number));
        for group in order.chunk_by(|&a, &b| kind(a) == kind(b)) {
            let attribute = self.ranges[group[0]].0;
            if group.len() < MANY_RANGES {
                for &number in group {
                    covers[number] = [self.keys.predicate(attribute, &self.ranges[number].1)].into();
                }
                continue;
            }
            let tests: Vec<&Test> = group.iter().map(|&number| &self.ranges[number].1).collect();
            for (&number, keys) in group.iter().zip(self.keys.dyadic_ranges(attribute, &tests)) {
                covers[number] = keys;
            }
        }
        covers
    }

    /// Replaces every id by its entry in `numbers`.
    pub fn renumber(&mut self, numbers: &[u32]) {
        self.drafts.iter_mut().for_each(|draft| draft.id = numbers[draft.id as usize]);
    }

    /// Lays the lists out; `boost` multiplies all weights of an id.
    pub fn finish(mut self, boost: impl Fn(u32) -> f64) -> Postings {
        let covers = self.cover_ranges();
        let PostingsBuilder { keys, drafts, weights, .. } = self;
        let mut placed: Vec<PendingEntry<Key>> = Vec::with_capacity(drafts.len());
        for PendingEntry { key, size, id, role, weight } in drafts {
            match key {
                EntryKey::Key(key) => placed.push(PendingEntry { key, size, id, role, weight }),
                EntryKey::Range(range) => {
                    let keys = covers[range as usize].iter();
                    placed.extend(keys.map(|&key| PendingEntry { key, size, id, role, weight }));
                }
            }
        }
        let mut drafts = placed;
        let mut sizes: Vec<u32> = drafts.iter().map(|draft| draft.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        drafts.sort_unstable_by_key(|draft| (keys.number(draft.key), draft.size, draft.id, draft.role.0));
        let mut postings = Postings {
            starts: Vec::new(),
            bounds: vec![0.0; keys.len()],
            lists: Vec::new(),
            ids: Vec::with_capacity(drafts.len()),
            roles: Roles::with_capacity(drafts.len()),
            entry_weights: WeightNumbers::Same,
            keys,
            weights,
            sizes,
        };
        let mut keys_of_lists: Vec<u32> = Vec::new();
        let mut entry_weights: Vec<u32> = Vec::with_capacity(drafts.len());
        let mut layers: Vec<Vec<&PendingEntry<Key>>> = Vec::new();
        for group in drafts.chunk_by(|a, b| a.key == b.key && a.size == b.size) {
            let key = postings.keys.number(group[0].key);
            let rank = postings.sizes.partition_point(|size| *size < group[0].size) as u32;
            // Repeated entries of an id go to additional lists, so that no list contains an id
            // twice.
            let mut layer = 0;
            for (position, draft) in group.iter().enumerate() {
                layer = if position > 0 && group[position - 1].id == draft.id { layer + 1 } else { 0 };
                if layer == layers.len() {
                    layers.push(Vec::new());
                }
                layers[layer].push(draft);
            }
            for layer in layers.iter_mut().take_while(|layer| !layer.is_empty()) {
                let start = postings.ids.len() as u32;
                let weights =
                    layer.iter().map(|entry| postings.weights[entry.weight as usize] * boost(entry.id));
                let bound = weights.fold(0.0, f64::max).min(f64::MAX);
                for entry in layer.drain(..) {
                    postings.ids.push(entry.id);
                    postings.roles.push(entry.role);
                    entry_weights.push(entry.weight);
                }
                postings.lists.push(List { start, rank, bound: at_least(bound) });
                keys_of_lists.push(key);
                let most = &mut postings.bounds[key as usize];
                *most = most.max(bound);
            }
        }
        postings.entry_weights = WeightNumbers::new(postings.weights.len(), entry_weights.into_iter());
        postings.starts = csr::starts(postings.keys.len(), keys_of_lists.into_iter());
        postings
    }
}

/// The least single-precision number that is not below another, which is not negative.
fn at_least(number: f64) -> f32 {
    let near = number as f32;
    if f64::from(near) < number { near.next_up() } else { near }
}
