//! Durations on the command line.

use std::time::Duration;

/// The seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The days of a year: the leap day of four years is not spread, so that `1y` is not longer than a limit of 365 days.
const YEAR: u64 = 365;

/// The most time that a request may be given. More than this machine's clock can add would be a panic.
const REQUEST_TIME: Duration = Duration::from_secs(60 * 60);

/// The units that mean years. `humantime` takes one for 365.25 days.
const YEARS: [&str; 5] = ["y", "yr", "yrs", "year", "years"];

/// Parses a duration such as `24h`. For a number without a unit, the error suggests `unit`.
pub(crate) fn parse(text: &str, unit: char) -> Result<Duration, String> {
    let advice = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("the unit is missing: write {text}{unit}")
    } else {
        "write a number with a unit, such as 24h or 90d".to_owned()
    };
    match years(text) {
        Some(duration) => Ok(duration),
        None => humantime::parse_duration(text).map_err(|_| advice),
    }
}

/// Parses a number of whole years.
fn years(text: &str) -> Option<Duration> {
    let text = text.trim();
    let start = text.find(|char: char| !char.is_ascii_digit())?;
    let (number, unit) = text.split_at(start);
    let number: u64 = number.parse().ok()?;
    let seconds = number.checked_mul(YEAR * DAY)?;
    YEARS
        .contains(&unit.trim_start())
        .then(|| Duration::from_secs(seconds))
}

/// Parses a duration that is most likely meant in days.
pub(crate) fn in_days(text: &str) -> Result<Duration, String> {
    parse(text, 'd')
}

/// Parses a duration that is most likely meant in hours.
pub(crate) fn in_hours(text: &str) -> Result<Duration, String> {
    parse(text, 'h')
}

/// Parses a duration that is most likely meant in minutes.
pub(crate) fn in_minutes(text: &str) -> Result<Duration, String> {
    parse(text, 'm')
}

/// Parses the time for a request, which is most likely meant in seconds.
pub(crate) fn of_request(text: &str) -> Result<Duration, String> {
    let time = parse(text, 's')?;
    match !time.is_zero() && time <= REQUEST_TIME {
        true => Ok(time),
        false => Err("give more than 0s, and at most 1h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_year_has_365_days_and_the_error_of_a_duration_suggests_a_valid_one() {
        for text in ["1y", "1 year"] {
            assert_eq!(in_days(text), Ok(Duration::from_secs(365 * 86_400)));
        }
        assert_eq!(in_days("1day 2h"), Ok(Duration::from_secs(26 * 3600)));
        assert!(in_days("90").unwrap_err().ends_with("write 90d"));
        for text in ["yesterday", "", "h", "99999999999999999999y", "-1d"] {
            let error = in_hours(text).unwrap_err();
            assert!(error.contains("24h"), "{text}: {error}");
        }
    }
}
