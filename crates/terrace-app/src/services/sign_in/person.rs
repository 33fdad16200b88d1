//! People, as their provider describes them.

use serde_json::{Map, Value};
use terrace_core::auth::login::Verifier;

/// What a provider says of a person.
pub(crate) type People = Map<String, Value>;

/// Somebody is back from their provider with this.
pub(crate) struct Return<'r> {
    /// The code that the provider has given them.
    pub(crate) code: &'r str,
    /// Where they have come back to, as it was told beforehand.
    pub(crate) callback: &'r str,
    /// What the provider has put into its token.
    pub(crate) nonce: String,
    /// What we prove ourselves by.
    pub(crate) verifier: Option<Verifier>,
}
