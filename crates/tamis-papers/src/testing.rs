//! Helpers for the tests of several matchers.

use tamis::event::Attributes;
use tamis::matcher::extend::Visit;
use tamis::matcher::{Counters, Matcher, Scan, Scratch, Slot};
use tamis::rank::{EventWeights, ScoreScratch, Scores, Top};
use tamis::{Event, Expression, Limits, Missing, parse};

use crate::forest::{Source, TreeNode};

/// Parses expressions.
pub fn read<T: AsRef<str>>(texts: &[T]) -> Vec<Expression> {
    texts.iter().map(|text| parse(text.as_ref(), &Limits::none()).unwrap()).collect()
}

pub fn decode(json: &str, attributes: &Attributes) -> Event {
    let mut event = Event::default();
    event.decode_json(json.as_bytes(), attributes, &Limits::none()).unwrap();
    event
}

/// The matches of an event, and the work they took.
pub fn run(matcher: &dyn Matcher, json: &str, attributes: &Attributes) -> (Vec<Slot>, Counters) {
    let (mut scratch, mut found) = (Scratch::default(), Vec::new());
    matcher.matches(&decode(json, attributes), &mut scratch, &mut found);
    (found, scratch.take_counters())
}

/// Scores the visited slots and keeps the best.
pub struct Best<'a> {
    scores: &'a Scores,
    event: &'a Event,
    weights: &'a EventWeights,
    scratch: ScoreScratch,
    /// The scored slots, in order.
    pub scored: Vec<Slot>,
    top: Top<Slot>,
}

impl<'a> Best<'a> {
    pub fn new(scores: &'a Scores, event: &'a Event, weights: &'a EventWeights) -> Best<'a> {
        let mut scratch = ScoreScratch::default();
        scores.begin(event, &mut scratch);
        Best { scores, event, weights, scratch, scored: Vec::new(), top: Top::new(1) }
    }

    /// The best slot and its score.
    pub fn best(self) -> (Slot, f64) {
        self.top.into_ranking().next().unwrap()
    }
}

impl Visit for Best<'_> {
    fn visit(&mut self, slot: Slot) {
        let score = self.scores.score(slot as usize, self.event, self.weights, &mut self.scratch);
        self.scored.push(slot);
        self.top.offer(score.unwrap(), u64::from(slot), slot);
    }

    fn threshold(&self, slot: Slot) -> f64 {
        self.top.threshold(u64::from(slot))
    }
}

pub fn leaf(letter: char) -> TreeNode {
    TreeNode::Leaf(Source::Conjunction(letter as u32))
}

/// The tree of Fontoura et al. 2010, Figures 2, 5 and 6: (A and B) or C or (D and E and F).
pub fn figure_2() -> Vec<TreeNode> {
    let [a, b, c, d, e, f] = ['A', 'B', 'C', 'D', 'E', 'F'].map(leaf);
    vec![TreeNode::Or(3), TreeNode::And(2), a, b, c, TreeNode::And(3), d, e, f]
}

/// Whether that tree is true if these leaves are.
pub fn figure_2_holds(letters: &str) -> bool {
    let holds = |wanted: &str| wanted.chars().all(|letter| letters.contains(letter));
    holds("AB") || holds("C") || holds("DEF")
}

/// Asserts that a matcher finds the same matches as `scan`, and calls `look` with the work of each
/// event.
pub fn compare<M: Matcher>(
    texts: &[String],
    events: &[String],
    build: impl FnOnce(&[Expression], &Attributes) -> M,
    look: impl Fn(Counters),
) {
    let (expressions, attributes) = (read(texts), Attributes::default());
    let scan = Scan::new(&expressions, &attributes, Missing::Unknown);
    let matcher = build(&expressions, &attributes);
    for json in events {
        let (found, counters) = run(&matcher, json, &attributes);
        assert_eq!(found, run(&scan, json, &attributes).0, "{}", matcher.name());
        look(counters);
    }
}
