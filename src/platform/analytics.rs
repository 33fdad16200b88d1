//! Optional bindings of a deployment: a counter of downloads, and a rate limiter for failed authentications.

use wasm_bindgen::prelude::wasm_bindgen;
use worker::js_sys::{JSON, Reflect};
use worker::wasm_bindgen::{JsCast as _, JsValue};
use worker::{Env, console_warn};

use terrace_app::host::DownloadEvent;

/// The binding of an Analytics Engine dataset; `entry.js` uses the name, too
/// (<https://developers.cloudflare.com/analytics/analytics-engine/get-started/>).
const DOWNLOADS: &str = "DOWNLOADS";

/// The binding of a rate limiter
/// (<https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/>).
pub(super) const FAILURES: &str = "FAILURES";

/// The rate limiter of anonymous searches.
pub(super) const SEARCHES: &str = "SEARCHES";

#[wasm_bindgen]
extern "C" {
    type Dataset;

    #[wasm_bindgen(method, catch, js_name = writeDataPoint)]
    fn write(this: &Dataset, point: &JsValue) -> Result<(), JsValue>;
}

/// Returns whether downloads are counted.
pub(super) fn counts(env: &Env) -> bool {
    dataset(env).is_some()
}

fn dataset(env: &Env) -> Option<Dataset> {
    let dataset = Reflect::get(env, &DOWNLOADS.into()).ok()?;
    dataset.is_object().then(|| dataset.unchecked_into())
}

/// Counts a download, if downloads are counted.
pub(super) fn count(env: &Env, download: &DownloadEvent<'_>) {
    let Some(dataset) = dataset(env) else {
        return;
    };
    let written = JSON::parse(&data_point(download)).and_then(|point| dataset.write(&point));
    if let Err(error) = written {
        console_warn!("{DOWNLOADS}: {error:?}");
    }
}

/// Returns the data point of a download, in JSON. Its index is the address of the package, which is the
/// sampling key; its blobs are address, version, route, client and the client's version; its double is 1
/// (<https://developers.cloudflare.com/analytics/analytics-engine/get-started/>).
pub(super) fn data_point(download: &DownloadEvent<'_>) -> String {
    let DownloadEvent {
        package,
        version,
        route,
        client,
    } = download;
    let (address, version) = (package.address(), version.to_string());
    let index = address.get(..MAX_INDEX_BYTES).unwrap_or(&address);
    serde_json::json!({
        "indexes": [index],
        "blobs": [address, version, route, client.product(), client.version()],
        "doubles": [1.0],
    })
    .to_string()
}

/// The maximum length of a data point's index, in bytes
/// (<https://developers.cloudflare.com/analytics/analytics-engine/limits/>).
const MAX_INDEX_BYTES: usize = 96;

/// Counts a request in the rate limiter with this binding, and returns whether there were too many; `false` without such
/// a binding.
pub(super) async fn is_one_too_many(env: &Env, binding: &str, network: &str) -> bool {
    let Ok(limiter) = env.rate_limiter(binding) else {
        return false;
    };
    match limiter.limit(network.to_owned()).await {
        Ok(outcome) => !outcome.success,
        Err(error) => {
            console_warn!("{binding}: {error}");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use terrace_core::http::request_line::ClientProduct;
    use terrace_core::model::package::Package;
    use terrace_core::model::version::Version;

    use super::*;

    #[test]
    fn a_data_point_names_the_package_and_the_client() {
        let download = DownloadEvent {
            package: &Package::parse_address("acme/widget").unwrap(),
            version: &"1.0.0+b".parse::<Version>().unwrap(),
            route: "provider_download",
            client: &ClientProduct::of_user_agent(Some("Terraform/1.11.4")),
        };
        let point: Value = serde_json::from_str(&data_point(&download)).unwrap();
        let expected = json!({
            "indexes": ["acme/widget"],
            "blobs": ["acme/widget", "1.0.0+b", "provider_download", "Terraform", "1.11.4"],
            "doubles": [1.0],
        });
        assert_eq!(point, expected);
    }
}
