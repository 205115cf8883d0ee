//! Converting ids of subscriptions: Python strings and integers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::io::Write;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};
use tamis::index::{MatchScratch, Snapshot};

use crate::error;

/// The id in a Python object; `None` if its type is not that of an id.
pub fn try_read(object: &Bound<'_, PyAny>) -> Option<tamis::Id> {
    if let Ok(text) = object.cast::<PyString>() {
        text.to_str().ok().map(tamis::Id::from)
    } else if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
        object.extract::<i64>().ok().map(tamis::Id::from)
    } else if object.get_type().module().is_ok_and(|module| module == "numpy") {
        // NumPy's integers are not Python integers, but convert to one.
        let number = object.call_method0("__index__").ok()?;
        number.extract::<i64>().ok().map(tamis::Id::from)
    } else {
        None
    }
}

/// The id in a Python object.
pub fn read(object: &Bound<'_, PyAny>) -> PyResult<tamis::Id> {
    try_read(object).ok_or_else(|| {
        let shown = error::shown(object);
        error::subscription(
            object.py(),
            &format!("an id must be a string of Unicode text or a 64-bit integer, not {shown}"),
        )
    })
}

/// The Python object for an id.
pub fn write<'py>(py: Python<'py>, id: tamis::IdRef<'_>) -> PyResult<Bound<'py, PyAny>> {
    match id {
        tamis::IdRef::Integer(number) => number.into_bound_py_any(py),
        tamis::IdRef::String(text) => text.into_bound_py_any(py),
    }
}

/// The Python objects of the string ids of documents' filters, each created once, because many
/// documents match the same ids.
#[derive(Default)]
pub struct Texts<'py>(HashMap<u64, Bound<'py, PyAny>, BuildHasherDefault<Numbers>>);

impl<'py> Texts<'py> {
    /// The object of the id with this number, which must be unique.
    #[inline]
    pub fn get<'a>(
        &mut self,
        py: Python<'py>,
        number: u64,
        id: impl FnOnce() -> PyResult<tamis::IdRef<'a>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.0.entry(number) {
            Entry::Occupied(made) => Ok(made.get().clone()),
            Entry::Vacant(vacant) => {
                let made = write(py, id()?)?;
                Ok(vacant.insert(made).clone())
            }
        }
    }
}

/// The number of slots whose objects are kept in one page of [`Objects`].
const PAGE: usize = 16;

/// The objects of some consecutive slots.
type Page<'py> = Box<[Option<Bound<'py, PyAny>>; PAGE]>;

/// The Python objects of the ids of a batch, each created once, because many events of a batch match
/// the same ids.
///
/// With 100,000 integer ids and 254 matches per event, the lists of 2,000 events take 7 instead of 20
/// MB, which the garbage collector visits and which has to be freed.
#[derive(Default)]
pub struct Objects<'py> {
    /// By segment and page. A page is created when an id in it matches, so a short batch with a large
    /// index costs little.
    segments: Vec<Vec<Option<Page<'py>>>>,
    /// Reused memory: the ids of one event.
    ids: Vec<Bound<'py, PyAny>>,
    integers: Vec<i64>,
    /// The number of lists written.
    lists: usize,
}

impl<'py> Objects<'py> {
    /// Integers are as fast to create as to keep if they match only once. They are kept from this event
    /// of a batch on.
    const KEPT_FROM: usize = 256;

    /// The list of the ids that an event matches; `event` is its position among those matched together.
    pub fn list(
        &mut self,
        py: Python<'py>,
        snapshot: &Snapshot,
        event: usize,
        matches: &MatchScratch,
    ) -> PyResult<Bound<'py, PyList>> {
        let raise = |error| error::raise(py, &error);
        self.lists += 1;
        if self.lists <= Self::KEPT_FROM && !snapshot.has_text_ids() {
            self.integers.clear();
            snapshot.many_integers(event, matches, &mut self.integers).map_err(raise)?;
            return PyList::new(py, self.integers.iter());
        }
        self.ids.clear();
        for (segment, slots) in snapshot.many_slots(event, matches) {
            if slots.is_empty() {
                continue;
            }
            if self.segments.len() <= segment {
                self.segments.resize_with(segment + 1, Vec::new);
            }
            let pages = &mut self.segments[segment];
            for &slot in slots {
                let (page, position) = (slot as usize / PAGE, slot as usize % PAGE);
                if let Some(Some(page)) = pages.get(page)
                    && let Some(made) = &page[position]
                {
                    self.ids.push(made.clone());
                    continue;
                }
                let made = write(py, snapshot.id_in(segment, slot).map_err(raise)?)?;
                if pages.len() <= page {
                    pages.resize_with(page + 1, || None);
                }
                pages[page].get_or_insert_default()[position] = Some(made.clone());
                self.ids.push(made);
            }
        }
        PyList::new(py, self.ids.drain(..))
    }
}

/// A hasher for memory addresses and positions in a segment, which no attacker can choose.
#[derive(Default)]
pub struct Numbers(u64);

impl Hasher for Numbers {
    fn write_u64(&mut self, number: u64) {
        // Multiply by the golden ratio. The upper bits then depend on all bits of the number, and
        // the table uses both ends of a hash.
        let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0 << 8 | u64::from(byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The list of the Python objects for ids.
pub fn write_all<'py, 'a>(
    py: Python<'py>,
    ids: impl IntoIterator<Item = tamis::IdRef<'a>>,
) -> PyResult<Bound<'py, PyList>> {
    let ids = ids.into_iter().map(|id| write(py, id));
    PyList::new(py, ids.collect::<PyResult<Vec<_>>>()?)
}

/// Writes ids as a JSON array.
pub fn write_json<'a>(ids: impl ExactSizeIterator<Item = tamis::IdRef<'a>>) -> Vec<u8> {
    /// The typical size of an id.
    const USUAL: usize = 8;
    let mut json = Vec::with_capacity(USUAL * (ids.len() + 1));
    json.push(b'[');
    for (position, id) in ids.enumerate() {
        if position > 0 {
            json.push(b',');
        }
        match id {
            tamis::IdRef::Integer(number) => write_json_integer(number, &mut json),
            tamis::IdRef::String(text) => write_json_text(text, &mut json),
        }
    }
    json.push(b']');
    json
}

/// Appends an integer.
fn write_json_integer(number: i64, json: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let (mut first, mut rest) = (digits.len(), number.unsigned_abs());
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        first -= 1;
        digits[first] = b'-';
    }
    json.extend_from_slice(&digits[first..]);
}

/// Appends a string as JSON, with quotes, backslashes and control characters escaped.
fn write_json_text(text: &str, json: &mut Vec<u8>) {
    json.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(plain) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        json.extend_from_slice(&rest[..plain]);
        // Writing to memory cannot fail.
        drop(match rest[plain] {
            byte @ (b'"' | b'\\') => write!(json, "\\{}", char::from(byte)),
            byte => write!(json, "\\u{byte:04x}"),
        });
        rest = &rest[plain + 1..];
    }
    json.extend_from_slice(rest);
    json.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_as_json() {
        let ids = [tamis::IdRef::Integer(-7), tamis::IdRef::String("a\"b\\\n\u{1f}é\u{7f}")];
        let json = String::from_utf8(write_json(ids.into_iter())).unwrap();
        assert_eq!(json, "[-7,\"a\\\"b\\\\\\u000a\\u001fé\u{7f}\"]");
        assert_eq!(write_json([].into_iter()), b"[]");
        let ends = [0, 9, 10, i64::MAX, i64::MIN].map(tamis::IdRef::Integer);
        let json = String::from_utf8(write_json(ends.into_iter())).unwrap();
        assert_eq!(json, "[0,9,10,9223372036854775807,-9223372036854775808]");
    }
}
