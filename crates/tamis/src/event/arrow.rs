//! How are events read from Arrow?
//!
//! A record batch is many events. Every column is an attribute, or one column holds the events: as a struct, a map,
//! or JSON. Structs flatten to dotted names like JSON objects, and columns that no expression mentions are not read.
//! A null is a null; a null inside a list is ignored.
//!
//! Rows are read one by one here, and many at a time, column by column, in [`by_column`](super::by_column).
//!
//! Nothing here trusts the content of buffers: reads go through [`checked`].

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::attributes::Reserved;
use super::checked::{self, Checked};
use super::items::{Item, Items, damaged, item_range, list_values, read};
use super::nested::{Nested, Target, dotted, nested_entry};
use super::{AttributeId, Attributes, Event};
use crate::deadline::Deadline;
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::Limits;
use crate::value::{Timestamp, ValueRef};
#[cfg(feature = "xml")]
use crate::xml::Input;

/// The events of a record batch, by their rows.
#[derive(Debug)]
pub struct ArrowEvents {
    rows: usize,
    /// Columns that are one attribute each.
    pub(super) fields: Vec<Field>,
    pub(super) maps: Vec<Map>,
    /// Columns whose elements are tested one by one.
    lists: Vec<List>,
    /// Structs and maps that are attributes themselves: nulls, or objects.
    pub(super) objects: Vec<(AttributeId, ArrayRef, Vec<ArrayRef>)>,
    /// The column whose texts are events.
    json: Option<Texts>,
    /// The column that contains the events' documents.
    #[cfg(feature = "xml")]
    documents: Option<Texts>,
    /// The struct or map whose rows are events.
    whole: Option<ArrayRef>,
    /// Keeps the numbers of the attributes above from being reused.
    reserved: Vec<Reserved>,
    /// Columns of unsupported types.
    refused: Vec<String>,
    /// All columns, if expressions use the values of whole events.
    columns: Vec<Nested>,
    /// The value of `now()`, if it is not the clock's.
    now: Option<Timestamp>,
    /// When everything that is asked about the events fails.
    deadline: Option<Deadline>,
}

#[derive(Debug)]
pub(super) struct Field {
    pub name: String,
    pub attribute: AttributeId,
    pub items: Items,
    /// The enclosing structs and lists of the column, outermost first.
    pub around: Vec<ArrayRef>,
}

#[derive(Debug)]
struct List {
    name: String,
    attribute: AttributeId,
    nested: Nested,
    around: Vec<ArrayRef>,
}

#[derive(Debug)]
pub(super) struct Map {
    prefix: String,
    names: Items,
    values: Nested,
    entries: ArrayRef,
    around: Vec<ArrayRef>,
}

/// A column of texts, or of bytes.
#[derive(Debug)]
enum Texts {
    Text(Items),
    Bytes(ArrayRef),
}

/// The content of such a column in a row.
enum Content<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl Texts {
    /// The texts of an array; `None` if it holds something else.
    fn new(name: &str, array: &ArrayRef) -> Result<Option<Texts>> {
        Ok(match array.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Some(Texts::Text(Items::new(name, array)?))
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Some(Texts::Bytes(array.clone()))
            }
            _ => None,
        })
    }

    /// The content of a row; `None` for a null.
    fn get(&self, row: usize) -> Checked<Option<Content<'_>>> {
        match self {
            Texts::Text(items) => match items.get(row) {
                Some(Item::Value(ValueRef::String(text))) => Ok(Some(Content::Text(text))),
                Some(Item::Damaged(damage)) => Err(damage),
                _ => Ok(None),
            },
            Texts::Bytes(array) if array.is_null(row) => Ok(None),
            Texts::Bytes(array) => match array.data_type() {
                DataType::Binary => checked::bytes(array.as_binary::<i32>(), row),
                DataType::LargeBinary => checked::bytes(array.as_binary::<i64>(), row),
                _ => checked::view(array.as_binary_view(), row),
            }
            .map(|bytes| Some(Content::Bytes(bytes))),
        }
    }
}

impl ArrowEvents {
    /// Prepares to read the events of a batch; `column` names the column that holds them, if there is one.
    pub fn new(batch: &RecordBatch, column: Option<&str>, attributes: &Attributes) -> Result<ArrowEvents> {
        let mut events = ArrowEvents {
            rows: batch.num_rows(),
            fields: Vec::new(),
            maps: Vec::new(),
            lists: Vec::new(),
            objects: Vec::new(),
            json: None,
            #[cfg(feature = "xml")]
            documents: None,
            whole: None,
            reserved: Vec::new(),
            refused: Vec::new(),
            columns: Vec::new(),
            now: None,
            deadline: None,
        };
        let _pin = attributes.pin();
        let all = attributes.asks_values().is_some();
        let Some(column) = column else {
            for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                events.add(field.name().clone(), array, &[], attributes);
                events.columns.extend(all.then(|| Nested::new(field.name(), array)));
            }
            return events.complete();
        };
        let array = find_column(batch, column)?;
        events.json = Texts::new(column, array)?;
        match array.data_type() {
            _ if events.json.is_some() => {}
            DataType::Struct(_) | DataType::Map(..) => {
                events.whole = Some(array.clone());
                events.add(String::new(), array, &[], attributes);
                events.columns.extend(all.then(|| Nested::new(column, array)));
            }
            other => {
                return Err(Error::event(format!(
                    "the column `{column}` holds {other}; events are a struct, a map, or JSON as text or bytes"
                )));
            }
        }
        events.complete()
    }

    /// Fails if expressions use columns of unsupported types.
    fn complete(self) -> Result<ArrowEvents> {
        if self.refused.is_empty() {
            return Ok(self);
        }
        let one = self.refused.len() == 1;
        Err(Error::event(format!(
            "{} {}; cast {} to a string, a number, a boolean, a time or an interval",
            if one {
                "an attribute has an Arrow type without a meaning here:"
            } else {
                "attributes have Arrow types without a meaning here:"
            },
            self.refused.join(", "),
            if one { "it" } else { "them" }
        )))
    }

    /// Reads the events' documents from a column of texts or bytes; a null means no document.
    #[cfg(feature = "xml")]
    pub fn with_documents(mut self, batch: &RecordBatch, column: &str) -> Result<ArrowEvents> {
        let array = find_column(batch, column)?;
        self.documents = Texts::new(column, array)?;
        if self.documents.is_none() {
            return Err(Error::event(format!(
                "the column `{column}` holds {}; documents are text or bytes",
                array.data_type()
            )));
        }
        Ok(self)
    }

    /// Sets the value of `now()` for all events.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> ArrowEvents {
        self.now = Some(now);
        self
    }

    /// Sets when everything that is asked about the events fails; `None` is never.
    #[must_use]
    pub fn within(mut self, deadline: Option<Deadline>) -> ArrowEvents {
        self.deadline = deadline;
        self
    }

    /// The document of a row, if it has one.
    #[cfg(feature = "xml")]
    pub fn document(&self, row: usize) -> Result<Option<Input<'_>>> {
        let Some(documents) = &self.documents else { return Ok(None) };
        let damaged = |damage: checked::Damage| Error::event(format!("the document: {}", damage.reason()));
        Ok(documents.get(row).map_err(damaged)?.map(|content| match content {
            Content::Text(text) => Input::Text(text),
            Content::Bytes(bytes) => Input::Bytes(bytes),
        }))
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a column and what is below it; `name` is empty for a column that holds whole events.
    fn add(&mut self, name: String, array: &ArrayRef, around: &[ArrayRef], attributes: &Attributes) {
        let mention = attributes.mention(&name);
        let below = name.is_empty() || mention.is_some_and(|mention| mention.prefix);
        let attribute = mention.and_then(|mention| mention.attribute);
        self.reserved.extend(attribute.and_then(|_| attributes.reserve(&name)));
        let list = attribute.filter(|list| attributes.asks_elements(*list) && !inside_list(around));
        if let Some(list) = list {
            let nested = Nested::new(&name, array);
            nested.refused_elements(list, &name, attributes, &mut self.refused);
            self.lists.push(List { name: name.clone(), attribute: list, nested, around: around.to_vec() });
        }
        if let (Some(attribute), DataType::Struct(_) | DataType::Map(..)) = (attribute, array.data_type()) {
            self.objects.push((attribute, array.clone(), around.to_vec()));
        }
        match array.data_type() {
            DataType::Struct(fields) if below => {
                let mut around = around.to_vec();
                around.push(array.clone());
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    self.add(dotted(&name, field.name()), column, &around, attributes);
                }
            }
            DataType::Struct(_) => {}
            DataType::Map(..) if below => {
                self.add_map(name, array, around);
            }
            DataType::Map(..) => {}
            _ if objects(array).is_some() || list.is_some() && lists(array) => {
                // A list of objects: attributes below it have the values of all elements. Lists in a list can only be
                // tested as its elements.
                if let Some(attribute) = attribute {
                    let items = Items::List(array.clone(), Box::new(Items::Objects));
                    self.fields.push(Field { name: name.clone(), attribute, items, around: around.to_vec() });
                }
                if let Some(elements) = objects(array).filter(|_| below) {
                    let mut around = around.to_vec();
                    around.push(array.clone());
                    self.add_elements(name, elements, &around, attributes);
                }
            }
            _ => {
                if let Some(attribute) = attribute {
                    match Items::new(&name, array) {
                        Ok(items) => {
                            self.fields.push(Field { name, attribute, items, around: around.to_vec() });
                        }
                        Err(_) => self.refused.push(refusal(&name, array)),
                    }
                }
            }
        }
    }

    /// Adds what is below the elements of a list, which are structs or maps.
    fn add_elements(
        &mut self,
        name: String,
        elements: &ArrayRef,
        around: &[ArrayRef],
        attributes: &Attributes,
    ) {
        if let DataType::Struct(fields) = elements.data_type() {
            let mut around = around.to_vec();
            around.push(elements.clone());
            for (field, column) in fields.iter().zip(elements.as_struct().columns()) {
                self.add(dotted(&name, field.name()), column, &around, attributes);
            }
        } else if let DataType::Map(..) = elements.data_type() {
            self.add_map(name, elements, around);
        }
    }

    fn add_map(&mut self, prefix: String, array: &ArrayRef, around: &[ArrayRef]) {
        let map = array.as_map();
        match Items::new(&prefix, map.keys()) {
            Ok(names) => {
                let values = Nested::new(&prefix, map.values());
                let (entries, around) = (array.clone(), around.to_vec());
                self.maps.push(Map { prefix, names, values, entries, around });
            }
            Err(_) => self.refused.push(refusal(&prefix, array)),
        }
    }

    /// Reads the event of a row, replacing the content of `event`.
    pub fn decode(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
        event.set_now(self.now);
        event.set_deadline(self.deadline);
        let decoded = self.decode_row(row, event, attributes, limits);
        if decoded.is_err() {
            event.clear_elements();
        }
        decoded
    }

    fn decode_row(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
        if let Some(json) = &self.json {
            return match json.get(row) {
                Ok(Some(Content::Text(text))) => event.decode_json(text.as_bytes(), attributes, limits),
                Ok(Some(Content::Bytes(bytes))) => event.decode_json(bytes, attributes, limits),
                Ok(None) => Err(Error::event("the event is null")),
                Err(damage) => Err(Error::event(format!("the event: {}", damage.reason()))),
            };
        }
        if self.is_null(row) {
            return Err(Error::event("the event is null"));
        }
        event.clear();
        let _pin = attributes.pin();
        self.decode_objects(row, event, attributes, limits)?;
        for field in &self.fields {
            field.decode(row, event, limits)?;
        }
        self.decode_named(row, event, attributes, limits)?;
        event.finish(attributes)
    }

    /// Whether the events are the texts of a column.
    pub(super) fn is_json(&self) -> bool {
        self.json.is_some()
    }

    /// Clears an event before it is filled from a row.
    pub(super) fn begin_row(&self, event: &mut Event) {
        event.set_now(self.now);
        event.set_deadline(self.deadline);
        event.clear();
    }

    /// Whether the event of a row is null as a whole.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.whole.as_ref().is_some_and(|array| array.is_null(row))
    }

    /// Reads structs and maps that are attributes themselves, and lists whose elements are tested.
    pub(super) fn decode_objects(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
        for (attribute, array, around) in &self.objects {
            if inside_list(around) || !around.iter().all(|array| array.is_valid(row)) {
                continue;
            }
            if array.is_null(row) {
                event.begin(*attribute);
                event.null();
            } else if attributes.asks_shape(*attribute) {
                event.begin(*attribute);
                event.object();
            }
        }
        for List { name, attribute, nested, around } in &self.lists {
            if around.iter().all(|array| array.is_valid(row)) {
                let mut target = Target { event: &mut *event, attributes, limits };
                nested.read_elements(row, *attribute, name, &mut target)?;
            }
        }
        Ok(())
    }

    /// Reads maps, whose names come with the row, and the values of the whole event.
    pub(super) fn decode_named(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
        for map in &self.maps {
            let inside = inside_list(&map.around);
            each(&map.around, row, &mut |position| {
                if map.entries.is_null(position) {
                    return Ok(());
                }
                let (start, end) = item_range(&map.entries, position)
                    .map_err(|damage| damaged("map", &map.prefix, damage))?;
                let mut target = Target { event: &mut *event, attributes, limits };
                for entry in start..end {
                    nested_entry(&map.names, entry, &map.prefix, &map.values, inside, &mut target)?;
                }
                Ok(())
            })?;
        }
        if let Some(values) = attributes.asks_values() {
            event.begin_whole(values);
            self.columns.iter().try_for_each(|column| column.read_texts(row, event, limits))?;
            event.end_whole();
        }
        Ok(())
    }
}

impl Field {
    /// Whether a row has at most one position in the column.
    pub fn is_plain(&self) -> bool {
        !inside_list(&self.around)
    }

    /// Reads a row's value of the attribute.
    pub fn decode(&self, row: usize, event: &mut Event, limits: &Limits) -> Result<()> {
        let name = || self.name.clone();
        if inside_list(&self.around) {
            each(&self.around, row, &mut |position| {
                event.begin_element(self.attribute);
                read(&self.items, position, event, limits, true, &name)
            })?;
        } else if self.around.iter().all(|array| array.is_valid(row)) {
            event.begin(self.attribute);
            read(&self.items, row, event, limits, false, &name)?;
        }
        Ok(())
    }
}

fn find_column<'b>(batch: &'b RecordBatch, column: &str) -> Result<&'b ArrayRef> {
    batch.column_by_name(column).ok_or_else(|| {
        let names: Vec<&str> =
            batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        Error::event(format!("there is no column `{column}`, but {}", shorten(&names.join(", "))))
    })
}

/// A column and its type, for messages.
fn refusal(name: &str, array: &ArrayRef) -> String {
    format!("`{}` ({})", shorten(name), shorten(&array.data_type().to_string()))
}

/// Whether an array holds lists in lists.
fn lists(array: &ArrayRef) -> bool {
    list_values(array).is_some_and(|items| list_values(items).is_some())
}

/// The elements of a list, if they are structs or maps.
fn objects(array: &ArrayRef) -> Option<&ArrayRef> {
    list_values(array).filter(|items| matches!(items.data_type(), DataType::Struct(_) | DataType::Map(..)))
}

/// Whether a column is enclosed in a list.
fn inside_list(around: &[ArrayRef]) -> bool {
    around.iter().any(|array| !matches!(array.data_type(), DataType::Struct(_)))
}

/// Calls `found` with the positions of a row in a column, given what encloses it.
fn each(around: &[ArrayRef], row: usize, found: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
    let Some((outer, inner)) = around.split_first() else { return found(row) };
    if outer.is_null(row) {
        return Ok(());
    }
    if let DataType::Struct(_) = outer.data_type() {
        return each(inner, row, found);
    }
    let (start, end) = item_range(outer, row).map_err(|damage| Error::event(damage.reason()))?;
    (start..end).try_for_each(|element| each(inner, element, found))
}
