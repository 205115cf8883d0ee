//! Which matcher does a segment get?

use std::sync::Arc;

use super::columns::Declared;
use crate::error::Result;
use crate::event::{Attributes, Event};
use crate::expression::Expression;
use crate::limits::Limits;
use crate::matcher::extend::{CompileRequest, MatcherKind};
use crate::matcher::{Compiled, Matcher, Scan, Slot};
use crate::truth::Missing;
use crate::value::TimeZone;

/// Fewer subscriptions are scanned if they are small: compiling them would cost more than it saves.
pub(super) const COMPILED: usize = 32;
/// Expressions with more predicates and connectives than this in total are compiled however few they are.
const SCANNED_NODES: usize = 16 * COMPILED;

/// Which algorithm an index uses.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum Algorithm {
    /// Chosen for each segment by how much there is to evaluate: the smallest are scanned, all others compiled.
    #[default]
    Auto,
    /// Every expression is evaluated.
    Scan,
    /// The compiled matcher.
    Compiled,
    /// One of another crate, such as those of the papers in `tamis-papers`.
    Other(&'static dyn MatcherKind),
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Algorithm {}

impl Algorithm {
    /// The name by which users select it.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Scan => "scan",
            Algorithm::Compiled => "compiled",
            Algorithm::Other(kind) => kind.name(),
        }
    }

    /// The algorithm for many subscriptions, or for these expressions.
    fn of<'a>(self, expressions: impl ExactSizeIterator<Item = &'a Expression>) -> Algorithm {
        let few = expressions.len() < COMPILED;
        match self {
            Algorithm::Auto if few && is_small(expressions) => Algorithm::Scan,
            Algorithm::Auto => Algorithm::Compiled,
            other => other,
        }
    }

    /// Fails if the algorithm cannot take an expression.
    pub(super) fn check(self, expression: &Expression, zone: &TimeZone, limits: &Limits) -> Result<()> {
        match self {
            Algorithm::Other(kind) => kind.check(expression, zone, limits),
            _ => Ok(()),
        }
    }
}

/// Whether there is so little to evaluate that nothing is faster than a scan.
fn is_small<'a>(expressions: impl Iterator<Item = &'a Expression>) -> bool {
    expressions.map(|expression| expression.nodes().len()).sum::<usize>() <= SCANNED_NODES
}

/// What building a segment needs besides subscriptions.
#[derive(Debug, Clone, Copy)]
pub(super) struct SegmentSettings<'a> {
    pub attributes: &'a Arc<Attributes>,
    pub missing: Missing,
    pub algorithm: Algorithm,
    /// The maximum number of signed predicates in a normal form.
    pub normal_form: usize,
    /// Events that resemble those to come.
    pub sample: &'a [Event],
    /// The declared columns of metadata.
    pub declared: &'a Arc<Declared>,
}

/// The matcher of a segment.
#[derive(Debug)]
pub(super) enum SegmentMatcher {
    Scan(Scan),
    Compiled(Box<Compiled>),
    Other(Box<dyn Matcher>),
}

impl SegmentMatcher {
    pub fn new<'a, I>(
        expressions: I,
        boost: impl Fn(Slot) -> f64,
        settings: SegmentSettings<'_>,
    ) -> Result<SegmentMatcher>
    where
        I: ExactSizeIterator<Item = &'a Expression> + Clone,
    {
        let SegmentSettings { attributes, missing, algorithm, sample, normal_form, .. } = settings;
        Ok(match algorithm.of(expressions.clone()) {
            Algorithm::Scan => SegmentMatcher::Scan(Scan::new(expressions, attributes, missing)),
            Algorithm::Other(kind) => {
                let expressions: &[&Expression] = &expressions.collect::<Vec<_>>();
                let boost = &boost;
                let request = CompileRequest { expressions, boost, attributes, missing, normal_form };
                SegmentMatcher::Other(kind.compile(request))
            }
            _ => SegmentMatcher::Compiled(Box::new(Compiled::new(expressions, attributes, missing, sample)?)),
        })
    }

    pub fn matcher(&self) -> &dyn Matcher {
        match self {
            SegmentMatcher::Scan(scan) => scan,
            SegmentMatcher::Compiled(compiled) => &**compiled,
            SegmentMatcher::Other(matcher) => &**matcher,
        }
    }
}
