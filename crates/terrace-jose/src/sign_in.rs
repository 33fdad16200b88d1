//! The ID token that answers a sign-in (OpenID Connect Core, section 3.1.3.7).

use super::{Claims, Expected, IssuerKeys, TokenError, UnverifiedToken};
use terrace_base::time::UnixTime;

/// The sign-in that an ID token must answer.
#[derive(Debug, Clone, Copy)]
pub struct SignIn<'s> {
    /// The registry's client ID at the provider, which is also the token's audience.
    pub client_id: &'s str,
    /// The value that the registry sent in its request, unique to this sign-in.
    pub nonce: &'s str,
    /// The current time.
    pub now: UnixTime,
}

impl SignIn<'_> {
    /// Returns the provider's claims about a person, if this token answers this sign-in.
    ///
    /// # Errors
    /// The first fault of the token.
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
