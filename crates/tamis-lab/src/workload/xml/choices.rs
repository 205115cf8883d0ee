//! Random choices that never repeat an outcome.
//!
//! An outcome of a sequence of binary choices is a path down a binary tree. Each node remembers
//! which fraction of either side is left, and draws in proportion. This samples without
//! replacement: it has the same distribution as drawing until something new comes up, but wastes no
//! draws. It only adds, multiplies and compares numbers, so every machine chooses the same.

use super::super::random::Random;

/// Binary choices whose outcomes never repeat.
#[derive(Debug)]
pub struct Choices {
    random: Random,
    /// The first node is the first choice; no other node leads to it.
    nodes: Vec<MetChoice>,
    /// The choices made so far.
    path: Vec<Taken>,
    used_up: bool,
}

/// A choice that came up before.
#[derive(Debug, Clone, Copy)]
struct MetChoice {
    /// The fraction of either side that is left, from 0 to 1.
    left: [f64; 2],
    /// The next choice on either side, or 0 if it has not come up yet.
    next: [u32; 2],
}

#[derive(Debug, Clone, Copy)]
struct Taken {
    node: u32,
    side: usize,
    odds: [f64; 2],
}

impl Choices {
    pub fn new(random: Random) -> Choices {
        Choices { random, nodes: Vec::new(), path: Vec::new(), used_up: false }
    }

    /// Chooses true or false with these odds, which add up to 1, among the outcomes that are left.
    pub fn choose(&mut self, odds: [f64; 2]) -> bool {
        if odds[1] == 0.0 || odds[0] == 0.0 {
            return odds[1] == 0.0;
        }
        let node = self.enter();
        let left = self.nodes[node as usize].left;
        let [yes, no] = [odds[0] * left[0], odds[1] * left[1]];
        let side = match left {
            [_, 0.0] => 0,
            [0.0, _] => 1,
            _ => {
                let part = (self.random.bits() >> 11) as f64 / (1u64 << 53) as f64;
                usize::from(part * (yes + no) >= yes)
            }
        };
        self.path.push(Taken { node, side, odds });
        side == 0
    }

    /// The node of the current choice.
    fn enter(&mut self) -> u32 {
        let new = self.nodes.len() as u32;
        match self.path.last() {
            Some(turn) => {
                let next = &mut self.nodes[turn.node as usize].next[turn.side];
                match *next {
                    0 => *next = new,
                    met => return met,
                }
            }
            None if new == 0 => {}
            None => return 0,
        }
        self.nodes.push(MetChoice { left: [1.0; 2], next: [0; 2] });
        new
    }

    /// Ends the sequence, whose outcome will not come up again. The next choice is the first one.
    pub fn end(&mut self) {
        let mut left = 0.0;
        for Taken { node, side, odds } in self.path.drain(..).rev() {
            let node = &mut self.nodes[node as usize];
            node.left[side] = left;
            // Keep the rest above 0 unless both sides are used up.
            left = match node.left {
                [0.0, 0.0] => 0.0,
                [yes, no] => (odds[0] * yes + odds[1] * no).max(f64::MIN_POSITIVE),
            };
        }
        self.used_up = left == 0.0;
    }

    /// Whether every possible outcome was chosen.
    pub fn used_up(&self) -> bool {
        self.used_up
    }

    /// The number of nodes kept in memory.
    pub fn remembered(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number below 8, from three choices with these odds per bit.
    fn number(choices: &mut Choices, odds: f64) -> usize {
        let number = (0..3).fold(0, |number, _| 2 * number + usize::from(choices.choose([odds, 1.0 - odds])));
        choices.end();
        number
    }

    #[test]
    fn everything_is_chosen_once() {
        for odds in [0.5, 0.1, 1e-300] {
            let mut choices = Choices::new(Random::new(1, 2, 3));
            let mut numbers: Vec<usize> = (0..8)
                .map(|_| {
                    assert!(!choices.used_up());
                    number(&mut choices, odds)
                })
                .collect();
            assert!(choices.used_up());
            numbers.sort_unstable();
            assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
        let mut certain = Choices::new(Random::new(1, 2, 3));
        assert_eq!((number(&mut certain, 1.0), certain.used_up()), (7, true));
    }

    #[test]
    fn the_second_choice_is_as_likely_as_if_drawn_again_until_it_is_new() {
        let chance = |number: usize| f64::from(3u32.pow(number.count_ones())) / 64.0;
        let mut counts = [[0u32; 8]; 8];
        let seeds = 100_000;
        for seed in 0..seeds {
            let choices = &mut Choices::new(Random::new(seed, 2, 3));
            let first = number(choices, 0.75);
            counts[first][number(choices, 0.75)] += 1;
        }
        for (first, counts) in counts.iter().enumerate() {
            for (second, &count) in counts.iter().enumerate() {
                let expected = match first == second {
                    true => 0.0,
                    false => chance(first) * chance(second) / (1.0 - chance(first)),
                } * seeds as f64;
                let distance = (f64::from(count) - expected).abs();
                assert!(distance <= 4.5 * expected.sqrt(), "{first} {second}: {count}, not {expected}");
            }
        }
    }
}
