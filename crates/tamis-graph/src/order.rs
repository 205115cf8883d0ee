//! In which order are the nodes of a graph numbered?
//!
//! Strongly connected components are in a topological order of the condensation (Broder et al. 2011,
//! section 3.2.1), found by Tarjan's algorithm without recursion, because a path may be as long as the graph. Inside
//! a component, nodes are numbered breadth first from where it is entered (section 3.2.2), so a node tends to follow
//! a node that leads to it, and its result need not wait.
//!
//! Among the topological orders, it is one in which the children of a node are adjacent where possible, so that a
//! search reads their data from few pages.

use crate::csr;

/// Edges by their source: those of node `n` are `targets[starts[n]..starts[n + 1]]`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub starts: &'a [u32],
    pub targets: &'a [u32],
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    pub fn of(&self, node: u32) -> &'a [u32] {
        &self.targets[csr::range(self.starts, node)]
    }
}

/// The numbering of a graph.
#[derive(Debug)]
pub(super) struct Order {
    /// The nodes in their new order.
    pub nodes: Vec<u32>,
    /// For every place in that order, the place where its component begins.
    pub firsts: Vec<u32>,
}

const UNSEEN: u32 = u32::MAX;

/// Numbers the nodes of a graph.
pub(super) fn order(rows: Rows<'_>) -> Order {
    let mut entered = vec![false; rows.len()];
    rows.targets.iter().for_each(|&target| entered[target as usize] = true);
    let component = components(rows, &entered);
    let count = component.iter().max().map_or(0, |last| *last as usize + 1);
    // Tarjan completes a component after all that it leads to: the last one comes first.
    let places: Vec<u32> = component.iter().map(|&number| count as u32 - 1 - number).collect();
    let (starts, mut nodes) = csr::group(count, &places);
    entered.fill(false);
    for node in 0..rows.len() as u32 {
        for &target in rows.of(node) {
            entered[target as usize] |= component[target as usize] != component[node as usize];
        }
    }
    let mut firsts = vec![0u32; rows.len()];
    let mut seen = vec![false; rows.len()];
    let mut walked = Vec::new();
    for bounds in starts.windows(2) {
        let (first, end) = (bounds[0] as usize, bounds[1] as usize);
        firsts[first..end].fill(first as u32);
        if end - first > 1 {
            walk(rows, &component, &nodes[first..end], &entered, &mut seen, &mut walked);
            nodes[first..end].copy_from_slice(&walked);
        }
    }
    Order { nodes, firsts }
}

/// The members of a component breadth first, from those that are entered from outside.
fn walk(
    rows: Rows<'_>,
    component: &[u32],
    members: &[u32],
    entered: &[bool],
    seen: &mut [bool],
    walked: &mut Vec<u32>,
) {
    walked.clear();
    let mut visit = |node: u32, walked: &mut Vec<u32>| {
        if !std::mem::replace(&mut seen[node as usize], true) {
            walked.push(node);
        }
    };
    members.iter().filter(|&&node| entered[node as usize]).for_each(|&node| visit(node, walked));
    if walked.is_empty() {
        visit(members[0], walked);
    }
    let mut next = 0;
    while let Some(&node) = walked.get(next) {
        next += 1;
        for &target in rows.of(node) {
            if component[target as usize] == component[node as usize] {
                visit(target, walked);
            }
        }
    }
}

/// The component of every node; a component is numbered after all those it leads to. Nodes that no edge enters
/// are walked from first, so that most others are met, and numbered, beside those that lead to them.
fn components(rows: Rows<'_>, entered: &[bool]) -> Vec<u32> {
    let count = rows.len();
    let mut component = vec![UNSEEN; count];
    // The order of discovery, and the earliest node still open that is reached from below.
    let (mut found, mut low) = (vec![UNSEEN; count], vec![0u32; count]);
    let mut open: Vec<u32> = Vec::new();
    // The path being walked: a node and the end of its edges still to be followed. Nodes and edges are
    // taken from the last one on, because components are completed in the reverse of their order.
    let mut path: Vec<(u32, u32)> = Vec::new();
    let (mut discovered, mut completed) = (0, 0);
    let roots = |inside: bool| (0..count as u32).rev().filter(move |&root| entered[root as usize] == inside);
    for root in roots(false).chain(roots(true)) {
        if found[root as usize] != UNSEEN {
            continue;
        }
        path.push((root, rows.starts[root as usize + 1]));
        while let Some(top) = path.last_mut() {
            let (node, edge) = *top;
            if found[node as usize] == UNSEEN {
                (found[node as usize], low[node as usize]) = (discovered, discovered);
                discovered += 1;
                open.push(node);
            }
            if edge > rows.starts[node as usize] {
                top.1 -= 1;
                let target = rows.targets[edge as usize - 1];
                if found[target as usize] == UNSEEN {
                    path.push((target, rows.starts[target as usize + 1]));
                } else if component[target as usize] == UNSEEN {
                    low[node as usize] = low[node as usize].min(found[target as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(above, _)) = path.last() {
                low[above as usize] = low[above as usize].min(low[node as usize]);
            }
            if low[node as usize] == found[node as usize] {
                while let Some(member) = open.pop() {
                    component[member as usize] = completed;
                    if member == node {
                        break;
                    }
                }
                completed += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(count: usize, edges: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
        let mut edges = edges.to_vec();
        edges.sort_unstable();
        let starts = csr::starts(count, edges.iter().map(|&(source, _)| source));
        (starts, edges.into_iter().map(|(_, target)| target).collect())
    }

    fn ordered(count: usize, edges: &[(u32, u32)]) -> Order {
        let (starts, targets) = rows(count, edges);
        order(Rows { starts: &starts, targets: &targets })
    }

    #[test]
    fn edges_lead_forward_or_stay_inside() {
        // Two cycles, a bridge between them, a tail, and a node apart.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (4, 5)];
        let order = ordered(7, &edges);
        let place = |node: u32| order.nodes.iter().position(|&found| found == node).unwrap();
        for (source, target) in edges {
            assert!(order.firsts[place(source)] <= order.firsts[place(target)], "{source} -> {target}");
        }
        let first = |node: u32| order.firsts[place(node)];
        assert_eq!([first(0), first(1)], [first(2); 2]);
        assert_eq!(first(3), first(4));
        assert_ne!(first(3), first(5));
        let mut firsts = order.firsts.clone();
        firsts.dedup();
        assert_eq!(firsts.len(), 4);
    }

    #[test]
    fn children_stand_together() {
        // Two nodes, each leading to every second of 100 that were added before them.
        let edges: Vec<(u32, u32)> = (0..100).map(|leaf| (100 + leaf % 2, leaf)).collect();
        let order = ordered(102, &edges);
        let children = |of: u32| (0..50).map(move |leaf| 2 * leaf + of);
        let expected = [100].into_iter().chain(children(0)).chain([101]).chain(children(1));
        assert!(order.nodes.iter().copied().eq(expected), "{:?}", order.nodes);
    }

    #[test]
    fn a_component_is_walked_from_where_it_is_entered() {
        // Entered at 3: figure 10 (b), not (a).
        let order = ordered(5, &[(0, 1), (1, 2), (2, 3), (3, 0), (4, 3)]);
        assert_eq!(order.nodes, [4, 3, 0, 1, 2]);
    }

    #[test]
    fn long_paths_and_cycles_need_no_stack() {
        let count = 1_000_000;
        let mut edges: Vec<(u32, u32)> = (1..count).map(|node| (node, node - 1)).collect();
        let order = ordered(count as usize, &edges);
        assert!(order.nodes.iter().rev().copied().eq(0..count));
        edges.push((0, count - 1));
        assert!(ordered(count as usize, &edges).firsts.iter().all(|&first| first == 0));
        assert!(ordered(0, &[]).nodes.is_empty());
    }
}
