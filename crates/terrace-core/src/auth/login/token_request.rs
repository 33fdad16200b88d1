//! The last step of a sign-in: a program redeems its code for a token.

use super::authorization::{REFUSED, client_id, redirect_of_terminal};
use super::client::{ClientId, LoopbackRedirect};
use super::pkce::Verifier;
use crate::auth::access::{Scopes, SealError};
use crate::auth::login::LOGIN_CODE_SECONDS;
use crate::auth::oauth::{self, GrantedToken};
use crate::auth::parameter::{ParameterError, must_be, optional, required};
use crate::http::form::Form;
use crate::http::reply::Reply;

/// A program's request for a token (clients.md 7.6).
#[derive(Debug)]
pub struct TokenRequest {
    /// The code that was issued to the program.
    pub code: String,
    /// The PKCE verifier of the program.
    pub verifier: Verifier,
    /// The ID of an application; `None` for a terminal.
    pub client: Option<ClientId>,
    /// The URL at which the program received its code. OAuth 2.1 does not require that an application repeats it (section
    /// 10.2).
    pub redirect: Option<LoopbackRedirect>,
    /// The resource that the token is for, if an application repeats it (RFC 8707, section 2.2).
    pub resource: Option<String>,
}

/// The parameter with the resource of a token.
pub(super) const RESOURCE: &str = "resource";

/// The reason why a code is not redeemed. Clients show the message to their users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedemptionError {
    /// A parameter is missing or invalid; the first field is the error code.
    #[error("{1}")]
    Parameter(&'static str, ParameterError),
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
    /// The code was issued to a request with another value of this parameter.
    #[error("{0} is not the one that this code was issued for")]
    Other(&'static str),
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

impl TokenRequest {
    /// Parses the form that a program sends. `accepts_applications` tells whether others than terminals may have a code.
    ///
    /// # Errors
    /// The first parameter that is missing or invalid.
    pub fn parse(body: &[u8], accepts_applications: bool) -> Result<Self, RedemptionError> {
        // A body that is not UTF-8 has no parameters.
        let form = Form(std::str::from_utf8(body).unwrap_or_default());
        let as_code = |code| move |fault| RedemptionError::Parameter(code, fault);
        let wrong = as_code("invalid_request");
        let _: String = required(form, "grant_type").map_err(wrong)?;
        let grant = must_be(form, "grant_type", "authorization_code");
        grant.map_err(as_code("unsupported_grant_type"))?;
        let client = client_id(form, accepts_applications);
        let client = client.map_err(as_code("invalid_client"))?;
        let code: String = required(form, "code").map_err(wrong)?;
        if code == REFUSED {
            return Err(RedemptionError::Refused);
        }
        let verifier = required(form, "code_verifier").map_err(wrong)?;
        let redirect = match client {
            None => redirect_of_terminal(form).map(Some),
            Some(_) => optional(form, "redirect_uri"),
        };
        Ok(Self {
            code,
            verifier,
            client,
            redirect: redirect.map_err(wrong)?,
            resource: optional(form, RESOURCE).map_err(wrong)?,
        })
    }
}

/// Returns the response with a token that expires after `expires_in` seconds. It names the granted scopes for an application.
pub fn token_reply<S>(text: &str, expires_in: u64, scopes: Option<&Scopes>) -> Reply<S> {
    let granted = GrantedToken {
        access_token: text,
        issued_token_type: None,
        token_type: "bearer",
        expires_in,
        scope: scopes.map(Scopes::to_string),
    };
    granted.reply().with("pragma", "no-cache")
}

impl RedemptionError {
    /// Returns whether the request may be a guess of a code or a verifier.
    pub fn may_be_a_guess(&self) -> bool {
        match self {
            Self::Foreign => true,
            Self::Other(parameter) => *parameter != RESOURCE,
            _ => false,
        }
    }

    /// Returns the error response (RFC 6749, section 5.2).
    pub fn reply<S>(&self) -> Reply<S> {
        let (status, error) = match self {
            Self::Parameter(code, _) => (400, *code),
            // RFC 8707, section 2.
            Self::Other(RESOURCE) => (400, "invalid_target"),
            Self::Refused | Self::Foreign | Self::Expired | Self::Other(_) | Self::Used => {
                (400, "invalid_grant")
            }
            Self::TooMany => (429, "temporarily_unavailable"),
            Self::Unavailable => (503, "temporarily_unavailable"),
        };
        let reply = oauth::refusal(status, error, &self.to_string());
        let reply = reply.with("pragma", "no-cache");
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
    fn the_form_of_a_terminal_is_parsed_7_6() {
        for accepts_applications in [false, true] {
            let request = TokenRequest::parse(FORM.as_bytes(), accepts_applications).unwrap();
            assert_eq!((request.code.as_str(), request.client), ("a.b", None));
            let redirect = request.redirect.unwrap();
            assert_eq!(redirect.as_str(), "http://localhost:10003/login");
        }
    }

    #[test]
    fn the_form_of_an_application_is_parsed_where_they_are_accepted() {
        let form = FORM
            .replace("terraform-cli", "https%3A%2F%2Fapp.example.com%2Fc.json")
            .replace("localhost%3A10003", "127.0.0.1%3A33418");
        let form = format!("{form}&resource=https%3A%2F%2Fregistry.example.com%2Fmcp");
        let request = TokenRequest::parse(form.as_bytes(), true).unwrap();
        assert_eq!(
            request.client.unwrap().as_str(),
            "https://app.example.com/c.json"
        );
        assert_eq!(
            request.redirect.unwrap().as_str(),
            "http://127.0.0.1:33418/login"
        );
        assert_eq!(
            request.resource.unwrap(),
            "https://registry.example.com/mcp"
        );
        let refused = TokenRequest::parse(form.as_bytes(), false).unwrap_err();
        assert!(
            message(&refused)
                .1
                .contains("client_id must be terraform-cli")
        );
    }

    #[test]
    fn an_invalid_parameter_is_reported_with_its_error_code() {
        let [request, client] = ["invalid_request", "invalid_client"];
        let (grant, refused) = ("unsupported_grant_type", "sign-in was refused");
        for (from, to, error, parameter) in [
            ("authorization_code", "password", grant, "grant_type"),
            ("&grant_type", "&x", request, "grant_type"),
            ("terraform-cli", "other", client, "client_id"),
            ("client_id", "x", client, "client_id"),
            ("code=a.b&", "", request, "code"),
            ("code=a.b&", "code=refused&", "invalid_grant", refused),
            ("code=a.b", "code=a.b&code=a.b", request, "code"),
            ("verifier=", "verifier=+", request, "code_verifier"),
            ("localhost", "127.0.0.1", request, "redirect_uri"),
            ("10003", "10011", request, "redirect_uri"),
        ] {
            let fault =
                TokenRequest::parse(FORM.replacen(from, to, 1).as_bytes(), false).unwrap_err();
            let (status, text) = message(&fault);
            assert_eq!(status, 400);
            let begin = format!("{{\"error\":\"{error}\",\"error_description\":\"{parameter} ");
            assert!(text.starts_with(&begin), "{text}");
        }
        assert!(TokenRequest::parse(b"\xff", true).is_err());
        let (status, text) = message(&RedemptionError::Other(RESOURCE));
        assert_eq!(status, 400);
        assert!(text.contains("\"invalid_target\""), "{text}");
    }

    #[test]
    fn the_response_has_the_form_that_clients_accept_7_7() {
        let reply: Reply<()> = token_reply("terrace_x", 60, None);
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let text = r#"{"access_token":"terrace_x","token_type":"bearer","expires_in":60}"#;
        assert_eq!(reply.body, Body::Text(text.to_owned()));
    }
}
