//! Which Arrow data is accepted over the C data interface?
//!
//! Accepts arrays that contain as many rows as they declare, with buffers of matching sizes, and
//! nested no deeper than code can recurse. The content of the buffers is not checked here: the
//! engine checks it when it reads (`tamis::event::checked`). Two things cannot be checked, because
//! the interface does not expose them: that pointers are valid, and that the bytes of strings
//! extend to the last offset.
#![expect(unsafe_code, reason = "the C data interface is made of pointers")]

use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::{RecordBatch, RecordBatchOptions, StructArray};
use arrow_data::{ArrayData, ArrayDataBuilder, layout};
use arrow_schema::{DataType, Schema, SchemaRef, UnionMode};

/// The maximum nesting depth of types.
const DEPTH: usize = 256;

/// A larger length is damage: the number of bits must not overflow.
const ROWS: usize = 1 << 56;

/// Reads the columns of a table.
pub fn read_schema(schema: &FFI_ArrowSchema) -> Result<SchemaRef, String> {
    // The conversion recurses over the nesting, so check the depth first, without recursion.
    let mut waiting = vec![(schema, 1)];
    while let Some((schema, depth)) = waiting.pop() {
        if depth > DEPTH {
            return Err(format!("the Arrow types are nested {depth} deep or more; at most {DEPTH} are read"));
        }
        waiting.extend(schema.children().chain(schema.dictionary()).map(|child| (child, depth + 1)));
    }
    match DataType::try_from(schema) {
        // A column may contain nulls even if its schema denies it.
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

/// Reads a batch of rows of a table with these columns.
pub fn read_batch(array: FFI_ArrowArray, schema: &SchemaRef) -> Result<RecordBatch, String> {
    let data_type = DataType::Struct(schema.fields().clone());
    check_shape(&array, &data_type)?;
    // SAFETY: the array has the children and buffers that its type requires; the interface
    // guarantees valid pointers.
    let data = unsafe { from_ffi_and_data_type(array, data_type) };
    let data = data.map_err(|failure| format!("the Arrow data cannot be read: {failure}"))?;
    check_sizes(&data)?;
    let data = without_offsets(&data, 0, data.len());
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

/// Some rows of an array, in which structs, fixed-size lists and sparse unions start at the first
/// row of their children and end at the last: `arrow` slices the children of a nested struct twice.
fn without_offsets(data: &ArrayData, first: usize, rows: usize) -> ArrayData {
    let start = data.offset() + first;
    let whole = |child: &ArrayData| without_offsets(child, 0, child.len());
    let children = data.child_data().iter();
    let (cut, children): (bool, Vec<ArrayData>) = match data.data_type() {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => {
            (true, children.map(|child| without_offsets(child, start, rows)).collect())
        }
        DataType::FixedSizeList(_, size) => {
            let size = *size as usize;
            (true, children.map(|child| without_offsets(child, start * size, rows * size)).collect())
        }
        _ => (false, children.map(whole).collect()),
    };
    let builder = if cut {
        let nulls = data.nulls().map(|nulls| nulls.slice(first, rows));
        // Unions have one byte per row for its type.
        let types = data.buffers().iter().map(|types| types.slice_with_length(start, rows)).collect();
        ArrayDataBuilder::new(data.data_type().clone()).len(rows).nulls(nulls).buffers(types)
    } else {
        data.slice(first, rows).into_builder()
    };
    // SAFETY: the rows are a part of a valid array.
    unsafe { builder.child_data(children).build_unchecked() }
}

/// Checks that an array and its descendants have the children and buffers of their types.
fn check_shape(array: &FFI_ArrowArray, data_type: &DataType) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the Arrow data is damaged: an array of {data_type} has {what}"));
    if array.len().checked_add(array.offset()).is_none_or(|rows| rows > ROWS) {
        return wrong("an impossible length or offset");
    }
    let children: Vec<&DataType> = match data_type {
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
    let layout = layout(data_type);
    // Views have one more buffer, with the sizes of the others.
    let needed =
        layout.buffers.len() + usize::from(layout.can_contain_null_mask) + usize::from(layout.variadic);
    if !layout.buffers.is_empty() && array.num_buffers() < needed {
        return wrong("too few buffers");
    }
    // The import reads buffer sizes from these values, except if there are no rows.
    let rows = array.len() + array.offset();
    let sizes = match data_type {
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
    match (data_type, array.dictionary()) {
        (DataType::Dictionary(_, values), Some(dictionary)) => check_shape(dictionary, values)?,
        (DataType::Dictionary(..), None) => return wrong("no dictionary"),
        _ => {}
    }
    children
        .iter()
        .enumerate()
        .try_for_each(|(number, data_type)| check_shape(array.child(number), data_type))
}

/// Whether a buffer of sizes or offsets has a valid one at a position.
fn read_size<T: Copy + TryInto<usize>>(array: &FFI_ArrowArray, buffer: usize, position: usize) -> Option<()> {
    let sizes = array.buffer(buffer).cast::<T>();
    if sizes.is_null() || !sizes.is_aligned() {
        return None;
    }
    // SAFETY: the interface guarantees one size per buffer, and one offset more than rows.
    let size = unsafe { sizes.add(position).read() };
    size.try_into().ok().map(|_: usize| ())
}

/// Checks that children have as many rows as their parents need.
fn check_sizes(data: &ArrayData) -> Result<(), String> {
    let wrong =
        |what: &str| Err(format!("the Arrow data is damaged: an array of {} {what}", data.data_type()));
    let rows = data.len() + data.offset();
    let needed = match data.data_type() {
        DataType::Struct(_) | DataType::Union(_, UnionMode::Sparse) => rows,
        DataType::FixedSizeList(_, size) => {
            let Ok(size) = usize::try_from(*size) else { return wrong("has lists of a negative size") };
            let Some(needed) = rows.checked_mul(size) else {
                return wrong("has lists that exceed the address space");
            };
            needed
        }
        DataType::Map(field, _) => match field.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => 0,
            _ => return wrong("has entries that are not pairs"),
        },
        _ => 0,
    };
    if data.child_data().iter().any(|child| child.len() < needed) {
        return wrong("has a child with too few rows");
    }
    data.child_data().iter().try_for_each(check_sizes)
}
