//! Timestamps, and the three formats in which they are written.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Seconds since 1970-01-01T00:00:00Z. Documents store the number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixTime(pub u64);

/// A timestamp split into the parts of the Gregorian calendar, in UTC.
struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

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

    /// Returns the date as in a SigV4 credential scope: `20130524`.
    pub fn date_stamp(self) -> String {
        let Civil {
            year, month, day, ..
        } = self.civil();
        format!("{year:04}{month:02}{day:02}")
    }

    /// Returns the timestamp as in `X-Amz-Date`: `20130524T000000Z`.
    pub fn amz_date(self) -> String {
        let Civil {
            hour,
            minute,
            second,
            ..
        } = self.civil();
        format!("{}T{hour:02}{minute:02}{second:02}Z", self.date_stamp())
    }

    /// Converts days to a date with Howard Hinnant's `civil_from_days`, for days since 1970 only:
    /// <https://howardhinnant.github.io/date_algorithms.html>.
    fn civil(self) -> Civil {
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
        Civil {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: self.0 % 86_400 / 3_600,
            minute: self.0 % 3_600 / 60,
            second: self.0 % 60,
        }
    }
}

impl fmt::Display for UnixTime {
    /// Writes the timestamp as in RFC 3339: `2013-05-24T00:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Civil {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self.civil();
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        }
        assert_eq!(UnixTime(1_440_938_160).amz_date(), "20150830T123600Z");
    }
}
