//! What values do Arrow arrays of decimals, times and other types that JSON lacks hold?

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RunArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::value::{Date, Duration, LocalTime, Timestamp, ValueRef, read_number};

/// An array of such a type.
#[derive(Debug)]
pub(crate) enum Typed {
    Float16(PrimitiveArray<Float16Type>),
    Decimal32(PrimitiveArray<Decimal32Type>, i32),
    Decimal64(PrimitiveArray<Decimal64Type>, i32),
    Decimal128(PrimitiveArray<Decimal128Type>, i32),
    Decimal256(PrimitiveArray<Decimal256Type>, i32),
    Date32(PrimitiveArray<Date32Type>),
    Date64(PrimitiveArray<Date64Type>),
    DayTime(PrimitiveArray<IntervalDayTimeType>),
    /// 64-bit numbers, how many of them make a second, and what they count.
    Time(PrimitiveArray<Int64Type>, i64, Count),
}

/// What numbers count.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    /// Since 1970 in UTC.
    Moment,
    /// Since 1970 in local time of the index's zone.
    Local,
    /// A length of time.
    Span,
}

impl Typed {
    /// The array's values; `None` if it has none of these types.
    pub fn new(array: &ArrayRef) -> Option<Typed> {
        fn numbers<T: ArrowPrimitiveType<Native = i64>>(array: &ArrayRef) -> PrimitiveArray<Int64Type> {
            let array = array.as_primitive::<T>();
            PrimitiveArray::new(array.values().clone(), array.nulls().cloned())
        }
        let per_second = |unit: &TimeUnit| match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        };
        Some(match array.data_type() {
            DataType::Float16 => Typed::Float16(array.as_primitive().clone()),
            DataType::Decimal32(_, scale) => {
                Typed::Decimal32(array.as_primitive().clone(), -i32::from(*scale))
            }
            DataType::Decimal64(_, scale) => {
                Typed::Decimal64(array.as_primitive().clone(), -i32::from(*scale))
            }
            DataType::Decimal128(_, scale) => {
                Typed::Decimal128(array.as_primitive().clone(), -i32::from(*scale))
            }
            DataType::Decimal256(_, scale) => {
                Typed::Decimal256(array.as_primitive().clone(), -i32::from(*scale))
            }
            DataType::Date32 => Typed::Date32(array.as_primitive().clone()),
            DataType::Date64 => Typed::Date64(array.as_primitive().clone()),
            DataType::Interval(IntervalUnit::DayTime) => Typed::DayTime(array.as_primitive().clone()),
            DataType::Timestamp(unit, zone) => {
                let array = match unit {
                    TimeUnit::Second => numbers::<TimestampSecondType>(array),
                    TimeUnit::Millisecond => numbers::<TimestampMillisecondType>(array),
                    TimeUnit::Microsecond => numbers::<TimestampMicrosecondType>(array),
                    TimeUnit::Nanosecond => numbers::<TimestampNanosecondType>(array),
                };
                let count = if zone.is_some() { Count::Moment } else { Count::Local };
                Typed::Time(array, per_second(unit), count)
            }
            DataType::Duration(unit) => {
                let array = match unit {
                    TimeUnit::Second => numbers::<DurationSecondType>(array),
                    TimeUnit::Millisecond => numbers::<DurationMillisecondType>(array),
                    TimeUnit::Microsecond => numbers::<DurationMicrosecondType>(array),
                    TimeUnit::Nanosecond => numbers::<DurationNanosecondType>(array),
                };
                Typed::Time(array, per_second(unit), Count::Span)
            }
            _ => return None,
        })
    }

    /// The nulls, if there are any.
    pub fn nulls(&self) -> Option<&NullBuffer> {
        match self {
            Typed::Float16(array) => array.nulls(),
            Typed::Decimal32(array, _) => array.nulls(),
            Typed::Decimal64(array, _) => array.nulls(),
            Typed::Decimal128(array, _) => array.nulls(),
            Typed::Decimal256(array, _) => array.nulls(),
            Typed::Date32(array) => array.nulls(),
            Typed::Date64(array) => array.nulls(),
            Typed::DayTime(array) => array.nulls(),
            Typed::Time(array, ..) => array.nulls(),
        }
    }

    /// Whether there is a null at a position.
    pub fn is_null(&self, position: usize) -> bool {
        self.nulls().is_some_and(|nulls| nulls.is_null(position))
    }

    /// The value at a position, or why there is none; `None` for NaN.
    pub fn get(&self, position: usize) -> Result<Option<ValueRef<'static>>, &'static str> {
        const NO_TIME: &str = "the time is outside the years 1 to 9999";
        const NO_NUMBER: &str = "the decimal has more than 38 digits";
        let decimal =
            |coefficient: i128, exponent: i32| ValueRef::decimal(coefficient, exponent).ok_or(NO_NUMBER);
        let value = match self {
            Typed::Float16(array) => return Ok(ValueRef::number(f64::from(array.value(position)))),
            Typed::Decimal32(array, exponent) => decimal(array.value(position).into(), *exponent)?,
            Typed::Decimal64(array, exponent) => decimal(array.value(position).into(), *exponent)?,
            Typed::Decimal128(array, exponent) => decimal(array.value(position), *exponent)?,
            Typed::Decimal256(array, exponent) => {
                let value = array.value(position);
                match value.to_i128() {
                    Some(coefficient) => decimal(coefficient, *exponent)?,
                    // It may end in zeros.
                    None => {
                        let digits = value.to_string();
                        let kept = digits.trim_end_matches('0');
                        let zeros = digits.len() - kept.len();
                        let number = read_number(&format!("{kept}e{}", *exponent + zeros as i32));
                        number.ok().filter(|_| kept.len() <= 39).ok_or(NO_NUMBER)?
                    }
                }
            }
            Typed::Date32(array) => {
                Date::from_days(array.value(position).into()).map(ValueRef::Date).ok_or(NO_TIME)?
            }
            Typed::Date64(array) => {
                let days = array.value(position).div_euclid(86_400_000);
                Date::from_days(days).map(ValueRef::Date).ok_or(NO_TIME)?
            }
            Typed::DayTime(array) => {
                let span = array.value(position);
                let milliseconds = i128::from(span.days) * 86_400_000 + i128::from(span.milliseconds);
                let span = Duration::from_nanoseconds(milliseconds * 1_000_000);
                span.map(ValueRef::Duration).ok_or(NO_TIME)?
            }
            Typed::Time(array, per_second, count) => {
                let number = array.value(position);
                let seconds = number.div_euclid(*per_second);
                let nanoseconds = number.rem_euclid(*per_second) * (1_000_000_000 / per_second);
                match count {
                    Count::Moment => Timestamp::new(seconds, nanoseconds).map(ValueRef::Timestamp),
                    Count::Local => LocalTime::new(seconds, nanoseconds).map(ValueRef::Local),
                    Count::Span => Duration::new(seconds, nanoseconds).map(ValueRef::Duration),
                }
                .ok_or(NO_TIME)?
            }
        };
        Ok(Some(value))
    }
}

/// The position of a row whose run is damaged.
pub(super) const NO_RUN: usize = usize::MAX;

/// The values of a run-end encoded array, and the position of each row's value among them.
pub(super) fn runs(array: &ArrayRef) -> Option<(ArrayRef, Vec<usize>)> {
    fn of<T: arrow_array::types::RunEndIndexType>(runs: &RunArray<T>) -> (ArrayRef, Vec<usize>) {
        let count = runs.values().len();
        let place = |row| Some(runs.get_physical_index(row)).filter(|place| *place < count).unwrap_or(NO_RUN);
        let places = (0..runs.len()).map(place).collect();
        (runs.values().clone(), places)
    }
    let any = array.as_any();
    if let Some(runs) = any.downcast_ref::<RunArray<Int16Type>>() {
        return Some(of(runs));
    }
    if let Some(runs) = any.downcast_ref::<RunArray<Int32Type>>() {
        return Some(of(runs));
    }
    any.downcast_ref::<RunArray<Int64Type>>().map(of)
}
