//! The search for the services of a registry. S1 reports why there are none.

use serde_json::Value;
use terrace_core::upstream::origin::Service;
use url::Url;

use super::{DISCOVERY, Target, fetched};
use crate::commands::doctor::finding::{Finding, Judged};
use crate::http::{Seen, is_loopback};

/// The services of a registry.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// The response with the document, after redirects.
    pub(crate) seen: Seen,
    pub(crate) document: Value,
    pub(crate) providers: Option<Service>,
    pub(crate) modules: Option<Service>,
}

impl Discovery {
    /// Requests the discovery document as clients do.
    pub(crate) fn find(target: &Target) -> Judged<Self> {
        let followed = target.probe.follow(&target.get(DISCOVERY));
        let seen = followed.map_err(Finding::unanswered)?;
        if seen.status != 200 {
            return Err(Finding::fail(format!("status {}", seen.status)));
        }
        let fetched = fetched(&seen);
        let modules = Service::read_modules(&fetched).map_err(Finding::fail)?;
        let document: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let providers = document.get("providers.v1");
        let providers = providers.map(|_| Service::read(&fetched)).transpose();
        let discovery = Self {
            providers: providers.map_err(Finding::fail)?,
            modules,
            seen,
            document,
        };
        match discovery.fault() {
            Some(fault) => Err(Finding::fail(fault)),
            None => Ok(discovery),
        }
    }

    /// Returns the services that the document names, with their URLs as written.
    pub(crate) fn services(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = ["providers.v1", "modules.v1"].into_iter();
        names.filter_map(|name| Some((name, self.document.get(name)?.as_str()?)))
    }

    /// Returns why clients cannot reach a service, or not as it is meant.
    fn fault(&self) -> Option<String> {
        if self.providers.is_none() && self.modules.is_none() {
            return Some("it names neither providers.v1 nor modules.v1".to_owned());
        }
        let base = Url::parse(&self.seen.url).ok()?;
        self.services().find_map(|(name, text)| {
            let url = base.join(text).ok()?;
            let fault = if !text.ends_with('/') {
                "without a slash at its end, so clients look one level too high"
            } else if base.scheme() == "https" && url.scheme() != "https" {
                "and clients accept https only"
            } else if is_loopback(&url) && !is_loopback(&base) {
                "which is an address of the registry's own machine"
            } else {
                return None;
            };
            Some(format!("{name} is {text}, {fault}"))
        })
    }
}
