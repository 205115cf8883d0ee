//! Compiling filters into a segment.

use std::collections::HashMap;

use super::Slot;
use crate::access::{Access, Collected};
use crate::engine::{Engine, PathUse};
use crate::plan::{LinearPath, LinearStep, Plan, Source, ValueTest};
use crate::symbols::{PathId, SymbolPath, Symbols};
use crate::values::{Key, StepTest, ValueFilter};

/// A missing position.
pub const NONE: u32 = u32::MAX;

/// Paths that decide at most this many filters list them in every state set.
const FEW: usize = 8;

/// The filters of a path, while filters are added; groups and inline tests as (slot, position).
#[derive(Debug, Default)]
pub struct PathFilters {
    pub exact: Vec<Slot>,
    pub groups: Vec<[u32; 2]>,
    pub values: Vec<Slot>,
    pub inline: Vec<[u32; 2]>,
}

#[derive(Default)]
pub struct Builder {
    pub symbols: Symbols,
    pub numbers: HashMap<LinearPath, PathId, ahash::RandomState>,
    pub steps: Vec<(PathId, SymbolPath)>,
    pub paths: Vec<PathFilters>,
    pub groups: Vec<u32>,
    pub value_positions: Vec<u32>,
    pub values: Vec<ValueFilter>,
    pub unless: Vec<Slot>,
    pub always: Vec<Slot>,
    pub access: Collected,
    pub keys: HashMap<PathId, Vec<Key>, ahash::RandomState>,
    pub awaited: Vec<PathId>,
}

impl Builder {
    pub fn path(&mut self, path: &[LinearStep]) -> PathId {
        if let Some(&id) = self.numbers.get(path) {
            return id;
        }
        let id = self.paths.len() as PathId;
        let steps = path.iter().map(|step| (step.descendant, self.symbols.test(&step.test))).collect();
        self.numbers.insert(path.to_vec(), id);
        self.steps.push((id, steps));
        self.paths.push(PathFilters::default());
        id
    }

    pub fn add(&mut self, slot: Slot, plan: Plan, engine: Engine) {
        self.groups.resize(slot as usize + 1, 0);
        match plan {
            Plan::Exact(paths) => {
                for path in &paths {
                    let path = self.path(path);
                    let exact = &mut self.paths[path as usize].exact;
                    if exact.last() != Some(&slot) {
                        exact.push(slot);
                    }
                }
            }
            Plan::Values { path, tests } => self.add_values(slot, path, tests, engine),
            Plan::Evaluate { groups } => self.add_groups(slot, &groups),
            Plan::Default { default, paths } => {
                if default {
                    self.unless.push(slot);
                }
                self.add_groups(slot, &[paths]);
            }
            Plan::Always => self.always.push(slot),
        }
    }

    pub fn add_groups(&mut self, slot: Slot, groups: &[Vec<LinearPath>]) {
        for (at, group) in groups.iter().enumerate() {
            let bit = 1 << at;
            self.groups[slot as usize] |= bit;
            for path in group {
                let path = self.path(path);
                let waiting = &mut self.paths[path as usize].groups;
                if waiting.last() != Some(&[slot, bit]) {
                    waiting.push([slot, bit]);
                }
            }
        }
    }

    pub fn add_values(
        &mut self,
        slot: Slot,
        path: LinearPath,
        tests: Vec<(usize, ValueTest)>,
        engine: Engine,
    ) {
        let full = self.path(&path);
        let last = path.len() - 1;
        let mut tests: Vec<StepTest> = tests
            .into_iter()
            .map(|(step, test)| {
                let key = match test.source {
                    Source::Own => Key::Own,
                    Source::Text => Key::Text,
                    Source::Attribute { namespace, local } => {
                        Key::Attribute(self.symbols.name(&namespace, &local))
                    }
                };
                StepTest { step, key, condition: test.condition }
            })
            .collect();
        // The last step first, as its element is known; within a step, the most selective test
        // first.
        tests.sort_by_key(|test| {
            let chance = if engine == Engine::YFilterUnsorted { 0 } else { test.condition.selectivity() };
            (last - test.step, chance)
        });
        if engine == Engine::Auto {
            // Prefer an access at the last step: it need not wait for the rest of the path.
            let chosen = tests.iter().min_by_key(|test| (test.condition.selectivity(), last - test.step));
            if let Some(StepTest { step, key, condition }) = chosen.cloned() {
                let tested = self.path(&path[..=step]);
                let together = tests.iter().all(|test| test.step == step);
                let access = Access {
                    slot,
                    path: full,
                    step: step as u32,
                    last: step == last,
                    alone: tests.len() == 1,
                    together,
                };
                self.access.push((tested, key, condition, access));
                let keys = self.keys.entry(tested).or_default();
                if !keys.contains(&key) {
                    keys.push(key);
                }
                if step != last {
                    self.awaited.push(full);
                }
            }
        } else {
            self.paths[full as usize].values.push(slot);
        }
        if engine == Engine::YFilterInline {
            for (at, test) in tests.iter().enumerate() {
                let tested = self.path(&path[..=test.step]);
                self.paths[tested as usize].inline.push([slot, at as u32]);
            }
        }
        let steps = path.iter().map(|step| (step.descendant, self.symbols.test(&step.test))).collect();
        self.value_positions.resize(slot as usize, NONE);
        self.value_positions.push(self.values.len() as u32);
        self.values.push(ValueFilter { steps, tests: tests.into() });
    }

    /// The use of each path, for the default engine.
    pub fn uses(&mut self) -> Vec<PathUse> {
        let mut uses: Vec<PathUse> = self
            .paths
            .iter()
            .map(|path| {
                let few = path.exact.len() <= FEW;
                PathUse {
                    slots: if few { path.exact.as_slice().into() } else { [].into() },
                    fires: !few || !path.groups.is_empty(),
                    ..PathUse::default()
                }
            })
            .collect();
        for (path, keys) in &self.keys {
            uses[*path as usize].keys = keys.as_slice().into();
        }
        for path in &self.awaited {
            uses[*path as usize].awaited = true;
        }
        uses
    }
}
