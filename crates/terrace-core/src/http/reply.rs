//! What is answered. The one place where response headers are made.

use std::borrow::Cow;

/// A response. `S` is the platform's stream, which the core passes on and never reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply<S> {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(&'static str, Cow<'static, str>)>,
    /// The body; a HEAD request gets none.
    pub body: Body<S>,
}

/// The body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body<S> {
    /// No body.
    Empty,
    /// These bytes.
    Text(String),
    /// What storage streams, natively.
    Stream(S),
}

/// How long a response may be kept. Every response has one: the platform keeps for hours what
/// says nothing about it, presigned URLs included
/// (<https://developers.cloudflare.com/workers/cache/configuration/>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CachePolicy {
    /// Kept by nobody: whatever holds a signed URL, a secret or an error.
    NoStore,
    /// Kept, and asked for again with its ETag each time: version lists.
    Revalidate,
    /// Kept for five minutes: what only a deployment changes.
    Short,
}

impl CachePolicy {
    fn header(self) -> &'static str {
        match self {
            Self::NoStore => "no-store",
            Self::Revalidate => "no-cache",
            Self::Short => "public, max-age=300",
        }
    }
}

impl<S> Reply<S> {
    /// A response with no body yet.
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

    /// A JSON response. The content type is exactly what discovery demands (clients.md 1.1, 5.2).
    pub fn json(status: u16, cache: CachePolicy, text: String) -> Self {
        let reply = Self::new(status, cache).with("content-type", "application/json");
        reply.with_body(Body::Text(text))
    }

    /// A response a person reads.
    pub fn text(status: u16, cache: CachePolicy, text: String) -> Self {
        let reply = Self::new(status, cache).with("content-type", "text/plain; charset=utf-8");
        reply.with_body(Body::Text(text))
    }

    /// A page in a browser, of which nothing is kept, and which only does what this content security
    /// policy allows (<https://www.w3.org/TR/CSP3/>).
    pub fn page(status: u16, policy: String, html: String) -> Self {
        Self::new(status, CachePolicy::NoStore)
            .with("content-type", "text/html; charset=utf-8")
            .with("content-security-policy", policy)
            .with("cross-origin-opener-policy", "same-origin")
            .with("referrer-policy", "no-referrer")
            .with("x-frame-options", "DENY")
            .with_body(Body::Text(html))
    }

    /// The same where a browser might be led: nothing of it runs, and it is shown in no frame.
    #[must_use]
    pub fn fenced(self) -> Self {
        if self.header("content-security-policy").is_some() {
            return self;
        }
        self.with(
            "content-security-policy",
            "default-src 'none'; frame-ancestors 'none'",
        )
        .with("x-frame-options", "DENY")
    }

    /// Sends a browser elsewhere, with a GET. The address that it comes from is not told there.
    pub fn redirect(location: String) -> Self {
        Self::new(303, CachePolicy::NoStore)
            .with("location", location)
            .with("referrer-policy", "no-referrer")
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same for one caller: no cache that others share may keep it.
    #[must_use]
    pub fn made_private(mut self) -> Self {
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

    /// The same with this body.
    #[must_use]
    pub fn with_body(mut self, body: Body<S>) -> Self {
        self.body = body;
        self
    }

    /// The answer to HEAD: the same headers, with the length that GET would have, and no body.
    #[must_use]
    pub fn into_head(mut self) -> Self {
        if let Body::Text(text) = &self.body {
            self.headers
                .push(("content-length", text.len().to_string().into()));
        }
        self.body = Body::Empty;
        self
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_ref())
    }
}
