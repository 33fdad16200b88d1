//! Indices in Workers KV.

use std::rc::Rc;

use terrace_core::index::{IndexDocument, IndexMetadata};
use terrace_core::key::IndexKey;
use terrace_core::read::{Found, IndexForm};
use terrace_core::reply::Body;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{self, Array, Map, Promise, Reflect};
use worker::wasm_bindgen::{JsCast, JsValue};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Env, KvError, KvStore, web_sys};

use super::clock::millis;
use crate::store::{IndexPage, Indices, StoreError};
use crate::tally::{Part, Tally};

/// What the runtime says when a key is written more than once a second
/// (<https://developers.cloudflare.com/kv/api/write-key-value-pairs/#limits-to-kv-writes-to-the-same-key>).
const TOO_OFTEN: &str = "failed: 429";

#[wasm_bindgen]
extern "C" {
    /// A namespace, for what repairs ask of it: by the types of `worker`, these two would be 5 KiB of the
    /// upload.
    type Binding;

    #[wasm_bindgen(method, catch, js_name = getWithMetadata)]
    fn get_all(this: &Binding, keys: &Array, options: &JsValue) -> Result<Promise, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn list(this: &Binding, options: &JsValue) -> Result<Promise, JsValue>;
}

/// A KV namespace.
pub(super) struct Namespace {
    kv: KvStore,
    env: Env,
    name: &'static str,
    tally: Rc<Tally>,
}

impl Namespace {
    /// The one that is bound to this name.
    pub(super) fn new(env: &Env, name: &'static str, tally: Rc<Tally>) -> worker::Result<Self> {
        Ok(Self {
            kv: env.kv(name)?,
            env: env.clone(),
            name,
            tally,
        })
    }

    fn binding(&self) -> Result<Binding, JsValue> {
        Reflect::get(&self.env, &self.name.into()).map(JsCast::unchecked_into)
    }
}

impl Indices for Namespace {
    type Stream = web_sys::ReadableStream;

    async fn get(
        &self,
        key: &IndexKey,
        form: IndexForm,
        cache_seconds: u32,
    ) -> Result<Option<Found<Self::Stream>>, StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let get = self
            .kv
            .get(&key.to_string())
            .cache_ttl(cache_seconds.into());
        let failed = |error| failure("get", key, error);
        let (body, metadata): (Option<Body<_>>, Option<IndexMetadata>) = match form {
            IndexForm::Stream => {
                let (stream, metadata) = get.stream_with_metadata().await.map_err(failed)?;
                (stream.map(Body::Stream), metadata)
            }
            IndexForm::Text => {
                let (text, metadata) = get.text_with_metadata().await.map_err(failed)?;
                (text.map(Body::Text), metadata)
            }
        };
        Ok(body
            .zip(metadata)
            .map(|(body, metadata)| Found { metadata, body }))
    }

    async fn differing<'w>(
        &self,
        wanted: &'w [(IndexKey, IndexDocument)],
        cache_seconds: u32,
    ) -> Result<Vec<&'w IndexKey>, StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let failed = |error: JsValue| failure("get", "several", error.into());
        let names: Vec<JsValue> = wanted
            .iter()
            .map(|(key, _)| key.to_string().into())
            .collect();
        let keys = names.iter().collect();
        let options = object(&[("type", "text".into()), ("cacheTtl", cache_seconds.into())]);
        let found = self
            .binding()
            .and_then(|binding| binding.get_all(&keys, &options));
        let found = JsFuture::from(found.map_err(failed)?)
            .await
            .map_err(failed)?;
        let found: Map = found.unchecked_into();
        let mut differing = Vec::new();
        for ((key, document), name) in wanted.iter().zip(&names) {
            if !is_same(&found.get(name), document).map_err(failed)? {
                differing.push(key);
            }
        }
        Ok(differing)
    }

    async fn list_keys(
        &self,
        prefix: &str,
        cursor: Option<String>,
    ) -> Result<IndexPage, StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let failed = |error: JsValue| failure("list", prefix, error.into());
        let options = object(&[("prefix", prefix.into()), ("cursor", cursor.into())]);
        let page = self.binding().and_then(|binding| binding.list(&options));
        let page = JsFuture::from(page.map_err(failed)?)
            .await
            .map_err(failed)?;
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
        let _timed = self.tally.time(Part::Kv, millis);
        let failed = |error| failure("put", key, error);
        self.kv
            .put(&key.to_string(), document.text.as_str())
            .and_then(|put| put.metadata(&document.metadata))
            .map_err(failed)?
            .execute()
            .await
            .map_err(failed)
    }

    async fn delete(&self, key: &IndexKey) -> Result<(), StoreError> {
        let _timed = self.tally.time(Part::Kv, millis);
        let deleted = self.kv.delete(&key.to_string()).await;
        deleted.map_err(|error| failure("delete", key, error))
    }
}

/// An object with these properties, of which some may be undefined.
fn object(properties: &[(&str, JsValue)]) -> JsValue {
    let object = js_sys::Object::new();
    for (name, value) in properties {
        // What nobody else has seen can be written to.
        let _ = Reflect::set(&object, &(*name).into(), value);
    }
    object.into()
}

/// Whether what was found is this index, byte for byte.
fn is_same(found: &JsValue, wanted: &IndexDocument) -> Result<bool, JsValue> {
    if !found.is_object() {
        return Ok(false);
    }
    if Reflect::get(found, &"value".into())?.as_string().as_ref() != Some(&wanted.text) {
        return Ok(false);
    }
    let metadata = js_sys::JSON::stringify(&Reflect::get(found, &"metadata".into())?)?;
    // As it is written: by way of a value, whose names are sorted.
    let written = serde_json::to_value(&wanted.metadata);
    Ok(written.is_ok_and(|written| metadata.as_string() == Some(written.to_string())))
}

fn failure(operation: &str, key: impl std::fmt::Display, error: KvError) -> StoreError {
    let cause = match error {
        KvError::JavaScript(value) => format!("{value:?}"),
        KvError::Serialization(error) => error.to_string(),
        KvError::InvalidKvStore(message) => message,
    };
    let operation = format!("KV {operation} {key}");
    if cause.contains(TOO_OFTEN) {
        StoreError::Busy(operation)
    } else {
        StoreError::Failed { operation, cause }
    }
}
