//! ID tokens of OpenID Connect, as a relying party verifies them: whether a token issued by another party is
//! genuine, intended for this registry, and valid now.
//!
//! # In scope
//! - **The issuer**: an [`IssuerUrl`], its metadata ([`Discovery`]) and its public keys ([`IssuerKeys`]).
//! - **The token**: an [`UnverifiedToken`] is parsed first, to find its issuer, and returns its [`Claims`] only
//!   after it is verified with that issuer's keys; [`UnverifiedToken::verify_sign_in`] verifies the token that answers a sign-in.
//!
//! # Out of scope
//! The requests for documents and keys, their caching, and the permissions that a token grants. The code that
//! fetches must not follow redirects: a document is trusted because of its address. If a key is missing, the keys
//! are fetched again ([`TokenError::Key`]), but not for every such token.
//!
//! # Strictness
//! Only signatures in common use are accepted: RSA PKCS #1 v1.5, ECDSA on P-256 and P-384, and Ed25519. There is no
//! HMAC, so no public key can be used as a secret, and no `none`. The header selects one of the issuer's keys; keys
//! in the header are ignored. Ambiguous input is refused: duplicate members, base64url that is not canonical, a
//! key ID that two keys share.
//!
//! A [`TokenError`] is only for the log. The client that presents a token learns only that it was refused.

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
#[cfg(test)]
mod tests;
mod token;

pub use claims::Claims;
pub use discovery::{Discovery, DiscoveryError};
pub use error::TokenError;
pub use issuer::IssuerUrl;
pub use jwks::IssuerKeys;
pub use quoted::Quoted;
pub use token::UnverifiedToken;
