//! Group C: the clocks of the registry and of its storage, compared with that of this machine. Signed URLs, tokens and
//! certificates depend on them.

use terrace_base::time::UnixTime;

use super::downloads::archives;
use super::outcome::Outcome;
use super::target::{DISCOVERY, Target};
use crate::clock;
use crate::http::Seen;

/// The difference that is no problem, in seconds. URLs are valid for minutes, and Google and S3 allow 15 of them.
const MOST_SECONDS: u64 = 60;

/// C1
pub(super) fn of_registry(target: &Target) -> Outcome {
    match target.probe.send(&target.get(DISCOVERY)) {
        Ok(seen) => judge(&seen),
        Err(error) => Outcome::skip(error),
    }
}

/// C2
pub(super) fn of_storage(target: &Target) -> Outcome {
    let archives = match archives(target) {
        Ok(archives) => archives,
        Err(outcome) => return outcome,
    };
    let Some(archive) = archives.iter().find(|archive| !archive.is_own(target)) else {
        return Outcome::skip("archives come from the registry itself");
    };
    match archive.head(target) {
        Ok(seen) => judge(&seen),
        Err(error) => Outcome::skip(error),
    }
}

fn judge(seen: &Seen) -> Outcome {
    let Some(theirs) = seen.header("date").and_then(http_date) else {
        return Outcome::skip("the response has no Date");
    };
    let ours = clock::now();
    let difference = theirs.0.abs_diff(ours.0);
    let word = if theirs > ours { "ahead" } else { "behind" };
    match difference {
        0..=MOST_SECONDS => Outcome::pass(format!("{difference} s")),
        _ => Outcome::fail(
            format!("the server's clock is {difference} s {word} of this machine's"),
            "one of the clocks is wrong, so that URLs and tokens are expired early or not valid yet",
            "synchronise the clock of this machine, or that of the server, with NTP",
        ),
    }
}

/// Parses a date as servers send it (RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
fn http_date(text: &str) -> Option<UnixTime> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, text) = text.split_once(", ")?;
    let mut words = text.strip_suffix(" GMT")?.split(' ');
    let (day, month, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let time = words.next()?;
    UnixTime::parse_utc(&format!("{year}-{month:02}-{day}T{time}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_date_of_a_response_is_read() {
        let date = http_date("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date, UnixTime::parse_utc("1994-11-06T08:49:37Z"));
        for text in [
            "",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "06 Nov 1994",
            "Sun, 06 Foo 1994 08:49:37 GMT",
        ] {
            assert_eq!(http_date(text), None, "{text}");
        }
    }
}
