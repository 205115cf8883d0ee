//! Which are the best so far, and what must a better one reach?

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The best of what was offered: higher scores first, and of equal scores what was inserted first.
#[derive(Debug)]
pub struct Top<T> {
    most: usize,
    /// The worst of the best on top.
    heap: BinaryHeap<Ranked<T>>,
}

#[derive(Debug)]
struct Ranked<T> {
    score: f64,
    /// The place in the order of insertion.
    place: u64,
    item: T,
}

impl<T> Ord for Ranked<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.place.cmp(&other.place))
    }
}

impl<T> PartialOrd for Ranked<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Ranked<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Ranked<T> {}

impl<T> Top<T> {
    /// Keeps the best `most`.
    pub fn new(most: usize) -> Top<T> {
        Top { most, heap: BinaryHeap::new() }
    }

    /// The score that another one must at least have whose place is not before `place`; 0 while
    /// there is room.
    pub fn threshold(&self, place: u64) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.most => {
                if worst.place < place {
                    worst.score.next_up()
                } else {
                    worst.score
                }
            }
            _ if self.most == 0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    /// Whether one of at most this score, at this place, would be kept.
    pub fn admits(&self, score: f64, place: u64) -> bool {
        if self.heap.len() < self.most {
            return true;
        }
        self.heap
            .peek()
            .is_some_and(|worst| score > worst.score || (score == worst.score && place < worst.place))
    }

    /// Keeps one, if it is among the best.
    pub fn offer(&mut self, score: f64, place: u64, item: T) {
        if !self.admits(score, place) {
            return;
        }
        if self.heap.len() == self.most {
            self.heap.pop();
        }
        self.heap.push(Ranked { score, place, item });
    }

    /// What was kept, best first.
    pub fn into_ranking(self) -> impl Iterator<Item = (T, f64)> {
        self.heap.into_sorted_vec().into_iter().map(|ranked| (ranked.item, ranked.score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_the_full_ranking() {
        let scores: [f64; 7] = [2.0, 5.0, 2.0, 0.0, 5.0, 3.0, 2.0];
        let mut expected: Vec<usize> = (0..scores.len()).collect();
        expected.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
        for most in 0..9 {
            // Whatever the order in which they come.
            for start in 0..scores.len() {
                let mut top = Top::new(most);
                for offset in 0..scores.len() {
                    let place = (start + 3 * offset) % scores.len();
                    top.offer(scores[place], place as u64, place);
                }
                let ranking: Vec<usize> = top.into_ranking().map(|(place, _)| place).collect();
                assert_eq!(ranking, expected[..most.min(scores.len())]);
            }
        }
    }
}
