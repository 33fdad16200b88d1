//! What reading tokens, keys and rules is bounded by, so that hostile input costs little.

/// A token. GitHub's have 1.5 KB, GitLab's 2; Entra's with the groups of a person may have 10.
pub const TOKEN_BYTES: usize = 16 * 1024;

/// The keys of an issuer. Entra's, with a certificate for each, are 20 KB.
pub const KEYS_BYTES: usize = 128 * 1024;

/// Keys of one issuer. Two to eight are in use.
pub const KEYS: usize = 100;

/// The smallest RSA modulus (RFC 7518, section 3.3).
pub const RSA_MIN_BITS: u32 = 2048;

/// The largest RSA modulus. Issuers have 2048 to 4096; the work grows with the square.
pub const RSA_MAX_BITS: u32 = 8192;

/// What an issuer says about itself. Keycloak's is 6 KB.
pub const DISCOVERY_BYTES: usize = 64 * 1024;

/// A URL: what every browser and server takes.
pub const URL_BYTES: usize = 2_000;

/// How far clocks may differ, in seconds ("usually no more than a few minutes", RFC 7519, section
/// 4.1.4).
pub const LEEWAY_SECONDS: u64 = 60;

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

/// Characters of outside text that a message shows.
pub const QUOTED_CHARS: usize = 100;
