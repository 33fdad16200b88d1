//! The source of the registry token: a configured one, or one that a CI job gets in exchange for its own.

use std::sync::Mutex;

use serde::Deserialize;
use terrace_base::secret::Secret;
use terrace_core::auth::exchange::{EXCHANGE_PATH, request_body};
use ureq::http::Request;

use crate::error::Failure;
use crate::http::{BaseUrl, Http, Response};
use crate::registry::job_identity::JobIdentity;

/// The source of the token for the registry.
pub(crate) enum TokenSource {
    /// A configured token.
    Token(Secret),
    /// A CI job, and the token that the registry has issued to it.
    Job(JobIdentity, Mutex<Option<Secret>>),
}

/// The part of the exchange response that is used.
#[derive(Deserialize)]
struct Exchanged {
    access_token: String,
}

impl TokenSource {
    /// Returns the given token, or else the CI job that the environment describes.
    pub(crate) fn find(token: Option<&str>) -> Result<Self, Failure> {
        if let Some(token) = token {
            let message =
                "the token contains a space, a line break or a character that is not ASCII";
            let secret = checked(token).ok_or_else(|| Failure::Usage(message.to_owned()))?;
            return Ok(Self::Token(secret));
        }
        let identity = JobIdentity::find(|name| std::env::var(name).ok());
        let identity = identity.ok_or_else(|| {
            Failure::Usage(
                "no token: set TERRACE_TOKEN; for the local registry of `npm start`, run `. .terrace/env`. A CI job that the registry trusts can use its OIDC token instead: in \
                 GitHub Actions with the permission `id-token: write`, elsewhere in the variable TERRACE_ID_TOKEN"
                    .to_owned(),
            )
        })?;
        Ok(Self::Job(identity, Mutex::default()))
    }

    /// Returns the token to send to the registry at `url`. A job without a token requests one now.
    pub(crate) fn token(&self, url: &BaseUrl, http: &Http<'_>) -> Result<Secret, Failure> {
        let (identity, given) = match self {
            Self::Token(token) => return Ok(token.clone()),
            Self::Job(identity, given) => (identity, given),
        };
        let poisoned = |_| Failure::Unexpected("another thread has failed".to_owned());
        let mut given = given.lock().map_err(poisoned)?;
        if let Some(token) = &*given {
            return Ok(token.clone());
        }
        let token = exchange(identity, url, http)?;
        *given = Some(token.clone());
        Ok(token)
    }

    /// Returns the advice for a token that the registry rejects for this reason.
    pub(crate) fn advice(&self, reason: &str) -> &'static str {
        match self {
            Self::Token(_) if reason.contains("scope") => {
                "TERRACE_TOKEN must be its admin token, or a token with this scope"
            }
            Self::Token(_) => {
                "TERRACE_TOKEN must be its admin token, or an API token that it issued (terrace token create)"
            }
            Self::Job(..) => {
                "It was issued to this CI job by the rules in the registry's TERRACE_TRUSTED_PUBLISHERS"
            }
        }
    }

    /// Discards a token that is no longer valid. Returns whether another one can be requested.
    pub(crate) fn renew(&self, old: &Secret) -> bool {
        let Self::Job(_, given) = self else {
            return false;
        };
        if let Ok(mut given) = given.lock()
            && given.as_ref().is_some_and(|it| it.matches(old.expose()))
        {
            *given = None;
        }
        true
    }
}

/// Exchanges the token of the job for a registry token.
fn exchange(identity: &JobIdentity, url: &BaseUrl, http: &Http<'_>) -> Result<Secret, Failure> {
    let id_token = identity.token(http, &url.origin())?;
    let body = request_body(id_token.expose());
    let answer = http.until_answered(url.as_str(), || {
        let request = Request::post(format!("{}{EXCHANGE_PATH}", url.origin()))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        Response::read(http.agent().run(request.body(body.as_str())?)?)
    })?;
    match answer.status {
        200 => {
            let read = serde_json::from_str::<Exchanged>(&answer.text).ok();
            let token = read.and_then(|read| checked(&read.access_token));
            let failure = || Failure::Unexpected(format!("{url} responded without a token"));
            token.ok_or_else(failure)
        }
        400 => Err(Failure::NotAllowed(
            "the registry does not trust this CI job: check the rules in its TERRACE_TRUSTED_PUBLISHERS; its log \
             contains the reason"
                .to_owned(),
        )),
        404 => Err(Failure::NotAllowed(format!(
            "{url} trusts no CI jobs: set TERRACE_TRUSTED_PUBLISHERS there, or TERRACE_TOKEN here"
        ))),
        _ => Err(answer.into_failure(url.as_str())),
    }
}

/// Returns the token if it is a valid header value.
fn checked(token: &str) -> Option<Secret> {
    let is_plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then(|| Secret::new(token))
}
