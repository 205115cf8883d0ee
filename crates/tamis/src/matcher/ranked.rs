//! Which expressions that an event satisfies can still be among the best?
//!
//! The pruning of Whang et al. 2009, section 5, for the matchers over posting lists. They do not
//! score: whoever asks does, and says after each one what another must at least reach.

use super::{Scratch, Slot};
use crate::event::Event;
use crate::rank::EventWeights;

/// What keeps an expression from being scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pruning {
    /// Nothing: every match is scored.
    None,
    /// The paper's two rules, with one bound per key.
    Paper,
    /// The same rules with one bound per list, and a third: the weights of a match's own entries.
    #[default]
    Tight,
}

/// A ranking to be filled.
pub(crate) trait Visit {
    /// Takes a match.
    fn visit(&mut self, slot: Slot);

    /// What a match must at least score whose slot is not before `slot`.
    fn threshold(&self, slot: Slot) -> f64;
}

/// A matcher that leaves out what cannot be among the best.
pub(crate) trait Ranked {
    /// Has every match visited that may score enough, some of them several times.
    fn rank(&self, event: &Event, weights: &EventWeights, scratch: &mut Scratch, visit: &mut dyn Visit);
}
