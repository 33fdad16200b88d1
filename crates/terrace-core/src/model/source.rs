//! The source repository of a release.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::model::commit::CommitId;
use crate::model::provenance::Provenance;
use crate::model::relative_path::RelativePath;
use crate::model::source_url::SourceUrl;
use terrace_base::digest::Sha256;

/// The source of a release, as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceDocument {
    /// The URL of the repository; of a mirrored module, the URL that its registry names.
    pub url: SourceUrl,
    /// Whether the source is only the publisher's claim and not verified.
    pub claimed: bool,
    /// The commit that the release was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The directory of the module in the repository; `None` for the top, or if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<RelativePath>,
    /// The digest of the files of a mirrored module that its registry names as an archive: that has no commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Sha256>,
}

impl SourceDocument {
    /// Creates the source from the publisher's claim.
    pub fn claimed(url: SourceUrl, commit: Option<CommitId>) -> Self {
        Self {
            url,
            claimed: true,
            commit,
            directory: None,
            tree: None,
        }
    }

    /// Adds the directory of the module.
    #[must_use]
    pub fn with_directory(self, directory: Option<RelativePath>) -> Self {
        Self { directory, ..self }
    }

    /// Adds the digest of the files.
    #[must_use]
    pub fn with_tree(self, tree: Option<Sha256>) -> Self {
        Self { tree, ..self }
    }

    /// Returns the source of a release that a job publishes. A claim that agrees with the job's verified
    /// repository and commit, or adds a path to them, becomes verified. Any other claim stays one: a job may
    /// build the code of another repository, or another commit than the one that started it.
    #[must_use]
    pub fn verified_by(self, job: &Provenance) -> Self {
        let is_in_repository = job.url.as_ref().is_some_and(|it| self.url.is_within(it));
        let agrees = is_in_repository && (self.commit.is_none() || self.commit == job.commit);
        match agrees {
            true => Self {
                claimed: false,
                commit: job.commit.clone(),
                ..self
            },
            false => self,
        }
    }
}

impl fmt::Display for SourceDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str())?;
        if let Some(commit) = &self.commit {
            write!(f, " at {commit}")?;
        }
        if self.claimed {
            f.write_str(" (claimed by the publisher)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::provenance::tests::{COMMIT, provenance};

    fn claim(url: &str, commit: Option<&str>) -> SourceDocument {
        let commit = commit.map(|text| text.parse().unwrap());
        SourceDocument::claimed(url.parse().unwrap(), commit)
    }

    #[test]
    fn a_claim_that_agrees_with_the_job_becomes_verified() {
        let job = provenance();
        for url in [
            "https://github.com/acme/widget",
            "https://github.com/Acme/Widget",
            "https://github.com/acme/widget.git",
            "https://github.com/acme/widget/tree/main/modules/vpc",
        ] {
            for commit in [None, Some(COMMIT)] {
                let source = claim(url, commit).verified_by(&job);
                assert!(!source.claimed, "{url}");
                assert_eq!(source.url.as_str(), url);
                assert_eq!(source.commit, job.commit);
            }
        }
    }

    #[test]
    fn a_claim_that_differs_from_the_job_stays_a_claim() {
        let job = provenance();
        for (url, commit) in [
            ("https://github.com/acme/other", None),
            ("https://github.com/acme/widgets", None),
            ("https://github.com/acme", None),
            ("https://github.com.evil.example/acme/widget", None),
            ("https://github.com/acme/widget/../other", None),
            ("https://github.com/acme/widget/%2e%2e/other", None),
            ("http://github.com/acme/widget", None),
            (
                "https://github.com/acme/widget",
                Some("ffffffffffffffffffffffffffffffffffffffff"),
            ),
        ] {
            let claim = claim(url, commit);
            assert_eq!(claim.clone().verified_by(&job), claim, "{url}");
        }
        let claim = claim("https://github.com/acme/widget", None);
        let unknown = Provenance { url: None, ..job };
        assert_eq!(claim.clone().verified_by(&unknown), claim);
    }
}
