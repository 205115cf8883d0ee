//! Reading and checking named parameters.
//!
//! Given values override the defaults one by one. Errors for unknown names list the known ones, and
//! errors for invalid values give the valid range.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Named values, as JSON.
pub type Named = Map<String, Value>;

/// A set of named parameters.
pub trait Parameters: Serialize + DeserializeOwned {
    /// Checks the values. The error says which values are valid.
    fn check(&self) -> Result<(), String>;
}

/// The parameters by name.
pub fn named(parameters: &impl Serialize) -> Named {
    match serde_json::to_value(parameters) {
        Ok(Value::Object(named)) => named,
        other => unreachable!("parameters are an object: {other:?}"),
    }
}

/// The defaults, overridden by `given`. `kind` is the noun for messages: "parameter" or "option".
pub fn read<P: Parameters>(kind: &str, defaults: P, given: &Named) -> Result<P, String> {
    let mut all = named(&defaults);
    let mut parameters = defaults;
    for (name, value) in given {
        if !all.contains_key(name) {
            let known: Vec<&str> = all.keys().map(String::as_str).collect();
            return Err(match known[..] {
                [] => format!("unknown {kind} {name:?}: there are none"),
                _ => format!("unknown {kind} {name:?}; known: {}", known.join(", ")),
            });
        }
        let usual = all.insert(name.clone(), value.clone()).unwrap_or_default();
        parameters = serde_json::from_value(Value::Object(all.clone()))
            .map_err(|error| format!("the {kind} {name} must be like {usual}, not {value}: {error}"))?;
    }
    parameters.check()?;
    Ok(parameters)
}

/// Fails unless a number lies within bounds, both included.
pub fn within<T: PartialOrd + Display + Copy>(name: &str, value: T, low: T, high: T) -> Result<(), String> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err(format!("{name} must be from {low} to {high}, not {value}"))
}

/// Fails unless both ends lie within the bounds and are in order.
pub fn ordered<T: PartialOrd + Display + Copy>(
    name: &str,
    range: (T, T),
    low: T,
    high: T,
) -> Result<(), String> {
    within(&format!("the lower end of {name}"), range.0, low, high)?;
    within(&format!("the upper end of {name}"), range.1, range.0, high)
}

/// Fails unless the numbers can serve as relative probabilities; they need not add up to 1.
pub fn probabilities(name: &str, parts: &[f64]) -> Result<(), String> {
    const MOST: usize = 1000;
    let sum: f64 = parts.iter().sum();
    if (1..=MOST).contains(&parts.len())
        && parts.iter().all(|&part| part >= 0.0)
        && sum > 0.0
        && sum.is_finite()
    {
        return Ok(());
    }
    Err(format!("{name} must be 1 to {MOST} numbers of at least 0, not all 0, but is {parts:?}"))
}

/// Fails unless the value can be the exponent of a Zipf law.
pub fn exponent(name: &str, value: f64) -> Result<(), String> {
    within(name, value, 0.0, 20.0)
}

/// The maximum number of attributes, values, pool members and so on; tables of this size are kept
/// in memory.
pub const MANY: u32 = 100_000_000;

#[cfg(test)]
mod tests {
    use super::super::{WhangParameters, named_defaults};
    use super::*;

    fn whang(given: &str) -> Result<WhangParameters, String> {
        read("parameter", WhangParameters::default(), &serde_json::from_str(given).unwrap())
    }

    #[test]
    fn what_is_given_replaces_the_defaults() {
        let read = whang(r#"{"months": 12, "predicates": [0, 1], "form": "conjunctive"}"#).unwrap();
        assert_eq!((read.months, read.pairs), (12, WhangParameters::default().pairs));
        assert_eq!(read.predicates, [0.0, 1.0]);
    }

    #[test]
    fn wrong_names_and_values_are_refused() {
        for (given, message) in [
            (r#"{"month": 1}"#, "unknown parameter \"month\"; known: attribute_exponent, attributes"),
            (r#"{"months": "many"}"#, "the parameter months must be like 1, not \"many\""),
            (r#"{"months": 13}"#, "months must be from 1 to 12, not 13"),
            (r#"{"predicates": [0, 0]}"#, "predicates must be 1 to 1000 numbers of at least 0, not all 0"),
            (r#"{"copied": -0.5}"#, "copied must be from 0 to 1, not -0.5"),
        ] {
            let found = whang(given).unwrap_err();
            assert!(found.starts_with(message), "{found}");
        }
    }

    #[test]
    fn the_defaults_of_every_workload_are_named() {
        for name in super::super::NAMES {
            assert!(named_defaults(name, 1000).unwrap().contains_key("seed"), "{name}");
        }
    }
}
