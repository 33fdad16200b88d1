//! Requests and responses of the fetch event.

use terrace_core::reply::Body;
use worker::{js_sys, web_sys};

use super::{PlatformReply, upstream};
use crate::store::{BodyError, Request};

/// A request of the fetch event. Headers cross into wasm one by one, when asked for.
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

/// The URL of a request, in its parts.
pub(super) struct Url {
    url: String,
    /// Where the path begins.
    path: usize,
    /// Where it ends.
    query: usize,
}

impl Url {
    pub(super) fn new(url: String) -> Self {
        // Behind both slashes.
        let authority = url.find('/').map_or(0, |at| at + 2);
        let tail = url.get(authority..).unwrap_or_default();
        let path = authority + tail.find('/').unwrap_or(tail.len());
        let tail = url.get(path..).unwrap_or_default();
        let query = path + tail.find(['?', '#']).unwrap_or(tail.len());
        Self { url, path, query }
    }

    pub(super) fn origin(&self) -> &str {
        self.url.get(..self.path).unwrap_or_default()
    }

    pub(super) fn path(&self) -> &str {
        self.url.get(self.path..self.query).unwrap_or_default()
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

    async fn bytes_up_to(&mut self, most: u64) -> Result<Vec<u8>, BodyError> {
        match self.request.body() {
            Some(body) => {
                let read = upstream::read(&body, most).await;
                read.map_err(|error| BodyError(error.to_string()))
            }
            None => Ok(Vec::new()),
        }
    }

    fn stream(&mut self) -> Option<Self::Stream> {
        self.request.body()
    }
}

/// Makes the response. Its headers are exactly those of the reply.
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
        Body::Stream(stream) => {
            web_sys::Response::new_with_opt_readable_stream_and_init(Some(&stream), &init)?
        }
    };
    Ok(response)
}
