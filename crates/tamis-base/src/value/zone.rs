//! What moment is a local time in a time zone?
//!
//! The rules of all time zones are compiled in, so that an index means the same on every machine.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::tz::{AmbiguousOffset, TimeZoneDatabase};

use super::ValueRef;
use super::time::{LocalTime, Timestamp, Written, read_offset};
use crate::error::{Error, Result};

/// The zone of times without an offset; UTC by default.
#[derive(Clone, Default)]
pub struct TimeZone(Option<Arc<Named>>);

struct Named {
    name: String,
    rules: jiff::tz::TimeZone,
}

impl TimeZone {
    /// The zone of a name such as `Europe/Paris`, or of an offset such as `+02:00`.
    pub fn named(name: &str) -> Result<TimeZone> {
        static DATABASE: OnceLock<TimeZoneDatabase> = OnceLock::new();
        if name.eq_ignore_ascii_case("UTC") || name == "Z" {
            return Ok(TimeZone(None));
        }
        let rules = match read_offset(name.as_bytes()) {
            Some(seconds) => {
                let offset = jiff::tz::Offset::from_seconds(seconds as i32).ok();
                offset.map(jiff::tz::TimeZone::fixed)
            }
            None => DATABASE.get_or_init(TimeZoneDatabase::bundled).get(name).ok(),
        };
        let rules = rules.ok_or_else(|| {
            Error::expression(format!(
                "there is no time zone `{}`; they have names such as `UTC`, `Europe/Paris` or `+02:00`",
                crate::error::shorten(name)
            ))
        })?;
        let name = rules.iana_name().unwrap_or(name).to_owned();
        Ok(TimeZone(Some(Arc::new(Named { name, rules }))))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("UTC", |zone| &zone.name)
    }

    /// The moment of this local time: the earlier one if it occurs twice; if it is skipped, the one by the offset
    /// before.
    pub fn moment(&self, local: LocalTime) -> Timestamp {
        let Some(zone) = &self.0 else { return local.at(0) };
        let offset = zone.rules.to_ambiguous_timestamp(civil(local)).offset();
        let (AmbiguousOffset::Unambiguous { offset: before }
        | AmbiguousOffset::Gap { before, .. }
        | AmbiguousOffset::Fold { before, .. }) = offset;
        local.at(i64::from(before.seconds()))
    }

    /// The local time at a moment; `None` outside the years 1 to 9999.
    pub fn local(&self, moment: Timestamp) -> Option<LocalTime> {
        let Some(zone) = &self.0 else { return moment.local(0) };
        // Outside the range of the database, the rules at its ends apply.
        let (first, last) = (jiff::Timestamp::MIN.as_second(), jiff::Timestamp::MAX.as_second());
        let known = jiff::Timestamp::from_second(moment.parts().0.clamp(first, last)).unwrap_or_default();
        moment.local(i64::from(zone.rules.to_offset(known).seconds()))
    }

    /// The moment of a value: of a timestamp, of the midnight of a date, or of a text;
    /// `None` for other values.
    pub fn moment_of(&self, value: ValueRef<'_>) -> Option<Timestamp> {
        match value {
            ValueRef::Timestamp(moment) => Some(moment),
            ValueRef::Local(local) => Some(self.moment(local)),
            ValueRef::Date(date) => Some(self.moment(date.midnight())),
            ValueRef::String(text) => match self.read(text)? {
                ValueRef::Date(date) => Some(self.moment(date.midnight())),
                ValueRef::Timestamp(moment) => Some(moment),
                _ => None,
            },
            _ => None,
        }
    }

    /// The date or timestamp that a text denotes; `None` if it denotes none.
    pub fn read(&self, text: &str) -> Option<ValueRef<'static>> {
        Some(match Written::read(text)? {
            Written::Date(date) => ValueRef::Date(date),
            Written::Local(local) => ValueRef::Timestamp(self.moment(local)),
            Written::Moment(moment) => ValueRef::Timestamp(moment),
        })
    }
}

fn civil(local: LocalTime) -> jiff::civil::DateTime {
    let (date, (hour, minute, second)) = (local.date().civil(), local.clock());
    let [month, day, hour, minute, second] =
        [date.month, date.day, hour, minute, second].map(|part| part as i8);
    jiff::civil::DateTime::constant(
        date.year as i16,
        month,
        day,
        hour,
        minute,
        second,
        local.parts().1 as i32,
    )
}

impl PartialEq for TimeZone {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for TimeZone {}

impl fmt::Debug for TimeZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeZone({})", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(zone: &str, text: &str) -> String {
        let zone = TimeZone::named(zone).unwrap();
        zone.moment_of(ValueRef::String(text)).map_or("none".into(), |moment| moment.to_string())
    }

    #[test]
    fn times_without_an_offset_are_local() {
        assert_eq!(moment("UTC", "2026-01-02 05:00"), "2026-01-02 05:00:00Z");
        assert_eq!(moment("Europe/Paris", "2026-01-02 05:00"), "2026-01-02 04:00:00Z");
        assert_eq!(moment("Europe/Paris", "2026-07-02"), "2026-07-01 22:00:00Z");
        assert_eq!(moment("Europe/Paris", "2026-07-02T00:00Z"), "2026-07-02 00:00:00Z");
        assert_eq!(moment("+05:30", "2026-07-02"), "2026-07-01 18:30:00Z");
        // Repeated: the earlier. Skipped: the offset before.
        assert_eq!(moment("Europe/Paris", "2026-10-25 02:30"), "2026-10-25 00:30:00Z");
        assert_eq!(moment("Europe/Paris", "2026-03-29 02:30"), "2026-03-29 01:30:00Z");
        assert_eq!(moment("America/New_York", "9999-12-31 23:59"), "9999-12-31 05:00:00-23:59");
        assert_eq!(moment("Europe/Paris", "9999-07-01 02:00"), "9999-07-01 00:00:00Z");
        assert_eq!(moment("UTC", "yesterday"), "none");
    }

    #[test]
    fn moments_are_shown_as_local_time() {
        let paris = TimeZone::named("europe/paris").unwrap();
        assert_eq!(paris.name(), "Europe/Paris");
        for text in
            ["0001-01-02 00:00:00", "1969-07-20 12:00:00", "2026-07-02 00:00:00", "9999-12-31 23:59:59"]
        {
            let moment = paris.moment_of(ValueRef::String(text)).unwrap();
            assert_eq!(paris.local(moment).unwrap().to_string(), text);
        }
        assert!(TimeZone::named("Europe/Atlantis").unwrap_err().to_string().contains("Europe/Atlantis"));
        for name in ["", "../etc/passwd", "Europe", "+25:00"] {
            assert!(TimeZone::named(name).is_err(), "{name}");
        }
    }
}
