//! The cache of archives: Workers Caching in front of the entrypoint `Archives` of `entry.js`, which this Worker calls
//! itself (<https://developers.cloudflare.com/workers/cache/>). The bytes never enter wasm.

use terrace_app::cached_archive_path;
use terrace_app::host::{CacheRequest, CachedArchive, StoreError};
use terrace_core::http::request_line::CacheState;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{Array, Promise, Reflect};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Context, web_sys, worker_sys};

/// The name of the entrypoint in `entry.js` and in `wrangler.toml`. It is a part of the cache's keys: a new name begins an
/// empty cache.
const ENTRYPOINT: &str = "Archives";

/// Any origin: only the path is a part of the cache's keys.
const ORIGIN: &str = "https://archives.invalid";

/// The header in which the cache states the origin of an answer
/// (<https://developers.cloudflare.com/cache/concepts/cache-responses/>).
const STATUS: &str = "cf-cache-status";

#[wasm_bindgen]
extern "C" {
    type Entrypoint;

    #[wasm_bindgen(method, catch)]
    fn fetch(this: &Entrypoint, request: &web_sys::Request) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn purge(this: &Entrypoint, tags: &Array) -> Result<Promise, JsValue>;
}

/// The cached entrypoint of this Worker, as one request may call it.
#[derive(Debug, Default)]
pub(super) struct ArchiveCache {
    /// The context of the request, in JavaScript.
    context: JsValue,
}

impl ArchiveCache {
    pub(super) fn of(context: &Context) -> Self {
        let context: &worker_sys::Context = context.as_ref();
        let context: &JsValue = context;
        Self {
            context: context.clone(),
        }
    }

    /// Returns the answer of the cache, or of the entrypoint behind it; `None` if this Worker exports no such entrypoint.
    pub(super) async fn fetch(
        &self,
        request: CacheRequest<'_>,
    ) -> Result<Option<CachedArchive<web_sys::ReadableStream>>, StoreError> {
        let Some(entrypoint) = self.entrypoint() else {
            return Ok(None);
        };
        let fetched = fetch(&entrypoint, request).await;
        let response = fetched.map_err(|error| failure("fetch", &error))?;
        let header = |name| response.headers().get(name).ok().flatten();
        let length = header("content-length").and_then(|text| text.parse().ok());
        Ok(Some(CachedArchive {
            status: response.status(),
            length,
            content_range: header("content-range"),
            stream: response.body(),
            state: state(header(STATUS).as_deref()),
        }))
    }

    /// Removes the answers with these tags.
    pub(super) async fn purge(&self, tags: &[String]) -> Result<(), StoreError> {
        let Some(entrypoint) = self.entrypoint() else {
            return Ok(());
        };
        let failed = |error: JsValue| failure("purge", &error);
        let tags: Array = tags.iter().map(|tag| JsValue::from_str(tag)).collect();
        // The reason why the platform has not removed the answers, or else `undefined`.
        let refusal = JsFuture::from(entrypoint.purge(&tags).map_err(failed)?).await;
        let refusal = refusal.map_err(failed)?;
        match refusal.as_string() {
            None => Ok(()),
            Some(cause) => Err(StoreError::Failed {
                operation: "purge".to_owned(),
                cause,
            }),
        }
    }

    fn entrypoint(&self) -> Option<Entrypoint> {
        let exports = Reflect::get(&self.context, &"exports".into()).ok()?;
        let entrypoint = Reflect::get(&exports, &ENTRYPOINT.into()).ok()?;
        let is_exported = entrypoint.is_object() || entrypoint.is_function();
        is_exported.then(|| entrypoint.unchecked_into())
    }
}

/// Requests an object. No header of the client reaches the cache, except for the range: some are part of its keys, and others
/// keep it from storing anything.
async fn fetch(
    entrypoint: &Entrypoint,
    request: CacheRequest<'_>,
) -> Result<web_sys::Response, JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_method(if request.is_head { "HEAD" } else { "GET" });
    if let Some(range) = request.range {
        let headers = web_sys::Headers::new()?;
        headers.set("range", range)?;
        init.set_headers(&headers);
    }
    let url = format!("{ORIGIN}{}", cached_archive_path(request.key));
    let request = web_sys::Request::new_with_str_and_init(&url, &init)?;
    let response = JsFuture::from(entrypoint.fetch(&request)?).await?;
    Ok(response.unchecked_into())
}

fn state(status: Option<&str>) -> CacheState {
    match status {
        None => CacheState::Absent,
        Some("HIT" | "REVALIDATED") => CacheState::Hit,
        Some("MISS" | "EXPIRED") => CacheState::Miss,
        Some("STALE" | "UPDATING") => CacheState::Stale,
        Some(_) => CacheState::Bypass,
    }
}

fn failure(operation: &str, error: &JsValue) -> StoreError {
    let message = Reflect::get(error, &"message".into());
    let message = message.ok().and_then(|message| message.as_string());
    StoreError::Failed {
        operation: operation.to_owned(),
        cause: message.unwrap_or_else(|| "the platform states no reason".to_owned()),
    }
}
