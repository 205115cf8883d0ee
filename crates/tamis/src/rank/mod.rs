//! How well does an event match an expression, and which match best?
//!
//! The score is defined on the normal form, for all shapes of expressions. A positive predicate scores
//! the highest product of its own weight and the event's weight among the values that satisfy it; a
//! negated one scores nothing. `and` adds the scores of its children, and `or` takes the highest score of its true children. For
//! disjunctive and conjunctive forms this is the score of Whang et al. 2009, section 2.4. Nothing here
//! knows how matches are found.
//!
//! | file | the question it answers |
//! |---|---|
//! | `weights` | how much does the event weigh an attribute or a pair? |
//! | `score` | what does an expression score, and what at most? |
//! | `top` | which are the best so far, and what must a better one reach? |

mod score;
mod top;
mod weights;

pub use score::{ScoreScratch, Scores};
pub use top::Top;
pub use weights::EventWeights;

use crate::error::{Error, Result};

/// Whether sums of products of such numbers come out the same in any order: they have few digits.
/// What bounds and scores are then compared by is exact, and of equal scores only the first are looked
/// at; otherwise a bound is trusted to nine digits.
pub fn is_coarse(weight: f64) -> bool {
    weight <= 1024.0 && (weight * 16.0).fract() == 0.0
}

/// The highest sum of weights for that to hold, before event and boost multiply it.
pub const COARSE_SUM: f64 = (1u64 << 21) as f64;

/// A threshold for bounds that were summed in another order than the scores.
pub fn with_slack(threshold: f64, coarse: bool) -> f64 {
    if coarse { threshold } else { threshold * (1.0 - 1e-9) }
}

/// Weights and boosts are finite numbers of at least 0.
pub(crate) fn check_weight(what: &str, weight: f64) -> Result<()> {
    if weight.is_finite() && weight >= 0.0 {
        return Ok(());
    }
    Err(Error::expression(format!("{what} is {weight}; it must be a finite number of at least 0")))
}
