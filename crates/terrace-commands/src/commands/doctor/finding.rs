//! The results of checks.

use std::fmt::Display;

use terrace_base::untrusted;

use super::explanation::explanation;
use crate::http::ProbeError;
use crate::output::Mark;

/// The most characters of a text: enough for a sentence and a quoted value, so that a server cannot fill the terminal.
const TEXT_CHARS: usize = 400;

/// The observed facts if a check passes, or a fact that checks need; otherwise what was found instead.
pub(super) type Judged<T = String> = Result<T, Finding>;

/// The result of a check. Its texts are printable, short, and without the queries of URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) mark: Mark,
    /// The observed facts; for a skipped check, the reason.
    pub(super) observed: String,
    /// The cause of the problem and the action against it, unless they are those that `explain.txt` has for the check.
    special: Option<[&'static str; 2]>,
    /// The check that reports it; `None` for the one that has found it.
    reporter: Option<&'static str>,
}

impl Finding {
    pub(super) fn pass(observed: impl Display) -> Self {
        Self::new(Mark::Passed, observed)
    }

    pub(super) fn skip(reason: impl Display) -> Self {
        Self::new(Mark::Skipped, reason)
    }

    pub(super) fn warn(observed: impl Display) -> Self {
        Self::new(Mark::Warning, observed)
    }

    pub(super) fn fail(observed: impl Display) -> Self {
        Self::new(Mark::Failed, observed)
    }

    /// Judges the lack of a response: a fault, unless the server only limits the rate of requests.
    pub(super) fn unanswered(error: ProbeError) -> Self {
        match error {
            ProbeError::Limited => Self::skip(error),
            _ => Self::fail(error),
        }
    }

    fn new(mark: Mark, observed: impl Display) -> Self {
        Self {
            mark,
            observed: printable(&observed.to_string()),
            special: None,
            reporter: None,
        }
    }

    /// States the cause of this finding and the action against it, in place of those that the check usually has.
    pub(super) fn because(self, cause: &'static str, fix: &'static str) -> Self {
        Self {
            special: Some([cause, fix]),
            ..self
        }
    }

    /// Returns the cause and the action, as the result of the check with this ID.
    pub(super) fn cause_and_fix(&self, id: &str) -> [&'static str; 2] {
        let usual = || explanation(id).map(|[_, cause, fix]| [cause, fix]);
        self.special.or_else(usual).unwrap_or_default()
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
        self.mark >= Mark::Warning
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
    use super::*;

    #[test]
    fn a_text_has_no_query_no_escape_and_a_limit() {
        let text = "see https://r2.example.com/a.zip?X-Amz-Signature=5ecre7 now\x1b[2J\n";
        let shown = Finding::skip(text).observed;
        assert_eq!(shown, "see https://r2.example.com/a.zip?… now\\u{1b}[2J");
        let long = Finding::skip("a".repeat(1_000_000)).observed;
        assert!(long.chars().count() < 2 * TEXT_CHARS, "{}", long.len());
    }
}
