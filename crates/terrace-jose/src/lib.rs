//! ID tokens of OpenID Connect, from the side of who relies on them: whether a token that another party has issued is
//! genuine, for us and valid now.
//!
//! # In scope
//! - **Whom to ask**: an [`IssuerUrl`], what it says about itself ([`Discovery`]) and its public keys
//!   ([`IssuerKeys`]).
//! - **Whether to believe**: an [`UnverifiedToken`] is read first, to know its issuer, and gives its [`Claims`] only
//!   when it is verified with that issuer's keys; [`SignIn`] verifies the token that answers a sign-in.
//!
//! # Out of scope
//! The requests for documents and keys, how long they are kept, and what a token grants to its holder. Whoever fetches
//! follows no redirect: a document counts because of where it lies. Keys that lack one are fetched again
//! ([`TokenError::is_cured_by_newer_keys`]), but not for every such token.
//!
//! # How strict
//! Only signatures that are in use are checked, RSA PKCS #1 v1.5, ECDSA on P-256 and P-384 and Ed25519; there is no
//! HMAC, so no public key can be taken for a secret, and no `none`. The header chooses among the issuer's keys, and
//! brings none. Whatever has two readings is refused: members that are there twice, base64url that is not canonical, a
//! key ID that two keys have.
//!
//! A [`TokenError`] is for the log alone. Who presents a token learns only that it was refused.

mod base64url;
mod claims;
mod discovery;
mod error;
mod issuer;
pub mod json;
mod jwk;
mod jwks;
mod jws;
pub mod limits;
mod quoted;
mod sign_in;
#[cfg(test)]
mod tests;
mod token;

pub use claims::{Claims, Expected};
pub use discovery::{Discovery, DiscoveryError};
pub use error::TokenError;
pub use issuer::{IssuerUrl, UrlError};
pub use jwks::{IssuerKeys, KeysError};
pub use jws::Algorithm;
pub use quoted::Quoted;
pub use sign_in::SignIn;
pub use token::UnverifiedToken;
