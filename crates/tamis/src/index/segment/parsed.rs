//! Which segments keep their expressions, so that merging need not parse them again?
//!
//! Small ones, which a writer merges up to three times before they are large, and only while their expressions are small,
//! too. Larger segments are merged in the background. There, parsing texts is about an eighth of the work (samples of `perf` while
//! `engine conjunctive 100000 index` compiles), and the expressions would take several times the memory of the texts.

use crate::expression::{Expression, OperandRef};
use crate::index::AT_ONCE;
use crate::matcher::Slot;

/// The most nodes and values of sets that are kept of one segment.
const MOST: usize = 1 << 14;

/// The expressions of a small segment, by slot; none of a larger one, or of one from a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    expressions: Vec<Expression>,
    /// How many more nodes and values are kept.
    room: usize,
}

impl Parsed {
    /// None yet, of so many to come.
    pub fn new(slots: usize) -> Parsed {
        Parsed { expressions: Vec::new(), room: if slots <= AT_ONCE { MOST } else { 0 } }
    }

    /// Keeps the expression of the next slot, if there is room; otherwise none at all.
    pub fn push(&mut self, expression: &Expression) {
        if self.room == 0 {
            return;
        }
        let values = expression.predicates().map(|predicate| match predicate.test().parts().1 {
            OperandRef::Set(values) => values.len(),
            _ => 0,
        });
        self.room = self.room.saturating_sub(expression.nodes().len() + values.sum::<usize>());
        match self.room {
            0 => self.expressions = Vec::new(),
            _ => self.expressions.push(expression.clone()),
        }
    }

    /// The expression in a slot, if it was kept.
    pub fn get(&self, slot: Slot) -> Option<&Expression> {
        self.expressions.get(slot as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Limits, parse};

    fn parsed(texts: &[&str], slots: usize) -> Parsed {
        let mut parsed = Parsed::new(slots);
        texts.iter().for_each(|text| parsed.push(&parse(text, &Limits::default()).unwrap()));
        parsed
    }

    #[test]
    fn few_small_expressions_are_kept() {
        let kept = parsed(&["a = 1", "b = 2 and c in (3, 4)"], 2);
        assert_eq!(kept.get(1).unwrap().to_string(), "b = 2 and c in (3, 4)");
        assert_eq!(kept.get(2), None);
        assert_eq!(parsed(&["a = 1"], AT_ONCE + 1).get(0), None);
    }

    #[test]
    fn none_is_kept_where_one_is_large() {
        let values: Vec<String> = (0..MOST).map(|number| number.to_string()).collect();
        let large = format!("a in ({})", values.join(", "));
        let kept = parsed(&["a = 1", &large, "b = 2"], 3);
        assert!((0..3).all(|slot| kept.get(slot).is_none()));
    }
}
