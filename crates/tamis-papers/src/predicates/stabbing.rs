//! Which of many intervals contain a value?
//!
//! Intervals are stored in priority search trees (McCreight 1985), each an array without pointers:
//! a node is the interval of its subtree with the highest upper end, and the others are split in
//! half by their low ends. A search takes logarithmic time plus the number of results. A tree does
//! not change, except for marks on removed intervals. New intervals are kept in a short list and
//! move into trees of doubling sizes, so an interval moves a logarithmic number of times.
//!
//! The compiled matcher of `tamis` has a different search (`matcher/compiled/columns/ranges`). Its
//! intervals never change, are of ranks instead of values, and are stored in columns of a file, so
//! they need no keys, marks or lists of trees.

use std::borrow::Borrow;

use crate::predicates::PredicateId;

/// The number of new intervals tested one by one before they become a tree.
const RECENT: usize = 32;

/// A changing set of intervals, both ends included.
#[derive(Debug)]
pub(super) struct Stabbing<K> {
    recent: Vec<Interval<K>>,
    /// When built, each tree was at least as large as all later ones together.
    trees: Vec<Tree<K>>,
}

#[derive(Debug)]
struct Interval<K> {
    low: K,
    high: K,
    predicate: PredicateId,
}

#[derive(Debug)]
struct Tree<K> {
    /// The root, the left subtree, the right subtree.
    nodes: Vec<IntervalNode<K>>,
    live: usize,
}

#[derive(Debug)]
struct IntervalNode<K> {
    interval: Interval<K>,
    /// The lowest interval of the subtree, by low end and predicate.
    lowest: (K, PredicateId),
    live: bool,
}

/// The sizes of the two subtrees of a subtree of `size` nodes.
fn halves(size: usize) -> (usize, usize) {
    let left = (size - 1) / 2;
    (left, size - 1 - left)
}

impl<K> Default for Stabbing<K> {
    fn default() -> Self {
        Stabbing { recent: Vec::new(), trees: Vec::new() }
    }
}

impl<K: Ord + Clone> Stabbing<K> {
    pub fn insert(&mut self, low: K, high: K, predicate: PredicateId) {
        self.recent.push(Interval { low, high, predicate });
        if self.recent.len() > RECENT {
            let mut intervals = std::mem::take(&mut self.recent);
            while self.trees.last().is_some_and(|tree| tree.live <= intervals.len()) {
                intervals.extend(self.trees.pop().into_iter().flat_map(Tree::into_live));
            }
            self.trees.push(Tree::new(intervals));
        }
    }

    /// Removes an interval that was inserted with this low end.
    pub fn remove(&mut self, low: &K, predicate: PredicateId) {
        if let Some(position) = self.recent.iter().position(|interval| interval.predicate == predicate) {
            self.recent.swap_remove(position);
            return;
        }
        for position in 0..self.trees.len() {
            let tree = &mut self.trees[position];
            if tree.remove(low, predicate) {
                if 2 * tree.live < tree.nodes.len() {
                    let live: Vec<_> = self.trees.remove(position).into_live().collect();
                    if !live.is_empty() {
                        self.trees.insert(position, Tree::new(live));
                    }
                }
                return;
            }
        }
    }

    /// Reports the intervals that contain `value`. Those that also contain a smaller value `before`
    /// need not be reported.
    pub fn find<Q: Ord + ?Sized>(&self, before: Option<&Q>, value: &Q, mut report: impl FnMut(PredicateId))
    where
        K: Borrow<Q>,
    {
        for interval in &self.recent {
            if interval.low.borrow() <= value && value <= interval.high.borrow() {
                report(interval.predicate);
            }
        }
        for tree in &self.trees {
            tree.find(before, value, &mut report);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.recent.is_empty() && self.trees.is_empty()
    }
}

impl<K: Ord + Clone> Tree<K> {
    fn new(mut intervals: Vec<Interval<K>>) -> Tree<K> {
        intervals.sort_unstable_by(|a, b| (&a.low, a.predicate).cmp(&(&b.low, b.predicate)));
        let mut nodes: Vec<IntervalNode<K>> = intervals
            .into_iter()
            .map(|interval| IntervalNode {
                lowest: (interval.low.clone(), interval.predicate),
                interval,
                live: true,
            })
            .collect();
        // The interval with the highest upper end of each sorted run becomes its root, in place;
        // the two halves are runs again.
        let mut runs = vec![(0, nodes.len())];
        while let Some((start, size)) = runs.pop() {
            let run = &mut nodes[start..start + size];
            let Some(highest) = (0..size).max_by(|&a, &b| run[a].interval.high.cmp(&run[b].interval.high))
            else {
                continue;
            };
            let lowest = (run[0].interval.low.clone(), run[0].interval.predicate);
            run[..=highest].rotate_right(1);
            run[0].lowest = lowest;
            let (left, right) = halves(size);
            runs.extend([(start + 1, left), (start + 1 + left, right)]);
        }
        let live = nodes.len();
        Tree { nodes, live }
    }

    fn into_live(self) -> impl Iterator<Item = Interval<K>> {
        self.nodes.into_iter().filter(|node| node.live).map(|node| node.interval)
    }

    fn remove(&mut self, low: &K, predicate: PredicateId) -> bool {
        let (mut start, mut size) = (0, self.nodes.len());
        while size > 0 {
            let node = &mut self.nodes[start];
            if node.interval.predicate == predicate && node.interval.low == *low {
                let found = std::mem::replace(&mut node.live, false);
                self.live -= usize::from(found);
                return found;
            }
            let (left, right) = halves(size);
            let middle = start + 1 + left;
            let goes_right = right > 0 && {
                let lowest = &self.nodes[middle].lowest;
                (low, predicate) >= (&lowest.0, lowest.1)
            };
            (start, size) = if goes_right { (middle, right) } else { (start + 1, left) };
        }
        false
    }

    fn find<Q: Ord + ?Sized>(&self, before: Option<&Q>, value: &Q, report: &mut impl FnMut(PredicateId))
    where
        K: Borrow<Q>,
    {
        // Halving bounds the depth, and so this stack, by the number of bits of a size.
        let mut stack = [(0, 0); usize::BITS as usize + 1];
        stack[0] = (0, self.nodes.len());
        let mut waiting = 1;
        while waiting > 0 {
            waiting -= 1;
            let (start, size) = stack[waiting];
            if size == 0 {
                continue;
            }
            let node = &self.nodes[start];
            // A subtree that is not skipped contains a result, or is the only one of its depth that
            // `value` cuts.
            if node.interval.high.borrow() < value || node.lowest.0.borrow() > value {
                continue;
            }
            if node.live && node.interval.low.borrow() <= value {
                report(node.interval.predicate);
            }
            let (left, right) = halves(size);
            let middle = start + 1 + left;
            stack[waiting] = (middle, right);
            waiting += 1;
            // Low ends left of the middle are at most that of the middle.
            let seen =
                right > 0 && before.is_some_and(|before| self.nodes[middle].lowest.0.borrow() <= before);
            if !seen {
                stack[waiting] = (start + 1, left);
                waiting += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_list(changes in vec((0..30i64, 0..10i64, prop::bool::weighted(0.3)), 0..400)) {
            let mut stabbing = Stabbing::default();
            let mut model: Vec<(i64, i64, PredicateId)> = Vec::new();
            for (next, (low, length, removes)) in (0..).zip(changes) {
                if removes && !model.is_empty() {
                    let (low, _, predicate) = model.swap_remove(low as usize % model.len());
                    stabbing.remove(&low, predicate);
                } else {
                    model.push((low, low + length, next));
                    stabbing.insert(low, low + length, next);
                }
            }
            for value in -1..42i64 {
                let mut found = Vec::new();
                stabbing.find(None, &value, |predicate| found.push(predicate));
                found.sort_unstable();
                let mut expected: Vec<_> = model.iter()
                    .filter(|(low, high, _)| (low..=high).contains(&&value))
                    .map(|(_, _, predicate)| *predicate)
                    .collect();
                expected.sort_unstable();
                prop_assert_eq!(found, expected);
            }
            let (mut found, mut before) = (Vec::new(), None);
            for value in (-1..42i64).step_by(5) {
                stabbing.find(before.as_ref(), &value, |predicate| found.push(predicate));
                before = Some(value);
            }
            found.sort_unstable();
            found.dedup();
            let mut expected: Vec<_> = model.iter()
                .filter(|(low, high, _)| (-1..42i64).step_by(5).any(|value| (low..=high).contains(&&value)))
                .map(|(_, _, predicate)| *predicate)
                .collect();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
            for (low, _, predicate) in model {
                stabbing.remove(&low, predicate);
            }
            prop_assert!(stabbing.is_empty());
        }
    }
}
