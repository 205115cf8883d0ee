//! Ids of subscriptions: Python strings and integers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt, PyList, PyString};

use crate::error;

/// The id that a Python object stands for; `None` where its type is none of an id.
pub fn try_read(object: &Bound<'_, PyAny>) -> Option<tamis::Id> {
    if let Ok(text) = object.cast::<PyString>() {
        text.to_str().ok().map(tamis::Id::from)
    } else if object.is_instance_of::<PyInt>() && !object.is_instance_of::<PyBool>() {
        object.extract::<i64>().ok().map(tamis::Id::from)
    } else if object.get_type().module().is_ok_and(|module| module == "numpy") {
        // NumPy's integers are none of Python's, but say which one they are.
        let number = object.call_method0("__index__").ok()?;
        number.extract::<i64>().ok().map(tamis::Id::from)
    } else {
        None
    }
}

/// The id that a Python object stands for.
pub fn read(object: &Bound<'_, PyAny>) -> PyResult<tamis::Id> {
    try_read(object).ok_or_else(|| {
        let shown = error::shown(object);
        error::subscription(
            object.py(),
            &format!("an id is a string of Unicode text or a 64-bit integer, not {shown}"),
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

/// The Python objects of ids that are strings, each made once: a batch gives many events the same ids. Integers are
/// made as fast as they are found.
#[derive(Default)]
pub struct Texts<'py>(HashMap<u64, Bound<'py, PyAny>, BuildHasherDefault<Numbers>>);

impl<'py> Texts<'py> {
    /// The object of the id that has this number, and no other.
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

/// Hashes numbers of places in memory or in a segment, which nobody chooses.
#[derive(Default)]
pub struct Numbers(u64);

impl Hasher for Numbers {
    fn write_u64(&mut self, number: u64) {
        // The golden ratio; its upper bits depend on all of the number's, and both ends of a hash are used.
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
