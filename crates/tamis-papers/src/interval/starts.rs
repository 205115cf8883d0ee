//! Where do the bytes of each source begin?
//!
//! Sources are in blocks. A block has its own beginning, and every source of it the distance from there in two
//! bytes; where that is not enough, the block has full positions instead.

use std::ops::Range;

/// Sources per block.
const BLOCK: usize = 16;

/// In `blocks`: the rest is a number of a block in `wide`.
const IS_WIDE: u32 = 1 << 31;

/// Ascending positions, and where the last bytes end.
#[derive(Debug, Default)]
pub(super) struct Starts {
    blocks: Vec<u32>,
    near: Vec<u16>,
    wide: Vec<[u32; BLOCK]>,
}

impl Starts {
    /// Stores positions below 2^31, none of which is below the one before.
    pub fn new(positions: &[u32]) -> Starts {
        let mut starts = Starts::default();
        for block in positions.chunks(BLOCK) {
            let (first, last) = (block[0], block[block.len() - 1]);
            starts.blocks.push(first);
            if last - first <= u16::MAX.into() {
                starts.near.extend(block.iter().map(|position| (position - first) as u16));
                continue;
            }
            let mut wide = [last; BLOCK];
            wide[..block.len()].copy_from_slice(block);
            *starts.blocks.last_mut().expect("a block was added") = IS_WIDE | starts.wide.len() as u32;
            starts.near.resize(starts.near.len() + block.len(), 0);
            starts.wide.push(wide);
        }
        starts.near.shrink_to_fit();
        starts
    }

    #[inline]
    fn get(&self, source: usize) -> usize {
        let block = self.blocks[source / BLOCK];
        if block & IS_WIDE == 0 {
            return block as usize + usize::from(self.near[source]);
        }
        self.wide[(block & !IS_WIDE) as usize][source % BLOCK] as usize
    }

    /// The bytes of a source.
    #[inline]
    pub fn range(&self, source: u32) -> Range<usize> {
        self.get(source as usize)..self.get(source as usize + 1)
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        4 * self.blocks.len() + 2 * self.near.len() + 4 * BLOCK * self.wide.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_back() {
        let steps = [0u32, 1, 3, 65_535, 65_536, 2_000, 0, 0, 100_000];
        for count in 1..200usize {
            let mut last = 0;
            let mut next = |number: usize| {
                // Up to the hundredth, all steps are small.
                last += if number < 100 { steps[number % 3] } else { steps[number % 9] };
                last
            };
            let positions: Vec<u32> = (0..count).map(&mut next).collect();
            let starts = Starts::new(&positions);
            assert!(if count <= 100 {
                starts.wide.is_empty()
            } else {
                count < 110 || !starts.wide.is_empty()
            });
            for (source, pair) in (0..).zip(positions.windows(2)) {
                assert_eq!(starts.range(source), pair[0] as usize..pair[1] as usize);
            }
        }
    }
}
