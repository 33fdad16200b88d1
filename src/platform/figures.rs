//! Bindings that a deployment may have or not: what counts downloads, and what counts failures.

use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{JSON, Reflect};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::{Env, console_warn};

use terrace_app::host::Counted;

/// The binding of an Analytics Engine dataset; `entry.js` names it, too
/// (<https://developers.cloudflare.com/analytics/analytics-engine/get-started/>).
const DOWNLOADS: &str = "DOWNLOADS";

/// The binding of a rate limiter
/// (<https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/>).
const FAILURES: &str = "FAILURES";

#[wasm_bindgen]
extern "C" {
    type Dataset;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    fn write(this: &Dataset, point: &JsValue) -> Result<(), JsValue>;
}

/// Whether downloads are counted.
pub(super) fn counts(env: &Env) -> bool {
    dataset(env).is_some()
}

fn dataset(env: &Env) -> Option<Dataset> {
    let dataset = Reflect::get(env, &DOWNLOADS.into()).ok()?;
    dataset.is_object().then(|| dataset.unchecked_into())
}

/// Writes a [data point](Counted::point).
pub(super) fn count(env: &Env, download: &Counted<'_>) {
    let Some(dataset) = dataset(env) else {
        return;
    };
    let written = JSON::parse(&download.point()).and_then(|point| dataset.write(&point));
    if let Err(error) = written {
        console_warn!("{DOWNLOADS}: {error:?}");
    }
}

pub(super) async fn is_one_failure_too_many(env: &Env, network: &str) -> bool {
    let Ok(limiter) = env.rate_limiter(FAILURES) else {
        return false;
    };
    match limiter.limit(network.to_owned()).await {
        Ok(outcome) => !outcome.success,
        Err(error) => {
            console_warn!("{FAILURES}: {error}");
            false
        }
    }
}
