//! The last step of a sign-in: a client redeems its code for a token.

use std::borrow::Cow;

use serde::Serialize;

use super::client::{ClientId, ClientRequest, LoopbackRedirect};
use super::sealed::CodeHolder;
use super::terminal::{CLIENT_ID, ParameterError, Port, Verifier, must_be, optional, required};
use crate::auth::access::{Scopes, SealError};
use crate::auth::login::LOGIN_CODE_SECONDS;
use crate::http::form::Form;
use crate::http::reply::{CachePolicy, Reply};
use terrace_base::json;

/// The code for a refused sign-in: it ends a client that would otherwise wait forever (clients.md 7.5).
pub(super) const REFUSED: &str = "refused";

/// A client's request for a token (clients.md 7.6).
#[derive(Debug)]
pub struct TokenRequest {
    /// The code that was issued to the client.
    pub code: String,
    /// The PKCE verifier of the client.
    pub verifier: Verifier,
    /// The client.
    pub client: TokenClient,
}

/// The client that requests a token.
#[derive(Debug)]
pub enum TokenClient {
    /// A terminal, which received its code on this port.
    Terminal(Port),
    /// An OAuth client.
    Client {
        /// Its ID.
        id: ClientId,
        /// The URL at which it received its code, if it repeats it. OAuth 2.1 does not require that (section 10.2).
        redirect: Option<LoopbackRedirect>,
        /// The resource that its token is for, if it repeats it (RFC 8707, section 2.2).
        resource: Option<String>,
    },
}

/// The response with a token (RFC 6749, section 5.1). Clients keep the token and drop the rest (clients.md
/// 7.7).
#[derive(Debug, Serialize)]
pub struct LoginToken {
    access_token: String,
    token_type: &'static str,
    expires_in: u64,
    /// The granted scopes, which an OAuth client may have requested otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
}

/// The reason why a code is not redeemed. Clients show the message to their users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedemptionError {
    /// The client ID is wrong.
    #[error("{0}")]
    Client(ParameterError),
    /// The grant type is not an authorization code.
    #[error("{0}")]
    GrantType(ParameterError),
    /// A parameter is missing or invalid.
    #[error("{0}")]
    Parameter(ParameterError),
    /// The person did not consent.
    #[error("sign-in was refused or failed: the page in the browser shows the reason")]
    Refused,
    /// The code was not issued by this registry.
    #[error("this is not a code of this registry: sign in again")]
    Foreign,
    /// The code has expired.
    #[error(
        "this code expired after {} seconds: sign in again",
        LOGIN_CODE_SECONDS
    )]
    Expired,
    /// The code was issued to another port.
    #[error("redirect_uri is not the one that this code was issued to")]
    OtherPort,
    /// The code was issued to another client.
    #[error("client_id is not the one that this code was issued to")]
    OtherClient,
    /// The code was issued for another resource.
    #[error("resource is not the one that this code was issued for")]
    OtherResource,
    /// The code was issued to a client with another verifier.
    #[error("code_verifier does not belong to the client that this code was issued to")]
    OtherVerifier,
    /// The code was already redeemed.
    #[error("this code was already used, so its token is revoked: sign in again")]
    Used,
    /// Too many invalid codes came from this address.
    #[error("too many wrong codes came from this address: wait a minute, and sign in again")]
    TooMany,
    /// Storage did not respond.
    #[error("the registry cannot store a token at the moment: sign in again")]
    Unavailable,
}

/// An error response (RFC 6749, section 5.2).
#[derive(Serialize)]
struct ErrorBody<'e> {
    error: &'static str,
    error_description: Cow<'e, str>,
}

impl TokenRequest {
    /// Parses the form that a client sends. `accepts_clients` tells whether others than terminals may have a code.
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(body: &[u8], accepts_clients: bool) -> Result<Self, RedemptionError> {
        // A body that is not UTF-8 has no parameters.
        let form = Form(std::str::from_utf8(body).unwrap_or_default());
        let wrong = RedemptionError::Parameter;
        let _: String = required(form, "grant_type").map_err(wrong)?;
        must_be(form, "grant_type", "authorization_code").map_err(RedemptionError::GrantType)?;
        let id = match accepts_clients && ClientRequest::is_named_by_url(form) {
            true => Some(required(form, "client_id").map_err(RedemptionError::Client)?),
            false => {
                must_be(form, "client_id", CLIENT_ID).map_err(RedemptionError::Client)?;
                None
            }
        };
        let code: String = required(form, "code").map_err(wrong)?;
        if code == REFUSED {
            return Err(RedemptionError::Refused);
        }
        Ok(Self {
            code,
            verifier: required(form, "code_verifier").map_err(wrong)?,
            client: TokenClient::parse(form, id).map_err(wrong)?,
        })
    }
}

impl TokenClient {
    /// Parses the parameters of a terminal, or of the client with this ID.
    fn parse(form: Form<'_>, id: Option<ClientId>) -> Result<Self, ParameterError> {
        Ok(match id {
            None => Self::Terminal(required(form, "redirect_uri")?),
            Some(id) => Self::Client {
                id,
                redirect: optional(form, "redirect_uri")?,
                resource: optional(form, "resource")?,
            },
        })
    }

    /// Checks that this is the holder of a code.
    pub(super) fn check(&self, holder: &CodeHolder) -> Result<(), RedemptionError> {
        match (self, holder) {
            (Self::Terminal(port), CodeHolder::Terminal(of_code)) if port == of_code => Ok(()),
            (Self::Terminal(_), CodeHolder::Terminal(_)) => Err(RedemptionError::OtherPort),
            (
                Self::Client {
                    id,
                    redirect,
                    resource,
                },
                CodeHolder::Client {
                    id: id_of_code,
                    redirect: redirect_of_code,
                    resource: resource_of_code,
                },
            ) if id == id_of_code => {
                if redirect.as_ref().is_some_and(|it| it != redirect_of_code) {
                    return Err(RedemptionError::OtherPort);
                }
                match resource {
                    Some(other) if !resource_of_code.is(other) => {
                        Err(RedemptionError::OtherResource)
                    }
                    _ => Ok(()),
                }
            }
            _ => Err(RedemptionError::OtherClient),
        }
    }
}

impl LoginToken {
    /// Creates the response for a token that expires after `expires_in` seconds.
    pub fn new(text: String, expires_in: u64) -> Self {
        Self {
            access_token: text,
            token_type: "bearer",
            expires_in,
            scope: None,
        }
    }

    /// Names the granted scopes, for the token of an OAuth client (RFC 6749, section 5.1).
    #[must_use]
    pub fn with_scope(self, scopes: &Scopes) -> Self {
        Self {
            scope: Some(scopes.to_string()),
            ..self
        }
    }

    /// Returns the response, with the only media type that OpenTofu accepts (clients.md 14.1).
    pub fn reply<S>(&self) -> Reply<S> {
        let text = json::to_string(self);
        Reply::json(200, CachePolicy::NoStore, text).with("pragma", "no-cache")
    }
}

impl RedemptionError {
    /// Returns whether the request may be a guess of a code or a verifier.
    pub fn may_be_a_guess(&self) -> bool {
        matches!(
            self,
            Self::Foreign | Self::OtherClient | Self::OtherPort | Self::OtherVerifier
        )
    }

    /// Returns the error response (RFC 6749, section 5.2).
    pub fn reply<S>(&self) -> Reply<S> {
        let (status, error) = match self {
            Self::Client(_) => (400, "invalid_client"),
            Self::GrantType(_) => (400, "unsupported_grant_type"),
            Self::Parameter(_) => (400, "invalid_request"),
            // RFC 8707, section 2.
            Self::OtherResource => (400, "invalid_target"),
            Self::Refused
            | Self::Foreign
            | Self::Expired
            | Self::OtherClient
            | Self::OtherPort
            | Self::OtherVerifier
            | Self::Used => (400, "invalid_grant"),
            Self::TooMany => (429, "temporarily_unavailable"),
            Self::Unavailable => (503, "temporarily_unavailable"),
        };
        let body = ErrorBody {
            error,
            error_description: self.to_string().into(),
        };
        let text = json::to_string(&body);
        let reply = Reply::json(status, CachePolicy::NoStore, text).with("pragma", "no-cache");
        match self {
            Self::TooMany => reply.with("retry-after", "60"),
            Self::Unavailable => reply.with("retry-after", "2"),
            _ => reply,
        }
    }
}

impl From<SealError> for RedemptionError {
    fn from(fault: SealError) -> Self {
        match fault {
            SealError::Foreign => Self::Foreign,
            SealError::Stale(_) => Self::Expired,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::reply::Body;
    use proptest::prelude::*;

    /// The form that Terraform 1.11 sends (clients.md 7.6).
    const FORM: &str = "client_id=terraform-cli&code=a.b\
        &code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk&grant_type=authorization_code\
        &redirect_uri=http%3A%2F%2Flocalhost%3A10003%2Flogin";

    fn message(fault: &RedemptionError) -> (u16, String) {
        let reply: Reply<()> = fault.reply();
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
        let Body::Text(text) = reply.body else {
            panic!()
        };
        (reply.status, text)
    }

    #[test]
    fn the_form_of_a_client_is_parsed_7_6() {
        for accepts_clients in [false, true] {
            let request = TokenRequest::parse(FORM.as_bytes(), accepts_clients).unwrap();
            assert_eq!(request.code, "a.b");
            let TokenClient::Terminal(port) = request.client else {
                panic!("{request:?}")
            };
            assert_eq!(port.to_string(), "http://localhost:10003/login");
        }
    }

    #[test]
    fn the_form_of_an_oauth_client_is_parsed_where_clients_are_accepted() {
        let form = FORM
            .replace("terraform-cli", "https%3A%2F%2Fapp.example.com%2Fc.json")
            .replace("localhost%3A10003", "127.0.0.1%3A33418");
        let form = format!("{form}&resource=https%3A%2F%2Fregistry.example.com%2Fmcp");
        let request = TokenRequest::parse(form.as_bytes(), true).unwrap();
        let TokenClient::Client {
            id,
            redirect,
            resource,
        } = request.client
        else {
            panic!("{request:?}")
        };
        assert_eq!(id.as_str(), "https://app.example.com/c.json");
        assert_eq!(redirect.unwrap().as_str(), "http://127.0.0.1:33418/login");
        assert_eq!(resource.unwrap(), "https://registry.example.com/mcp");
        let refused = TokenRequest::parse(form.as_bytes(), false).unwrap_err();
        assert!(
            message(&refused)
                .1
                .contains("client_id must be terraform-cli")
        );
        for (from, to, error, parameter) in [
            (
                "127.0.0.1",
                "evil.example",
                "invalid_request",
                "redirect_uri",
            ),
            ("c.json", "", "invalid_client", "client_id"),
            (
                "code_verifier=",
                "code_verifier=+",
                "invalid_request",
                "code_verifier",
            ),
        ] {
            let form = form.replacen(from, to, 1);
            let (status, text) = message(&TokenRequest::parse(form.as_bytes(), true).unwrap_err());
            let begin = format!("{{\"error\":\"{error}\",\"error_description\":\"{parameter} ");
            assert!(status == 400 && text.starts_with(&begin), "{text}");
        }
    }

    #[test]
    fn an_invalid_parameter_is_reported_with_its_error_code() {
        for (from, to, error, parameter) in [
            (
                "authorization_code",
                "password",
                "unsupported_grant_type",
                "grant_type",
            ),
            (
                "&grant_type=authorization_code",
                "",
                "invalid_request",
                "grant_type",
            ),
            ("terraform-cli", "other", "invalid_client", "client_id"),
            (
                "client_id=terraform-cli&",
                "",
                "invalid_client",
                "client_id",
            ),
            ("code=a.b&", "", "invalid_request", "code"),
            (
                "code=a.b&",
                "code=refused&",
                "invalid_grant",
                "sign-in was refused",
            ),
            ("code=a.b", "code=a.b&code=a.b", "invalid_request", "code"),
            (
                "code_verifier=",
                "code_verifier=+",
                "invalid_request",
                "code_verifier",
            ),
            ("localhost", "127.0.0.1", "invalid_request", "redirect_uri"),
            ("10003", "10011", "invalid_request", "redirect_uri"),
        ] {
            let fault =
                TokenRequest::parse(FORM.replacen(from, to, 1).as_bytes(), false).unwrap_err();
            let (status, text) = message(&fault);
            assert_eq!(status, 400);
            let begin = format!("{{\"error\":\"{error}\",\"error_description\":\"{parameter} ");
            assert!(text.starts_with(&begin), "{text}");
        }
        assert!(TokenRequest::parse(b"\xff", true).is_err());
    }

    #[test]
    fn an_error_description_has_only_allowed_characters() {
        for fault in [
            RedemptionError::Refused,
            RedemptionError::Foreign,
            RedemptionError::Expired,
            RedemptionError::OtherPort,
            RedemptionError::OtherVerifier,
            RedemptionError::OtherClient,
            RedemptionError::OtherResource,
            RedemptionError::Used,
            RedemptionError::Unavailable,
        ] {
            let description = fault.to_string();
            let is_allowed = |byte: u8| matches!(byte, b' '..=b'~') && !b"\"\\".contains(&byte);
            assert!(description.bytes().all(is_allowed), "{description}");
            assert!(message(&fault).1.contains(&description));
        }
    }

    #[test]
    fn the_response_has_the_form_that_clients_accept_7_7() {
        let reply: Reply<()> = LoginToken::new("terrace_x".to_owned(), 60).reply();
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let text = r#"{"access_token":"terrace_x","token_type":"bearer","expires_in":60}"#;
        assert_eq!(reply.body, Body::Text(text.to_owned()));
    }

    proptest! {
        #[test]
        fn no_form_panics(text in "(code|client_id|grant_type|=|&|%|[a-z.]|\\PC){0,40}") {
            let _ = TokenRequest::parse(text.as_bytes(), true);
        }
    }
}
