//! Bindings that a deployment may have or not: what counts downloads, and what counts failures.

use worker::{AnalyticsEngineDataPointBuilder, Env, console_warn};

use crate::store::Counted;

/// The binding of an Analytics Engine dataset
/// (<https://developers.cloudflare.com/analytics/analytics-engine/get-started/>).
const DOWNLOADS: &str = "DOWNLOADS";

/// The binding of a rate limiter
/// (<https://developers.cloudflare.com/workers/runtime-apis/bindings/rate-limit/>).
const FAILURES: &str = "FAILURES";

/// Writes a data point: its index is the address of the package, which samples are taken by; its blobs are
/// address, version, route, client and the client's version; its double is 1.
pub(super) fn count(env: &Env, download: &Counted<'_>) {
    let Ok(dataset) = env.analytics_engine(DOWNLOADS) else {
        return;
    };
    let Counted {
        package,
        version,
        route,
        client,
    } = download;
    let (address, version) = (package.address(), version.to_string());
    let blobs = [
        &address,
        &version,
        *route,
        client.product(),
        client.version(),
    ];
    let point = AnalyticsEngineDataPointBuilder::new()
        .indexes([address.get(..MOST_OF_INDEX).unwrap_or(&address)])
        .blobs(blobs)
        .doubles([1.0])
        .build();
    if let Err(error) = dataset.write_data_point(&point) {
        console_warn!("{DOWNLOADS}: {error}");
    }
}

/// Bytes of the index of a data point
/// (<https://developers.cloudflare.com/analytics/analytics-engine/limits/>).
const MOST_OF_INDEX: usize = 96;

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
