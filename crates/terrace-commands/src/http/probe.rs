//! Single requests, with responses that are looked at as they are: without retries, redirects only one by one, and
//! limited in size and time.

use std::io::Read as _;
use std::time::Duration;

use terrace_core::http::guard::{Guard, GuardError, UrlParts};
use ureq::http::{HeaderMap, Method, Request, Response};
use ureq::{Agent, AsSendBody, Body};
use url::Url;

use super::agent::{agent, describe, guard_error, guarded_agent};
use super::base_url::{BaseUrl, is_loopback};
use crate::error::Failure;

/// The most bytes of a response that are read unless a request needs more.
const PROBED_BYTES: u64 = 1024 * 1024;

/// The most redirects that are followed, as in Go's HTTP client.
const MOST_REDIRECTS: usize = 10;

/// Requests to a registry, and to the hosts that its responses name.
pub(crate) struct Probe {
    registry: Url,
    own: Agent,
    others: Agent,
    guard: Guard,
    timeout: Duration,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<&'static str>,
    /// The most bytes of the body that are read.
    pub(crate) most: u64,
}

impl Ask {
    pub(crate) fn get(url: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            url: url.into(),
            headers: Vec::new(),
            body: None,
            most: PROBED_BYTES,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    pub(crate) fn most(self, most: u64) -> Self {
        Self { most, ..self }
    }
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The URL of the request.
    pub(crate) url: String,
    pub(crate) status: u16,
    headers: HeaderMap,
    /// The start of the body, as far as the request reads it.
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// Returns a header that is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Returns the media type without its parameters, in lower case.
    pub(crate) fn media_type(&self) -> String {
        let value = self.header("content-type").unwrap_or_default();
        let media_type = value.split(';').next().unwrap_or_default();
        media_type.trim().to_ascii_lowercase()
    }

    /// Returns the target of a redirect, as written.
    pub(crate) fn redirect(&self) -> Option<&str> {
        let is_redirect = matches!(self.status, 301..=303 | 307 | 308);
        self.header("location").filter(|_| is_redirect)
    }
}

/// The reason why there is no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProbeError {
    /// The guard does not allow the host.
    #[error("{0}")]
    Guarded(GuardError),
    /// The URL cannot be requested.
    #[error("the URL is malformed")]
    Malformed,
    /// There are too many redirects.
    #[error("there are more than {MOST_REDIRECTS} redirects")]
    Redirects,
    /// The server limits the rate of requests, which says nothing about anything else.
    #[error(
        "status 429, a rate limit: wait a minute and run the command again, or choose fewer checks with --only"
    )]
    Limited,
    /// There was no response, or it broke off.
    #[error("{0}")]
    Unreachable(String),
}

impl From<ureq::Error> for ProbeError {
    fn from(error: ureq::Error) -> Self {
        match guard_error(&error) {
            Some(error) => Self::Guarded(error.clone()),
            None => Self::Unreachable(describe(&error)),
        }
    }
}

impl Probe {
    /// Creates a client for a registry. `archive_hosts` are further hosts on the command line, which may be in a private
    /// network. Each request has this timeout.
    pub(crate) fn new(
        registry: &BaseUrl,
        archive_hosts: &[BaseUrl],
        timeout: Duration,
    ) -> Result<Self, Failure> {
        let name = |guard: Guard, url: &BaseUrl| guard.naming(url.host(), url.port());
        let guard = archive_hosts.iter().fold(Guard::public(), name);
        Ok(Self {
            registry: registry.url().clone(),
            own: agent(registry.url())?,
            others: guarded_agent(guard.clone())?,
            guard,
            timeout,
        })
    }

    /// Sends a request, and follows no redirect.
    pub(crate) fn send(&self, ask: &Ask) -> Result<Seen, ProbeError> {
        read(ask, unlimited(self.request(ask, self.timeout)?)?)
    }

    /// Sends a request for which a limited rate is an answer as well.
    pub(crate) fn send_at_any_rate(&self, ask: &Ask) -> Result<Seen, ProbeError> {
        read(ask, self.request(ask, self.timeout)?)
    }

    /// Sends a request, and follows redirects. A token goes to no other origin.
    pub(crate) fn follow(&self, ask: &Ask) -> Result<Seen, ProbeError> {
        let mut ask = ask.clone();
        for _ in 0..=MOST_REDIRECTS {
            let seen = self.send(&ask)?;
            let Some(location) = seen.redirect() else {
                return Ok(seen);
            };
            let base = Url::parse(&ask.url).map_err(|_| ProbeError::Malformed)?;
            let next = base.join(location).map_err(|_| ProbeError::Malformed)?;
            if next.origin() != base.origin() {
                ask.headers.retain(|(name, _)| *name != "authorization");
            }
            ask.url = next.into();
        }
        Err(ProbeError::Redirects)
    }

    /// Sends a request, and returns the response with its unread body, which must be complete in this time.
    pub(crate) fn open(&self, ask: &Ask, timeout: Duration) -> Result<Response<Body>, ProbeError> {
        unlimited(self.request(ask, timeout)?)
    }

    fn request(&self, ask: &Ask, timeout: Duration) -> Result<Response<Body>, ProbeError> {
        let url = Url::parse(&ask.url).map_err(|_| ProbeError::Malformed)?;
        let agent = match self.is_own(&url) {
            true => &self.own,
            false => {
                self.guard.check(parts(&url)).map_err(ProbeError::Guarded)?;
                &self.others
            }
        };
        let mut request = Request::builder().method(&ask.method).uri(&ask.url);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        let built = match ask.body {
            Some(body) => request.body(body).map(|it| run(agent, it, timeout)),
            None => request.body(()).map(|it| run(agent, it, timeout)),
        };
        Ok(built.map_err(|_| ProbeError::Malformed)??)
    }

    /// Returns whether a URL leads to the host that the user has named, encrypted if the registry is. Another port, or another
    /// name of this machine, is the storage of a registry on this machine.
    fn is_own(&self, url: &Url) -> bool {
        let is_here = is_loopback(url) && is_loopback(&self.registry);
        let is_same_host = url.host() == self.registry.host() || is_here;
        let is_downgrade = self.registry.scheme() == "https" && url.scheme() == "http";
        is_same_host && url.username().is_empty() && (!is_downgrade || is_loopback(url))
    }
}

fn run<B: AsSendBody>(
    agent: &Agent,
    request: Request<B>,
    timeout: Duration,
) -> Result<Response<Body>, ureq::Error> {
    let request = agent.configure_request(request);
    agent.run(request.timeout_global(Some(timeout)).build())
}

/// Reads a response as far as the request needs it.
fn read(ask: &Ask, response: Response<Body>) -> Result<Seen, ProbeError> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut body = Vec::new();
    let reader = response.into_body().into_reader();
    let read = reader.take(ask.most).read_to_end(&mut body);
    read.map_err(|error| ProbeError::from(ureq::Error::from(error)))?;
    Ok(Seen {
        url: ask.url.clone(),
        status,
        headers,
        body,
    })
}

/// Returns a response, unless the server limits the rate of requests.
fn unlimited(response: Response<Body>) -> Result<Response<Body>, ProbeError> {
    match response.status().as_u16() {
        429 => Err(ProbeError::Limited),
        _ => Ok(response),
    }
}

pub(crate) fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Returns the parts of a URL that the guard checks.
fn parts(url: &Url) -> UrlParts<'_> {
    UrlParts {
        scheme: url.scheme(),
        has_userinfo: !url.username().is_empty() || url.password().is_some(),
        host: url.host_str().unwrap_or_default(),
        port: url.port(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_registry_on_this_machine_has_its_storage_under_other_names_of_it() {
        let (here, there) = ("https://127.0.0.1:8787", "https://r.example.com");
        for (registry, url, is_own) in [
            (here, "https://localhost:9000/x.zip", true),
            (here, "http://10.0.0.1:9000/x.zip", false),
            (there, "https://localhost/x.zip", false),
            (there, "http://r.example.com/x.zip", false),
            (there, "https://r.example.com/x.zip", true),
        ] {
            let registry = BaseUrl::parse(registry).unwrap();
            let probe = Probe::new(&registry, &[], Duration::from_secs(1)).unwrap();
            let found = probe.is_own(&Url::parse(url).unwrap());
            assert_eq!(found, is_own, "{registry} {url}");
        }
    }
}
