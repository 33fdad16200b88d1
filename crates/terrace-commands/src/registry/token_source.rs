//! The source of the registry token: one that the user has, or one that a CI job gets in exchange for its own.

use std::sync::Mutex;

use serde::Deserialize;
use terrace_base::secret::Secret;
use terrace_core::auth::exchange::{EXCHANGE_PATH, request_body};
use ureq::http::Request;

use crate::credentials::{Credentials, CredentialsFile, Token, TokenHost, TokenPlace};
use crate::error::Failure;
use crate::http::{BaseUrl, Http, Response};
use crate::output::{Output, in_shell};
use crate::registry::job_identity::JobIdentity;

/// The source of the token for the registry.
pub(crate) enum TokenSource {
    /// A token that the user has for this host.
    Token(Token, TokenHost),
    /// A CI job, and the token that the registry has issued to it.
    Job(Job),
    /// No token: requests are those of an anonymous user.
    Anonymous,
}

/// A CI job that exchanges its own token.
pub(crate) struct Job {
    identity: JobIdentity,
    /// The token that the registry has issued to the job.
    given: Mutex<Option<Secret>>,
    need: Need,
}

/// Whether a command needs a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    Required,
    /// The command reads, which a registry may allow without a token.
    Optional,
}

/// The part of the exchange response that is used.
#[derive(Deserialize)]
struct Exchanged {
    access_token: String,
}

impl TokenSource {
    /// Returns the first of: the token that the user gives, the CI job that the environment describes, and the token that
    /// `terraform` and `tofu` have for the host of the registry. The name is that of the profile with the URL, if one has it.
    pub(crate) fn find(
        given: Option<Token>,
        (url, profile): (&BaseUrl, Option<&str>),
        need: Need,
        output: &Output,
    ) -> Result<Self, Failure> {
        let host = TokenHost::of(url);
        if let Some(token) = given {
            output.hide(token.secret());
            return Ok(Self::of(token, host, output));
        }
        let identity = JobIdentity::find(|name| std::env::var(name).ok());
        // A registry that needs no token must not receive one that another accepts.
        let identity = identity.filter(|it| need == Need::Required || it.is_for(&url.origin()));
        if let Some(identity) = identity {
            output.detail(&format!("the token for {url} is issued to this CI job"));
            let given = Mutex::default();
            return Ok(Self::Job(Job {
                identity,
                given,
                need,
            }));
        }
        match Credentials::find().token(&host, output)? {
            Some(token) => Ok(Self::of(token, host, output)),
            None if need == Need::Optional => {
                output.detail(&format!("there is no token for {url}: none is sent"));
                Ok(Self::Anonymous)
            }
            None => Err(missing(&host, profile)),
        }
    }

    fn of(token: Token, host: TokenHost, output: &Output) -> Self {
        let place = token.place();
        output.detail(&format!("the token for {host} is that in {place}"));
        Self::Token(token, host)
    }

    /// Returns the token to send to the registry at `url`, if any. A job without a token requests one now.
    pub(crate) fn token(&self, url: &BaseUrl, http: &Http<'_>) -> Result<Option<Secret>, Failure> {
        match self {
            Self::Token(token, _) => Ok(Some(token.secret().clone())),
            Self::Job(job) => job.token(url, http),
            Self::Anonymous => Ok(None),
        }
    }

    /// Returns the place that the token comes from, as messages name it.
    pub(crate) fn place(&self) -> String {
        match self {
            Self::Token(token, _) => token.place().to_string(),
            Self::Job(_) => "this CI job".to_owned(),
            Self::Anonymous => "none".to_owned(),
        }
    }

    /// Returns the message that the registry rejects a request for this reason, with the source of the token and advice.
    pub(crate) fn refused(&self, is_accepted: bool, reason: &str) -> String {
        let advice = match self {
            Self::Token(token, host) => match token.place() {
                TokenPlace::Client(_) => format!(
                    "sign in again with `terrace login {host}`, `terraform login {host}` or `tofu login {host}`, or set TERRACE_TOKEN"
                ),
                _ => "use the admin token of the registry, or a token that it issued (terrace token create)".to_owned(),
            },
            Self::Job(_) => "its scopes are those of the rules in the registry's TERRACE_TRUSTED_PUBLISHERS, and of those that \
                             terrace trust list shows"
                .to_owned(),
            Self::Anonymous => {
                "set TERRACE_TOKEN, or sign in with `terrace login`, `terraform login` or `tofu login`".to_owned()
            }
        };
        let place = self.place();
        match (self, is_accepted) {
            (Self::Anonymous, _) => {
                format!("the registry requires a token for this: {reason}; {advice}")
            }
            // The reason names the scope.
            (_, true) => format!("the token in {place} does not allow this: {reason}"),
            (_, false) => format!("the registry rejects the token in {place}: {reason}; {advice}"),
        }
    }

    /// Discards a token that is no longer valid. Returns whether another one can be requested.
    pub(crate) fn renew(&self, old: &Secret) -> bool {
        let Self::Job(Job { given, .. }) = self else {
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

impl Job {
    /// Returns the token that the registry issues to the job. If it issues none, a command that needs none continues
    /// without one.
    fn token(&self, url: &BaseUrl, http: &Http<'_>) -> Result<Option<Secret>, Failure> {
        let poisoned = |_| Failure::Unexpected("another thread has failed".to_owned());
        let mut given = self.given.lock().map_err(poisoned)?;
        if given.is_some() {
            return Ok(given.clone());
        }
        match exchange(&self.identity, url, http) {
            Ok(token) => *given = Some(token),
            Err(Failure::NotAllowed(reason)) if self.need == Need::Optional => {
                http.output().detail(&format!("no token is sent: {reason}"));
            }
            Err(failure) => return Err(failure),
        }
        Ok(given.clone())
    }
}

/// Returns the failure of a command that needs a token and has none.
fn missing(host: &TokenHost, profile: Option<&str>) -> Failure {
    if let Some(profile) = profile {
        let name = in_shell(profile);
        return Failure::Usage(format!(
            "no token for the profile {profile}: run terrace login --profile {name}, or name the variable with the token \
             in the profile (token_env). TERRACE_TOKEN is not used: it belongs to TERRACE_URL"
        ));
    }
    let file = CredentialsFile::find().ok();
    let helper = match file.and_then(|file| file.helper()) {
        Some(file) => {
            format!(". {file} names a credentials_helper, which this command does not run")
        }
        None => String::new(),
    };
    Failure::Usage(format!(
        "no token: set TERRACE_TOKEN; for the local registry of `npm start`, run `. .terrace/env`. A CI job that the \
         registry trusts can use its OIDC token instead: in GitHub Actions with the permission `id-token: write`, \
         elsewhere in the variable TERRACE_ID_TOKEN. A token for {host} that `terrace login`, `terraform login` or `tofu \
         login` stored, or in the variable TF_TOKEN_<host>, is used too, but there is none{helper}"
    ))
}

/// Exchanges the token of the job for a registry token.
fn exchange(identity: &JobIdentity, url: &BaseUrl, http: &Http<'_>) -> Result<Secret, Failure> {
    let id_token = identity.token(http, &url.origin())?;
    http.output().hide(&id_token);
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
            token.iter().for_each(|token| http.output().hide(token));
            let failure = || Failure::Unexpected(format!("{url} responded without a token"));
            token.ok_or_else(failure)
        }
        400 => Err(Failure::NotAllowed(
            "the registry does not trust this CI job: check the rules in its TERRACE_TRUSTED_PUBLISHERS, and those \
             that terrace trust list shows; its log contains the reason"
                .to_owned(),
        )),
        404 => Err(Failure::NotAllowed(format!(
            "{url} trusts no CI jobs: run terrace trust add, set TERRACE_TRUSTED_PUBLISHERS there, or TERRACE_TOKEN here"
        ))),
        _ => Err(answer.into_failure(url.as_str())),
    }
}

/// Returns the token if it is a valid header value.
fn checked(token: &str) -> Option<Secret> {
    let is_plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then(|| Secret::new(token))
}
