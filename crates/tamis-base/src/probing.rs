//! How does a hash table in a file stay fast even if an attacker chooses its keys?
//!
//! Tables use open addressing with linear probing and are stored in files as they are. The hash cannot be random, because the
//! same content must give the same bytes. So its seed is derived from the content, and if some keys still end up far from their
//! buckets, the table is built again with the next seed. To flood a table, an attacker must find keys
//! that collide under all of these seeds, which depend on the keys.

/// How often a table is rebuilt before it is accepted as it is.
const ATTEMPTS: u64 = 16;

/// The seed for the hash of the content itself.
const CONTENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A table of `capacity` buckets, a power of two and more than `count`. Each bucket has the number of a key plus one, or
/// is zero. `hash` returns the hash of a key under a seed. Also returns the seed.
pub fn place(count: usize, capacity: usize, hash: impl Fn(usize, u64) -> u64) -> (u64, Vec<u32>) {
    let digest = (0..count).fold(count as u64, |digest, key| mix(digest ^ hash(key, CONTENT), CONTENT | 1));
    let mut table = vec![0; capacity];
    let mut attempt = 0;
    loop {
        let seed = mix(digest.wrapping_add(attempt), 0xd6e8_feb8_6659_fd93);
        // With a fifth of the buckets free, the unluckiest of many keys is about half this far away.
        let most = if attempt < ATTEMPTS { 64 * (1 + capacity.max(1).ilog2() as usize) } else { usize::MAX };
        if fill(&mut table, count, most, |key| hash(key, seed)) {
            return (seed, table);
        }
        table.fill(0);
        attempt += 1;
    }
}

/// Puts every key in the first free bucket from its own on; false if one ends up more than `most` buckets away.
fn fill(table: &mut [u32], count: usize, most: usize, hash: impl Fn(usize) -> u64) -> bool {
    let mask = table.len().wrapping_sub(1);
    for key in 0..count {
        let mut bucket = hash(key) as usize & mask;
        let mut distance = 0;
        while table[bucket] != 0 {
            bucket = (bucket + 1) & mask;
            distance += 1;
        }
        if distance > most {
            return false;
        }
        table[bucket] = key as u32 + 1;
    }
    true
}

/// The product of two numbers, with its upper half folded into the lower.
#[inline]
pub fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_makes_equal_tables() {
        let hash = |key: usize, seed: u64| mix(key as u64 ^ seed, 0xa076_1d64_78bd_642f);
        assert_eq!(place(1000, 2048, hash), place(1000, 2048, hash));
        assert_ne!(place(1000, 2048, hash).0, place(1001, 2048, hash).0);
        assert_eq!(place(0, 1, hash).1, [0]);
    }

    #[test]
    fn keys_that_collide_under_one_seed_are_placed_under_another() {
        // All keys have the same hash under the first seeds that are tried.
        let tried = std::cell::RefCell::new(std::collections::BTreeSet::new());
        let hash = |key: usize, seed: u64| {
            if seed != CONTENT {
                tried.borrow_mut().insert(seed);
            }
            if tried.borrow().len() <= 3 { 7 } else { mix(key as u64 ^ seed, 0xa076_1d64_78bd_642f) }
        };
        let (seed, table) = place(5000, 8192, hash);
        assert_eq!(tried.borrow().len(), 4);
        let mut keys: Vec<u32> = table.iter().copied().filter(|&key| key != 0).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(1..=5000));
        let furthest = (0..5000usize).map(|key| {
            let bucket = table.iter().position(|&found| found == key as u32 + 1).unwrap();
            bucket.wrapping_sub(mix(key as u64 ^ seed, 0xa076_1d64_78bd_642f) as usize) & 8191
        });
        assert!(furthest.max().unwrap() < 500);
    }

    #[test]
    fn keys_that_always_collide_are_placed_all_the_same() {
        let (_, table) = place(2000, 4096, |_, _| 3);
        assert_eq!(table.iter().filter(|&&key| key != 0).count(), 2000);
    }
}
