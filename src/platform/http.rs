//! Requests and responses of the fetch event.

use terrace_core::http::reply::Body;
use worker::{js_sys, web_sys};

use super::{PlatformReply, upstream};
use terrace_app::host::{BodyError, Request};

/// The header with the address of the client. Cloudflare replaces one that a client sends
/// (<https://developers.cloudflare.com/fundamentals/reference/http-headers/>).
const CLIENT_ADDRESS: &str = "cf-connecting-ip";

/// A request of the fetch event. Each header crosses into wasm only when it is read.
pub(super) struct Incoming {
    request: web_sys::Request,
    method: String,
    url: Url,
}

impl Incoming {
    pub(super) fn new(request: web_sys::Request) -> Self {
        let (method, url) = (request.method(), Url::new(request.url()));
        Self {
            request,
            method,
            url,
        }
    }
}

/// The URL of a request, split into its parts.
pub(super) struct Url {
    url: String,
    /// The index at which the path begins.
    path: usize,
    /// The index at which the path ends.
    query: usize,
}

impl Url {
    pub(super) fn new(url: String) -> Self {
        // Searches bytes, at a fraction of the cost of a search for characters.
        let find = |from: usize, is_it: fn(u8) -> bool| {
            let mut bytes = url.bytes().skip(from);
            from + bytes
                .position(is_it)
                .unwrap_or(url.len() - from.min(url.len()))
        };
        let is_slash = |byte| byte == b'/';
        // After both slashes.
        let authority = (find(0, is_slash) + 2).min(url.len());
        let path = find(authority, is_slash);
        let query = find(path, |byte| byte == b'?' || byte == b'#');
        Self { url, path, query }
    }

    pub(super) fn origin(&self) -> &str {
        self.url.get(..self.path).unwrap_or_default()
    }

    pub(super) fn path(&self) -> &str {
        self.url.get(self.path..self.query).unwrap_or_default()
    }

    /// Returns the path with the query.
    pub(super) fn target(&self) -> &str {
        self.url.get(self.path..).unwrap_or_default()
    }

    pub(super) fn query(&self) -> &str {
        let query = self.url.get(self.query..).unwrap_or_default();
        let query = query.split('#').next().unwrap_or_default();
        query.strip_prefix('?').unwrap_or_default()
    }
}

impl Request for Incoming {
    type Stream = web_sys::ReadableStream;

    fn method(&self) -> &str {
        &self.method
    }

    fn origin(&self) -> &str {
        self.url.origin()
    }

    fn path(&self) -> &str {
        self.url.path()
    }

    fn query(&self) -> &str {
        self.url.query()
    }

    fn client_address(&self) -> String {
        self.header(CLIENT_ADDRESS).unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<String> {
        self.request.headers().get(name).ok().flatten()
    }

    async fn bytes(&mut self) -> Result<Vec<u8>, BodyError> {
        let failed = |cause: worker::wasm_bindgen::JsValue| BodyError(format!("{cause:?}"));
        let promise = self.request.array_buffer().map_err(failed)?;
        let buffer = worker::wasm_bindgen_futures::JsFuture::from(promise)
            .await
            .map_err(failed)?;
        Ok(js_sys::Uint8Array::new(&buffer).to_vec())
    }

    async fn bytes_up_to(&mut self, limit: u64) -> Result<Vec<u8>, BodyError> {
        match self.request.body() {
            Some(body) => {
                let read = upstream::read(&body, limit).await;
                read.map_err(|error| BodyError(error.to_string()))
            }
            None => Ok(Vec::new()),
        }
    }

    fn stream(&mut self) -> Option<Self::Stream> {
        self.request.body()
    }
}

/// Converts a reply into a response. Its headers are exactly those of the reply.
pub(super) fn respond(reply: PlatformReply) -> worker::Result<web_sys::Response> {
    let headers = web_sys::Headers::new()?;
    for (name, value) in &reply.headers {
        headers.set(name, value)?;
    }
    let init = web_sys::ResponseInit::new();
    init.set_status(reply.status);
    init.set_headers(&headers);
    let response = match reply.body {
        Body::Empty => web_sys::Response::new_with_opt_str_and_init(None, &init)?,
        Body::Text(text) => web_sys::Response::new_with_opt_str_and_init(Some(&text), &init)?,
        Body::Bytes(bytes) => {
            // A copy outside the memory of wasm, which changes later.
            let bytes = js_sys::Uint8Array::from(bytes.as_slice());
            web_sys::Response::new_with_opt_buffer_source_and_init(Some(&bytes), &init)?
        }
        Body::Stream(stream) => {
            web_sys::Response::new_with_opt_readable_stream_and_init(Some(&stream), &init)?
        }
    };
    Ok(response)
}
