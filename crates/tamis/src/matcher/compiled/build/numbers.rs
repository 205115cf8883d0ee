//! Which number was given to what has this hash?
//!
//! Open addressing with linear probing. The hash is kept beside the number, so that neither a table that grows nor a
//! lookup of what is not there reads what the numbers stand for: either takes one cache miss, where a table with
//! control bytes takes two.

/// Numbers by the hashes of what they stand for. Hashes must depend on random keys.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// As many as a power of two, or none.
    buckets: Vec<Bucket>,
    taken: usize,
}

/// A hash and its number plus one, or 0 if the bucket is free.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    hash: u32,
    note: u32,
}

impl Numbers {
    /// The buckets of the smallest table that is not empty.
    const LEAST: usize = 8;

    /// Makes room for so many numbers.
    pub fn reserve(&mut self, numbers: usize) {
        let buckets = (numbers + numbers / 2).next_power_of_two().max(Numbers::LEAST);
        if buckets > self.buckets.len() {
            self.resize(buckets);
        }
    }

    /// The number of what has this hash and is the same, if it has one.
    #[inline]
    pub fn find(&self, hash: u32, is_same: impl Fn(u32) -> bool) -> Option<u32> {
        self.search(hash, is_same).ok()
    }

    /// The number of what has this hash and is the same; `next` if it had none.
    #[inline]
    pub fn find_or_add(&mut self, hash: u32, next: u32, is_same: impl Fn(u32) -> bool) -> u32 {
        match self.search(hash, is_same) {
            Ok(number) => number,
            Err(free) => {
                self.add(free, hash, next);
                next
            }
        }
    }

    /// Reads ahead where a hash is looked up; the result means nothing, but must be used.
    #[inline]
    pub fn glance(&self, hash: u32) -> u32 {
        self.buckets.get(hash as usize & self.buckets.len().wrapping_sub(1)).map_or(0, |bucket| bucket.note)
    }

    /// The number of what has this hash, or else the bucket where it goes.
    #[inline]
    fn search(&self, hash: u32, is_same: impl Fn(u32) -> bool) -> Result<u32, usize> {
        let Some(last) = self.buckets.len().checked_sub(1) else { return Err(0) };
        let mut place = hash as usize & last;
        // Some buckets are free.
        loop {
            let bucket = self.buckets[place];
            if bucket.note == 0 {
                return Err(place);
            }
            if bucket.hash == hash && is_same(bucket.note - 1) {
                return Ok(bucket.note - 1);
            }
            place = (place + 1) & last;
        }
    }

    fn add(&mut self, free: usize, hash: u32, number: u32) {
        self.taken += 1;
        // At least a third of the buckets stays free.
        if 3 * self.taken > 2 * self.buckets.len() {
            self.resize((2 * self.buckets.len()).max(Numbers::LEAST));
            self.put(Bucket { hash, note: number + 1 });
        } else {
            self.buckets[free] = Bucket { hash, note: number + 1 };
        }
    }

    #[cold]
    fn resize(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, vec![Bucket::default(); buckets]);
        old.into_iter().filter(|bucket| bucket.note != 0).for_each(|bucket| self.put(bucket));
    }

    fn put(&mut self, bucket: Bucket) {
        let last = self.buckets.len() - 1;
        let mut place = bucket.hash as usize & last;
        while self.buckets[place].note != 0 {
            place = (place + 1) & last;
        }
        self.buckets[place] = bucket;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_nothing_else() {
        // Few distinct hashes, so that many stand behind others.
        for hashes in [1, 7, 1 << 20] {
            let hash = |item: u32| item.wrapping_mul(0x9e37_79b1) % hashes;
            let mut numbers = Numbers::default();
            let mut items: Vec<u32> = Vec::new();
            assert_eq!(numbers.find(hash(3), |_| true), None);
            numbers.reserve(100);
            for item in (0..1000).chain(0..1000) {
                let next = items.len() as u32;
                let number = numbers.find_or_add(hash(item), next, |number| items[number as usize] == item);
                if number == next {
                    items.push(item);
                }
                assert_eq!(items[number as usize], item);
            }
            assert_eq!(items.len(), 1000);
            for item in 0..2000 {
                let found = numbers.find(hash(item), |number| items[number as usize] == item);
                assert_eq!(found, (item < 1000).then_some(item));
            }
        }
    }
}
