//! Which subscriptions does a condition on their metadata select?
//!
//! A condition is an expression over metadata, which is read like an event; a scan of that one expression decides
//! one subscription. If the condition consists of plain predicates on declared columns, it is evaluated once per
//! distinct value of a segment: conjunctions and disjunctions of conditions on one column each become intersections
//! and unions of slots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::columns::{Declared, Grouped, read_metadata};
use super::segment::Segment;
use super::slots::Bits;
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::event::{Attributes, Event, Presence};
use crate::expression::{Expression, Node, Test, is_hidden, total_size};
use crate::limits::{self, Limits};
use crate::matcher::{Matcher, Scan, Scratch, Slot};
use crate::truth::Missing;
use crate::value::{TimeZone, Timestamp};

/// Conditions that are nested more deeply, or join more children, are evaluated as a whole.
const DEEPEST: usize = 16;
const CHILDREN: u32 = 64;

/// A condition on the metadata of subscriptions.
#[derive(Debug)]
pub struct Condition {
    /// Its text in canonical form.
    text: Arc<str>,
    whole: MetadataTest,
    /// How to find its slots without examining each; `None` if it uses more than declared columns.
    plan: Option<Plan>,
    /// The members that it compares with something, apart from declared columns, until somebody asked whether
    /// they exist.
    compared: Mutex<Vec<Arc<str>>>,
}

/// Working memory of a condition.
#[derive(Debug, Default)]
pub(super) struct ConditionScratch {
    event: Event,
    scratch: Scratch,
    found: Vec<Slot>,
}

/// Decides whether metadata satisfies an expression.
#[derive(Debug)]
struct MetadataTest {
    attributes: Attributes,
    scan: Scan,
    limits: Limits,
}

#[derive(Debug)]
enum Plan {
    /// All of them.
    And(Vec<Plan>),
    /// Some of them.
    Or(Vec<Plan>),
    /// An expression over these columns.
    Columns(Vec<usize>, Box<MetadataTest>),
}

/// What is needed to build the plan of a condition.
struct ConditionContext<'a> {
    missing: Missing,
    zone: &'a TimeZone,
    limits: &'a Limits,
    declared: &'a Declared,
}

impl MetadataTest {
    fn new(expression: &Expression, context: &ConditionContext<'_>) -> Result<MetadataTest> {
        let ConditionContext { missing, zone, limits, .. } = *context;
        let bytes = total_size(expression.regular_expressions(), limits.index_patterns);
        limits::check(
            "bytes of an index's regular expressions",
            "index_patterns",
            bytes,
            limits.index_patterns,
        )?;
        let attributes = Attributes::new(missing, limits, zone.clone());
        attributes.learn(expression)?;
        let scan = Scan::new([expression], &attributes, missing);
        limits::check("distinct terms of an index", "terms", attributes.terms(), limits.terms)?;
        Ok(MetadataTest { attributes, scan, limits: limits.clone() })
    }

    fn holds(&self, metadata: Option<&str>, now: Timestamp, working: &mut ConditionScratch) -> bool {
        let ConditionScratch { event, scratch, found } = working;
        event.set_now(Some(now));
        read_metadata(event, metadata, &self.attributes, &self.limits);
        found.clear();
        self.scan.matches(event, scratch, found);
        !found.is_empty()
    }

    /// Like [`MetadataTest::holds`], but fails at the deadline of the working memory's event.
    fn try_holds(
        &self,
        metadata: Option<&str>,
        now: Timestamp,
        working: &mut ConditionScratch,
    ) -> Result<bool> {
        let holds = self.holds(metadata, now, working);
        working.scratch.check_deadline()?;
        Ok(holds)
    }
}

impl Condition {
    pub(super) fn new(
        expression: &Expression,
        missing: Missing,
        zone: &TimeZone,
        limits: &Limits,
        declared: &Declared,
    ) -> Result<Condition> {
        if expression.predicates().any(|predicate| predicate.as_xpath().is_some()) {
            return Err(Error::expression("`xpath` queries documents, and metadata has none"));
        }
        let context = ConditionContext { missing, zone, limits, declared };
        let plain = expression.predicates().all(|predicate| {
            !is_hidden(predicate.attribute()) && declared.position(predicate.attribute()).is_some()
        });
        let plan = plain.then(|| Plan::new(expression, DEEPEST, &context)).transpose()?;
        let whole = MetadataTest::new(expression, &context)?;
        let compared = Mutex::new(compared(expression, declared));
        Ok(Condition { text: expression.to_string().into(), whole, plan, compared })
    }

    /// The members it compares with something that none of these metadata has, and how many metadata there are. Only
    /// the first call looks for them; later ones find none.
    pub(super) fn take_unseen<'m>(&self, metadata: impl Iterator<Item = &'m str>) -> (Vec<Arc<str>>, usize) {
        let mut names = match self.compared.lock() {
            Ok(mut compared) => std::mem::take(&mut *compared),
            Err(_) => Vec::new(),
        };
        let MetadataTest { attributes, limits, .. } = &self.whole;
        let (mut event, mut looked) = (Event::default(), 0);
        if names.is_empty() {
            return (names, looked);
        }
        for text in metadata {
            looked += 1;
            read_metadata(&mut event, Some(text), attributes, limits);
            names.retain(|name| {
                let attribute = attributes.find(name);
                attribute.is_none_or(|attribute| matches!(event.get(attribute), Presence::Missing))
            });
            if names.is_empty() {
                break;
            }
        }
        (names, looked)
    }

    pub(super) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether a subscription with this metadata is selected.
    pub(super) fn selects(
        &self,
        metadata: Option<&str>,
        now: Timestamp,
        working: &mut Option<Box<ConditionScratch>>,
    ) -> bool {
        self.whole.holds(metadata, now, working.get_or_insert_default())
    }

    /// The slots of a segment that are selected; `None` if each has to be checked.
    pub(super) fn slots(&self, segment: &Segment, deadline: Option<Deadline>) -> Result<Option<Bits>> {
        let Some(plan) = &self.plan else { return Ok(None) };
        let mut working = ConditionScratch::default();
        working.event.set_deadline(deadline);
        let mut slots = plan.slots(segment, &mut working)?;
        if !matches!(plan, Plan::Columns(..)) {
            // The parts of the plan were decided apart. But metadata that the whole condition cannot read is empty.
            let alone = segment.metadata_columns().alone(segment.len()).ok_or_else(|| segment.damaged())?;
            for slot in alone.iter() {
                // No predicate of a plan uses the current time.
                match self.whole.try_holds(segment.metadata(slot), Timestamp::FIRST, &mut working)? {
                    true => slots.insert(slot),
                    false => slots.remove(slot),
                }
            }
        }
        Ok(Some(slots))
    }
}

impl Plan {
    fn new(expression: &Expression, deepest: usize, context: &ConditionContext<'_>) -> Result<Plan> {
        let mut columns: Vec<usize> = expression
            .predicates()
            .filter_map(|predicate| context.declared.position(predicate.attribute()))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let last = expression.nodes().len() - 1;
        let make = match &expression.nodes()[last] {
            Node::And(..=CHILDREN) if columns.len() > 1 && deepest > 0 => Plan::And,
            Node::Or(..=CHILDREN) if columns.len() > 1 && deepest > 0 => Plan::Or,
            _ => return Ok(Plan::Columns(columns, Box::new(MetadataTest::new(expression, context)?))),
        };
        let children = expression.children().map(|child| Plan::new(&child, deepest - 1, context));
        Ok(make(children.collect::<Result<_>>()?))
    }

    fn slots(&self, segment: &Segment, working: &mut ConditionScratch) -> Result<Bits> {
        match self {
            Plan::And(children) | Plan::Or(children) => {
                let mut all: Option<Bits> = None;
                for child in children {
                    let some = child.slots(segment, working)?;
                    match (&mut all, self) {
                        (None, _) => all = Some(some),
                        (Some(all), Plan::And(_)) => all.intersect(&some),
                        (Some(all), _) => all.unite(&some),
                    }
                }
                Ok(all.unwrap_or_else(|| Bits::new(segment.len())))
            }
            Plan::Columns(columns, test) => {
                // No predicate of a plan uses the current time.
                let mut holds =
                    |slot: Slot| test.try_holds(segment.metadata(slot), Timestamp::FIRST, working);
                let grouped: Vec<&Grouped> = columns
                    .iter()
                    .map(|&column| segment.metadata_columns().get(column).ok_or_else(|| segment.damaged()))
                    .collect::<Result<_>>()?;
                match grouped[..] {
                    [] => Ok(if holds(0)? { Bits::full(segment.len()) } else { Bits::new(segment.len()) }),
                    [column] => of_one(segment, column, &mut holds),
                    _ => of_several(segment, &grouped, &mut holds),
                }
            }
        }
    }
}

/// The members of metadata that an expression compares with something, apart from declared columns.
fn compared(expression: &Expression, declared: &Declared) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for predicate in expression.predicates() {
        // That a member exists nowhere may be what is asked; elements of lists are read apart.
        if matches!(predicate.test(), Test::Exists | Test::IsNull)
            || predicate.as_elements().is_some()
            || predicate.as_unknown().is_some()
        {
            continue;
        }
        predicate.attributes(&mut |name| {
            if !is_hidden(name) && declared.position(name).is_none() && !names.contains(name) {
                names.push(name.clone());
            }
        });
    }
    names
}

/// The slots in those groups whose first slot is selected.
fn of_one(segment: &Segment, column: &Grouped, holds: &mut impl FnMut(Slot) -> Result<bool>) -> Result<Bits> {
    let mut bits = Bits::new(segment.len());
    for group in column.groups() {
        let group = group.ok_or_else(|| segment.damaged())?;
        if is_slot(segment, group[0])? && holds(group[0])? {
            for &slot in group {
                is_slot(segment, slot)?;
                bits.insert(slot);
            }
        }
    }
    Ok(bits)
}

/// The slots whose combination of groups in several columns is that of a selected slot.
fn of_several(
    segment: &Segment,
    columns: &[&Grouped],
    holds: &mut impl FnMut(Slot) -> Result<bool>,
) -> Result<Bits> {
    // The groups of a slot, numbered column by column.
    let mut numbers = vec![0_u32; segment.len()];
    for column in columns {
        let mut joined: HashMap<(u32, u32), u32, ahash::RandomState> = HashMap::default();
        let mut next = vec![0; segment.len()];
        for (group, number) in column.groups().zip(0..) {
            for &slot in group.ok_or_else(|| segment.damaged())? {
                is_slot(segment, slot)?;
                let fresh = joined.len() as u32;
                next[slot as usize] = *joined.entry((numbers[slot as usize], number)).or_insert(fresh);
            }
            // A slot is in one group of a column.
            if joined.len() > segment.len() {
                return Err(segment.damaged());
            }
        }
        numbers = next;
    }
    let mut known: Vec<Option<bool>> = vec![None; segment.len()];
    let mut bits = Bits::new(segment.len());
    for (&number, slot) in numbers.iter().zip(0..) {
        let known = &mut known[number as usize];
        let selected = match *known {
            Some(selected) => selected,
            None => *known.insert(holds(slot)?),
        };
        if selected {
            bits.insert(slot);
        }
    }
    Ok(bits)
}

/// True; an error if an unverified file names a slot that does not exist.
fn is_slot(segment: &Segment, slot: Slot) -> Result<bool> {
    if (slot as usize) < segment.len() { Ok(true) } else { Err(segment.damaged()) }
}
