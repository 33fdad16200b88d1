//! OpenID Connect, from the side of who relies on it: whether a token that somebody else has issued
//! is genuine, for us and good now, and what the operator's rules grant to whom it names.
//!
//! # In scope
//! - **Whom to ask**: an [`IssuerUrl`], what it says about itself ([`Discovery`]) and its public keys
//!   ([`IssuerKeys`]).
//! - **Whether to believe**: an [`UnverifiedToken`] is read first, to know its issuer, and gives its
//!   [`Claims`] only when it is verified with that issuer's keys.
//! - **What it opens**: [`TrustedPublishers`] for the jobs of a CI, [`LoginRules`] for people.
//!
//! # Out of scope
//! The requests for documents and keys, how long they are kept, and the tokens that are given in
//! return. Whoever fetches follows no redirect: a document counts because of where it lies. Keys that
//! lack one are fetched again ([`Refusal::is_cured_by_newer_keys`]), but not for every such token.
//!
//! # How strict
//! Only signatures that are in use are checked, RSA PKCS #1 v1.5, ECDSA on P-256 and P-384 and
//! Ed25519; there is no HMAC, so no public key can be taken for a secret, and no `none`. The header
//! chooses among the issuer's keys, and brings none. Whatever has two readings is refused: members
//! that are there twice, base64url that is not canonical, a key ID that two keys have.
//!
//! A [`Refusal`] is for the log alone. Who presents a token learns only that it was refused.

mod base64url;
mod ci_system;
mod claims;
mod discovery;
mod issuer;
mod json;
mod jwk;
mod jwks;
mod jws;
pub mod limits;
mod login;
mod pattern;
mod quoted;
mod refusal;
mod rule;
mod rule_error;
#[cfg(test)]
mod tests;
mod token;
mod trusted;

pub use claims::{Claims, Expected};
pub use discovery::{Discovery, DiscoveryError};
pub use issuer::{HttpsUrl, IssuerUrl, UrlError};
pub use jwks::{IssuerKeys, KeysError};
pub use jws::Algorithm;
pub use login::{LoginRules, SignIn};
pub use pattern::{ClaimPattern, PatternError};
pub use quoted::Quoted;
pub use refusal::Refusal;
pub use rule::Grant;
pub use rule_error::{RuleFault, RulesError};
pub use token::UnverifiedToken;
pub use trusted::{TrustedPublisher, TrustedPublishers, UnknownClaim};
