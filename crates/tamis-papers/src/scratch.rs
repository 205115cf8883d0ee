//! Scratch memory of these matchers.

use tamis::matcher::extend::{OrderedSet, ScratchExtension};
use tamis::matcher::{Counters, Scratch};

use crate::atree::ATreeScratch;
use crate::cnf::CnfScratch;
use crate::conjunction::ConjunctionScratch;
use crate::dewey::DeweyScratch;
use crate::interval::IntervalScratch;

/// The scratch memory of these matchers, stored in a [`Scratch`].
#[derive(Debug, Default)]
pub(crate) struct Working {
    pub atree: ATreeScratch,
    pub conjunction: ConjunctionScratch,
    /// The slots that match, for sorting them. Empty between uses.
    pub slots: OrderedSet,
    pub dewey: DeweyScratch,
    pub interval: IntervalScratch,
    pub cnf: CnfScratch,
}

impl Working {
    /// The scratch memory of these matchers, with the settings of `scratch` applied.
    pub fn of(scratch: &mut Scratch) -> &mut Working {
        let skipping = scratch.skipping();
        let working = scratch.extension::<Working>();
        working.conjunction.postings.without_skipping = !skipping;
        working
    }
}

impl ScratchExtension for Working {
    fn take_counters(&mut self) -> Counters {
        let mut all = std::mem::take(&mut self.atree.counters);
        all += std::mem::take(self.conjunction.counters());
        all
    }
}
