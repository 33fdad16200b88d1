//! The search for the services of a registry.

use serde_json::Value;
use terrace_core::upstream::origin::{Fetched, Service};
use url::Url;

use super::{DISCOVERY, Gap, Known, Target};
use crate::commands::doctor::outcome::Outcome;
use crate::http::{ProbeError, Seen, is_loopback};

/// The names of the services.
const SERVICES: [&str; 2] = ["providers.v1", "modules.v1"];

/// The services of a registry.
#[derive(Debug)]
pub(in crate::commands::doctor) struct Discovery {
    /// The response with the document, after redirects.
    pub(in crate::commands::doctor) seen: Seen,
    /// The redirects on the way.
    pub(in crate::commands::doctor) passed: Vec<Seen>,
    pub(in crate::commands::doctor) document: serde_json::Value,
    pub(in crate::commands::doctor) providers: Option<Service>,
    pub(in crate::commands::doctor) modules: Option<Service>,
}

/// Requests the discovery document as clients do.
pub(super) fn find(target: &Target) -> Known<Discovery> {
    let gap = |id, outcome| Err(Gap::new(id, outcome));
    let (seen, passed) = match target.probe.follow(&target.get(DISCOVERY)) {
        Ok(found) => found,
        Err(error @ ProbeError::Redirects) => return gap("S1", loops(&error)),
        Err(ProbeError::Guarded(error)) => {
            let cause =
                "discovery is redirected to another host, which this command does not contact";
            return gap("S1", Outcome::fail(error, cause, NO_REDIRECT));
        }
        Err(error) => return gap("S1", unanswered(&error)),
    };
    if seen.status != 200 {
        return gap("S1", refused(&seen));
    }
    let fetched = Fetched {
        status: seen.status,
        final_url: seen.url.clone(),
        content_type: seen.header("content-type").map(str::to_owned),
        body: seen.body.clone(),
    };
    let modules = match Service::read_modules(&fetched) {
        Ok(modules) => modules,
        Err(error) => return gap("S2", foreign(&seen, &error.to_string())),
    };
    let document: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let providers = match document.get("providers.v1") {
        Some(_) => match Service::read(&fetched) {
            Ok(service) => Some(service),
            Err(error) => return gap("S3", unusable(&error.to_string())),
        },
        None => None,
    };
    if providers.is_none() && modules.is_none() {
        return gap(
            "S3",
            unusable("it names neither providers.v1 nor modules.v1"),
        );
    }
    let slashless = SERVICES.iter().find_map(|name| {
        let url = document.get(name)?.as_str()?;
        (!url.ends_with('/')).then(|| format!("{name} is {url}, without a slash at its end"))
    });
    if let Some(observed) = slashless {
        let cause = "clients then look for packages one level too high";
        return gap("S3", Outcome::fail(observed, cause, "add the slash"));
    }
    let discovery = Discovery {
        seen,
        passed,
        document,
        providers,
        modules,
    };
    match fault_of_hosts(&discovery) {
        Some(outcome) => gap("S4", outcome),
        None => Ok(discovery),
    }
}

/// How discovery must not be redirected.
pub(in crate::commands::doctor) const NO_REDIRECT: &str = "serve the document at this host itself, and exempt /.well-known/ from redirects and sign-in pages";

fn loops(error: &ProbeError) -> Outcome {
    let cause = "discovery is redirected in a circle, as by two rules that contradict each other";
    Outcome::fail(error, cause, NO_REDIRECT)
}

fn unanswered(error: &ProbeError) -> Outcome {
    let cause = "the server accepts connections and does not answer this path completely";
    Outcome::unanswered(
        error,
        cause,
        "look at the server's log for /.well-known/terraform.json",
    )
}

fn refused(seen: &Seen) -> Outcome {
    let status = format!("status {}", seen.status);
    match seen.status {
        401 | 403 => Outcome::fail(
            status,
            "discovery requires a token, or a firewall refuses the request; clients need it before they have a token",
            "allow /.well-known/terraform.json without credentials",
        ),
        404 => Outcome::fail(
            status,
            "the registry is not at the root of this host, or something else answers here",
            "route the whole hostname to the registry: a path prefix is not possible",
        ),
        500..=599 => Outcome::fail(
            status,
            "the registry or the proxy in front of it fails",
            "look at the registry's log; after a change of settings, run `terrace config check`",
        ),
        _ => Outcome::fail(status, "clients accept 200 only", NO_REDIRECT),
    }
}

fn foreign(seen: &Seen, error: &str) -> Outcome {
    let is_page =
        seen.media_type().contains("html") || seen.body.trim_ascii_start().starts_with(b"<");
    let cause = match is_page {
        true => {
            "a web page answers: a sign-in page, a captive portal, a proxy's error, or another program"
        }
        false => "the server sends another type or another document than clients accept",
    };
    Outcome::fail(
        error,
        cause,
        "send one JSON object as application/json, with status 200",
    )
}

fn unusable(error: &str) -> Outcome {
    let cause = "clients find no service in it, and report that the host offers no registry";
    let fix = "name \"providers.v1\" and \"modules.v1\", each with a path or an https URL";
    Outcome::fail(error, cause, fix)
}

/// Returns the services that the document names, with their URLs as written.
pub(in crate::commands::doctor) fn services(discovery: &Discovery) -> Vec<(&'static str, &str)> {
    let named = |name| Some((name, discovery.document.get(name)?.as_str()?));
    SERVICES.into_iter().filter_map(named).collect()
}

/// Returns why clients cannot reach a service, or not as it is meant.
fn fault_of_hosts(discovery: &Discovery) -> Option<Outcome> {
    let base = Url::parse(&discovery.seen.url).ok()?;
    for (name, text) in services(discovery) {
        let url = base.join(text).ok()?;
        let observed = format!("{name} is {text}");
        let fix = "configure the registry's own URL, or name the services by paths";
        if base.scheme() == "https" && url.scheme() != "https" {
            let cause = "the registry does not know that a proxy in front of it speaks TLS; clients accept https only";
            return Some(Outcome::fail(observed, cause, fix));
        }
        if is_loopback(&url) && !is_loopback(&base) {
            let cause =
                "the registry takes the address that it listens at for the one that clients use";
            return Some(Outcome::fail(observed, cause, fix));
        }
    }
    None
}
