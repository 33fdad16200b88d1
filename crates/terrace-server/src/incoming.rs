//! Requests, as hyper has parsed them.

use std::net::IpAddr;

use hyper::Version;
use hyper::body::{Body as _, Incoming as IncomingBody};
use hyper::header::{HOST, HeaderMap};
use hyper::http::uri::Authority;
use terrace_app::host::{BodyError, Request};

use crate::limits::BODY_STALL;
use crate::proxy::TrustedProxies;
use crate::stream::ByteStream;
use crate::{log, stream};

/// A request.
pub(crate) struct Incoming {
    method: String,
    origin: String,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Option<IncomingBody>,
    pub(crate) address: IpAddr,
}

/// The connection of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The address of the other end.
    pub(crate) address: IpAddr,
    /// Whether the connection has TLS.
    pub(crate) is_secure: bool,
}

/// The reason why a request is not passed to the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MalformedRequest {
    #[error(
        "the request must have exactly one header Host: send the hostname of the registry in it"
    )]
    Host,
    #[error(
        "the target of the request names another host than its header Host: send the path alone, or the same host in both"
    )]
    Target,
}

impl Incoming {
    /// Returns a request, or the reason why it is malformed.
    pub(crate) fn new(
        request: hyper::Request<IncomingBody>,
        peer: Peer,
        proxies: &TrustedProxies,
    ) -> Result<Self, MalformedRequest> {
        let (parts, body) = request.into_parts();
        let host = host(&parts.headers, parts.version)?;
        let target = parts.uri.authority().map(Authority::as_str);
        if target.is_some_and(|target| !target.eq_ignore_ascii_case(&host)) {
            return Err(MalformedRequest::Target);
        }
        let header = |name: &str| header(&parts.headers, name);
        let (client, notice) = proxies.client(peer.address, peer.is_secure, header);
        if let Some(notice) = notice {
            log::line(&format!("server: {notice}"));
        }
        let scheme = if client.is_secure { "https" } else { "http" };
        Ok(Self {
            method: parts.method.to_string(),
            origin: format!("{scheme}://{host}"),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            // A request without a body and one with an empty body are the same here.
            body: (!body.is_end_stream()).then_some(body),
            headers: parts.headers,
            address: client.address,
        })
    }

    fn take_stream(&mut self) -> Option<ByteStream> {
        let body = self.body.take()?;
        Some(stream::of_body(body, Some(BODY_STALL)))
    }
}

/// Returns the only header `Host` (<https://www.rfc-editor.org/rfc/rfc9112#section-3.2>). Without it, a request of HTTP/1.0, such as
/// a probe of HAProxy, names no host.
fn host(headers: &HeaderMap, version: Version) -> Result<String, MalformedRequest> {
    let mut all = headers.get_all(HOST).iter();
    match (all.next(), all.next()) {
        (None, _) if version == Version::HTTP_10 => Ok(String::new()),
        (Some(host), None) => {
            let host = host.to_str().map_err(|_| MalformedRequest::Host)?;
            Ok(host.to_owned())
        }
        _ => Err(MalformedRequest::Host),
    }
}

/// Returns a header as the Fetch standard does: the values of several with one name are joined, and each byte is one
/// character (<https://fetch.spec.whatwg.org/#concept-header-list-get>).
fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let mut found: Option<String> = None;
    for value in headers.get_all(name) {
        let text = value.as_bytes().iter().map(|byte| char::from(*byte));
        match &mut found {
            None => found = Some(text.collect()),
            Some(found) => {
                found.push_str(", ");
                found.extend(text);
            }
        }
    }
    found
}

impl Request for Incoming {
    type Stream = ByteStream;

    fn method(&self) -> &str {
        &self.method
    }

    fn origin(&self) -> &str {
        &self.origin
    }

    fn path(&self) -> &str {
        &self.path
    }

    fn query(&self) -> &str {
        &self.query
    }

    fn client_address(&self) -> String {
        self.address.to_string()
    }

    fn header(&self, name: &str) -> Option<String> {
        header(&self.headers, name)
    }

    async fn bytes(&mut self) -> Result<Vec<u8>, BodyError> {
        self.bytes_up_to(u64::MAX).await
    }

    async fn bytes_up_to(&mut self, limit: u64) -> Result<Vec<u8>, BodyError> {
        match self.take_stream() {
            Some(stream) => {
                let read = stream::read(stream, limit).await;
                read.map_err(|error| BodyError(error.to_string()))
            }
            None => Ok(Vec::new()),
        }
    }

    fn stream(&mut self) -> Option<ByteStream> {
        self.take_stream()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn the_values_of_one_header_are_joined_and_its_bytes_are_characters() {
        let mut headers = HeaderMap::new();
        for (name, value) in [("accept", &b"a"[..]), ("accept", b"b"), ("cookie", b"\xe9")] {
            headers.append(name, HeaderValue::from_bytes(value).unwrap());
        }
        assert_eq!(header(&headers, "accept").as_deref(), Some("a, b"));
        assert_eq!(header(&headers, "cookie").as_deref(), Some("\u{e9}"));
        assert_eq!(header(&headers, "range"), None);
    }
}
