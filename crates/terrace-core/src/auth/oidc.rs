//! Grants for tokens of other issuers: the operator's rules for CI jobs and for people.
//!
//! # In scope
//! [`TrustedPublishers`] for CI jobs, [`LoginRules`] for people, the claims that a job's releases record
//! ([`provenance()`]), and the hosts to which requests for an issuer may go ([`issuer_guard`]). Rules are also stored in the
//! registry ([`StoredRule`]), and beside them [`MirrorBlock`]s, which grant nothing.
//!
//! # Out of scope
//! Verification that a token is genuine, meant for this registry and valid now: [`terrace_jose`].
//!
//! A [`GrantError`] is for the log only. The sender of a token learns only that it was rejected.

mod ci_system;
mod error;
mod impossible;
pub mod limits;
mod login;
mod mirror_block;
mod pattern;
mod provenance;
mod quota;
mod rule;
mod rule_error;
mod stored;
#[cfg(test)]
mod tests;
mod trusted;
mod warnings;

pub use error::GrantError;
pub use login::LoginRules;
pub use mirror_block::{MirrorBlock, MirrorBlocks};
pub use pattern::{ClaimPattern, PatternError};
pub use provenance::provenance;
pub use quota::{RuleQuotaError, check_quota};
pub use rule::{Grant, GrantedScopes, RuleName};
pub use rule_error::{RuleError, RulesError};
pub use stored::{
    RuleDocument, RuleIndex, RuleKind, RuleRemoval, StoredRule, StoredRuleError, StoredRules,
};
pub use trusted::{TrustedPublisher, TrustedPublishers, UnknownClaim};

use terrace_jose::IssuerUrl;

use crate::http::guard::Guard;

/// Returns the guard for requests to an issuer: it allows public hosts, and the own host of an issuer that the operator has
/// `named`, which may be private.
pub fn issuer_guard(issuer: &IssuerUrl, named: &[&IssuerUrl]) -> Guard {
    let url = issuer.as_url();
    match named.contains(&issuer) {
        true => Guard::public().naming(url.host(), url.port_or_default()),
        false => Guard::public(),
    }
}

#[cfg(test)]
#[test]
fn a_private_host_is_allowed_only_if_it_is_the_issuers_own() {
    use terrace_base::url::Url;
    let issuer = "https://localhost:8443/oidc".parse().unwrap();
    let guard = issuer_guard(&issuer, &[&issuer]);
    let check = |url: &str| guard.check((&url.parse::<Url>().unwrap()).into());
    assert!(check("https://localhost:8443/jwks").is_ok());
    assert!(check("https://www.googleapis.com/oauth2/v3/certs").is_ok());
    assert!(check("https://localhost:8444/jwks").is_err());
    assert!(check("https://169.254.169.254/jwks").is_err());
    assert_eq!(issuer_guard(&issuer, &[]), Guard::public());
}
