//! The CI job that published a release, as its CI system described it in a signed token.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::commit::CommitId;
use crate::model::source_url::SourceUrl;
use terrace_base::json;
use terrace_base::untrusted::is_unprintable;

/// The verified claims of a job. Each is absent if the token of the job's CI system does not have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// The issuer of the job's token, which vouches for all other claims.
    pub issuer: ClaimText,
    /// The repository to which the job belongs, as the issuer names it, such as `acme/widget`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<ClaimText>,
    /// The URL of that repository, if it follows from the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<SourceUrl>,
    /// The commit for which the job was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The branch or tag for which the job was started.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<ClaimText>,
    /// The workflow that contains the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<ClaimText>,
    /// The ID of the workflow's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<ClaimText>,
}

/// The value of a claim: one printable line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimText(String);

/// The error for a text that is not the value of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "a claim must be one printable line of 1 to {} bytes",
    limits::CLAIM_BYTES
)]
pub struct ClaimTextError;

/// A [`Provenance`] as one line of JSON, the form in which a token has it. It is parsed only by requests that
/// need it, so that reads with such a token cost nothing more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenanceText(String);

impl Provenance {
    /// Returns the text for a token. Claims are left out, the least useful ones first, until the text fits;
    /// none is shortened, because a part of a name may be another name. `None` if the issuer alone is too
    /// long.
    pub fn to_text(&self) -> Option<ProvenanceText> {
        const LEAVE_OUT: [fn(&mut Provenance); 5] = [
            |it| it.workflow = None,
            |it| it.reference = None,
            |it| it.run = None,
            |it| it.url = None,
            |it| it.repository = None,
        ];
        let mut kept = self.clone();
        let mut further = LEAVE_OUT.iter();
        loop {
            let text = json::to_string(&kept);
            if text.len() <= limits::PROVENANCE_BYTES {
                return Some(ProvenanceText(text));
            }
            further.next()?(&mut kept);
        }
    }
}

impl ProvenanceText {
    /// Returns the last line of a verified token; `None` if it is empty.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        (!line.is_empty()).then(|| Self(line.to_owned()))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the claims; `None` if another version of Terrace wrote them in a form that this one does not
    /// know.
    pub fn parse(&self) -> Option<Provenance> {
        serde_json::from_slice(self.0.as_bytes()).ok()
    }
}

/// Names the job, such as `workflow W of repository R at commit C`.
impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.workflow {
            Some(workflow) => write!(f, "workflow {workflow}")?,
            None => f.write_str("a job")?,
        }
        match (&self.url, &self.repository) {
            (Some(url), _) => write!(f, " of repository {url}")?,
            (None, Some(repository)) => {
                write!(f, " of repository {repository} of {}", self.issuer)?;
            }
            (None, None) => write!(f, " of {}", self.issuer)?,
        }
        match &self.commit {
            Some(commit) => write!(f, " at commit {commit}"),
            None => Ok(()),
        }
    }
}

impl ClaimText {
    /// Returns the value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ClaimText {
    type Err = ClaimTextError;

    fn from_str(text: &str) -> Result<Self, ClaimTextError> {
        let is_line =
            (1..=limits::CLAIM_BYTES).contains(&text.len()) && !text.chars().any(is_unprintable);
        is_line.then(|| Self(text.to_owned())).ok_or(ClaimTextError)
    }
}

crate::model::text_display!(ClaimText);

terrace_base::text_serde!(ClaimText);

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    pub(crate) const COMMIT: &str = "0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d";

    pub(crate) fn provenance() -> Provenance {
        let claim = |text: &str| Some(text.parse().unwrap());
        Provenance {
            issuer: "https://token.actions.githubusercontent.com"
                .parse()
                .unwrap(),
            repository: claim("acme/widget"),
            url: "https://github.com/acme/widget".parse().ok(),
            commit: COMMIT.parse().ok(),
            reference: claim("refs/tags/v1.2.3"),
            workflow: claim("acme/widget/.github/workflows/release.yml@refs/tags/v1.2.3"),
            run: claim("4242"),
        }
    }

    #[test]
    fn the_text_in_tokens_and_releases_is_pinned() {
        let text = provenance().to_text().unwrap();
        assert_pinned(
            text.as_str(),
            &format!(
                r#"{{"issuer":"https://token.actions.githubusercontent.com","repository":"acme/widget","url":"https://github.com/acme/widget","commit":"{COMMIT}","ref":"refs/tags/v1.2.3","workflow":"acme/widget/.github/workflows/release.yml@refs/tags/v1.2.3","run":"4242"}}"#
            ),
        );
        assert_eq!(text.parse(), Some(provenance()));
    }

    #[test]
    fn unknown_claims_of_a_newer_version_are_ignored_and_an_unknown_form_is_absent() {
        let text = r#"{"issuer":"https://ci.example","job":"7"}"#;
        let read = ProvenanceText::of_line(text).unwrap().parse().unwrap();
        assert_eq!(read.issuer.as_str(), "https://ci.example");
        for text in ["[]", "{}", "x", r#"{"issuer":""}"#, r#"{"issuer":"a\nb"}"#] {
            assert_eq!(
                ProvenanceText::of_line(text).unwrap().parse(),
                None,
                "{text}"
            );
        }
        assert_eq!(ProvenanceText::of_line(""), None);
    }

    #[test]
    fn claims_that_do_not_fit_are_left_out_whole_the_least_useful_first() {
        let long = |letter: &str| -> Option<ClaimText> {
            Some(letter.repeat(limits::CLAIM_BYTES).parse().unwrap())
        };
        let mut job = Provenance {
            workflow: long("w"),
            reference: long("r"),
            ..provenance()
        };
        let kept = job.to_text().unwrap().parse().unwrap();
        assert_eq!(
            kept,
            Provenance {
                workflow: None,
                ..job.clone()
            }
        );
        job.repository = long("\"");
        let kept = job.to_text().unwrap().parse().unwrap();
        assert_eq!((&kept.repository, &kept.commit), (&None, &job.commit));
        job.issuer = long("\"").unwrap();
        assert_eq!(job.to_text(), None);
    }

    #[test]
    fn a_job_is_named_by_the_claims_that_it_has() {
        let mut job = Provenance {
            url: None,
            workflow: None,
            ..provenance()
        };
        let issuer = job.issuer.clone();
        let named = format!("a job of repository acme/widget of {issuer}");
        assert_eq!(job.to_string(), format!("{named} at commit {COMMIT}"));
        job.commit = None;
        assert_eq!(job.to_string(), named);
        job.repository = None;
        assert_eq!(job.to_string(), format!("a job of {issuer}"));
    }

    #[test]
    fn a_claim_is_one_printable_line() {
        for text in [
            "",
            "a\nb",
            "a\u{202e}b",
            "\u{1b}[31m",
            &"x".repeat(limits::CLAIM_BYTES + 1),
        ] {
            assert_eq!(text.parse::<ClaimText>(), Err(ClaimTextError), "{text:?}");
        }
    }
}
