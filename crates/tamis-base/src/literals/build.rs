//! How do literals become tries and automata in columns?
//!
//! The literals of a group and an anchor are sorted, so their trie is built in preorder from what each
//! has in common with the one before. Failure links are found in order of depth. Both take time linear in
//! the length of the literals, apart from sorting them.

use crate::csr;

use super::{
    Anchor, Classes, FEW, FLAGS, FORM, GRAM, LEAF, LONG, LONGER, LONGER_GRAM, LiteralId, Literals, ONE,
    OUTPUT, POSITION, RESOLVED, ROW, TRIES, place,
};

/// States with fewer children than the first have no row, those with more than the second have one; between, those
/// whose row would be filled to one part in so many.
const FEWEST: usize = 4;
const MOST: usize = 12;
const FILLED: usize = 6;
/// Bits per long literal of the filter that tells where one may begin.
const BITS: usize = 16;

/// Literals to be looked for.
#[derive(Debug, Default)]
pub struct LiteralsBuilder {
    /// The group, the trie, and where the bytes end, which are reversed for those at the end.
    literals: Vec<(u32, usize, usize)>,
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
        let trie = match anchor {
            _ if literal.is_empty() => Anchor::Start as usize,
            Anchor::Anywhere if literal.len() >= LONGER_GRAM => LONGER,
            Anchor::Anywhere if literal.len() >= GRAM => LONG,
            anchor => anchor as usize,
        };
        self.literals.push((group, trie, self.bytes.len()));
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
            let (group, trie, _) = self.literals[position];
            (group, trie, self.bytes_of(position))
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
            roots: vec![0; 2 * TRIES * groups],
            classes: Vec::new(),
            filters: Vec::new(),
            bits: Vec::new(),
            // No reference is 0.
            words: vec![0; 2],
            next: vec![0; distinct.len()],
        };
        let mut first = 0;
        let trie_of = |position: usize| (self.literals[position].0, self.literals[position].1);
        for run in distinct.chunk_by(|&a, &b| trie_of(a) == trie_of(b)) {
            let (group, which) = trie_of(run[0]);
            let literals = run.iter().map(|&position| self.bytes_of(position));
            let trie = Trie::new(literals.clone(), first);
            let place = 2 * (TRIES * group as usize + which);
            columns.roots[place + 1] = (columns.classes.len() / 256) as u32;
            columns.roots[place] = columns.append(&trie, which >= Anchor::Anywhere as usize);
            match which {
                LONG => columns.append_filter::<GRAM>(2 * group as usize, literals),
                LONGER => columns.append_filter::<LONGER_GRAM>(2 * group as usize + 1, literals),
                _ => {}
            }
            first += run.len() as u32;
        }
        let Columns { roots, classes, filters, bits, words, next } = columns;
        let words = if distinct.is_empty() { Vec::new() } else { words };
        let literals = Literals {
            roots: roots.into(),
            classes: classes.into(),
            filters: filters.into(),
            bits: bits.into(),
            words: words.into(),
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
    /// For every state, the literal that ends there plus one, or 0.
    literals: Vec<u32>,
    /// Where the children of each state begin in `children`; they ascend by label.
    starts: Vec<u32>,
    children: Vec<u32>,
}

/// Lists of the states below the root: [`csr::group`] numbers them from 0.
fn below_root((starts, mut states): (Vec<u32>, Vec<u32>)) -> (Vec<u32>, Vec<u32>) {
    states.iter_mut().for_each(|state| *state += 1);
    (starts, states)
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
        (trie.starts, trie.children) = below_root(csr::group(count, &trie.parents[1..]));
        trie
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn children(&self, state: u32) -> &[u32] {
        &self.children[csr::range(&self.starts, state)]
    }

    fn child(&self, state: u32, byte: u8) -> Option<u32> {
        let label = |&child: &u32| self.labels[child as usize];
        match self.children(state) {
            [child] => (label(child) == byte).then_some(*child),
            children => children.binary_search_by_key(&byte, label).ok().map(|at| children[at]),
        }
    }

    /// The states below the root, in order of depth.
    fn by_depth(&self) -> Vec<u32> {
        let deepest = self.depths.iter().max().map_or(0, |&depth| depth as usize);
        below_root(csr::group(deepest + 1, &self.depths[1..])).1
    }

    /// The next state on a byte, from a state or else from where its failure links lead.
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
    classes: Vec<u8>,
    filters: Vec<u32>,
    bits: Vec<u64>,
    words: Vec<u32>,
    next: Vec<u32>,
}

/// What is needed to write the states of a trie.
struct Layout<'a> {
    trie: &'a Trie,
    /// The references to all states.
    references: Vec<u32>,
    /// The states that failure links lead to; the root by default.
    fails: Vec<u32>,
    /// The literal that ends at each state, or the longest literal that is a suffix of the path to it, plus one; or
    /// 0.
    outputs: Vec<u32>,
    /// A byte of each class except the first, which has all bytes that occur in no literal.
    bytes: Vec<u8>,
    classes: Classes,
}

impl Columns {
    /// Appends the filter of the first bytes of a group's long literals.
    fn append_filter<'a, const BYTES: usize>(
        &mut self,
        filter: usize,
        literals: impl ExactSizeIterator<Item = &'a [u8]>,
    ) {
        let words = (BITS * literals.len() / 64).clamp(1, 1 << 30).next_power_of_two();
        let shift = 63 - words.trailing_zeros();
        let start = self.bits.len();
        self.bits.resize(start + words, 0);
        for literal in literals {
            let (word, mask) = place::<BYTES>(literal, shift);
            self.bits[start + word] |= mask;
        }
        self.filters.resize(self.filters.len().max(2 * filter + 2), 0);
        self.filters[2 * filter..2 * filter + 2].copy_from_slice(&[start as u32, shift]);
    }

    /// Appends a trie and returns the reference to its root; an automaton also has failure links.
    fn append(&mut self, trie: &Trie, automaton: bool) -> u32 {
        let mut fails = vec![0u32; trie.len()];
        let mut outputs = trie.literals.clone();
        let by_depth = if automaton { trie.by_depth() } else { Vec::new() };
        for &state in &by_depth {
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
        let (classes, bytes) = classes(&trie.labels[1..]);
        let mut layout = Layout { trie, references: Vec::new(), fails, outputs, bytes, classes };
        layout.place(self.words.len());
        for state in 0..trie.len() as u32 {
            layout.write(state, automaton, &mut self.words);
        }
        // Rows are resolved in order of depth, each from that of its failure link.
        for state in std::iter::once(0).chain(by_depth).filter(|_| automaton) {
            if layout.references[state as usize] & FORM == ROW {
                layout.resolve(state, &mut self.words);
            }
        }
        self.classes.extend(layout.classes);
        layout.references[0]
    }
}

/// The class of each byte, and a byte of each class except the first, which has all other bytes. If all bytes are
/// labels, each is a class of its own.
fn classes(labels: &[u8]) -> (Classes, Vec<u8>) {
    let mut is_label = [false; 256];
    labels.iter().for_each(|&label| is_label[usize::from(label)] = true);
    let bytes: Vec<u8> = (0..=u8::MAX).filter(|&byte| is_label[usize::from(byte)]).collect();
    let mut classes = [0; 256];
    let first = if bytes.len() == 256 { 0 } else { 1 };
    bytes.iter().zip(first..=u8::MAX).for_each(|(&byte, class)| classes[usize::from(byte)] = class);
    (classes, bytes)
}

impl Layout<'_> {
    /// How many entries a row has.
    fn row(&self) -> usize {
        if self.bytes.len() == 256 { 256 } else { self.bytes.len() + 1 }
    }

    /// Assigns a position to each state, from `position` on.
    fn place(&mut self, mut position: usize) {
        let row = self.row();
        for state in 0..self.trie.len() as u32 {
            let children = self.trie.children(state).len();
            let output = self.outputs[state as usize] != 0;
            let (form, size) = match children {
                0 => (LEAF, 2),
                1 if !output => (ONE, 2),
                FEWEST.. if children > MOST || children * FILLED > row => (ROW, 2 + row),
                _ => (FEW, 3 + children.div_ceil(4) + children),
            };
            let flag = if output { OUTPUT } else { 0 };
            self.references.push((position as u32) << POSITION | flag | form);
            position += size;
        }
    }

    /// Appends a state.
    fn write(&self, state: u32, automaton: bool, words: &mut Vec<u32>) {
        let trie = self.trie;
        let (children, output) = (trie.children(state), self.outputs[state as usize]);
        let reference = |child: &u32| self.references[*child as usize];
        let label = |child: &u32| trie.labels[*child as usize];
        words.push(if automaton { self.references[self.fails[state as usize] as usize] } else { 0 });
        match (self.references[state as usize] & FORM, children) {
            (ONE, [child]) => words.push(u32::from(label(child)) | (reference(child) & FLAGS) << 8),
            (ROW, _) => {
                words.push(output);
                let row = words.len();
                words.resize(row + self.row(), 0);
                for child in children {
                    words[row + usize::from(self.classes[usize::from(label(child))])] = reference(child);
                }
            }
            (FEW, _) => {
                words.extend([output, children.len() as u32]);
                for four in children.chunks(4) {
                    let mut bytes = [0; 4];
                    bytes.iter_mut().zip(four).for_each(|(byte, child)| *byte = label(child));
                    words.push(u32::from_ne_bytes(bytes));
                }
                words.extend(children.iter().map(reference));
            }
            _ => words.push(output),
        }
    }

    /// Adds the states that failure links lead to to a row of an automaton.
    fn resolve(&self, state: u32, words: &mut [u32]) {
        let row_of = |state: u32| (self.references[state as usize] >> POSITION) as usize + 2;
        let (row, fail) = (row_of(state), self.fails[state as usize]);
        if self.bytes.len() < 256 {
            words[row] = self.references[0] | RESOLVED;
        }
        for &byte in &self.bytes {
            let class = usize::from(self.classes[usize::from(byte)]);
            if words[row + class] == 0 {
                let resolved = match self.references[fail as usize] & FORM {
                    _ if state == 0 => self.references[0],
                    ROW => words[row_of(fail) + class],
                    _ => self.references[self.trie.step(fail, byte, &self.fails) as usize],
                };
                words[row + class] = resolved | RESOLVED;
            }
        }
    }
}
