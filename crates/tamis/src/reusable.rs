//! How is working memory emptied without touching all of it?

/// A table by small numbers that is forgotten at once: an entry counts where its stamp is the current one.
#[derive(Debug, Default)]
pub struct Stamped<T = ()> {
    stamp: u32,
    entries: Vec<(u32, T)>,
}

impl<T: Copy + Default> Stamped<T> {
    /// Forgets all entries, and makes room for numbers below `count`.
    #[inline]
    pub fn begin(&mut self, count: usize) {
        if self.stamp == u32::MAX {
            self.entries.clear();
            self.stamp = 0;
        }
        self.stamp += 1;
        if self.entries.len() < count {
            self.entries.resize(count, (0, T::default()));
        }
    }

    /// What was set since the table was begun.
    #[inline]
    pub fn get(&self, number: usize) -> Option<T> {
        let (stamp, value) = self.entries[number];
        (stamp == self.stamp).then_some(value)
    }

    /// Sets an entry.
    #[inline]
    pub fn set(&mut self, number: usize, value: T) {
        self.entries[number] = (self.stamp, value);
    }
}

/// Without values, it is a set.
impl Stamped {
    /// Whether a number is in the set.
    #[inline]
    pub fn contains(&self, number: usize) -> bool {
        self.entries[number].0 == self.stamp
    }

    /// Whether a number was not in the set; it now is.
    #[inline]
    pub fn insert(&mut self, number: usize) -> bool {
        std::mem::replace(&mut self.entries[number].0, self.stamp) != self.stamp
    }
}

/// A set of small numbers that lists its members. With a bit for each number, a large one stays in the nearest caches,
/// where a [`Stamped`] would not.
#[derive(Debug, Default)]
pub struct ListedSet {
    bits: Vec<u64>,
    members: Vec<u32>,
}

impl ListedSet {
    /// Empties the set and makes room for numbers below `count`.
    pub fn begin(&mut self, count: usize) {
        for member in self.members.drain(..) {
            self.bits[member as usize / 64] = 0;
        }
        if self.bits.len() * 64 < count {
            self.bits.resize(count.div_ceil(64), 0);
        }
    }

    /// Whether a number was not in the set; it now is.
    #[inline]
    pub fn insert(&mut self, number: u32) -> bool {
        let (word, bit) = (&mut self.bits[number as usize / 64], 1 << (number % 64));
        let new = *word & bit == 0;
        if new {
            *word |= bit;
            self.members.push(number);
        }
        new
    }

    /// Whether a number is in the set.
    #[inline]
    pub fn contains(&self, number: u32) -> bool {
        self.bits[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// The numbers in the order in which they were inserted.
    pub fn members(&self) -> &[u32] {
        &self.members
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_begun_is_empty() {
        let mut table = Stamped::<u32>::default();
        for round in 0..3 {
            table.begin(10 * round + 1);
            assert_eq!(table.get(10 * round), None);
            table.set(10 * round, 7);
            assert_eq!(table.get(10 * round), Some(7));
        }
    }

    #[test]
    fn stamps_begin_again_at_the_last_one() {
        let mut set = Stamped { stamp: u32::MAX - 1, entries: vec![(1, ()); 3] };
        set.begin(3);
        assert!(set.insert(1) && !set.insert(1));
        set.begin(3);
        assert_eq!([0, 1, 2].map(|number| set.contains(number)), [false; 3]);
    }

    #[test]
    fn members_are_listed_once() {
        let mut set = ListedSet::default();
        set.begin(200);
        assert!(set.insert(130) && set.insert(3) && !set.insert(130));
        assert!(set.contains(3) && !set.contains(4));
        assert_eq!(set.members(), [130, 3]);
        set.begin(300);
        assert!(set.members().is_empty() && !set.contains(130) && set.insert(299));
    }
}
