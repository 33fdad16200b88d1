//! What the tokens of other parties open: the operator's rules for the jobs of a CI and for people.
//!
//! # In scope
//! [`TrustedPublishers`] for the jobs of a CI, [`LoginRules`] for people, and where an issuer may be asked
//! ([`issuer_guard`]).
//!
//! # Out of scope
//! Whether a token is genuine, for us and valid now: [`terrace_jose`].
//!
//! A [`GrantError`] is for the log alone. Who presents a token learns only that it was refused.

mod ci_system;
mod error;
pub mod limits;
mod login;
mod pattern;
mod rule;
mod rule_error;
#[cfg(test)]
mod tests;
mod trusted;

pub use error::GrantError;
pub use login::LoginRules;
pub use pattern::{ClaimPattern, PatternError};
pub use rule::Grant;
pub use rule_error::{RuleError, RulesError};
pub use trusted::{TrustedPublisher, TrustedPublishers, UnknownClaim};

use terrace_jose::IssuerUrl;

use crate::http::guard::Guard;

/// Where requests for an issuer may go: to public hosts, and to its own, which the operator has named and which may be
/// private.
pub fn issuer_guard(issuer: &IssuerUrl) -> Guard {
    let url = issuer.as_url();
    Guard::public().naming(url.host(), url.port_or_default())
}

#[cfg(test)]
#[test]
fn a_private_issuer_may_be_asked_because_it_is_named_and_no_other_private_host() {
    use terrace_base::url::Url;
    let guard = issuer_guard(&"https://localhost:8443/oidc".parse().unwrap());
    let check = |url: &str| guard.check((&url.parse::<Url>().unwrap()).into());
    assert!(check("https://localhost:8443/jwks").is_ok());
    assert!(check("https://www.googleapis.com/oauth2/v3/certs").is_ok());
    assert!(check("https://localhost:8444/jwks").is_err());
    assert!(check("https://169.254.169.254/jwks").is_err());
}
