//! How are the hierarchies of an index stored in its manifest?

use std::sync::Arc;

use jiter::JsonValue;

use crate::event::Hierarchy;
use crate::expression::{write_string, write_value};
use crate::value::Value;

/// An object of attributes: `"dates"`, or pairs of a value and one above it.
pub(super) fn write(named: &[(Arc<str>, Arc<Hierarchy>)]) -> String {
    let mut out = String::from("{");
    for (position, (name, hierarchy)) in named.iter().enumerate() {
        out.push_str(if position > 0 { ",\n" } else { "\n" });
        write_string(&mut out, name);
        out.push_str(": ");
        match &**hierarchy {
            Hierarchy::Dates => out.push_str("\"dates\""),
            Hierarchy::Tree(_) => {
                out.push('[');
                for (position, (value, above)) in hierarchy.pairs().iter().enumerate() {
                    out.push_str(if position > 0 { ",[" } else { "[" });
                    write_value(&mut out, value.as_ref());
                    out.push(',');
                    write_value(&mut out, above.as_ref());
                    out.push(']');
                }
                out.push(']');
            }
        }
    }
    out.push('}');
    out
}

/// What [`write`] wrote; `None` if it is damaged.
pub(super) fn read(value: &JsonValue<'_>) -> Option<Vec<(Arc<str>, Hierarchy)>> {
    let JsonValue::Object(members) = value else { return None };
    let mut named = Vec::new();
    for (name, hierarchy) in members.iter() {
        let hierarchy = match hierarchy {
            JsonValue::Str(text) if text == "dates" => Hierarchy::Dates,
            JsonValue::Array(pairs) => {
                let pairs = pairs.iter().map(|pair| match pair {
                    JsonValue::Array(pair) if pair.len() == 2 => {
                        Some((read_value(&pair[0])?, read_value(&pair[1])?))
                    }
                    _ => None,
                });
                Hierarchy::tree(pairs.collect::<Option<Vec<_>>>()?).ok()?
            }
            _ => return None,
        };
        named.push((name.as_ref().into(), hierarchy));
    }
    Some(named)
}

fn read_value(value: &JsonValue<'_>) -> Option<Value> {
    match value {
        JsonValue::Bool(value) => Some(Value::Boolean(*value)),
        JsonValue::Int(value) => Some(Value::Integer(*value)),
        JsonValue::Float(value) => Value::number(*value),
        JsonValue::Str(text) => Some(Value::from(text.as_ref())),
        _ => None,
    }
}
