//! Token exchange (RFC 8693): a CI job presents its CI's token, and gets a token of this registry that is
//! valid for a few minutes.
//!
//! # In scope
//! The request, the response, and the token that is issued for the
//! [scopes granted](crate::auth::oidc::GrantedScopes).
//!
//! # Out of scope
//! Verification of the job's token ([`terrace_jose`]), and the rules that grant scopes to it
//! ([`crate::auth::oidc`]).
//!
//! # Replays
//! A job may present its token repeatedly while it is valid, and sometimes must: an upload may take longer
//! than the first issued token is valid. Each exchange grants the same scopes, and no issued token outlives
//! the job's token. So an attacker with a stolen token gains nothing by exchanging it often, and nothing at
//! all once it has expired. Detection of repeated exchanges would take a write to storage that all isolates
//! see at once, for each job.

mod error;

pub use error::ExchangeError;

use crate::auth::access::{Scopes, Token, TokenName};
use crate::auth::oauth::GrantedToken;
use crate::auth::oidc;
use crate::auth::parameter::{optional, required};
use crate::http::form::{Form, encoded};
use crate::http::reply::Reply;
use crate::model::token_id::TokenId;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_jose::{Claims, TokenError};

/// Maximum size of the body of a token exchange: a token of [`terrace_jose::limits::TOKEN_BYTES`] and the
/// other parameters.
pub const EXCHANGE_BYTES: u64 = 32 * 1024;

/// Maximum lifetime of a token that is issued to a job, in seconds. GitHub's own tokens are valid for five
/// minutes, which is less; a run that takes longer exchanges its token again.
const EXCHANGED_TOKEN_SECONDS: u32 = 900;

/// The variable with the rules for the jobs that get tokens.
pub const TRUSTED_PUBLISHERS: &str = "TERRACE_TRUSTED_PUBLISHERS";

/// The path of the exchange endpoint.
pub const EXCHANGE_PATH: &str = "/oauth/exchange";

/// The media type of requests (RFC 6749, appendix B).
const FORM: &str = "application/x-www-form-urlencoded";

/// The grant type of an exchange (RFC 8693, section 2.1).
pub const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// The type of the job's token (RFC 8693, section 3).
pub const TYPE_JWT: &str = "urn:ietf:params:oauth:token-type:jwt";

/// The type for ID tokens, which some CIs use instead.
const TYPE_ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";

/// The type of the issued token.
const TYPE_ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A job's request for a token.
#[derive(Debug)]
pub struct ExchangeRequest {
    subject_token: Secret,
    scopes: Option<Scopes>,
}

/// Returns the request body that a job sends.
pub fn request_body(subject_token: &str) -> String {
    let parameters = [
        ("grant_type", GRANT_TYPE),
        ("subject_token", subject_token),
        ("subject_token_type", TYPE_JWT),
    ];
    encoded(&parameters)
}

impl ExchangeRequest {
    /// Parses a request that was sent to this origin.
    ///
    /// # Errors
    /// The error in the request's form. The job's token is not verified here.
    pub fn parse(
        content_type: Option<&str>,
        body: &[u8],
        origin: &str,
    ) -> Result<Self, ExchangeError> {
        let wrong = |message: String| Err(ExchangeError::Malformed(message));
        let media_type = content_type.unwrap_or_default().split(';').next();
        let media_type = media_type.unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case(FORM) {
            return wrong(format!("the content type must be {FORM}"));
        }
        if body.len() as u64 > EXCHANGE_BYTES {
            return Err(ExchangeError::TooLarge);
        }
        // A body that is not UTF-8 has no parameters.
        let form = Form(std::str::from_utf8(body).unwrap_or_default());
        let value = |name| optional::<String>(form, name);
        if required::<String>(form, "grant_type")? != GRANT_TYPE {
            return Err(ExchangeError::GrantType);
        }
        let presented: String = required(form, "subject_token_type")?;
        if ![TYPE_JWT, TYPE_ID_TOKEN].contains(&presented.as_str()) {
            return wrong(format!(
                "subject_token_type must be {TYPE_JWT} or {TYPE_ID_TOKEN}"
            ));
        }
        let wanted = value("requested_token_type")?;
        if wanted.is_some_and(|wanted| wanted != TYPE_ACCESS_TOKEN) {
            return wrong(format!("requested_token_type must be {TYPE_ACCESS_TOKEN}"));
        }
        if value("actor_token")?.is_some() {
            return wrong("actor_token is not supported: omit it".to_owned());
        }
        for target in ["audience", "resource"] {
            let target = value(target)?;
            if target.is_some_and(|target| target.strip_suffix('/').unwrap_or(&target) != origin) {
                return Err(ExchangeError::Target);
            }
        }
        let scopes = value("scope")?.map(|text| text.parse());
        Ok(Self {
            subject_token: Secret::new(required::<String>(form, "subject_token")?),
            scopes: scopes.transpose().map_err(ExchangeError::Scope)?,
        })
    }

    /// Returns the token that the job presents.
    pub fn subject_token(&self) -> &str {
        self.subject_token.expose()
    }

    /// Returns the scopes that the job requests out of those that are granted; all of them if it requests
    /// none.
    ///
    /// # Errors
    /// If it requests a scope that is not granted.
    pub fn narrow(&self, granted: &Scopes) -> Result<Scopes, ExchangeError> {
        let Some(asked) = &self.scopes else {
            return Ok(granted.clone());
        };
        match asked.iter().find(|scope| !granted.cover(scope)) {
            None => Ok(asked.clone()),
            Some(scope) => Err(ExchangeError::Scope(format!(
                "the rules of this registry do not grant {scope} to this job"
            ))),
        }
    }
}

/// Creates the token for a job with these claims, the most important of which it contains. It expires no later
/// than the job's own token.
///
/// # Errors
/// If the job's token is accepted only because of clock tolerance: no token can be issued for it.
pub fn token_for(
    claims: &Claims,
    scopes: Scopes,
    random: [u8; 16],
    now: UnixTime,
) -> Result<Token, TokenError> {
    let expires = claims.expires().min(now.plus(EXCHANGED_TOKEN_SECONDS));
    if expires <= now {
        return Err(TokenError::expired(expires, now));
    }
    Ok(Token {
        is_of_previous: false,
        id: TokenId::new(random),
        name: TokenName::nearest(&format!("job {}", claims.subject())),
        scopes,
        expires: Some(expires),
        provenance: oidc::provenance(claims).and_then(|it| it.to_text()),
    })
}

/// Returns the response with a token (RFC 8693, section 2.2.1). `written` is the token's text.
pub fn answer<S>(token: &Token, written: &str, now: UnixTime) -> Reply<S> {
    let granted = GrantedToken {
        access_token: written,
        issued_token_type: Some(TYPE_ACCESS_TOKEN),
        token_type: "Bearer",
        expires_in: token.expires.unwrap_or(now).since(now),
        scope: Some(token.scopes.to_string()),
    };
    granted.reply()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: &str = "https://registry.example.com";
    const TYPE: Option<&str> = Some("Application/X-WWW-Form-Urlencoded; charset=UTF-8");

    fn body(more: &str) -> String {
        format!(
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token=a.b.c{more}"
        )
    }

    fn parse(body: &str) -> Result<ExchangeRequest, ExchangeError> {
        ExchangeRequest::parse(TYPE, body.as_bytes(), ORIGIN)
    }

    const OF_JWT: &str = "&subject_token_type=urn:ietf:params:oauth:token-type:jwt";

    #[test]
    fn a_request_is_parsed_and_does_not_print_its_token() {
        let request = parse(&body(OF_JWT)).unwrap();
        assert_eq!(request.subject_token(), "a.b.c");
        assert!(!format!("{request:?}").contains("a.b.c"));
        let id_token = "&subject_token_type=urn:ietf:params:oauth:token-type:id_token";
        assert!(parse(&body(id_token)).is_ok());
    }

    #[test]
    fn a_body_that_is_not_a_form_is_rejected() {
        let body = body(OF_JWT);
        for kind in [None, Some(""), Some("application/json"), Some("text/plain")] {
            assert!(ExchangeRequest::parse(kind, body.as_bytes(), ORIGIN).is_err());
        }
        for more in [
            "&subject_token=x",
            "&subject%5ftoken=x",
            "&scope=%ff",
            "&scope=%zz",
        ] {
            assert!(parse(&format!("{body}{more}")).is_err(), "{more}");
        }
        assert!(ExchangeRequest::parse(TYPE, b"grant_type=\xff", ORIGIN).is_err());
        let long = "a".repeat(33_000);
        assert!(matches!(parse(&long), Err(ExchangeError::TooLarge)));
    }

    #[test]
    fn a_request_body_of_a_job_parses_back() {
        let request = parse(&request_body("a+b.c/d&e=")).unwrap();
        assert_eq!(request.subject_token(), "a+b.c/d&e=");
    }

    #[test]
    fn a_request_for_another_registry_is_rejected() {
        for target in ["audience", "resource"] {
            for (value, is_right) in [
                ("https%3A%2F%2Fregistry.example.com", true),
                ("https://registry.example.com/", true),
                ("", true),
                ("https://registry.example.com//", false),
                ("https://other.example", false),
                ("registry.example.com", false),
            ] {
                let parsed = parse(&body(&format!("{OF_JWT}&{target}={value}")));
                let is_other = matches!(parsed, Err(ExchangeError::Target));
                assert_eq!(!is_other, is_right, "{target} {value}");
            }
        }
    }

    #[test]
    fn a_job_gets_the_requested_scopes_if_they_are_granted() {
        let granted: Scopes = "publish:acme read:globex publish:a.example"
            .parse()
            .unwrap();
        let narrowed = |asked: &str| {
            let request = parse(&body(&format!("{OF_JWT}&scope={asked}"))).unwrap();
            request
                .narrow(&granted)
                .map(|scopes| scopes.to_string())
                .ok()
        };
        for (asked, given) in [
            ("", Some("read:globex publish:a.example publish:acme")),
            ("publish:acme", Some("publish:acme")),
            ("read:acme+publish:acme", Some("read:acme publish:acme")),
            ("read:globex", Some("read:globex")),
            ("publish:a.example/acme", Some("publish:a.example/acme")),
            ("publish:globex", None),
            ("publish:acme%20publish:initech", None),
            ("read", None),
            ("admin", None),
            ("publish:a.example.com", None),
            ("publish:acme-evil", None),
        ] {
            assert_eq!(narrowed(asked).as_deref(), given, "{asked}");
        }
        let unknown = parse(&body(&format!("{OF_JWT}&scope=write")));
        assert!(matches!(unknown, Err(ExchangeError::Scope(_))));
    }
}
