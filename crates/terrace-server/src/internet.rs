//! Requests to other registries, to identity providers and to the receivers of webhooks.
//!
//! This server may reach private networks, unlike a Worker. So the guard is asked twice: about each URL, and about each
//! address that its name resolves to, which is then the address that is connected to.

mod connection;

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, Uri};
use terrace_app::host::{
    BucketRequest, Download, FORK_STALL_SECONDS, IdentityProviderRequest, ORIGIN_OPEN_SECONDS,
    OutgoingRequest, USER_AGENT, Upstream, UpstreamError, WebhookRequest, is_redirect,
    stated_length,
};
use terrace_app::usage::{PlatformPart, UsageMeter};
use terrace_core::http::guard::{Guard, UrlParts};
use terrace_core::limits;
use terrace_core::upstream::origin::{Fetch, Fetched};
use tokio::time::timeout;
use url::{Position, Url};

use crate::clock::millis;
use crate::fork::fork;
use crate::stream;
use crate::stream::ByteStream;

pub(crate) use connection::Trust;

/// The client for requests to the internet. Each request has a connection of its own: they are few, and go to many hosts.
#[derive(Debug)]
pub(crate) struct Internet {
    trust: Arc<Trust>,
    meter: Rc<UsageMeter>,
}

impl Internet {
    pub(crate) fn new(trust: Arc<Trust>, meter: Rc<UsageMeter>) -> Self {
        Self { trust, meter }
    }

    /// Sends a request to a URL that the guard has allowed.
    async fn send(
        &self,
        url: &Url,
        guard: &Guard,
        outgoing: OutgoingRequest,
    ) -> Result<Response<Incoming>, UpstreamError> {
        check(url, guard)?;
        let sent = match request(url, outgoing) {
            Ok(request) => connection::send(&self.trust, url, guard, request).await,
            Err(error) => Err(error),
        };
        let host = url.host_str().unwrap_or_default();
        sent.map_err(|error| UpstreamError(format!("{host:?} cannot be reached: {error}")))
    }

    /// Sends a request, and follows redirects as far as the guard allows. Returns the URL that answered.
    async fn follow(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<(Response<Incoming>, Url), UpstreamError> {
        let base = fetch.base.as_deref().map(|base| resolve(base, None));
        let mut url = resolve(&fetch.reference, base.transpose()?.as_ref())?;
        for _ in 0..=limits::ORIGIN_REDIRECTS {
            let response = self.send(&url, guard, OutgoingRequest::default()).await?;
            if !is_redirect(response.status().as_u16()) {
                return Ok((response, url));
            }
            let location = text(&response, header::LOCATION);
            let location = location.ok_or_else(UpstreamError::no_location)?;
            url = resolve(&location, Some(&url))?;
        }
        Err(UpstreamError::too_many_redirects())
    }
}

impl Upstream for Internet {
    type Stream = ByteStream;

    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        in_time(seconds, async {
            let (response, url) = self.follow(fetch, guard).await?;
            let status = response.status().as_u16();
            let content_type = text(&response, header::CONTENT_TYPE);
            let body = match status {
                200 => read(response, fetch.max_bytes).await?,
                _ => Vec::new(),
            };
            Ok(Fetched {
                status,
                final_url: url.into(),
                content_type,
                body,
            })
        })
        .await
    }

    async fn inquire(
        &self,
        inquiry: &IdentityProviderRequest,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        in_time(seconds, async {
            let url = resolve(&inquiry.url, None)?;
            let response = self.send(&url, guard, inquiry.into()).await?;
            Ok(Fetched {
                status: response.status().as_u16(),
                final_url: url.into(),
                content_type: text(&response, header::CONTENT_TYPE),
                body: read(response, inquiry.max_bytes).await?,
            })
        })
        .await
    }

    async fn notify(
        &self,
        delivery: &WebhookRequest,
        guard: &Guard,
        seconds: u32,
    ) -> Result<u16, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        in_time(seconds, async {
            let url = resolve(&delivery.url, None)?;
            let sent = self.send(&url, guard, delivery.into());
            Ok(sent.await?.status().as_u16())
        })
        .await
    }

    /// `terrace serve` has no second bucket: it rejects the settings of one.
    async fn ask_bucket(
        &self,
        _request: BucketRequest<Self::Stream>,
        _guard: &Guard,
        _seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        Err(UpstreamError(
            "this server sends no requests to a second bucket".to_owned(),
        ))
    }

    async fn open(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<Download<ByteStream>, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        let opened = in_time(ORIGIN_OPEN_SECONDS, self.follow(fetch, guard));
        let (response, _) = opened.await?;
        let encoding = text(&response, header::CONTENT_ENCODING);
        let length = stated_length(encoding, text(&response, header::CONTENT_LENGTH));
        let status = response.status().as_u16();
        let stall = Duration::from_secs(FORK_STALL_SECONDS.into());
        Ok(Download {
            status,
            length,
            stream: (status == 200).then(|| stream::of_body(response.into_body(), Some(stall))),
        })
    }

    fn fork(
        &self,
        stream: ByteStream,
        length: u64,
    ) -> Result<(ByteStream, ByteStream), UpstreamError> {
        Ok(fork(stream, length))
    }
}

/// Returns a request in origin form (<https://www.rfc-editor.org/rfc/rfc9112#section-3.2.1>).
fn request(url: &Url, outgoing: OutgoingRequest) -> Result<Request<String>, UpstreamError> {
    let invalid = |_| UpstreamError("the request is invalid".to_owned());
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let target: Uri = target
        .parse()
        .map_err(|_| UpstreamError("the URL is invalid".to_owned()))?;
    let method = match outgoing.body {
        Some(_) => Method::POST,
        None => Method::GET,
    };
    let mut request = Request::new(outgoing.body.unwrap_or_default());
    *request.method_mut() = method;
    *request.uri_mut() = target;
    let authority = url[Position::BeforeHost..Position::AfterPort].to_owned();
    let own = [
        ("host", authority),
        ("user-agent", USER_AGENT.to_owned()),
        ("connection", "close".to_owned()),
    ];
    for (name, value) in own.into_iter().chain(outgoing.headers) {
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(invalid)?;
        request
            .headers_mut()
            .insert(HeaderName::from_static(name), value);
    }
    Ok(request)
}

/// Returns the result of an action, or an error after `seconds`.
async fn in_time<T>(
    seconds: u32,
    action: impl Future<Output = Result<T, UpstreamError>>,
) -> Result<T, UpstreamError> {
    let limit = Duration::from_secs(seconds.into());
    let done = timeout(limit, action).await;
    done.unwrap_or_else(|_| Err(UpstreamError::timeout(seconds)))
}

async fn read(response: Response<Incoming>, limit: u64) -> Result<Vec<u8>, UpstreamError> {
    let body = stream::of_body(response.into_body(), None);
    let read = stream::read(body, limit).await;
    read.map_err(|error| UpstreamError(error.to_string()))
}

fn text(response: &Response<Incoming>, name: HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}

fn resolve(reference: &str, base: Option<&Url>) -> Result<Url, UpstreamError> {
    let url = Url::options().base_url(base).parse(reference);
    url.map_err(|_| UpstreamError::invalid_url())
}

fn check(url: &Url, guard: &Guard) -> Result<(), UpstreamError> {
    let parts = UrlParts {
        scheme: url.scheme(),
        has_userinfo: !url.username().is_empty() || url.password().is_some(),
        host: url.host_str().unwrap_or_default(),
        port: url.port(),
    };
    let checked = guard.check(parts);
    checked.map_err(|error| UpstreamError(error.to_string()))
}

#[cfg(test)]
mod tests;
