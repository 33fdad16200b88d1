//! The outcome of a check, and the group that the check belongs to.

use std::fmt;

use terrace_base::untrusted;

use crate::http::ProbeError;

/// The most characters of a text of an outcome: enough for a sentence and a quoted value, so that a server cannot fill
/// the terminal.
const TEXT_CHARS: usize = 400;

/// A group of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    Local,
    Transport,
    Discovery,
    Clocks,
    Access,
    Providers,
    Modules,
    Oci,
    Downloads,
    Edge,
    Storage,
    Indices,
    Upstream,
    Versions,
}

impl Group {
    /// All groups, in the order of the output.
    pub(super) const ALL: [Self; 14] = [
        Self::Local,
        Self::Transport,
        Self::Discovery,
        Self::Clocks,
        Self::Access,
        Self::Providers,
        Self::Modules,
        Self::Oci,
        Self::Downloads,
        Self::Edge,
        Self::Storage,
        Self::Indices,
        Self::Upstream,
        Self::Versions,
    ];

    /// Returns the letter that the IDs of its checks begin with.
    pub(super) fn letter(self) -> &'static str {
        match self {
            Self::Local => "L",
            Self::Transport => "T",
            Self::Discovery => "S",
            Self::Clocks => "C",
            Self::Access => "A",
            Self::Providers => "P",
            Self::Modules => "M",
            Self::Oci => "O",
            Self::Downloads => "D",
            Self::Edge => "W",
            Self::Storage => "R",
            Self::Indices => "K",
            Self::Upstream => "U",
            Self::Versions => "V",
        }
    }

    /// Returns the heading of its checks.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Local => "This machine",
            Self::Transport => "Connection",
            Self::Discovery => "Discovery",
            Self::Clocks => "Clocks",
            Self::Access => "Access",
            Self::Providers => "Providers",
            Self::Modules => "Modules",
            Self::Oci => "OCI",
            Self::Downloads => "Downloads",
            Self::Edge => "Edge",
            Self::Storage => "Configuration and storage",
            Self::Indices => "Indices",
            Self::Upstream => "Other services",
            Self::Versions => "Versions",
        }
    }
}

/// The kind of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Pass,
    Skip,
    Warn,
    Fail,
}

impl Status {
    /// Returns the word for programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Skip => "skip",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// The outcome of a check. Its texts are printable, short, and without the queries of URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) status: Status,
    /// The observed facts; for a skipped check, the reason.
    pub(super) observed: String,
    /// The likely cause of a problem; otherwise empty.
    pub(super) cause: String,
    /// The action against a problem; otherwise empty.
    pub(super) fix: String,
}

impl Outcome {
    pub(super) fn pass(observed: impl fmt::Display) -> Self {
        Self::new(Status::Pass, observed, "", "")
    }

    pub(super) fn skip(reason: impl fmt::Display) -> Self {
        Self::new(Status::Skip, reason, "", "")
    }

    /// Returns the outcome of a check that cannot be made because another one failed.
    pub(super) fn skip_after(failed: &'static str) -> Self {
        Self::skip(format!("{failed} failed"))
    }

    pub(super) fn warn(
        observed: impl fmt::Display,
        cause: impl fmt::Display,
        fix: impl fmt::Display,
    ) -> Self {
        Self::new(Status::Warn, observed, cause, fix)
    }

    pub(super) fn fail(
        observed: impl fmt::Display,
        cause: impl fmt::Display,
        fix: impl fmt::Display,
    ) -> Self {
        Self::new(Status::Fail, observed, cause, fix)
    }

    /// Judges the lack of a response: a fault, unless the server only limits the rate of requests.
    pub(super) fn unanswered(
        error: &ProbeError,
        cause: impl fmt::Display,
        fix: impl fmt::Display,
    ) -> Self {
        match error {
            ProbeError::Limited(_) => Self::skip(error),
            _ => Self::fail(error, cause, fix),
        }
    }

    /// Judges a status of 500 and above, which says nothing about the subject of a check.
    pub(super) fn outage(status: u16, path: &str) -> Self {
        Self::fail(
            format!("the registry answers {status} for {path}"),
            "an outage: the registry, its storage or a proxy in front of it fails",
            "look at the registry's log for this path, and at cloudflarestatus.com; then run the command again",
        )
    }

    fn new(
        status: Status,
        observed: impl fmt::Display,
        cause: impl fmt::Display,
        fix: impl fmt::Display,
    ) -> Self {
        Self {
            status,
            observed: printable(&observed.to_string()),
            cause: printable(&cause.to_string()),
            fix: printable(&fix.to_string()),
        }
    }

    pub(super) fn is_problem(&self) -> bool {
        self.status >= Status::Warn
    }
}

/// Returns a number of days.
pub(super) fn days(count: u64) -> String {
    match count {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        count => format!("{count} days"),
    }
}

/// Returns a text in printable form, of limited length, and without the queries of its URLs.
fn printable(text: &str) -> String {
    let words = text
        .split_whitespace()
        .map(|word| match word.split_once('?') {
            Some((url, query)) if url.contains("://") && !query.is_empty() => format!("{url}?…"),
            _ => word.to_owned(),
        });
    let text = words.collect::<Vec<_>>().join(" ");
    untrusted::line(&text).at_most(TEXT_CHARS).to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_text_has_no_query_no_escape_and_a_limit() {
        let text = "see https://r2.example.com/a.zip?X-Amz-Signature=5ecre7 now\x1b[2J\n";
        let shown = Outcome::skip(text).observed;
        assert_eq!(shown, "see https://r2.example.com/a.zip?… now\\u{1b}[2J");
        let long = Outcome::skip("a".repeat(1_000_000)).observed;
        assert!(long.chars().count() < 2 * TEXT_CHARS, "{}", long.len());
        assert_eq!(Outcome::skip("does it work?").observed, "does it work?");
    }

    #[test]
    fn a_limited_rate_is_no_fault() {
        let limited = ProbeError::Limited(Some(Duration::from_secs(30)));
        let outcome = Outcome::unanswered(&limited, "cause", "fix");
        assert_eq!((outcome.status, outcome.fix.as_str()), (Status::Skip, ""));
        for part in ["429", "wait 30 s", "--only"] {
            assert!(outcome.observed.contains(part), "{part}: {outcome:?}");
        }
        let broken = ProbeError::Unreachable("no response in time".to_owned());
        assert_eq!(Outcome::unanswered(&broken, "c", "f").status, Status::Fail);
    }
}
