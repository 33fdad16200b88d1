//! Every way in which a list of rules is wrong.

use super::{PatternError, limits};
use crate::auth::access::ScopeError;
use terrace_jose::{Quoted, UrlError};

/// Why a text is no list of rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    /// It is longer than the limit.
    #[error("the rules are {0} bytes long, at most {max} are read", max = limits::RULES_BYTES)]
    TooLong(usize),
    /// It is no JSON, or a member is there twice.
    #[error("the rules are no JSON that is read: {0}")]
    Json(String),
    /// It is another kind of JSON, or an empty list.
    #[error("the rules must be a list of one object or more, such as {example}", example = EXAMPLE)]
    NoList,
    /// There are more than the limit.
    #[error("there are {0} rules, at most {max} are read", max = limits::RULES)]
    TooMany(usize),
    /// One of them is wrong.
    #[error("rule {rule} {fault}")]
    Rule {
        /// Its place, from 1.
        rule: usize,
        /// What is wrong with it.
        fault: RuleError,
    },
}

const EXAMPLE: &str = r#"[{"scopes":["publish:acme"],"claims":{...}}]"#;

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is something else than an object.
    #[error("is {0}, not an object")]
    NoObject(Quoted),
    /// It has a member that has no meaning.
    #[error("has a member {0}, which is not known")]
    Unknown(Quoted),
    /// It lacks a member.
    #[error("has no {0}")]
    Missing(&'static str),
    /// A member is something else than it must be.
    #[error("has {found} as its {name}: it must be {wanted}")]
    Shape {
        /// Which.
        name: &'static str,
        /// What it is.
        found: Quoted,
        /// What it must be.
        wanted: &'static str,
    },
    /// It has more of something than the limit.
    #[error("has {count} {name}: it must have 1 to {most}")]
    Count {
        /// Of what.
        name: &'static str,
        /// How many.
        count: usize,
        /// The limit.
        most: usize,
    },
    /// It would let a job do everything.
    #[error(
        "grants \"admin\", and a job never gets everything: grant what it publishes, such as \"publish:acme\""
    )]
    Admin,
    /// A scope is none.
    #[error("has in its scopes what is none: {0}")]
    Scope(ScopeError),
    /// Its issuer is none.
    #[error("has {found} as its issuer: {cause}")]
    Issuer {
        /// What it is.
        found: Quoted,
        /// What is wrong with it.
        cause: UrlError,
    },
    /// It asks for a claim that has another place, or that no token has.
    #[error("asks for the claim {0}: {1}")]
    Claim(Quoted, &'static str),
    /// It asks for a claim that tokens of its issuer do not have, and that is spelt much as one that they have.
    #[error(
        "asks for the claim {claim}, which the tokens of {system} do not have; did you mean {nearest}?"
    )]
    MisspeltClaim {
        /// The claim.
        claim: Quoted,
        /// The CI system.
        system: &'static str,
        /// The claim that was probably meant.
        nearest: &'static str,
    },
    /// It says that its claims identify somebody, where Terrace knows which claims do.
    #[error("has identifies, which is for issuers other than GitHub and GitLab: remove it")]
    Identifies,
    /// It asks for a claim by something else than a text.
    #[error("asks for {claim} to be {found}: write a text in quotes")]
    NoText {
        /// The claim.
        claim: Quoted,
        /// What is there.
        found: Quoted,
    },
    /// It asks for a claim by what is no pattern.
    #[error("asks for {claim} to be {found}: {cause}")]
    Pattern {
        /// The claim.
        claim: Quoted,
        /// What is there.
        found: Quoted,
        /// What is wrong with it.
        cause: PatternError,
    },
    /// It would trust everybody whom its issuer knows.
    #[error(
        "does not say whom it trusts: add a claim that names them, without a * before its first /: {0}"
    )]
    Anybody(&'static str),
    /// It lets everybody change something whom the provider knows.
    #[error(
        "lets everybody change something whom the provider knows: only read may be granted by * alone"
    )]
    Everybody,
}
