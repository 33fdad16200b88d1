//! The registry under examination, and the facts about it that several checks share. Each is found once, when the first
//! check needs it.

mod discovery;
mod sample;

use std::sync::OnceLock;
use std::time::Duration;

use serde::de::IgnoredAny;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{DoctorAnswer, FailoverAnswer, PresentedToken};
use terrace_core::model::address::{ModuleAddress, ProviderAddress};
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::{Fetch, Fetched};
use ureq::http::Method;
use url::Url;

pub(super) use discovery::Discovery;

use sample::{ModuleSample, PackageSample, ProviderSample};

use super::finding::{Finding, Judged};
use crate::args::RegistryArguments;
use crate::clock;
use crate::commands::connection::token_source;
use crate::commands::doctor::DoctorArguments;
use crate::error::Failure;
use crate::http::{Ask, BaseUrl, Http, Probe, ProbeError, Seen};
use crate::output::Output;
use crate::registry::token_source::{Need, TokenSource};
use crate::upstream::resolve;

/// The name of a registry with a host that cannot be part of an address, such as an IP address.
const NAMELESS: &str = "registry.invalid";

/// The path of the discovery document.
pub(super) const DISCOVERY: &str = "/.well-known/terraform.json";

/// The paths of a publish, of the audit log, and of the facts that the registry states about itself.
const PUBLISH: &str = "/admin/v1/providers/terrace-doctor-absent/terrace-doctor-absent/0.0.0";
const AUDIT: &str = "/admin/v1/audit";
const FACTS: &str = "/admin/v1/doctor";
/// The path of the state of the second bucket.
const FAILOVER: &str = "/admin/v1/failover";

/// A token that no registry has issued.
const WRONG: &str = "Bearer terrace-doctor-wrong";

/// A fact, once it is known.
type Known<T> = OnceLock<Judged<T>>;

/// The registry under examination.
pub(super) struct Target {
    url: BaseUrl,
    pub(super) probe: Probe,
    token: Option<Secret>,
    /// Why no token is sent, if none is.
    pub(super) tokenless: String,
    pub(super) timeout: Duration,
    pub(super) is_deep: bool,
    pub(super) now: UnixTime,
    pub(super) named_provider: Option<ProviderAddress>,
    pub(super) named_module: Option<ModuleAddress>,
    found: Found,
}

/// The facts that were needed so far.
#[derive(Default)]
struct Found {
    reached: OnceLock<Result<Seen, ProbeError>>,
    health: OnceLock<Result<Seen, ProbeError>>,
    discovery: Known<Discovery>,
    provider: Known<ProviderSample>,
    package: Known<PackageSample>,
    module: Known<ModuleSample>,
    facts: Known<DoctorAnswer>,
    failover: Known<FailoverAnswer>,
    presented: Known<PresentedToken>,
    refused: Known<String>,
}

/// Returns a fact, which is found when it is needed first. The check with this ID reports why it is not known.
fn known<'t, T>(
    fact: &'t Known<T>,
    id: &'static str,
    find: impl FnOnce() -> Judged<T>,
) -> Judged<&'t T> {
    let found = fact.get_or_init(|| find().map_err(|finding| finding.reported_by(id)));
    found.as_ref().map_err(Clone::clone)
}

impl Target {
    /// Describes the registry that a command line names.
    pub(super) fn new(
        url: BaseUrl,
        arguments: &DoctorArguments,
        registry: &RegistryArguments,
        output: &Output,
    ) -> Result<Self, Failure> {
        let hosts = &arguments.archive_hosts.hosts;
        let probe = Probe::new(&url, hosts, arguments.timeout)?;
        let (token, tokenless) = token(&url, registry, output)?;
        Ok(Self {
            url,
            probe,
            token,
            tokenless,
            timeout: arguments.timeout,
            is_deep: arguments.deep,
            now: clock::now(),
            named_provider: arguments.provider.clone(),
            named_module: arguments.module.clone(),
            found: Found::default(),
        })
    }

    /// Returns the URL as given.
    pub(super) fn base(&self) -> &BaseUrl {
        &self.url
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// Returns a hostname for the parsers of responses, which only repeat it. An IP address cannot be one.
    pub(super) fn any_hostname(&self) -> Judged<Hostname> {
        let hostname = self.url.host().parse().or_else(|_| NAMELESS.parse());
        hostname.map_err(|_| Finding::skip("the host cannot be part of an address"))
    }

    /// Returns the hosts that the registry is known to use so far.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut hosts = vec![self.url.host().to_owned()];
        if let Ok(package) = self.package() {
            let zip = Url::parse(&package.zip).ok();
            hosts.extend(zip.as_ref().and_then(Url::host_str).map(str::to_owned));
        }
        hosts
    }

    /// Returns whether a URL leads to the registry itself.
    pub(super) fn has(&self, url: &str) -> bool {
        let origin = Url::parse(url).map(|url| url.origin().ascii_serialization());
        origin.is_ok_and(|origin| origin == self.url.origin())
    }

    /// Returns a GET request for a path or an absolute URL, without the token.
    pub(super) fn get(&self, path: &str) -> Ask {
        match path.starts_with('/') {
            true => Ask::get(format!("{}{path}", self.url.origin())),
            false => Ask::get(path),
        }
    }

    /// Returns a GET request with the token, if there is one and the URL is the registry's own.
    pub(super) fn get_as_caller(&self, path: &str) -> Ask {
        let ask = self.get(path);
        match self.token.as_ref().filter(|_| self.has(&ask.url)) {
            Some(token) => ask.with("authorization", format!("Bearer {}", token.expose())),
            None => ask,
        }
    }

    /// Returns the response to a request of a protocol, as the core's parsers take it.
    pub(super) fn fetch(&self, fetch: &Fetch) -> Result<(Fetched, Seen), ProbeError> {
        let url = absolute(fetch);
        let ask = match fetch.with_token {
            true => self.get_as_caller(&url),
            false => self.get(&url),
        };
        let ask = ask.most(fetch.max_bytes.saturating_add(1));
        let seen = self.probe.follow(&ask)?;
        Ok((fetched(&seen), seen))
    }

    /// Does the same for a request that only the registry answers, unless it fails.
    pub(super) fn ask(&self, fetch: &Fetch) -> Judged<(Fetched, Seen)> {
        let (fetched, seen) = self.fetch(fetch).map_err(Finding::unanswered)?;
        self.check_outage(&seen)?;
        Ok((fetched, seen))
    }

    /// Returns the first response of the registry, to a request for the discovery document without a token.
    pub(super) fn reached(&self) -> &Result<Seen, ProbeError> {
        let reach = || self.probe.send_at_any_rate(&self.get(DISCOVERY));
        self.found.reached.get_or_init(reach)
    }

    /// Returns the services of the registry.
    pub(super) fn discovery(&self) -> Judged<&Discovery> {
        known(&self.found.discovery, "S1", || Discovery::find(self))
    }

    /// Returns the provider to try, with its versions.
    pub(super) fn provider(&self) -> Judged<&ProviderSample> {
        known(&self.found.provider, "P1", || ProviderSample::find(self))
    }

    /// Returns a package of the provider's newest version.
    pub(super) fn package(&self) -> Judged<&PackageSample> {
        known(&self.found.package, "P2", || PackageSample::find(self))
    }

    /// Returns the module to try.
    pub(super) fn module(&self) -> Judged<&ModuleSample> {
        known(&self.found.module, "M1", || ModuleSample::find(self))
    }

    /// Returns whether the registry is a Terrace registry, which has more routes than the protocols define.
    pub(super) fn is_terrace(&self) -> bool {
        self.check_terrace().is_ok()
    }

    /// Skips a check of Terrace's own routes, unless the registry is one.
    pub(super) fn check_terrace(&self) -> Judged<()> {
        let body = match self.health() {
            Ok(seen) => serde_json::from_slice::<serde_json::Value>(&seen.body).ok(),
            Err(error @ ProbeError::Limited) => return Err(Finding::skip(error)),
            Err(_) => None,
        };
        match body.is_some_and(|it| it.get("kv").is_some() && it.get("r2").is_some()) {
            true => Ok(()),
            false => Err(Finding::skip("not a Terrace registry")),
        }
    }

    /// Returns the registry's statement about its storage, which K1 reports.
    pub(super) fn health(&self) -> &Result<Seen, ProbeError> {
        let ask = || self.probe.send(&self.get("/healthz"));
        self.found.health.get_or_init(ask)
    }

    /// Checks that the status of a response is below 500: others say nothing about the subject of a check. K1 reports a storage
    /// that does not answer.
    pub(super) fn check_outage(&self, seen: &Seen) -> Judged<()> {
        if seen.status < 500 {
            return Ok(());
        }
        let is_unhealthy = self.health().as_ref().is_ok_and(|it| it.status != 200);
        if is_unhealthy && self.is_terrace() {
            return Err(Finding::skip("K1 failed"));
        }
        let url = Url::parse(&seen.url).ok();
        let path = url.as_ref().map(Url::path).unwrap_or_default();
        let status = seen.status;
        let finding = Finding::fail(format!("the registry answers {status} for {path}"));
        Err(finding.because(
            "an outage: the registry, its storage or a proxy in front of it fails",
            "look at the registry's log for this path, and at cloudflarestatus.com; then run the command again",
        ))
    }

    /// Returns the registry's description of the token. A4 reports why there is none.
    pub(super) fn presented(&self) -> Judged<&PresentedToken> {
        known(&self.found.presented, "A4", || {
            let seen = self.ask_as_caller("/api/v1/token")?;
            let token = serde_json::from_slice(&seen.body).ok();
            token
                .filter(|_| seen.status == 200)
                .ok_or_else(|| Finding::fail(format!("status {} for the token", seen.status)))
        })
    }

    /// Checks that reads are not refused because of the token, which A4 reports.
    pub(super) fn check_token(&self) -> Judged<()> {
        match self.presented() {
            Err(finding) if finding.is_problem() => Err(finding),
            _ => Ok(()),
        }
    }

    /// Returns the response to a request of one of Terrace's own routes, with the token.
    fn ask_as_caller(&self, path: &str) -> Judged<Seen> {
        self.check_terrace()?;
        if !self.has_token() {
            return Err(Finding::skip(&self.tokenless));
        }
        let seen = self.probe.send(&self.get_as_caller(path));
        let seen = seen.map_err(Finding::unanswered)?;
        self.check_outage(&seen)?;
        Ok(seen)
    }

    /// Returns the facts that the registry states about itself, to administrators.
    pub(super) fn facts(&self) -> Judged<&DoctorAnswer> {
        known(&self.found.facts, "R1", || {
            let seen = self.ask_as_caller(FACTS)?;
            if !is_json(&seen) {
                self.refuses_writes()?;
            }
            match seen.status {
                200 => serde_json::from_slice(&seen.body).map_err(Finding::fail),
                401 | 403 => {
                    self.presented()?;
                    Err(Finding::skip("the token is not that of an administrator"))
                }
                404 => Err(Finding::skip(
                    "the registry is too old, or has no admin token",
                )),
                status => Err(Finding::fail(format!("status {status}"))),
            }
        })
    }

    /// Returns the state of the second bucket, if the registry has one and states it. It does so while R2 does not answer, when it
    /// states nothing else.
    pub(super) fn second_bucket(&self) -> Option<&FailoverAnswer> {
        if let Ok(facts) = self.facts() {
            return facts.failover.as_ref();
        }
        let asked = known(&self.found.failover, "R1", || {
            let seen = self.ask_as_caller(FAILOVER)?;
            serde_json::from_slice(&seen.body).map_err(Finding::fail)
        });
        asked.ok()
    }

    /// Returns the statuses with which the registry refuses to publish and to show its audit log without a token, and with a
    /// wrong one.
    pub(super) fn refuses_writes(&self) -> Judged<&String> {
        known(&self.found.refused, "A1", || {
            self.check_terrace()?;
            // A description that no registry accepts, so that nothing is changed even if everyone may write.
            let publish = Ask {
                body: Some("{}"),
                ..self.get(PUBLISH).method(Method::PUT)
            };
            let publish = publish.with("content-type", "application/json");
            let mut statuses = Vec::new();
            for (what, ask) in [("a publish", publish), ("the audit log", self.get(AUDIT))] {
                let wrong = ask.clone().with("authorization", WRONG);
                for (ask, with) in [(ask, "without a token"), (wrong, "with a wrong token")] {
                    let seen = self.probe.send(&ask)?;
                    self.check_outage(&seen)?;
                    let (status, page) = match is_json(&seen) {
                        true => (seen.status, ""),
                        false => (
                            seen.status,
                            ", not from the registry: a page is in front of it",
                        ),
                    };
                    match status {
                        401 | 403 | 404 | 405 => statuses.push(status.to_string()),
                        _ => {
                            let observed = format!("{what} {with}: status {status}{page}");
                            return Err(Finding::fail(observed));
                        }
                    }
                }
            }
            statuses.dedup();
            Ok(statuses.join(", "))
        })
    }
}

/// Returns whether the body of a response is JSON, as in all responses of the admin API.
fn is_json(seen: &Seen) -> bool {
    serde_json::from_slice::<IgnoredAny>(&seen.body).is_ok()
}

/// Returns the finding of a check of a service that the registry does not have.
pub(super) fn no_service(kind: &str) -> Finding {
    Finding::skip(format!("the registry serves no {kind}s"))
}

/// Returns the absolute URL of a request.
pub(super) fn absolute(fetch: &Fetch) -> String {
    match &fetch.base {
        Some(base) => resolve(base, &fetch.reference),
        None => fetch.reference.clone(),
    }
}

/// Returns a response as the core's parsers take it.
pub(super) fn fetched(seen: &Seen) -> Fetched {
    Fetched {
        status: seen.status,
        final_url: seen.url.clone(),
        content_type: seen.header("content-type").map(str::to_owned),
        body: seen.body.clone(),
    }
}

/// Returns the token to send, or why none is. A CI job's identity is not exchanged, because the registry would record it.
fn token(
    url: &BaseUrl,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(Option<Secret>, String), Failure> {
    let source = token_source(url, Need::Optional, registry, output)?;
    let TokenSource::Token(token, _) = source else {
        let reason =
            "no token is given: set TERRACE_TOKEN, for all checks to that of an administrator";
        return Ok((None, reason.to_owned()));
    };
    let http = Http::new(url, 0, registry.insecure, output)?;
    match http.check_transport(url.url(), url.as_str(), "the token") {
        Ok(()) => Ok((Some(token.secret().clone()), String::new())),
        Err(_) => Ok((None, "no token is sent over plain HTTP".to_owned())),
    }
}
