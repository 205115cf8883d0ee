//! Random queries of a document type.
//!
//! The walk, the wildcards, the value tests and the nested paths have separate random streams, so
//! that changing one probability keeps the walk. For distinct queries see [`super::distinct`].

use super::super::kind;
use super::super::random::Random;
use super::super::statistics::Figure;
use super::super::text::write_number;
use super::{MOST, Xml};

/// A step of a query.
#[derive(Debug, Clone, Copy, Default)]
pub struct Step {
    pub element: u32,
    pub wildcard: bool,
    pub descendant: bool,
}

pub type Steps = [Step; MOST as usize];

/// A value test at a step.
#[derive(Debug, Clone, Copy)]
enum Test {
    Attribute(u32, u32),
    Text(u32),
    Position(u32),
}

impl Xml {
    /// Appends the query of a draw.
    pub(super) fn write_draw(&self, draw: u64, text: &mut String) {
        let mut steps = Steps::default();
        let length = self.walk(draw, &mut steps);
        self.write_walk(&mut steps[..length], draw, text);
    }

    /// Appends the query that a draw makes from a walk.
    pub(super) fn write_walk(&self, steps: &mut [Step], draw: u64, text: &mut String) {
        let (asked, length) = (&self.parameters, steps.len());
        self.disguise(steps, &mut Random::new(asked.seed, kind::STEP, draw));
        let mut tests = [(0, Test::Text(0)); MOST as usize];
        let tests = &mut tests[..asked.predicates as usize];
        if !tests.is_empty() {
            let random = &mut Random::new(asked.seed, kind::PREDICATE, draw);
            tests.fill_with(|| {
                let step = random.below(length as u32) as usize;
                (step, self.test(steps[step].element, random))
            });
        }
        let mut anchors = [0; MOST as usize];
        let anchors = &mut anchors[..asked.nested as usize];
        let random = &mut Random::new(asked.seed, kind::NESTED, draw);
        if !anchors.is_empty() {
            let holds = |at: usize| {
                at + 1 < self.depth as usize && !self.schema.children[steps[at].element as usize].is_empty()
            };
            let able = (0..length).filter(|&at| holds(at)).count();
            anchors.fill_with(|| {
                let chosen = random.below(able as u32) as usize;
                (0..length).filter(|&at| holds(at)).nth(chosen).unwrap_or(0)
            });
        }
        for (at, step) in steps.iter().enumerate() {
            self.write_step(step, text);
            for (_, test) in tests.iter().filter(|(place, _)| *place == at) {
                self.write_test(step.element, test, text);
            }
            for _ in anchors.iter().filter(|place| **place == at) {
                self.write_nested(step.element, self.depth - at as u32 - 1, random, text);
            }
        }
    }

    /// Draws a walk and returns its length.
    pub(super) fn walk(&self, draw: u64, steps: &mut Steps) -> usize {
        let random = &mut Random::new(self.parameters.seed, kind::EXPRESSION, draw);
        let wanted = random.between(1, self.depth) as usize;
        steps[0].element = self.schema.root;
        1 + self.descend(self.schema.root, random, &mut steps[1..wanted])
    }

    /// Walks down from an element while there are steps and children. Returns the number of steps
    /// taken.
    fn descend(&self, from: u32, random: &mut Random, steps: &mut [Step]) -> usize {
        let mut around = from;
        for (at, step) in steps.iter_mut().enumerate() {
            let children = &self.schema.children[around as usize];
            if children.is_empty() {
                return at;
            }
            around = children[random.below(children.len() as u32) as usize];
            step.element = around;
        }
        steps.len()
    }

    /// Draws the steps that become `*` and `//`. A `//` before a `*` moves behind it.
    fn disguise(&self, steps: &mut [Step], random: &mut Random) {
        let mut moved = false;
        for step in steps {
            step.wildcard = random.chance(self.parameters.wildcard);
            let descendant = random.chance(self.parameters.descendant) || moved;
            step.descendant = descendant && !step.wildcard;
            moved = descendant && step.wildcard;
        }
    }

    fn test(&self, element: u32, random: &mut Random) -> Test {
        let values = &self.elements[element as usize];
        if !values.attributes.is_empty() {
            let attribute = random.below(values.attributes.len() as u32);
            return Test::Attribute(attribute, random.between(1, values.attributes[attribute as usize].1));
        }
        match self.schema.elements[element as usize].content.text {
            true => Test::Text(random.between(1, values.own)),
            false => Test::Position(random.between(1, self.repeats)),
        }
    }

    /// Appends a step without its value tests and nested paths.
    pub(super) fn write_step(&self, step: &Step, text: &mut String) {
        text.push_str(if step.descendant { "//" } else { "/" });
        self.write_name(step, text);
    }

    fn write_name(&self, step: &Step, text: &mut String) {
        match step.wildcard {
            true => text.push('*'),
            false => text.push_str(&self.schema.elements[step.element as usize].name),
        }
    }

    fn write_test(&self, element: u32, test: &Test, text: &mut String) {
        let value = match test {
            Test::Attribute(attribute, value) => {
                text.push_str("[@");
                text.push_str(&self.schema.elements[element as usize].attributes[*attribute as usize]);
                value
            }
            Test::Text(value) => {
                text.push_str("[.");
                value
            }
            Test::Position(position) => {
                text.push_str("[position()");
                position
            }
        };
        text.push_str(" = ");
        write_number(*value, text);
        text.push(']');
    }

    /// Appends a path of at most `most` steps below an element.
    fn write_nested(&self, element: u32, most: u32, random: &mut Random, text: &mut String) {
        let mut steps = Steps::default();
        let wanted = random.between(1, most) as usize;
        let length = self.descend(element, random, &mut steps[..wanted]);
        self.disguise(&mut steps[..length], random);
        text.push('[');
        for (at, step) in steps[..length].iter().enumerate() {
            text.push_str(match (at, step.descendant) {
                (0, true) => ".//",
                (0, false) => "",
                (_, true) => "//",
                (_, false) => "/",
            });
            self.write_name(step, text);
        }
        text.push(']');
    }

    /// The figures to expect of queries that need not be distinct. Lengths follow from the walk,
    /// and a `//` survives unless only `*` follow it.
    pub(super) fn expected_queries(&self) -> Vec<Figure> {
        let (wildcard, descendant) = (self.parameters.wildcard, self.parameters.descendant);
        let mut at = vec![0.0; self.schema.elements.len()];
        at[self.schema.root as usize] = 1.0;
        let (mut steps, mut descendants, mut moved) = (0.0, 0.0, 0.0);
        for depth in 0..self.depth {
            // The probability that the walk reaches this depth and was meant to be this long.
            let here = at.iter().sum::<f64>() * f64::from(self.depth - depth) / f64::from(self.depth);
            let either = descendant + (1.0 - descendant) * moved;
            steps += here;
            descendants += here * either * (1.0 - wildcard);
            moved = either * wildcard;
            let mut next = vec![0.0; at.len()];
            for (children, probability) in self.schema.children.iter().zip(&at) {
                for &child in children {
                    next[child as usize] += probability / children.len() as f64;
                }
            }
            at = next;
        }
        vec![
            Figure::new("steps per query", steps),
            Figure::new("wildcards per step", wildcard),
            Figure::new("descendants per step", descendants / steps),
        ]
    }
}
