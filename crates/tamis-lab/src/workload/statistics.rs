//! Statistics of generated workloads.
//!
//! Measured on expressions as the engine reads them: an `and` directly below an `and` is merged
//! into it. A predicate is at level 1, and an operator one above its highest child (Ji & Jacobsen
//! 2021, section 6.2). The sharing ratio of a level is the number of its subexpressions divided by
//! the number of distinct ones.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::ops::Range;

use tamis::event::Attributes;
use tamis::expression::{Node, Test};
use tamis::matcher::{Matcher, Scan, Scratch};
use tamis::{Event, Expression, Limits};

use super::Workload;
use super::random::scramble;

/// A named number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: f64,
}

impl Figure {
    /// A figure with this name and value.
    pub fn new(name: &'static str, value: f64) -> Figure {
        Figure { name, value }
    }
}

/// A requested figure next to the measured one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Beside {
    /// The name.
    pub name: &'static str,
    /// The value that the parameters imply, if they do.
    pub requested: Option<f64>,
    /// The measured value, if it was measured.
    pub measured: Option<f64>,
}

/// Pairs each measured figure with the requested one; figures that were only requested come last.
pub fn beside(measured: Vec<Figure>, mut requested: Vec<Figure>) -> Vec<Beside> {
    let mut all = Vec::with_capacity(measured.len());
    for Figure { name, value } in measured {
        let asked = requested.iter().position(|asked| asked.name == name);
        let asked = asked.map(|position| requested.remove(position).value);
        all.push(Beside { name, requested: asked, measured: Some(value) });
    }
    let rest = requested.into_iter();
    all.extend(rest.map(|asked| Beside { name: asked.name, requested: Some(asked.value), measured: None }));
    all
}

/// The subexpressions of one level.
#[derive(Debug, Clone, Default)]
pub struct Level {
    /// The number of subexpressions of this level, in all expressions.
    pub occurrences: u64,
    /// The number of those that are children of another operator.
    inner: u64,
    /// Hashes that are equal for equal subexpressions, in any order of children. A collision would
    /// be harmless here.
    different: HashSet<u64, BuildHasherDefault<Folded>>,
    different_inner: HashSet<u64, BuildHasherDefault<Folded>>,
}

impl Level {
    /// The number of distinct subexpressions.
    pub fn distinct(&self) -> u64 {
        self.different.len() as u64
    }

    /// The average number of uses of a distinct subexpression.
    pub fn sharing(&self) -> f64 {
        self.occurrences as f64 / self.distinct().max(1) as f64
    }
}

/// Statistics of some expressions and events of a workload.
#[derive(Debug, Clone, Default)]
pub struct Statistics {
    /// The number of expressions.
    pub expressions: u64,
    /// The fewest and the most predicates in an expression.
    pub predicates: (u64, u64),
    /// The least and the greatest depth of an expression.
    pub depth: (usize, usize),
    /// From level 1, the predicates, upwards.
    pub levels: Vec<Level>,
    /// The number of events.
    pub events: u64,
    /// The number of pairs in all events.
    pub pairs: u64,
    /// The number of matches, if it was measured.
    pub matches: Option<u64>,
    depths: u64,
    sets: u64,
    set_values: u64,
    negated: u64,
    text: u64,
    attributes: HashSet<String>,
}

impl Statistics {
    /// Measures expressions and events without matching them.
    pub fn measure(workload: &dyn Workload, expressions: Range<u64>, events: Range<u64>) -> Statistics {
        let mut statistics = Statistics::default();
        for number in expressions {
            statistics.text += workload.expression_text(number).len() as u64;
            statistics.observe(&workload.expression(number));
        }
        let mut json = String::new();
        for number in events {
            json.clear();
            statistics.pairs += workload.write_event(number, &mut json) as u64;
            statistics.events += 1;
        }
        statistics
    }

    /// Measures expressions that were parsed before, and events.
    pub fn observe_all(
        workload: &dyn Workload,
        expressions: &[Expression],
        events: Range<u64>,
    ) -> Statistics {
        let mut statistics = Statistics::measure(workload, 0..0, events);
        expressions.iter().for_each(|expression| statistics.observe(expression));
        statistics
    }

    /// Measures expressions and events, and matches every event with every expression.
    pub fn measure_matches(
        workload: &dyn Workload,
        expressions: Range<u64>,
        events: Range<u64>,
    ) -> Statistics {
        let mut statistics = Statistics::measure(workload, expressions.clone(), events.clone());
        let counts = count_matches(workload, expressions, events);
        statistics.matches = Some(counts.iter().sum());
        statistics
    }

    /// The probability that an event satisfies an expression, if matches were counted.
    pub fn match_probability(&self) -> Option<f64> {
        let tried = (self.expressions * self.events).max(1) as f64;
        self.matches.map(|matches| matches as f64 / tried)
    }

    fn observe(&mut self, expression: &Expression) {
        let depth = expression.depth();
        let predicates = expression.predicates().count() as u64;
        if self.expressions == 0 {
            (self.predicates, self.depth) = ((predicates, predicates), (depth, depth));
        }
        self.expressions += 1;
        self.predicates = (self.predicates.0.min(predicates), self.predicates.1.max(predicates));
        self.depth = (self.depth.0.min(depth), self.depth.1.max(depth));
        self.depths += depth as u64;
        for predicate in expression.predicates() {
            self.negated += u64::from(predicate.negated());
            if !self.attributes.contains(&**predicate.attribute()) {
                self.attributes.insert(predicate.attribute().to_string());
            }
            match predicate.test() {
                Test::In(values) => {
                    (self.sets, self.set_values) = (self.sets + 1, self.set_values + values.len() as u64)
                }
                Test::Equal(_) => (self.sets, self.set_values) = (self.sets + 1, self.set_values + 1),
                _ => {}
            }
        }
        self.observe_levels(expression);
    }

    fn observe_levels(&mut self, expression: &Expression) {
        // Level and hash of the children on the stack.
        let mut open: Vec<(usize, u64)> = Vec::new();
        let root = expression.nodes().len() - 1;
        for (position, node) in expression.nodes().iter().enumerate() {
            let first = open.len() - node.children();
            let mut folded = Folded::default();
            std::mem::discriminant(node).hash(&mut folded);
            if let Node::Predicate(predicate) = node {
                predicate.hash(&mut folded);
            }
            let below = open.drain(first..).fold((0, 0u64), |(level, sum), child| {
                (level.max(child.0), sum.wrapping_add(scramble(child.1)))
            });
            folded.write_u64(below.1);
            let (level, hash) = (below.0 + 1, folded.finish());
            if self.levels.len() < level {
                self.levels.resize_with(level, Level::default);
            }
            let found = &mut self.levels[level - 1];
            found.occurrences += 1;
            found.different.insert(hash);
            if position < root {
                found.inner += 1;
                found.different_inner.insert(hash);
            }
            open.push((level, hash));
        }
    }

    /// The figures, by name.
    pub fn figures(&self) -> Vec<Figure> {
        let per = |total: u64, count: u64| total as f64 / count.max(1) as f64;
        let predicates = self.levels.first().map_or(0, |level| level.occurrences);
        let inner = |of: &dyn Fn(&Level) -> u64| self.levels.iter().skip(1).map(of).sum::<u64>();
        let mut figures = vec![
            Figure::new("expressions", self.expressions as f64),
            Figure::new("predicates per expression", per(predicates, self.expressions)),
            Figure::new("fewest predicates", self.predicates.0 as f64),
            Figure::new("most predicates", self.predicates.1 as f64),
            Figure::new("mean depth", per(self.depths, self.expressions)),
            Figure::new("least depth", self.depth.0 as f64),
            Figure::new("greatest depth", self.depth.1 as f64),
            Figure::new("values per set", per(self.set_values, self.sets)),
            Figure::new("negated predicates", per(self.negated, predicates)),
            Figure::new("attributes", self.attributes.len() as f64),
            Figure::new(
                "sharing of subexpressions below the root",
                per(inner(&|level| level.inner), inner(&|level| level.different_inner.len() as u64)),
            ),
        ];
        figures
            .extend(self.levels.iter().zip(SHARING).map(|(level, name)| Figure::new(name, level.sharing())));
        if self.text > 0 {
            figures.push(Figure::new("bytes of text per expression", per(self.text, self.expressions)));
        }
        if self.events > 0 {
            figures.push(Figure::new("pairs per event", per(self.pairs, self.events)));
        }
        if let Some(matches) = self.matches {
            figures.push(Figure::new("matches per event", per(matches, self.events)));
        }
        figures.extend(self.match_probability().map(|found| Figure::new(MATCH_PROBABILITY, found)));
        figures
    }
}

/// The one figure that requires matching.
pub(crate) const MATCH_PROBABILITY: &str = "match probability";

/// The names of the sharing ratios, from level 1.
pub(crate) const SHARING: [&str; 12] = [
    "sharing of predicates",
    "sharing at level 2",
    "sharing at level 3",
    "sharing at level 4",
    "sharing at level 5",
    "sharing at level 6",
    "sharing at level 7",
    "sharing at level 8",
    "sharing at level 9",
    "sharing at level 10",
    "sharing at level 11",
    "sharing at level 12",
];

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.figures().iter().try_for_each(|figure| writeln!(f, "{:45} {:14.3}", figure.name, figure.value))
    }
}

/// How many expressions each event satisfies, according to the oracle. Expressions are evaluated in
/// parts to bound the memory.
pub fn count_matches(workload: &dyn Workload, expressions: Range<u64>, events: Range<u64>) -> Vec<u64> {
    const PART: u64 = 20_000;
    let jsons: Vec<String> = events.map(|number| workload.event(number)).collect();
    let mut counts = vec![0; jsons.len()];
    let (mut event, mut scratch, mut found) = (Event::default(), Scratch::default(), Vec::new());
    let mut start = expressions.start;
    while start < expressions.end {
        let end = expressions.end.min(start + PART);
        let part: Vec<Expression> = (start..end).map(|number| workload.expression(number)).collect();
        let attributes = Attributes::default();
        let scan = Scan::new(&part, &attributes, workload.missing());
        for (json, count) in jsons.iter().zip(&mut counts) {
            event
                .decode_json(json.as_bytes(), &attributes, &Limits::none())
                .expect("a workload writes valid expressions");
            found.clear();
            scan.matches(&event, &mut scratch, &mut found);
            *count += found.len() as u64;
        }
        start = end;
    }
    counts
}

/// A fast hash that is the same on every machine.
#[derive(Debug, Clone, Default)]
struct Folded(u64);

impl Hasher for Folded {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = scramble(self.0.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
fn assert_near(wanted: Figure, statistics: &Statistics) {
    let Figure { name, value } = wanted;
    let measured = statistics.figures().iter().find(|figure| figure.name == name).unwrap().value;
    assert!((measured - value).abs() <= 0.05 * value, "{name}: {measured}, not {value}\n{statistics}");
}

#[cfg(test)]
pub(crate) fn assert_as_requested(workload: &dyn Workload, expressions: u64) {
    let statistics = Statistics::measure(workload, 0..expressions, 0..2000);
    let requested = workload.requested().into_iter();
    requested
        .filter(|figure| figure.name != MATCH_PROBABILITY)
        .for_each(|figure| assert_near(figure, &statistics));
}

#[cfg(test)]
pub(crate) fn assert_match_probability(workload: &dyn Workload, expressions: u64, events: u64) {
    let statistics = Statistics::measure_matches(workload, 0..expressions, 0..events);
    let requested = workload.requested().into_iter().find(|figure| figure.name == MATCH_PROBABILITY);
    assert_near(requested.unwrap(), &statistics);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tamis::parse;

    fn observed(texts: &[&str]) -> Statistics {
        let mut statistics = Statistics::default();
        for text in texts {
            statistics.observe(&parse(text, &Limits::default()).unwrap());
        }
        statistics
    }

    fn figure(statistics: &Statistics, name: &str) -> f64 {
        statistics.figures().iter().find(|figure| figure.name == name).unwrap().value
    }

    #[test]
    fn levels_and_sharing() {
        let statistics = observed(&["a = 1 and b = 2", "(b = 2 and a = 1) or not c in (3, 4)", "a = 1"]);
        assert_eq!(statistics.expressions, 3);
        assert_eq!(figure(&statistics, "sharing of predicates"), 2.0);
        assert_eq!(statistics.levels[1].occurrences, 3);
        assert_eq!(statistics.levels[1].distinct(), 2);
        assert_eq!(statistics.levels[2].distinct(), 1);
        assert_eq!(figure(&statistics, "most predicates"), 3.0);
        assert_eq!(figure(&statistics, "greatest depth"), 3.0);
        assert_eq!(figure(&statistics, "attributes"), 3.0);
        assert_eq!(figure(&statistics, "values per set"), 7.0 / 6.0);
    }

    #[test]
    fn operators_and_nesting_tell_subexpressions_apart() {
        let statistics =
            observed(&["a = 1 and b = 2", "a = 1 or b = 2", "a = 1 xor b = 2", "a = 1 xnor b = 2"]);
        assert_eq!(statistics.levels[1].distinct(), 4);
        let statistics =
            observed(&["(a = 1 or b = 2) and (c = 3 or d = 4)", "(a = 1 or c = 3) and (b = 2 or d = 4)"]);
        assert_eq!(statistics.levels[2].distinct(), 2);
    }
}
