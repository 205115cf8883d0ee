//! How does chance choose, again and again, what it has not chosen before?
//!
//! What is made by choosing between two things, over and over, is a path down a binary tree. Of every
//! choice this remembers which part of either side is left, and draws in proportion to that: the same
//! as drawing from the start until something new comes (sampling without replacement), but without any
//! draw in vain. Additions, multiplications and comparisons are all it takes, so that every machine
//! chooses alike.

use super::super::random::Random;

/// Choices that do not repeat themselves.
#[derive(Debug)]
pub struct Choices {
    random: Random,
    /// The first is the first choice; nothing leads back to it.
    nodes: Vec<MetChoice>,
    /// What was chosen so far.
    path: Vec<Taken>,
    used_up: bool,
}

/// A choice that was met before.
#[derive(Debug, Clone, Copy)]
struct MetChoice {
    /// Which part of either side is left, of 1.
    left: [f64; 2],
    /// The choice that follows on either side, or 0 where none was met.
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

    /// True or false with these odds, whose sum is 1, as far as that was not chosen before.
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

    /// The node of the choice that is due.
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

    /// Ends what was chosen, which will not be chosen again; the next choice is the first.
    pub fn end(&mut self) {
        let mut left = 0.0;
        for Taken { node, side, odds } in self.path.drain(..).rev() {
            let node = &mut self.nodes[node as usize];
            node.left[side] = left;
            // However little is left: it is nothing only where both sides are used up.
            left = match node.left {
                [0.0, 0.0] => 0.0,
                [yes, no] => (odds[0] * yes + odds[1] * no).max(f64::MIN_POSITIVE),
            };
        }
        self.used_up = left == 0.0;
    }

    /// Whether everything was chosen that can be.
    pub fn used_up(&self) -> bool {
        self.used_up
    }

    /// How many choices are remembered.
    pub fn remembered(&self) -> usize {
        self.nodes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers below 8 in three choices, with these odds of a bit.
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
