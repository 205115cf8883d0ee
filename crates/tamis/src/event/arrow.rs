//! How are events read from Arrow?
//!
//! A record batch is many events. Every column is an attribute, or one column holds the events: as
//! a struct, as a map, or as JSON. Structs flatten to dotted names as JSON objects do, and columns
//! that nobody mentions are not looked at. A null is a null; a null inside a list is ignored.
//!
//! Nothing here relies on what buffers hold: reads go through [`checked`].

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, GenericListViewArray, LargeStringArray,
    OffsetSizeTrait, PrimitiveArray, RecordBatch, StringArray, StringViewArray,
};
use arrow_schema::DataType;

use super::attributes::Reserved;
use super::checked::{self, Checked, Damage};
use super::nested::{Nested, Target, nested_entry};
use super::typed::{NO_RUN, Typed, runs};
use super::whole::Whole;
use super::{AttributeId, Attributes, Event};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::Limits;
use crate::value::{Timestamp, ValueRef};
use crate::xml::Input;

/// The events of a record batch, by their rows.
#[derive(Debug)]
pub struct ArrowEvents {
    rows: usize,
    /// Columns that hold an attribute each.
    fields: Vec<Field>,
    maps: Vec<Map>,
    /// Structs and maps that are attributes themselves, which they are where they are null.
    nulls: Vec<(AttributeId, ArrayRef, Vec<ArrayRef>)>,
    /// The column whose texts are events.
    json: Option<Texts>,
    /// The column whose texts are the events' documents.
    documents: Option<Texts>,
    /// The struct or map whose rows are events.
    whole: Option<ArrayRef>,
    /// The numbers of the attributes above stay theirs.
    reserved: Vec<Reserved>,
    /// Columns of types without a meaning here.
    refused: Vec<String>,
    /// All columns that have a text, where the values of whole events are asked for.
    columns: Vec<Whole>,
    /// The moment that `now()` is, where it is not the clock's.
    now: Option<Timestamp>,
}

#[derive(Debug)]
struct Field {
    name: String,
    attribute: AttributeId,
    items: Items,
    /// The structs and lists around the column, from outside.
    around: Vec<ArrayRef>,
}

#[derive(Debug)]
struct Map {
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

impl Texts {
    /// The texts of an array; `None` where it holds something else.
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

    /// What stands in a row; `None` for a null.
    fn get(&self, row: usize) -> Checked<Option<Input<'_>>> {
        match self {
            Texts::Text(items) => match items.get(row) {
                Some(Item::Value(ValueRef::String(text))) => Ok(Some(Input::Text(text))),
                Some(Item::Damaged(damage)) => Err(damage),
                _ => Ok(None),
            },
            Texts::Bytes(array) if array.is_null(row) => Ok(None),
            Texts::Bytes(array) => match array.data_type() {
                DataType::Binary => checked::bytes(array.as_binary::<i32>(), row),
                DataType::LargeBinary => checked::bytes(array.as_binary::<i64>(), row),
                _ => checked::view(array.as_binary_view(), row),
            }
            .map(|bytes| Some(Input::Bytes(bytes))),
        }
    }
}

/// The values of an array, by the type they have.
#[derive(Debug)]
pub(crate) enum Items {
    Null,
    Boolean(BooleanArray),
    Int8(PrimitiveArray<Int8Type>),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    UInt8(PrimitiveArray<UInt8Type>),
    UInt16(PrimitiveArray<UInt16Type>),
    UInt32(PrimitiveArray<UInt32Type>),
    UInt64(PrimitiveArray<UInt64Type>),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    /// The position of each row's value among the distinct ones, the distinct ones, and their number.
    Dictionary(Box<Items>, Box<Items>, usize),
    /// Where each row's items lie.
    List(ArrayRef, Box<Items>),
    /// Which item each row has.
    Runs(Vec<usize>, Box<Items>),
    Typed(Typed),
    /// Objects, which are no values themselves.
    Objects,
}

/// One item of an array.
pub(crate) enum Item<'a> {
    Null,
    Value(ValueRef<'a>),
    /// The items at these positions of the list's own items.
    Range(&'a Items, usize, usize),
    /// What stands there cannot be read.
    Damaged(Damage),
    /// What stands there is no value, for this reason.
    Refused(&'static str),
}

impl ArrowEvents {
    /// Prepares to read the events of a batch; `column` names the one that holds them, if one does.
    pub fn new(batch: &RecordBatch, column: Option<&str>, attributes: &Attributes) -> Result<ArrowEvents> {
        let mut events = ArrowEvents {
            rows: batch.num_rows(),
            fields: Vec::new(),
            maps: Vec::new(),
            nulls: Vec::new(),
            json: None,
            documents: None,
            whole: None,
            reserved: Vec::new(),
            refused: Vec::new(),
            columns: Vec::new(),
            now: None,
        };
        let _pin = attributes.pin();
        let all = attributes.asks_values().is_some();
        let Some(column) = column else {
            for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                events.add(field.name().clone(), array, &[], attributes);
                events.columns.extend(all.then(|| Whole::new(field.name(), array)).flatten());
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
                events.columns.extend(all.then(|| Whole::new(column, array)).flatten());
            }
            other => {
                return Err(Error::event(format!(
                    "the column `{column}` holds {other}; events are a struct, a map, or JSON as text or bytes"
                )));
            }
        }
        events.complete()
    }

    /// Fails where columns are asked about whose types have no meaning.
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

    /// Has the events' documents read from a column of texts or bytes; a null is no document.
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

    /// Makes this the moment that `now()` is for all events.
    #[must_use]
    pub fn at(mut self, now: Timestamp) -> ArrowEvents {
        self.now = Some(now);
        self
    }

    /// The document of a row, if it has one.
    pub fn document(&self, row: usize) -> Result<Option<Input<'_>>> {
        let Some(documents) = &self.documents else { return Ok(None) };
        documents.get(row).map_err(|damage| Error::event(format!("the document: {}", damage.reason())))
    }

    /// How many events there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a column and what lies below it; `name` is empty for a column that holds whole events.
    fn add(&mut self, name: String, array: &ArrayRef, around: &[ArrayRef], attributes: &Attributes) {
        let mention = attributes.mention(&name);
        let below = name.is_empty() || mention.is_some_and(|mention| mention.prefix);
        let attribute = mention.and_then(|mention| mention.attribute);
        if attribute.is_some_and(|attribute| attributes.asks_elements(attribute)) {
            // Its elements are not decoded from Arrow yet, and unknown would be a wrong answer.
            self.refused
                .push(format!("`{}` (`any`, `all` and `none` need a column of JSON)", shorten(&name)));
            return;
        }
        self.reserved.extend(attribute.and_then(|_| attributes.reserve(&name)));
        if let (Some(attribute), DataType::Struct(_) | DataType::Map(..)) = (attribute, array.data_type()) {
            self.nulls.push((attribute, array.clone(), around.to_vec()));
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
                let map = array.as_map();
                match (Items::new(&name, map.keys()), Nested::new(&name, map.values())) {
                    (Ok(names), Ok(values)) => {
                        let (entries, around) = (array.clone(), around.to_vec());
                        self.maps.push(Map { names, values, prefix: name, entries, around });
                    }
                    _ => self.refused.push(refusal(&name, array)),
                }
            }
            DataType::Map(..) => {}
            _ if objects(array).is_some() => {
                // A list of objects: attributes below it have the values of all elements.
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

    /// Adds what lies below the elements of a list, which are structs or maps.
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
            let map = elements.as_map();
            match (Items::new(&name, map.keys()), Nested::new(&name, map.values())) {
                (Ok(names), Ok(values)) => {
                    let (entries, around) = (elements.clone(), around.to_vec());
                    self.maps.push(Map { names, values, prefix: name, entries, around });
                }
                _ => self.refused.push(refusal(&name, elements)),
            }
        }
    }

    /// Reads the event of a row, replacing what the event held.
    pub fn decode(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
        event.set_now(self.now);
        if let Some(json) = &self.json {
            return match json.get(row) {
                Ok(Some(Input::Text(text))) => event.decode_json(text.as_bytes(), attributes, limits),
                Ok(Some(Input::Bytes(bytes))) => event.decode_json(bytes, attributes, limits),
                Ok(None) => Err(Error::event("the event is null")),
                Err(damage) => Err(Error::event(format!("the event: {}", damage.reason()))),
            };
        }
        if self.whole.as_ref().is_some_and(|array| array.is_null(row)) {
            return Err(Error::event("the event is null"));
        }
        event.clear();
        let _pin = attributes.pin();
        for (attribute, array, around) in &self.nulls {
            if !inside_list(around) && array.is_null(row) && around.iter().all(|array| array.is_valid(row)) {
                event.begin(*attribute);
                event.null();
            }
        }
        for field in &self.fields {
            let name = || field.name.clone();
            if inside_list(&field.around) {
                each(&field.around, row, &mut |position| {
                    event.begin_element(field.attribute);
                    read(&field.items, position, event, limits, true, &name)
                })?;
            } else if field.around.iter().all(|array| array.is_valid(row)) {
                event.begin(field.attribute);
                read(&field.items, row, event, limits, false, &name)?;
            }
        }
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
            self.columns.iter().try_for_each(|column| column.read(row, event, limits))?;
            event.end_whole();
        }
        event.finish(attributes)
    }
}

fn find_column<'b>(batch: &'b RecordBatch, column: &str) -> Result<&'b ArrayRef> {
    batch.column_by_name(column).ok_or_else(|| {
        let names: Vec<&str> =
            batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect();
        Error::event(format!("there is no column `{column}`, but {}", shorten(&names.join(", "))))
    })
}

pub(super) fn dotted(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// A column and its type, for messages.
fn refusal(name: &str, array: &ArrayRef) -> String {
    format!("`{}` ({})", shorten(name), shorten(&array.data_type().to_string()))
}

/// The items of all rows of a list or map.
pub(super) fn list_values(array: &ArrayRef) -> Option<&ArrayRef> {
    Some(match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().values(),
        DataType::LargeList(_) => array.as_list::<i64>().values(),
        DataType::FixedSizeList(..) => array.as_fixed_size_list().values(),
        DataType::ListView(_) => array.as_list_view::<i32>().values(),
        DataType::LargeListView(_) => array.as_list_view::<i64>().values(),
        _ => return None,
    })
}

/// The elements of a list, where they are structs or maps.
fn objects(array: &ArrayRef) -> Option<&ArrayRef> {
    list_values(array).filter(|items| matches!(items.data_type(), DataType::Struct(_) | DataType::Map(..)))
}

/// Where the items of a row of a list or map lie.
pub(super) fn item_range(array: &ArrayRef, row: usize) -> Checked<(usize, usize)> {
    fn view<O: OffsetSizeTrait>(list: &GenericListViewArray<O>, row: usize) -> Checked<(usize, usize)> {
        let (start, size) = (list.value_offsets()[row].to_usize(), list.value_sizes()[row].to_usize());
        let (start, size) = start.zip(size).ok_or(Damage::Offsets)?;
        let end = start.checked_add(size).filter(|end| *end <= list.values().len());
        end.map(|end| (start, end)).ok_or(Damage::Offsets)
    }
    match array.data_type() {
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            checked::range(list.value_offsets(), row, list.values().len())
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            checked::range(list.value_offsets(), row, list.values().len())
        }
        DataType::ListView(_) => view(array.as_list_view::<i32>(), row),
        DataType::LargeListView(_) => view(array.as_list_view::<i64>(), row),
        DataType::Map(..) => {
            let map = array.as_map();
            checked::range(map.value_offsets(), row, map.entries().len())
        }
        _ => {
            // An offset of 32 bits would not do.
            let length = array.as_fixed_size_list().value_length() as usize;
            Ok((row * length, (row + 1) * length))
        }
    }
}

/// An error about the list or map that a row has under a name.
pub(super) fn damaged(what: &str, name: &str, damage: Damage) -> Error {
    Error::event(format!("the {what} `{}`: {}", shorten(name), damage.reason()))
}

/// Whether a list stands among what is around a column.
fn inside_list(around: &[ArrayRef]) -> bool {
    around.iter().any(|array| !matches!(array.data_type(), DataType::Struct(_)))
}

/// Calls `found` with the positions that a row has in a column, given what is around it.
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

/// Adds what stands at a position to the attribute begun last, or to its values from many elements.
pub(super) fn read(
    items: &Items,
    position: usize,
    event: &mut Event,
    limits: &Limits,
    inside: bool,
    name: &dyn Fn() -> String,
) -> Result<()> {
    let wrong = |reason: &str| Error::event(format!("the attribute `{}`: {reason}", shorten(&name())));
    match items.get(position) {
        None | Some(Item::Null) if inside => event.other_element(),
        None | Some(Item::Null) => event.null(),
        Some(Item::Damaged(damage)) => return Err(wrong(damage.reason())),
        Some(Item::Value(value)) => event.push(value, limits)?,
        Some(Item::Refused(reason)) => return Err(wrong(reason)),
        Some(Item::Range(items, start, end)) => {
            event.list();
            for position in start..end {
                match items.get(position) {
                    None | Some(Item::Null) => event.other_element(),
                    Some(Item::Damaged(damage)) => return Err(wrong(damage.reason())),
                    Some(Item::Value(value)) => event.push(value, limits)?,
                    Some(Item::Refused(reason)) => return Err(wrong(reason)),
                    Some(Item::Range(..)) => return Err(wrong("a list inside a list")),
                }
            }
        }
    }
    Ok(())
}

impl Items {
    pub fn new(name: &str, array: &ArrayRef) -> Result<Items> {
        if let Some(items) = list_values(array) {
            return Ok(Items::List(Arc::clone(array), Box::new(Items::new(name, items)?)));
        }
        if let Some((values, places)) = runs(array) {
            return Ok(Items::Runs(places, Box::new(Items::new(name, &values)?)));
        }
        Ok(match array.data_type() {
            DataType::Null => Items::Null,
            DataType::Boolean => Items::Boolean(array.as_boolean().clone()),
            DataType::Int8 => Items::Int8(array.as_primitive().clone()),
            DataType::Int16 => Items::Int16(array.as_primitive().clone()),
            DataType::Int32 => Items::Int32(array.as_primitive().clone()),
            DataType::Int64 => Items::Int64(array.as_primitive().clone()),
            DataType::UInt8 => Items::UInt8(array.as_primitive().clone()),
            DataType::UInt16 => Items::UInt16(array.as_primitive().clone()),
            DataType::UInt32 => Items::UInt32(array.as_primitive().clone()),
            DataType::UInt64 => Items::UInt64(array.as_primitive().clone()),
            DataType::Float32 => Items::Float32(array.as_primitive().clone()),
            DataType::Float64 => Items::Float64(array.as_primitive().clone()),
            DataType::Utf8 => Items::Utf8(array.as_string().clone()),
            DataType::LargeUtf8 => Items::LargeUtf8(array.as_string().clone()),
            DataType::Utf8View => Items::Utf8View(array.as_string_view().clone()),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let keys = Items::new(name, &arrow_array::make_array(dictionary.keys().to_data()))?;
                let values = Items::new(name, dictionary.values())?;
                Items::Dictionary(Box::new(keys), Box::new(values), dictionary.values().len())
            }
            other => match Typed::new(array) {
                Some(typed) => Items::Typed(typed),
                None => {
                    return Err(Error::event(format!(
                        "the attribute `{}` has the Arrow type {other}, which has no meaning here; cast it to a \
                         string, a number, a boolean, a time or an interval",
                        shorten(name)
                    )));
                }
            },
        })
    }

    /// The beginning of what stands at a position, for messages about text that cannot be read.
    pub fn show(&self, position: usize) -> String {
        const SHOWN: usize = 40;
        let bytes = match self {
            Items::Utf8(array) => checked::bytes(array, position),
            Items::LargeUtf8(array) => checked::bytes(array, position),
            Items::Utf8View(array) => checked::view(array, position),
            _ => return "?".to_owned(),
        };
        let bytes = bytes.unwrap_or(b"?");
        let more = if bytes.len() > SHOWN { "..." } else { "" };
        format!("{}{more}", bytes[..bytes.len().min(SHOWN)].escape_ascii())
    }

    /// The text at a position; `None` where something else stands there.
    pub fn text(&self, position: usize) -> Checked<Option<&str>> {
        match self.get(position) {
            Some(Item::Value(ValueRef::String(text))) => Ok(Some(text)),
            Some(Item::Damaged(damage)) => Err(damage),
            _ => Ok(None),
        }
    }

    /// What stands at a position; `None` for NaN.
    pub fn get(&self, position: usize) -> Option<Item<'_>> {
        fn integer<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, position: usize) -> Option<Item<'_>>
        where
            T::Native: Into<i128>,
        {
            if array.is_null(position) {
                return Some(Item::Null);
            }
            let number: i128 = array.value(position).into();
            match i64::try_from(number) {
                Ok(number) => Some(Item::Value(ValueRef::Integer(number))),
                Err(_) => ValueRef::decimal(number, 0).map(Item::Value),
            }
        }
        fn text<'a>(is_null: bool, bytes: impl FnOnce() -> Checked<&'a [u8]>) -> Item<'a> {
            if is_null {
                return Item::Null;
            }
            match bytes().and_then(checked::text) {
                Ok(text) => Item::Value(ValueRef::String(text)),
                Err(damage) => Item::Damaged(damage),
            }
        }
        fn number(is_null: bool, value: impl FnOnce() -> f64) -> Option<Item<'static>> {
            if is_null { Some(Item::Null) } else { ValueRef::number(value()).map(Item::Value) }
        }
        match self {
            Items::Null | Items::Objects => Some(Item::Null),
            Items::Boolean(array) if array.is_null(position) => Some(Item::Null),
            Items::Boolean(array) => Some(Item::Value(ValueRef::Boolean(array.value(position)))),
            Items::Int8(array) => integer(array, position),
            Items::Int16(array) => integer(array, position),
            Items::Int32(array) => integer(array, position),
            Items::Int64(array) => integer(array, position),
            Items::UInt8(array) => integer(array, position),
            Items::UInt16(array) => integer(array, position),
            Items::UInt32(array) => integer(array, position),
            Items::UInt64(array) => integer(array, position),
            Items::Float32(array) => number(array.is_null(position), || array.value(position).into()),
            Items::Float64(array) => number(array.is_null(position), || array.value(position)),
            Items::Utf8(array) => Some(text(array.is_null(position), || checked::bytes(array, position))),
            Items::LargeUtf8(array) => {
                Some(text(array.is_null(position), || checked::bytes(array, position)))
            }
            Items::Utf8View(array) => Some(text(array.is_null(position), || checked::view(array, position))),
            Items::Dictionary(keys, items, count) => match keys.get(position) {
                Some(Item::Null) => Some(Item::Null),
                Some(Item::Value(ValueRef::Integer(key))) if (0..*count as i64).contains(&key) => {
                    items.get(key as usize)
                }
                _ => Some(Item::Damaged(Damage::Key)),
            },
            Items::Runs(places, items) => match places[position] {
                NO_RUN => Some(Item::Damaged(Damage::Offsets)),
                place => items.get(place),
            },
            Items::Typed(typed) if typed.is_null(position) => Some(Item::Null),
            Items::Typed(typed) => match typed.get(position) {
                Ok(value) => value.map(Item::Value),
                Err(reason) => Some(Item::Refused(reason)),
            },
            Items::List(array, _) if array.is_null(position) => Some(Item::Null),
            Items::List(array, items) => Some(match item_range(array, position) {
                Ok((start, end)) => Item::Range(items, start, end),
                Err(damage) => Item::Damaged(damage),
            }),
        }
    }
}
