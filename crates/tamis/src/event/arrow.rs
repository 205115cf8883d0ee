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
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, LargeStringArray, PrimitiveArray, RecordBatch,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;

use super::attributes::Reserved;
use super::checked::{self, Checked, Damage};
use super::{AttributeId, Attributes, Event};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::Limits;
use crate::value::ValueRef;
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
}

#[derive(Debug)]
struct Field {
    name: String,
    attribute: AttributeId,
    items: Items,
    /// The structs around the column, where one may be null.
    around: Vec<ArrayRef>,
}

#[derive(Debug)]
struct Map {
    prefix: String,
    names: Items,
    items: Items,
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
}

/// One item of an array.
pub(crate) enum Item<'a> {
    Null,
    Value(ValueRef<'a>),
    /// The items at these positions of the list's own items.
    Range(&'a Items, usize, usize),
    /// What stands there cannot be read.
    Damaged(Damage),
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
        };
        let _pin = attributes.pin();
        let Some(column) = column else {
            for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
                events.add(field.name().clone(), array, &[], attributes)?;
            }
            return Ok(events);
        };
        let array = find_column(batch, column)?;
        events.json = Texts::new(column, array)?;
        match array.data_type() {
            _ if events.json.is_some() => {}
            DataType::Struct(_) | DataType::Map(..) => {
                events.whole = Some(array.clone());
                events.add(String::new(), array, &[], attributes)?;
            }
            other => {
                return Err(Error::event(format!(
                    "the column `{column}` holds {other}; events are a struct, a map, or JSON as text or bytes"
                )));
            }
        }
        Ok(events)
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
    fn add(
        &mut self,
        name: String,
        array: &ArrayRef,
        around: &[ArrayRef],
        attributes: &Attributes,
    ) -> Result<()> {
        let mention = attributes.mention(&name);
        let below = name.is_empty() || mention.is_some_and(|mention| mention.prefix);
        let attribute = mention.and_then(|mention| mention.attribute);
        self.reserved.extend(attribute.and_then(|_| attributes.reserve(&name)));
        if let (Some(attribute), DataType::Struct(_) | DataType::Map(..)) = (attribute, array.data_type()) {
            self.nulls.push((attribute, array.clone(), around.to_vec()));
        }
        match array.data_type() {
            DataType::Struct(fields) if below => {
                let mut around = around.to_vec();
                around.push(array.clone());
                for (field, column) in fields.iter().zip(array.as_struct().columns()) {
                    self.add(dotted(&name, field.name()), column, &around, attributes)?;
                }
            }
            DataType::Struct(_) => {}
            DataType::Map(..) if below => {
                let map = array.as_map();
                self.maps.push(Map {
                    names: Items::new(&name, map.keys())?,
                    items: Items::new(&name, map.values())?,
                    prefix: name,
                    entries: array.clone(),
                    around: around.to_vec(),
                });
            }
            DataType::Map(..) => {}
            _ => {
                if let Some(attribute) = attribute {
                    let items = Items::new(&name, array)?;
                    self.fields.push(Field { name, attribute, items, around: around.to_vec() });
                }
            }
        }
        Ok(())
    }

    /// Reads the event of a row, replacing what the event held.
    pub fn decode(
        &self,
        row: usize,
        event: &mut Event,
        attributes: &Attributes,
        limits: &Limits,
    ) -> Result<()> {
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
            if array.is_null(row) && around.iter().all(|array| array.is_valid(row)) {
                event.begin(*attribute);
                event.null();
            }
        }
        for field in &self.fields {
            if field.around.iter().all(|array| array.is_valid(row)) {
                event.begin(field.attribute);
                read(&field.items, row, event, limits, &|| field.name.clone())?;
            }
        }
        for map in &self.maps {
            if map.entries.is_null(row) || map.around.iter().any(|array| array.is_null(row)) {
                continue;
            }
            let entries = map.entries.as_map();
            let wrong = |what: &str, damage: Damage| {
                Error::event(format!("the {what} `{}`: {}", shorten(&map.prefix), damage.reason()))
            };
            let (start, end) = checked::range(entries.value_offsets(), row, entries.entries().len())
                .map_err(|damage| wrong("map", damage))?;
            for entry in start..end {
                let key = match map.names.get(entry) {
                    Some(Item::Value(ValueRef::String(key))) => key,
                    Some(Item::Damaged(damage)) => return Err(wrong("key of the map", damage)),
                    _ => return Err(Error::event("the keys of a map of attributes are strings")),
                };
                let name = || dotted(&map.prefix, key);
                let mention = attributes.mention(&name());
                if let Some(attribute) = mention.and_then(|mention| mention.attribute) {
                    event.begin(attribute);
                    read(&map.items, entry, event, limits, &name)?;
                }
            }
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

fn dotted(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

/// Adds what stands at a position to the attribute begun last.
fn read(
    items: &Items,
    position: usize,
    event: &mut Event,
    limits: &Limits,
    name: &dyn Fn() -> String,
) -> Result<()> {
    let wrong = |reason: &str| Error::event(format!("the attribute `{}`: {reason}", shorten(&name())));
    match items.get(position) {
        None => {
            return Err(wrong("the value is NaN, infinite, or an integer beyond 64 bits, which is no value"));
        }
        Some(Item::Null) => event.null(),
        Some(Item::Damaged(damage)) => return Err(wrong(damage.reason())),
        Some(Item::Value(value)) => event.push(value, limits)?,
        Some(Item::Range(items, start, end)) => {
            event.list();
            for position in start..end {
                match items.get(position) {
                    None => {
                        return Err(wrong(
                            "a value of the list is NaN, infinite, or an integer beyond 64 bits",
                        ));
                    }
                    Some(Item::Null) => event.other_element(),
                    Some(Item::Damaged(damage)) => return Err(wrong(damage.reason())),
                    Some(Item::Value(value)) => event.push(value, limits)?,
                    Some(Item::Range(..)) => return Err(wrong("a list inside a list")),
                }
            }
        }
    }
    Ok(())
}

impl Items {
    pub fn new(name: &str, array: &ArrayRef) -> Result<Items> {
        let list = |items: &ArrayRef| Ok(Items::List(Arc::clone(array), Box::new(Items::new(name, items)?)));
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
            DataType::List(_) => return list(array.as_list::<i32>().values()),
            DataType::LargeList(_) => return list(array.as_list::<i64>().values()),
            DataType::FixedSizeList(..) => return list(array.as_fixed_size_list().values()),
            other => {
                return Err(Error::event(format!(
                    "the attribute `{}` has the Arrow type {other}; cast it to a string, a number or a boolean",
                    shorten(name)
                )));
            }
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

    /// What stands at a position; `None` for a number that no value holds.
    pub fn get(&self, position: usize) -> Option<Item<'_>> {
        fn integer<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, position: usize) -> Option<Item<'_>>
        where
            T::Native: TryInto<i64>,
        {
            if array.is_null(position) {
                return Some(Item::Null);
            }
            array.value(position).try_into().ok().map(|number| Item::Value(ValueRef::Integer(number)))
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
            Items::Null => Some(Item::Null),
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
            Items::List(array, _) if array.is_null(position) => Some(Item::Null),
            Items::List(array, items) => {
                let range = match array.data_type() {
                    DataType::List(_) => {
                        let list = array.as_list::<i32>();
                        checked::range(list.value_offsets(), position, list.values().len())
                    }
                    DataType::LargeList(_) => {
                        let list = array.as_list::<i64>();
                        checked::range(list.value_offsets(), position, list.values().len())
                    }
                    _ => {
                        // An offset of 32 bits would not do.
                        let length = array.as_fixed_size_list().value_length() as usize;
                        Ok((position * length, (position + 1) * length))
                    }
                };
                Some(range.map_or_else(Item::Damaged, |(start, end)| Item::Range(items, start, end)))
            }
        }
    }
}
