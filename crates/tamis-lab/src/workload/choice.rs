//! Sampling from a discrete distribution in constant time, with the same results on every machine.
//!
//! Uses alias tables (Vose 1991). They are computed with additions, multiplications, divisions and
//! square roots only, which IEEE 754 rounds the same way everywhere, unlike `powf` and `ln`.

use super::random::Random;

/// A discrete distribution over `0..len`.
#[derive(Debug, Clone)]
pub struct Choice {
    cells: Vec<Cell>,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    /// Draws the cell's own number if 32 random bits are below this, else `other`.
    threshold: u32,
    other: u32,
}

impl Choice {
    /// Draws each number with a probability proportional to its weight.
    pub fn weighted(weights: &[f64]) -> Choice {
        let total: f64 = weights.iter().sum();
        let mut heights: Vec<f64> =
            weights.iter().map(|weight| weight * weights.len() as f64 / total).collect();
        let mut cells: Vec<Cell> =
            (0..weights.len()).map(|own| Cell { threshold: u32::MAX, other: own as u32 }).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&number| heights[number] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            cells[low] = Cell { threshold: (heights[low] * 4_294_967_296.0) as u32, other: high as u32 };
            heights[high] -= 1.0 - heights[low];
            if heights[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Choice { cells }
    }

    /// Draws `r - 1` for rank `r`, counted from 1, with a probability proportional to `1 /
    /// r^exponent`.
    pub fn zipf(ranks: u32, exponent: f64) -> Choice {
        let weights: Vec<f64> = (1..=ranks).map(|rank| 1.0 / power(f64::from(rank), exponent)).collect();
        Choice::weighted(&weights)
    }

    /// The mean of the drawn numbers.
    pub fn mean(&self) -> f64 {
        let each = 1.0 / self.len().max(1) as f64;
        self.cells.iter().zip(0u32..).fold(0.0, |mean, (cell, number)| {
            let own = f64::from(cell.threshold) / 4_294_967_296.0;
            mean + each * (own * f64::from(number) + (1.0 - own) * f64::from(cell.other))
        })
    }

    fn len(&self) -> usize {
        self.cells.len()
    }

    /// Draws one number; 0 if the distribution is empty.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let bits = random.bits();
        let number = (((bits >> 32) * self.cells.len() as u64) >> 32) as usize;
        match self.cells.get(number) {
            Some(cell) if (bits as u32) < cell.threshold => number as u32,
            Some(cell) => cell.other,
            None => 0,
        }
    }

    /// Draws `count` distinct numbers, or all of them in order if there are no more than `count`.
    /// After 100 draws without a new number, takes the lowest number not yet drawn.
    pub fn draw_distinct(&self, count: usize, random: &mut Random, drawn: &mut Vec<u32>) {
        const ATTEMPTS: usize = 100;
        drawn.clear();
        if count >= self.len() {
            drawn.extend(0..self.len() as u32);
            return;
        }
        while drawn.len() < count {
            let new = (0..ATTEMPTS).map(|_| self.draw(random)).find(|number| !drawn.contains(number));
            let lowest = || (0..self.len() as u32).find(|number| !drawn.contains(number));
            drawn.extend(new.or_else(lowest));
        }
    }
}

/// `base^exponent` for a base of at least 1 and an exponent of at least 0. The binary digits of the
/// exponent's fraction, up to 2^-24, select which repeated square roots of the base to multiply.
fn power(base: f64, exponent: f64) -> f64 {
    let mut result = 1.0;
    for _ in 0..exponent.trunc() as u32 {
        result *= base;
    }
    let (mut fraction, mut root) = (exponent.fract(), base);
    for _ in 0..24 {
        if fraction == 0.0 {
            break;
        }
        fraction *= 2.0;
        root = root.sqrt();
        if fraction >= 1.0 {
            result *= root;
            fraction -= 1.0;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_near_those_of_the_library() {
        for (base, exponent) in [(1.0, 0.6), (2.0, 1.0), (3.0, 0.6), (1000.0, 0.25), (7.0, 2.3), (9.0, 0.0)] {
            let (found, wanted) = (power(base, exponent), f64::powf(base, exponent));
            assert!((found / wanted - 1.0).abs() < 1e-5, "{base}^{exponent}: {found}, not {wanted}");
        }
    }

    #[test]
    fn ranks_follow_the_law() {
        let zipf = Choice::zipf(50, 1.0);
        let mut random = Random::new(1, 1, 1);
        let mut seen = [0f64; 50];
        (0..200_000).for_each(|_| seen[zipf.draw(&mut random) as usize] += 1.0);
        for rank in [2, 3, 5, 10] {
            let ratio = seen[0] / seen[rank - 1];
            assert!((ratio / rank as f64 - 1.0).abs() < 0.1, "rank {rank}: {ratio}");
        }
    }

    #[test]
    fn means() {
        assert!((Choice::weighted(&[0.25, 0.0, 0.75]).mean() - 1.5).abs() < 1e-6);
        assert!((Choice::zipf(4, 0.0).mean() - 1.5).abs() < 1e-6);
    }

    #[test]
    fn weights_of_zero_are_never_drawn() {
        let choice = Choice::weighted(&[0.0, 3.0, 0.0, 1.0]);
        let mut random = Random::new(2, 1, 1);
        let mut seen = [0u32; 4];
        (0..40_000).for_each(|_| seen[choice.draw(&mut random) as usize] += 1);
        assert_eq!((seen[0], seen[2]), (0, 0));
        assert!((29_000..31_000).contains(&seen[1]), "{seen:?}");
    }

    #[test]
    fn distinct_draws_end_however_unlikely_the_rest() {
        let choice = Choice::weighted(&[1.0, 0.0, 0.0, 0.0]);
        let mut drawn = Vec::new();
        choice.draw_distinct(3, &mut Random::new(0, 0, 0), &mut drawn);
        assert_eq!(drawn, [0, 1, 2]);
        choice.draw_distinct(9, &mut Random::new(0, 0, 0), &mut drawn);
        assert_eq!(drawn, [0, 1, 2, 3]);
    }
}
