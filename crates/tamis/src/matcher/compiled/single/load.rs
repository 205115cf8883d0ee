//! What does an event have of all that the expressions test?
//!
//! Each value is looked up once. What is known of it afterwards are its key, its rank, the bits that it sets and the
//! triggers that it makes true.

use super::super::Compiled;
use super::super::columns::keys::NO_KEY;
use super::super::columns::ranges::NO_RANK;
use super::scratch::{CompiledScratch, EventAttribute, NumberedValue};
use crate::event::{Event, Presence};

impl Compiled {
    /// Writes down what the event has, and which triggers that makes true.
    pub(in crate::matcher::compiled) fn load(&self, event: &Event, working: &mut CompiledScratch) {
        let [sets, _, attributes, always, _] = self.triggers();
        let ranges = sets + self.sets.len() as u32;
        working.triggers.push(always);
        // Often the mere presence of an attribute is not a trigger of anything.
        let presence_matters = self.starts[attributes as usize] < self.starts[always as usize];
        working.probes.clear();
        for (attribute, _, presence) in self.known(event) {
            if let Presence::Values(values) = presence {
                for value in values {
                    working.probes.push(self.keys.probe(attribute, value));
                }
            }
        }
        self.keys.prefetch(&working.probes);
        let (mut probe, mut repeated) = (0, false);
        for (attribute, global, presence) in self.known(event) {
            let first = working.values.len() as u32;
            working.touched.push(attribute);
            match presence {
                Presence::Missing => continue,
                Presence::Null => {}
                Presence::Values(values) => {
                    // The previous rank, if ranks ascend: the ranges that contain it were found already.
                    let (ascending, mut before) = (values.are_ascending(), None);
                    for value in values {
                        let key = self.keys.find(working.probes[probe], value);
                        probe += 1;
                        let rank = self.bounds.rank(attribute, value);
                        working.values.push(NumberedValue { key, rank });
                        if key != NO_KEY {
                            self.bits.with_key(attribute, key, |word, bit| working.set(word, bit));
                            working.triggers.push(key);
                            for &set in self.sets_of(key) {
                                if working.find_set(set) {
                                    working.triggers.push(sets + set);
                                }
                            }
                        }
                        if rank != NO_RANK && before != Some(rank) {
                            self.bits.with_rank(attribute, rank, |word, bit| working.set(word, bit));
                            let found = &mut |range| working.triggers.push(ranges + range);
                            self.stabbing.stab(attribute, before, rank, found);
                            before = ascending.then_some(rank);
                        }
                    }
                }
            }
            if presence_matters {
                working.triggers.push(attributes + attribute);
            }
            let values = working.values.len() as u32 - first;
            let NumberedValue { key, rank } =
                working.values.get(first as usize).copied().unwrap_or(NumberedValue::NONE);
            working.fields[attribute as usize] =
                EventAttribute { first, values, key, rank, global, present: true };
            if values > 0 {
                self.find_patterns(attribute, global, event, working);
            }
            if working.timer.spend(values as usize) {
                working.triggers.clear();
                return;
            }
            repeated |= values > 1;
        }
        // Several values can lie in one range: its entry list is read once.
        if repeated {
            working.triggers.sort_unstable();
            working.triggers.dedup();
        }
    }

    /// The attributes of the event that expressions test: their numbers in this matcher and in the event.
    #[inline]
    pub(in crate::matcher::compiled) fn known<'e>(
        &self,
        event: &'e Event,
    ) -> impl Iterator<Item = (u32, u32, Presence<'e>)> {
        event.iter().filter_map(|(global, presence)| match self.attributes.get(global as usize) {
            Some(&attribute) if attribute > 0 => Some((attribute, global, presence)),
            _ => None,
        })
    }

    /// The sets that are triggers and have a key.
    #[inline]
    pub(in crate::matcher::compiled) fn sets_of(&self, key: u32) -> &[u32] {
        if self.key_sets.items.is_empty() { &[] } else { self.key_sets.get(key) }
    }
}
