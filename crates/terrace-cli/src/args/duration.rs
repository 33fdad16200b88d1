//! Durations on the command line.

use std::time::Duration;

/// Parses a duration such as `24h`. For a number without a unit, the error suggests `unit`.
pub(super) fn parse(text: &str, unit: char) -> Result<Duration, String> {
    let advice = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("the unit is missing: write {text}{unit}")
    } else {
        "write a number with a unit, such as 24h or 90d".to_owned()
    };
    humantime::parse_duration(text).map_err(|_| advice)
}

/// Parses a duration that is most likely meant in days.
pub(super) fn in_days(text: &str) -> Result<Duration, String> {
    parse(text, 'd')
}

/// Parses a duration that is most likely meant in hours.
pub(super) fn in_hours(text: &str) -> Result<Duration, String> {
    parse(text, 'h')
}

/// Parses a duration that is most likely meant in minutes.
pub(super) fn in_minutes(text: &str) -> Result<Duration, String> {
    parse(text, 'm')
}

/// Parses a duration that is most likely meant in seconds.
pub(super) fn in_seconds(text: &str) -> Result<Duration, String> {
    parse(text, 's')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_duration_suggests_a_valid_one() {
        assert_eq!(in_days("1day 2h"), Ok(Duration::from_secs(26 * 3600)));
        assert_eq!(
            in_days("90"),
            Err("the unit is missing: write 90d".to_owned())
        );
        assert_eq!(
            in_hours("24"),
            Err("the unit is missing: write 24h".to_owned())
        );
        for text in [
            "yesterday",
            "",
            "h",
            "1 fortnight",
            "99999999999999999999y",
            "-1d",
        ] {
            let error = in_hours(text).unwrap_err();
            assert!(error.contains("24h"), "{text}: {error}");
        }
    }
}
