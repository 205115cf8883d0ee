//! What values do objects and lists have if their names are known only when a row is read?
//!
//! Columns with fixed names are resolved once per batch. The keys of a map are names that come with a row, and the
//! elements of a list are events of an index of their own, with names of their own. These are looked up value by
//! value, like those of JSON.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::items::{Item, Items, damaged, item_range, list_values, read};
use super::{AttributeId, Attributes, Event};
use crate::error::{Error, Result};
use crate::expression::shorten;
use crate::limits::Limits;

/// An array by its structure. It is as deep as the schema.
#[derive(Debug)]
pub(super) enum Nested {
    Leaf(Items),
    Struct(ArrayRef, Vec<(String, Nested)>),
    Map(ArrayRef, Items, Box<Nested>),
    /// A list whose elements are not leaves.
    List(ArrayRef, Box<Nested>),
    /// An array of an unsupported type, with its name.
    Refused(String),
}

/// What reading needs besides the position.
pub(super) struct Target<'e> {
    pub event: &'e mut Event,
    pub attributes: &'e Attributes,
    pub limits: &'e Limits,
}

impl Nested {
    pub fn new(name: &str, array: &ArrayRef) -> Nested {
        let refused = || Nested::Refused(shorten(&array.data_type().to_string()));
        match array.data_type() {
            DataType::Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let members =
                    columns.map(|(field, column)| (field.name().clone(), Nested::new(field.name(), column)));
                Nested::Struct(array.clone(), members.collect())
            }
            DataType::Map(..) => {
                let map = array.as_map();
                match Items::new(name, map.keys()) {
                    Ok(keys) => Nested::Map(array.clone(), keys, Box::new(Nested::new(name, map.values()))),
                    Err(_) => refused(),
                }
            }
            _ => match list_values(array).map(|items| Nested::new(name, items)) {
                None => Items::new(name, array).map_or_else(|_| refused(), Nested::Leaf),
                Some(Nested::Leaf(items)) => Nested::Leaf(Items::List(array.clone(), Box::new(items))),
                Some(Nested::Refused(_)) => refused(),
                Some(elements) => Nested::List(array.clone(), Box::new(elements)),
            },
        }
    }

    /// Adds what expressions ask about under a name, or below it, but has an unsupported type.
    pub fn refusals(&self, name: &str, attributes: &Attributes, refused: &mut Vec<String>) {
        let Some(mention) = attributes.mention(name) else { return };
        match self {
            Nested::Refused(arrow_type) if mention.attribute.is_some() => {
                refused.push(format!("`{}` ({arrow_type})", shorten(name)));
            }
            Nested::Struct(_, members) if mention.prefix => {
                for (member, nested) in members {
                    nested.refusals(&dotted(name, member), attributes, refused);
                }
            }
            Nested::List(_, elements) if mention.prefix => elements.refusals(name, attributes, refused),
            _ => {}
        }
        if let Some(list) = mention.attribute {
            self.refused_elements(list, name, attributes, refused);
        }
    }

    /// Adds what expressions ask about elements of this list but has an unsupported type.
    pub fn refused_elements(
        &self,
        list: AttributeId,
        name: &str,
        attributes: &Attributes,
        refused: &mut Vec<String>,
    ) {
        let Some(snapshot) = attributes.elements_of(list) else { return };
        let element = if let Nested::List(_, elements) = self { elements } else { self };
        if let Nested::Struct(_, members) = element {
            let mut found = Vec::new();
            for (member, nested) in members {
                nested.refusals(member, snapshot.attributes(), &mut found);
            }
            refused.extend(found.into_iter().map(|found| format!("{found} in `{}`", shorten(name))));
        }
    }

    fn is_null(&self, position: usize) -> bool {
        match self {
            Nested::Leaf(items) => matches!(items.get(position), None | Some(Item::Null)),
            Nested::Struct(array, _) | Nested::Map(array, ..) | Nested::List(array, _) => {
                array.is_null(position)
            }
            Nested::Refused(_) => false,
        }
    }

    /// Reads the item at a position under a name; `inside` says whether it is in an element of a list.
    pub fn read(&self, position: usize, name: &str, inside: bool, target: &mut Target<'_>) -> Result<()> {
        let Some(mention) = target.attributes.mention(name) else { return Ok(()) };
        if let Some(list) = mention.attribute.filter(|list| !inside && target.attributes.asks_elements(*list))
        {
            self.read_elements(position, list, name, target)?;
        }
        let asks_shape = |attribute: &AttributeId| target.attributes.asks_shape(*attribute);
        match (self, mention.attribute) {
            (Nested::Leaf(items), Some(attribute)) => {
                target.event.begin_part(attribute, inside);
                return read(items, position, target.event, target.limits, inside, &|| name.to_owned());
            }
            (Nested::Refused(arrow_type), Some(_)) => return Err(without_meaning(name, arrow_type)),
            (Nested::Leaf(_) | Nested::Refused(_), None) => return Ok(()),
            (_, attribute) if self.is_null(position) => {
                if let Some(attribute) = attribute.filter(|_| !inside) {
                    target.event.begin(attribute);
                    target.event.null();
                }
                return Ok(());
            }
            (Nested::List(array, elements), attribute) => {
                let in_list = matches!(**elements, Nested::List(..));
                if in_list && !attribute.is_some_and(|list| target.attributes.asks_elements(list)) {
                    let message = format!("the attribute `{}`: a list inside a list", shorten(name));
                    return Err(Error::event(message));
                }
                if let Some(attribute) = attribute {
                    target.event.begin_part(attribute, inside);
                    target.objects(array, position, name)?;
                }
                if in_list {
                    return Ok(());
                }
            }
            (Nested::Struct(..) | Nested::Map(..), Some(attribute)) if !inside && asks_shape(&attribute) => {
                target.event.begin(attribute);
                target.event.object();
            }
            _ => {}
        }
        if mention.prefix { self.read_below(position, name, inside, target) } else { Ok(()) }
    }

    /// Reads what is below a name.
    fn read_below(&self, position: usize, name: &str, inside: bool, target: &mut Target<'_>) -> Result<()> {
        match self {
            Nested::Leaf(_) | Nested::Refused(_) => Ok(()),
            Nested::Struct(_, members) => members.iter().try_for_each(|(member, nested)| {
                nested.read(position, &dotted(name, member), inside, target)
            }),
            Nested::Map(array, keys, values) => {
                let (start, end) =
                    item_range(array, position).map_err(|damage| damaged("map", name, damage))?;
                (start..end).try_for_each(|entry| nested_entry(keys, entry, name, values, inside, target))
            }
            Nested::List(array, elements) => {
                let (start, end) =
                    item_range(array, position).map_err(|damage| damaged("list", name, damage))?;
                (start..end)
                    .filter(|element| !elements.is_null(*element))
                    .try_for_each(|element| elements.read_below(element, name, true, target))
            }
        }
    }

    /// Reads the elements of the list at a position, each as an event of its own, if expressions ask about them;
    /// anything else is treated as a list of one.
    pub fn read_elements(
        &self,
        position: usize,
        list: AttributeId,
        name: &str,
        target: &mut Target<'_>,
    ) -> Result<()> {
        if self.is_null(position) || !target.attributes.begin_elements(list, target.event) {
            return Ok(());
        }
        let limits = target.limits;
        let mut element = |read: &dyn Fn(&mut Target<'_>) -> Result<()>| {
            target.event.element(limits, |event, attributes| {
                let mut target = Target { event, attributes, limits };
                read(&mut target)?;
                target.event.finish(attributes)
            })
        };
        match self {
            Nested::List(array, elements) => {
                let (start, end) =
                    item_range(array, position).map_err(|damage| damaged("list", name, damage))?;
                (start..end).try_for_each(|place| element(&|target| elements.read_element(place, target)))
            }
            Nested::Leaf(items) => match items.get(position) {
                Some(Item::Range(items, start, end)) => {
                    (start..end).try_for_each(|place| element(&|target| read_item(items, place, target)))
                }
                _ => element(&|target| read_item(items, position, target)),
            },
            _ => element(&|target| self.read_element(position, target)),
        }
    }

    /// Reads the item at a position as an element of a list.
    fn read_element(&self, position: usize, target: &mut Target<'_>) -> Result<()> {
        if let Nested::Leaf(items) = self {
            return read_item(items, position, target);
        }
        let is_null = self.is_null(position);
        if let Some(it) = target.attributes.it() {
            target.event.begin(it);
            match self {
                Nested::Refused(arrow_type) => return Err(without_meaning("it", arrow_type)),
                _ if is_null => target.event.null(),
                Nested::List(array, _) => {
                    target.objects(array, position, "it")?;
                    self.read_elements(position, it, "it", target)?;
                }
                _ => target.event.object(),
            }
        }
        match self {
            _ if is_null => {}
            Nested::Struct(_, members) => {
                members
                    .iter()
                    .try_for_each(|(member, nested)| nested.read(position, member, false, target))?;
            }
            Nested::Map(..) => self.read_below(position, "", false, target)?,
            _ => {}
        }
        target.whole(|event, limits| self.read_texts(position, event, limits))
    }
}

/// Reads an item that is neither an object nor a list of objects as an element of a list.
fn read_item(items: &Items, position: usize, target: &mut Target<'_>) -> Result<()> {
    if let Some(it) = target.attributes.it() {
        target.event.begin(it);
        read(items, position, target.event, target.limits, false, &|| "it".to_owned())?;
        if target.attributes.asks_elements(it) {
            elements_of_item(items, position, it, target)?;
        }
    }
    target.whole(|event, limits| items.read_texts(position, event, limits))
}

/// Reads the elements of an item that is a list; any other item is treated as a list of one.
fn elements_of_item(items: &Items, position: usize, it: AttributeId, target: &mut Target<'_>) -> Result<()> {
    let (items, start, end) = match items.get(position) {
        None | Some(Item::Null) => return Ok(()),
        Some(Item::Range(items, start, end)) => (items, start, end),
        Some(_) => (items, position, position + 1),
    };
    if !target.attributes.begin_elements(it, target.event) {
        return Ok(());
    }
    let limits = target.limits;
    (start..end).try_for_each(|place| {
        target.event.element(limits, |event, attributes| {
            read_item(items, place, &mut Target { event, attributes, limits })?;
            event.finish(attributes)
        })
    })
}

impl Target<'_> {
    /// Makes the attribute begun last a list whose elements are not values.
    fn objects(&mut self, array: &ArrayRef, position: usize, name: &str) -> Result<()> {
        let (start, end) = item_range(array, position).map_err(|damage| damaged("list", name, damage))?;
        self.event.list();
        (start..end).for_each(|_| self.event.other_element());
        Ok(())
    }

    /// Reads the values of the whole event or element, if an expression asks for them.
    fn whole(&mut self, read: impl FnOnce(&mut Event, &Limits) -> Result<()>) -> Result<()> {
        let Some(values) = self.attributes.asks_values() else { return Ok(()) };
        self.event.begin_whole(values);
        read(self.event, self.limits)?;
        self.event.end_whole();
        Ok(())
    }
}

/// Reads one entry of a map named `prefix`.
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

/// A name below another; every name is below the empty one.
pub(super) fn dotted(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") }
}

fn without_meaning(name: &str, arrow_type: &str) -> Error {
    Error::event(format!(
        "the attribute `{}` has the Arrow type {arrow_type}, which has no meaning here; cast it to a string, a number, \
         a boolean, a time or an interval",
        shorten(name)
    ))
}

impl Nested {
    /// Adds the texts of all values that stand at a position.
    pub fn read_texts(&self, position: usize, event: &mut Event, limits: &Limits) -> Result<()> {
        let (array, items) = match self {
            Nested::Refused(_) => return Ok(()),
            Nested::Leaf(items) => return items.read_texts(position, event, limits),
            Nested::Struct(array, _) if array.is_null(position) => return Ok(()),
            Nested::Struct(_, members) => {
                return members.iter().try_for_each(|(_, member)| member.read_texts(position, event, limits));
            }
            // The keys of a map do not count, only its values.
            Nested::Map(array, _, items) | Nested::List(array, items) => (array, items),
        };
        if array.is_null(position) {
            return Ok(());
        }
        let (start, end) =
            item_range(array, position).map_err(|damage| damaged("list of", "values()", damage))?;
        (start..end).try_for_each(|position| items.read_texts(position, event, limits))
    }
}

impl Items {
    /// Adds the texts of all values that stand at a position.
    pub fn read_texts(&self, position: usize, event: &mut Event, limits: &Limits) -> Result<()> {
        match self.get(position) {
            Some(Item::Value(value)) => event.push_text(value, limits),
            Some(Item::Range(items, start, end)) => {
                (start..end).try_for_each(|position| items.read_texts(position, event, limits))
            }
            Some(Item::Damaged(damage)) => Err(damaged("column of", "values()", damage)),
            _ => Ok(()),
        }
    }
}
