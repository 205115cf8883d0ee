//! What day, moment or span of time does a text denote?
//!
//! The calendar is the proleptic Gregorian one, for years 1 to 9999; a day has 24 hours, a minute 60 seconds. Texts
//! are `YYYY-MM-DD`, then optionally `T` or a space and `HH:MM[:SS[.1 to 9 digits]]`, then optionally `Z` or an
//! offset. A [`TimeZone`](super::TimeZone) decides what a text without an offset means.

mod text;

pub use text::read_interval;
pub(super) use text::read_offset;

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// Nanoseconds of a second.
const SECOND: u32 = 1_000_000_000;

/// The first and the last day, counted from 1970-01-01.
const FIRST_DAY: i32 = -719_162;
const LAST_DAY: i32 = 2_932_896;

/// Seconds and nanoseconds; the latter are never negative.
// Packed, so that an event's value takes 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(Rust, packed(4))]
struct Seconds {
    seconds: i64,
    nanoseconds: u32,
}

/// Seconds and nanoseconds, normalised; `None` beyond 64 bits of seconds.
fn carried(seconds: i64, nanoseconds: i64) -> Option<Seconds> {
    let seconds = seconds.checked_add(nanoseconds.div_euclid(i64::from(SECOND)))?;
    Some(Seconds { seconds, nanoseconds: nanoseconds.rem_euclid(i64::from(SECOND)) as u32 })
}

impl Seconds {
    fn parts(self) -> (i64, u32) {
        (self.seconds, self.nanoseconds)
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * i128::from(SECOND) + i128::from(self.nanoseconds)
    }

    fn from_total(nanoseconds: i128) -> Option<Seconds> {
        let seconds = i64::try_from(nanoseconds.div_euclid(i128::from(SECOND))).ok()?;
        Some(Seconds { seconds, nanoseconds: nanoseconds.rem_euclid(i128::from(SECOND)) as u32 })
    }
}

/// A moment, the same everywhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Seconds);

/// A date and a time of day, which are a moment once a time zone is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalTime(Seconds);

/// A span of time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(Seconds);

/// A day of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

/// A year, a month and a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Civil {
    pub year: i32,
    pub month: u32,
    pub day: u32,
}

/// The meaning of a text about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// A day.
    Date(Date),
    /// A date and a time of day without an offset.
    Local(LocalTime),
    /// A moment.
    Moment(Timestamp),
}

impl Date {
    /// The first day.
    pub const FIRST: Date = Date(FIRST_DAY);

    /// The day this many days after 1970-01-01; `None` outside the years 1 to 9999.
    pub fn from_days(days: i64) -> Option<Date> {
        let days = i32::try_from(days).ok()?;
        (FIRST_DAY..=LAST_DAY).contains(&days).then_some(Date(days))
    }

    /// The day of a year, month and day; `None` if there is none.
    pub fn new(year: i32, month: u32, day: u32) -> Option<Date> {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            2 => 28 + u32::from(leap),
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        if !(1..=9999).contains(&year) || !(1..=length).contains(&day) {
            return None;
        }
        // Years begin in March here, so that the leap day is the last day of a year.
        let year = if month <= 2 { year - 1 } else { year };
        let months = (month as i32 + 9) % 12;
        let days = (153 * months + 2) / 5 + day as i32 - 1;
        Some(Date(
            365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + days - 719_468,
        ))
    }

    /// Days since 1970-01-01.
    #[inline]
    pub fn days(self) -> i32 {
        self.0
    }

    /// The day's year, month and day.
    pub fn civil(self) -> Civil {
        let days = i64::from(self.0) + 719_468;
        let era = days.div_euclid(146_097);
        let of_era = days.rem_euclid(146_097);
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let months = (5 * of_year + 2) / 153;
        let day = (of_year - (153 * months + 2) / 5 + 1) as u32;
        let month = if months < 10 { months + 3 } else { months - 9 } as u32;
        Civil { year: (year + era * 400) as i32 + i32::from(month <= 2), month, day }
    }

    /// 1 for Monday to 7 for Sunday.
    pub fn weekday(self) -> u32 {
        (self.0 + 3).rem_euclid(7) as u32 + 1
    }

    /// Its midnight.
    pub fn midnight(self) -> LocalTime {
        LocalTime(Seconds { seconds: i64::from(self.0) * DAY, nanoseconds: 0 })
    }
}

impl LocalTime {
    /// The time this many seconds and nanoseconds after the first midnight of 1970; `None` outside the years 1 to
    /// 9999.
    pub fn new(seconds: i64, nanoseconds: i64) -> Option<LocalTime> {
        let carried = carried(seconds, nanoseconds)?;
        Date::from_days(carried.seconds.div_euclid(DAY))?;
        Some(LocalTime(carried))
    }

    /// Seconds since the first midnight of 1970, and nanoseconds.
    #[inline]
    pub fn parts(self) -> (i64, u32) {
        self.0.parts()
    }

    /// Its day.
    pub fn date(self) -> Date {
        Date(self.parts().0.div_euclid(DAY) as i32)
    }

    /// Its hour, minute and second.
    pub fn clock(self) -> (u32, u32, u32) {
        let seconds = self.parts().0.rem_euclid(DAY) as u32;
        (seconds / 3600, seconds / 60 % 60, seconds % 60)
    }

    /// The moment of this local time at an offset of `offset` seconds from UTC.
    pub fn at(self, offset: i64) -> Timestamp {
        let (seconds, nanoseconds) = self.parts();
        Timestamp(Seconds { seconds: seconds - offset, nanoseconds })
    }
}

impl Timestamp {
    /// The first moment.
    pub const FIRST: Timestamp = Timestamp(Seconds { seconds: (FIRST_DAY as i64 - 1) * DAY, nanoseconds: 0 });

    /// The moment this many seconds and nanoseconds after 1970 began in UTC; `None` outside the years 1 to 9999,
    /// except for one more day at either end, which belongs to these years in other time zones.
    pub fn new(seconds: i64, nanoseconds: i64) -> Option<Timestamp> {
        let carried = carried(seconds, nanoseconds)?;
        let days = carried.seconds.div_euclid(DAY);
        (i64::from(FIRST_DAY) - 1..=i64::from(LAST_DAY) + 1).contains(&days).then_some(Timestamp(carried))
    }

    /// Seconds since 1970 began in UTC, and nanoseconds.
    #[inline]
    pub fn parts(self) -> (i64, u32) {
        self.0.parts()
    }

    /// The local time at an offset of `offset` seconds from UTC; `None` outside the years 1 to 9999.
    pub fn local(self, offset: i64) -> Option<LocalTime> {
        let (seconds, nanoseconds) = self.parts();
        LocalTime::new(seconds + offset, i64::from(nanoseconds))
    }

    /// The span from another moment to this one.
    pub fn since(self, other: Timestamp) -> Duration {
        let total = self.0.total() - other.0.total();
        Duration(Seconds::from_total(total).unwrap_or(Seconds { seconds: 0, nanoseconds: 0 }))
    }

    /// The moment a span later; `None` outside the years 1 to 9999.
    pub fn plus(self, span: Duration) -> Option<Timestamp> {
        let sum = Seconds::from_total(self.0.total().checked_add(span.0.total())?)?;
        Timestamp::new(sum.seconds, i64::from(sum.nanoseconds))
    }
}

impl Duration {
    /// The longest span backwards.
    pub const FIRST: Duration = Duration(Seconds { seconds: i64::MIN, nanoseconds: 0 });

    /// A span of seconds and nanoseconds; `None` beyond 64 bits of seconds.
    pub fn new(seconds: i64, nanoseconds: i64) -> Option<Duration> {
        carried(seconds, nanoseconds).map(Duration)
    }

    /// A span of nanoseconds.
    pub fn from_nanoseconds(nanoseconds: i128) -> Option<Duration> {
        Seconds::from_total(nanoseconds).map(Duration)
    }

    /// Seconds, and nanoseconds, which are never negative.
    #[inline]
    pub fn parts(self) -> (i64, u32) {
        self.0.parts()
    }

    /// All of it in nanoseconds.
    pub fn nanoseconds(self) -> i128 {
        self.0.total()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_each_other() {
        let mut expected = Civil { year: 1, month: 1, day: 1 };
        for days in FIRST_DAY..=LAST_DAY {
            let date = Date::from_days(i64::from(days)).unwrap();
            assert_eq!(date.civil(), expected);
            assert_eq!(Date::new(expected.year, expected.month, expected.day), Some(date));
            let Civil { year, month, day } = expected;
            expected = match (Date::new(year, month, day + 1), month) {
                (Some(_), _) => Civil { year, month, day: day + 1 },
                (None, 12) => Civil { year: year + 1, month: 1, day: 1 },
                (None, _) => Civil { year, month: month + 1, day: 1 },
            };
        }
        assert_eq!(expected.year, 10_000);
        assert_eq!(Date::new(1970, 1, 1).unwrap().weekday(), 4);
        assert_eq!(Date::new(2024, 2, 29).unwrap().days(), 19_782);
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (0, 1, 1),
            (10_000, 1, 1),
            (2024, 13, 1),
            (2024, 4, 31),
            (2024, 1, 0),
        ] {
            assert_eq!(Date::new(year, month, day), None);
        }
    }

    #[test]
    fn texts() {
        let moment = |text: &str| match Written::read(text) {
            Some(Written::Moment(moment)) => moment.parts(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(moment("1970-01-01T00:00Z"), (0, 0));
        assert_eq!(moment("1970-01-01 00:00:01.5Z"), (1, 500_000_000));
        assert_eq!(moment("2026-01-02T03:00:00.000000001+02:00"), (1_767_315_600, 1));
        assert_eq!(moment("2026-01-02T03:00+0200"), moment("2026-01-02T03:00+02"));
        assert_eq!(moment("2026-01-01T20:30-04:30"), moment("2026-01-02T01:00Z"));
        assert!(matches!(Written::read("2026-01-02"), Some(Written::Date(_))));
        assert!(matches!(Written::read("2026-01-02 03:04"), Some(Written::Local(_))));
        for text in [
            "",
            "2026",
            "2026-1-2",
            "2026-01-02T",
            "2026-01-02T3:00",
            "2026-01-02T24:00",
            "2026-01-02T23:60",
            "2026-01-02T23:59:60Z",
            "2026-01-02T03:00:00.",
            "2026-01-02T03:00:00.1234567890",
            "2026-01-02t03:00",
            "2026-01-02T03:00z",
            "2026-01-02Z",
            "2026-01-02T03:00 Z",
            "2026-01-02T03:00+",
            "2026-01-02T03:00+2",
            "2026-01-02T03:00+24:00",
            "2026-01-02T03:00+02:60",
            "2026/01/02",
            "0000-01-01",
            "2026-02-29",
            "2026-01-02T03:00:00,5Z",
            " 2026-01-02",
            "２026-01-02",
            "2026-01-02é03:00",
        ] {
            assert_eq!(Written::read(text), None, "{text}");
        }
    }

    #[test]
    fn moments_print_and_read_back() {
        for text in ["0001-01-01 00:00:00Z", "9999-12-31 23:59:59.999999999Z", "1969-12-31 23:59:59.25Z"] {
            let Some(Written::Moment(moment)) = Written::read(text) else { panic!("{text}") };
            assert_eq!(moment.to_string(), text);
        }
        for text in ["0001-01-01T00:00+23:59", "9999-12-31T23:59:59-23:59"] {
            let Some(Written::Moment(moment)) = Written::read(text) else { panic!("{text}") };
            assert_eq!(Written::read(&moment.to_string()), Some(Written::Moment(moment)));
            assert!(Timestamp::new(moment.parts().0, 0).is_some());
        }
    }

    #[test]
    fn intervals() {
        let printed = |text: &str| read_interval(text).map(|span| span.to_string());
        assert_eq!(printed("7 day").unwrap(), "7 day");
        assert_eq!(printed("1 week").unwrap(), "7 day");
        assert_eq!(printed("36 HOURS").unwrap(), "36 hour");
        assert_eq!(printed("1 day 12 hours").unwrap(), "36 hour");
        assert_eq!(printed("90 seconds").unwrap(), "90 second");
        assert_eq!(printed("1500 milliseconds").unwrap(), "1.5 second");
        assert_eq!(printed("-0.5 second").unwrap(), "-0.5 second");
        assert_eq!(printed("0 day").unwrap(), "0 second");
        assert_eq!(printed("0.5 day").unwrap(), "12 hour");
        for text in [
            "",
            "7",
            "day",
            "x day",
            "1 month",
            "2 years",
            "1 fortnight",
            "0.1 nanosecond",
            "1e30 day",
            "1e-50 day",
        ] {
            assert!(read_interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn arithmetic() {
        let at = |text: &str| match Written::read(text) {
            Some(Written::Moment(moment)) => moment,
            other => panic!("{other:?}"),
        };
        let (first, second) = (at("2026-01-02T00:00Z"), at("2026-01-01T23:59:59.5Z"));
        assert_eq!(first.since(second).to_string(), "0.5 second");
        assert_eq!(second.since(first).to_string(), "-0.5 second");
        assert_eq!(second.plus(first.since(second)), Some(first));
        assert_eq!(first.plus(Duration::new(400_000_000_000, 0).unwrap()), None);
    }
}
