//! Requests to other registries, with the platform's own `fetch`.
//!
//! The platform resolves names itself and does not reveal the addresses. A Worker reaches no private network unless its
//! operator has connected one.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{Either, select};
use terrace_core::http::guard::{Guard, UrlParts};
use terrace_core::limits;
use terrace_core::upstream::origin::{Fetch, Fetched};
use worker::js_sys::Reflect;
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Delay, js_sys, web_sys};

use super::clock::millis;
use super::fork;
use terrace_app::host::{
    BucketRequest, Download, IdentityProviderRequest, ORIGIN_OPEN_SECONDS, OutgoingRequest,
    USER_AGENT, Upstream, UpstreamError, WebhookRequest, is_redirect, stated_length,
};
use terrace_app::usage::{PlatformPart, UsageMeter};

/// The client for requests to the internet.
pub(super) struct Internet {
    pub(super) meter: Rc<UsageMeter>,
}

impl Upstream for Internet {
    type Stream = web_sys::ReadableStream;

    async fn fetch(
        &self,
        fetch: &Fetch,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        in_time(seconds, async |signal| {
            let (response, final_url) = follow(fetch, guard, signal).await?;
            match response.status() {
                200 => fetched(&response, final_url, fetch.max_bytes).await,
                _ => {
                    discard(&response);
                    Ok(without_body(&response, final_url))
                }
            }
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
        in_time(seconds, async |signal| {
            let url = resolve(&inquiry.url, None)?;
            let response = send(&url, guard, inquiry.into(), signal).await?;
            fetched(&response, url.href(), inquiry.max_bytes).await
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
        in_time(seconds, async |signal| {
            let url = resolve(&delivery.url, None)?;
            let response = send(&url, guard, delivery.into(), signal).await?;
            discard(&response);
            Ok(response.status())
        })
        .await
    }

    async fn ask_bucket(
        &self,
        request: BucketRequest<Self::Stream>,
        guard: &Guard,
        seconds: u32,
    ) -> Result<Fetched, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        in_time(seconds, async |signal| {
            let url = resolve(&request.url, None)?;
            let headers = request.headers.clone();
            let init = init(
                OutgoingRequest {
                    headers,
                    body: None,
                },
                signal,
            )?;
            init.set_method(request.method.as_str());
            if let Some((length, stream)) = &request.body {
                let body = fork::of_length(stream, *length).map_err(|error| failed(&error))?;
                init.set_body(&body.into());
            }
            let response = send_init(&url, guard, &init).await?;
            fetched(&response, url.href(), request.max_bytes).await
        })
        .await
    }

    async fn open(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<Download<Self::Stream>, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        let opened = in_time(ORIGIN_OPEN_SECONDS, async |signal| {
            follow(fetch, guard, signal).await
        });
        let (response, _) = opened.await?;
        let encoding = header(&response, "content-encoding");
        if response.status() != 200 {
            discard(&response);
        }
        Ok(Download {
            status: response.status(),
            length: stated_length(encoding, header(&response, "content-length")),
            stream: response.body(),
        })
    }

    fn fork(
        &self,
        stream: Self::Stream,
        length: u64,
    ) -> Result<(Self::Stream, Self::Stream), UpstreamError> {
        fork::fork(&stream, length).map_err(|error| failed(&error))
    }
}

/// Returns the answer to a request, with at most one byte more than `max` of its body.
async fn fetched(
    response: &web_sys::Response,
    final_url: String,
    max: u64,
) -> Result<Fetched, UpstreamError> {
    let body = match response.body() {
        Some(body) => read(&body, max).await?,
        None => Vec::new(),
    };
    Ok(Fetched {
        body,
        ..without_body(response, final_url)
    })
}

fn without_body(response: &web_sys::Response, final_url: String) -> Fetched {
    Fetched {
        status: response.status(),
        final_url,
        content_type: header(response, "content-type"),
        body: Vec::new(),
    }
}

/// Runs an action, and aborts it after `seconds`.
async fn in_time<T>(
    seconds: u32,
    action: impl AsyncFnOnce(&web_sys::AbortSignal) -> Result<T, UpstreamError>,
) -> Result<T, UpstreamError> {
    let controller = web_sys::AbortController::new().map_err(|error| failed(&error))?;
    let signal = controller.signal();
    let action = std::pin::pin!(action(&signal));
    let timeout = Delay::from(Duration::from_secs(seconds.into()));
    match select(action, std::pin::pin!(timeout)).await {
        Either::Left((done, _)) => done,
        Either::Right(_) => {
            controller.abort();
            Err(UpstreamError::timeout(seconds))
        }
    }
}

/// Sends a request, and follows redirects as far as the guard allows. Returns the URL that answered.
async fn follow(
    fetch: &Fetch,
    guard: &Guard,
    signal: &web_sys::AbortSignal,
) -> Result<(web_sys::Response, String), UpstreamError> {
    let mut url = resolve(&fetch.reference, fetch.base.as_deref())?;
    for _ in 0..=limits::ORIGIN_REDIRECTS {
        let response = send(&url, guard, OutgoingRequest::default(), signal).await?;
        if !is_redirect(response.status()) {
            return Ok((response, url.href()));
        }
        discard(&response);
        let location = header(&response, "location").ok_or_else(UpstreamError::no_location)?;
        url = resolve(&location, Some(&url.href()))?;
    }
    Err(UpstreamError::too_many_redirects())
}

/// Sends a request to a URL that the guard allows.
async fn send(
    url: &web_sys::Url,
    guard: &Guard,
    outgoing: OutgoingRequest,
    signal: &web_sys::AbortSignal,
) -> Result<web_sys::Response, UpstreamError> {
    let init = init(outgoing, signal)?;
    send_init(url, guard, &init).await
}

async fn send_init(
    url: &web_sys::Url,
    guard: &Guard,
    init: &web_sys::RequestInit,
) -> Result<web_sys::Response, UpstreamError> {
    check(url, guard)?;
    let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let sent = JsFuture::from(global.fetch_with_str_and_init(&url.href(), init)).await;
    let response = sent.map_err(|error| unreachable_host(url, &failed(&error)))?;
    Ok(response.unchecked_into())
}

fn init(
    outgoing: OutgoingRequest,
    signal: &web_sys::AbortSignal,
) -> Result<web_sys::RequestInit, UpstreamError> {
    let init = web_sys::RequestInit::new();
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_cache(web_sys::RequestCache::NoStore);
    init.set_signal(Some(signal));
    let headers = web_sys::Headers::new().map_err(|error| failed(&error))?;
    let user_agent = ("user-agent", USER_AGENT.to_owned());
    for (name, value) in [user_agent].into_iter().chain(outgoing.headers) {
        headers.set(name, &value).map_err(|error| failed(&error))?;
    }
    init.set_headers(&headers);
    if let Some(body) = outgoing.body {
        init.set_method("POST");
        init.set_body(&body.into());
    }
    Ok(init)
}

/// Cancels an unread response body, which would otherwise occupy one of the six connections that the platform
/// allows at once.
fn discard(response: &web_sys::Response) {
    if let Some(body) = response.body() {
        fork::forget(&body.cancel());
    }
}

/// Returns an error with the platform's message, unless that is only an internal error.
fn unreachable_host(url: &web_sys::Url, error: &UpstreamError) -> UpstreamError {
    let host = url.hostname();
    if error.0.starts_with("internal error") {
        UpstreamError(format!("{host:?} cannot be reached"))
    } else {
        UpstreamError(format!("{host:?} cannot be reached: {error}"))
    }
}

fn resolve(reference: &str, base: Option<&str>) -> Result<web_sys::Url, UpstreamError> {
    let url = match base {
        Some(base) => web_sys::Url::new_with_base(reference, base),
        None => web_sys::Url::new(reference),
    };
    url.map_err(|_| UpstreamError::invalid_url())
}

fn check(url: &web_sys::Url, guard: &Guard) -> Result<(), UpstreamError> {
    let (scheme, host, port) = (url.protocol(), url.hostname(), url.port());
    let parts = UrlParts {
        scheme: scheme.trim_end_matches(':'),
        has_userinfo: !url.username().is_empty() || !url.password().is_empty(),
        host: &host,
        port: port.parse().ok(),
    };
    let checked = guard.check(parts);
    checked.map_err(|error| UpstreamError(error.to_string()))
}

/// Reads a body, at most one byte more than `max`.
pub(super) async fn read(
    body: &web_sys::ReadableStream,
    max: u64,
) -> Result<Vec<u8>, UpstreamError> {
    let reader: web_sys::ReadableStreamDefaultReader = body.get_reader().unchecked_into();
    let mut bytes = Vec::new();
    while bytes.len() as u64 <= max {
        let read = JsFuture::from(reader.read()).await;
        let read = read.map_err(|error| failed(&error))?;
        let Some(chunk) = fork::chunk(&read) else {
            return Ok(bytes);
        };
        let room = usize::try_from(max + 1).unwrap_or(usize::MAX) - bytes.len();
        let length = chunk.length().min(u32::try_from(room).unwrap_or(u32::MAX));
        bytes.extend(chunk.subarray(0, length).to_vec());
    }
    fork::forget(&reader.cancel());
    Ok(bytes)
}

fn header(response: &web_sys::Response, name: &str) -> Option<String> {
    response.headers().get(name).ok().flatten()
}

/// Returns the platform's error message. It contains at most host names.
fn failed(error: &JsValue) -> UpstreamError {
    let message = Reflect::get(error, &"message".into());
    let message = message.ok().and_then(|message| message.as_string());
    UpstreamError(
        message
            .unwrap_or_else(|| "the request failed, and the platform states no reason".to_owned()),
    )
}
