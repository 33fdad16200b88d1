//! What reading rules, and the tokens of jobs, is bounded by.

/// How long the token of a job may live, in seconds. GitHub's live for five minutes, GitLab's as long
/// as their job may run, which is hours.
pub const JOB_TOKEN_SECONDS: u64 = 24 * 3_600;

/// The text of rules. A variable of a Worker has 5 KB
/// (<https://developers.cloudflare.com/workers/platform/limits/#environment-variables>).
pub const RULES_BYTES: usize = 16 * 1024;

/// Rules of one kind: what the text has room for.
pub const RULES: usize = 128;

/// Claims that one rule looks at. GitHub's tokens have 30, of which a rule pins three or four.
pub const RULE_CLAIMS: usize = 16;

/// The name of a claim. URLs as those of Auth0's own claims are the longest.
pub const CLAIM_NAME_BYTES: usize = 128;

/// A pattern for a claim. GitHub's `job_workflow_ref` is the longest of those in use.
pub const PATTERN_BYTES: usize = 512;

/// An audience: a URL or a client ID.
pub const AUDIENCE_BYTES: usize = 256;
