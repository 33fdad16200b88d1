//! Limits on rules, and on the tokens of jobs.

/// Maximum lifetime of a job's token, in seconds. GitHub's tokens are valid for five minutes, GitLab's for as
/// long as their job may run, which is hours.
pub const JOB_TOKEN_SECONDS: u64 = 24 * 3_600;

/// Maximum size of the text of rules. A Worker's variable may have 5 KB
/// (<https://developers.cloudflare.com/workers/platform/limits/#environment-variables>).
pub const RULES_BYTES: usize = 16 * 1024;

/// Maximum number of rules of one kind, as many as fit into the text.
pub const RULES: usize = 128;

/// Maximum number of claims in one rule. GitHub's tokens have 30, of which a rule typically checks three or
/// four.
pub const RULE_CLAIMS: usize = 16;

/// Maximum length of a claim's name. The longest ones are URLs, such as those of Auth0's own claims.
pub const CLAIM_NAME_BYTES: usize = 128;

/// Maximum length of a pattern for a claim. GitHub's `job_workflow_ref` is the longest claim in use.
pub const PATTERN_BYTES: usize = 512;

/// Maximum length of an audience, which is a URL or a client ID.
pub const AUDIENCE_BYTES: usize = 256;
