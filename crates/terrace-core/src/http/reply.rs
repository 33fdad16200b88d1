//! Responses. All response headers are created here.

use std::borrow::Cow;

/// A response. `S` is the platform's stream, which the core passes on without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<S> {
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body; empty for a HEAD request.
    pub body: Body<S>,
}

/// The body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<S> {
    /// No body.
    Empty,
    /// A body held in memory.
    Text(String),
    /// A stream from storage, in the platform's own type.
    Stream(S),
}

/// How long a response may be cached. Every response has a policy, because the platform caches responses
/// without one for hours, presigned URLs included
/// (<https://developers.cloudflare.com/workers/cache/configuration/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Never cached: for all responses with a signed URL, a secret or an error.
    NoStore,
    /// Cached, and revalidated with its ETag each time: for version lists.
    Revalidate,
    /// Cached for five minutes: for responses that only a deployment changes.
    Short,
    /// Cached for a year: for responses with a path that changes with their content.
    Immutable,
}

impl CachePolicy {
    fn header(self) -> &'static str {
        match self {
            Self::NoStore => "no-store",
            Self::Revalidate => "no-cache",
            Self::Short => "public, max-age=300",
            Self::Immutable => "public, max-age=31536000, immutable",
        }
    }
}

/// The content types of stored bytes. A browser executes none of them: an SVG that is opened by itself is sandboxed, and an
/// attachment.
const STORED_TYPES: [&str; 15] = [
    "application/gzip",
    "application/octet-stream",
    "application/pgp-signature",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/zip",
    "image/gif",
    "image/jpeg",
    "image/png",
    "image/svg+xml",
    "image/webp",
    "text/markdown; charset=utf-8",
    "text/plain; charset=utf-8",
];

/// The headers around stored bytes, next to `nosniff`.
const FENCE: [(&str, &str); 3] = [
    ("content-security-policy", "sandbox; default-src 'none'"),
    ("content-disposition", "attachment"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The content type of stored bytes of any other type.
const ANY_BYTES: &str = "application/octet-stream";

impl<S> Reply<S> {
    /// Creates a response without a body.
    pub fn new(status: u16, cache: CachePolicy) -> Self {
        Self {
            status,
            headers: vec![
                ("cache-control", cache.header().into()),
                ("x-content-type-options", "nosniff".into()),
            ],
            body: Body::Empty,
        }
    }

    /// Creates a JSON response. The content type is exactly the one that discovery requires (clients.md 1.1,
    /// 5.2).
    pub fn json(status: u16, cache: CachePolicy, text: String) -> Self {
        let reply = Self::new(status, cache).with("content-type", "application/json");
        reply.with_body(Body::Text(text))
    }

    /// Creates a plain text response for people.
    pub fn text(status: u16, cache: CachePolicy, text: String) -> Self {
        let reply = Self::new(status, cache).with("content-type", "text/plain; charset=utf-8");
        reply.with_body(Body::Text(text))
    }

    /// Creates a web page. Its scripts, styles and images come from this registry alone, and no other website shows it
    /// in a frame.
    pub fn page(status: u16, cache: CachePolicy, html: String) -> Self {
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
        Self::page_with(status, cache, policy.into(), html)
    }

    /// Creates a web page with this content security policy (<https://www.w3.org/TR/CSP3/>).
    pub fn page_with(
        status: u16,
        cache: CachePolicy,
        policy: Cow<'static, str>,
        html: String,
    ) -> Self {
        Self::new(status, cache)
            .with("content-type", "text/html; charset=utf-8")
            .with("content-security-policy", policy)
            .with("cross-origin-opener-policy", "same-origin")
            .with("referrer-policy", "no-referrer")
            .with("x-frame-options", "DENY")
            .with_body(Body::Text(html))
    }

    /// Adds a content security policy and `X-Frame-Options`, for responses that a browser may render: no
    /// scripts run, and no frame shows the page.
    #[must_use]
    pub fn with_security_headers(self) -> Self {
        if self.header("content-security-policy").is_some() {
            return self;
        }
        self.with(
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'",
        )
        .with("x-frame-options", "DENY")
    }

    /// Sets the content type of stored bytes, and [fences](Self::fenced) them.
    #[must_use]
    pub fn with_stored_type(self, content_type: &str) -> Self {
        let mut known = STORED_TYPES.into_iter();
        let known = known.find(|known| *known == content_type);
        self.with("content-type", known.unwrap_or(ANY_BYTES))
            .fenced()
    }

    /// Fences stored bytes. Their publishers control them, and they share the hostname with the web pages and the
    /// cookie of a signed-in browser: no script in them runs, the browser saves them instead of showing them, and no
    /// page of another website loads them (<https://www.w3.org/TR/CSP3/#directive-sandbox>,
    /// <https://fetch.spec.whatwg.org/#cross-origin-resource-policy-header>).
    #[must_use]
    pub fn fenced(mut self) -> Self {
        self.headers.reserve(FENCE.len());
        let fence = FENCE.into_iter();
        self.headers
            .extend(fence.map(|(name, value)| (name, value.into())));
        self
    }

    /// Lets the pages of any website read the response (<https://fetch.spec.whatwg.org/#http-cors-protocol>).
    #[must_use]
    pub fn open_to_websites(self) -> Self {
        self.with("access-control-allow-origin", "*")
    }

    /// Redirects a browser with a GET. The target does not learn the address of this page.
    pub fn redirect(location: String) -> Self {
        Self::new(303, CachePolicy::NoStore)
            .with("location", location)
            .with("referrer-policy", "no-referrer")
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a request header, in lower case, that the response depends on.
    #[must_use]
    pub fn varying_by(mut self, name: &'static str) -> Self {
        let mut headers = self.headers.iter_mut();
        match headers.find(|(known, _)| *known == "vary") {
            Some((_, names)) => *names = format!("{names}, {name}").into(),
            None => self.headers.push(("vary", name.into())),
        }
        self
    }

    /// Marks the response as meant for one caller: no shared cache may store it.
    #[must_use]
    pub fn private(mut self) -> Self {
        for (name, value) in &mut self.headers {
            if *name == "cache-control" {
                *value = match value.as_ref() {
                    "no-cache" => "private, no-cache",
                    _ => "no-store",
                }
                .into();
            }
        }
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn with_body(mut self, body: Body<S>) -> Self {
        self.body = body;
        self
    }

    /// Converts the response for a HEAD request: the same headers, with the length of the GET body, and no
    /// body.
    #[must_use]
    pub fn into_head(mut self) -> Self {
        if let Body::Text(text) = &self.body {
            self.headers
                .push(("content-length", text.len().to_string().into()));
        }
        self.body = Body::Empty;
        self
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_bytes_of_an_unknown_type_are_sent_as_bytes() {
        for (stored, sent) in [
            ("application/zip", "application/zip"),
            ("text/html", ANY_BYTES),
            ("text/plain; charset=utf-8\r\nx: y", ANY_BYTES),
            ("", ANY_BYTES),
        ] {
            let reply: Reply<()> = Reply::new(200, CachePolicy::NoStore).with_stored_type(stored);
            assert_eq!(reply.header("content-type"), Some(sent));
            for (name, value) in FENCE {
                assert_eq!(reply.header(name), Some(value), "{name}");
            }
        }
    }
}
