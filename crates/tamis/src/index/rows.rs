//! Which subscription does a row of a table describe?

use arrow_array::RecordBatch;
use jiter::JsonValue;

use super::Index;
use super::subscription::WrittenSubscription;
use super::validity::Validity;
use crate::error::{Error, Result};
use crate::event::{Item, Items};
use crate::expression::{Weight, from_json, parse};
use crate::id::Id;
use crate::limits::Limits;
use crate::rank::check_weight;
use crate::value::{TimeZone, ValueRef};

/// The position of a row in a table, with its subscription, or with its id, if it has one, and what is wrong.
pub type TableRow = (usize, std::result::Result<WrittenSubscription, (Option<Id>, Error)>);

/// The columns of a batch of subscriptions.
pub(super) struct Rows<'a> {
    zone: &'a TimeZone,
    limits: &'a Limits,
    count: usize,
    ids: Items,
    expressions: Items,
    metadata: Option<Items>,
    weights: Option<Items>,
    boosts: Option<Items>,
    priorities: Option<Items>,
    active_from: Option<Items>,
    active_until: Option<Items>,
    deleted: Option<Items>,
}

/// A row, each part of which may be invalid.
pub(super) struct Row {
    pub id: std::result::Result<Id, String>,
    /// The expression as written in the row.
    pub expression: Option<String>,
    /// The subscription, if its id is valid; `None` if the row is a deletion.
    pub subscription: Result<Option<WrittenSubscription>>,
}

impl Index {
    /// The subscriptions in the rows of a table, or the id of a row and what is wrong with it; see
    /// [`Builder::add`](super::Builder::add) for the columns. Deletions are left out.
    pub fn read_table(&self, batch: &RecordBatch) -> Result<Vec<TableRow>> {
        let (zone, mut read) = (self.time_zone(), Vec::with_capacity(batch.num_rows()));
        let rows = Rows::new(batch, &zone, &self.shared.limits)?;
        for number in 0..rows.len() {
            let Row { id, subscription, .. } = rows.read(number)?;
            match subscription {
                Ok(None) => {}
                Ok(Some(subscription)) => read.push((number, Ok(subscription))),
                Err(error) => read.push((number, Err((id.ok(), error)))),
            }
        }
        Ok(read)
    }
}

impl<'a> Rows<'a> {
    /// The columns `id` (strings or integers), `expression` (text, or the JSON form) and, optionally, `metadata`
    /// (JSON), `weights` (JSON, see [`Weight::read_json`]), `boost` (a number), `priority` (an integer),
    /// `active_from` and `active_until` (times, or their texts) and `deleted` (whether the row is a deletion).
    pub fn new(batch: &RecordBatch, zone: &'a TimeZone, limits: &'a Limits) -> Result<Rows<'a>> {
        let optional = |name: &str| {
            let column = batch.column_by_name(name).map(|column| Items::new(name, column));
            column.transpose()
        };
        let needed = |name: &str| {
            optional(name)?.ok_or_else(|| Error::expression(format!("there is no column `{name}`")))
        };
        Ok(Rows {
            zone,
            limits,
            count: batch.num_rows(),
            ids: needed("id")?,
            expressions: needed("expression")?,
            metadata: optional("metadata")?,
            weights: optional("weights")?,
            boosts: optional("boost")?,
            priorities: optional("priority")?,
            active_from: optional("active_from")?,
            active_until: optional("active_until")?,
            deleted: optional("deleted")?,
        })
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Reads a row. Invalid content is reported in the row; a column of the wrong type is an error.
    pub fn read(&self, row: usize) -> Result<Row> {
        let id = match self.ids.get(row) {
            Some(Item::Value(ValueRef::String(text))) => Ok(Id::from(text)),
            Some(Item::Value(ValueRef::Integer(number))) => Ok(Id::from(number)),
            Some(Item::Null) => Err("the id is null; every subscription needs one".to_owned()),
            Some(Item::Damaged(found)) => Err(format!("the id {}: {}", self.ids.show(row), found.reason())),
            _ => return Err(Error::expression("the column `id` holds neither strings nor integers")),
        };
        let deleted = match self.deleted.as_ref().map(|items| items.get(row)) {
            None | Some(Some(Item::Null | Item::Value(ValueRef::Boolean(false)))) => false,
            Some(Some(Item::Value(ValueRef::Boolean(true)))) => true,
            Some(_) => return Err(Error::expression("the column `deleted` does not hold booleans")),
        };
        let mut damage = None;
        let mut text = |items: Option<&Items>, name| match items.map(|items| items.get(row)) {
            None | Some(Some(Item::Null)) => Ok(None),
            Some(Some(Item::Value(ValueRef::String(text)))) => Ok(Some(text.to_owned())),
            Some(Some(Item::Damaged(found))) => {
                damage = Some(Error::expression(format!("the column `{name}`: {}", found.reason())));
                Ok(None)
            }
            Some(_) => Err(Error::expression(format!("the column `{name}` does not hold text"))),
        };
        let expression = text(Some(&self.expressions), "expression")?;
        let metadata = text(self.metadata.as_ref(), "metadata")?;
        let weights = text(self.weights.as_ref(), "weights")?;
        let subscription = match (deleted, damage, &id) {
            (true, ..) => Ok(None),
            (false, Some(damage), _) => Err(damage),
            (false, None, Err(message)) => Err(Error::expression(message.clone())),
            (false, None, Ok(id)) => {
                self.subscription(row, id, expression.as_deref(), metadata, weights.as_deref()).map(Some)
            }
        };
        Ok(Row { id, expression, subscription })
    }

    fn subscription(
        &self,
        row: usize,
        id: &Id,
        expression: Option<&str>,
        metadata: Option<String>,
        weights: Option<&str>,
    ) -> Result<WrittenSubscription> {
        let boost = match get(&self.boosts, row) {
            Some(Item::Null) => 1.0,
            Some(Item::Value(ValueRef::Integer(number))) => number as f64,
            Some(Item::Value(ValueRef::Float(number))) => number.get(),
            _ => return Err(Error::expression("the boost must be a number")),
        };
        check_weight("the boost", boost)?;
        let priority = match get(&self.priorities, row) {
            Some(Item::Null) => 0,
            Some(Item::Value(ValueRef::Integer(number))) => number,
            _ => return Err(Error::expression("the priority must be a 64-bit integer")),
        };
        let moment = |items: &Option<Items>, name: &str| match get(items, row) {
            Some(Item::Null) => Ok(None),
            Some(Item::Value(value)) => match self.zone.moment_of(value) {
                Some(moment) => Ok(Some(moment)),
                None => Err(Error::expression(format!(
                    "`{name}` must be a time, not {value}; {}",
                    crate::value::TIME_FORM
                ))),
            },
            _ => Err(Error::expression(format!("`{name}` must be a time"))),
        };
        let (from, until) =
            (moment(&self.active_from, "active_from")?, moment(&self.active_until, "active_until")?);
        let validity = Validity { from, until };
        validity.check()?;
        let text = expression.ok_or_else(|| Error::expression("the expression is null"))?;
        // No expression's text begins with a brace.
        let json = text.trim_start().starts_with('{');
        let text = if json || weights.is_some() {
            let mut read = if json { from_json(text, self.limits)? } else { parse(text, self.limits)? };
            if let Some(weights) = weights {
                read = read.weighted(&Weight::read_json(weights)?)?;
            }
            read.to_string()
        } else {
            text.to_owned()
        };
        if let Some(metadata) = &metadata {
            JsonValue::parse(metadata.as_bytes(), false)
                .map_err(|error| Error::expression(format!("the metadata is not valid JSON: {error}")))?;
        }
        let metadata = metadata.map(Into::into);
        Ok(WrittenSubscription {
            metadata,
            boost,
            priority,
            validity,
            ..WrittenSubscription::new(id.clone(), text)
        })
    }
}

/// The item of an optional column in a row.
fn get(items: &Option<Items>, row: usize) -> Option<Item<'_>> {
    items.as_ref().map_or(Some(Item::Null), |items| items.get(row))
}
