//! Requests to other servers: the trait that a host implements, and the rules that all hosts share.

use terrace_core::http::guard::{Guard, REFUSAL};
use terrace_core::limits;
use terrace_core::upstream::origin::{Fetch, Fetched};
use terrace_presign::SignedMethod;

/// The `User-Agent` of all requests.
pub const USER_AGENT: &str = concat!("terrace/", env!("CARGO_PKG_VERSION"));

/// The reason why a request to another registry failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UpstreamError(pub String);

impl UpstreamError {
    /// Returns whether the guard of the request has refused its host, or an address to which that resolves.
    pub(crate) fn is_refusal(&self) -> bool {
        self.0.contains(REFUSAL)
    }

    /// The error of a request that took longer than `seconds`.
    pub fn timeout(seconds: u32) -> Self {
        Self(match seconds {
            0 => "no time is left for this request: earlier responses were too slow".to_owned(),
            _ => format!("no response within {seconds} seconds"),
        })
    }

    /// The error of a redirect without a destination.
    pub fn no_location() -> Self {
        Self("a redirect has no Location header".to_owned())
    }

    /// The error of one redirect more than [`limits::ORIGIN_REDIRECTS`].
    pub fn too_many_redirects() -> Self {
        Self(format!("more than {} redirects", limits::ORIGIN_REDIRECTS))
    }

    /// The error of a response that refers to an invalid URL.
    pub fn invalid_url() -> Self {
        Self("the origin returned an invalid URL".to_owned())
    }
}

/// A streamed response of another registry.
#[derive(Debug)]
pub struct Download<S> {
    /// Its HTTP status, which is not a redirect.
    pub status: u16,
    /// Its length in bytes, if the response states it.
    pub length: Option<u64>,
    /// Its body, if it has one.
    pub stream: Option<S>,
}

/// One request to an identity provider. Redirects are not followed: a provider's statements about itself must
/// come from its own URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityProviderRequest {
    /// The absolute URL of the request.
    pub url: String,
    /// The encoded form to POST; the request is a GET without one.
    pub form: Option<String>,
    /// The header `Authorization`, if the deployment authenticates itself to the provider.
    pub authorization: Option<String>,
    /// The maximum length of the body, in bytes.
    pub max_bytes: u64,
}

impl IdentityProviderRequest {
    /// Creates a GET request.
    pub(crate) fn get(url: String, authorization: Option<String>, max_bytes: usize) -> Self {
        Self {
            url,
            form: None,
            authorization,
            max_bytes: max_bytes as u64,
        }
    }
}

/// One delivery to the receiver of a webhook. Redirects are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRequest {
    /// The absolute URL of the receiver, which may be a secret.
    pub url: String,
    /// The headers, besides those of every request with a JSON body.
    pub headers: Vec<(&'static str, String)>,
    /// The JSON to POST.
    pub body: String,
}

/// One request to a bucket by its S3 API. Redirects are not followed.
#[derive(Debug)]
pub struct BucketRequest<S> {
    /// The method that the URL is signed for.
    pub method: SignedMethod,
    /// The presigned URL, which is a secret.
    pub url: String,
    /// The signed headers, besides `host`.
    pub headers: Vec<(&'static str, String)>,
    /// The body of a PUT, which never enters wasm, with its length in bytes.
    pub body: Option<(u64, S)>,
    /// The maximum length of the response's body, in bytes.
    pub max_bytes: u64,
}

impl<S> BucketRequest<S> {
    /// Creates a request without signed headers and without a body.
    pub(crate) fn of(method: SignedMethod, url: String, max_bytes: u64) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            body: None,
            max_bytes,
        }
    }
}

/// One request as both hosts send it, without its URL and the headers of the connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutgoingRequest {
    /// The headers, with lower-case names, besides `user-agent`.
    pub headers: Vec<(&'static str, String)>,
    /// The body of a POST; the request is a GET without one.
    pub body: Option<String>,
}

impl From<&IdentityProviderRequest> for OutgoingRequest {
    fn from(inquiry: &IdentityProviderRequest) -> Self {
        let mut headers = vec![("accept", "application/json".to_owned())];
        if let Some(authorization) = &inquiry.authorization {
            headers.push(("authorization", authorization.clone()));
        }
        if inquiry.form.is_some() {
            let form = "application/x-www-form-urlencoded".to_owned();
            headers.push(("content-type", form));
        }
        Self {
            headers,
            body: inquiry.form.clone(),
        }
    }
}

impl From<&WebhookRequest> for OutgoingRequest {
    fn from(delivery: &WebhookRequest) -> Self {
        let mut headers = delivery.headers.clone();
        headers.push(("content-type", "application/json".to_owned()));
        Self {
            headers,
            body: Some(delivery.body.clone()),
        }
    }
}

/// Tells whether a response with this status refers to another URL
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-15.4>).
pub fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns the length of a response's body in bytes, if its headers state it. The stated length of an encoded body differs
/// from that of the decoded one.
pub fn stated_length(
    content_encoding: Option<String>,
    content_length: Option<String>,
) -> Option<u64> {
    match content_encoding {
        None => content_length?.parse().ok(),
        Some(_) => None,
    }
}

/// Requests to other registries, to identity providers, to the receivers of webhooks and to buckets. They have timeouts, only go where the guard allows,
/// also after each redirect, and carry nothing from the client's request.
pub trait Upstream {
    /// The platform's own stream of bytes.
    type Stream;

    /// Fetches a short response within `seconds`, entirely: the body of a 200, truncated one byte above its
    /// limit.
    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError>;

    /// Sends an inquiry, and returns the response within `seconds`, entirely and with any status. The body is
    /// truncated one byte above its limit.
    async fn inquire(
        &self,
        inquiry: &IdentityProviderRequest,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError>;

    /// Sends a delivery, and returns the status of the response within `seconds`. The body is not read.
    async fn notify(
        &self,
        delivery: &WebhookRequest,
        guard: &Guard,
        seconds: u32,
    ) -> Result<u16, UpstreamError>;

    /// Sends a request to a bucket, and returns the response within `seconds`, entirely and with any status. The body is
    /// truncated one byte above its limit. When a PUT has returned 200, the object is stored.
    async fn ask_bucket(
        &self,
        request: BucketRequest<Self::Stream>,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError>;

    /// Opens a long response, as a stream.
    async fn open(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<Download<Self::Stream>, UpstreamError>;

    /// Returns two streams of the bytes of one, for a client and for storage. Neither blocks the other for
    /// long if it is not read. If the stream does not have `length` bytes, both fail.
    fn fork(
        &self,
        stream: Self::Stream,
        length: u64,
    ) -> Result<(Self::Stream, Self::Stream), UpstreamError>;
}
