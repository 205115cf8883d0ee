//! DNF expansion (Fontoura et al. 2010, section 5.2): brings expressions into disjunctive normal
//! form and indexes them with the K-index of Whang et al. 2009.

use tamis::Event;
use tamis::expression::normalise;
use tamis::matcher::{Matcher, Slot};
use tamis_papers::{KIndex, KIndexOptions};

use super::conjunctions::check_size;
use super::{Comparator, Input, Refused, Work};

/// The K-index over the disjunctive forms.
#[derive(Debug)]
pub struct DnfExpansion {
    index: KIndex,
}

impl DnfExpansion {
    /// Compiles the expressions.
    pub fn new(input: &Input<'_>) -> Result<DnfExpansion, Refused> {
        for (slot, expression) in (0..).zip(input.expressions) {
            check_size(slot, &normalise(expression), input.most)?;
        }
        let options = KIndexOptions { normal_form: usize::MAX, ..KIndexOptions::default() };
        let index = KIndex::new(input.expressions, input.attributes, input.missing, options);
        Ok(DnfExpansion { index })
    }
}

impl Comparator for DnfExpansion {
    fn name(&self) -> &'static str {
        "dnf-expansion"
    }

    fn matches(&self, event: &Event, work: &mut Work, found: &mut Vec<Slot>) {
        self.index.matches(event, &mut work.scratch, found);
        let counted = work.scratch.take_counters();
        work.counters.entries += counted.entries;
        work.counters.candidates += counted.candidates;
    }

    fn bytes(&self) -> usize {
        self.index.bytes()
    }
}
