//! Which subscriptions probably do not mean what their authors intended?
//!
//! A [`Sample`] of events shows which attributes exist and which types they have. [`check`] reads every subscription of
//! an index once and returns a list of [`Finding`]s: predicates on attributes or types that the sample does not have (`predicates`),
//! expressions that never or always hold (`cases`), and subscriptions that are equivalent to others or imply them
//! (`relations`). Findings about expressions hold for all events, not only for the sample. The work is
//! linear in the subscriptions, except for comparing them with each other, which stops at a limit and reports that.
//!
//! An internal part of Tamis without a stable interface, built on the crate `tamis`, which does not know it.
//!
//! | module | the question it answers |
//! |---|---|
//! | `sample` | which attributes do the events of a sample have, and of which types? |
//! | `near` | which name was probably meant by one that no event has? |
//! | `predicates` | which predicates use attributes or types that the sample does not have, or do not mean what they seem to? |
//! | `cases` | in which cases does an expression hold, and in which not? |
//! | `implication` | does every value that passes one test pass another? |
//! | `relations` | which expressions never or always hold, are equivalent to others, or imply them? |

mod cases;
mod implication;
mod near;
mod predicates;
mod relations;
mod sample;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

// The modules below this crate have the same paths here as in all crates of the engine.
use tamis::{event, index, matcher};
use tamis_base::{error, id, truth, value};
use tamis_language::{expression, limits};

use crate::error::{Error, Result};
use crate::id::Id;
use crate::index::Snapshot;
use crate::truth::Missing;
use predicates::Predicates;
use relations::Relations;
pub use sample::Sample;

/// How many subscriptions a finding names; it counts the others.
const NAMED: usize = 100;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FindingKind {
    /// An event of the sample cannot be read.
    Event,
    /// No event of the sample has an attribute.
    UnseenAttribute,
    /// An operand has a type that the attribute never has in the sample.
    UnseenType,
    /// A text that looks like a time, a number or a version is ordered as text.
    TextOrder,
    /// A network is written as a text, which no address equals.
    TextNetwork,
    /// The name of an attribute looks like a comparison or a term.
    QuotedName,
    /// The result of `lower` or `upper` is compared with a text that it never is.
    TextCase,
    /// The lower end of a `between` is above the upper.
    EmptyRange,
    /// No event can satisfy the expression.
    Never,
    /// Every event satisfies the expression.
    Always,
    /// Subscriptions ask the same.
    Equal,
    /// Every event that satisfies the first subscription satisfies the others.
    Subsumed,
    /// The check is incomplete.
    Bound,
}

impl FindingKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::Event => "event",
            FindingKind::UnseenAttribute => "unseen-attribute",
            FindingKind::UnseenType => "unseen-type",
            FindingKind::TextOrder => "text-order",
            FindingKind::TextNetwork => "text-network",
            FindingKind::QuotedName => "quoted-name",
            FindingKind::TextCase => "text-case",
            FindingKind::EmptyRange => "empty-range",
            FindingKind::Never => "never",
            FindingKind::Always => "always",
            FindingKind::Equal => "equal",
            FindingKind::Subsumed => "subsumed",
            FindingKind::Bound => "bound",
        }
    }
}

/// Something worth a look.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// A description of the problem.
    pub message: String,
    /// The subscriptions that it concerns, up to 100 of them.
    pub subscriptions: Vec<Id>,
    /// How many it concerns.
    pub count: usize,
    /// The attribute or term that it is about, as it is written.
    pub attribute: Option<String>,
    /// Where the problem is in the first of the subscriptions: the position of a character in the canonical text. For
    /// an event, its row.
    pub position: Option<usize>,
}

impl Finding {
    /// A finding about a kind of thing, which concerns no subscription yet.
    fn new(kind: FindingKind, message: String) -> Finding {
        Finding { kind, message, subscriptions: Vec::new(), count: 0, attribute: None, position: None }
    }

    /// An event of the sample that cannot be read.
    pub fn event(row: usize, message: String) -> Finding {
        Finding { position: Some(row), ..Finding::new(FindingKind::Event, message) }
    }

    fn concerns(&mut self, id: &Id) {
        self.count += 1;
        if self.subscriptions.len() < NAMED {
            self.subscriptions.push(id.clone());
        }
    }
}

/// Bounds on the work of [`check`].
#[derive(Debug, Clone)]
pub struct LintOptions {
    /// How many findings there are at most; the rest is counted.
    pub findings: usize,
    /// The maximum number of pairs of predicates to compare when subscriptions are compared with each other.
    pub comparisons: u64,
}

impl Default for LintOptions {
    fn default() -> Self {
        LintOptions { findings: 10_000, comparisons: 20_000_000 }
    }
}

/// Examines all subscriptions of an index; fails if one cannot be read, or when `stop` is set.
pub fn check(
    snapshot: &Snapshot,
    missing: Missing,
    sample: &Sample,
    options: &LintOptions,
    stop: &AtomicBool,
) -> Result<Vec<Finding>> {
    let mut report =
        Report { findings: Vec::new(), known: HashMap::default(), most: options.findings, more: 0 };
    let mut predicates = Predicates::new(sample, snapshot.attributes());
    let mut relations = Relations::new(missing, snapshot.attributes().time_zone().clone());
    for subscription in snapshot.subscriptions() {
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        let subscription = subscription?;
        predicates.look_at(&subscription, &mut report);
        relations.add(&subscription, &mut report);
    }
    let compared = relations.compare(options.comparisons, stop, &mut report)?;
    let mut findings = report.findings;
    findings.sort_by_key(|finding| finding.kind as usize);
    let mut bound = |message: String| findings.push(Finding::new(FindingKind::Bound, message));
    if !compared {
        bound(format!(
            "subscriptions were compared until {} pairs of predicates had been looked at; some may be subsumed \
             that are not listed",
            options.comparisons
        ));
    }
    if relations.skipped > 0 {
        bound(format!(
            "{} expressions are too large to say whether they can hold or are subsumed",
            relations.skipped
        ));
    }
    if predicates.near.exhausted() {
        bound("there are too many names to look for a near miss of each".to_owned());
    }
    if report.more > 0 {
        bound(format!("{} more findings than the {} that are listed", report.more, report.most));
    }
    Ok(findings)
}

/// The findings so far; equal ones are combined.
struct Report {
    findings: Vec<Finding>,
    /// By what they are about: their positions, and the last subscription that they concern.
    known: HashMap<(FindingKind, String), (usize, Id), ahash::RandomState>,
    most: usize,
    /// How many were left out.
    more: usize,
}

impl Report {
    /// Adds a finding; `None` if there are too many.
    fn push(&mut self, finding: Finding) -> Option<&mut Finding> {
        if self.findings.len() >= self.most {
            self.more += 1;
            return None;
        }
        self.findings.push(finding);
        self.findings.last_mut()
    }

    /// Records something that may concern several subscriptions. The first time, `make` returns the message, and
    /// `position` the place.
    fn note(
        &mut self,
        kind: FindingKind,
        key: String,
        id: &Id,
        make: impl FnOnce() -> (String, String),
        position: impl FnOnce() -> Option<usize>,
    ) {
        if let Some((known, last)) = self.known.get_mut(&(kind, key.clone())) {
            // Subscriptions are examined one after the other; one that has the same problem twice counts once.
            if last != id
                && let Some(finding) = self.findings.get_mut(*known)
            {
                finding.concerns(id);
                *last = id.clone();
            }
            return;
        }
        let number = self.findings.len();
        let (attribute, message) = make();
        let mut finding = Finding::new(kind, message);
        finding.attribute = Some(attribute);
        finding.position = position();
        finding.concerns(id);
        if self.push(finding).is_some() {
            self.known.insert((kind, key), (number, id.clone()));
        }
    }
}
