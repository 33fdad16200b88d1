//! Documents that several requests share.

use std::collections::BTreeMap;
use std::sync::Mutex;

use terrace_core::upstream::origin::{Fetch, Fetched};

use super::resolve::resolve;
use crate::error::Failure;

/// The documents fetched for one version, by URL: its packages mostly share SHA256SUMS and its signature.
#[derive(Default)]
pub(crate) struct FetchCache(Mutex<BTreeMap<String, Fetched>>);

impl FetchCache {
    /// Returns the response to a request, which is made with `get` if it is the first to its URL.
    pub(crate) fn or_else(
        &self,
        fetch: &Fetch,
        get: impl FnOnce() -> Result<Fetched, Failure>,
    ) -> Result<Fetched, Failure> {
        let url = resolve(fetch.base.as_deref().unwrap_or_default(), &fetch.reference);
        let known = self
            .0
            .lock()
            .ok()
            .and_then(|known| known.get(&url).cloned());
        if let Some(known) = known {
            return Ok(known);
        }
        let fetched = get()?;
        if let Ok(mut known) = self.0.lock() {
            known.insert(url, fetched.clone());
        }
        Ok(fetched)
    }
}
