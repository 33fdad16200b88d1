//! With what right something is done: a token, or what a job of a CI gets for its own.

use std::fmt;
use std::sync::Mutex;

use serde::Deserialize;
use terrace_base::secret::Secret;
use terrace_core::auth::exchange::{EXCHANGE_PATH, request_body};
use ureq::http::{Request, Uri};

use crate::answer::Answer;
use crate::client::Client;
use crate::error::Failure;
use crate::identity::JobIdentity;

/// What opens the registry.
pub(crate) enum Credential {
    /// A token that somebody has set.
    Token(Secret),
    /// A job, and the token that the registry has given to it.
    Job(JobIdentity, Mutex<Option<Secret>>),
}

/// The part of an exchange's answer that counts.
#[derive(Deserialize)]
struct Exchanged {
    access_token: String,
}

impl Credential {
    /// The token that is given, or else what the environment says of a job.
    pub(crate) fn find(token: Option<&str>) -> Result<Self, Failure> {
        if let Some(token) = token {
            let message = "the token holds a space, a line break or a character that is not ASCII";
            let secret = checked(token).ok_or_else(|| Failure::Usage(message.to_owned()))?;
            return Ok(Self::Token(secret));
        }
        let identity = JobIdentity::find(|name| std::env::var(name).ok());
        let identity = identity.ok_or_else(|| {
            Failure::Usage(
                "no token: set TERRACE_TOKEN; or, in a CI that the registry trusts, let the job have \
                 an OpenID token: in GitHub Actions by the permission `id-token: write`, elsewhere in \
                 TERRACE_ID_TOKEN"
                    .to_owned(),
            )
        })?;
        Ok(Self::Job(identity, Mutex::default()))
    }

    /// The token to send. A job that has none yet gets it now.
    pub(crate) fn token(&self, client: &Client<'_>) -> Result<Secret, Failure> {
        let (identity, given) = match self {
            Self::Token(token) => return Ok(token.clone()),
            Self::Job(identity, given) => (identity, given),
        };
        let poisoned = |_| Failure::Unexpected("another thread has failed".to_owned());
        let mut given = given.lock().map_err(poisoned)?;
        if let Some(token) = &*given {
            return Ok(token.clone());
        }
        let token = exchange(identity, client)?;
        *given = Some(token.clone());
        Ok(token)
    }

    /// Forgets a token that is not good any more, if another one can be got.
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

impl fmt::Display for Credential {
    /// What to look at when it is refused.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "TERRACE_TOKEN must be its admin token, or a token with this scope",
            Self::Job(..) => {
                "It was given to this job by the rules in the registry's TERRACE_TRUSTED_PUBLISHERS"
            }
        })
    }
}

/// Gets a token of the registry for that of the job.
fn exchange(identity: &JobIdentity, client: &Client<'_>) -> Result<Secret, Failure> {
    let (url, agent) = (client.url(), client.agent());
    let shown = identity.token(client, &origin(url))?;
    let body = request_body(shown.expose());
    let answer = client.until_answered(url, || {
        let request = Request::post(format!("{url}{EXCHANGE_PATH}"))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded");
        Answer::read(agent.run(request.body(body.as_str())?)?)
    })?;
    match answer.status {
        200 => {
            let read = serde_json::from_str::<Exchanged>(&answer.text).ok();
            let token = read.and_then(|read| checked(&read.access_token));
            let told = || Failure::Unexpected(format!("{url} answered without a token"));
            token.ok_or_else(told)
        }
        400 => Err(Failure::NotAllowed(
            "the registry does not trust this job: its rules are in TERRACE_TRUSTED_PUBLISHERS; the \
             registry's log says why"
                .to_owned(),
        )),
        404 => Err(Failure::NotAllowed(format!(
            "{url} trusts no jobs: set TERRACE_TRUSTED_PUBLISHERS there, or TERRACE_TOKEN here"
        ))),
        _ => Err(answer.into_failure(url)),
    }
}

/// A token that fits into a header.
fn checked(token: &str) -> Option<Secret> {
    let is_plain = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain.then(|| Secret::new(token))
}

/// The registry's origin as it sees it itself, which is the audience of the job's token: in lower case,
/// without the port that its scheme has anyway.
fn origin(url: &str) -> String {
    let url = url.to_ascii_lowercase();
    let uri: Uri = url.parse().unwrap_or_default();
    let usual = match uri.scheme_str() {
        Some("http") => ":80",
        _ => ":443",
    };
    url.strip_suffix(usual).unwrap_or(&url).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audience_is_the_origin_as_the_registry_sees_it() {
        for (url, seen) in [
            (
                "https://Registry.Example.com",
                "https://registry.example.com",
            ),
            ("https://r.example.com:443", "https://r.example.com"),
            ("https://r.example.com:80", "https://r.example.com:80"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://127.0.0.1:8787", "http://127.0.0.1:8787"),
        ] {
            assert_eq!(origin(url), seen);
        }
    }
}
