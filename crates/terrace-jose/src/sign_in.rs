//! The ID token that answers a sign-in (OpenID Connect Core, section 3.1.3.7).

use super::{Claims, Expected, IssuerKeys, TokenError, UnverifiedToken};
use terrace_base::time::UnixTime;

/// The sign-in that an ID token must be the answer to.
#[derive(Debug, Clone, Copy)]
pub struct SignIn<'s> {
    /// What the registry is to the provider, and so the token's audience.
    pub client_id: &'s str,
    /// What the registry sent along, unique to this sign-in.
    pub nonce: &'s str,
    /// The time.
    pub now: UnixTime,
}

impl SignIn<'_> {
    /// Returns what the provider says of a person, if this token is the answer to this sign-in.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        keys: &IssuerKeys,
    ) -> Result<Claims, TokenError> {
        let expected = Expected {
            audiences: &[self.client_id],
            now: self.now,
        };
        let claims = token.verify(keys, &expected)?;
        claims.check_authorized_party(self.client_id)?;
        if self.nonce.is_empty() || claims.nonce() != Some(self.nonce) {
            return Err(TokenError::Nonce);
        }
        Ok(claims)
    }
}
