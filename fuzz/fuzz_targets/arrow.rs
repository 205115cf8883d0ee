//! For any content of an Arrow batch's buffers, importing it over the C data interface and decoding its
//! rows gives events or errors, accepted events can be matched and explained, and reading column by column
//! gives the same results and errors as reading row by row.
//!
//! The input determines the types of the columns, the number of rows, and the content of the buffers:
//! offsets that go backwards, views and keys that point nowhere, text that is not UTF-8. It keeps the two
//! guarantees that cannot be checked: buffers are as large as the number of rows requires, and the bytes
//! of strings extend to the last offset.

#![no_main]

#[path = "../../crates/tamis-python/src/interface.rs"]
mod interface;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::types::{Int64Type, UInt64Type};
use arrow_buffer::Buffer;
use arrow_data::{ArrayData, ArrayDataBuilder, BufferSpec, layout};
use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit, UnionFields, UnionMode};
use libfuzzer_sys::fuzz_target;
use tamis::event::{ArrowEvents, OnError};
use tamis::index::{ArrowQuery, ArrowRows, Batching, MatchScratch};
use tamis::matcher::Evaluation;
use tamis::{Event, Id, Index, Limits, Missing, Truth, parse};

const EXPRESSIONS: [&str; 14] = [
    "a = 1 or a.a > 2.5 or not a.b.a",
    "b in ('x', 2, true) and b not in (3)",
    "a like '%z_' or b starts with 'y' xor c contains 'z'",
    "c matches '^[a-z]+$' or a between 'a' and 'm'",
    "exists(a) and missing(b)",
    "b is null xnor a.b is not null",
    "a > timestamp '2026-01-02 03:04:05' or b < date '2026-01-02'",
    "a > interval '1' day or b = ip '10.0.0.1' or c >= version '1.2'",
    "lower(a) = 'x' or length(b) > 3 or a + b * 2 > 7",
    "size(a) = 2 or type(b) = 'list' or a < b",
    "year(a) = 2026 or date(b) = date '2026-01-02'",
    "a.a = 'x' and a.b contains 'y' or c.a is null",
    "values() contains 'x'",
    "cast(a as string) = '1' or cast(b as decimal) = 1",
];

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let index = Index::new(Missing::Unknown, Limits::default());
    for (id, text) in EXPRESSIONS.iter().enumerate() {
        let expression = parse(text, index.limits()).unwrap();
        index.add((id as i64).into(), expression, None).unwrap();
    }
    index
});

/// Choices from the input; zeros after its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound
    }

    /// A number that is usually small.
    fn number(&mut self) -> i64 {
        match self.below(8) {
            0 => i64::from(self.byte() as i8) << (8 * self.below(8)),
            1 => -1,
            2 => i64::MAX,
            3 => i64::MIN,
            _ => i64::from(self.byte()) % 9,
        }
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        let mut bytes = taken.to_vec();
        bytes.resize(length, b'x');
        bytes
    }

    /// Numbers of some bytes each, one after another.
    fn numbers(&mut self, count: usize, width: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count * width);
        for _ in 0..count {
            let number = i128::from(self.number()).to_le_bytes();
            bytes.extend((0..width).map(|place| number.get(place).copied().unwrap_or(0)));
        }
        bytes
    }
}

fn kind(input: &mut Input<'_>, depth: usize) -> DataType {
    use DataType::*;
    let unit = |input: &mut Input<'_>| {
        [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond][input.below(4)]
    };
    let field = |input: &mut Input<'_>, name: &str| Arc::new(Field::new(name, kind(input, depth + 1), true));
    match input.below(if depth < 4 { 40 } else { 28 }) {
        0 => Null,
        1 => Boolean,
        2 => Int8,
        3 => Int32,
        4 => Int64,
        5 => UInt64,
        6 => Float16,
        7 => Float32,
        8 => Float64,
        9 => Decimal32(9, input.byte() as i8 % 10),
        10 => Decimal64(18, input.byte() as i8 % 19),
        11 => Decimal128(38, input.byte() as i8 % 39),
        12 => Decimal256(76, input.byte() as i8 % 77),
        13 => Date32,
        14 => Date64,
        15 => Timestamp(
            unit(input),
            [None, Some("UTC"), Some("Europe/Berlin"), Some("+99:99")][input.below(4)].map(Into::into),
        ),
        16 => Duration(unit(input)),
        17 => [Time32(TimeUnit::Second), Time64(TimeUnit::Nanosecond)][input.below(2)].clone(),
        18 => Interval(
            [IntervalUnit::YearMonth, IntervalUnit::DayTime, IntervalUnit::MonthDayNano][input.below(3)],
        ),
        19 => LargeUtf8,
        20 | 21 => Utf8View,
        22 => Binary,
        23 => BinaryView,
        24 => FixedSizeBinary(input.below(5) as i32),
        25..=27 => Utf8,
        28 => List(field(input, "item")),
        29 => LargeList(field(input, "item")),
        30 => ListView(field(input, "item")),
        31 => LargeListView(field(input, "item")),
        32 => FixedSizeList(field(input, "item"), input.below(4) as i32),
        33 | 34 => Struct(Fields::from(vec![field(input, "a"), field(input, "b")])),
        35 => {
            let names = Arc::new(Field::new(
                "key",
                [Utf8, Utf8View, LargeUtf8, Int32][input.below(4)].clone(),
                false,
            ));
            let entries = Struct(Fields::from(vec![names, field(input, "value")]));
            Map(Arc::new(Field::new("entries", entries, false)), false)
        }
        36 | 37 => {
            let keys = [Int8, Int32, Int64, UInt8, UInt64][input.below(5)].clone();
            Dictionary(Box::new(keys), Box::new(kind(input, depth + 1)))
        }
        38 => {
            let ends = Arc::new(Field::new("run_ends", [Int16, Int32, Int64][input.below(3)].clone(), false));
            RunEndEncoded(ends, field(input, "values"))
        }
        _ => Union(
            UnionFields::try_new([0, 1], [Field::new("x", Utf8, true), Field::new("y", Int64, true)])
                .unwrap(),
            [UnionMode::Sparse, UnionMode::Dense][input.below(2)],
        ),
    }
}

fn data(kind: &DataType, rows: usize, input: &mut Input<'_>) -> ArrayData {
    use DataType::*;
    let offset = if input.below(4) == 0 { input.below(3) } else { 0 };
    let all = rows + offset;
    let mut builder = ArrayDataBuilder::new(kind.clone()).len(rows).offset(offset);
    // Sometimes too few, which the import must detect.
    let enough = |input: &mut Input<'_>, rows: usize| if input.below(16) == 0 { rows / 2 } else { rows };
    match kind {
        Utf8 | Binary | LargeUtf8 | LargeBinary => {
            let width = if matches!(kind, Utf8 | Binary) { 4 } else { 8 };
            let length = input.below(40);
            let bytes = input.bytes(length);
            let mut offsets = input.numbers(all, width);
            let last = (input.below(length + 1) as i64).to_le_bytes();
            offsets.extend_from_slice(&last[..width]);
            builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from_vec(bytes));
        }
        Utf8View | BinaryView => {
            let buffers: Vec<Vec<u8>> = (0..input.below(3))
                .map(|_| {
                    let length = input.below(40);
                    input.bytes(length)
                })
                .collect();
            let mut views = Vec::new();
            for _ in 0..all {
                match input.below(3) {
                    0 => views.extend(input.bytes(16)),
                    1 => {
                        views.extend((input.below(13) as u32).to_le_bytes());
                        views.extend(input.bytes(12));
                    }
                    _ => {
                        for part in [13 + input.below(20), input.below(2), input.below(3), input.below(20)] {
                            views.extend((part as u32).to_le_bytes());
                        }
                    }
                }
            }
            builder = builder.add_buffer(aligned(&views));
            for buffer in buffers {
                builder = builder.add_buffer(Buffer::from_vec(buffer));
            }
        }
        List(field) | LargeList(field) | Map(field, _) => {
            let width = if matches!(kind, LargeList(_)) { 8 } else { 4 };
            builder = builder.add_buffer(aligned(&input.numbers(all + 1, width)));
            let items = input.below(9);
            builder = builder.add_child_data(data(field.data_type(), items, input));
        }
        ListView(field) | LargeListView(field) => {
            let width = if matches!(kind, LargeListView(_)) { 8 } else { 4 };
            builder = builder
                .add_buffer(aligned(&input.numbers(all, width)))
                .add_buffer(aligned(&input.numbers(all, width)));
            let items = input.below(9);
            builder = builder.add_child_data(data(field.data_type(), items, input));
        }
        FixedSizeList(field, size) => {
            let items = enough(input, all * *size as usize);
            builder = builder.add_child_data(data(field.data_type(), items, input));
        }
        Struct(fields) => {
            for field in fields {
                let items = enough(input, all);
                builder = builder.add_child_data(data(field.data_type(), items, input));
            }
        }
        Dictionary(keys, values) => {
            let width = keys.primitive_width().unwrap_or(1);
            builder = builder.add_buffer(aligned(&input.numbers(all, width)));
            let items = input.below(9);
            builder = builder.add_child_data(data(values, items, input));
        }
        RunEndEncoded(ends, values) => {
            let runs = input.below(5);
            let ends = data(ends.data_type(), runs, input);
            let items = enough(input, runs);
            builder = builder.add_child_data(ends).add_child_data(data(values.data_type(), items, input));
        }
        Union(fields, mode) => {
            builder = builder.add_buffer(Buffer::from_vec(input.numbers(all, 1)));
            if *mode == UnionMode::Dense {
                builder = builder.add_buffer(aligned(&input.numbers(all, 4)));
            }
            for (_, field) in fields.iter() {
                let items = enough(input, all);
                builder = builder.add_child_data(data(field.data_type(), items, input));
            }
        }
        _ => {
            for buffer in layout(kind).buffers {
                builder = builder.add_buffer(match buffer {
                    BufferSpec::BitMap => Buffer::from_vec(input.bytes(all.div_ceil(8))),
                    BufferSpec::FixedWidth { byte_width, .. } => aligned(&input.numbers(all, byte_width)),
                    _ => Buffer::from_vec(input.bytes(all)),
                });
            }
        }
    }
    let can_be_null = layout(kind).can_contain_null_mask;
    if can_be_null && input.below(3) == 0 {
        builder = builder.null_bit_buffer(Some(Buffer::from_vec(input.bytes(all.div_ceil(8)))));
    }
    // SAFETY: the data is deliberately invalid, but keeps the guarantees of the C data interface.
    unsafe { builder.build_unchecked() }
}

/// The bytes, in memory aligned for every type.
fn aligned(bytes: &[u8]) -> Buffer {
    Buffer::from_slice_ref(bytes)
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let columns = 1 + input.below(3);
    let fields: Vec<Field> =
        ["a", "b", "c"][..columns].iter().map(|name| Field::new(*name, kind(&mut input, 0), true)).collect();
    let whole = DataType::Struct(Fields::from(fields));
    let rows = input.below(6);
    let array = data(&whole, rows, &mut input);
    let Ok(schema) = FFI_ArrowSchema::try_from(&whole) else { return };
    let Ok(schema) = interface::read_schema(&schema) else { return };
    let Ok(batch) = interface::read_batch(FFI_ArrowArray::new(&array), &schema) else { return };
    let snapshot = INDEX.snapshot();
    let column = [None, None, Some("a")][input.below(3)];
    let Ok(events) = ArrowEvents::new(&batch, column, snapshot.attributes()) else { return };
    let mut event = Event::default();
    let (mut matches, mut refused) = (Vec::new(), Vec::new());
    for row in 0..events.len() {
        if let Err(error) = events.decode(row, &mut event, snapshot.attributes(), INDEX.limits()) {
            refused.push((row as u64, error));
            continue;
        }
        let mut found = Vec::new();
        snapshot.matches(&event, &mut MatchScratch::default(), |id| found.push(id.to_id())).unwrap();
        for subscription in snapshot.subscriptions() {
            let subscription = subscription.unwrap();
            let truth = INDEX.explain(&subscription.expression, &event).unwrap().truth();
            assert_eq!(found.contains(&subscription.id), truth == Truth::True, "{}", subscription.expression);
        }
        matches.extend(found.into_iter().map(|id| (row as u64, id)));
    }
    let all = ArrowQuery::All { metadata: false };
    let (evaluation, on_error) = (Evaluation::Auto, OnError::Collect);
    let batching = Batching { threads: 1, evaluation, on_error, selection: None };
    let stop = AtomicBool::new(false);
    let rows = ArrowRows { events: &events, first: 0, limits: INDEX.limits(), stop: &stop };
    let answered = snapshot.match_arrow(rows, all, batching).unwrap();
    let pairs = answered.batches.iter().flat_map(|batch| {
        let rows = batch.column(0).as_primitive::<UInt64Type>().values().to_vec();
        let ids = batch.column(1).as_primitive::<Int64Type>().values().to_vec();
        rows.into_iter().zip(ids.into_iter().map(Id::from))
    });
    assert_eq!(pairs.collect::<Vec<_>>(), matches);
    assert_eq!(answered.refused.errors, refused);
});
