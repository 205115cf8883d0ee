//! The algorithms of an index, by name.

use tamis::expression::distribute::{Outer, check_size};
use tamis::expression::{Expression, normalise, resolve};
use tamis::index::Algorithm;
use tamis::matcher::Matcher;
use tamis::matcher::extend::{CompileRequest, MatcherKind};
use tamis::value::TimeZone;
use tamis::{Limits, Result};

use crate::{ATree, ATreeOptions, Cnf, Dewey, Interval, IntervalOptions, KIndex, KIndexOptions};

/// The A-Tree, as in its paper.
pub const ATREE: Algorithm = Algorithm::Other(&PaperMatcher::ATree);
/// The K-index over the conjunctions of disjunctive normal forms.
pub const KINDEX: Algorithm = Algorithm::Other(&PaperMatcher::KIndex);
/// Posting lists over the clauses of conjunctive normal forms.
pub const CNF: Algorithm = Algorithm::Other(&PaperMatcher::Cnf);
/// Evaluates expressions from the Dewey IDs of their true conjunctions.
pub const DEWEY: Algorithm = Algorithm::Other(&PaperMatcher::Dewey);
/// Evaluates expressions from intervals of their true conjunctions.
pub const INTERVAL: Algorithm = Algorithm::Other(&PaperMatcher::Interval);

/// All algorithms, including those of the engine.
pub const ALGORITHMS: [Algorithm; 8] =
    [Algorithm::Auto, Algorithm::Compiled, ATREE, KINDEX, CNF, DEWEY, INTERVAL, Algorithm::Scan];

/// The matcher that graph strategies use to skip nodes: a K-index whose conjunctions of one size are
/// in node order.
pub const SKIPPING: &dyn MatcherKind = &PaperMatcher::Skipping;

/// The algorithm with this name.
pub fn algorithm(name: &str) -> Option<Algorithm> {
    ALGORITHMS.into_iter().find(|algorithm| algorithm.name() == name)
}

#[derive(Debug)]
enum PaperMatcher {
    ATree,
    KIndex,
    Skipping,
    Cnf,
    Dewey,
    Interval,
}

impl MatcherKind for PaperMatcher {
    fn name(&self) -> &'static str {
        match self {
            PaperMatcher::ATree => "atree",
            PaperMatcher::KIndex | PaperMatcher::Skipping => "kindex",
            PaperMatcher::Cnf => "cnf",
            PaperMatcher::Dewey => "dewey",
            PaperMatcher::Interval => "interval",
        }
    }

    fn check(&self, expression: &Expression, zone: &TimeZone, limits: &Limits) -> Result<()> {
        let outer = match self {
            PaperMatcher::KIndex => Outer::Or,
            PaperMatcher::Cnf => Outer::And,
            _ => return Ok(()),
        };
        check_size(&normalise(&resolve(expression, zone)), outer, limits.normal_form)
    }

    fn compile(&self, request: CompileRequest<'_>) -> Box<dyn Matcher> {
        let CompileRequest { expressions, boost, attributes, missing, normal_form } = request;
        let expressions = expressions.iter().copied();
        match self {
            PaperMatcher::ATree => {
                Box::new(ATree::compile(expressions, attributes, missing, ATreeOptions::default()))
            }
            PaperMatcher::KIndex | PaperMatcher::Skipping => {
                let options = KIndexOptions { share: matches!(self, PaperMatcher::KIndex), normal_form };
                Box::new(KIndex::with_boosts(expressions, boost, attributes, missing, options))
            }
            PaperMatcher::Cnf => {
                Box::new(Cnf::with_boosts(expressions, boost, attributes, missing, normal_form))
            }
            PaperMatcher::Dewey => Box::new(Dewey::new(expressions, attributes, missing)),
            PaperMatcher::Interval => {
                Box::new(Interval::new(expressions, attributes, missing, IntervalOptions::default()))
            }
        }
    }
}
