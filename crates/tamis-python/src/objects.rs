//! Reading values of standard library and NumPy classes: times, decimals, addresses, scalars.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDate, PyDateTime, PyDelta, PyType};
use tamis::value::{Address, ConstantType, Date, Duration, LocalTime, Value, ValueRef, read_number};

use crate::value::Refusal;

type Class = PyOnceLock<Py<PyType>>;

/// The value of an object.
pub enum Object {
    /// A null: NaN, or a not-a-time value.
    Null,
    Value(Value),
    /// A number that is a binary float.
    Float(Value),
    /// Its class does not represent a value.
    Unknown,
}

fn refused<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::Reason(reason.into()))
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Refusal::Python(error)
    }
}

/// Reads an object that is not a built-in string, boolean, float or integer.
pub fn read(object: &Bound<'_, PyAny>) -> Result<Object, Refusal> {
    let py = object.py();
    if let Ok(time) = object.cast::<PyDateTime>() {
        return read_datetime(time.as_any());
    }
    if object.is_instance_of::<PyDate>() {
        let number = |name: &str| object.getattr(name)?.extract::<u32>();
        let date = Date::new(number("year")? as i32, number("month")?, number("day")?);
        return Ok(date.map_or(Object::Unknown, |date| Object::Value(Value::Date(date))));
    }
    if object.is_instance_of::<PyDelta>() {
        return read_delta(object);
    }
    static DECIMAL: Class = PyOnceLock::new();
    if object.is_instance(DECIMAL.import(py, "decimal", "Decimal")?)? {
        return read_decimal(object);
    }
    static ADDRESSES: [(Class, &str); 2] =
        [(PyOnceLock::new(), "IPv4Address"), (PyOnceLock::new(), "IPv6Address")];
    for (class, name) in &ADDRESSES {
        if object.is_instance(class.import(py, "ipaddress", name)?)? {
            let bytes = object.getattr("packed")?.extract::<Vec<u8>>()?;
            let address = Address::from_bytes(&bytes).map(Value::Address);
            return Ok(address.map_or(Object::Unknown, Object::Value));
        }
    }
    static NETWORKS: [(Class, &str); 2] =
        [(PyOnceLock::new(), "IPv4Network"), (PyOnceLock::new(), "IPv6Network")];
    for (class, name) in &NETWORKS {
        if object.is_instance(class.import(py, "ipaddress", name)?)? {
            return match ConstantType::Cidr.read(&object.str()?.to_string_lossy()) {
                Ok(network) => Ok(Object::Value(network)),
                Err(reason) => refused(reason),
            };
        }
    }
    let class = object.get_type();
    let module = class.module()?;
    let (module, name) = (module.to_string_lossy(), class.name()?);
    match (&*module, &*name.to_string_lossy()) {
        ("numpy", "bool" | "bool_") => Ok(Object::Value(Value::Boolean(object.is_truthy()?))),
        ("numpy", "float16" | "float32" | "longdouble" | "float128") => {
            let number = object.call_method0("__float__")?.extract::<f64>()?;
            Ok(Value::number(number).map_or(Object::Null, Object::Float))
        }
        ("numpy", "datetime64" | "timedelta64") => read_numpy_time(object),
        (_, "NaTType" | "NAType") if module.starts_with("pandas") => Ok(Object::Null),
        _ => Ok(Object::Unknown),
    }
}

/// Reads an integer beyond 64 bits.
pub fn read_large_integer(object: &Bound<'_, PyAny>) -> Result<Value, Refusal> {
    let number = object.extract::<i128>().ok().and_then(|number| ValueRef::decimal(number, 0));
    match number {
        Some(number) => Ok(number.to_value()),
        None => refused("the integer has more than 38 digits; pass it as a string"),
    }
}

fn read_datetime(time: &Bound<'_, PyAny>) -> Result<Object, Refusal> {
    // pandas' not-a-time value is an instance of datetime.
    if time.get_type().name()? == "NaTType" {
        return Ok(Object::Null);
    }
    let number = |name: &str| time.getattr(name)?.extract::<u32>();
    let date = Date::new(number("year")? as i32, number("month")?, number("day")?);
    let Some(date) = date else { return Ok(Object::Unknown) };
    let second = number("hour")? * 3600 + number("minute")? * 60 + number("second")?;
    // pandas' timestamps also have nanoseconds.
    let nanosecond = match time.getattr_opt("nanosecond")? {
        Some(nanosecond) => nanosecond.extract::<u32>()?,
        None => 0,
    };
    let nanosecond = number("microsecond")? * 1000 + nanosecond;
    let (midnight, _) = date.midnight().parts();
    let local = LocalTime::new(midnight + i64::from(second), i64::from(nanosecond));
    let Some(local) = local else { return Ok(Object::Unknown) };
    let offset = time.call_method0("utcoffset")?;
    if offset.is_none() {
        return Ok(Object::Value(Value::Local(local)));
    }
    let (seconds, nanoseconds) = delta(&offset)?;
    let (at, of_second) = local.parts();
    let moment = tamis::value::Timestamp::new(at - seconds, i64::from(of_second) - nanoseconds);
    match moment {
        Some(moment) => Ok(Object::Value(Value::Timestamp(moment))),
        None => refused("the time is outside the years 1 to 9999"),
    }
}

/// Seconds and nanoseconds of a timedelta.
fn delta(object: &Bound<'_, PyAny>) -> PyResult<(i64, i64)> {
    let number = |name: &str| object.getattr(name)?.extract::<i64>();
    let nanoseconds = match object.getattr_opt("nanoseconds")? {
        Some(nanoseconds) => nanoseconds.extract::<i64>()?,
        None => 0,
    };
    Ok((number("days")? * 86_400 + number("seconds")?, number("microseconds")? * 1000 + nanoseconds))
}

fn read_delta(object: &Bound<'_, PyAny>) -> Result<Object, Refusal> {
    if object.get_type().name()? == "NaTType" {
        return Ok(Object::Null);
    }
    let (seconds, nanoseconds) = delta(object)?;
    let span = Duration::new(seconds, nanoseconds).map(Value::Duration);
    Ok(span.map_or(Object::Unknown, Object::Value))
}

fn read_decimal(object: &Bound<'_, PyAny>) -> Result<Object, Refusal> {
    let text = object.str()?;
    let text = text.to_string_lossy();
    match &*text {
        "Infinity" => return Ok(Object::Value(Value::Float(tamis::value::Float::INFINITY))),
        "-Infinity" => return Ok(Object::Value(Value::Float(tamis::value::Float::NEGATIVE_INFINITY))),
        _ if text.contains("NaN") => return Ok(Object::Null),
        _ => {}
    }
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let mantissa: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = mantissa.trim_matches('0').len();
    if digits > 38 {
        return refused(format!("the decimal has {digits} digits; numbers are exact to 38"));
    }
    match read_number(&text) {
        Ok(number) => Ok(Object::Value(number.to_value())),
        Err(reason) => refused(reason),
    }
}

/// A `datetime64`, which has no zone, or a `timedelta64`.
fn read_numpy_time(object: &Bound<'_, PyAny>) -> Result<Object, Refusal> {
    let py = object.py();
    let numpy = py.import("numpy")?;
    let (unit, count) =
        numpy.call_method1("datetime_data", (object.getattr("dtype")?,))?.extract::<(String, i64)>()?;
    let number = object.call_method1("astype", ("int64",))?.extract::<i64>()?;
    if number == i64::MIN {
        return Ok(Object::Null);
    }
    let is_span = object.get_type().name()? == "timedelta64";
    let seconds: i128 = match unit.as_str() {
        "W" => 604_800,
        "D" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        "ms" | "us" | "ns" => 0,
        _ => {
            let message = format!("a time of NumPy in units of {unit} is not supported; convert it");
            return refused(message);
        }
    };
    let each = match unit.as_str() {
        "ms" => 1_000_000,
        "us" => 1_000,
        "ns" => 1,
        _ => seconds * 1_000_000_000,
    };
    let total = i128::from(number) * i128::from(count) * each;
    let Some(span) = Duration::from_nanoseconds(total) else {
        return refused("the time of NumPy is out of range");
    };
    if is_span {
        return Ok(Object::Value(Value::Duration(span)));
    }
    let (seconds, nanoseconds) = span.parts();
    let Some(local) = LocalTime::new(seconds, i64::from(nanoseconds)) else {
        return refused("the time is outside the years 1 to 9999");
    };
    let is_day = matches!(unit.as_str(), "D" | "W");
    Ok(Object::Value(if is_day { Value::Date(local.date()) } else { Value::Local(local) }))
}

/// Whether an object is a NumPy array, which counts as a list.
pub fn is_array(object: &Bound<'_, PyAny>) -> bool {
    let class = object.get_type();
    class.name().is_ok_and(|name| name == "ndarray") && class.module().is_ok_and(|module| module == "numpy")
}
