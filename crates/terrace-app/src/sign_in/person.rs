//! People, as their provider describes them.

use serde_json::{Map, Value};
use terrace_core::auth::login::Verifier;

/// The claims of a provider about a person.
pub(crate) type People = Map<String, Value>;

/// The parameters of a person's return from their provider.
pub(crate) struct Return<'r> {
    /// The code that the provider issued.
    pub(crate) code: &'r str,
    /// The callback URL, as it was sent to the provider before.
    pub(crate) callback: &'r str,
    /// The nonce that the provider's token must contain.
    pub(crate) nonce: String,
    /// The PKCE verifier, if the provider supports it.
    pub(crate) verifier: Option<Verifier>,
}
