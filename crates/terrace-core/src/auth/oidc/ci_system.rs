//! The claims in the tokens of CI systems, and which of them identify a repository or its owner.
//!
//! GitHub's are in <https://docs.github.com/en/actions/reference/security/oidc>, GitLab's in
//! <https://docs.gitlab.com/ci/secrets/id_token_authentication/>.

use super::ClaimPattern;
use terrace_jose::IssuerUrl;

/// A CI system with known claims, or any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CiSystem {
    /// GitHub Actions: on github.com, on an enterprise's ghe.com, or on an Enterprise Server.
    GitHub,
    /// GitLab CI, recognised by the name of its host.
    GitLab,
    /// Another system, or a GitLab under a host name that does not reveal it.
    Other,
}

/// The claims of GitHub that name a repository, its owner or a larger unit. A stranger's job can have the same values of all
/// others: any repository can have a `refs/tags/v1`, name an environment `release`, call a public workflow (`job_workflow_ref`),
/// and be run by the same person (`actor`).
const OF_GITHUB: &[&str] = &[
    "enterprise",
    "enterprise_id",
    "repository",
    "repository_id",
    "repository_owner",
    "repository_owner_id",
    "sub",
    // `acme/widget/.github/workflows/release.yml@refs/heads/main`; a reusable workflow does not change it.
    "workflow_ref",
];

/// The claims of GitLab that name a project or its namespace. The pipeline of a merge request runs in its target project, with the
/// code of a fork: `job_project_path` and the like then name the target project, and these name the fork.
const OF_GITLAB: &[&str] = &[
    "namespace_id",
    "namespace_path",
    "project_id",
    "project_path",
    "sub",
];

impl CiSystem {
    /// Returns the system that an issuer belongs to.
    pub(super) fn of(issuer: &IssuerUrl) -> Self {
        let url = issuer.as_url();
        let host = url.host().to_ascii_lowercase();
        let of_enterprise =
            |host: &str| host.starts_with("token.actions.") && host.ends_with(".ghe.com");
        let path = url.path().trim_end_matches('/');
        if host == "token.actions.githubusercontent.com"
            || of_enterprise(&host)
            || path == "/_services/token"
        {
            return Self::GitHub;
        }
        match host.split('.').any(|label| label.starts_with("gitlab")) {
            true => Self::GitLab,
            false => Self::Other,
        }
    }

    /// Returns whether a claim with this pattern identifies a job's repository or owner.
    pub(super) fn identifies(self, name: &str, pattern: &ClaimPattern) -> bool {
        let identifying = match self {
            Self::GitHub => OF_GITHUB,
            // Other systems have `sub` too, and a GitLab may have any host. GitHub's subjects have a known
            // form.
            Self::GitLab | Self::Other => OF_GITLAB,
        };
        let is_of_somebody = match (self, name) {
            (Self::GitHub, "sub") => subject_identifies(pattern),
            _ => true,
        };
        identifying.contains(&name) && is_of_somebody && pattern.pins_first_part()
    }

    /// Returns advice on claims that identify the trusted jobs.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::GitHub => "repository, repository_owner_id or sub",
            Self::GitLab => "project_path, namespace_id or sub",
            Self::Other => {
                "sub, such as organization:acme:*, or project_path of GitLab; if another claim, or another start of sub, identifies the jobs, also add identifies = true to the rule (terrace trust add: --identifies)"
            }
        }
    }
}

/// Returns whether a pattern for GitHub's subject includes a part that identifies a repository or its owner.
/// A subject consists of names and values, such as `repo:acme/widget:ref:refs/heads/main`, and every
/// repository chooses its parts: any repository may have `environment:release`.
fn subject_identifies(pattern: &ClaimPattern) -> bool {
    let text = pattern.to_string();
    let mut parts = text.split(':');
    while let Some(name) = parts.next() {
        // The only name without a value.
        if name == "pull_request" {
            continue;
        }
        let value = parts.next().unwrap_or_default();
        let is_named = name == "repo" || OF_GITHUB.contains(&name);
        let value: Result<ClaimPattern, _> = value.parse();
        if is_named && value.is_ok_and(|value| value.pins_first_part()) {
            return true;
        }
    }
    false
}

/// Returns whether a claim describes how a person signed in, rather than who they are
/// (<https://openid.net/specs/openid-connect-core-1_0.html#IDToken>).
pub(super) fn is_standard(name: &str) -> bool {
    const STANDARD: &[&str] = &["acr", "amr", "auth_time", "azp", "email_verified", "typ"];
    STANDARD.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(issuer: &str) -> CiSystem {
        CiSystem::of(&issuer.parse().unwrap())
    }

    #[test]
    fn the_system_is_recognised_by_its_issuer() {
        for issuer in [
            "https://token.actions.githubusercontent.com",
            "https://token.actions.githubusercontent.com/acme",
            "https://token.actions.acme.ghe.com",
            "https://github.acme.example/_services/token",
        ] {
            assert_eq!(system(issuer), CiSystem::GitHub, "{issuer}");
        }
        for issuer in [
            "https://gitlab.com",
            "https://gitlab.acme.example:8443",
            "https://dev.gitlab-ee.example/gitlab",
        ] {
            assert_eq!(system(issuer), CiSystem::GitLab, "{issuer}");
        }
        for issuer in [
            "https://git.acme.example",
            "https://agent.buildkite.com",
            "https://token.actions.githubusercontent.com.evil.example",
            "https://acme.example/gitlab",
        ] {
            assert_eq!(system(issuer), CiSystem::Other, "{issuer}");
        }
    }

    #[test]
    fn a_subject_of_github_identifies_a_repository_or_its_owner() {
        let identifies = |text: &str| CiSystem::GitHub.identifies("sub", &text.parse().unwrap());
        for subject in [
            "repo:acme/widget:ref:refs/tags/v*",
            "repo:acme/*:pull_request",
            "repo:acme@1001/widget@2002:environment:release",
            "repository_owner:acme:repository_visibility:private",
            "environment:release:repository_owner_id:1001",
        ] {
            assert!(identifies(subject), "{subject}");
        }
        for subject in [
            "*",
            "repo:*",
            "repo:acme*/widget",
            "environment:release",
            "environment:repo:ref:acme",
            "pull_request",
            "job_workflow_ref:acme/workflows/.github/workflows/publish.yml@refs/heads/main",
            "repository_visibility:private",
        ] {
            assert!(!identifies(subject), "{subject}");
        }
    }
}
