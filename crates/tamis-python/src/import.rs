//! How does Arrow data come in over the C data interface?
//!
//! As arrays that hold as many rows as they say, with buffers of the size that follows from it, and
//! nested no deeper than code can follow. What the buffers hold is not looked at here: the engine
//! checks it where it reads (`tamis::event::checked`). What the interface does not say, cannot be
//! checked by anybody: that pointers are valid, and that the bytes of strings reach to the last offset.
#![expect(unsafe_code, reason = "the C data interface is made of pointers")]

use std::ffi::CStr;
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchOptions, StructArray};
use arrow_data::{ArrayData, layout};
use arrow_schema::{DataType, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::error;

/// How deep types may be nested.
const DEPTH: usize = 256;

/// Rows beyond which a length is damage: their bits must be countable.
const ROWS: usize = 1 << 56;

/// The record batches of a Python object.
pub struct Batches {
    schema: SchemaRef,
    source: Source,
}

enum Source {
    /// One batch, until it is taken.
    One(Option<FFI_ArrowArray>),
    Stream(FFI_ArrowArrayStream),
}

/// Whether an object speaks the Arrow C interface.
pub fn is_arrow(object: &Bound<'_, PyAny>) -> bool {
    ["__arrow_c_stream__", "__arrow_c_array__"].iter().any(|name| object.hasattr(*name).unwrap_or(false))
}

impl Batches {
    /// Begins to read an object that speaks the interface.
    pub fn open(object: &Bound<'_, PyAny>) -> PyResult<Batches> {
        let py = object.py();
        let refuse = |message: String| error::event(py, &message);
        if object.hasattr("__arrow_c_array__")? {
            let capsules = object.call_method0("__arrow_c_array__")?;
            let (schema, array) = capsules.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
            let schema = schema.pointer_checked(Some(c"arrow_schema"))?.cast::<FFI_ArrowSchema>();
            // SAFETY: a capsule of this name holds such a struct, and lives as long as `schema`.
            let schema = read_schema(unsafe { schema.as_ref() }).map_err(refuse)?;
            let array = array.pointer_checked(Some(c"arrow_array"))?.cast::<FFI_ArrowArray>();
            // SAFETY: as above; what is taken out of the capsule is marked as released in it.
            let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
            return Ok(Batches { schema, source: Source::One(Some(array)) });
        }
        let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
        let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
        // SAFETY: as above.
        let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
        let mut schema = FFI_ArrowSchema::empty();
        let get_schema = stream.get_schema.filter(|_| stream.release.is_some());
        let get_schema = get_schema.ok_or_else(|| refuse("the Arrow stream was read before".to_owned()))?;
        // SAFETY: the stream is live, and the schema is one to be filled.
        let code = py.detach(|| Code(unsafe { get_schema(&raw mut stream, &raw mut schema) }));
        if code.0 != 0 {
            return Err(refuse(last_error(&mut stream, code)));
        }
        let schema = read_schema(&schema).map_err(refuse)?;
        Ok(Batches { schema, source: Source::Stream(stream) })
    }

    /// The columns of all batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch; `None` after the last.
    pub fn next(&mut self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        py.detach(|| {
            let array = match &mut self.source {
                Source::One(array) => match array.take() {
                    None => return Ok(None),
                    Some(array) => array,
                },
                Source::Stream(stream) => {
                    let mut array = FFI_ArrowArray::empty();
                    let get_next = stream.get_next.ok_or("the Arrow stream gives no batches")?;
                    // SAFETY: the stream is live, and the array is one to be filled.
                    let code = Code(unsafe { get_next(&raw mut *stream, &raw mut array) });
                    if code.0 != 0 {
                        return Err(last_error(stream, code));
                    }
                    if array.is_released() {
                        return Ok(None);
                    }
                    array
                }
            };
            read_batch(array, &self.schema).map(Some)
        })
        .map_err(|message| error::event(py, &message))
    }
}

/// What a function of a stream returned: 0, or an error number.
#[derive(Clone, Copy)]
struct Code(std::ffi::c_int);

/// What a stream says about its last error.
fn last_error(stream: &mut FFI_ArrowArrayStream, code: Code) -> String {
    let text = stream.get_last_error.map(|get_last_error| {
        // SAFETY: the stream is live, and its last call failed.
        let text = unsafe { get_last_error(&raw mut *stream) };
        // SAFETY: what is not null is a text that lives until the next call.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    });
    let text = text.flatten().unwrap_or_else(|| std::io::Error::from_raw_os_error(code.0).to_string());
    format!("the Arrow stream failed: {text}")
}

fn read_schema(schema: &FFI_ArrowSchema) -> Result<SchemaRef, String> {
    // The conversion follows the nesting on the stack; this does not.
    let mut waiting = vec![(schema, 1)];
    while let Some((schema, depth)) = waiting.pop() {
        if depth > DEPTH {
            return Err(format!("the Arrow types are nested {depth} deep or more; at most {DEPTH} are read"));
        }
        waiting.extend(schema.children().chain(schema.dictionary()).map(|child| (child, depth + 1)));
    }
    match DataType::try_from(schema) {
        // A column may hold nulls that its schema denies.
        Ok(DataType::Struct(fields)) => {
            let fields = fields.iter().map(|field| field.as_ref().clone().with_nullable(true));
            Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
        }
        Ok(other) => Err(format!(
            "Arrow data is a table, with a column per attribute or one that `column` names, or a column of \
             structs; this is one column of {other}"
        )),
        Err(failure) => Err(format!("the Arrow schema cannot be read: {failure}")),
    }
}

fn read_batch(array: FFI_ArrowArray, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let kind = DataType::Struct(schema.fields().clone());
    check_shape(&array, &kind)?;
    // SAFETY: the array has the children and buffers that its type asks for; that pointers are valid is
    // what the interface promises.
    let data = unsafe { from_ffi_and_data_type(array, kind) };
    let data = data.map_err(|failure| format!("the Arrow data cannot be read: {failure}"))?;
    check_sizes(&data)?;
    let rows = data.len();
    if data.null_count() > 0 {
        return Err(
            "the Arrow data has rows that are null as a whole; give them in a column of structs, and \
             its name as `column`"
                .to_owned(),
        );
    }
    let columns = StructArray::from(data).into_parts().1;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
        .map_err(|failure| failure.to_string())
}

/// Sees to it that an array and those below it have the children and the buffers of their type.
fn check_shape(array: &FFI_ArrowArray, kind: &DataType) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the Arrow data is damaged: an array of {kind} has {what}"));
    if array.len().checked_add(array.offset()).is_none_or(|rows| rows > ROWS) {
        return wrong("a length or an offset that cannot be");
    }
    let children: Vec<&DataType> = match kind {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => vec![field.data_type()],
        _ => Vec::new(),
    };
    if children.len() != array.num_children() {
        return wrong("too many or too few children");
    }
    let layout = layout(kind);
    // Behind their buffers, views have the sizes of them.
    let needed =
        layout.buffers.len() + usize::from(layout.can_contain_null_mask) + usize::from(layout.variadic);
    if !layout.buffers.is_empty() && array.num_buffers() < needed {
        return wrong("too few buffers");
    }
    // From these the import takes the size of buffers; without a row it takes none.
    let rows = array.len() + array.offset();
    let sizes = match kind {
        DataType::Utf8 | DataType::Binary if !array.is_empty() => read_size::<i32>(array, 1, rows),
        DataType::LargeUtf8 | DataType::LargeBinary if !array.is_empty() => read_size::<i64>(array, 1, rows),
        _ if layout.variadic => {
            let last = array.num_buffers() - 1;
            (0..array.num_buffers() - needed).try_for_each(|buffer| read_size::<i64>(array, last, buffer))
        }
        _ => Some(()),
    };
    if sizes.is_none() {
        return wrong("a buffer whose size is missing, negative or misaligned");
    }
    match (kind, array.dictionary()) {
        (DataType::Dictionary(_, values), Some(dictionary)) => check_shape(dictionary, values)?,
        (DataType::Dictionary(..), None) => return wrong("no dictionary"),
        _ => {}
    }
    children.iter().enumerate().try_for_each(|(number, kind)| check_shape(array.child(number), kind))
}

/// Whether a buffer of sizes or offsets has one at a position.
fn read_size<T: Copy + TryInto<usize>>(array: &FFI_ArrowArray, buffer: usize, position: usize) -> Option<()> {
    let sizes = array.buffer(buffer).cast::<T>();
    if sizes.is_null() || !sizes.is_aligned() {
        return None;
    }
    // SAFETY: the interface promises as many sizes as there are buffers, and one offset more than rows.
    let size = unsafe { sizes.add(position).read() };
    size.try_into().ok().map(|_: usize| ())
}

/// Sees to it that children have as many rows as those above them need.
fn check_sizes(data: &ArrayData) -> Result<(), String> {
    let wrong =
        |what: &str| Err(format!("the Arrow data is damaged: an array of {} {what}", data.data_type()));
    let rows = data.len() + data.offset();
    let needed = match data.data_type() {
        DataType::Struct(_) => rows,
        DataType::FixedSizeList(_, size) => {
            let Ok(size) = usize::try_from(*size) else { return wrong("has lists of a negative size") };
            let Some(needed) = rows.checked_mul(size) else { return wrong("has lists beyond all memory") };
            needed
        }
        DataType::Map(field, _) => match field.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => 0,
            _ => return wrong("has entries that are no pairs"),
        },
        _ => 0,
    };
    if data.child_data().iter().any(|child| child.len() < needed) {
        return wrong("has a child with fewer rows than it");
    }
    data.child_data().iter().try_for_each(check_sizes)
}
