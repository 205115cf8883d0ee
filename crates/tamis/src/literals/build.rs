//! How do literals become tries and automata in columns?
//!
//! The literals of a group and an anchor are sorted, so their trie is built in preorder from what each
//! has in common with the one before. Failure links are found level by level. Both take time linear in
//! the length of the literals, apart from sorting them.

use super::{ANCHORS, Anchor, FEW, LEAF, LiteralId, Literals, ONE, OUTPUT, PAYLOAD, ROW, State};

/// States with more children than this have a row of 256 links.
const MOST_LABELS: usize = 12;

/// Literals to be looked for.
#[derive(Debug, Default)]
pub(crate) struct LiteralsBuilder {
    /// The group, the anchor, and where the bytes end, which are reversed for those at the end.
    literals: Vec<(u32, Anchor, usize)>,
    bytes: Vec<u8>,
}

impl LiteralsBuilder {
    /// Adds a literal; its position among those added stands for it until all are numbered. The empty
    /// literal stands at the start of every text, and is added as such.
    pub fn push(&mut self, group: u32, anchor: Anchor, literal: &[u8]) -> usize {
        match anchor {
            Anchor::End => self.bytes.extend(literal.iter().rev()),
            _ => self.bytes.extend_from_slice(literal),
        }
        let anchor = if literal.is_empty() { Anchor::Start } else { anchor };
        self.literals.push((group, anchor, self.bytes.len()));
        self.literals.len() - 1
    }

    fn bytes_of(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.literals[before].2);
        &self.bytes[start..self.literals[position].2]
    }

    /// Builds the automata for groups below `groups`. Also returns the number of each literal that was
    /// added; equal literals of a group have the same number.
    pub fn build(self, groups: usize) -> (Literals, Vec<LiteralId>) {
        let key = |position: usize| {
            let (group, anchor, _) = self.literals[position];
            (group, anchor, self.bytes_of(position))
        };
        let mut order: Vec<usize> = (0..self.literals.len()).collect();
        order.sort_unstable_by(|&a, &b| key(a).cmp(&key(b)));
        let mut numbers = vec![0; order.len()];
        let mut distinct: Vec<usize> = Vec::new();
        for position in order {
            if distinct.last().is_none_or(|&last| key(last) != key(position)) {
                distinct.push(position);
            }
            numbers[position] = distinct.len() as LiteralId - 1;
        }
        let mut columns = Columns {
            roots: vec![0; ANCHORS * groups],
            states: vec![State::default()],
            branches: Vec::new(),
            next: vec![0; distinct.len()],
        };
        let mut first = 0;
        let trie_of = |position: usize| (self.literals[position].0, self.literals[position].1);
        for run in distinct.chunk_by(|&a, &b| trie_of(a) == trie_of(b)) {
            let (group, anchor) = trie_of(run[0]);
            let root = columns.states.len() as u32;
            columns.roots[ANCHORS * group as usize + anchor as usize] = root;
            let trie = Trie::new(run.iter().map(|&position| self.bytes_of(position)), first);
            columns.append(&trie, anchor == Anchor::Anywhere);
            first += run.len() as u32;
        }
        let Columns { roots, states, branches, next } = columns;
        let states = if distinct.is_empty() { Vec::new() } else { states };
        let literals = Literals {
            roots: roots.into(),
            states: states.into(),
            branches: branches.into(),
            next: next.into(),
        };
        (literals, numbers)
    }
}

/// A trie on its way, its states numbered in preorder from 0, the root.
struct Trie {
    /// The byte that leads to each state.
    labels: Vec<u8>,
    depths: Vec<u32>,
    parents: Vec<u32>,
    /// For every state the literal that ends there plus one, or 0.
    literals: Vec<u32>,
    /// Where the children of each state begin in `children`, which are ascending by label.
    starts: Vec<u32>,
    children: Vec<u32>,
}

impl Trie {
    /// The trie of sorted, distinct literals that are numbered from `first` on.
    fn new<'a>(sorted: impl Iterator<Item = &'a [u8]>, first: u32) -> Trie {
        let mut trie = Trie {
            labels: vec![0],
            depths: vec![0],
            parents: vec![0],
            literals: vec![0],
            starts: Vec::new(),
            children: Vec::new(),
        };
        let mut path = vec![0u32];
        let mut before: &[u8] = &[];
        for (literal, number) in sorted.zip(first..) {
            let common = before.iter().zip(literal).take_while(|(a, b)| a == b).count();
            path.truncate(common + 1);
            for (&byte, depth) in literal[common..].iter().zip(common as u32 + 1..) {
                let state = trie.labels.len() as u32;
                trie.labels.push(byte);
                trie.depths.push(depth);
                trie.parents.push(path[path.len() - 1]);
                trie.literals.push(0);
                path.push(state);
            }
            trie.literals[path[path.len() - 1] as usize] = number + 1;
            before = literal;
        }
        let count = trie.labels.len();
        let mut starts = vec![0u32; count + 1];
        trie.parents[1..].iter().for_each(|&parent| starts[parent as usize + 1] += 1);
        for state in 0..count {
            starts[state + 1] += starts[state];
        }
        let mut ends = starts.clone();
        trie.children = vec![0; count - 1];
        for (&parent, state) in trie.parents[1..].iter().zip(1..) {
            let end = &mut ends[parent as usize];
            trie.children[*end as usize] = state;
            *end += 1;
        }
        trie.starts = starts;
        trie
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn children(&self, state: u32) -> &[u32] {
        &self.children[self.starts[state as usize] as usize..self.starts[state as usize + 1] as usize]
    }

    fn child(&self, state: u32, byte: u8) -> Option<u32> {
        let label = |&child: &u32| self.labels[child as usize];
        match self.children(state) {
            [child] => (label(child) == byte).then_some(*child),
            children => children.binary_search_by_key(&byte, label).ok().map(|at| children[at]),
        }
    }

    /// The states below the root, level by level.
    fn levels(&self) -> Vec<u32> {
        let deepest = self.depths.iter().max().map_or(0, |&depth| depth as usize);
        let mut ends = vec![0u32; deepest + 2];
        self.depths[1..].iter().for_each(|&depth| ends[depth as usize + 1] += 1);
        for depth in 0..=deepest {
            ends[depth + 1] += ends[depth];
        }
        let mut levels = vec![0; self.len() - 1];
        for (&depth, state) in self.depths[1..].iter().zip(1..) {
            let end = &mut ends[depth as usize];
            levels[*end as usize] = state;
            *end += 1;
        }
        levels
    }

    /// The state that a byte leads to from a state or, failing that, from where its failure links lead.
    fn step(&self, mut state: u32, byte: u8, fails: &[u32]) -> u32 {
        loop {
            match self.child(state, byte) {
                Some(child) => return child,
                None if state == 0 => return 0,
                None => state = fails[state as usize],
            }
        }
    }
}

/// The columns of all tries.
struct Columns {
    roots: Vec<u32>,
    states: Vec<State>,
    branches: Vec<u32>,
    next: Vec<u32>,
}

impl Columns {
    /// Appends a trie; an automaton also has failure links.
    fn append(&mut self, trie: &Trie, automaton: bool) {
        let base = self.states.len() as u32;
        let mut fails = vec![0u32; trie.len()];
        // The literal that ends at each state, or the longest that what leads there ends with.
        let mut outputs = trie.literals.clone();
        let levels = if automaton { trie.levels() } else { Vec::new() };
        for &state in &levels {
            let parent = trie.parents[state as usize];
            if parent != 0 {
                let label = trie.labels[state as usize];
                fails[state as usize] = trie.step(fails[parent as usize], label, &fails);
            }
            let inherited = outputs[fails[state as usize] as usize];
            match trie.literals[state as usize] {
                0 => outputs[state as usize] = inherited,
                literal => self.next[literal as usize - 1] = inherited,
            }
        }
        for state in 0..trie.len() as u32 {
            let word = self.encode(trie, state, outputs[state as usize], base);
            let fail = if automaton { base + fails[state as usize] } else { 0 };
            self.states.push(State { word, fail });
        }
        // Rows are resolved level by level, each from that of its failure link.
        for state in std::iter::once(0).chain(levels).filter(|_| automaton) {
            let word = self.states[(base + state) as usize].word;
            if word & super::KIND == ROW {
                self.resolve(trie, state, &fails, base);
            }
        }
    }

    fn encode(&mut self, trie: &Trie, state: u32, output: u32, base: u32) -> u32 {
        let flag = if output == 0 { 0 } else { OUTPUT };
        let record = (self.branches.len() as u32) << PAYLOAD;
        let label = |child: &u32| trie.labels[*child as usize];
        match trie.children(state) {
            [] => LEAF | flag | output << PAYLOAD,
            [child] if output == 0 => ONE | u32::from(label(child)) << PAYLOAD,
            children if children.len() <= MOST_LABELS => {
                self.branches.extend([output, children.len() as u32]);
                for labels in children.chunks(4) {
                    let mut bytes = [0; 4];
                    bytes.iter_mut().zip(labels).for_each(|(byte, child)| *byte = label(child));
                    self.branches.push(u32::from_ne_bytes(bytes));
                }
                self.branches.extend(children.iter().map(|child| base + child));
                FEW | flag | record
            }
            children => {
                self.branches.push(output);
                let row = self.branches.len();
                self.branches.resize(row + 256, 0);
                children
                    .iter()
                    .for_each(|child| self.branches[row + usize::from(label(child))] = base + child);
                ROW | flag | record
            }
        }
    }

    /// Gives a row of an automaton the states that failure links lead to.
    fn resolve(&mut self, trie: &Trie, state: u32, fails: &[u32], base: u32) {
        let row_of = |word: u32| (word >> PAYLOAD) as usize + 1;
        let row = row_of(self.states[(base + state) as usize].word);
        let fail = fails[state as usize];
        let below = self.states[(base + fail) as usize].word;
        for byte in 0..=u8::MAX {
            let position = row + usize::from(byte);
            if self.branches[position] == 0 {
                self.branches[position] = match below & super::KIND {
                    _ if state == 0 => base,
                    ROW => self.branches[row_of(below) + usize::from(byte)],
                    _ => base + trie.step(fail, byte, fails),
                };
            }
        }
    }
}
