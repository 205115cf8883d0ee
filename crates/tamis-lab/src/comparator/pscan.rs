//! PSCAN (Whang et al. 2009, section 7): only expressions in the posting lists of an event are evaluated.
//!
//! An expression is in the lists of the predicates that can help make it true. An expression that
//! can be true without any of them is always evaluated.

use tamis::Event;
use tamis::expression::normalise;
use tamis::matcher::Slot;

use super::bop::Needs;
use super::predicates::Predicates;
use super::trees::Trees;
use super::{Comparator, Input, Lists, Refused, Work};

/// Expressions by the predicates that can help make them true.
#[derive(Debug)]
pub struct Pscan {
    predicates: Predicates,
    lists: Lists<Slot>,
    always: Vec<Slot>,
    trees: Trees,
}

impl Pscan {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<Pscan, Refused> {
        let trees = Trees::new(input)?;
        let mut predicates = Predicates::default();
        let (mut pairs, mut always) = (Vec::new(), Vec::new());
        for (slot, expression) in (0..).zip(input.expressions) {
            let needs = Needs::new(&normalise(expression), &mut predicates, input);
            if needs.least == 0 {
                always.push(slot);
            } else {
                pairs.extend(needs.occurrences.iter().map(|&(predicate, _)| (predicate, slot)));
            }
        }
        Ok(Pscan { lists: Lists::new(predicates.len(), &pairs), predicates, always, trees })
    }
}

impl Comparator for Pscan {
    fn name(&self) -> &'static str {
        "pscan"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        let Work { held, seen, counters, .. } = work;
        self.predicates.find(event, held);
        seen.begin(self.trees.len());
        for &predicate in held.members() {
            let list = self.lists.of(predicate);
            counters.entries += list.len() as u64;
            list.iter().for_each(|&slot| {
                seen.insert(slot);
            });
        }
        self.trees.evaluate(seen.members().iter().chain(&self.always), event, counters, found);
    }

    fn bytes(&self) -> usize {
        self.predicates.bytes() + self.lists.bytes() + 4 * self.always.len() + self.trees.bytes()
    }
}
