//! Which cell is the end of which line?
//!
//! Cells are numbered line by line, along each line. One bit per cell says whether it is the last of its line, and
//! the number of such cells before it is the number of its tree.

use crate::forest::Owner;

/// The cells of all trees.
#[derive(Debug, Default)]
pub(super) struct Cells {
    len: u32,
    /// One bit per cell: whether a line ends there.
    ends: Vec<u64>,
    /// By word of `ends`: how many lines end before it.
    before: Vec<u32>,
    /// By tree: its owner. Empty if tree and slot are the same number throughout.
    owners: Vec<Owner>,
}

impl Cells {
    /// How many there are.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Adds the cells of a tree, which are so many and the end of its line.
    pub fn push(&mut self, inner: usize, owner: Owner) {
        let end = self.len + inner as u32;
        self.len = end + 1;
        self.ends.resize((self.len as usize).div_ceil(64), 0);
        self.ends[end as usize / 64] |= 1 << (end % 64);
        self.owners.push(owner);
    }

    /// Prepares for lookups, once all trees are known.
    pub fn finish(&mut self) {
        let mut before = 0;
        for word in &self.ends {
            self.before.push(before);
            before += word.count_ones();
        }
        if (0..).zip(&self.owners).all(|(tree, owner)| *owner == Owner::Slot(tree)) {
            self.owners = Vec::new();
        }
        self.ends.shrink_to_fit();
    }

    /// The owner of the tree whose line ends at a cell, if one does.
    #[inline]
    pub fn owner(&self, cell: u32) -> Option<Owner> {
        let (word, bit) = (cell as usize / 64, 1u64 << (cell % 64));
        let ends = self.ends[word];
        if ends & bit == 0 {
            return None;
        }
        let tree = self.before[word] + (ends & (bit - 1)).count_ones();
        Some(self.owners.get(tree as usize).copied().unwrap_or(Owner::Slot(tree)))
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        8 * self.ends.len() + 4 * self.before.len() + size_of::<Owner>() * self.owners.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_have_owners() {
        for offset in [0, 1] {
            let mut cells = Cells::default();
            let mut expected = Vec::new();
            for tree in 0..300 {
                let owner = if tree % 7 == offset { Owner::Shared(tree) } else { Owner::Slot(tree) };
                let owner = if offset == 1 { owner } else { Owner::Slot(tree) };
                cells.push(tree as usize % 5, owner);
                expected.extend(vec![None; tree as usize % 5]);
                expected.push(Some(owner));
            }
            cells.finish();
            assert_eq!(cells.owners.is_empty(), offset == 0);
            assert_eq!(cells.len() as usize, expected.len());
            assert_eq!((0..cells.len()).map(|cell| cells.owner(cell)).collect::<Vec<_>>(), expected);
        }
    }
}
