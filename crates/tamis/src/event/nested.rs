//! What do the values of a map say, where its keys are names and its values may be objects themselves?
//!
//! Columns with fixed names are resolved once per batch; what lies in a map is known by name only when
//! a row is read.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::arrow::{Items, damaged, dotted, item_range, list_values, read};
use super::{Attributes, Event};
use crate::error::{Error, Result};
use crate::limits::Limits;

/// What a value of a map can be.
#[derive(Debug)]
pub(super) enum Nested {
    Leaf(Items),
    Struct(ArrayRef, Vec<(String, Nested)>),
    Map(ArrayRef, Items, Box<Nested>),
    /// A list of structs or maps.
    Objects(ArrayRef, Box<Nested>),
}

/// What reading takes besides the place.
pub(super) struct Target<'e> {
    pub event: &'e mut Event,
    pub attributes: &'e Attributes,
    pub limits: &'e Limits,
}

impl Nested {
    pub fn new(name: &str, array: &ArrayRef) -> Result<Nested> {
        Ok(match array.data_type() {
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let members = columns
                    .map(|(field, column)| Ok((field.name().clone(), Nested::new(field.name(), column)?)));
                Nested::Struct(array.clone(), members.collect::<Result<_>>()?)
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let values = Nested::new(name, map.values())?;
                Nested::Map(array.clone(), Items::new(name, map.keys())?, Box::new(values))
            }
            _ => match list_values(array) {
                Some(elements) if matches!(elements.data_type(), DataType::Struct(_) | DataType::Map(..)) => {
                    Nested::Objects(array.clone(), Box::new(Nested::new(name, elements)?))
                }
                _ => Nested::Leaf(Items::new(name, array)?),
            },
        })
    }

    /// Reads what stands at a position under a name; `inside` an element of a list, perhaps. The depth is
    /// that of the schema.
    pub fn read(&self, position: usize, name: &str, inside: bool, target: &mut Target<'_>) -> Result<()> {
        let Some(mention) = target.attributes.mention(name) else { return Ok(()) };
        match self {
            Nested::Leaf(items) => {
                let Some(attribute) = mention.attribute else { return Ok(()) };
                if inside {
                    target.event.begin_element(attribute);
                } else {
                    target.event.begin(attribute);
                }
                return read(items, position, target.event, target.limits, inside, &|| name.to_owned());
            }
            Nested::Struct(array, _) | Nested::Map(array, ..) | Nested::Objects(array, _)
                if array.is_null(position) =>
            {
                if let Some(attribute) = mention.attribute.filter(|_| !inside) {
                    target.event.begin(attribute);
                    target.event.null();
                }
            }
            _ if !mention.prefix => {}
            Nested::Struct(_, members) => {
                for (member, nested) in members {
                    nested.read(position, &dotted(name, member), inside, target)?;
                }
            }
            Nested::Map(array, keys, values) => {
                let (start, end) =
                    item_range(array, position).map_err(|damage| damaged("map", name, damage))?;
                for entry in start..end {
                    nested_entry(keys, entry, name, values, inside, target)?;
                }
            }
            Nested::Objects(array, elements) => {
                let (start, end) =
                    item_range(array, position).map_err(|damage| damaged("list", name, damage))?;
                for element in start..end {
                    elements.read(element, name, true, target)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads one entry of a map that stands under `prefix`.
pub(super) fn nested_entry(
    keys: &Items,
    entry: usize,
    prefix: &str,
    values: &Nested,
    inside: bool,
    target: &mut Target<'_>,
) -> Result<()> {
    match keys.text(entry).map_err(|damage| damaged("key of the map", prefix, damage))? {
        Some(key) => values.read(entry, &dotted(prefix, key), inside, target),
        None => Err(Error::event("the keys of a map of attributes are strings")),
    }
}
