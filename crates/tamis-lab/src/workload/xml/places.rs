//! Queries by what their texts show.
//!
//! The text of a query does not show which element a `*` stands for, nor the original position of a
//! `//` that moved behind a `*`. A walk here is therefore at a place instead of an element: a
//! probability distribution over elements, given the text so far. A name makes the element certain
//! again. By choosing step by step what the text shows, each text comes from exactly one sequence
//! of choices, with the same probability as among queries whose walk is drawn first and then
//! written with wildcards.

use std::collections::HashMap;

use super::choices::Choices;
use super::query::{Step, Steps};
use super::schema::Schema;

/// The places of a document type, created on demand.
#[derive(Debug)]
pub struct Places<'a> {
    schema: &'a Schema,
    depth: u32,
    wildcard: f64,
    descendant: f64,
    places: Vec<WalkState>,
    /// The place above the root.
    start: u32,
    /// The place of elements with these children.
    by_children: HashMap<&'a [u32], u32>,
    /// The place of each element, once created.
    by_element: Vec<Option<u32>>,
    /// Probability per element while a place is being created; 0 otherwise.
    likely: Vec<f64>,
}

/// A place: where a walk may be, given the text so far.
#[derive(Debug)]
struct WalkState {
    /// The probability that the element has children.
    fertile: f64,
    /// The probability of `//` before the next name.
    descendant: f64,
    /// The possible next elements.
    next: Box<[u32]>,
    /// The probability of each.
    likely: Box<[f64]>,
    /// A binary tree over `next`: the odds of the children `2 i` and `2 i + 1` of node `i`. The
    /// root is node 1, and the leaves come after the inner nodes.
    odds: Box<[[f64; 2]]>,
    /// The place after `*`, once created.
    beyond: Option<u32>,
}

impl<'a> Places<'a> {
    pub fn new(schema: &'a Schema, depth: u32, wildcard: f64, descendant: f64) -> Places<'a> {
        let count = schema.elements.len();
        let mut places = Places {
            schema,
            depth,
            wildcard,
            descendant,
            places: Vec::new(),
            start: 0,
            by_children: HashMap::new(),
            by_element: vec![None; count],
            likely: vec![0.0; count],
        };
        places.start = places.above(std::slice::from_ref(&schema.root));
        places
    }

    /// Chooses a query and returns its length. A `*` step has no element.
    pub fn choose(&mut self, choices: &mut Choices, steps: &mut Steps) -> usize {
        let mut at = self.start;
        for depth in 0..self.depth {
            let place = &self.places[at as usize];
            if depth > 0 {
                // All remaining lengths are equally likely.
                let longer =
                    f64::from(self.depth - depth) / f64::from(self.depth - depth + 1) * place.fertile;
                if choices.choose([1.0 - longer, longer]) {
                    return depth as usize;
                }
            }
            let step = &mut steps[depth as usize];
            *step = Step::default();
            step.wildcard = choices.choose([self.wildcard, 1.0 - self.wildcard]);
            if step.wildcard {
                at = self.beyond(at);
                continue;
            }
            step.descendant = choices.choose([place.descendant, 1.0 - place.descendant]);
            let mut node = 1;
            while node < place.next.len() {
                node = 2 * node + usize::from(!choices.choose(place.odds[node]));
            }
            step.element = place.next[node - place.next.len()];
            at = self.at(step.element);
        }
        self.depth as usize
    }

    /// The place of an element.
    fn at(&mut self, element: u32) -> u32 {
        if let Some(place) = self.by_element[element as usize] {
            return place;
        }
        let schema = self.schema;
        let place = self.above(&schema.children[element as usize]);
        self.by_element[element as usize] = Some(place);
        place
    }

    /// The place of elements with these children.
    fn above(&mut self, children: &'a [u32]) -> u32 {
        if let Some(&place) = self.by_children.get(children) {
            return place;
        }
        let fertile = if children.is_empty() { 0.0 } else { 1.0 };
        let likely = vec![1.0 / children.len().max(1) as f64; children.len()];
        let place = self.add(WalkState::new(fertile, self.descendant, children.into(), likely.into()));
        self.by_children.insert(children, place);
        place
    }

    /// The place after a `*`.
    fn beyond(&mut self, at: u32) -> u32 {
        let place = &self.places[at as usize];
        if let Some(beyond) = place.beyond {
            return beyond;
        }
        let (mut next, mut fertile) = (Vec::new(), 0.0);
        for (&element, &likely) in place.next.iter().zip(&place.likely) {
            let children = &self.schema.children[element as usize];
            fertile += if children.is_empty() { 0.0 } else { likely };
            for &child in children {
                let sum = &mut self.likely[child as usize];
                if *sum == 0.0 {
                    next.push(child);
                }
                *sum += likely / children.len() as f64;
            }
        }
        let likely = next.iter().map(|&child| std::mem::take(&mut self.likely[child as usize]) / fertile);
        let likely = likely.collect();
        let descendant = place.descendant + (1.0 - place.descendant) * self.descendant;
        let beyond = self.add(WalkState::new(fertile, descendant, next.into(), likely));
        self.places[at as usize].beyond = Some(beyond);
        beyond
    }

    fn add(&mut self, place: WalkState) -> u32 {
        self.places.push(place);
        self.places.len() as u32 - 1
    }
}

impl WalkState {
    fn new(fertile: f64, descendant: f64, next: Box<[u32]>, likely: Box<[f64]>) -> WalkState {
        let mut sums = vec![0.0; next.len()];
        sums.extend(&likely);
        let mut odds = vec![[0.0; 2]; next.len()];
        for node in (1..next.len()).rev() {
            let [one, other] = [sums[2 * node], sums[2 * node + 1]];
            sums[node] = one + other;
            odds[node] = [one / sums[node], other / sums[node]];
        }
        WalkState { fertile, descendant, next, likely, odds: odds.into(), beyond: None }
    }
}
