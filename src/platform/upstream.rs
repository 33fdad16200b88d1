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
    Download, IdentityProviderRequest, Upstream, UpstreamError, WebhookRequest,
};
use terrace_app::usage::{PlatformPart, UsageMeter};

/// The `User-Agent` of all requests.
const USER_AGENT: &str = concat!("terrace/", env!("CARGO_PKG_VERSION"));

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
            let status = response.status();
            let body = match response.body() {
                Some(body) if status == 200 => read(&body, fetch.max_bytes).await?,
                _ => {
                    discard(&response);
                    Vec::new()
                }
            };
            Ok(Fetched {
                status,
                final_url,
                content_type: header(&response, "content-type"),
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
        in_time(seconds, async |signal| {
            let url = resolve(&inquiry.url, None)?;
            check(&url, guard)?;
            let init = inquiry_init(inquiry, signal)?;
            let response = send(&url.href(), &init).await;
            let response = response.map_err(|error| unreachable_host(&url, &error))?;
            let body = match response.body() {
                Some(body) => read(&body, inquiry.max_bytes).await?,
                None => Vec::new(),
            };
            Ok(Fetched {
                status: response.status(),
                final_url: url.href(),
                content_type: header(&response, "content-type"),
                body,
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
        in_time(seconds, async |signal| {
            let url = resolve(&delivery.url, None)?;
            check(&url, guard)?;
            let (init, headers) = init(signal)?;
            let content_type = ("content-type", "application/json");
            let own = delivery
                .headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()));
            for (name, value) in own.chain([content_type]) {
                headers.set(name, value).map_err(|error| failed(&error))?;
            }
            init.set_method("POST");
            init.set_body(&delivery.body.as_str().into());
            let response = send(&url.href(), &init).await;
            let response = response.map_err(|error| unreachable_host(&url, &error))?;
            discard(&response);
            Ok(response.status())
        })
        .await
    }

    async fn open(
        &self,
        fetch: &Fetch,
        guard: &Guard,
    ) -> Result<Download<Self::Stream>, UpstreamError> {
        let _timed = self.meter.time(PlatformPart::Origin, millis);
        let opened = in_time(limits::ORIGIN_OPEN_SECONDS, async |signal| {
            follow(fetch, guard, signal).await
        });
        let (response, _) = opened.await?;
        // The length of an encoded body differs from that of the decoded one.
        let length = match header(&response, "content-encoding") {
            None => header(&response, "content-length"),
            Some(_) => None,
        };
        if response.status() != 200 {
            discard(&response);
        }
        Ok(Download {
            status: response.status(),
            length: length.and_then(|length| length.parse().ok()),
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
            Err(UpstreamError(match seconds {
                0 => "no time is left for this request: earlier responses were too slow".to_owned(),
                _ => format!("no response within {seconds} seconds"),
            }))
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
        check(&url, guard)?;
        let (init, _) = init(signal)?;
        let response = send(&url.href(), &init).await;
        let response = response.map_err(|error| unreachable_host(&url, &error))?;
        if !matches!(response.status(), 301 | 302 | 303 | 307 | 308) {
            return Ok((response, url.href()));
        }
        discard(&response);
        let location = header(&response, "location")
            .ok_or_else(|| UpstreamError("a redirect has no Location header".to_owned()))?;
        url = resolve(&location, Some(&url.href()))?;
    }
    let limit = limits::ORIGIN_REDIRECTS;
    Err(UpstreamError(format!("more than {limit} redirects")))
}

/// Returns the properties of a GET, with its headers, to which more may be added.
fn init(
    signal: &web_sys::AbortSignal,
) -> Result<(web_sys::RequestInit, web_sys::Headers), UpstreamError> {
    let init = web_sys::RequestInit::new();
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_cache(web_sys::RequestCache::NoStore);
    init.set_signal(Some(signal));
    let headers = web_sys::Headers::new().map_err(|error| failed(&error))?;
    let set = headers.set("user-agent", USER_AGENT);
    set.map_err(|error| failed(&error))?;
    init.set_headers(&headers);
    Ok((init, headers))
}

fn inquiry_init(
    inquiry: &IdentityProviderRequest,
    signal: &web_sys::AbortSignal,
) -> Result<web_sys::RequestInit, UpstreamError> {
    let (init, headers) = init(signal)?;
    let set = |name, value: &str| headers.set(name, value).map_err(|error| failed(&error));
    if let Some(authorization) = &inquiry.authorization {
        set("authorization", authorization)?;
    }
    set("accept", "application/json")?;
    if let Some(form) = &inquiry.form {
        set("content-type", "application/x-www-form-urlencoded")?;
        init.set_method("POST");
        init.set_body(&form.as_str().into());
    }
    Ok(init)
}

async fn send(url: &str, init: &web_sys::RequestInit) -> Result<web_sys::Response, UpstreamError> {
    let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(global.fetch_with_str_and_init(url, init)).await;
    Ok(response.map_err(|error| failed(&error))?.unchecked_into())
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
    url.map_err(|_| UpstreamError("the origin returned an invalid URL".to_owned()))
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
