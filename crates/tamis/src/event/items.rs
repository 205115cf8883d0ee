//! What values do the items of an Arrow array have?
//!
//! Nothing here trusts the content of buffers: reads go through [`checked`].

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, GenericListViewArray, LargeStringArray,
    OffsetSizeTrait, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_buffer::bit_iterator::BitIndexIterator;
use arrow_schema::DataType;

use super::Event;
use super::checked::{self, Checked, Damage};
use super::typed::{NO_RUN, Typed, runs};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::Limits;
use crate::value::ValueRef;

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
    /// The positions of each row's items.
    List(ArrayRef, Box<Items>),
    /// Which item each row has.
    Runs(Vec<usize>, Box<Items>),
    Typed(Typed),
    /// Objects, which are not values themselves.
    Objects,
}

/// Which items of an array may be something other than a null.
enum ArrowValidity<'a> {
    Nothing,
    Everything,
    Bits(&'a NullBuffer),
}

/// One item of an array.
pub(crate) enum Item<'a> {
    Null,
    Value(ValueRef<'a>),
    /// The items at these positions of the list's own items.
    Range(&'a Items, usize, usize),
    /// The item cannot be read.
    Damaged(Damage),
    /// The item is not a value, for this reason.
    Refused(&'static str),
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

    /// The beginning of the item at a position, for messages about text that cannot be read.
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

    /// Calls `found` with those of some positions that may not be null, in order.
    pub fn each_valid(&self, positions: Range<usize>, mut found: impl FnMut(usize)) {
        match self.validity() {
            ArrowValidity::Nothing => {}
            ArrowValidity::Everything => positions.for_each(found),
            ArrowValidity::Bits(nulls) => {
                let (start, length) = (nulls.offset() + positions.start, positions.len());
                // The bits of many positions are examined together, word by word.
                BitIndexIterator::new(nulls.validity(), start, length)
                    .for_each(|position| found(positions.start + position));
            }
        }
    }

    /// Whether no item is a null.
    pub fn are_all_valid(&self) -> bool {
        match self.validity() {
            ArrowValidity::Nothing => false,
            ArrowValidity::Everything => true,
            ArrowValidity::Bits(nulls) => nulls.null_count() == 0,
        }
    }

    /// Calls `found` with the position and value of each integer at these positions, in order, but for nulls. Returns
    /// false, and calls nothing, where the items are not integers of up to 64 bits.
    pub fn each_integer(&self, positions: Range<usize>, found: impl FnMut(usize, i64)) -> bool {
        fn each<T: ArrowPrimitiveType>(
            array: &PrimitiveArray<T>,
            positions: Range<usize>,
            mut found: impl FnMut(usize, i64),
        ) -> bool
        where
            T::Native: Into<i64>,
        {
            match array.nulls() {
                None => {
                    let values = &array.values()[positions.clone()];
                    positions.zip(values).for_each(|(position, value)| found(position, (*value).into()));
                }
                Some(nulls) => {
                    let (start, length) = (nulls.offset() + positions.start, positions.len());
                    BitIndexIterator::new(nulls.validity(), start, length)
                        .map(|position| positions.start + position)
                        .for_each(|position| found(position, array.value(position).into()));
                }
            }
            true
        }
        match self {
            Items::Int8(array) => each(array, positions, found),
            Items::Int16(array) => each(array, positions, found),
            Items::Int32(array) => each(array, positions, found),
            Items::Int64(array) => each(array, positions, found),
            Items::UInt8(array) => each(array, positions, found),
            Items::UInt16(array) => each(array, positions, found),
            Items::UInt32(array) => each(array, positions, found),
            _ => false,
        }
    }

    fn validity(&self) -> ArrowValidity<'_> {
        let nulls = match self {
            Items::Null | Items::Objects => return ArrowValidity::Nothing,
            Items::Boolean(array) => array.nulls(),
            Items::Int8(array) => array.nulls(),
            Items::Int16(array) => array.nulls(),
            Items::Int32(array) => array.nulls(),
            Items::Int64(array) => array.nulls(),
            Items::UInt8(array) => array.nulls(),
            Items::UInt16(array) => array.nulls(),
            Items::UInt32(array) => array.nulls(),
            Items::UInt64(array) => array.nulls(),
            Items::Float32(array) => array.nulls(),
            Items::Float64(array) => array.nulls(),
            Items::Utf8(array) => array.nulls(),
            Items::LargeUtf8(array) => array.nulls(),
            Items::Utf8View(array) => array.nulls(),
            Items::Dictionary(keys, ..) => return keys.validity(),
            Items::List(array, _) => array.nulls(),
            Items::Typed(typed) => typed.nulls(),
            Items::Runs(..) => None,
        };
        nulls.map_or(ArrowValidity::Everything, ArrowValidity::Bits)
    }

    /// Whether the values come as binary floats.
    pub fn are_floats(&self) -> bool {
        match self {
            Items::Float32(_) | Items::Float64(_) | Items::Typed(Typed::Float16(_)) => true,
            Items::Dictionary(_, items, _) | Items::List(_, items) | Items::Runs(_, items) => {
                items.are_floats()
            }
            _ => false,
        }
    }

    /// The text at a position; `None` if the item is something else.
    pub fn text(&self, position: usize) -> Checked<Option<&str>> {
        match self.get(position) {
            Some(Item::Value(ValueRef::String(text))) => Ok(Some(text)),
            Some(Item::Damaged(damage)) => Err(damage),
            _ => Ok(None),
        }
    }

    /// The item at a position; `None` for NaN.
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

/// The positions of the items of a row of a list or map.
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
            // A 32-bit offset would not be enough.
            let length = array.as_fixed_size_list().value_length() as usize;
            Ok((row * length, (row + 1) * length))
        }
    }
}

/// An error about a row's list or map under a name.
pub(super) fn damaged(what: &str, name: &str, damage: Damage) -> Error {
    Error::event(format!("the {what} `{}`: {}", shorten(name), damage.reason()))
}

/// Adds the item at a position to the attribute begun last, or to its values from many elements.
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
        Some(Item::Value(value)) if items.are_floats() => event.push_float(value, limits)?,
        Some(Item::Value(value)) => event.push(value, limits)?,
        Some(Item::Refused(reason)) => return Err(wrong(reason)),
        Some(Item::Range(items, start, end)) => {
            event.list();
            let are_floats = items.are_floats();
            for position in start..end {
                match items.get(position) {
                    None | Some(Item::Null) => event.other_element(),
                    Some(Item::Damaged(damage)) => return Err(wrong(damage.reason())),
                    Some(Item::Value(value)) if are_floats => event.push_float(value, limits)?,
                    Some(Item::Value(value)) => event.push(value, limits)?,
                    Some(Item::Refused(reason)) => return Err(wrong(reason)),
                    Some(Item::Range(..)) => return Err(wrong("a list inside a list")),
                }
            }
        }
    }
    Ok(())
}
