//! A random generator that gives the same numbers on every machine and worker.
//!
//! Every item of a workload has its own stream, derived from the seed, the kind of item and its
//! number, so items can be generated in any order and on any worker. The generator is SplitMix64
//! (Steele, Lea & Flood 2014), which needs integer arithmetic only.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection on 64-bit numbers that scatters similar inputs (SplitMix64's mixing function).
pub(crate) fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Random {
    /// The stream of item `number` of kind `kind`.
    pub fn new(seed: u64, kind: u64, number: u64) -> Random {
        let mut state = 0u64;
        for part in [seed, kind, number] {
            state = scramble((state ^ part).wrapping_add(GAMMA));
        }
        Random { state }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GAMMA);
        scramble(self.state)
    }

    /// A number below `bound`, or 0 if `bound` is 0. Uniform up to a bias of 2^-32.
    pub fn below(&mut self, bound: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number from `low` to `high`, both included; `low` if `high` is smaller.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True with this probability, rounded to 2^-32.
    pub fn chance(&mut self, probability: f64) -> bool {
        ((self.bits() >> 32) as f64) < probability * 4_294_967_296.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, kind, number| Random::new(seed, kind, number).bits();
        assert_eq!(first(1, 2, 3), first(1, 2, 3));
        let streams = [first(1, 2, 3), first(0, 2, 3), first(1, 3, 2), first(1, 2, 4), first(2, 1, 3)];
        for (position, stream) in streams.iter().enumerate() {
            assert!(!streams[..position].contains(stream));
        }
    }

    #[test]
    fn numbers_keep_their_bounds() {
        let mut random = Random::new(0, 0, 0);
        let mut seen = [0u32; 5];
        (0..10_000).for_each(|_| seen[random.between(3, 7) as usize - 3] += 1);
        assert!(seen.iter().all(|&count| (1_800..2_200).contains(&count)), "{seen:?}");
        let hits = (0..10_000).filter(|_| random.chance(0.1)).count();
        assert!((850..1_150).contains(&hits), "{hits}");
        assert!(!(0..1_000).any(|_| random.chance(0.0)));
        assert!((0..1_000).all(|_| random.chance(1.0)));
        assert_eq!(random.below(0), 0);
    }
}
