//! How do many subscriptions become one segment?
//!
//! Rows come in any order, and nothing says which of two is newer. So invalid rows are refused,
//! identical rows count once, and different rows with the same id are all refused. Subscriptions are
//! sorted by id, so the same set of rows gives the same segment.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::algorithm::{Algorithm, SegmentSettings};
use super::columns::Declared;
use super::documents::Documents;
use super::elements::retain_elements;
use super::rows::{Row, Rows};
use super::segment::Segment;
use super::snapshot::Snapshot;
use super::subscription::Subscription;
use super::{Index, Limits};
use crate::error::{Error, Result};
use crate::event::Attributes;
use crate::expression::parse;
use crate::id::Id;
use crate::truth::Missing;
use crate::value::TimeZone;

/// Collects subscriptions for an index of one segment.
#[derive(Debug)]
pub struct Builder {
    missing: Missing,
    zone: TimeZone,
    limits: Limits,
    declared: Arc<Declared>,
    changes: HashMap<Id, Change, ahash::RandomState>,
    kept: Vec<Subscription>,
}

/// What the rows of one id say.
#[derive(Debug, Clone, PartialEq)]
enum Change {
    Set(Box<Subscription>),
    Delete,
    /// Rows that contradict each other.
    Conflict,
}

/// A row that was refused.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// Its id, if it has one.
    pub id: Option<Id>,
    /// Where its expression is wrong, in characters from 1.
    pub position: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// Its expression, if it has one.
    pub expression: Option<String>,
}

impl Builder {
    /// No subscriptions yet.
    pub fn new(missing: Missing, limits: Limits) -> Builder {
        Builder::in_zone(missing, limits, TimeZone::default())
    }

    /// No subscriptions yet, with the zone of times that are written without an offset.
    pub fn in_zone(missing: Missing, limits: Limits, zone: TimeZone) -> Builder {
        let declared = Arc::new(Declared::none());
        Builder { missing, zone, limits, declared, changes: HashMap::default(), kept: Vec::new() }
    }

    /// The same, with columns for these members of the metadata, by which subscriptions can be selected quickly.
    pub fn with_metadata_columns(self, columns: &[Arc<str>]) -> Result<Builder> {
        let declared = Arc::new(Declared::new(columns, &self.zone, &self.limits)?);
        Ok(Builder { declared, ..self })
    }

    /// Adds the rows of a batch, and returns those that were refused.
    ///
    /// Its columns are `id` (strings or integers), `expression` (text, or the JSON form) and, optionally,
    /// `metadata` (JSON), `weights` (JSON), `boost` (a number), `priority` (an integer), `active_from` and `active_until`
    /// (times, or their texts) and `deleted` (whether the row says that there is no such subscription).
    pub fn add(&mut self, batch: &RecordBatch) -> Result<Vec<Refused>> {
        let (zone, limits) = (self.zone.clone(), self.limits.clone());
        let rows = Rows::new(batch, &zone, &limits)?;
        let mut refused = Vec::new();
        for row in 0..rows.len() {
            let Row { id, expression, subscription } = rows.read(row)?;
            let id = match id {
                Ok(id) => id,
                Err(message) => {
                    refused.push(Refused { id: None, position: None, message, expression });
                    continue;
                }
            };
            let change = subscription.and_then(|written| match written {
                None => Ok(Change::Delete),
                Some(written) => Ok(Change::Set(Box::new(written.with(parse(&written.text, &limits)?)))),
            });
            match change {
                Ok(change) => self.note(id, change, expression, &mut refused),
                Err(error) => refused.push(Refused {
                    id: Some(id),
                    position: position(&error, expression.as_deref()),
                    message: error.to_string(),
                    expression,
                }),
            }
        }
        Ok(refused)
    }

    fn note(&mut self, id: Id, change: Change, expression: Option<String>, refused: &mut Vec<Refused>) {
        let mut seen = match self.changes.entry(id) {
            Entry::Vacant(place) => {
                place.insert(change);
                return;
            }
            Entry::Occupied(seen) if *seen.get() == change => return,
            Entry::Occupied(seen) => seen,
        };
        let message = "the id occurs more than once with different subscriptions; none was added";
        let id = seen.key().clone();
        let mut refuse = |expression| {
            let (id, message) = (Some(id.clone()), message.to_owned());
            refused.push(Refused { id, position: None, message, expression });
        };
        match seen.insert(Change::Conflict) {
            Change::Set(first) => refuse(Some(first.expression.to_string())),
            Change::Delete => refuse(None),
            Change::Conflict => {}
        }
        refuse(expression);
    }

    /// Adds the subscriptions of an index that no row has changed so far.
    pub fn keep(&mut self, snapshot: &Snapshot) -> Result<()> {
        for subscription in snapshot.subscriptions() {
            let subscription = subscription?;
            if matches!(self.changes.get(&subscription.id), None | Some(Change::Conflict)) {
                self.kept.push(subscription);
            }
        }
        Ok(())
    }

    /// The index; its only segment is compiled now.
    pub fn finish(self) -> Result<Index> {
        let mut subscriptions = self.kept;
        subscriptions.extend(self.changes.into_values().filter_map(|change| match change {
            Change::Set(subscription) => Some(*subscription),
            Change::Delete | Change::Conflict => None,
        }));
        subscriptions.sort_unstable_by(|one, other| match (&one.id, &other.id) {
            (Id::Integer(one), Id::Integer(other)) => one.cmp(other),
            (Id::String(one), Id::String(other)) => one.cmp(other),
            (Id::Integer(_), Id::String(_)) => Ordering::Less,
            (Id::String(_), Id::Integer(_)) => Ordering::Greater,
        });
        let attributes = Arc::new(Attributes::new(self.missing, &self.limits, self.zone));
        let algorithm = Algorithm::Auto;
        let (missing, normal_form) = (self.missing, self.limits.normal_form);
        // Each of many tasks has one core.
        let (attributes, declared) = (&attributes, &self.declared);
        let settings = SegmentSettings { attributes, missing, algorithm, normal_form, sample: &[], declared };
        let live = subscriptions.len();
        let segments = match live {
            0 => Vec::new(),
            _ => vec![Arc::new(Segment::new(&subscriptions, settings)?)],
        };
        let documents = Arc::new(Documents::new(algorithm, &self.limits));
        documents.retain(&subscriptions)?;
        retain_elements(&segments, attributes, 1)?;
        let snapshot = Snapshot::new(1, segments, live, Arc::clone(attributes), documents);
        Ok(Index::from_snapshot(missing, self.limits, algorithm, self.declared, snapshot).at_rest())
    }
}

/// The character, from 1, at which the error in a text is.
fn position(error: &Error, text: Option<&str>) -> Option<usize> {
    let (Error::Syntax(error), Some(text)) = (error, text) else { return None };
    Some(text.get(..error.offset)?.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, BooleanArray, Int32Array, StringArray};

    use super::*;

    fn builder() -> Builder {
        Builder::new(Missing::Unknown, Limits::default())
    }

    fn batch(ids: Vec<Option<&str>>, texts: Vec<Option<&str>>) -> RecordBatch {
        let (ids, texts): (ArrayRef, ArrayRef) =
            (Arc::new(StringArray::from(ids)), Arc::new(StringArray::from(texts)));
        RecordBatch::try_from_iter([("id", ids), ("expression", texts)]).unwrap()
    }

    fn ids(index: &Index) -> Vec<Id> {
        index.snapshot().ids().map(|id| id.unwrap().to_id()).collect()
    }

    #[test]
    fn rows_become_subscriptions_in_the_order_of_their_ids() {
        let mut builder = builder();
        let json = r#"{"attribute": "b", "operator": "=", "value": 2}"#;
        let refused =
            builder.add(&batch(vec![Some("b"), Some("a")], vec![Some(json), Some("a = 1")])).unwrap();
        assert_eq!(refused, []);
        let index = builder.finish().unwrap();
        assert_eq!(ids(&index), ["a".into(), "b".into()]);
        assert_eq!(index.match_json(br#"{"b": 2}"#).unwrap(), ["b".into()]);
    }

    #[test]
    fn what_is_wrong_is_refused_and_the_rest_taken() {
        let rows = batch(
            vec![Some("x"), None, Some("y"), Some("z")],
            vec![Some("ü = = 1"), Some("a"), None, Some("a")],
        );
        let mut builder = builder();
        let refused = builder.add(&rows).unwrap();
        assert_eq!(refused.len(), 3);
        assert_eq!(refused[0].position, Some(5));
        assert_eq!((&refused[1].id, &refused[2].id), (&None, &Some("y".into())));
        assert_eq!(ids(&builder.finish().unwrap()), ["z".into()]);
    }

    #[test]
    fn equal_rows_are_one_and_others_of_one_id_are_refused() {
        let mut builder = builder();
        let rows = |texts| batch(vec![Some("x"), Some("y")], texts);
        assert!(builder.add(&rows(vec![Some("a = 1"), Some("b")])).unwrap().is_empty());
        assert!(builder.add(&rows(vec![Some("(a == 1)"), Some("b")])).unwrap().is_empty());
        assert_eq!(builder.add(&rows(vec![Some("a = 2"), Some("b")])).unwrap().len(), 2);
        assert_eq!(builder.add(&rows(vec![Some("a = 2"), Some("b")])).unwrap().len(), 1);
        assert_eq!(ids(&builder.finish().unwrap()), ["y".into()]);
    }

    #[test]
    fn changes_replace_delete_and_keep() {
        let mut first = builder();
        let names = vec![Some("a"), Some("b"), Some("c"), Some("d")];
        first.add(&batch(names, vec![Some("x = 1"); 4])).unwrap();
        let first = first.finish().unwrap();
        let changed = batch(
            vec![Some("a"), Some("b"), Some("c"), Some("c"), Some("e")],
            vec![Some("x = 2"), None, Some("x = 3"), Some("x = 4"), Some("x <")],
        );
        let deleted: ArrayRef = Arc::new(BooleanArray::from(vec![false, true, false, false, false]));
        let columns = changed.columns().iter().cloned().zip(["id", "expression"]);
        let columns = columns.map(|(column, name)| (name, column)).chain([("deleted", deleted)]);
        let mut second = builder();
        let refused = second.add(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        assert_eq!(refused.len(), 3);
        second.keep(&first.snapshot()).unwrap();
        let second = second.finish().unwrap();
        assert_eq!(ids(&second), ["a".into(), "c".into(), "d".into()]);
        assert_eq!(second.match_json(br#"{"x": 1}"#).unwrap(), ["c".into(), "d".into()]);
        assert_eq!(second.match_json(br#"{"x": 2}"#).unwrap(), ["a".into()]);
    }

    #[test]
    fn weights_join_the_expression() {
        let rows = batch(vec![Some("x"), Some("y"), Some("z")], vec![Some("a in ('p', 'q')"); 3]);
        let weights: ArrayRef =
            Arc::new(StringArray::from(vec![Some(r#"{"a": {"q": 3}}"#), None, Some(r#"{"b": 1}"#)]));
        let columns = rows.columns().iter().cloned().zip(["id", "expression"]);
        let columns = columns.map(|(column, name)| (name, column)).chain([("weights", weights)]);
        let mut builder = builder();
        let refused = builder
            .add(
                &RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true)))
                    .unwrap(),
            )
            .unwrap();
        assert_eq!(refused.len(), 1);
        assert!(refused[0].message.contains("there is a weight for `b`"), "{}", refused[0].message);
        let index = builder.finish().unwrap();
        let texts: Vec<String> = index
            .snapshot()
            .subscriptions()
            .map(|subscription| subscription.unwrap().expression.to_string())
            .collect();
        assert_eq!(texts, ["a in ('p', 'q'^3)", "a in ('p', 'q')"]);
    }

    #[test]
    fn ids_of_other_types_and_missing_columns_are_errors() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![7, 3]));
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b"]));
        let mut integers = builder();
        let rows = RecordBatch::try_from_iter([("id", numbers.clone()), ("expression", texts.clone())]);
        assert!(integers.add(&rows.unwrap()).unwrap().is_empty());
        assert_eq!(ids(&integers.finish().unwrap()), [3.into(), 7.into()]);
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let wrong = RecordBatch::try_from_iter([("id", flags), ("expression", texts)]).unwrap();
        assert!(builder().add(&wrong).is_err());
        let missing = RecordBatch::try_from_iter([("id", numbers)]).unwrap();
        assert!(builder().add(&missing).unwrap_err().to_string().contains("`expression`"));
    }
}
