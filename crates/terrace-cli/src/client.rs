//! The admin API over HTTP.

use std::time::Duration;

use terrace_core::admin::{ErrorBody, PublishAnswer};
use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};

use crate::args::RegistryArguments;
use crate::error::Failure;
use crate::retry::{Tried, is_passing, retry};

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the registry may think: it may hash a large archive before it answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// The largest answer that is read.
const ANSWER_BYTES: u64 = 4 * 1024 * 1024;

/// A registry, and the right to change it.
pub(crate) struct Client {
    agent: Agent,
    url: String,
    token: String,
}

/// What the registry answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn new(arguments: &RegistryArguments) -> Result<Self, Failure> {
        let url = arguments.url.as_deref().ok_or_else(|| {
            Failure::NotAllowed("which registry? Give --url or set TERRACE_URL".to_owned())
        })?;
        if !url.starts_with("https://") && !url.starts_with("http://") {
            let reason = format!("the registry's URL {url:?} must start with https:// or http://");
            return Err(Failure::refused(reason));
        }
        let token = arguments.token.clone().filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            Failure::NotAllowed("no token: set TERRACE_TOKEN or give --token".to_owned())
        })?;
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::NotAllowed(
                "the token holds characters that no token has".to_owned(),
            ));
        }
        Ok(Self {
            agent: agent(),
            url: url.trim_end_matches('/').to_owned(),
            token,
        })
    }

    /// Where the registry is.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sends a description to publish.
    pub(crate) fn publish(&self, path: &str, body: &str) -> Result<PublishAnswer, Failure> {
        let answer = self.send("PUT", path, Some((body, "application/json")))?;
        match answer.status {
            200..=202 => serde_json::from_str(&answer.text).map_err(|error| {
                Failure::Unexpected(format!("the registry's answer is not understood: {error}"))
            }),
            _ => Err(answer.into_failure(&self.url)),
        }
    }

    /// Sends a request that has to succeed, with retries.
    pub(crate) fn expect_ok(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<String, Failure> {
        let answer = self.send(method, path, body)?;
        if (200..300).contains(&answer.status) {
            Ok(answer.text)
        } else {
            Err(answer.into_failure(&self.url))
        }
    }

    /// An agent for archive URLs, which go elsewhere and carry no token.
    pub(crate) fn anonymous(&self) -> &Agent {
        &self.agent
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Answer, Failure> {
        retry(|| match self.send_once(method, path, body) {
            Ok(response) => {
                let pause = retry_after(&response);
                match read(response) {
                    Ok(answer) if is_passing(answer.status) => {
                        Tried::Again(answer.into_failure(&self.url), pause)
                    }
                    Ok(answer) => Tried::Done(Ok(answer)),
                    Err(error) => Tried::Again(self.unreachable(&error), None),
                }
            }
            Err(error) => Tried::Again(self.unreachable(&error), None),
        })
    }

    fn send_once(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &str)>,
    ) -> Result<Response<ureq::Body>, ureq::Error> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {}", self.token));
        match body {
            Some((text, content_type)) => self
                .agent
                .run(request.header("content-type", content_type).body(text)?),
            None => self.agent.run(request.body(())?),
        }
    }

    fn unreachable(&self, error: &ureq::Error) -> Failure {
        Failure::Unavailable(format!("{} cannot be reached: {error}", self.url))
    }
}

impl Answer {
    fn into_failure(self, url: &str) -> Failure {
        let Self { status, text } = self;
        let reasons = serde_json::from_str::<ErrorBody>(&text)
            .map(|body| body.errors)
            .unwrap_or_else(|_| vec![format!("{url} answered with status {status}")]);
        match status {
            401 | 403 => Failure::NotAllowed(format!(
                "the registry refuses the token: {}",
                reasons.join("; ")
            )),
            404 => Failure::NotAllowed(reasons.join("; ")),
            409 => Failure::Conflict(reasons),
            400..=499 => Failure::Refused(reasons),
            500..=599 => Failure::Unavailable(reasons.join("; ")),
            _ => Failure::Unexpected(reasons.join("; ")),
        }
    }
}

fn agent() -> Agent {
    // The platform's verifier trusts what the system trusts, and on Linux SSL_CERT_FILE.
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier)
        .build();
    Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        .max_redirects(0)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(ANSWER_TIMEOUT))
        .user_agent(concat!("terrace/", env!("CARGO_PKG_VERSION")))
        .build()
        .into()
}

fn read(response: Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let status = response.status().as_u16();
    let text = response
        .into_body()
        .into_with_config()
        .limit(ANSWER_BYTES)
        .read_to_string()?;
    Ok(Answer { status, text })
}

/// The pause that a server asks for, in seconds; dates are left to the backoff.
pub(crate) fn retry_after<B>(response: &Response<B>) -> Option<Duration> {
    let seconds = response
        .headers()
        .get("retry-after")?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}
