//! Is an expression true, given the Dewey IDs of its true leaves?
//!
//! EVALUATEAND and EVALUATEOR of Fontoura et al. 2010 (section 3.2, Alg. 1 to 3), with an explicit
//! stack instead of recursion: the nodes on the path to the current leaf, alternating `and` and
//! `or` from the root. A node is closed when the next ID does not pass through it.

use super::label::Component;

/// A node on the path to the current leaf.
#[derive(Debug, Clone, Copy)]
struct PathNode {
    /// The edge that leads to it.
    component: Component,
    result: bool,
    /// For an `and`: the number of the last child explored without a gap.
    explored: u32,
    /// For an `and`: whether its last child was explored.
    last: bool,
}

/// The nodes on the path to the current leaf.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    open: Vec<PathNode>,
    /// The edge to the current leaf, while it is open.
    leaf: Option<Component>,
}

impl Evaluation {
    /// Starts an expression.
    pub fn begin(&mut self) {
        self.open.clear();
        self.leaf = None;
        self.enter(Component { number: 1, last: true });
    }

    fn enter(&mut self, component: Component) {
        // The root and every second node below it are `and`s.
        let and = self.open.len().is_multiple_of(2);
        self.open.push(PathNode { component, result: and, explored: 0, last: false });
    }

    /// Adds the next true leaf, in the order of IDs. Calls `closed` for every node that is now
    /// decided, with the number of components of its ID and its result. Returns the number of components
    /// examined.
    pub fn leaf(&mut self, id: &[Component], mut closed: impl FnMut(usize, bool)) -> usize {
        // An ID has at least one component: the root is not a leaf.
        let Some((&last, path)) = id.split_last() else { return 0 };
        let shared = self.open[1..]
            .iter()
            .zip(path)
            .take_while(|(node, component)| node.component == **component)
            .count();
        self.close(shared, &mut closed);
        path[shared..].iter().for_each(|&component| self.enter(component));
        self.leaf = Some(last);
        id.len()
    }

    /// Decides all nodes with more than this many components.
    fn close(&mut self, components: usize, closed: &mut impl FnMut(usize, bool)) {
        if let Some(component) = self.leaf.take() {
            self.explore(component, true);
        }
        while self.open.len() > components + 1 {
            let depth = self.open.len() - 1;
            let Some(node) = self.open.pop() else { return };
            let result = node.result && (depth % 2 == 1 || node.last);
            closed(depth, result);
            self.explore(node.component, result);
        }
    }

    /// Reports the result of a child to the innermost node.
    fn explore(&mut self, component: Component, result: bool) {
        let and = self.open.len() % 2 == 1;
        let Some(node) = self.open.last_mut() else { return };
        if and {
            node.explored += 1;
            node.result &= result && component.number == node.explored;
            node.last = component.last;
        } else {
            node.result |= result;
        }
    }

    /// Ends an expression. Returns whether it is true.
    pub fn end(&mut self, mut closed: impl FnMut(usize, bool)) -> bool {
        self.close(0, &mut closed);
        let result = self.open.pop().is_some_and(|root| root.result && root.last);
        closed(0, result);
        result
    }
}
