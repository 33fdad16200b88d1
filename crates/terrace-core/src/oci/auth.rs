//! Tokens for OCI clients: the challenge that points to them, and their contents.
//!
//! A challenge names the token endpoint (clients.md 6.10). Clients send it their password, and then use the
//! token that it returns. So that an API token does not end up in a client's cache, the endpoint returns
//! another token with the same rights and the same id, valid for a limited time: revoking one revokes the
//! other.

use serde::Serialize;

use crate::auth::access::{ANONYMOUS, Caller, Scope, Scopes, Token, TokenKeys};
use crate::model::token_id::TokenId;
use terrace_base::time::UnixTime;
use terrace_base::url;

use crate::http::oci_error::{OciCode, OciError};

/// Maximum lifetime of a token that the OCI token endpoint issues, in seconds. A client that gets it before a large blob must still have it for the manifest (clients.md 11.3).
const OCI_TOKEN_SECONDS: u32 = 3_600;

/// The response of the token endpoint (Docker Registry, "Token Authentication").
#[derive(Debug, Serialize)]
pub struct OciTokenAnswer {
    token: String,
    /// The same token, under the name that OAuth uses.
    access_token: String,
    expires_in: u64,
}

impl OciTokenAnswer {
    /// Creates the response for a caller, for any requested scopes: the token has the caller's own rights.
    /// `random` identifies a token made for the admin token. `None` if a token cannot be made.
    pub fn new(
        caller: &Caller,
        keys: Option<&TokenKeys>,
        random: [u8; 16],
        now: UnixTime,
    ) -> Option<Self> {
        let longest = now.plus(OCI_TOKEN_SECONDS);
        let (token, expires) = match caller {
            // No OCI client is a browser, or has the token of an MCP client.
            Caller::Anonymous | Caller::Browser(_) | Caller::Client(_) => {
                (ANONYMOUS.to_owned(), longest)
            }
            Caller::Root(_) => {
                let token = Token {
                    id: TokenId::new(random),
                    name: "admin token by OCI".parse().ok()?,
                    scopes: Scopes::new(vec![Scope::Admin]).ok()?,
                    expires: Some(longest),
                    is_of_previous: false,
                    provenance: None,
                };
                (keys?.write(&token), longest)
            }
            Caller::Bearer(token) => {
                let expires = token.expires.map_or(longest, |own| own.min(longest));
                let token = Token {
                    expires: Some(expires),
                    ..Token::clone(token)
                };
                (keys?.write(&token), expires)
            }
        };
        Some(Self {
            access_token: token.clone(),
            token,
            expires_in: expires.0.saturating_sub(now.0),
        })
    }
}

/// Returns a 401 error with the only challenge that clients read (clients.md 6.10). `origin` is the
/// registry's own, as the client reached it.
pub fn unauthorized(origin: &str, message: &str) -> OciError {
    OciError::new(OciCode::Unauthorized, message).with_header("www-authenticate", challenge(origin))
}

/// Returns the challenge that names the token endpoint.
pub fn challenge(origin: &str) -> String {
    let host = url::authority(origin);
    format!("Bearer realm=\"{origin}/v2/token\",service=\"{host}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::{Access, AdminToken, CredentialsError, ReadPolicy};
    use crate::model::provenance::tests::provenance;
    use terrace_base::secret::Secret;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn access() -> Access {
        let admin = Secret::new("an-admin-token-0");
        Access::new(Some(admin), None, ReadPolicy::default())
    }

    fn given(caller: &Caller) -> OciTokenAnswer {
        OciTokenAnswer::new(caller, access().keys(), [7; 16], NOW).unwrap()
    }

    fn bearer(token: &str, now: UnixTime) -> Result<Caller, CredentialsError> {
        access().caller(Some(&format!("Bearer {token}")), || now)
    }

    #[test]
    fn a_token_for_the_admin_token_expires_and_does_not_contain_it() {
        let answer = given(&Caller::Root(AdminToken::Current));
        assert!(!answer.token.contains("an-admin-token-0"));
        assert_eq!(answer.expires_in, u64::from(OCI_TOKEN_SECONDS));
        let end = NOW.plus(OCI_TOKEN_SECONDS);
        assert!(bearer(&answer.token, end).unwrap().is_admin());
        let expired = CredentialsError::Expired(end);
        assert_eq!(bearer(&answer.access_token, end.plus(1)), Err(expired));
    }

    #[test]
    fn a_token_for_an_api_token_has_its_rights_and_id_and_no_later_expiry() {
        let token = Token {
            id: "0123456789abcdef".parse().unwrap(),
            name: "ci".parse().unwrap(),
            scopes: "publish:acme".parse().unwrap(),
            expires: Some(NOW.plus(60)),
            is_of_previous: false,
            provenance: provenance().to_text(),
        };
        let answer = given(&Caller::Bearer(Box::new(token.clone())));
        assert_eq!(answer.expires_in, 60);
        let caller = bearer(&answer.token, NOW);
        assert_eq!(caller, Ok(Caller::Bearer(Box::new(token))));
    }

    #[test]
    fn an_anonymous_caller_gets_a_token_without_rights() {
        let answer = given(&Caller::Anonymous);
        assert_eq!(bearer(&answer.token, NOW), Ok(Caller::Anonymous));
    }
}
