//! The Dewey algorithm of Fontoura et al. 2010 (section 3): evaluates an expression from the Dewey
//! IDs of its true leaves only.
//!
//! Leaves of all trees are numbered from left to right, tree by tree, so the order of numbers is
//! the order of IDs. The true leaves are bits, which gives them in order without sorting. Trees
//! that use shared trees come after those, level by level.

mod evaluate;
mod label;

#[cfg(test)]
mod tests;

use crate::forest::{Forest, ForestBuilder, Owner, Source};
use crate::scratch::Working;
use evaluate::Evaluation;
use label::{Component, label, read, write};
use tamis::Missing;
use tamis::event::{Attributes, Event};
use tamis::expression::Expression;
use tamis::matcher::extend::{OrderedSet, csr};
use tamis::matcher::{Matcher, Scratch, Slot};

/// Expressions as the Dewey IDs of their conjunctions.
#[derive(Debug)]
pub struct Dewey {
    forest: Forest,
    /// The start of each source's leaves in `leaves`.
    starts: Vec<u32>,
    /// Numbers of leaves, by source.
    leaves: Vec<u32>,
    /// The start of each leaf's ID in `ids`.
    id_starts: Vec<u64>,
    ids: Vec<u8>,
    /// The tree of each leaf: a slot, or the number of slots plus that of a shared tree.
    trees: Vec<u32>,
    /// The end of each level's leaves.
    level_ends: Vec<u32>,
}

/// Working memory of a match.
#[derive(Debug, Default)]
pub(crate) struct DeweyScratch {
    leaves: OrderedSet,
    evaluation: Evaluation,
    id: Vec<Component>,
    /// Trees that are true.
    found: Vec<u32>,
}

struct PendingLeaf {
    level: u32,
    owner: Owner,
    source: Source,
    /// The range of its ID.
    id: std::ops::Range<usize>,
}

impl Dewey {
    /// Compiles expressions, whose slots are their positions.
    pub fn new<'a>(
        expressions: impl IntoIterator<Item = &'a Expression>,
        attributes: &Attributes,
        missing: Missing,
    ) -> Dewey {
        Dewey::build(ForestBuilder::new(attributes, missing, false), expressions)
    }

    fn build<'a>(builder: ForestBuilder<'_>, expressions: impl IntoIterator<Item = &'a Expression>) -> Dewey {
        let (mut drafts, mut written) = (Vec::new(), Vec::new());
        let (forest, numbers) = builder.build(expressions, |tree| {
            label(tree.nodes, |source, id| {
                let start = written.len();
                id.iter().for_each(|&component| write(component, &mut written));
                let id = start..written.len();
                drafts.push(PendingLeaf { level: tree.level, owner: tree.owner, source, id });
            });
        });
        // A stable sort keeps the order of trees within a level.
        drafts.sort_by_key(|draft| draft.level);
        let sources: Vec<u32> = drafts.iter().map(|draft| numbers.of(draft.source)).collect();
        let (starts, leaves) = csr::group(forest.sources(), &sources);
        let mut dewey = Dewey {
            starts,
            leaves,
            id_starts: Vec::with_capacity(drafts.len() + 1),
            ids: Vec::with_capacity(written.len()),
            trees: Vec::with_capacity(drafts.len()),
            level_ends: Vec::new(),
            forest,
        };
        for (number, draft) in drafts.iter().enumerate() {
            dewey.level_ends.resize(draft.level as usize + 1, 0);
            dewey.level_ends[draft.level as usize] = number as u32 + 1;
            dewey.id_starts.push(dewey.ids.len() as u64);
            dewey.ids.extend_from_slice(&written[draft.id.clone()]);
            dewey.trees.push(match draft.owner {
                Owner::Slot(slot) => slot,
                Owner::Shared(tree) => dewey.forest.expressions + tree,
            });
        }
        dewey.id_starts.push(dewey.ids.len() as u64);
        dewey
    }

    fn leaves_of(&self, source: u32) -> &[u32] {
        &self.leaves[csr::range(&self.starts, source)]
    }

    /// Replaces `id` by that of a leaf.
    fn read_id(&self, leaf: u32, id: &mut Vec<Component>) {
        let leaf = leaf as usize;
        let (mut position, end) = (self.id_starts[leaf] as usize, self.id_starts[leaf + 1] as usize);
        id.clear();
        while position < end {
            id.push(read(&self.ids, &mut position));
        }
    }
}

impl Dewey {
    /// The number of conjunctions that an event satisfies, which is the first step of a match.
    pub fn true_conjunctions(&self, event: &Event, scratch: &mut Scratch) -> usize {
        let mut count = 0;
        self.forest.conjunctions.find(event, &mut Working::of(scratch).conjunction, |_| count += 1);
        count
    }
}

impl Matcher for Dewey {
    fn name(&self) -> &'static str {
        "dewey"
    }

    fn matches(&self, event: &Event, scratch: &mut Scratch, found: &mut Vec<Slot>) {
        let first = found.len();
        let Working { conjunction, dewey, .. } = Working::of(scratch);
        let DeweyScratch { leaves, evaluation, id, found: trees } = dewey;
        // Already empty, unless a damaged file interrupted the previous match.
        leaves.clear();
        leaves.grow(self.leaves.len());
        self.forest.conjunctions.find(event, conjunction, |source| {
            self.leaves_of(source).iter().for_each(|&leaf| leaves.insert(leaf));
        });
        let (mut count, mut probes) = (0, 0);
        let mut start = 0;
        for &end in &self.level_ends {
            trees.clear();
            let mut current = None;
            leaves.for_each(start..end, |leaf| {
                let tree = self.trees[leaf as usize];
                if current != Some(tree) {
                    trees.extend(current.filter(|_| evaluation.end(|_, _| ())));
                    current = Some(tree);
                    evaluation.begin();
                }
                self.read_id(leaf, id);
                count += 1;
                probes += evaluation.leaf(id, |_, _| ()) as u64;
            });
            trees.extend(current.filter(|_| evaluation.end(|_, _| ())));
            for &tree in trees.iter() {
                match tree.checked_sub(self.forest.expressions) {
                    None => found.push(tree),
                    Some(shared) => {
                        let source = self.forest.conjunctions.len() as u32 + shared;
                        self.leaves_of(source).iter().for_each(|&leaf| leaves.insert(leaf));
                    }
                }
            }
            start = end;
        }
        leaves.clear();
        conjunction.counters().leaves += count;
        conjunction.counters().probes += probes;
        if !found[first..].is_sorted() {
            found[first..].sort_unstable();
        }
        self.forest.scan(event, scratch, found, first);
    }

    fn bytes(&self) -> usize {
        let words = self.starts.len() + self.leaves.len() + self.trees.len() + self.level_ends.len();
        self.forest.bytes() + 4 * words + 8 * self.id_starts.len() + self.ids.len()
    }
}
