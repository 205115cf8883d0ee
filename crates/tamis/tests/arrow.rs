//! A batch of Arrow data, which is read column by column, is answered as its rows are one by one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::builder::{
    Int64Builder, ListBuilder, MapBuilder, StringBuilder, StringDictionaryBuilder, StructBuilder,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, ListArray, NullArray,
    RecordBatch, StringArray, StringViewArray, StructArray, TimestampSecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use proptest::collection::vec;
use proptest::prelude::*;
use tamis::event::{ArrowEvents, OnError};
use tamis::index::{Algorithm, ArrowQuery, ArrowRows, Batching, Counts, MatchScratch, Snapshot};
use tamis::matcher::Evaluation;
use tamis::rank::EventWeights;
use tamis::{Error, Event, Index, Limits, Missing, parse};

const NAMES: [&str; 5] = ["a", "b", "c", "a.x", "c.y"];

/// What can be asked. Only some of them tell a null from nothing.
const EXPRESSIONS: [&str; 20] = [
    "a = 1 or b = 2",
    "a > 2 and not b = 'two'",
    "b is null",
    "not a is null and c is null",
    "a != 1",
    "a.x = 1 or c.y = 'one'",
    "c.y starts with 't'",
    "a < 2 xor b < 2",
    "coalesce(a, b, 7) = 7",
    "lower(b) = 'one'",
    "size(a) > 1",
    "(a = 1) is unknown",
    "exists(a)",
    "missing(b) or a = 3",
    "(exists(c) or a = 1) and not (exists(a.x) and b = 1)",
    "type(b) = 'null'",
    "type(a) = 'list' or type(c) = 'object'",
    "any(a, x > 1 or it > 1)",
    "none(c, y is null)",
    "values() = 'two'",
];

/// The column of a kind, one cell per row: the same cell is a null or a value of each.
fn column(kind: usize, cells: &[u8]) -> ArrayRef {
    let number = |cell: &u8| (cell % 5 < 3).then(|| i64::from(*cell) / 5 % 4);
    let word = |cell: &u8| number(cell).map(|number| ["", "one", "two", "Two"][number as usize]);
    let numbers = || cells.iter().map(number);
    match kind {
        0 => Arc::new(numbers().collect::<Int64Array>()),
        1 => Arc::new(cells.iter().map(word).collect::<StringArray>()),
        2 => Arc::new(cells.iter().map(word).collect::<StringViewArray>()),
        3 => Arc::new(numbers().map(|number| number.map(|number| number > 1)).collect::<BooleanArray>()),
        // A float that is no number is a null.
        4 => {
            let floats = numbers()
                .map(|number| number.map(|number| if number == 3 { f64::NAN } else { number as f64 }));
            Arc::new(floats.collect::<Float64Array>())
        }
        // Times outside of the years that there are cannot be read.
        5 => {
            let times =
                numbers().map(|number| number.map(|number| if number == 3 { i64::MAX } else { number }));
            Arc::new(times.collect::<TimestampSecondArray>())
        }
        6 => {
            let mut builder = StringDictionaryBuilder::<Int16Type>::new();
            cells.iter().for_each(|cell| builder.append_option(word(cell)));
            Arc::new(builder.finish())
        }
        // A dictionary whose values may be null.
        7 => {
            let keys = numbers().map(|number| number.map(|number| number as i16)).collect();
            let words = StringArray::from(vec![Some("one"), None, Some("two"), Some("")]);
            Arc::new(DictionaryArray::<Int16Type>::new(keys, Arc::new(words)))
        }
        8 => {
            let mut builder = ListBuilder::new(Int64Builder::new());
            for cell in cells {
                match number(cell) {
                    None => builder.append_null(),
                    Some(length) => {
                        let items = (0..length).map(|item| (item != 1).then_some(item));
                        builder.append_value(items);
                    }
                }
            }
            Arc::new(builder.finish())
        }
        9 => Arc::new(structs(cells)),
        // Lists of structs.
        10 => {
            let lengths: Vec<usize> = cells.iter().map(|cell| usize::from(cell / 20 % 3)).collect();
            let items: Vec<u8> = (0..lengths.iter().sum()).map(|item| (item * 37 % 251) as u8).collect();
            let items = structs(&items);
            let nulls = cells.iter().map(|cell| cell % 5 < 4).collect::<Vec<bool>>();
            let field = Arc::new(Field::new("item", items.data_type().clone(), true));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(ListArray::new(field, offsets, Arc::new(items), Some(nulls.into())))
        }
        11 => {
            let mut builder = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
            for cell in cells {
                for key in ["x", "y"].into_iter().take(usize::from(cell / 20 % 3)) {
                    builder.keys().append_value(key);
                    builder.values().append_option(number(cell));
                }
                builder.append(cell % 5 < 4).unwrap();
            }
            Arc::new(builder.finish())
        }
        _ => Arc::new(NullArray::new(cells.len())),
    }
}

/// Structs of `x`, a number, and `y`, a word.
fn structs(cells: &[u8]) -> StructArray {
    let fields = vec![Field::new("x", DataType::Int64, true), Field::new("y", DataType::Utf8, true)];
    let mut builder = StructBuilder::from_fields(fields, cells.len());
    for cell in cells {
        let number = (cell % 3 < 2).then(|| i64::from(*cell) / 3 % 4);
        builder.field_builder::<Int64Builder>(0).unwrap().append_option(number);
        let word = number.map(|number| ["", "one", "two", "Two"][number as usize]);
        builder.field_builder::<StringBuilder>(1).unwrap().append_option(word);
        builder.append(cell % 7 < 5);
    }
    builder.finish()
}

/// A table of some columns; its first rows are cut off.
fn table(columns: &[(usize, usize, Vec<u8>)], rows: usize, cut: usize) -> RecordBatch {
    let made: Vec<(Field, ArrayRef)> = columns
        .iter()
        .map(|(name, kind, cells)| {
            let cells: Vec<u8> = (0..rows + cut).map(|row| cells[row * 7 % cells.len()]).collect();
            let array = column(*kind, &cells);
            (Field::new(NAMES[*name], array.data_type().clone(), true), array)
        })
        .collect();
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = made.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap().slice(cut, rows)
}

fn index(asked: &[bool], missing: Missing, limits: &Limits, algorithm: Algorithm) -> Index {
    let index = Index::with_algorithm(missing, limits.clone(), algorithm);
    for (number, text) in EXPRESSIONS.iter().enumerate().filter(|(number, _)| asked[*number]) {
        index.add((number as i64).into(), parse(text, limits).unwrap(), None).unwrap();
    }
    index
}

type Pairs = Vec<(u64, i64)>;
type Best = Vec<(u64, i64, f64)>;

/// The answers to a batch row by row: pairs of rows and ids, rows that cannot be read, and the best.
fn one_by_one(
    events: &ArrowEvents,
    snapshot: &Snapshot,
    limits: &Limits,
) -> (Pairs, Vec<(u64, Error)>, Best) {
    let (mut pairs, mut refused, mut best) = (Vec::new(), Vec::new(), Vec::new());
    let (mut event, mut scratch) = (Event::default(), MatchScratch::default());
    let number = |id: tamis::IdRef<'_>| match id {
        tamis::IdRef::Integer(number) => number,
        tamis::IdRef::String(_) => unreachable!("ids are numbers"),
    };
    for row in 0..events.len() {
        if let Err(error) = events.decode(row, &mut event, snapshot.attributes(), limits) {
            refused.push((row as u64, error));
            continue;
        }
        snapshot.matches(&event, &mut scratch, |id| pairs.push((row as u64, number(id)))).unwrap();
        let top = snapshot.top_selected(&event, 3, &EventWeights::default(), None, &mut scratch).unwrap();
        best.extend(top.into_iter().map(|(id, score)| (row as u64, number(id), score)));
    }
    (pairs, refused, best)
}

fn pairs(batches: &[RecordBatch]) -> Pairs {
    let rows = |batch: &RecordBatch| {
        let (events, ids) =
            (batch.column(0).as_primitive::<UInt64Type>(), batch.column(1).as_primitive::<Int64Type>());
        events.values().iter().copied().zip(ids.values().iter().copied()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(rows).collect()
}

proptest! {
    #[test]
    fn a_batch_is_answered_as_its_rows_are(
        columns in vec((0..NAMES.len(), 0..13usize, vec(any::<u8>(), 1..40)), 1..6),
        rows in prop_oneof![0..5usize, 60..70usize, 120..140usize, 500..530usize],
        cut in 0..70usize,
        asked in vec(prop::bool::weighted(0.3), EXPRESSIONS.len()),
        missing in prop_oneof![Just(Missing::Unknown), Just(Missing::False)],
        scan in any::<bool>(),
        narrow in prop::bool::weighted(0.2),
    ) {
        let mut limits = Limits::default();
        if narrow {
            (limits.event_values, limits.list, limits.event) = (3, 2, 5);
        }
        let algorithm = if scan { Algorithm::Scan } else { Algorithm::Compiled };
        let index = index(&asked, missing, &limits, algorithm);
        let (batch, snapshot) = (table(&columns, rows, cut), index.snapshot());
        let Ok(events) = ArrowEvents::new(&batch, None, snapshot.attributes()) else { return Ok(()) };
        let (wanted, refused, best) = one_by_one(&events, &snapshot, &limits);
        let batching = |threads, on_error| {
            Batching { threads, evaluation: Evaluation::Auto, on_error, selection: None }
        };
        let stop = AtomicBool::new(false);
        let rows = ArrowRows { events: &events, first: 0, limits: &limits, stop: &stop };
        let ask = |query, batching| snapshot.match_arrow(rows, query, batching);

        let all = ArrowQuery::All { metadata: false };
        let found = ask(all, batching(1, OnError::Collect)).unwrap();
        prop_assert_eq!(pairs(&found.batches), wanted.clone());
        prop_assert_eq!(&found.refused.errors, &refused);
        let skipped = ask(all, batching(2, OnError::Skip)).unwrap();
        prop_assert_eq!(pairs(&skipped.batches), wanted.clone());
        prop_assert_eq!(skipped.refused.count, refused.len());
        let raised = ask(all, batching(1, OnError::Raise)).map(|found| pairs(&found.batches));
        match refused.first() {
            None => prop_assert_eq!(raised.unwrap(), wanted.clone()),
            Some((row, error)) => {
                let Err(Error::Item { position, cause, .. }) = raised else { panic!("{raised:?}") };
                prop_assert_eq!((position as u64, &*cause), (*row, error));
            }
        }

        let top = ArrowQuery::Top(3, &EventWeights::default());
        let top = ask(top, batching(1, OnError::Skip)).unwrap();
        let scores = top.batches.iter().flat_map(|batch| {
            batch.column(2).as_primitive::<arrow_array::types::Float64Type>().values().to_vec()
        });
        let ranked: Vec<(u64, i64, f64)> =
            pairs(&top.batches).into_iter().zip(scores).map(|((row, id), score)| (row, id, score)).collect();
        prop_assert_eq!(ranked, best);

        let mut counts = Counts::default();
        snapshot.count_arrow(rows, batching(2, OnError::Skip), &mut counts).unwrap();
        let counted: BTreeMap<String, u64> = snapshot
            .counted(&counts)
            .map(|counted| counted.map(|(id, count)| (id.to_id().to_string(), count)).unwrap())
            .collect();
        let mut summed: BTreeMap<String, u64> = BTreeMap::new();
        wanted.iter().for_each(|(_, id)| *summed.entry(id.to_string()).or_default() += 1);
        prop_assert_eq!(counted, summed);
    }
}
