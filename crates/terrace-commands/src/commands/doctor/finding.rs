//! The results of checks.

use std::fmt::Display;

use terrace_base::untrusted;

use crate::http::ProbeError;

/// The most characters of a text: enough for a sentence and a quoted value, so that a server cannot fill the terminal.
const TEXT_CHARS: usize = 400;

/// The observed facts if a check passes, or a fact that checks need; otherwise what was found instead.
pub(super) type Judged<T = String> = Result<T, Finding>;

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    Pass,
    Skip,
    Warn,
    Fail,
}

/// The result of a check. Its texts are printable, short, and without the queries of URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) status: Status,
    /// The observed facts; for a skipped check, the reason.
    pub(super) observed: String,
    /// The likely cause of a problem; otherwise empty.
    pub(super) cause: String,
    /// The action against a problem; otherwise empty.
    pub(super) fix: String,
    /// The check that reports it; `None` for the one that has found it.
    reporter: Option<&'static str>,
}

impl Finding {
    pub(super) fn pass(observed: impl Display) -> Self {
        Self::new(Status::Pass, observed, "", "")
    }

    pub(super) fn skip(reason: impl Display) -> Self {
        Self::new(Status::Skip, reason, "", "")
    }

    pub(super) fn warn(observed: impl Display, cause: impl Display, fix: impl Display) -> Self {
        Self::new(Status::Warn, observed, cause, fix)
    }

    pub(super) fn fail(observed: impl Display, cause: impl Display, fix: impl Display) -> Self {
        Self::new(Status::Fail, observed, cause, fix)
    }

    /// Judges the lack of a response: a fault, unless the server only limits the rate of requests.
    pub(super) fn unanswered(error: &ProbeError, cause: impl Display, fix: impl Display) -> Self {
        match error {
            ProbeError::Limited(_) => Self::skip(error),
            _ => Self::fail(error, cause, fix),
        }
    }

    fn new(status: Status, observed: impl Display, cause: impl Display, fix: impl Display) -> Self {
        Self {
            status,
            observed: printable(&observed.to_string()),
            cause: printable(&cause.to_string()),
            fix: printable(&fix.to_string()),
            reporter: None,
        }
    }

    /// Lets the check with this ID report the finding, if no other one does.
    pub(super) fn reported_by(mut self, id: &'static str) -> Self {
        self.reporter.get_or_insert(id);
        self
    }

    /// Returns the result of the check with this ID, which is skipped if another one reports the finding.
    pub(super) fn seen_by(self, id: &str) -> Self {
        match self.reporter {
            Some(reporter) if reporter != id && self.is_problem() => {
                Self::skip(format!("{reporter} failed"))
            }
            _ => self,
        }
    }

    pub(super) fn is_problem(&self) -> bool {
        self.status >= Status::Warn
    }
}

impl From<ProbeError> for Finding {
    /// A check without a response says nothing.
    fn from(error: ProbeError) -> Self {
        Self::skip(error)
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
        let shown = Finding::skip(text).observed;
        assert_eq!(shown, "see https://r2.example.com/a.zip?… now\\u{1b}[2J");
        let long = Finding::skip("a".repeat(1_000_000)).observed;
        assert!(long.chars().count() < 2 * TEXT_CHARS, "{}", long.len());
        assert_eq!(Finding::skip("does it work?").observed, "does it work?");
    }

    #[test]
    fn a_limited_rate_is_no_fault() {
        let limited = ProbeError::Limited(Some(Duration::from_secs(30)));
        let finding = Finding::unanswered(&limited, "cause", "fix");
        assert_eq!((finding.status, finding.fix.as_str()), (Status::Skip, ""));
        for part in ["429", "wait 30 s", "--only"] {
            assert!(finding.observed.contains(part), "{part}: {finding:?}");
        }
        let broken = ProbeError::Unreachable("no response in time".to_owned());
        assert_eq!(Finding::unanswered(&broken, "c", "f").status, Status::Fail);
    }

    #[test]
    fn a_finding_is_reported_by_one_check() {
        let finding = Finding::fail("o", "c", "f")
            .reported_by("S1")
            .reported_by("P1");
        assert_eq!(finding.clone().seen_by("S1"), finding);
        assert_eq!(finding.seen_by("P1"), Finding::skip("S1 failed"));
    }
}
