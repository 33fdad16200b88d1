//! Errors in a list of rules.

use super::{PatternError, limits};
use crate::auth::access::ScopeError;
use terrace_jose::{Quoted, UrlError};

/// The error for a text that is not a list of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// The text exceeds the limit.
    #[error("the rules are {0} bytes long, at most {max} are allowed", max = limits::RULES_BYTES)]
    TooLong(usize),
    /// The text is not JSON, or an object has a duplicate member.
    #[error("the rules cannot be parsed as JSON: {0}")]
    Json(String),
    /// The JSON is not a list, or is an empty one.
    #[error("the rules must be a list of at least one object, such as {example}", example = EXAMPLE)]
    NoList,
    /// The number of rules exceeds the limit.
    #[error("there are {0} rules, at most {max} are allowed", max = limits::RULES)]
    TooMany(usize),
    /// A rule is invalid.
    #[error("rule {rule} {fault}")]
    Rule {
        /// The number of the rule, from 1.
        rule: usize,
        /// The error in the rule.
        fault: RuleError,
    },
}

const EXAMPLE: &str = r#"[{"scopes":["publish:acme"],"claims":{...}}]"#;

/// The error in a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The rule is not an object.
    #[error("is {0}, not an object")]
    NoObject(Quoted),
    /// The rule has an unknown member.
    #[error("has the unknown member {0}")]
    Unknown(Quoted),
    /// A required member is missing.
    #[error("has no {0}")]
    Missing(&'static str),
    /// A member has the wrong type or form.
    #[error("has {found} as its {name}: it must be {wanted}")]
    Shape {
        /// The name of the member.
        name: &'static str,
        /// The value, as quoted in the message.
        found: Quoted,
        /// The form that is required.
        wanted: &'static str,
    },
    /// The number of scopes or claims is out of range.
    #[error("has {count} {name}: it must have 1 to {limit}")]
    Count {
        /// The name of the member: `scopes` or `claims`.
        name: &'static str,
        /// The number of its elements.
        count: usize,
        /// The maximum number.
        limit: usize,
    },
    /// The rule would let a job do everything.
    #[error(
        "grants \"admin\", which jobs may never have: grant only the namespace that it publishes to, such as \"publish:acme\""
    )]
    Admin,
    /// A scope is invalid.
    #[error("has an invalid scope: {0}")]
    Scope(ScopeError),
    /// The issuer is not a valid URL.
    #[error("has {found} as its issuer: {cause}")]
    Issuer {
        /// The value, as quoted in the message.
        found: Quoted,
        /// The reason why it is not an issuer.
        cause: UrlError,
    },
    /// A claim must be given elsewhere in the rule, or cannot be matched.
    #[error("requires the claim {0}: {1}")]
    Claim(Quoted, &'static str),
    /// The rule sets `identifies`, but Terrace knows which claims identify the jobs of this issuer.
    #[error("has identifies, which is for issuers other than GitHub and GitLab: remove it")]
    Identifies,
    /// The pattern of a claim is not a string.
    #[error("requires {claim} to be {found}: write a string in quotes")]
    NoText {
        /// The name of the claim.
        claim: Quoted,
        /// The value, as quoted in the message.
        found: Quoted,
    },
    /// The pattern of a claim is invalid.
    #[error("requires {claim} to be {found}: {cause}")]
    Pattern {
        /// The name of the claim.
        claim: Quoted,
        /// The value, as quoted in the message.
        found: Quoted,
        /// The reason why it is not a pattern.
        cause: PatternError,
    },
    /// The rule would trust every job of its issuer.
    #[error(
        "does not identify the jobs that it trusts: add a claim that identifies them, without a * in its first part: {0}"
    )]
    Anybody(&'static str),
    /// The rule would let everyone with an account at the provider make changes.
    #[error(
        "grants write access to every account of the provider: a rule whose only pattern is * may grant only read"
    )]
    Everybody,
    /// The rule would let strangers make changes: its only pattern for people matches addresses of any domain.
    #[error(
        "requires email to be {0}, which matches addresses of any domain, and such a pattern may grant only reading: write the \
         domain after an @, such as *@acme.example, or also require another claim, such as groups"
    )]
    OpenDomain(Quoted),
}
