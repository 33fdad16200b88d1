//! Claims that name nobody.
//!
//! GitHub's are in <https://docs.github.com/en/actions/reference/security/oidc>, GitLab's in
//! <https://docs.gitlab.com/ci/secrets/id_token_authentication/>.

/// Claims that say in which circumstances a token was issued, or by whom something was set off, and
/// that a stranger's job can have as well: everybody has a `refs/tags/v1`, may name an environment
/// `release`, may call a public workflow (`job_workflow_ref`), and can be helped by somebody
/// (`actor`, `user_login`).
pub(super) fn is_circumstance(name: &str) -> bool {
    const GITHUB: &[&str] = &[
        "actor",
        "actor_id",
        "base_ref",
        "check_run_id",
        "environment",
        "environment_node_id",
        "event_name",
        "head_ref",
        "job_workflow_ref",
        "job_workflow_sha",
        "ref",
        "ref_protected",
        "ref_type",
        "repository_visibility",
        "run_attempt",
        "run_id",
        "run_number",
        "runner_environment",
        "sha",
        "workflow",
        "workflow_sha",
    ];
    const GITLAB: &[&str] = &[
        "ci_config_ref_uri",
        "ci_config_sha",
        "deployment_action",
        "deployment_tier",
        "environment_action",
        "environment_protected",
        "job_id",
        "pipeline_id",
        "pipeline_source",
        "project_visibility",
        "ref_path",
        "runner_id",
        "user_access_level",
        "user_email",
        "user_id",
        "user_login",
    ];
    is_standard(name) || GITHUB.contains(&name) || GITLAB.contains(&name)
}

/// Claims that say how somebody has signed in, and not who that is
/// (<https://openid.net/specs/openid-connect-core-1_0.html#IDToken>).
pub(super) fn is_standard(name: &str) -> bool {
    const STANDARD: &[&str] = &["acr", "amr", "auth_time", "azp", "email_verified", "typ"];
    STANDARD.contains(&name)
}
