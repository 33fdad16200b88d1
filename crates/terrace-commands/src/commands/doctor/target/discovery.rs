//! The search for the services of a registry. S1 reports why there are none.

use serde_json::Value;
use terrace_core::upstream::origin::Service;
use url::Url;

use super::{DISCOVERY, Target, fetched};
use crate::commands::doctor::finding::{Finding, Judged};
use crate::http::{ProbeError, Seen, is_loopback};

/// The services of a registry.
#[derive(Debug)]
pub(crate) struct Discovery {
    /// The response with the document, after redirects.
    pub(crate) seen: Seen,
    pub(crate) document: Value,
    pub(crate) providers: Option<Service>,
    pub(crate) modules: Option<Service>,
}

/// How discovery must not be redirected.
pub(crate) const NO_REDIRECT: &str = "serve the document at this host itself, and exempt /.well-known/ from redirects and sign-in pages";

impl Discovery {
    /// Requests the discovery document as clients do.
    pub(crate) fn find(target: &Target) -> Judged<Self> {
        let followed = target.probe.follow(&target.get(DISCOVERY));
        let (seen, _) = followed.map_err(|error| unanswered(&error))?;
        if seen.status != 200 {
            return Err(refused(&seen));
        }
        let fetched = fetched(&seen);
        let modules =
            Service::read_modules(&fetched).map_err(|error| foreign(&seen, &error.to_string()))?;
        let document: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let providers = match document.get("providers.v1") {
            Some(_) => Some(Service::read(&fetched).map_err(|it| unusable(&it.to_string()))?),
            None => None,
        };
        if providers.is_none() && modules.is_none() {
            return Err(unusable("it names neither providers.v1 nor modules.v1"));
        }
        let discovery = Self {
            seen,
            document,
            providers,
            modules,
        };
        match discovery.fault() {
            Some(fault) => Err(fault),
            None => Ok(discovery),
        }
    }

    /// Returns the services that the document names, with their URLs as written.
    pub(crate) fn services(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = ["providers.v1", "modules.v1"].into_iter();
        names.filter_map(|name| Some((name, self.document.get(name)?.as_str()?)))
    }

    /// Returns why clients cannot reach a service, or not as it is meant.
    fn fault(&self) -> Option<Finding> {
        let base = Url::parse(&self.seen.url).ok()?;
        for (name, text) in self.services() {
            if !text.ends_with('/') {
                return Some(Finding::fail(
                    format!("{name} is {text}, without a slash at its end"),
                    "clients then look for packages one level too high",
                    "add the slash",
                ));
            }
            let url = base.join(text).ok()?;
            let cause = if base.scheme() == "https" && url.scheme() != "https" {
                "the registry does not know that a proxy in front of it speaks TLS; clients accept https only"
            } else if is_loopback(&url) && !is_loopback(&base) {
                "the registry takes the address that it listens at for the one that clients use"
            } else {
                continue;
            };
            let fix = "configure the registry's own URL, or name the services by paths";
            return Some(Finding::fail(format!("{name} is {text}"), cause, fix));
        }
        None
    }
}

fn unanswered(error: &ProbeError) -> Finding {
    let cause = match error {
        ProbeError::Redirects => {
            "discovery is redirected in a circle, as by two rules that contradict each other"
        }
        ProbeError::Guarded(_) => {
            "discovery is redirected to another host, which this command does not contact"
        }
        _ => {
            return Finding::unanswered(
                error,
                "the server accepts connections and does not answer this path completely",
                "look at the server's log for /.well-known/terraform.json",
            );
        }
    };
    Finding::fail(error, cause, NO_REDIRECT)
}

fn refused(seen: &Seen) -> Finding {
    let (cause, fix) = match seen.status {
        401 | 403 => (
            "discovery requires a token, or a firewall refuses the request; clients need it before they have a token",
            "allow /.well-known/terraform.json without credentials",
        ),
        404 => (
            "the registry is not at the root of this host, or something else answers here",
            "route the whole hostname to the registry: a path prefix is not possible",
        ),
        500..=599 => (
            "the registry or the proxy in front of it fails",
            "look at the registry's log; after a change of settings, run `terrace config check`",
        ),
        _ => ("clients accept 200 only", NO_REDIRECT),
    };
    Finding::fail(format!("status {}", seen.status), cause, fix)
}

fn foreign(seen: &Seen, error: &str) -> Finding {
    let is_page =
        seen.media_type().contains("html") || seen.body.trim_ascii_start().starts_with(b"<");
    let cause = match is_page {
        true => {
            "a web page answers: a sign-in page, a captive portal, a proxy's error, or another program"
        }
        false => "the server sends another type or another document than clients accept",
    };
    Finding::fail(
        error,
        cause,
        "send one JSON object as application/json, with status 200",
    )
}

fn unusable(error: &str) -> Finding {
    Finding::fail(
        error,
        "clients find no service in it, and report that the host offers no registry",
        "name \"providers.v1\" and \"modules.v1\", each with a path or an https URL",
    )
}
