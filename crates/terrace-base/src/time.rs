//! Timestamps, and the three formats in which they are written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Seconds since 1970-01-01T00:00:00Z. Documents store the number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixTime(pub u64);

impl UnixTime {
    /// Adds `seconds` to this timestamp.
    #[must_use]
    pub fn plus(self, seconds: u32) -> Self {
        Self(self.0.saturating_add(u64::from(seconds)))
    }

    /// Returns the seconds that have passed since an earlier timestamp, or 0 if `earlier` is not earlier.
    pub fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Parses a timestamp in UTC as in RFC 3339, since 1970: `2013-05-24T00:00:00Z`, possibly with a fraction of a second,
    /// which is dropped; `None` for any other text.
    pub fn parse_utc(text: &str) -> Option<Self> {
        let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
        let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
        if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
        let is_date = year >= 1970 && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !is_date || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        // Howard Hinnant's `days_from_civil`: the inverse of `civil`.
        let year = year - u64::from(month <= 2);
        let (era, year_of_era) = (year / 400, year % 400);
        let shifted_month = (month + 9) % 12;
        let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
        Some(Self(days * 86_400 + hour * 3_600 + minute * 60 + second))
    }

    /// Returns the date as in a SigV4 credential scope: `20130524`.
    pub fn date_stamp(self) -> String {
        let [year, month, day, ..] = self.civil();
        format!("{year:04}{month:02}{day:02}")
    }

    /// Returns the timestamp as in `X-Amz-Date`: `20130524T000000Z`.
    pub fn amz_date(self) -> String {
        let [_, _, _, hour, minute, second] = self.civil();
        format!("{}T{hour:02}{minute:02}{second:02}Z", self.date_stamp())
    }

    /// Returns the year, month, day, hour, minute and second in UTC. Converts days to a date with Howard Hinnant's `civil_from_days`, for days since 1970 only:
    /// <https://howardhinnant.github.io/date_algorithms.html>.
    fn civil(self) -> [u64; 6] {
        let days = self.0 / 86_400 + 719_468;
        let era = days / 146_097;
        let day_of_era = days % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + u64::from(month <= 2);
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let time = [self.0 % 86_400 / 3_600, self.0 % 3_600 / 60, self.0 % 60];
        let [hour, minute, second] = time;
        [year, month, day, hour, minute, second]
    }
}

/// Parses numbers of these lengths between separators.
fn numbers<const N: usize>(text: &str, separator: char, lengths: [usize; N]) -> Option<[u64; N]> {
    let mut parts = text.split(separator);
    let mut numbers = [0; N];
    for (number, length) in numbers.iter_mut().zip(lengths) {
        let part = parts.next()?;
        if part.len() != length || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(numbers)
}

impl fmt::Display for UnixTime {
    /// Writes the timestamp as in RFC 3339: `2013-05-24T00:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [year, month, day, hour, minute, second] = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

/// Describes a duration in the largest unit that divides it, such as `365d` or `12h`.
pub fn in_largest_unit(seconds: u64) -> String {
    let units = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m")];
    let divides = |(unit, _): &&(u64, &str)| seconds > 0 && seconds.is_multiple_of(*unit);
    match units.iter().find(divides) {
        Some((unit, name)) => format!("{}{name}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_described_in_its_largest_unit() {
        for (seconds, text) in [
            (31_536_000, "365d"),
            (43_200, "12h"),
            (60, "1m"),
            (90, "90s"),
            (0, "0s"),
        ] {
            assert_eq!(in_largest_unit(seconds), text);
        }
    }

    #[test]
    fn dates_match_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_369_353_600, "2013-05-24T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
        ] {
            assert_eq!(UnixTime(seconds).to_string(), text);
            assert_eq!(UnixTime::parse_utc(text), Some(UnixTime(seconds)));
        }
        assert_eq!(UnixTime(1_440_938_160).amz_date(), "20150830T123600Z");
    }

    #[test]
    fn only_timestamps_in_utc_since_1970_are_parsed() {
        let fraction = UnixTime::parse_utc("1970-01-01T00:00:01.999999999Z");
        assert_eq!(fraction, Some(UnixTime(1)));
        for text in [
            "",
            "Z",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-01-01T00:00:00+01:00",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.xZ",
            "1970-1-01T00:00:00Z",
            "1970-00-01T00:00:00Z",
            "1970-13-01T00:00:00Z",
            "1970-01-32T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:60:00Z",
            "1970-01-01T00:00:00:00Z",
            "1969-12-31T23:59:59Z",
            "+970-01-01T00:00:00Z",
        ] {
            assert_eq!(UnixTime::parse_utc(text), None, "{text}");
        }
    }
}
