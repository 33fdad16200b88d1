//! Indices in Workers KV.

use std::rc::Rc;

use terrace_core::http::reply::Body;
use terrace_core::read::{IndexForm, StoredIndex};
use terrace_core::storage::index_document::{IndexDocument, IndexMetadata};
use terrace_core::storage::key::IndexKey;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{self, Array, Map, Promise, Reflect, Uint8Array};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, web_sys};

use super::clock::millis;
use terrace_app::driver::ReadIndices;
use terrace_app::host::{IndexPage, Indices, StoreError};
use terrace_app::usage::{PlatformPart, UsageMeter};

/// Part of the runtime's error when a key is written more than once a second
/// (<https://developers.cloudflare.com/kv/api/write-key-value-pairs/#limits-to-kv-writes-to-the-same-key>).
const TOO_OFTEN: &str = "failed: 429";

#[wasm_bindgen]
extern "C" {
    /// A namespace. With the types of `worker`, the upload would be 15 KiB larger.
    type Binding;

    #[wasm_bindgen(method, catch, js_name = getWithMetadata)]
    fn get(this: &Binding, key: &str, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch, js_name = getWithMetadata)]
    fn get_all(this: &Binding, keys: &Array, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn put(this: &Binding, key: &str, text: &str, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn delete(this: &Binding, key: &str) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn list(this: &Binding, options: &JsValue) -> Result<Promise, JsValue>;
}

/// A KV namespace.
pub(super) struct Namespace {
    binding: Binding,
    meter: Rc<UsageMeter>,
}

impl Namespace {
    /// Returns the namespace bound to this name, if there is one.
    pub(super) fn new(env: &Env, name: &str, meter: Rc<UsageMeter>) -> Option<Self> {
        let binding = Reflect::get(env, &name.into()).ok()?;
        let binding = binding.is_object().then(|| binding.unchecked_into())?;
        Some(Self { binding, meter })
    }
}

impl Indices for Namespace {
    type Stream = web_sys::ReadableStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<StoredIndex<Self::Stream>>, StoreError> {
        let _timed = self.meter.time(PlatformPart::Kv, millis);
        let failed = |error| failure("get", key, error);
        let options = object(&[
            ("type", kind(form).into()),
            ("cacheTtl", cache_seconds.into()),
        ]);
        let got = self.binding.get(&key.to_string(), &options);
        let got = settled(got).await.map_err(failed)?;
        let part = |name: &str| Reflect::get(&got, &name.into()).map_err(failed);
        let (value, metadata) = (part("value")?, part("metadata")?);
        if value.is_null() || metadata.is_null() {
            return Ok(None);
        }
        let metadata = js_sys::JSON::stringify(&metadata).map_err(failed)?;
        let metadata = String::from(metadata);
        let found = found(key, &metadata, || match form {
            IndexForm::Stream => Body::Stream(value.unchecked_into()),
            IndexForm::Text => text(Uint8Array::new(&value).to_vec()),
        });
        found.map(Some)
    }

    async fn get_all(
        &self,
        keys: &[&IndexKey],
        cache_seconds: u32,
    ) -> Result<Vec<Option<StoredIndex<Self::Stream>>>, StoreError> {
        let _timed = self.meter.time(PlatformPart::Kv, millis);
        let failed = |error: JsValue| failure("get", "several", error);
        let names: Vec<JsValue> = keys.iter().map(|key| key.to_string().into()).collect();
        let options = object(&[("type", "text".into()), ("cacheTtl", cache_seconds.into())]);
        let got = self.binding.get_all(&names.iter().collect(), &options);
        let all: Map = settled(got).await.map_err(failed)?.unchecked_into();
        let mut indices = Vec::new();
        for name in &names {
            indices.push(read_back(&all.get(name)).map_err(failed)?);
        }
        Ok(indices)
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let _timed = self.meter.time(PlatformPart::Kv, millis);
        let failed = |error: JsValue| failure("list", prefix, error);
        let options = object(&[("prefix", prefix.into()), ("cursor", cursor.into())]);
        let page = settled(self.binding.list(&options)).await.map_err(failed)?;
        let part = |of: &JsValue, name: &str| Reflect::get(of, &name.into());
        let mut keys = Vec::new();
        for key in part(&page, "keys")
            .map_err(failed)?
            .unchecked_into::<Array>()
        {
            keys.extend(part(&key, "name").map_err(failed)?.as_string());
        }
        let cursor = part(&page, "cursor").map_err(failed)?.as_string();
        let is_complete = part(&page, "list_complete").map_err(failed)?.is_truthy();
        Ok(IndexPage {
            keys,
            cursor: cursor.filter(|_| !is_complete),
        })
    }

    async fn put(&self, key: &IndexKey, document: &IndexDocument) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::Kv, millis);
        let failed = |error| failure("put", key, error);
        let unknown = |error: serde_json::Error| failed(error.to_string().into());
        let metadata = serde_json::to_string(&document.metadata).map_err(unknown)?;
        let metadata = js_sys::JSON::parse(&metadata).map_err(failed)?;
        let options = object(&[("metadata", metadata)]);
        let put = self.binding.put(&key.to_string(), &document.text, &options);
        settled(put).await.map(drop).map_err(failed)
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let _timed = self.meter.time(PlatformPart::Kv, millis);
        let deleted = settled(self.binding.delete(&key.to_string())).await;
        let failed = |error| failure("delete", key, error);
        deleted.map(drop).map_err(failed)
    }
}

/// Returns the index found under a key. `metadata` is JSON.
pub(super) fn found<S>(
    key: &IndexKey,
    metadata: &str,
    body: impl FnOnce() -> Body<S>,
) -> Result<StoredIndex<S>, StoreError> {
    let metadata = serde_json::from_slice::<IndexMetadata>(metadata.as_bytes());
    let metadata = metadata.map_err(|error| StoreError::Failed {
        operation: format!("KV get {key}"),
        cause: error.to_string(),
    })?;
    let body = body();
    Ok(StoredIndex { metadata, body })
}

/// Returns the indices that were found under several keys, from JSON: `[["…",{…}],[null,null]]`.
pub(super) fn found_several<S>(json: &str) -> Result<ReadIndices<S>, StoreError> {
    let values: Vec<(Option<String>, Option<IndexMetadata>)> =
        serde_json::from_slice(json.as_bytes()).map_err(|error| StoreError::Failed {
            operation: "KV get several".to_owned(),
            cause: error.to_string(),
        })?;
    let mut found = values.into_iter().map(|(value, metadata)| {
        let (text, metadata) = value.zip(metadata)?;
        let body = Body::Text(text);
        Some(StoredIndex { metadata, body })
    });
    Ok(ReadIndices {
        first: found.next().flatten(),
        others: found.collect(),
    })
}

/// Returns a value that the core parses. One that is not UTF-8 is detected there as corrupt.
pub(super) fn text<S>(bytes: Vec<u8>) -> Body<S> {
    let text = String::from_utf8(bytes);
    Body::Text(text.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Returns KV's name for the type in which a value is read
/// (<https://developers.cloudflare.com/kv/api/read-key-value-pairs/#reference>).
pub(super) fn kind(form: IndexForm) -> &'static str {
    match form {
        IndexForm::Stream => "stream",
        IndexForm::Text => "arrayBuffer",
    }
}

async fn settled(asked: Result<Promise, JsValue>) -> Result<JsValue, JsValue> {
    JsFuture::from(asked?).await
}

/// Creates an object with these properties, some of which may be undefined.
fn object(properties: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in properties {
        // Setting a property of a new object cannot fail.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}

/// Returns an index of a read of several keys; `None` if there is none, or if no index function wrote it.
fn read_back<S>(found: &JsValue) -> Result<Option<StoredIndex<S>>, JsValue> {
    if !found.is_object() {
        return Ok(None);
    }
    let text = Reflect::get(found, &"value".into())?.as_string();
    let metadata = js_sys::JSON::stringify(&Reflect::get(found, &"metadata".into())?)?;
    let metadata = serde_json::from_slice(String::from(metadata).as_bytes()).ok();
    Ok(text.zip(metadata).map(|(text, metadata)| StoredIndex {
        metadata,
        body: Body::Text(text),
    }))
}

fn failure(operation: &str, key: impl std::fmt::Display, error: JsValue) -> StoreError {
    let cause = format!("{error:?}");
    let operation = format!("KV {operation} {key}");
    if cause.contains(TOO_OFTEN) {
        StoreError::Busy(operation)
    } else {
        StoreError::Failed { operation, cause }
    }
}
